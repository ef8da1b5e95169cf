"""Tables in PostgreSQL, coded and counted there, in read-only transactions.

The coded rows are a temporary table of the connection, which nobody else sees and which is gone with it; making it
takes the TEMPORARY privilege on the database.  That is the only thing that is written, and PostgreSQL lets a read-only
transaction fill a temporary table, so the source itself is read in one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import psycopg

from parcomp.data.codes import CodedRows, code_rows
from parcomp.data.columns import match_columns, read_type, select_columns
from parcomp.data.dialect import POSTGRES, quoted_name
from parcomp.data.sql_table import CODED_ROWS, Table, split_name
from parcomp.errors import DataError, one_line
from parcomp.model import Domain

__all__ = ["PostgresTable"]

_PLACE = """
SELECT c.oid, n.nspname, c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = pg_catalog.to_regclass(%s)
"""

_COLUMN_TYPES = """
SELECT a.attname, t.typtype, pg_catalog.format_type(
    CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END,
    CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""

_MAY_MAKE_TABLES = "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMPORARY')"

# Literals are written for the second of these settings, and dates are compared as ISO writes them.  With the last,
# policies that would leave rows out in silence are an error.
_SETTINGS = """
SET default_transaction_read_only = on; SET standard_conforming_strings = on; SET DateStyle = 'ISO';
SET row_security = off
"""


class PostgresTable(Table):
    """A table or view of a database; the connection, and with it the coded rows, is made again if it was lost."""

    def __init__(self, url: str, table: str, domain: Domain) -> None:
        self._url = url
        self._table = table
        self._connection, rows = self._open(domain)
        super().__init__(domain, rows, POSTGRES)

    def _open(self, domain: Domain) -> tuple[psycopg.Connection[Any], CodedRows]:
        """A connection, and how the rows of the table, whose columns are looked at, are coded."""
        connection = self._connect()
        try:
            backend = ibis.postgres.from_connection(connection)
            oid, schema, name = _place(connection, self._table)
            types = _column_types(connection, oid, backend.compiler.type_mapper.from_string)
            columns = match_columns(domain, types)
            # With its schema, since the table of codes goes before another table of that name.
            source: ir.Table = ibis.table(types, name=name, database=schema)
            sql = backend.compile(select_columns(source, columns))
            return connection, code_rows(domain, columns, sql, POSTGRES)
        except BaseException:
            connection.close()
            raise

    def _open_again(self) -> None:
        # What the codes are called depends on the domain alone, so a query that was written before holds.
        self._connection, self._rows = self._open(self.domain)
        self._code_rows()

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            # SQL is sent as UTF-8, whatever the encoding of the database or of this process's environment.
            connection = psycopg.connect(self._url, autocommit=True, client_encoding="utf8")
            connection.execute(_SETTINGS)
        except psycopg.ProgrammingError:
            # Its text repeats the address, password and all.
            raise DataError("the address of the PostgreSQL server is not well formed") from None
        except psycopg.Error as error:
            reason = one_line(" ".join(str(error).split()))[:200]
            raise DataError(f"the PostgreSQL server cannot be reached ({reason})") from None
        return connection

    def _code_rows(self) -> None:
        types = (f"{name} {POSTGRES.integer_type(bound)} NOT NULL" for name, bound in self._rows.bounds.items())
        create = f"BEGIN READ WRITE; CREATE TEMPORARY TABLE {CODED_ROWS} ({', '.join(types)}); COMMIT"
        fill = f"INSERT INTO pg_temp.{CODED_ROWS} ({', '.join(self._rows.bounds)}) {self._rows.sql}"
        try:
            if self._connection.execute(_MAY_MAKE_TABLES).fetchone() != (True,):
                raise DataError(
                    "the user of the PostgreSQL database may not make temporary tables, which hold the codes of the "
                    "rows; grant TEMPORARY on the database"
                )
            self._connection.execute(create.encode())
            self._connection.execute(fill.encode())
            # Measuring reads nothing else, and no other table of that name.
            self._connection.execute("SET search_path = pg_temp")
        except psycopg.errors.UntranslatableCharacter:
            self._connection.close()
            raise DataError(
                "the domain declares, or a view makes, text that the encoding of the PostgreSQL database cannot hold; "
                "leave it out"
            ) from None
        except psycopg.errors.InsufficientPrivilege:
            self._connection.close()
            raise DataError(
                "the user of the PostgreSQL database may not read all rows of the table: grant SELECT on what it "
                "reads, and where row-level security is on, take a user whom it does not bind (BYPASSRLS)"
            ) from None
        except BaseException:
            # A connection that is open has all rows.
            self._connection.close()
            raise

    def _run(self, sql: str) -> Sequence[Sequence[Any]]:
        try:
            return list(self._connection.execute(sql.encode()).fetchall())
        except psycopg.OperationalError:
            # Counting changes nothing, so it may be tried again where the server has dropped the connection.
            if not self._connection.closed:
                raise
            self._open_again()
            return list(self._connection.execute(sql.encode()).fetchall())

    def _make_ready(self) -> None:
        try:
            self._connection.execute(f"SELECT FROM {CODED_ROWS} LIMIT 1")
        except psycopg.Error:
            self._connection.close()
            self._open_again()

    def _disconnect(self) -> None:
        self._connection.close()


def _place(connection: psycopg.Connection[Any], table: str) -> tuple[int, str, str]:
    """Which table it is, its schema and its name."""
    quoted = ".".join(quoted_name(part) for part in split_name(table) if part is not None)
    try:
        place: tuple[int, str, str] | None = connection.execute(_PLACE, (quoted,)).fetchone()
    except psycopg.Error:
        place = None
    if place is None:
        raise DataError(f"the database has no table {one_line(table)} that its user may see; names are case-sensitive")
    return place


def _column_types(
    connection: psycopg.Connection[Any], oid: int, reader: Callable[[str], dt.DataType]
) -> dict[str, dt.DataType]:
    """The types of the columns; an enumeration is a string, and a domain type what it is made of."""
    return {
        column: dt.string if category == "e" else _UNREAD if kind == "money" else read_type(reader, kind)
        for column, category, kind in connection.execute(_COLUMN_TYPES, (oid,)).fetchall()
    }


_UNREAD = dt.Unknown(raw_type="money")
"""How an amount of money is converted depends on the server's locale, so no attribute is read from it."""
