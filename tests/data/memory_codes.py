"""Coded tables in the memory of one DuckDB: the real steps of writing and counting them, without files.

For tests that make thousands of small tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import count
from typing import Any

import duckdb
import numpy.typing as npt
import pyarrow as pa

from parcomp.data.codes.coded_table import CodedTable
from parcomp.data.codes.coded_writer import CodesWriter
from parcomp.data.layout import PERSON, Imprint, checked, columns, staging_schema
from parcomp.model.domain import Domain
from tests.data.coded_rows import Codes

__all__ = ["MemoryCodes", "MemoryStore"]


@cache
def _connected() -> duckdb.DuckDBPyConnection:
    """One for all stores: to connect takes longer than to make a small table."""
    return duckdb.connect(":memory:", config={"threads": "1"})


_numbers = count()
"""What tells the tables of all stores apart."""


class MemoryStore:
    """A place for one coded table, and for those that take its place."""

    def __init__(self) -> None:
        self.connection = _connected()
        self.published: tuple[int, Domain, Imprint] | None = None

    def make(
        self, domain: Domain, batches: Iterable[pa.RecordBatch], imprint: Imprint, growing_from: Domain | None = None
    ) -> MemoryCodes:
        """Make a table of rows as they are staged, and open it."""
        writer = _MemoryWriter(self, domain, persons=bool(imprint.person))
        writer.stage(batches)
        writer.finish(imprint, growing_from=growing_from)
        assert self.published is not None
        return MemoryCodes(self, domain, self.published[2], f"codes{self.published[0]}")

    def taken(self) -> dict[bytes, Counter[Codes]]:
        """The rows that the table in place has taken of each person."""
        assert self.published is not None
        number, domain, _ = self.published
        found: dict[bytes, Counter[Codes]] = {}
        names = ", ".join([PERSON, *columns(domain)])
        for person, *codes in self.connection.execute(f"SELECT {names} FROM taken{number}").fetchall():
            found.setdefault(bytes(person), Counter())[tuple(codes)] += 1
        return found

    def close(self) -> None:
        """Drop the table in place."""
        if self.published is not None:
            for name in ("codes", "taken"):
                self.connection.execute(f"DROP TABLE IF EXISTS {name}{self.published[0]}")
            self.published = None


class MemoryCodes(CodedTable):
    """A table of a store."""

    engine = "DuckDB"

    def __init__(self, store: MemoryStore, domain: Domain, imprint: Imprint, relation: str) -> None:
        super().__init__(domain, imprint, relation)
        self._connection = store.connection

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        return list(self._connection.execute(sql).fetchall())

    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        return _chunks(self._connection, sql)

    def _make_ready(self) -> None: ...

    def _disconnect(self) -> None: ...


class _MemoryWriter(CodesWriter):
    engine = "DuckDB"

    def __init__(self, store: MemoryStore, domain: Domain, *, persons: bool) -> None:
        super().__init__(domain, persons=persons)
        self._store = store
        self._number = next(_numbers)
        self._connection = store.connection
        self._staging = f"staging{self._number}"

    def stage(self, batches: Iterable[pa.RecordBatch]) -> None:
        schema = staging_schema(self.domain, persons=self.persons)
        rows = pa.Table.from_batches([checked(one, self.domain, persons=self.persons) for one in batches], schema)
        self._connection.register(self._staging, rows)

    def close(self) -> None:
        self._connection.unregister(self._staging)

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        return list(self._connection.execute(sql).fetchall())

    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        return _chunks(self._connection, sql)

    def _earlier(self, name: str, domain: Domain) -> str | None:
        if self._store.published is None:
            return None
        number, earlier, _ = self._store.published
        assert earlier == domain
        return f"{name}{number}"

    def _keep(self, name: str, sql: str, more: Sequence[str]) -> str:
        kept = f"{name}{self._number}"
        selected = ", ".join([*columns(self.domain), *more])
        self._connection.execute(f"CREATE TABLE {kept} AS SELECT {selected} FROM ({sql}) AS made")
        return kept

    def _publish(self, imprint: Imprint) -> None:
        self._store.close()
        self._store.published = (self._number, self.domain, imprint)


def _chunks(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
    found = connection.execute(sql).fetchnumpy()
    yield list(found.values())
