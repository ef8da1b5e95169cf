"""The best allocation over all rows, from its solutions over a growing pool of rows (cutting planes, Kelley 1960).

The best costs for a pool of rows are at least as good as the best costs for all rows, so their objective bounds the
optimum.  They may cover other rows too much.  Such rows are looked for (:mod:`parcomp.planning.rows`) and join the
pool, until none is covered by more than a thousandth too much.  Where local search finds no such row, the overlap
engine proves that there is none, or finds one.  What is then left to scale down is a thousandth at most, and the plan
is within a thousandth of the optimum.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.planning.fit import book, shrink, shrink_rows, weigh
from parcomp.planning.interior_point import Allocation
from parcomp.planning.problem import AllocationProblem, Floats, Units
from parcomp.planning.rows import EveryRow, RowSource

__all__ = ["Fitted", "PoolSolver", "best_allocation"]

PoolSolver = Callable[[AllocationProblem, npt.NDArray[np.bool_], float, float, float], Allocation]
"""The best costs for a problem, a pool of rows, the exponent of the error, the room in each row, and a deadline."""

TOLERANCE = 1e-3
"""By which part of the budget a row may be covered too much before the search for rows goes on."""

_SMALL_POOL = 512
"""So few rows are the pool from the start, if they are all there are."""

_LARGE_POOL = 2_000
"""Beyond, the rows that are covered least leave the pool."""

_PROOF_SHARE = 0.4
"""The most of the time that is kept for the proof; the rest is for the pool to grow."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What each query of a class costs in units; no row is covered by more than ``upper``, at most the budget.

    No plan has an objective below ``bound``, which ``price`` proves (see :class:`Allocation`); ``rounds`` counts the
    pools.  The plan is ``close`` if the search came to its end: little was left to scale down.
    """

    units: Units
    upper: int
    bound: float
    rounds: int
    close: bool
    price: Floats | None = None


def best_allocation(
    problem: AllocationProblem,
    source: RowSource,
    solve_pool: PoolSolver,
    exponent: float,
    least_upper: int,
    proof_seconds: float,
    deadline: float,
    tell: Callable[[int, float], None],
) -> Fitted | None:
    """The best costs by ``solve_pool`` that fit all rows of a source; None where it takes too many rows to cover them.

    ``least_upper`` is a proven bound of what the least costs spend, at most the budget.  ``proof_seconds`` is how long
    it took to find the heaviest row for other costs, infinite if it was not found.  ``tell`` hears of each round and by
    how much its heaviest row is covered.
    """
    # Costs that must not fall below a least cost cannot simply be scaled down at the end: room is left from the start.
    scalable = isinstance(source, EveryRow) or not problem.least_units.any()
    room = 1.0 if scalable else 1 - TOLERANCE
    enough = int((1 + TOLERANCE) * problem.budget) if scalable else problem.budget
    limit = enough / problem.budget
    left = deadline - time.monotonic()
    last_search = deadline - min(_PROOF_SHARE * left, max(10 * proof_seconds, 0.05 * left))
    first = _first_rows(source, last_search)
    if first is None:
        return None
    pool = _Pool(first)
    bound, rounds = -np.inf, 0
    price: Floats | None = None
    best, least_heavy = problem.least, np.inf
    while True:
        rounds += 1
        allocation = solve_pool(problem, pool.rows, exponent, room, last_search)
        if scalable and allocation.bound > bound:
            bound, price = allocation.bound, allocation.price
        cost = problem.spread(allocation.cost)
        rows, load = source.heavy(cost)
        heaviest = float(load.max(initial=0.0))
        if heaviest <= max(least_heavy, limit):
            best, least_heavy = allocation.cost, heaviest
        joined = pool.join(rows[load > room], cost)
        late = time.monotonic() >= last_search
        if heaviest > limit and joined and not late:
            tell(rounds, heaviest)
            continue
        units = book(problem, best)
        weighed = weigh(problem, source, units, deadline, None if late else enough)
        least_heavy = max(least_heavy, weighed.lower / problem.budget)
        tell(rounds, least_heavy)
        assert weighed.row is not None
        if late or weighed.lower <= enough or not pool.join(weighed.row[None, :], cost):
            break
    if isinstance(source, EveryRow):
        units = shrink_rows(problem, source, units)
        upper = int(source.weigh(problem.spread_units(units)).max(initial=0))
        close = True
    else:
        if weighed.lower > enough:
            weighed = weigh(problem, source, units, deadline)
        units = shrink(problem, units, weighed.upper, least_upper)
        upper = min(problem.budget, weighed.upper)
        close = weighed.upper <= 1.01 * problem.budget
    return Fitted(units, upper, bound, rounds, close, price)


def _first_rows(source: RowSource, deadline: float) -> npt.NDArray[np.bool_] | None:
    if isinstance(source, EveryRow) and len(source.rows) <= _SMALL_POOL:
        return source.rows
    return source.first(deadline)


class _Pool:
    """The rows at hand: those that it began with, which cover every group, and those that joined."""

    def __init__(self, first: npt.NDArray[np.bool_]) -> None:
        self.rows = first
        self._first = len(self.rows)
        self._known = {row.tobytes() for row in self.rows}

    def join(self, rows: npt.NDArray[np.bool_], cost: Floats) -> bool:
        """Take in the rows that are not there yet; whether there were any.  What covers least makes room for them."""
        fresh = [row for row in rows if row.tobytes() not in self._known]
        if not fresh:
            return False
        if len(self.rows) > self._first + _LARGE_POOL:
            joined = self.rows[self._first :]
            kept = joined[np.argsort(joined.astype(np.float64) @ cost)[-_LARGE_POOL // 2 :]]
            self.rows = np.concatenate((self.rows[: self._first], kept))
            self._known = {row.tobytes() for row in self.rows}
        self.rows = np.concatenate((self.rows, fresh))
        self._known.update(row.tobytes() for row in fresh)
        return True
