"""Tables in PostgreSQL, coded and counted there, in read-only transactions.

The coded rows are a temporary table of the connection, which nobody else sees and which is gone with it; making it
takes the TEMPORARY privilege on the database.  That is the only thing that is written, and PostgreSQL lets a read-only
transaction fill a temporary table, so the source itself is read in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import psycopg

from parcomp.data.codes import code_rows
from parcomp.data.columns import match_columns
from parcomp.data.dialect import POSTGRES
from parcomp.data.sql_table import CODED_ROWS, SqlTable, split_name
from parcomp.errors import DataError, one_line
from parcomp.model.domain import Domain

__all__ = ["PostgresTable"]

_COLUMN_TYPES = """
SELECT a.attname, t.typtype, pg_catalog.format_type(
    CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END,
    CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = pg_catalog.to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""

_MAY_MAKE_TABLES = "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMPORARY')"


class PostgresTable(SqlTable):
    """A table or view of a database; the connection, and with it the coded rows, is made again if it was lost."""

    def __init__(self, url: str, table: str, domain: Domain) -> None:
        self._url = url
        self._connection = self._connect()
        try:
            backend = ibis.postgres.from_connection(self._connection)
            types = self._column_types(backend, table)
            columns = match_columns(domain, types)
            schema, name = split_name(table)
            source: ir.Table = ibis.table(types, name=name, database=schema)
            sql = backend.compile(source.select(**{f"x{index}": source[c.name] for index, c in enumerate(columns)}))
            super().__init__(domain, code_rows(domain, columns, sql, POSTGRES), POSTGRES)
        except BaseException:
            self._connection.close()
            raise

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            connection = psycopg.connect(self._url, autocommit=True)
            # Literals are written for the second of these settings, and dates are compared as ISO writes them.
            connection.execute(
                "SET default_transaction_read_only = on; SET standard_conforming_strings = on; SET DateStyle = 'ISO'"
            )
        except psycopg.ProgrammingError:
            # Its text repeats the address, password and all.
            raise DataError("the address of the PostgreSQL server is not well formed") from None
        except psycopg.Error as error:
            reason = one_line(" ".join(str(error).split()))[:200]
            raise DataError(f"the PostgreSQL server cannot be reached ({reason})") from None
        return connection

    def _column_types(self, backend: Any, table: str) -> dict[str, dt.DataType]:
        """The types of the columns; an enumeration is a string, and a domain type what it is made of."""
        schema, name = split_name(table)
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name) if part is not None)
        try:
            rows = self._connection.execute(_COLUMN_TYPES, (quoted,)).fetchall()
        except psycopg.Error:
            rows = []
        if not rows:
            raise DataError(
                f"the database has no table {one_line(table)} that its user may see; names are case-sensitive"
            )
        read_type = backend.compiler.type_mapper.from_string
        return {
            column: dt.string if category == "e" else _UNREAD if kind == "money" else read_type(kind)
            for column, category, kind in rows
        }

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
            self._connection = self._connect()
            self._code_rows()
            return list(self._connection.execute(sql.encode()).fetchall())

    def _disconnect(self) -> None:
        self._connection.close()


_UNREAD = dt.Unknown(raw_type="money")
"""How an amount of money is converted depends on the server's locale, so no attribute is read from it."""
