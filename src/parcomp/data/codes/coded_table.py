"""A coded table that is open for counting, whatever engine holds it.

Opening one scans nothing and changes nothing.  It stands for the content that it was opened with: where `load` has
replaced the coded table since, a table in a file goes on counting the earlier one, and a table on a server says that it
is gone; either way a process sees the other content when it opens the table again.

*Failing must not tell.*  Counting reads nothing but small integers, on which nothing can fail for one row and not for
another.  What an engine may still fail on (a lost connection, a full disk) is told in one sentence that is the same
whatever the rows are.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt

from parcomp.data import layout
from parcomp.data.codes.classes import Classes, ClassPass
from parcomp.data.codes.counting import Conditional, Measured, Passes
from parcomp.data.layout import Imprint
from parcomp.errors import DataError, ParcompError, one_line
from parcomp.model import Domain, Query, Statement

__all__ = ["CodedTable", "OpenToOthersError", "missing", "replaced"]


class OpenToOthersError(DataError):
    """Others than its owner may read a coded table.

    It is in its place all the same, and must not pass for one that is not there.
    """


class CodedTable(ABC):
    """Rows of one domain as codes, counted exactly, from any thread.

    ``relation`` is what SQL calls the table on its engine.
    """

    engine: str
    """What messages call the engine."""

    def __init__(self, domain: Domain, imprint: Imprint, relation: str) -> None:
        layout.check_sums(domain, imprint.kept)
        self.domain = domain
        self.imprint = imprint
        self._relation = relation
        self._closed = False
        self._lock = threading.Lock()

    def ready(self) -> None:
        """Make sure that the table can be counted, connecting again if the connection was lost.

        It is called before anything is charged, so that what keeps the table from being counted costs nothing.
        """
        with self._lock:
            self._check_open()
            with self._telling_nothing():
                self._make_ready()

    def measure(self, statements: Sequence[Statement]) -> list[list[Measured]]:
        """For each statement and each of its aggregates one number for each group, in the order of ``group_labels()``.

        Zeros are included, and without GROUP BY there is a single group.  Of ranks it is how many rows have each value.
        All rows are counted and all sums are made in one pass over the table, as far as memory allows; squares,
        different values and ranks take a query for each condition, attribute and grouping.
        """
        for statement in statements:
            if statement.domain is not self.domain and statement.domain != self.domain:
                raise DataError("the statement is about another domain than the table's")
        passes = Passes.of(statements, self.domain, self._relation, self.imprint.stored)
        for one in passes.passes:
            with self._lock:
                self._check_open()
                with self._telling_nothing():
                    if isinstance(one, Conditional):
                        one.read(self._rows(one.sql))
                    else:
                        for chunk in self._chunks(one.sql):
                            one.add(chunk)
        return passes.numbers()

    def count_classes(self, lists: Sequence[Sequence[Query]]) -> list[Classes]:
        """For each list of queries, none of them a contradiction, how many rows satisfy the same of them.

        All lists are counted in one pass over the table.
        """
        made = ClassPass(
            [[query.tested for query in queries] for queries in lists],
            self.domain,
            self._relation,
            self.imprint.stored,
        )
        with self._lock:
            self._check_open()
            with self._telling_nothing():
                for chunk in self._chunks(made.sql):
                    made.add(chunk)
        return made.classes()

    def content_digest(self) -> str:
        """The digest of the records, worked out anew; that of the imprint unless somebody has changed them."""
        with self._lock:
            self._check_open()
            with self._telling_nothing():
                sql = layout.sorted_sql(layout.columns(self.domain), self._relation)
                return layout.digest(self.domain, self._chunks(sql))

    def sql(self, statements: Sequence[Statement]) -> list[str]:
        """The queries that measure these statements."""
        passes = Passes.of(statements, self.domain, self._relation, self.imprint.stored)
        return [one.sql for one in passes.passes]

    def close(self) -> None:
        """Give up the connection; the table cannot be counted any more."""
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
            raise DataError(f"{self.engine} could not read the coded table; its own log says why") from None

    @abstractmethod
    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        """The rows of a short result."""

    @abstractmethod
    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        """The columns of a long result of integers, piece by piece."""

    @abstractmethod
    def _make_ready(self) -> None:
        """Connect again if the connection was lost."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close what is open."""


def missing(place: str) -> DataError:
    """There is no coded table where one is looked for."""
    return DataError(
        f"{one_line(place)}: there is no coded table; run `parcomp load` to make it, in Python custodian.load"
    )


def replaced() -> DataError:
    """The coded table was made anew since it was opened."""
    return DataError("the coded table was replaced by `parcomp load`; open the dataset again")
