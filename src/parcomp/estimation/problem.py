"""Noisy answers and facts as one problem of projection, and how far projections of other noise lead."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from parcomp.errors import ArgumentError, WorkloadError, shown
from parcomp.estimation.noises import LARGEST
from parcomp.estimation.pool import Pool
from parcomp.estimation.projection import Projection, Target, project, redraw
from parcomp.estimation.rows import Floats, RowSource, compiled_rows
from parcomp.estimation.sparse_rows import SparseRows
from parcomp.model import Query, Workload, over_codes
from parcomp.model.compile import compilable, compile_workload
from parcomp.noise import JointNoise

__all__ = ["FactsError", "Problem", "Progress", "stated_counts"]

Progress: TypeAlias = Callable[[str], None]
"""Told in a few words how far an estimate has come."""

_DRAWS: Final = (30, 300)
"""How often noise is drawn again, at least and at most: a standard error is then off by an eighth or less."""

_DRAWN: Final = 12_000
"""How many answers are drawn in all, between these ends."""

_LEAST_DRAWS: Final = 10
_FEWEST_DRAWS: Final = 3
_GRACE: Final = 1.0
"""So many draws are made although the time is up, and so many although it has been for some seconds: where draws are
few, Student's quantile makes intervals wide."""

_CHECK_SECONDS: Final = 5.0
"""How long is looked for a contradiction where everything is exact."""

_MISSED: Final = 1e-3
"""By how much facts may be missed, as a part of the noise."""


class FactsError(WorkloadError):
    """Facts that no table has; ``place`` is that of the worst one in the order in which they were given."""

    def __init__(self, message: str, place: int | None = None) -> None:
        super().__init__(message)
        self.place = place


class Problem:
    """Noisy answers and facts as columns: those at ``noisy`` places of the workload first, then what is exact.

    Contradictions have no column: their count is 0.  Nor has a noisy answer to a query whose count is exact, by a fact
    or by another answer: it has that count.  ``values`` are the counts that are exact, and 0 elsewhere.
    """

    def __init__(
        self,
        workload: Workload,
        raw: Floats,
        deviation: Floats,
        weights: Floats,
        facts: Mapping[Query, float],
        outside: bool,
    ) -> None:
        empty = workload.contradictory()
        _check_facts(facts)
        if ((deviation == 0) & (raw < 0)).any() or ((deviation == 0) & empty & (raw != 0)).any():
            raise WorkloadError("an answer of scale 0 is exact, and no table has a count below 0 or of no rows above 0")
        noisy = np.flatnonzero((deviation > 0) & ~empty)
        exact = np.flatnonzero((deviation == 0) & ~empty)
        more = [(query, float(count)) for query, count in facts.items() if not query.is_contradiction]
        self._places = [place for place, query in enumerate(facts) if not query.is_contradiction]
        self._columns = _joined(workload[np.concatenate((noisy, exact))], [query for query, _ in more])
        if outside and self._columns.whole:
            # What is outside satisfies no test, not even of all declared values, so it is one more value of each.
            self._columns, outside = over_codes(list(self._columns)), False
        counts = np.array([count for _, count in more])
        # Only columns tell which queries are the same: a test of all declared values is none, but with values outside.
        known = stated_counts(self._columns, len(noisy), np.concatenate((raw[exact], counts)))
        self.values = np.where(deviation == 0, raw, 0.0)
        self.values[noisy[list(known)]] = list(known.values())
        left = np.delete(np.arange(len(noisy)), list(known))
        self.noisy = noisy[left]
        self._columns = self._columns[np.concatenate((left, np.arange(len(noisy), len(self._columns))))]
        is_fact = np.arange(len(self._columns)) >= len(self.noisy)
        every = np.concatenate((raw[self.noisy], raw[exact], counts))
        each = np.concatenate((weights[self.noisy], np.ones(len(every) - len(self.noisy))))
        strayed = np.sqrt(weights[self.noisy]) * deviation[self.noisy]
        size = float(np.sqrt(np.mean(strayed**2))) if len(self.noisy) else 0.0
        # Floats tell answers of a size apart by so much at best.
        least = 1e-9 * float((np.sqrt(each) * np.abs(every)).max(initial=0.0))
        self._target = Target(every, is_fact, max(size, least, 1e-300), each)
        self._outside = outside
        self._source: RowSource | None = None
        self.pool = Pool(len(every))

    def project(self, deadline: float, tell: Progress) -> Projection:
        """The nearest possible answers."""
        if not len(self.noisy):
            self._check_exact(deadline)
            return Projection(np.zeros(0), np.zeros(0), 0.0, 0.0, 0.0, 0.0, ended=True, rounds=0)
        tell("reducing the workload")
        self._source = _row_source(self._columns, self._outside)

        def said(rounds: int, gain: float) -> None:
            tell(f"round {rounds}: the best row is {gain / self._target.slope:.2g} of the noise")

        found = project(self._source, self._target, self.pool, deadline, said)
        if found.missed > _MISSED * max(self._target.noise, 1.0) and time.monotonic() < deadline:
            missed = np.abs(self.pool.answers() - self._target.answers)[len(self._columns) - len(self._places) :]
            raise FactsError(
                f"no table was found that has all facts: the nearest misses one by {found.missed:,.3g}; "
                "do the facts contradict each other, or the answers of scale 0? "
                "Correct this one, or those that it goes with",
                self._places[int(missed.argmax())] if len(missed) else None,
            )
        return found

    def _check_exact(self, deadline: float) -> None:
        """Raise where it is proven that no table has all that is exact, of which there is nothing else.

        What is exact is projected as if it were not: if it is possible, it does not move.
        """
        if not len(self._columns):
            return
        exact = self._target.answers
        size = max(1.0, 1e-9 * float(np.abs(exact).max()))
        target = Target(exact, np.zeros(len(exact), np.bool_), size, np.ones(len(exact)))
        until = min(deadline, time.monotonic() + _CHECK_SECONDS)
        source = _row_source(self._columns, self._outside)
        found = project(source, target, Pool(len(exact)), until, lambda _rounds, _gain: None)
        if found.lower > _MISSED * size:
            raise WorkloadError(
                f"no table has all of these counts: the nearest are {found.lower:,.3g} away; the facts contradict each "
                "other, or the answers of scale 0: correct them, or state the scale of their noise"
            )

    def errors(
        self, found: Projection, noise: JointNoise, sums: csr_array, deadline: float, seed: int, tell: Progress
    ) -> tuple[Floats, int]:
        """The root mean square error of sums of the estimates, by the bootstrap, and the number of draws."""
        assert self._source is not None
        draw = np.random.default_rng(seed)
        total, strayed = np.zeros(sums.shape[0]), np.zeros(sums.shape[1])
        draws, wanted = 0, min(max(_DRAWN // len(self.noisy), _DRAWS[0]), _DRAWS[1])
        pool = self.pool.cut(self._target.answers, self._target.weights)
        while draws < wanted:
            late = time.monotonic() - deadline
            if late >= 0 and draws >= (_LEAST_DRAWS if late < _GRACE else _FEWEST_DRAWS):
                break
            answers = self._target.answers.copy()
            answers[: len(self.noisy)] = found.possible[: len(self.noisy)] + noise.drawn(draw)[self.noisy]
            again = redraw(self._source, self._target, pool, answers)
            strayed[self.noisy] = (again - found.possible)[: len(self.noisy)]
            total += (sums @ strayed) ** 2
            draws += 1
            tell(f"intervals: {draws} of {wanted} draws")
        return np.sqrt(total / draws), draws


def stated_counts(columns: Workload, noisy: int, counts: Floats) -> dict[int, float]:
    """The exact counts of those of the first ``noisy`` columns that are the query of one of the others, by place."""
    if not len(counts):
        return {}
    terms = list(zip(columns.table.attributes, columns.table.predicates, strict=True))
    ends = columns.start.tolist()
    tests = [frozenset(terms[n] for n in columns.term[low:high].tolist()) for low, high in pairwise(ends)]
    exact = dict(zip(tests[noisy:], counts.tolist(), strict=True))
    return {place: exact[test] for place, test in enumerate(tests[:noisy]) if test in exact}


def _row_source(columns: Workload, outside: bool) -> RowSource:
    if compilable(columns):
        weightless = columns.with_costs(np.ones(len(columns), np.int64), "weight")
        return compiled_rows(compile_workload(weightless).compiled, outside)
    if outside:
        raise ArgumentError("values outside the domain are not provided for on a domain of this size")
    return SparseRows(columns, np.arange(len(columns)))


def _joined(workload: Workload, queries: Sequence[Query]) -> Workload:
    """A workload with more queries at its end."""
    if not queries:
        return workload
    return Workload(workload.domain, [*workload, *queries])


def _check_facts(facts: Mapping[Query, float]) -> None:
    for place, (query, count) in enumerate(facts.items()):
        number = isinstance(count, (int, float, np.integer, np.floating)) and not isinstance(count, bool)
        if not isinstance(query, Query) or not number or not 0 <= count <= LARGEST:
            raise ArgumentError(
                f"a fact is the count of a query, at least 0 and at most 1e15, not {shown(count)} of {shown(query)}"
            )
        if query.is_contradiction and count:
            raise FactsError("no row satisfies a contradiction, so its count cannot be a fact above 0", place)
