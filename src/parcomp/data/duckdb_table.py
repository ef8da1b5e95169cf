"""Tables in files, read by DuckDB within the process: Parquet, CSV and DuckDB's own.

A dataset is a snapshot, so the coded rows of a file that is not huge are held in memory from the first query on: a few
bytes for each row, without which every query would read all columns of the domain again to tell which rows are within.
"""

from __future__ import annotations

import csv
import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir

from parcomp.data.codes import code_rows
from parcomp.data.columns import Column, columns_of_text_file, match_columns
from parcomp.data.dialect import DUCKDB
from parcomp.data.sql_table import SqlTable, split_name
from parcomp.errors import DataError, one_line
from parcomp.model.domain import Domain
from parcomp.model.text_file import is_unicode

__all__ = ["SNAPSHOT_LIMIT", "DuckDBTable", "connect", "read_csv_as_text"]

SNAPSHOT_LIMIT = 2**30
"""Files of more bytes than this are read anew for each batch of statements."""

_TABLES = """
SELECT table_name FROM information_schema.tables
WHERE table_catalog = 'database_file' AND table_schema = ? ORDER BY table_name
"""

_INTEGER_TYPES = (("UTINYINT", 2**8), ("USMALLINT", 2**16), ("UINTEGER", 2**32), ("UBIGINT", 2**64))


class DuckDBTable(SqlTable):
    """A file; made by one of the class methods."""

    def __init__(
        self, connection: Any, source: ir.Table, columns: Sequence[Column], domain: Domain, *, in_memory: bool
    ) -> None:
        selected = {f"x{index}": source[column.name] for index, column in enumerate(columns)}
        sql = connection.compile(source.select(**selected))
        super().__init__(domain, code_rows(domain, columns, sql, DUCKDB), DUCKDB)
        self._connection = connection
        self._snapshot_is_wanted = in_memory
        self._has_snapshot = False

    @classmethod
    def of_parquet(cls, path: str, domain: Domain) -> DuckDBTable:
        """The table in a Parquet file."""
        with _connected() as connection:
            source = _opened(path, lambda: connection.read_parquet(glob.escape(path), table_name="parquet_file"))
            return cls(connection, source, match_columns(domain, source.schema()), domain, in_memory=_is_small(path))

    @classmethod
    def of_csv(cls, path: str, domain: Domain) -> DuckDBTable:
        """The table in a CSV file: commas, double quotes, and names in the first line.

        The domain says what the columns hold.  A field without quotes and characters is null.
        """
        with _connected() as connection:
            source = read_csv_as_text(connection, path)
            columns = columns_of_text_file(domain, list(source.columns))
            return cls(connection, source, columns, domain, in_memory=_is_small(path))

    @classmethod
    def of_database(cls, path: str, table: str, domain: Domain) -> DuckDBTable:
        """A table or view in a DuckDB file, which is opened read-only."""
        with _connected() as connection:
            _opened(path, lambda: connection.attach(path, name="database_file", read_only=True))
            schema, name = split_name(table)
            listed = connection.con.execute(_TABLES, [schema or "main"]).fetchall()
            if (name,) not in listed:
                known = one_line(", ".join(known for (known,) in listed)) or "none"
                raise DataError(f"{one_line(path)} has no table {one_line(table)}; there are: {known}")
            source = connection.table(name, database=("database_file", schema or "main"))
            return cls(connection, source, match_columns(domain, source.schema()), domain, in_memory=_is_small(path))

    def _relation(self) -> str:
        if self._snapshot_is_wanted and not self._has_snapshot:
            columns = (
                f"CAST({name} AS {next(kind for kind, stop in _INTEGER_TYPES if bound < stop)}) AS {name}"
                for name, bound in self._rows.bounds.items()
            )
            self._connection.con.execute(
                f"CREATE TABLE rows_within_domain AS SELECT {', '.join(columns)} FROM ({self._rows.sql}) AS coded"
            )
            self._has_snapshot = True
        return "rows_within_domain" if self._has_snapshot else super()._relation()

    def _run(self, sql: str) -> list[Sequence[Any]]:
        return list(self._connection.con.execute(sql).fetchall())

    def _disconnect(self) -> None:
        self._connection.disconnect()


def connect() -> Any:
    """A DuckDB in memory that fetches no extensions and keeps no order of rows."""
    return ibis.duckdb.connect(autoinstall_known_extensions=False, preserve_insertion_order=False)


@contextmanager
def _connected() -> Iterator[Any]:
    """A connection that is closed if the table cannot be opened."""
    connection = connect()
    try:
        yield connection
    except BaseException:
        connection.disconnect()
        raise


def read_csv_as_text(connection: Any, path: str) -> ir.Table:
    """A CSV file with all columns as text; a line of another number of fields, or not in UTF-8, is left out."""
    try:
        # The rows that are read along with the first line may hold any bytes.
        with Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            names = next(csv.reader(file), [])
    except (OSError, csv.Error):
        raise DataError(f"{one_line(path)}: the first line must be names, separated by commas") from None
    if not all(name and is_unicode(name) for name in names):
        raise DataError(f"{one_line(path)}: the names in the first line must not be empty, and in UTF-8")
    if not names or len({name.casefold() for name in names}) != len(names):
        raise DataError(f"{one_line(path)}: the first line must be names, each another one, whatever their case")
    source: ir.Table = _opened(
        path,
        # Nothing is guessed: what DuckDB makes of a file must not depend on the rows in it.
        lambda: connection.read_csv(
            glob.escape(path),
            table_name="csv_file",
            columns=dict.fromkeys(names, "VARCHAR"),
            auto_detect=False,
            header=True,
            delim=",",
            quote='"',
            escape='"',
            allow_quoted_nulls=False,
            ignore_errors=True,
        ),
    )
    return source


def _opened(path: str, action: Any) -> Any:
    try:
        return action()
    except Exception as error:
        # The kind of the error, which stands first, and not what it may quote from the file.
        kind = one_line(str(error).partition(":")[0])[:40]
        raise DataError(f"{one_line(path)}: DuckDB cannot open the file ({kind})") from None


def _is_small(path: str) -> bool:
    return Path(path).stat().st_size <= SNAPSHOT_LIMIT
