"""Coded tables in a DuckDB file, which only its owner may read.

A file is written in a directory of its own beside it, which only the owner may enter, and renamed when it is complete.
So there is the earlier file or the next one, whenever the writer is killed; what it leaves behind is removed by the
next writer.  A file that is in place never changes: several processes read it at once, and who has it open goes on
reading it after it was replaced.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy.typing as npt
import pyarrow as pa

from parcomp.data.codes.coded_table import CodedTable, OpenToOthersError, missing
from parcomp.data.codes.coded_writer import CodesWriter
from parcomp.data.layout import MULTIPLICITY, PERSON, RANK, Imprint, checked, code_bits, column, staging_schema
from parcomp.errors import DataError, one_line
from parcomp.model import Attribute, Domain

__all__ = ["DuckDBCodes", "DuckDBWriter"]

_TYPES = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}

_CHUNK_ROWS = 2**18


class DuckDBCodes(CodedTable):
    """The coded table in the file at a path."""

    engine = "DuckDB"

    def __init__(self, path: str | Path, domain: Domain) -> None:
        self._path = Path(path)
        if not self._path.is_file():
            raise missing(str(path))
        if self._path.stat().st_mode & 0o077:
            raise OpenToOthersError(
                f"{one_line(str(path))}: others may read the coded table, which holds every row; run: chmod 600"
            )
        self._connection, self._remove = _connect(None)
        try:
            with self._telling_nothing():
                _attach(self._connection, self._path, "place", read_only=True)
                self._connection.execute("SET enable_external_access = false")
                [[text]] = self._connection.execute("SELECT imprint FROM place.imprint").fetchall()
            super().__init__(domain, Imprint.read(text), "place.codes")
        except BaseException:
            self._disconnect()
            raise

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        return list(self._connection.execute(sql).fetchall())

    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        return _chunks(self._connection, sql)

    def _make_ready(self) -> None:
        """Nothing to do: the file is open."""

    def _disconnect(self) -> None:
        self._connection.close()
        self._remove()


class DuckDBWriter(CodesWriter):
    """Makes the coded table in the file at a path."""

    engine = "DuckDB"
    _staging = "staging.staging"

    def __init__(self, path: str | Path, domain: Domain, *, persons: bool = False) -> None:
        super().__init__(domain, persons=persons)
        self._path = Path(path)
        try:
            _remove_abandoned(self._path)
            self._directory = Path(tempfile.mkdtemp(prefix=f".{self._path.name}.", suffix=_PART, dir=self._path.parent))
            self._held = os.open(self._directory, os.O_RDONLY)
            fcntl.flock(self._held, fcntl.LOCK_EX)
        except OSError:
            raise DataError(f"{one_line(str(path))}: the directory of the coded table cannot be written") from None
        self._closed = False
        self._connection, self._remove = _connect(self._directory / "spilled")
        try:
            _attach(self._connection, self._directory / "staging", "staging")
            _attach(self._connection, self._directory / "codes", "place")
            keys = (PERSON, RANK) if persons else ()
            self._connection.execute(f"CREATE TABLE {self._staging} ({self._columns(keys)})")
        except duckdb.Error:
            self.close()
            raise DataError(f"{one_line(str(path))}: DuckDB cannot write a file beside it; is the disk full?") from None

    def stage(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Take rows with the columns of :func:`~parcomp.data.layout.staging_schema`; may be called more than once."""
        schema = staging_schema(self.domain, persons=self.persons)
        failed: list[BaseException] = []

        def gated() -> Iterator[pa.RecordBatch]:
            try:
                for batch in batches:
                    yield checked(batch, self.domain, persons=self.persons)
            except BaseException as error:
                failed.append(error)
                raise

        reader = pa.RecordBatchReader.from_batches(schema, gated())
        self._connection.register("batches", reader)
        try:
            self._connection.execute(f"INSERT INTO {self._staging} SELECT {', '.join(schema.names)} FROM batches")
        except Exception:
            if failed:
                # DuckDB tells of what the source has raised by its text only.
                raise failed[0] from None
            raise DataError("DuckDB could not write the staged rows; is the disk full?") from None
        finally:
            self._connection.unregister("batches")

    def close(self) -> None:
        """Give up what was staged and not finished."""
        if not self._closed:
            self._closed = True
            self._connection.close()
            self._remove()
            shutil.rmtree(self._directory, ignore_errors=True)
            os.close(self._held)

    def _columns(self, keys: Sequence[str]) -> str:
        coded = (f"{column(i)} {_sql_type(one)} NOT NULL" for i, one in enumerate(self.domain.attributes.values()))
        return ", ".join([*coded, *(f"{key} BLOB NOT NULL" for key in keys)])

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        return list(self._connection.execute(sql).fetchall())

    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        return _chunks(self._connection, sql)

    def _earlier(self, name: str, domain: Domain) -> str | None:  # noqa: ARG002
        if not self._path.is_file():
            return None
        attached = "SELECT database_name FROM duckdb_databases()"
        if ("earlier",) not in self._rows(attached):
            _attach(self._connection, self._path, "earlier", read_only=True)
        tables = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'earlier'"
        return f"earlier.{name}" if (name,) in self._rows(tables) else None

    def _keep(self, name: str, sql: str, more: Sequence[str]) -> str:
        types = {PERSON: "BLOB", MULTIPLICITY: "BIGINT"}
        added = ", ".join(f"{one} {types[one]} NOT NULL" for one in more)
        names = [column(i) for i in range(len(self.domain.attributes))]
        self._connection.execute(f"CREATE TABLE place.{name} ({self._columns(())}, {added})")
        selected = ", ".join([*names, *more])
        self._connection.execute(f"INSERT INTO place.{name} SELECT {selected} FROM ({sql}) AS made")
        return f"place.{name}"

    def _publish(self, imprint: Imprint) -> None:
        self._connection.execute("CREATE TABLE place.imprint (imprint VARCHAR NOT NULL)")
        self._connection.execute("INSERT INTO place.imprint VALUES (?)", [imprint.text])
        self._connection.execute("DETACH place")
        made = self._directory / "codes"
        made.chmod(0o600)
        _flush(made)
        made.rename(self._path)
        _flush(self._path.parent)


_PART = ".part"


def _sql_type(attribute: Attribute) -> str:
    return _TYPES[code_bits(attribute)]


def _connect(spilled: Path | None) -> tuple[duckdb.DuckDBPyConnection, Any]:
    """A DuckDB that loads no extensions, and what removes its temporary files, also at the end of the process."""
    directory = str(spilled) if spilled else tempfile.mkdtemp(prefix="parcomp-")
    connection = duckdb.connect(
        ":memory:",
        config={
            "temp_directory": directory,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "preserve_insertion_order": "false",
        },
    )
    connection.execute("SET python_enable_replacements = false")
    # In an interactive session DuckDB would draw a bar of its own.
    connection.execute("SET enable_progress_bar = false")
    return connection, weakref.finalize(connection, _remove_own, directory, os.getpid())


def _remove_own(directory: str, process: int) -> None:
    # A child of this process inherits what is to be done at its end, but not the directory.
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


def _attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str, *, read_only: bool = False) -> None:
    quoted = str(path).replace("'", "''")
    connection.execute(f"ATTACH '{quoted}' AS {name} (TYPE DUCKDB{', READ_ONLY' if read_only else ''})")


def _chunks(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
    for batch in connection.sql(sql).to_arrow_reader(_CHUNK_ROWS):
        yield [values.to_numpy() for values in batch.columns]


def _flush(path: Path) -> None:
    """Have a file or the names of a directory on the disk, so that a rename never comes before what it names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_abandoned(path: Path) -> None:
    """Remove what writers of this file have left that were killed: nobody holds its lock."""
    for directory in path.parent.glob(f".{_escaped(path.name)}.*{_PART}"):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
