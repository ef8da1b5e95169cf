"""What has been spent, on any row and by anyone, as the ledger's charges come in.

A query is admitted by the admission lemma (:mod:`parcomp.overlap.live`).  Let B be what may be spent on a single row,
which is the budget divided by k or k² where a person owns up to k rows.

*Adding or removing a row*: the loss is γ, and a query fits while γ ≤ B.

*Replacing a row*: the loss is at most 2γ, and at most the sum of what replacing a row costs in each statement
(:mod:`parcomp.privacy.loss`).  That is its cost where one number is released, as replacing a row moves the number by no
more than its noise is made for, and twice its cost with GROUP BY, where a row can leave one group and enter another.
A query fits while either bound is at most B.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from parcomp.model import Domain, Query
from parcomp.overlap import LiveOverlap
from parcomp.privacy import Neighbours

__all__ = ["Account", "Expense", "Verdict"]


@dataclass(frozen=True, slots=True)
class Expense:
    """A query to charge: its cost in additive units, and how many groups of its answer a replaced row touches."""

    query: Query
    units: int
    touched: int

    @property
    def replaced_units(self) -> int:
        """What replacing a row discloses through its answer, in additive units."""
        return self.touched * self.units


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an expense would mean, in additive units.

    ``adds`` is by how much the loss would grow, ``upper`` the proven bound of γ afterwards, and ``left`` the most that
    an expense on these rows may cost by each limit: the budget, and the quota of who asks.
    """

    adds: int
    upper: int
    fits: bool
    left: Mapping[str, int]

    @property
    def limit(self) -> str:
        """The limit that leaves least, the budget if all leave the same."""
        return min(self.left, key=lambda name: self.left[name])

    @property
    def remaining(self) -> int:
        """The most that an expense on these rows may cost."""
        return self.left[self.limit]


class Account:
    """Expenses that never exceed what may be spent on a single row; ``name`` is what people call the limit."""

    def __init__(
        self, name: str, domain: Domain, limit: int, neighbours: Neighbours, budget: int | None = None
    ) -> None:
        """``limit`` is what may be spent from here on, ``budget`` what may have been spent before."""
        self.name = name
        self.limit = limit
        self._replacing = neighbours == Neighbours.REPLACE_ONE
        # γ never exceeds the sum of all costs, so it is within the budget whichever bound an expense was admitted by.
        self._live = LiveOverlap(domain, limit if budget is None else budget)
        self._replaced = [0]

    def __len__(self) -> int:
        """How many expenses were booked."""
        return len(self._live)

    @property
    def upper(self) -> int:
        """The proven bound of γ."""
        return self._live.upper

    @property
    def loss(self) -> int:
        """What has been spent against one row, under the account's neighbor relation."""
        return self._loss(self._live.upper, self._replaced[-1])

    def proven_upper(self, work: int) -> int:
        """A bound of γ, as close as about ``work`` word operations prove; changes nothing."""
        return self._live.loss(work).upper if len(self) else 0

    def spent_on(self, query: Query) -> int:
        """A proven bound of γ on the rows of a query, expenses on them that were booked included."""
        return 0 if query.is_contradiction else self._live.quote(query, 1).spent

    def loss_at(self, upper: int) -> int:
        """What has been spent against one row if γ is at most ``upper``."""
        return self._loss(min(upper, self._live.upper), self._replaced[-1])

    @property
    def sequential(self) -> int:
        """What the expenses would cost against one row without regard to overlap."""
        return self._replaced[-1] if self._replacing else self._live.total

    def judge(self, expense: Expense, work: int | None = None) -> Verdict:
        """What booking the expense would mean, as proven within ``work``; changes nothing."""
        if expense.query.is_contradiction:
            return self._verdict(True, 0, self.limit, self.upper)
        quote = self._live.quote(expense.query, expense.units, work)
        upper = self.upper + quote.adds
        if not self._replacing:
            remaining = max(self.limit - quote.spent, 0)
            return self._verdict(expense.units <= remaining, quote.adds, remaining, upper)
        after = self._loss(upper, self._replaced[-1] + expense.replaced_units)
        by_overlap = self.limit // 2 - quote.spent if 2 * self.upper <= self.limit else 0
        by_sum = (self.limit - self._replaced[-1]) // expense.touched
        return self._verdict(after <= self.limit, after - self.loss, max(by_overlap, by_sum, 0), upper)

    def judge_together(self, expenses: Sequence[Expense], work: int) -> Verdict | None:
        """What booking all of them would mean, by one look at the whole; changes nothing.

        None where the overlap is not exactly known within ``work``: one decision after the other may prove more then.
        """
        overlap = self._live.loss_with(((expense.query, expense.units) for expense in expenses), work)
        if not overlap.exact:
            return None
        after = self._loss(overlap.upper, self._replaced[-1] + sum(expense.replaced_units for expense in expenses))
        left, grown = max(self.limit - after, 0), max(after - self.loss, 0)
        return self._verdict(after <= self.limit, grown, left, max(overlap.upper, self.upper))

    def restore(self, expenses: Iterable[tuple[Expense, int]]) -> None:
        """Book expenses that were admitted before, with the bounds they led to."""
        entries = list(expenses)
        self._live.restore((expense.query, expense.units, upper) for expense, upper in entries)
        for expense, _ in entries:
            spent = 0 if expense.query.is_contradiction else expense.replaced_units
            self._replaced.append(self._replaced[-1] + spent)

    def tighten(self) -> None:
        """Work out the bound of γ anew, and keep the lower one."""
        self._live.tighten()

    def undo(self, count: int) -> None:
        """Take back the expenses booked last."""
        for _ in range(count):
            self._live.undo()
            self._replaced.pop()

    def _verdict(self, fits: bool, adds: int, remaining: int, upper: int) -> Verdict:
        return Verdict(adds, upper, fits, {self.name: remaining})

    def _loss(self, upper: int, replaced: int) -> int:
        return min(2 * upper, replaced) if self._replacing else upper
