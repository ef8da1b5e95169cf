"""Plans that are best by what is proven of them, where the heaviest row is only bracketed.

Costs c, scaled by B/U with U a proven bound of their heaviest row, have an error in proportion to
Σ error(c)·U^p, whatever their scale.  So candidates compete by what is proven of them: the best plan over the rows that
were found, the best plan for a relaxation (:mod:`~parcomp.planning.relaxed`), which is proven soonest, and plans in
between.  Each gets the same part of the time.  Uniform costs compete too, so that no plan is worse than they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from parcomp.planning.cutting_planes import Fitted
from parcomp.planning.fit import weigh
from parcomp.planning.problem import AllocationProblem, Floats, Units
from parcomp.planning.relaxed import relaxed_costs
from parcomp.planning.rows import RowSource

__all__ = ["harden"]

_TRIES = 5
"""Candidates that the time is divided among; what one does not need is for those that follow."""


@dataclass(frozen=True, slots=True, eq=False)
class _Proven:
    """Costs, a proven bound of their heaviest row, and the objective that they have when scaled to the budget."""

    units: Units
    upper: int
    value: float


def harden(
    problem: AllocationProblem,
    source: RowSource,
    fitted: Fitted,
    exponent: float,
    deadline: float,
    tell: Callable[[int, float], None],
) -> Fitted:
    """Costs that are no worse than fitted ones by what is proven of both; there must be no least costs."""

    def value(units: Units, upper: int) -> float:
        each = problem.importance * (np.maximum(units, 1e-9) / upper) ** -exponent
        return float(problem.count @ each)

    def proven(cost: Floats, until: float) -> _Proven:
        # As large as 64 bits allow with room to spare, so that rounding them down to integers loses nothing.
        units = np.floor(cost / float(problem.count @ cost) * 2.0**52).astype(np.int64)
        upper = weigh(problem, source, units, until).upper
        return _Proven(units, upper, value(units, upper) if (units >= 1).all() else np.inf)

    best = _Proven(fitted.units, fitted.upper, value(fitted.units, fitted.upper))
    tight = fitted.units / problem.budget
    began = time.monotonic()
    safe = relaxed_costs(problem, exponent, began + (deadline - began) / _TRIES) if began < deadline else None
    if safe is None:
        safe = np.ones(len(tight))
    # A mean of the safe and the tight plan, by the part that the tight one has in it: the ends, the middle, and then
    # beside what was best.
    tried: dict[float, float] = {}
    for number in range(_TRIES):
        now = time.monotonic()
        if now >= deadline:
            break
        leader = min(tried, key=lambda part: tried[part], default=0.5)
        part = (0.0, 1.0, 0.5)[number] if number < 3 else min(1.0, max(0.0, leader + (0.25 if number == 3 else -0.25)))
        if part in tried:
            continue
        one = proven(safe ** (1 - part) * tight**part, now + (deadline - now) / (_TRIES - number))
        tried[part] = one.value
        best = min(best, one, key=lambda plan: plan.value)
        tell(fitted.rounds, 1.0)
    if best.units is fitted.units:
        return fitted
    scaled = [one * problem.budget // best.upper for one in best.units.tolist()]
    return replace(fitted, units=np.array(scaled, np.int64), upper=problem.budget)
