"""Coded tables in PostgreSQL: in a schema of their own, ``parcomp``, beside the tables that they are made from.

The schema and its tables belong to who makes them and are closed to everybody else, whatever the database grants by
default; one that was opened to others since is refused (:mod:`~parcomp.data.codes.postgres_privileges`).  Tables of
several datasets live side by side; ``parcomp.imprints`` says of each dataset which tables hold it at present.  One
transaction stages the rows, makes the next tables, enters them and drops the earlier ones, so there is always one whole
table, and a writer that is killed leaves nothing behind.

Rows travel in PostgreSQL's binary format, which has integers in a fixed number of bytes: a block of rows is an array.
"""

from __future__ import annotations

import json
import secrets
import select
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
import pyarrow as pa
from psycopg.pq import ExecStatus

from parcomp.data.codes.coded_table import CodedTable, missing, replaced
from parcomp.data.codes.coded_writer import CodesWriter
from parcomp.data.codes.postgres_privileges import check_closed, close_schema, close_table
from parcomp.data.layout import MULTIPLICITY, PERSON, RANK, Imprint, checked, code_bits, column, staging_schema
from parcomp.errors import DataError, one_line
from parcomp.model import Attribute, Domain

__all__ = ["PostgresCodes", "PostgresWriter"]

# There is no type of 8 bits.
_TYPES = {8: "SMALLINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
_BYTES = {8: 2, 16: 2, 32: 4, 64: 8}

_LOCK = 0x70617263
"""The number of the lock under which the schema is made: "parc"."""

_IMPRINTS = "parcomp.imprints"
_MAKE_IMPRINTS = f"CREATE TABLE {_IMPRINTS} (name TEXT PRIMARY KEY, place TEXT NOT NULL, imprint TEXT NOT NULL)"
_THERE = "SELECT to_regnamespace('parcomp') IS NOT NULL, to_regclass('parcomp.imprints') IS NOT NULL"

_IMPRINT = "SELECT place, imprint FROM parcomp.imprints WHERE name = %s"

_ENTER = """
INSERT INTO parcomp.imprints (name, place, imprint) VALUES (%s, %s, %s)
ON CONFLICT (name) DO UPDATE SET place = EXCLUDED.place, imprint = EXCLUDED.imprint
"""

_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
_BLOCK_BYTES = 2**22


class PostgresCodes(CodedTable):
    """The coded table of a dataset, of this version and source, in a database."""

    engine = "PostgreSQL"

    def __init__(self, url: str, domain: Domain, *, dataset: str, version: str, source: str) -> None:
        self._url = url
        self._name = _name(dataset, version, source)
        self._connection = _connect(url, read_only=True)
        try:
            with self._telling_nothing():
                found = self._look_up()
            if found is None:
                raise missing(f"PostgreSQL, dataset {dataset}")
            self._place, text = found
            with self._telling_nothing():
                check_closed(self._connection, [*_tables(self._place), _IMPRINTS])
            super().__init__(domain, Imprint.read(text), f"parcomp.codes_{self._place}")
        except BaseException:
            self._disconnect()
            raise

    def _look_up(self) -> tuple[str, str] | None:
        try:
            found: tuple[str, str] | None = self._connection.execute(_IMPRINT, (self._name,)).fetchone()
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            return None
        return found

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        try:
            return self._fetched(sql)
        except psycopg.OperationalError:
            # Counting changes nothing, so it may be tried again where the server has dropped the connection.
            if not self._connection.closed:
                raise
            self._make_ready()
            return self._fetched(sql)

    def _fetched(self, sql: str) -> Sequence[Sequence[Any]]:
        try:
            return list(self._connection.execute(sql.encode()).fetchall())
        except psycopg.errors.UndefinedTable:
            raise replaced() from None

    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        # What was counted before a connection is lost cannot be told from what was not, so it is looked at first.
        self._make_ready()
        return _copied_out(self._connection, sql)

    def _make_ready(self) -> None:
        try:
            found = self._look_up()
        except psycopg.Error:
            self._connection.close()
            self._connection = _connect(self._url, read_only=True)
            found = self._look_up()
        if found is None or found[0] != self._place:
            raise replaced()

    def _disconnect(self) -> None:
        self._connection.close()


class PostgresWriter(CodesWriter):
    """Makes the coded table of a dataset in a database."""

    engine = "PostgreSQL"

    def __init__(
        self, url: str, domain: Domain, *, dataset: str, version: str, source: str, persons: bool = False
    ) -> None:
        super().__init__(domain, persons=persons)
        self._name = _name(dataset, version, source)
        self._place = f"{self._name}_{secrets.token_hex(4)}"
        self._staging = f"parcomp.staging_{self._place}"
        self._connection = _connect(url, read_only=False)
        try:
            with self._connection.transaction():
                self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                self._make_schema()
            self._connection.execute("BEGIN")
            # Written once and dropped before the transaction ends, so the server need not log it.
            self._make("UNLOGGED TABLE", self._staging, dict.fromkeys((PERSON, RANK), "BYTEA") if persons else {})
        except psycopg.errors.InsufficientPrivilege:
            self.close()
            raise DataError(
                "the user of the PostgreSQL database may not make the schema parcomp, which holds the coded table; "
                "grant CREATE on the database, or make the user the owner of that schema"
            ) from None
        except psycopg.Error:
            self.close()
            raise DataError("PostgreSQL could not make the coded table; its own log says why") from None
        except DataError:
            self.close()
            raise

    def stage(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Take rows with the columns of :func:`~parcomp.data.layout.staging_schema`; may be called more than once."""
        names = ", ".join(staging_schema(self.domain, persons=self.persons).names)
        record = self._record()
        failed: list[BaseException] = []
        try:
            with self._connection.cursor().copy(f"COPY {self._staging} ({names}) FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(_HEADER)
                try:
                    for batch in batches:
                        copy.write(_packed(record, checked(batch, self.domain, persons=self.persons)))
                except BaseException as error:
                    failed.append(error)
                    raise
                copy.write(_TRAILER)
        except psycopg.Error:
            if failed and not isinstance(failed[0], psycopg.Error):
                raise failed[0] from None
            raise DataError("PostgreSQL could not write the staged rows; its own log says why") from None

    def close(self) -> None:
        """Give up what was staged and not finished: the transaction ends with its connection."""
        self._connection.close()

    def _record(self) -> np.dtype[Any]:
        """A staged row in the binary format: the number of fields, and before each field its length."""
        widths = [_BYTES[code_bits(attribute)] for attribute in self.domain.attributes.values()]
        fields = [(f"v{i}", f">i{width}") for i, width in enumerate(widths)]
        fields += [(f"v{len(widths) + i}", "V16") for i in range(2 if self.persons else 0)]
        return _record_type(fields)

    def _make_schema(self) -> None:
        """Make the schema and the list of tables, as far as they are not there, each closed before others see it."""
        [[schema, imprints]] = self._connection.execute(_THERE).fetchall()
        if not schema:
            self._execute("CREATE SCHEMA parcomp")
            close_schema(self._connection)
        if imprints:
            check_closed(self._connection, [_IMPRINTS])
        else:
            self._execute(_MAKE_IMPRINTS)
            close_table(self._connection, _IMPRINTS)

    def _make(self, kind: str, name: str, more: dict[str, str]) -> None:
        coded = (f"{column(i)} {_sql_type(one)} NOT NULL" for i, one in enumerate(self.domain.attributes.values()))
        listed = ", ".join([*coded, *(f"{key} {sql} NOT NULL" for key, sql in more.items())])
        self._execute(f"CREATE {kind} {name} ({listed})")
        close_table(self._connection, name)

    def _execute(self, sql: str) -> None:
        self._connection.execute(sql.encode())

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        return list(self._connection.execute(sql.encode()).fetchall())

    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        return _copied_out(self._connection, sql)

    def _earlier_place(self) -> str | None:
        found = self._connection.execute(_IMPRINT, (self._name,)).fetchone()
        return None if found is None else str(found[0])

    def _earlier(self, name: str, domain: Domain) -> str | None:  # noqa: ARG002
        earlier = f"parcomp.{name}_{self._earlier_place()}"
        [[there]] = self._connection.execute("SELECT to_regclass(%s) IS NOT NULL", (earlier,)).fetchall()
        return earlier if there else None

    def _keep(self, name: str, sql: str, more: Sequence[str]) -> str:
        table = f"parcomp.{name}_{self._place}"
        types = {PERSON: "BYTEA", MULTIPLICITY: "BIGINT"}
        self._make("TABLE", table, {one: types[one] for one in more})
        selected = ", ".join([*map(column, range(len(self.domain.attributes))), *more])
        self._execute(f"INSERT INTO {table} ({selected}) SELECT {selected} FROM ({sql}) AS made")
        self._execute(f"ANALYZE {table}")
        return table

    def _publish(self, imprint: Imprint) -> None:
        if _name(imprint.dataset, imprint.version, imprint.source) != self._name:
            raise DataError("the imprint names another dataset, version or source than the writer was made for")
        # Of two writers the later one drops what the other has entered.
        self._execute("LOCK TABLE parcomp.imprints IN SHARE ROW EXCLUSIVE MODE")
        earlier = self._earlier_place()
        self._execute(f"DROP TABLE {self._staging}")
        self._connection.execute(_ENTER, (self._name, self._place, imprint.text))
        if earlier is not None:
            self._execute(f"DROP TABLE IF EXISTS {', '.join(_tables(earlier))}")
        self._execute("COMMIT")


def _name(dataset: str, version: str, source: str) -> str:
    """What the tables of a dataset are called, in lowercase hexadecimal."""
    return sha256(json.dumps([dataset, version, source]).encode()).hexdigest()[:16]


def _tables(place: str) -> list[str]:
    """The tables that one making has left: the second only where rows belong to persons."""
    return [f"parcomp.codes_{place}", f"parcomp.taken_{place}"]


def _sql_type(attribute: Attribute) -> str:
    return _TYPES[code_bits(attribute)]


def _connect(url: str, *, read_only: bool) -> psycopg.Connection[Any]:
    try:
        connection = psycopg.connect(url, autocommit=True, client_encoding="utf8")
        # Every name that is used has its schema.
        connection.execute("SET search_path = ''")
        if read_only:
            connection.execute("SET default_transaction_read_only = on")
    except psycopg.ProgrammingError:
        # Its text repeats the address, password and all.
        raise DataError("the address of the PostgreSQL server is not well formed") from None
    except psycopg.Error as error:
        reason = one_line(" ".join(str(error).split()))[:200]
        raise DataError(f"the PostgreSQL server cannot be reached ({reason})") from None
    return connection


def _record_type(fields: Sequence[tuple[str, str]]) -> np.dtype[Any]:
    pairs = (pair for i, field in enumerate(fields) for pair in ((f"l{i}", ">i4"), field))
    return np.dtype([("fields", ">i2"), *pairs])


def _packed(record: np.dtype[Any], batch: pa.RecordBatch) -> bytes:
    """Staged rows in the binary format."""
    rows = np.empty(len(batch), record)
    rows["fields"] = batch.num_columns
    for i, values in enumerate(batch.columns):
        rows[f"l{i}"] = record[f"v{i}"].itemsize
        if pa.types.is_integer(values.type):
            rows[f"v{i}"] = values.to_numpy()
        else:
            _, content = values.buffers()
            rows[f"v{i}"] = np.frombuffer(content, "V16", len(batch), 16 * values.offset)
    return rows.tobytes()


def _copied_out(connection: psycopg.Connection[Any], sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
    """The columns of a query's result, all of them integers and none null, in blocks."""
    record: np.dtype[Any] | None = None
    waiting: list[bytes] = []
    size = 0
    for message in _messages(connection, f"COPY ({sql}) TO STDOUT (FORMAT BINARY)"):
        # Every message has whole rows; the header comes before the first one, the trailer after the last.
        rows = message.removeprefix(_HEADER) if record is None else message
        if record is None and rows not in (b"", _TRAILER):
            record = _record_of(rows)
        waiting.append(rows)
        size += len(rows)
        if record is not None and size >= _BLOCK_BYTES:
            yield _columns(b"".join(waiting), record)
            waiting, size = [], 0
    if record is not None:
        yield _columns(b"".join(waiting), record)


def _messages(connection: psycopg.Connection[Any], sql: str) -> Iterator[bytes]:
    """What the server sends for a COPY, a row at a time: psycopg's own way takes three times as long for each.

    Whoever stops before the end loses the connection.
    """
    server = connection.pgconn
    complete = False
    try:
        if server.exec_(sql.encode()).status != ExecStatus.COPY_OUT:
            raise psycopg.OperationalError("the server does not copy")
        while True:
            length, message = server.get_copy_data(1)
            if length > 0:
                yield bytes(message)
            elif length == 0:
                select.select([server.socket], [], [])
                server.consume_input()
            else:
                break
        # An error after some rows must not pass for their end.
        result = server.get_result()
        complete = result is not None and result.status == ExecStatus.COMMAND_OK and server.get_result() is None
        if not complete:
            raise psycopg.OperationalError("the server did not copy all rows")
    finally:
        if not complete:
            connection.close()


def _record_of(row: bytes) -> np.dtype[Any]:
    """The type of all rows, by the lengths that the first one states."""
    fields: list[tuple[str, str]] = []
    at = 2
    for i in range(int.from_bytes(row[:2], "big")):
        length = int.from_bytes(row[at : at + 4], "big")
        fields.append((f"v{i}", f">i{length}"))
        at += 4 + length
    return _record_type(fields)


def _columns(block: bytes, record: np.dtype[Any]) -> Sequence[npt.NDArray[Any]]:
    # Rows are longer than the trailer, so what is left over after them is the trailer or nothing.
    rows = np.frombuffer(block, record, len(block) // record.itemsize)
    return [rows[f"v{i}"].astype(record[f"v{i}"].newbyteorder("=")) for i in range(len(record.names or ()) // 2)]
