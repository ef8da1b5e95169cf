"""The least total expected error over a given set of rows, by a primal-dual interior-point method.

    minimize  Σ_k n_k·v_k·x_k^(−p)   subject to   Σ_k A_{r,g(k)}·n_k·x_k ≤ 1 for each row r,   x_k ≥ least_k

with n_k queries of importance v_k in class k, g(k) the group of the class, and A_{r,g} = 1 where row r covers group
g.  The error of Laplace noise falls as 1/cost (p = 1), that of Gaussian noise as cost^(−1/2) (p = 1/2) in additive
units.  The objective is separable and strictly convex, so a Newton step (Mehrotra 1992, in the form of Boyd and
Vandenberghe 2004, §11.7) needs one symmetric system of the size of the rows or of the groups, whichever are fewer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array

from parcomp.planning.problem import AllocationProblem, Floats

__all__ = ["Allocation", "least_total_error"]

_ACCURACY = 1e-6
"""The duality gap at which to stop, relative to the objective."""

_STEPS = 200
_SPARSE = 1 / 32
"""Where no more than this part of the entries is not 0, products of sparse matrices are quicker."""

_SATURATED = 1e-5
"""A row that the least costs alone fill up to this is full: what it covers stays at its least cost."""


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """What each query of a class costs, as a fraction of the budget; no costs have an objective below ``bound``.

    ``price`` is what the multipliers that prove the bound charge each class for a unit of cost, where they are known.
    """

    cost: Floats
    bound: float
    price: Floats | None = None


def least_total_error(
    problem: AllocationProblem, rows: npt.NDArray[np.bool_], exponent: float, room: float, deadline: float = math.inf
) -> Allocation:
    """The costs of least total expected error such that no given row is covered by more than ``room``.

    Each group must be covered by some row.  Rows that the least costs alone cover by as much or more stay as they are.
    At the deadline, costs are as good as they are by then; the clock is read between two factorizations.
    """
    covered = rows.astype(np.float64)
    full = room - covered @ problem.spread(problem.least) < _SATURATED
    stuck = np.any(rows[full], axis=0)[problem.group]
    cost = problem.least.copy()
    weight = problem.count * problem.importance
    with np.errstate(divide="ignore"):  # what is stuck at no cost at all has an infinite error
        fixed = float((weight[stuck] * cost[stuck] ** -exponent).sum())
    free = ~stuck
    if not free.any():
        return Allocation(cost, fixed)
    matters = ~full & (covered @ np.bincount(problem.group[free], minlength=problem.group_count) > 0)
    system = _System(
        covered[matters],
        problem.group[free],
        problem.count[free],
        weight[free],
        problem.least[free],
        room - covered[matters] @ np.bincount(problem.group[stuck], (problem.count * cost)[stuck], problem.group_count),
        exponent,
    )
    cost[free], bound, price = system.solve(deadline)
    return Allocation(cost, fixed + bound, price if free.all() else None)


class _System:
    """The iteration itself, on the free classes; the slack of the rows is kept positive."""

    def __init__(
        self,
        covered: Floats,
        group: npt.NDArray[np.int64],
        count: Floats,
        weight: Floats,
        least: Floats,
        capacity: Floats,
        exponent: float,
    ) -> None:
        self.covered, self.group, self.count = covered, group, count
        self.weight = weight / weight.sum()
        self.scale = float(weight.sum())
        self.least, self.capacity, self.p = least, capacity, exponent
        self.bounded = least > 0

    def price(self, row_dual: Floats) -> Floats:
        """What the multipliers of the rows charge each class for a unit of cost."""
        prices: Floats = (row_dual @ self.covered)[self.group] * self.count
        return prices

    def load(self, per_class: Floats) -> Floats:
        """What each row is covered by."""
        loads: Floats = self.covered @ np.bincount(self.group, self.count * per_class, self.covered.shape[1])
        return loads

    def solve(self, deadline: float) -> tuple[Floats, float, Floats]:
        """Costs, a lower bound of the objective, and the prices that prove it."""
        # Half of what the tightest row leaves, evenly: strictly inside.
        slack = self.capacity - self.load(self.least)
        above = np.full(len(self.group), 0.5 * float((slack / self.load(np.ones(len(self.group)))).min()))
        slack = self.capacity - self.load(self.least + above)
        size = len(slack) + int(self.bounded.sum())
        center = float(self.weight @ (self.least + above) ** -self.p) / size
        at = _Point(above, slack, center / slack, np.where(self.bounded, center / above, 0.0))
        best, price = -np.inf, self.weight
        for _ in range(_STEPS):
            objective = float(self.weight @ (self.least + at.above) ** -self.p)
            bound = self._bound(at.row_dual)
            if bound > best:
                best, price = bound, self.price(at.row_dual)
            if objective - best <= _ACCURACY * objective or time.monotonic() >= deadline:
                break
            center = at.products() / size
            newton = _Newton(self, at)
            step = newton.step(0.0, None)
            after = at.moved(step, at.longest(step)).products() / size
            target = center * min(1.0, max(after / center, 1e-9)) ** 3
            step = newton.step(target, step)
            at = at.moved(step, min(1.0, 0.99 * at.longest(step)))
            slack = self.capacity - self.load(self.least + at.above)
            if slack.min() <= 0:
                # Rounding; a little less of everything is inside again.
                at = at._replace(above=at.above * (1 - 1e-9))
                slack = np.maximum(self.capacity - self.load(self.least + at.above), 1e-300)
            at = at._replace(slack=slack)
        return self.least + at.above, best * self.scale, price * self.scale

    def _bound(self, row_dual: Floats) -> float:
        """The Lagrangian's minimum over x ≥ least: a lower bound of the optimum for any multipliers (weak duality)."""
        p = self.p
        price = self.price(row_dual)
        x = np.maximum(self.least, (p * self.weight / price) ** (1 / (p + 1)))
        return float(self.weight @ x**-p + price @ x - row_dual @ self.capacity)


class _Point(NamedTuple):
    """Costs above the least ones, slacks of the rows, and the multipliers of both; or a step that moves all four."""

    above: Floats
    slack: Floats
    row_dual: Floats
    floor_dual: Floats

    def longest(self, step: _Point) -> float:
        """The longest step up to 1 that leaves everything at least 0."""
        length = 1.0
        for value, direction in zip(self, step, strict=True):
            falling = direction < 0
            if falling.any():
                length = min(length, float((-value[falling] / direction[falling]).min()))
        return length

    def moved(self, step: _Point, length: float) -> _Point:
        """The point after a step of this length."""
        return _Point(*(value + length * direction for value, direction in zip(self, step, strict=True)))

    def products(self) -> float:
        """The sum of the complementarity products."""
        return float(self.slack @ self.row_dual + self.above @ self.floor_dual)


class _Newton:
    """Newton steps at one point, which share a factorization."""

    def __init__(self, system: _System, at: _Point) -> None:
        p, x = system.p, system.least + at.above
        self.system, self.at = system, at
        self.slope = -p * system.weight * x ** (-p - 1) + system.price(at.row_dual) - at.floor_dual
        self.stiff = p * (p + 1) * system.weight * x ** (-p - 2) + at.floor_dual / at.above
        give: Floats = np.bincount(system.group, system.count**2 / self.stiff, system.covered.shape[1]).astype(
            np.float64
        )
        self.solve = _normal_solver(system.covered, give, at.slack / at.row_dual)

    def step(self, target: float, predicted: _Point | None) -> _Point:
        """The step towards complementarity products of ``target``, corrected to second order by a predicted step."""
        system, at = self.system, self.at
        row_error = target - at.slack * at.row_dual
        floor_error = np.where(system.bounded, target - at.above * at.floor_dual, 0.0)
        if predicted is not None:
            row_error -= predicted.slack * predicted.row_dual
            floor_error -= predicted.above * predicted.floor_dual
        wanted = floor_error / at.above - self.slope
        row_step = self.solve(system.load(wanted / self.stiff) + row_error / at.row_dual)
        step = (wanted - system.price(row_step)) / self.stiff
        floor_step = np.where(system.bounded, (floor_error - at.floor_dual * step) / at.above, 0.0)
        return _Point(step, -system.load(step), row_step, floor_step)


def _normal_solver(covered: Floats, give: Floats, rest: Floats) -> Callable[[Floats], Floats]:
    """Solves (A·diag(give)·Aᵀ + diag(rest))·y = right, in the smaller dimension (Sherman, Morrison and Woodbury)."""
    rows, groups = covered.shape
    if rows <= groups:
        factor = _factor(_weighed_products(covered, give), rest)
        return lambda right: cho_solve(factor, right, check_finite=False)
    used = give > 0
    part = covered[:, used]
    scaled = part / rest[:, None]
    factor = _factor(_weighed_products(part.T, 1 / rest), 1 / give[used])
    return lambda right: right / rest - scaled @ cho_solve(factor, scaled.T @ right, check_finite=False)


def _weighed_products(matrix: Floats, weight: Floats) -> Floats:
    """A·diag(weight)·Aᵀ; where few entries are not 0, without going through all the others."""
    if np.count_nonzero(matrix) > _SPARSE * matrix.size:
        return np.asarray((matrix * weight) @ matrix.T)
    few = csr_array(matrix)
    return np.asarray((few.multiply(weight[None, :]).tocsr() @ few.T).toarray())


def _factor(matrix: Floats, diagonal: Floats) -> tuple[Floats, bool]:
    """A Cholesky factor of the matrix plus a diagonal; rows that repeat each other need a little more of it."""
    place = np.diag_indices(len(matrix))
    matrix[place] += diagonal
    extra = 1e-14 * float(matrix[place].max())
    while True:
        try:
            return cast("tuple[Floats, bool]", cho_factor(matrix, check_finite=False))
        except LinAlgError:
            matrix[place] += extra
            extra *= 10
