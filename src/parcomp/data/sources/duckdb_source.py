"""Sources in DuckDB files: a table or a view, read by DuckDB within the process."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from parcomp.data.sources.source import BATCH_ROWS, Source, as_written, telling_nothing
from parcomp.data.sources.sql_types import sql_type
from parcomp.data.sql_names import quoted_name, split_name
from parcomp.errors import DataError, one_line

__all__ = ["DuckDBSource", "attach_file", "duckdb_connection"]

_TABLES = """
SELECT table_name FROM information_schema.tables
WHERE table_catalog = 'database_file' AND table_schema = ? ORDER BY table_name
"""
_TO_BE_WRITTEN = ("HUGEINT", "UHUGEINT", "UINT128", "TIMESTAMP_NS")
"""Integers that no type of Arrow holds, and time stamps whose infinities would be taken for moments there."""


class DuckDBSource(Source):
    """A table or view in a DuckDB file, which is opened read-only.

    A view may not reach for other files: DuckDB's reader of CSV files takes text within quotes for rows.
    """

    def __init__(self, path: str, table: str) -> None:
        self._place = f"{table} of {path}"
        self._connection = duckdb_connection()
        try:
            self._name, self.written = self._open(path, table)
        except BaseException:
            self.close()
            raise
        self.types = {name: sql_type(written) for name, written in self.written.items()}

    def _open(self, path: str, table: str) -> tuple[str, dict[str, str]]:
        attach_file(self._connection, path)
        schema, name = split_name(table)
        listed = [known for (known,) in self._connection.execute(_TABLES, [schema or "main"]).fetchall()]
        if name not in listed:
            known = one_line(", ".join(listed)) or "none"
            raise DataError(f"{one_line(path)} has no table {one_line(table)}; there are: {known}")
        full = ".".join(map(quoted_name, ("database_file", schema or "main", name)))
        try:
            described = self._connection.execute(f"DESCRIBE {full}").fetchall()
        except duckdb.PermissionException:
            raise DataError(
                f"{one_line(path)}: the view {one_line(table)} reads another file; name that file as the source"
            ) from None
        except duckdb.Error:
            raise DataError(
                f"{one_line(path)}: the view {one_line(table)} needs what is not there, as a dropped table or "
                "an extension of DuckDB; copy what it shows to a table"
            ) from None
        return full, {column: written for column, written, *_ in described}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, once."""
        written = [self.written[name] in _TO_BE_WRITTEN for name in columns]
        selected = ", ".join(
            f"{f'CAST({quoted_name(name)} AS VARCHAR)' if is_written else quoted_name(name)} AS x{i}"
            for i, (name, is_written) in enumerate(zip(columns, written, strict=True))
        )
        with telling_nothing(self._place):
            for batch in self._connection.sql(f"SELECT {selected} FROM {self._name}").to_arrow_reader(BATCH_ROWS):
                yield as_written(batch, written)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


def attach_file(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Open a DuckDB file as ``database_file``, read-only, and no other file after it."""
    quoted = path.replace("'", "''")
    try:
        connection.execute(f"ATTACH '{quoted}' AS database_file (TYPE DUCKDB, READ_ONLY)")
    except duckdb.Error as error:
        # The kind of the error, which stands first, and not what it may quote from the file.
        kind = one_line(str(error).partition(":")[0])[:40]
        raise DataError(f"{one_line(path)}: DuckDB cannot open the file ({kind})") from None
    connection.execute("SET enable_external_access = false")


def duckdb_connection(path: str = ":memory:", **settings: Any) -> duckdb.DuckDBPyConnection:
    """A DuckDB that fetches and loads no extensions and keeps no order of rows.

    Its temporary files are in a directory of its own, which only its owner can enter, removed with the connection and
    at the end of the process.
    """
    directory = tempfile.mkdtemp(prefix="parcomp-")
    connection = duckdb.connect(
        path,
        config={
            "temp_directory": directory,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # A view names tables of its file, never a variable of this program.
            "python_enable_replacements": False,
            "preserve_insertion_order": False,
            **settings,
        },
    )
    weakref.finalize(connection, _remove_own, directory, os.getpid())
    return connection


def _remove_own(directory: str, process: int) -> None:
    # A child of this process inherits what is to be done at its end, but not the directory.
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)
