"""Sources in PostgreSQL: a table or a view, read in one read-only transaction.

All values are read as the server writes them in text, which is exact for every type that attributes are read from,
dates and times in ISO.  The text comes as CSV, and goes through the same strict reader as a file.  What is no text is
handed on as :data:`~parcomp.data.sources.source.WRITTEN`.  Floats are the exception: the server writes a decimal that
reads back as the float, but not always the shortest one, for which a float stands.  So they are read back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pyarrow as pa

from parcomp.data.sources.byte_stream import ByteStream
from parcomp.data.sources.csv_text import CsvText
from parcomp.data.sources.source import Source, as_written, telling_nothing
from parcomp.data.sources.sql_types import sql_type
from parcomp.data.sql_names import quoted_name, split_name
from parcomp.errors import DataError, one_line

__all__ = ["PostgresSource", "connect_postgres"]

_PLACE = """
SELECT c.oid, n.nspname, c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = pg_catalog.to_regclass(%s)
"""

# A type with a constraint is that which it constrains, and this may be one as well.
_COLUMN_TYPES = """
WITH RECURSIVE types AS (
    SELECT a.attnum, a.attname, t.oid, t.typtype, t.typbasetype
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
    SELECT types.attnum, types.attname, t.oid, t.typtype, t.typbasetype
    FROM types JOIN pg_catalog.pg_type t ON t.oid = types.typbasetype
    WHERE types.typtype = 'd'
)
SELECT attname, CASE WHEN typtype = 'e' THEN 'text' ELSE pg_catalog.format_type(oid, NULL) END
FROM types WHERE typtype <> 'd' ORDER BY attnum
"""

_FLOATS = {"real": pa.float32(), "double precision": pa.float64()}

# With the last, policies that would leave rows out in silence are an error.
_SETTINGS = """
SET default_transaction_read_only = on; SET standard_conforming_strings = on; SET DateStyle = 'ISO';
SET extra_float_digits = 1; SET TimeZone = 'UTC'; SET row_security = off
"""


class PostgresSource(Source):
    """A table or view of a database."""

    def __init__(self, url: str, table: str) -> None:
        self._place = f"the table {table}"
        self._connection = connect_postgres(url)
        try:
            self._connection.execute(_SETTINGS)
            oid, schema, name = _place(self._connection, table)
            listed = self._connection.execute(_COLUMN_TYPES, (oid,)).fetchall()
        except BaseException:
            self.close()
            raise
        self._name = f"{quoted_name(schema)}.{quoted_name(name)}"
        self.types = {column: sql_type(written) for column, written in listed}
        self._floats = {column: _FLOATS[written] for column, written in listed if written in _FLOATS}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, once, as text."""
        names = [f"x{number}" for number in range(len(columns))]
        floats = [self._floats.get(name) for name in columns]
        written = [not (pa.types.is_string(self.types[name]) or name in self._floats) for name in columns]
        selected = ", ".join(f"{quoted_name(c)}::text AS {name}" for c, name in zip(columns, names, strict=True))
        sql = f"COPY (SELECT {selected} FROM {self._name}) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)"
        try:
            with telling_nothing(self._place), self._connection.cursor().copy(sql.encode()) as copy:
                for batch in CsvText(_CopyStream(self._place, copy)).rows(names):
                    yield _with_floats(as_written(batch, written), floats)
        except DataError:
            self._explain()
            raise

    def _explain(self) -> None:
        """Say what an error of the server was about where that is known without a row."""
        try:
            self._connection.execute(f"SELECT FROM {self._name} LIMIT 0".encode())
        except psycopg.errors.InsufficientPrivilege:
            raise DataError(
                "the user of the PostgreSQL database may not read all rows of the table: grant SELECT on what it "
                "reads, and where row-level security is on, take a user whom it does not bind (BYPASSRLS)"
            ) from None
        except psycopg.Error:
            return

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _with_floats(batch: pa.RecordBatch, floats: Sequence[pa.DataType | None]) -> pa.RecordBatch:
    """A batch in which the columns of floats, that came as text, are floats."""
    arrays = [one if kind is None else one.cast(kind) for one, kind in zip(batch.columns, floats, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


class _CopyStream(ByteStream):
    """What the server sends for a COPY."""

    def __init__(self, place: str, copy: psycopg.Copy) -> None:
        self.place = place
        self._copy = copy

    def read(self, size: int) -> bytes:
        """The next block, of at least so many bytes but at the end: the server sends each row by itself."""
        block = bytearray()
        while len(block) < size and (more := self._copy.read()):
            block += more
        return bytes(block)


def connect_postgres(url: str) -> psycopg.Connection[Any]:
    """A connection on which each statement is a transaction of its own."""
    try:
        # SQL is sent as UTF-8, whatever the encoding of the database or of this process's environment.
        return psycopg.connect(url, autocommit=True, client_encoding="utf8")
    except psycopg.ProgrammingError:
        raise DataError("the address of the PostgreSQL database cannot be read; write postgresql://…") from None
    except psycopg.Error:
        # What psycopg says of the failure may quote the password.
        raise DataError("the PostgreSQL database cannot be reached; is it running, and the address right?") from None


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
