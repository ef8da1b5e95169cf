"""What the tables of all engines have in common: one query for each batch, a lock, and errors that tell nothing."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from parcomp.data.batch import batches
from parcomp.data.codes import CodedRows
from parcomp.data.dialect import Dialect
from parcomp.errors import DataError
from parcomp.model.domain import Domain
from parcomp.model.statement import Statement

__all__ = ["SqlTable", "split_name"]


class SqlTable(ABC):
    """A table whose coded rows are counted by an engine that speaks SQL; see :class:`parcomp.data.table.Table`."""

    def __init__(self, domain: Domain, rows: CodedRows, dialect: Dialect) -> None:
        self.domain = domain
        self._rows = rows
        self._dialect = dialect
        self._closed = False
        self._lock = threading.Lock()

    def measure(self, statements: Sequence[Statement]) -> list[list[list[int]]]:
        """For each statement and each of its aggregates one number for each group."""
        for statement in statements:
            if statement.domain is not self.domain and statement.domain != self.domain:
                raise DataError("the statement is about another domain than the table's")
        numbers = []
        for batch in batches(statements, self._rows, self._dialect):
            with self._lock:
                if self._closed:
                    raise DataError("the table is closed; open it again")
                try:
                    result = self._run(batch.sql(self._relation()))
                except Exception:
                    # What engines say of a failure can quote the row at which it occurred.
                    problem = f"{self._dialect.name} could not read the table; its own log says why"
                    raise DataError(problem) from None
            numbers += batch.read(result)
        return numbers

    def sql(self, statements: Sequence[Statement]) -> list[str]:
        """The queries that measure these statements: one, unless they ask for more than a thousand numbers."""
        with self._lock:
            relation = self._relation()
        return [batch.sql(relation) for batch in batches(statements, self._rows, self._dialect)]

    def close(self) -> None:
        """Give up the connection."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._disconnect()

    def _relation(self) -> str:
        """What stands after FROM to get the coded rows."""
        return f"({self._rows.sql}) AS rows_within_domain"

    @abstractmethod
    def _run(self, sql: str) -> list[Sequence[Any]]:
        """The rows of a query's result."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close what is open."""


def split_name(table: str) -> tuple[str | None, str]:
    """Schema and name of a table that is written as ``SCHEMA.TABLE`` or as ``TABLE``."""
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else (None, table)
