"""What the tables of all engines have in common: coded once when they are opened, one query for each batch, a lock.

*Failing must not tell.*  A cast, a division in a view or a damaged page fails at some rows and not at others.  Where an
engine meets them while it answers, whether it fails depends on which rows the statement asks for, and a failure
answers a question that nobody has paid for.  So the rows are turned into codes when the table is opened, all of them
and before any statement is known, and what cannot be coded keeps the table from being opened.  Measuring reads nothing
but the codes, small integers on which nothing can fail.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from parcomp.data.batch import batches
from parcomp.data.codes import CodedRows
from parcomp.data.dialect import Dialect
from parcomp.errors import DataError, ParcompError
from parcomp.model import Domain, Statement

__all__ = ["CODED_ROWS", "Table", "split_name"]

CODED_ROWS = "rows_within_domain"
"""What the table of codes is called, on every engine."""


class Table(ABC):
    """A table of one domain that is measured exactly, from any thread, by an engine that speaks SQL.

    Making one codes its rows, so a subclass has connected by then; it disconnects itself if that fails.
    """

    def __init__(self, domain: Domain, rows: CodedRows, dialect: Dialect) -> None:
        self.domain = domain
        self._rows = rows
        self._dialect = dialect
        self._closed = False
        self._lock = threading.Lock()
        with self._telling_nothing():
            self._code_rows()

    def ready(self) -> None:
        """Make sure that the table can be measured, opening it again if the connection was lost.

        It is called before anything is charged, so that what keeps the table from being read costs nothing.
        """
        with self._lock:
            self._check_open()
            with self._telling_nothing():
                self._make_ready()

    def measure(self, statements: Sequence[Statement]) -> list[list[list[int]]]:
        """For each statement and each of its aggregates one number for each group, in the order of ``group_codes()``.

        Zeros are included, and without GROUP BY there is a single group.  All statements are measured in one pass over
        the table (a thousand numbers in each, if there are more).
        """
        for statement in statements:
            if statement.domain is not self.domain and statement.domain != self.domain:
                raise DataError("the statement is about another domain than the table's")
        numbers = []
        for batch in batches(statements, self._rows, self._dialect):
            with self._lock:
                self._check_open()
                with self._telling_nothing():
                    result = self._run(batch.sql(CODED_ROWS))
            numbers += batch.read(result)
        return numbers

    def sql(self, statements: Sequence[Statement]) -> list[str]:
        """The queries that measure these statements: one, unless they ask for more than a thousand numbers."""
        return [batch.sql(CODED_ROWS) for batch in batches(statements, self._rows, self._dialect)]

    def close(self) -> None:
        """Give up the connection; the table cannot be measured any more."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._disconnect()

    def _check_open(self) -> None:
        if self._closed:
            raise DataError("the table is closed; open it again")

    @contextmanager
    def _telling_nothing(self) -> Iterator[None]:
        """An error of the engine becomes one that is the same for all rows: the engine's may quote one of them."""
        try:
            yield
        except ParcompError:
            raise
        except Exception:
            raise DataError(f"{self._dialect.name} could not read the table; its own log says why") from None

    @abstractmethod
    def _code_rows(self) -> None:
        """Make the table ``CODED_ROWS`` of all rows within the domain, completely before returning."""

    @abstractmethod
    def _make_ready(self) -> None:
        """Open the table again if ``CODED_ROWS`` was lost."""

    @abstractmethod
    def _run(self, sql: str) -> Sequence[Sequence[Any]]:
        """The rows of a query's result."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close what is open."""


def split_name(table: str) -> tuple[str | None, str]:
    """Schema and name of a table that is written as ``SCHEMA.TABLE`` or as ``TABLE``."""
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else (None, table)
