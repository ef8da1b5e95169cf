"""The online case: queries come one by one, and each is admitted only if the budget bears it.

*Admission lemma*.  Let T be the queries admitted so far, q a further one, and T|q the queries that
overlap q, restricted to the coverage of q.  A row outside the coverage of q gains nothing from q, a row inside gains
cost(q); hence

    γ(T + q) = max(γ(T), cost(q) + γ(T|q)).

As γ(T) ≤ budget already, q fits if cost(q) + upper(T|q) ≤ budget for any proven upper bound of γ(T|q).  Only queries
that meet q matter, and within q's coverage most of what they ask is settled, so T|q is small after reduction.

Decisions count work, not time: the same history gives the same answers on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import unpack_bits
from parcomp.costs import MAX_UNITS
from parcomp.errors import CostError, WorkloadError
from parcomp.model import Domain, Query
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.bracket import Bracket
from parcomp.overlap.engine import solve_within
from parcomp.overlap.live.attribute import LiveAttribute
from parcomp.overlap.masks import keep_values
from parcomp.overlap.plain import heaviest_overlap

__all__ = ["DECISION_WORK", "LiveOverlap", "LiveQuote"]

DECISION_WORK = 1 << 26
"""Word operations that one decision may spend: some 50 ms. What is not decided by then rests on the bound reached."""

LOSS_WORK = 1 << 30
"""Word operations that :meth:`LiveOverlap.loss` may spend on the whole history."""


@dataclass(frozen=True, slots=True)
class LiveQuote:
    """What admitting a query would mean, in units.

    ``spent`` is a proven bound on what is already spent on any row of the query's coverage, ``remaining`` what the
    budget leaves there, and ``fits`` whether the cost is within it.  ``adds`` bounds by how much the proven loss of
    the whole would grow.
    """

    cost: int
    spent: int
    remaining: int
    adds: int
    fits: bool
    exact: bool


class LiveOverlap:
    """Admitted queries and the loss they add up to, never above the budget.

    >>> from parcomp import Categorical, Domain
    >>> domain = Domain({"sex": Categorical(["F", "M"])})
    >>> live = LiveOverlap(domain, budget=10)
    >>> live.add(domain.query(sex="F"), 6), live.add(domain.query(sex="M"), 6), live.add(domain.query(), 6)
    (True, True, False)
    >>> live.loss(), live.quote(domain.query(), 4).fits
    (Bracket(lower=6, upper=6), True)
    """

    def __init__(self, domain: Domain, budget: int, work: int = DECISION_WORK) -> None:
        if not 1 <= budget <= MAX_UNITS:
            raise CostError(f"a budget must be between 1 and {MAX_UNITS} units, not {budget}")
        self.domain = domain
        self.budget = budget
        self._work = work
        self._attributes = [LiveAttribute(attribute.size) for attribute in domain.attributes.values()]
        self._attribute_of: list[int] = []
        self._start = np.zeros(9, np.int64)
        self._term = np.zeros(32, np.int32)
        self._cost = np.zeros(8, np.int64)
        self._uppers: list[int] = [0]
        self._known: list[int] = []
        self._total = 0

    def __len__(self) -> int:
        """How many queries were admitted."""
        return len(self._uppers) - 1

    @property
    def upper(self) -> int:
        """A proven bound of the loss so far, in units; never above the budget."""
        return self._uppers[-1]

    @property
    def total(self) -> int:
        """What all admitted queries cost together, in units."""
        return self._total

    def quote(self, query: Query, cost: int, work: int | None = None) -> LiveQuote:
        """What admitting the query at this cost would mean, as proven within ``work``; changes nothing."""
        self._check(query, cost)
        if query.is_contradiction:
            return LiveQuote(cost, 0, self.budget, 0, fits=True, exact=True)
        spent = self._spent_within(query, self._work if work is None else work)
        after = max(self.upper, cost + spent.upper)
        return LiveQuote(
            cost=cost,
            spent=spent.upper,
            remaining=self.budget - spent.upper,
            adds=after - self.upper,
            fits=cost + spent.upper <= self.budget,
            exact=spent.exact,
        )

    def add(self, query: Query, cost: int) -> bool:
        """Admit the query if the budget bears it; whether it was admitted."""
        quote = self.quote(query, cost)
        if quote.fits:
            self._append(query, cost, self.upper + quote.adds)
        return quote.fits

    def loss_with(self, entries: Iterable[tuple[Query, int]], work: int = LOSS_WORK) -> Bracket:
        """The loss with further queries and their costs, from one look at all of them; changes nothing.

        It takes hardly longer for a thousand queries than for one.  A decision on each of them looks at its own rows
        alone, and can prove more where the whole is hard.
        """
        known = len(self)
        try:
            for query, cost in entries:
                self._check(query, cost)
                self._append(query, cost, self.upper + cost)
            return self.loss(work)
        finally:
            while len(self) > known:
                self.undo()

    def undo(self) -> None:
        """Take back the query admitted last."""
        if not len(self):
            raise WorkloadError("nothing was admitted that could be taken back")
        self._uppers.pop()
        self._total -= int(self._cost[len(self)])
        while len(self._attribute_of) > self._known[len(self)]:
            self._attributes[self._attribute_of.pop()].forget_last()
        self._known.pop()

    def load(self, history: Iterable[tuple[Query, int]]) -> None:
        """Take over queries that were admitted before, and bracket their loss once, at the end.

        Raises :class:`~parcomp.errors.WorkloadError` if they cannot be shown to be within the budget; nothing is
        taken over then.
        """
        if len(self):
            raise WorkloadError("a history is loaded into an empty state")
        entries = list(history)
        self.restore((query, cost, 0) for query, cost in entries)
        upper = self.loss().upper
        if upper > self.budget:
            while len(self):
                self.undo()
            raise WorkloadError(
                f"the history is only known to spend at most {upper} units, the budget is {self.budget}"
            )
        self._uppers[1:] = [upper] * len(entries)

    def restore(self, history: Iterable[tuple[Query, int, int]]) -> None:
        """Take over queries admitted elsewhere: each with its cost and the bound of the loss that it was admitted by.

        The bounds are taken as they are, which is quick: they must come from a record that can be trusted.
        """
        entries = list(history)
        for attribute, live in enumerate(self._attributes):
            live.prepare([p for query, _, _ in entries for index, p in query.terms if index == attribute])
        for query, cost, upper in entries:
            self._check(query, cost)
            if upper > self.budget:
                raise WorkloadError(f"the history spends up to {upper} units, the budget is {self.budget}")
            self._append(query, cost, upper)

    def tighten(self) -> None:
        """Work out the loss anew, and bound it by the result where that is less."""
        if len(self):
            self._uppers[-1] = self.loss().upper

    def loss(self, work: int = LOSS_WORK) -> Bracket:
        """The loss of all admitted queries as a bracket, in units."""
        compiled = self._compile(np.arange(len(self)))
        bracket = solve_within(compiled, work)
        upper = bracket.upper if self.upper == 0 else min(bracket.upper, self.upper)
        return Bracket(bracket.lower, upper)

    def _check(self, query: Query, cost: int) -> None:
        if query.domain is not self.domain and query.domain != self.domain:
            raise WorkloadError("the query belongs to another domain")
        if not 1 <= cost <= MAX_UNITS:
            raise CostError(f"a cost must be between 1 and {MAX_UNITS} units, not {cost}")
        if self._total + cost > MAX_UNITS:
            raise CostError("the costs of all queries add up to more than 64 bits hold; use larger units")

    def _append(self, query: Query, cost: int, upper: int) -> None:
        position, end = len(self), int(self._start[len(self)])
        terms = [] if query.is_contradiction else query.terms
        if position + 2 > len(self._start):
            self._start = np.concatenate((self._start, np.zeros_like(self._start)))
        if position + 1 > len(self._cost):
            self._cost = np.concatenate((self._cost, np.zeros_like(self._cost)))
        while end + len(terms) > len(self._term):
            self._term = np.concatenate((self._term, np.zeros_like(self._term)))
        self._known.append(len(self._attribute_of))
        for index, predicate in terms:
            live = self._attributes[index]
            number = live.find(predicate)
            if number is None:
                number = len(self._attribute_of)
                live.enter(predicate, number)
                self._attribute_of.append(index)
            self._term[end] = number
            end += 1
        self._start[position + 1] = end
        # A contradiction is kept in the history but costs nothing.
        self._cost[position] = 0 if query.is_contradiction else cost
        self._total += int(self._cost[position])
        self._uppers.append(upper)

    def _spent_within(self, query: Query, work: int) -> Bracket:
        """What is spent on the rows of the query's coverage."""
        boxes = {index: self._attributes[index].mask(predicate) for index, predicate in query.terms}
        meets = np.ones(max(len(self._attribute_of), 1), np.bool_)
        for index, box in boxes.items():
            live = self._attributes[index]
            known = len(live.predicates)
            meets[live.numbers[:known]] = (live.masks[:known] & box).any(axis=1)
        start = self._start[: len(self) + 1]
        misses = np.concatenate(([0], np.cumsum(~meets[self._term[: start[-1]]])))
        compiled = self._compile(np.flatnonzero(misses[start[1:]] == misses[start[:-1]]))
        if (small := heaviest_overlap(compiled, boxes)) is not None:
            return small
        kept = [
            np.flatnonzero(unpack_bits(boxes[index], len(live.cells))).astype(np.int32) if index in boxes else None
            for index, live in enumerate(self._attributes)
        ]
        return solve_within(keep_values(compiled, kept), work)

    def _compile(self, queries: npt.NDArray[np.int64]) -> CompiledWorkload:
        """Some of the admitted queries, those that cost anything, as a compiled workload over the cells."""
        queries = queries[self._cost[queries] > 0]
        lengths = self._start[queries + 1] - self._start[queries]
        start = np.concatenate(([0], np.cumsum(lengths)))
        term = self._term[np.repeat(self._start[queries] - start[:-1], lengths) + np.arange(start[-1])]
        mask_of = np.zeros(max(len(self._attribute_of), 1), np.int32)
        used = np.zeros(len(mask_of), np.bool_)
        used[term] = True
        attributes, offsets, words, count = [], [np.zeros(1, np.int64)], [np.zeros(0, np.uint64)], 0
        end = 0
        for index, live in enumerate(self._attributes):
            numbers = live.numbers[: len(live.predicates)]
            chosen = np.flatnonzero(used[numbers])
            if len(chosen) == 0:
                continue
            mask_of[numbers[chosen]] = np.arange(count, count + len(chosen))
            count += len(chosen)
            width = live.masks.shape[1]
            attributes.append(np.full(len(chosen), index, np.int32))
            offsets.append(end + width * np.arange(1, len(chosen) + 1))
            end += width * len(chosen)
            words.append(live.masks[chosen].ravel())
        return CompiledWorkload(
            sizes=np.array([len(live.cells) for live in self._attributes], np.int32),
            weights=self._cost[queries],
            start=start,
            term=mask_of[term],
            mask_attribute=np.concatenate([np.zeros(0, np.int32), *attributes]),
            mask_offset=np.concatenate(offsets),
            mask_words=np.concatenate(words),
        )
