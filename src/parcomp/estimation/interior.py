"""The counts of the nearest answers, from within: a predictor and a corrector for each step (Mehrotra 1992).

Slopes s belong to counts x; both stay positive, and their products go to 0.  It takes some 15 factorizations of a
matrix of all rows, from wherever it begins, and is as good as floats are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from parcomp.estimation.distance import Distance
from parcomp.estimation.rows import Flags, Floats

__all__ = ["nearest"]

_ITERATIONS = 60
"""More than it has ever taken."""

_RIDGE = 1e-12
"""By which part of itself the diagonal is larger in what is factorized, where rows depend on each other."""

_SHORT = 0.995
"""How far it goes towards the nearest bound."""

_POLISHED = 1e-6
"""Where no more than this part of the squared distance may be left open, the last digits are worth the while."""

_REFINEMENTS = 3
"""Steps of iterative refinement, which take back what rounding and the ridge have changed."""

_STUCK = 0.1
"""Where a step is cut shorter than this, one towards the middle is taken instead."""


@np.errstate(over="ignore", invalid="ignore")
def nearest(distance: Distance, counts: Floats, tolerance: float, gap: float, deadline: float = math.inf) -> Floats:
    """The counts of the nearest answers, from counts that need not be near.

    It ends where slopes are known to ``tolerance``, and the squared distance to a part of ``gap``, or at ``deadline``.
    Where floats overflow, what it returns is not finite, and for the caller to see.
    """
    ridge = _RIDGE * (distance.transposed @ distance.weight)
    x = np.maximum(counts, 0.1 * max(1.0, float(counts.mean())))
    slope = distance.slopes(x)
    # Products x·s that are much smaller than the others would keep every step short.
    even = float((x * np.abs(slope)).mean()) + tolerance
    s = np.maximum(slope, even / x)
    for _ in range(_ITERATIONS):
        if time.monotonic() >= deadline:
            return x
        residual = distance.matrix @ x - distance.target
        slope = distance.transposed @ (distance.weight * residual)
        center = float(x @ s) / len(x)
        moved = float(distance.weight @ residual**2)
        if np.abs(slope - s).max() <= tolerance and center * len(x) <= max(gap * moved, tolerance**2):
            break
        if center == 0.0:
            # Floats tell no product from 0 any more, and there is nothing left to shrink.
            break
        try:
            solve = distance.solver(s / x + ridge)
        except np.linalg.LinAlgError:
            break
        dx, ds = _newton(solve, x, s, slope, 0.0)
        length = min(_longest(x, dx), _longest(s, ds))
        shrunk = float((x + length * dx) @ (s + length * ds)) / len(x)
        # The correction is of second order, so a predictor that was cut short brings as much less of it.
        dx, ds = _newton(solve, x, s, slope, center * (shrunk / center) ** 3 - length**2 * dx * ds)
        length = min(_longest(x, dx), _longest(s, ds))
        if length < _STUCK:
            dx, ds = _newton(solve, x, s, slope, center)
            length = min(_longest(x, dx), _longest(s, ds))
        length = min(_step(x, dx), _step(s, ds))
        x, s = x + length * dx, s + length * ds
    return _polished(distance, x, x > s, tolerance) if gap <= _POLISHED else x


def _polished(distance: Distance, x: Floats, occur: Flags, tolerance: float) -> Floats:
    """The least with all other rows at 0, if it is one: an interior point stops short of it by what floats can tell."""
    if not occur.any():
        return x
    try:
        system = distance.system(np.flatnonzero(occur), _RIDGE)
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return x
    found = np.where(occur, x, 0.0)
    for _ in range(_REFINEMENTS):
        found[occur] -= cho_solve(factor, distance.slopes(found)[occur], check_finite=False)
    return x if (found < 0).any() or distance.slopes(found).min() < -tolerance else found


def _newton(
    solve: Callable[[Floats], Floats], x: Floats, s: Floats, slope: Floats, product: float | Floats
) -> tuple[Floats, Floats]:
    """The step after which, to first order, s are the slopes and x·s the ``product``."""
    dx = solve(product / x - slope)
    return dx, product / x - s - s / x * dx


def _longest(values: Floats, step: Floats) -> float:
    """How much of a step keeps values from falling below 0, at most all of it."""
    return min(1.0, _reach(values, step))


def _step(values: Floats, step: Floats) -> float:
    """How much of a step is taken: all of it, or short of the boundary, also where it would end just there."""
    reach = _reach(values, step)
    return 1.0 if reach > 1.0 else _SHORT * reach


def _reach(values: Floats, step: Floats) -> float:
    """How many times a step can be taken until a value is 0."""
    falling = step < 0
    return float((-values[falling] / step[falling]).min()) if falling.any() else math.inf
