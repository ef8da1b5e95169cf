"""The least worst expected error over a given set of rows, by progressive filling.

With errors v_k·x_k^(−p), the worst one is least where all of them are equal, x_k = s·v_k^(1/p), at the largest level
s that every row bears.  The rows that are full then hold what they cover; everything else can still be raised
together to a next level, and so on (max-min fairness: Bertsekas and Gallager 1992, §6.5.2).  The result is optimal in
the lexicographic order of the errors, worst first: no error can be lowered without raising one that is at least as
large.  Stopping after the first level, with v = 1, gives the paper's uniform plan B/γ.
"""

from __future__ import annotations

import math
import time

import numpy as np
import numpy.typing as npt

from parcomp.planning.interior_point import Allocation
from parcomp.planning.problem import AllocationProblem, Floats

__all__ = ["least_worst_error", "same_for_all"]

_FULL = 1e-9
"""A row is full where less than this fraction of the budget is left of it."""


def least_worst_error(
    problem: AllocationProblem, rows: npt.NDArray[np.bool_], exponent: float, room: float, deadline: float = math.inf
) -> Allocation:
    """The costs with the least errors, worst first, such that no given row is covered by more than ``room``.

    At the deadline, costs stay at the level that they have by then.
    """
    return _fill(problem, rows, problem.importance ** (1 / exponent), exponent, room, len(rows), deadline)


def same_for_all(
    problem: AllocationProblem, rows: npt.NDArray[np.bool_], exponent: float, room: float, deadline: float = math.inf
) -> Allocation:
    """One cost for all, the largest that ``room`` in each given row allows; more where a least cost is above it."""
    return _fill(problem, rows, np.ones(len(problem.count)), exponent, room, 1, deadline)


def _fill(
    problem: AllocationProblem,
    rows: npt.NDArray[np.bool_],
    share: Floats,
    exponent: float,
    room: float,
    levels: int,
    deadline: float,
) -> Allocation:
    covered = rows.astype(np.float64)
    cost = problem.least.copy()
    # A row that the least costs fill beyond the room keeps them, and gets nothing more.
    rooms = np.maximum(room, covered @ problem.spread(cost))
    rising = np.ones(len(cost), np.bool_)
    # The rows that still cover something that rises, and what is already settled of them.
    open_rows = np.arange(len(rows))
    bound = 0.0
    for level in range(levels):
        settled = covered[open_rows] @ problem.spread(np.where(rising, 0.0, cost))
        height = _height(problem, covered[open_rows], share, rising, rooms[open_rows] - settled)
        cost[rising] = np.maximum(problem.least, share * height)[rising]
        if level == 0:
            # The pool is part of all rows: no plan has all costs above this level, hence not all errors below its.
            bound = height**-exponent if height > 0 else np.inf
        left = rooms[open_rows] - covered[open_rows] @ problem.spread(cost)
        rising &= ~np.any(rows[open_rows[left < _FULL]], axis=0)[problem.group]
        if not rising.any() or time.monotonic() >= deadline:
            break
        still = covered[open_rows] @ np.bincount(problem.group[rising], minlength=problem.group_count) > 0
        open_rows = open_rows[still & (left >= _FULL)]
    return Allocation(cost, bound)


def _height(
    problem: AllocationProblem, covered: Floats, share: Floats, rising: npt.NDArray[np.bool_], room: Floats
) -> float:
    """The largest level at which the rising classes, none below its least cost, fit into the room of every row.

    What they take of a row is convex and piecewise linear in the level: Newton's method from above descends to the
    level and stops there.
    """
    shares = np.where(rising, share, 0.0)
    slope = covered @ problem.spread(shares)
    height = float((room / np.maximum(slope, 1e-300)).min())
    for _ in range(200):
        above = shares * height > problem.least
        taken = covered @ problem.spread(np.where(rising, np.maximum(problem.least, shares * height), 0.0))
        over = taken - room
        worst = over > 1e-13
        if not worst.any():
            break
        slope = covered @ problem.spread(np.where(above, shares, 0.0))
        height -= float((over[worst] / np.maximum(slope[worst], 1e-300)).max())
        if height <= 0:
            return 0.0
    return height
