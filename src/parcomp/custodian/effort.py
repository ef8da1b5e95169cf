"""How much work the decisions on one request may take, and until when it may go on.

Decisions are made one after the other while nobody else can have any, so a batch of many statements must not take as
long as so many single ones.  Each decision of a long batch gets a part of the work that a single one has.  That proves
less in the worst case, never anything wrong: what does not fit by what was proven is decided again with all the work,
as long as the request has some of these second looks left.  Work is counted, not timed, so that quoting and asking,
here and on another machine, come to the same.

Before a long batch is charged, one look at the ledger with all of its statements may tell that they fit, which takes
hardly longer for a thousand of them than for one.  It counts where the overlap is exactly known: no decisions one by
one, and no quote, could come to less.

Whoever asks over the network waits for so long and no longer.  What is still being planned or decided then, with
nothing charged, is given up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from parcomp.custodian.accountant import Expense, Verdict
from parcomp.custodian.books import Books
from parcomp.errors import DeadlineError
from parcomp.overlap import DECISION_WORK

__all__ = ["Effort", "seconds_left", "waited_for"]

_IN_FULL = 16
"""Decisions of a request that may take all the work that a single one has."""

_LOOK_WORK = 4 * DECISION_WORK
"""What one look at the whole may take: some 200 ms."""

_LEAST_PART = 64
"""A decision has at least this part of it."""

_UNTIL = ContextVar("until", default=math.inf)


@contextmanager
def waited_for(until: float) -> Iterator[None]:
    """Give up what is decided within this once the monotonic clock has passed ``until``."""
    token = _UNTIL.set(until)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def seconds_left(most: float) -> float:
    """How long something may take: what is left of the time that is waited for, and ``most`` at most.

    Raises :class:`~parcomp.errors.DeadlineError` where nothing is left.
    """
    left = _UNTIL.get() - time.monotonic()
    if left <= 0:
        raise DeadlineError("it took longer to plan than was waited for; nothing was charged")
    return min(most, left)


class Effort:
    """What the decisions on a request of ``count`` different statements may take."""

    def __init__(self, count: int) -> None:
        self._work = (
            DECISION_WORK if count <= _IN_FULL else max(DECISION_WORK * _IN_FULL // count, DECISION_WORK // _LEAST_PART)
        )
        self._looks = _IN_FULL

    def decide_together(self, books: Books, analyst: str, expenses: Sequence[Expense]) -> Verdict | None:
        """What the books say of many expenses that all fit by one look at the whole; None where that is not known."""
        if len(expenses) <= _IN_FULL:
            return None
        self._check_time()
        verdict = books.decide_together(analyst, expenses, _LOOK_WORK)
        return verdict if verdict is not None and verdict.fits else None

    def decide(self, books: Books, analyst: str, expense: Expense) -> Verdict:
        """What the books say of an expense."""
        self._check_time()
        verdict = books.decide(analyst, expense, self._work)
        if not verdict.fits and self._work < DECISION_WORK and self._looks:
            self._looks -= 1
            return books.decide(analyst, expense)
        return verdict

    def _check_time(self) -> None:
        if time.monotonic() > _UNTIL.get():
            raise DeadlineError("it took longer to decide than was waited for; nothing was charged")
