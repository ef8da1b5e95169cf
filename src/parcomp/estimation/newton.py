"""The counts of the nearest answers, by Newton steps over the rows that occur (projected Newton: Bertsekas 1982).

A row that does not occur, and would not bring the answers nearer, is left out of a step; what falls below 0 is cut off
there, and a step that brings nothing nearer is halved.  Where counts are near already, as after a few rows have joined
a pool, a handful of steps lead to the end, each of which factorizes a matrix of the rows that occur alone, or
of the columns where these are fewer.
"""

from __future__ import annotations

import math
import time

import numpy as np

from parcomp.estimation.distance import Distance
from parcomp.estimation.rows import Floats

__all__ = ["nearest"]

_ITERATIONS = 30
"""The interior method takes less time than more steps would."""

_RIDGE = 1e-11
"""By which part of itself the diagonal is larger in what is factorized, where rows depend on each other."""

_PROMISED = 1e-4
"""A step has to bring at least this part of what its slopes promise."""

_SHORTEST = 1e-3
"""The shortest step that is tried, as a part of a full one."""


def nearest(
    distance: Distance, counts: Floats, tolerance: float, gap: float, deadline: float = math.inf
) -> Floats | None:
    """The counts of the nearest answers; None where steps do not lead there.

    It ends where slopes are known to ``tolerance``, and the squared distance to a part of ``gap``, or at ``deadline``.
    """
    right = distance.transposed @ (distance.weight * distance.target)
    # What an interior method leaves of rows that do not occur is next to nothing, and their slopes are not.
    x = np.where(counts > distance.slopes(counts), counts, 0.0)
    slope = distance.slopes(x)
    for _ in range(_ITERATIONS):
        occur = x > 0
        if slope.min() >= -tolerance and np.abs(slope[occur]).max(initial=0.0) <= tolerance:
            moved = float(distance.weight @ (distance.matrix @ x - distance.target) ** 2)
            if x @ np.abs(slope) <= max(gap * moved, tolerance**2):
                return x
        if time.monotonic() >= deadline:
            return x
        free = np.flatnonzero(occur | (slope < -tolerance))
        try:
            step = distance.step(x, free, _RIDGE)
        except np.linalg.LinAlgError:
            return None
        before, length = float(x @ (slope - right)), 1.0
        while True:
            tried = x.copy()
            tried[free] = np.maximum(0.0, x[free] + length * step)
            slopes = distance.slopes(tried)
            promised = 2 * float(slope[free] @ (tried - x)[free])
            if float(tried @ (slopes - right)) <= before + _PROMISED * promised:
                break
            length /= 2
            if length < _SHORTEST:
                return None
        x, slope = tried, slopes
    return None
