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
from typing import Any

import duckdb
import ibis
import ibis.expr.types as ir

from parcomp.data.codes import code_rows
from parcomp.data.columns import Column, columns_of_text_file, match_columns, read_type, select_columns
from parcomp.data.csv_text import CsvFile, check_unchanged, fingerprint
from parcomp.data.dialect import DUCKDB, quoted_name
from parcomp.data.sql_table import CODED_ROWS, Table, split_name
from parcomp.errors import DataError, one_line
from parcomp.model import Domain

__all__ = ["Connection", "DuckDBTable", "open_parquet"]

_TABLES = """
SELECT table_name FROM information_schema.tables
WHERE table_catalog = 'database_file' AND table_schema = ? ORDER BY table_name
"""


_NO_STATISTICS = "SET disabled_optimizers = 'statistics_propagation'"

_NO_STATISTICS_OF_READERS = "SET disabled_optimizers = 'statistics_propagation,filter_pushdown,join_filter_pushdown'"


class Connection:
    """A DuckDB in memory, as an Ibis backend, that fetches and loads no extensions and keeps no order of rows.

    Its temporary files are in a directory of its own, removed when it is closed and at the end of the process.

    DuckDB takes the least and the largest number of a column, as a file states them, for a fact, and drops a comparison
    that follows from it.  Parquet leaves NaN out of both, so that NaN would pass for a number within the bounds of the
    others.  So every row is compared, whatever is known of all.
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
        self.run(_NO_STATISTICS)

    def attach(self, path: str) -> None:
        """Open the DuckDB file at a path as ``database_file``, read-only."""
        quoted = path.replace("'", "''")
        self.run(f"ATTACH '{quoted}' AS database_file (TYPE DUCKDB, READ_ONLY)")

    def table(self, name: str, *, schema: str | None = None) -> ir.Table:
        """The table or view of this name, in memory or in a schema of the file that is attached.

        Ibis's own way would fetch an extension where there is a column of geometric type, declared or not.
        """
        catalog = None if schema is None else "database_file"
        parts = (part for part in (catalog, schema, name) if part is not None)
        described = self.run("DESCRIBE " + ".".join(map(quoted_name, parts)))
        reader = self.backend.compiler.type_mapper.from_string
        types = {column: read_type(reader, text) for column, text, *_ in described}
        return ibis.table(types, name=name, catalog=catalog, database=schema)

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


class DuckDBTable(Table):
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
        before = _opened(path, lambda: fingerprint(path))
        with _connected() as connection:
            source = _opened(path, lambda: open_parquet(connection, path))
            opened = cls._of_ibis(connection, source, domain)
            _opened(path, lambda: check_unchanged(path, before, path))
            return opened

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
            _opened(path, lambda: connection.attach(path))
            connection.run("SET enable_external_access = false")
            schema, name = split_name(table)
            listed = [known for (known,) in connection.run(_TABLES, [schema or "main"])]
            if name not in listed:
                known = one_line(", ".join(listed)) or "none"
                raise DataError(f"{one_line(path)} has no table {one_line(table)}; there are: {known}")
            try:
                source = connection.table(name, schema=schema or "main")
            except duckdb.PermissionException:
                raise DataError(
                    f"{one_line(path)}: the view {one_line(table)} reads another file; name that file as the source"
                ) from None
            except duckdb.Error:
                raise DataError(
                    f"{one_line(path)}: the view {one_line(table)} needs what is not there, as a dropped table or "
                    "an extension of DuckDB; copy what it shows to a table"
                ) from None
            opened = cls._of_ibis(connection, source, domain)
            connection.backend.detach("database_file")
            return opened

    @classmethod
    def _of_ibis(cls, connection: Connection, source: ir.Table, domain: Domain) -> DuckDBTable:
        columns = match_columns(domain, source.schema())
        sql = connection.backend.compile(select_columns(source, columns))
        return cls(connection, sql, columns, domain, connection.run)

    def _code_rows(self) -> None:
        self._create(f"CREATE TABLE {CODED_ROWS} AS {self._rows.sql}")

    def _make_ready(self) -> None:
        """Nothing to do: the codes are in this process."""

    def _run(self, sql: str) -> Sequence[Sequence[Any]]:
        return self._connection.run(sql)

    def _disconnect(self) -> None:
        self._connection.close()


def open_parquet(connection: Connection, path: str) -> ir.Table:
    """The table in a Parquet file, with the columns that the file has: its path holds no more of them.

    What the file states of its rows (bounds, filters) decides about none of them: the reader is asked for all.  A view
    in a DuckDB file is another matter, since joins are found by moving conditions, and DuckDB's own bounds hold NaN.
    """
    connection.run(_NO_STATISTICS_OF_READERS)
    file = glob.escape(path).replace("'", "''")
    connection.run(f"CREATE TEMPORARY VIEW parquet_file AS FROM read_parquet('{file}', hive_partitioning = false)")
    source = connection.table("parquet_file")
    names = _top_names(connection.run("SELECT name, num_children FROM parquet_schema(?)", [glob.escape(path)]))
    # DuckDB gives a column another name if it has none, or if an earlier one has the same but for case.
    called = list(zip(names, source.columns, strict=True))
    renamed = {name.casefold() for name, read in called if name and name != read}
    if renamed:
        alike = one_line(", ".join(name for name in names if name.casefold() in renamed))
        raise DataError(
            f"{one_line(path)}: the columns {alike} have the same name or differ in case only; give each another one"
        )
    return source.drop(*(read for name, read in called if not name))


def _top_names(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """The columns of a Parquet file, of a schema that lists each group before its members, the whole file first."""
    missing = [schema[0][1] or 0]
    names = []
    for name, members in schema[1:]:
        while not missing[-1]:
            missing.pop()
        if len(missing) == 1:
            names.append(name)
        missing[-1] -= 1
        if members:
            missing.append(members)
    return names


@contextmanager
def _connected() -> Iterator[Connection]:
    """A connection that is closed if the table cannot be opened."""
    connection = Connection()
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _opened(path: str, action: Any) -> Any:
    try:
        return action()
    except DataError:
        raise
    except Exception as error:
        # The kind of the error, which stands first, and not what it may quote from the file.
        kind = one_line(str(error).partition(":")[0])[:40]
        raise DataError(f"{one_line(path)}: DuckDB cannot open the file ({kind})") from None
