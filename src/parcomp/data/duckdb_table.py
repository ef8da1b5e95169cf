"""Tables in files, coded by DuckDB within the process: Parquet, CSV and DuckDB's own.

A file is read once, when it is opened, into a table of small integers in memory: a few bytes for each row.  What does
not fit into memory goes to a directory of our own, which only its owner can enter and which is gone with the table.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import ibis
import ibis.expr.types as ir

from parcomp.data.codes import code_rows
from parcomp.data.columns import Column, columns_of_text_file, match_columns
from parcomp.data.csv_text import CsvFile
from parcomp.data.dialect import DUCKDB
from parcomp.data.sql_table import CODED_ROWS, SqlTable, split_name
from parcomp.errors import DataError, one_line
from parcomp.model.domain import Domain

__all__ = ["Connection", "DuckDBTable", "open_parquet"]

_TABLES = """
SELECT table_name FROM information_schema.tables
WHERE table_catalog = 'database_file' AND table_schema = ? ORDER BY table_name
"""


class Connection:
    """A DuckDB in memory, as an Ibis backend, that fetches and loads no extensions and keeps no order of rows.

    Its temporary files are in a directory of its own, removed when it is closed and at the end of the process.
    """

    def __init__(self) -> None:
        directory = tempfile.mkdtemp(prefix="parcomp-")
        self._remove = weakref.finalize(self, _remove_own, directory, os.getpid())
        self.backend: Any = ibis.duckdb.connect(
            temp_directory=directory,
            autoinstall_known_extensions=False,
            autoload_known_extensions=False,
            # A view names tables of its file, never a variable of this program.
            python_enable_replacements=False,
            preserve_insertion_order=False,
        )

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query's result."""
        return list(self.backend.con.execute(sql, parameters).fetchall())

    def load_csv(self, file: CsvFile, names: Sequence[str], create: str) -> None:
        """Run a statement that creates a table from ``csv_rows``, which it reads once.

        They are the rows of a file with the columns of these names as ``f0``, ``f1``, ….
        """
        self.backend.con.register("csv_rows", file.rows(names))
        try:
            self.backend.con.execute(create)
        except Exception:
            # A file that is not well formed is the reason, with its line, rather than what DuckDB makes of it.
            file.check()
            raise
        finally:
            self.backend.con.unregister("csv_rows")
        # DuckDB may have seen that no row can be within the domain.
        file.check()

    def close(self) -> None:
        """Close the database and remove its files."""
        self.backend.disconnect()
        self._remove()


def _remove_own(directory: str, process: int) -> None:
    # A child of this process inherits what is to be done at its end, but not the directory.
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


class DuckDBTable(SqlTable):
    """A file; made by one of the class methods."""

    def __init__(
        self,
        connection: Connection,
        source: str,
        columns: Sequence[Column],
        domain: Domain,
        create: Callable[[str], object],
    ) -> None:
        self._connection = connection
        self._create = create
        super().__init__(domain, code_rows(domain, columns, source, DUCKDB), DUCKDB)

    @classmethod
    def of_parquet(cls, path: str, domain: Domain) -> DuckDBTable:
        """The table in a Parquet file."""
        with _connected() as connection, _unchanged(path):
            source = _opened(path, lambda: open_parquet(connection, path))
            return cls._of_ibis(connection, source, domain)

    @classmethod
    def of_csv(cls, path: str, domain: Domain) -> DuckDBTable:
        """The table in a CSV file, well formed by :mod:`parcomp.data.csv_text`.

        The domain says what the columns hold.  A field without quotes and characters is null.
        """
        with _connected() as connection, CsvFile(path) as file:
            columns = columns_of_text_file(domain, file.names)
            kept = list(dict.fromkeys(column.name for column in columns))
            selected = (f"f{kept.index(column.name)} AS x{index}" for index, column in enumerate(columns))
            source = f"SELECT {', '.join(selected)} FROM csv_rows"
            return cls(connection, source, columns, domain, lambda sql: connection.load_csv(file, kept, sql))

    @classmethod
    def of_database(cls, path: str, table: str, domain: Domain) -> DuckDBTable:
        """A table or view in a DuckDB file, which is opened read-only and let go of once it is read.

        A view may not reach for other files: DuckDB's reader of CSV files takes text within quotes for rows.
        """
        with _connected() as connection:
            _opened(path, lambda: connection.backend.attach(path, name="database_file", read_only=True))
            connection.run("SET enable_external_access = false")
            schema, name = split_name(table)
            listed = [known for (known,) in connection.run(_TABLES, [schema or "main"])]
            if name not in listed:
                known = one_line(", ".join(listed)) or "none"
                raise DataError(f"{one_line(path)} has no table {one_line(table)}; there are: {known}")
            try:
                source = connection.backend.table(name, database=("database_file", schema or "main"))
            except duckdb.PermissionException:
                raise DataError(
                    f"{one_line(path)}: the view {one_line(table)} reads another file; name that file as the source"
                ) from None
            opened = cls._of_ibis(connection, source, domain)
            connection.backend.detach("database_file")
            return opened

    @classmethod
    def _of_ibis(cls, connection: Connection, source: ir.Table, domain: Domain) -> DuckDBTable:
        columns = match_columns(domain, source.schema())
        selected = {f"x{index}": source[column.name] for index, column in enumerate(columns)}
        sql = connection.backend.compile(source.select(**selected))
        return cls(connection, sql, columns, domain, connection.run)

    def _code_rows(self) -> None:
        self._create(f"CREATE TABLE {CODED_ROWS} AS {self._rows.sql}")

    def _run(self, sql: str) -> Sequence[Sequence[Any]]:
        return self._connection.run(sql)

    def _disconnect(self) -> None:
        self._connection.close()


def open_parquet(connection: Connection, path: str) -> ir.Table:
    """The table in a Parquet file, with the columns that the file has: its path holds no more of them."""
    source: ir.Table = connection.backend.read_parquet(
        glob.escape(path), table_name="parquet_file", hive_partitioning=False
    )
    return source


@contextmanager
def _connected() -> Iterator[Connection]:
    """A connection that is closed if the table cannot be opened."""
    connection = Connection()
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


@contextmanager
def _unchanged(path: str) -> Iterator[None]:
    """Refuse a file that was written to meanwhile: its rows may be from two tables."""

    def look() -> tuple[int, ...]:
        status = Path(path).stat()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    before = _opened(path, look)
    yield
    if _opened(path, look) != before:
        raise DataError(f"{one_line(path)}: the file changed while it was read; open it again")


def _opened(path: str, action: Any) -> Any:
    try:
        return action()
    except Exception as error:
        # The kind of the error, which stands first, and not what it may quote from the file.
        kind = one_line(str(error).partition(":")[0])[:40]
        raise DataError(f"{one_line(path)}: DuckDB cannot open the file ({kind})") from None
