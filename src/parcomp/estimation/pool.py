"""A pool of rows that only grows, and the nearest answers that tables made of its rows can have.

Two ways lead to the nearest: *descent* is quick and rough, and tells which rows are worth having; *interior* takes some
15 factorizations of a matrix of the rows that may count, and is as good as floats are (Mehrotra 1992).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from parcomp.estimation import _descent_kernels as kernels
from parcomp.estimation.rows import Flags, Floats

__all__ = ["Pool"]

_SWEEPS, _STEPS = 10, 30
"""Sweeps of coordinate descent, and then steps of conjugate gradients, of one round of descent."""

_FEW = 500
"""So few rows all take part in the interior method."""

_LARGEST = 4_000
"""How many rows the interior method takes on: beyond, a factorization takes more than a second."""

_ITERATIONS = 60
"""More than the interior method has ever taken."""

_SHORT = 0.995
"""How far the interior method goes towards the nearest bound."""


_POLISHED = 1e-6
"""Where no more than this part of the squared distance may be left open, the last digits are worth the while."""

_REFINEMENTS = 3
"""Steps of iterative refinement, which take back what rounding and the ridge have changed."""

_STUCK = 0.1
"""Where a step is cut shorter than this, one towards the middle is taken instead."""


class Pool:
    """Rows by the columns that they are counted in: a column is a query that was answered, or a fact.

    ``counts[j]`` is how often row ``j`` occurs in a table, at least 0 and not always whole.
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.counts: Floats = np.zeros(0)
        self._start: npt.NDArray[np.int64] = np.zeros(1, np.int64)
        self._member: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._known: set[bytes] = set()

    def __len__(self) -> int:
        return len(self.counts)

    def copy(self) -> Pool:
        """A pool with the same rows and counts, which grows on its own."""
        other = Pool(self.columns)
        other.counts, other._start, other._member = self.counts.copy(), self._start, self._member
        other._known = set(self._known)
        return other

    def join(self, flags: Flags) -> int:
        """Take in the rows that are not there yet, and that are counted in something; how many there were."""
        packed = np.packbits(flags, axis=1)
        fresh = []
        for place, key in enumerate(map(bytes, packed)):
            if key not in self._known and flags[place].any():
                self._known.add(key)
                fresh.append(place)
        if fresh:
            row, column = np.nonzero(flags[fresh])
            sizes = np.bincount(row, minlength=len(fresh))
            self._start = np.concatenate((self._start, self._start[-1] + np.cumsum(sizes)))
            self._member = np.concatenate((self._member, column.astype(np.int32)))
            self.counts = np.concatenate((self.counts, np.zeros(len(fresh))))
        return len(fresh)

    def answers(self) -> Floats:
        """What a table of these rows answers."""
        lengths = np.diff(self._start)
        return np.bincount(self._member, np.repeat(self.counts, lengths), self.columns).astype(np.float64)

    def descend(self, target: Floats, weight: Floats, tolerance: float, rounds: int) -> float:
        """Bring the answers nearer to a target; the steepest slope that was left to use."""
        if not len(self):
            return 0.0
        residual = self.answers() - target
        pool = kernels.Pool(self._start, self._member, weight)
        worst, _ = kernels.descend(pool, self.counts, residual, rounds, _SWEEPS, _STEPS, tolerance)
        return float(worst)

    def interior(self, target: Floats, weight: Floats, near: float, tolerance: float, gap: float) -> bool:
        """Bring the answers as near to a target as they come; False where the rows are too many for it, or floats fail.

        Of many rows, those that hardly occur, and would lose more than ``near`` if they did, are left out.  It ends
        where slopes are known to ``tolerance``, and the squared distance to a part of ``gap``.
        """
        matrix = sparse.csc_array(
            (np.ones(len(self._member)), self._member, self._start), shape=(self.columns, len(self))
        )
        slope = matrix.T @ (weight * (self.answers() - target))
        kept = np.arange(len(self)) if len(self) <= _FEW else np.flatnonzero((self.counts > near) | (slope < near))
        if not len(kept) or len(kept) > _LARGEST:
            return not len(kept)
        found = _interior(matrix[:, kept], target, weight, self.counts[kept], tolerance, gap)
        if not np.isfinite(found).all():
            return False
        self.counts = np.zeros(len(self))
        self.counts[kept] = found
        return True


def _interior(
    matrix: sparse.csc_array, target: Floats, weight: Floats, counts: Floats, tolerance: float, gap: float
) -> Floats:
    """The least ½·Σ ω·(A·x − target)² over x ≥ 0, by a predictor and a corrector (Mehrotra 1992).

    Slopes s = Aᵀ·ω·(A·x − target) belong to x; both stay positive, and x·s goes to 0.
    """
    transposed = matrix.T.tocsr()
    gram = (transposed @ (matrix * weight[:, None]).tocsc()).toarray()
    diagonal = np.arange(len(gram))
    ridge = 1e-12 * gram[diagonal, diagonal]
    x = np.maximum(counts, 0.1 * max(1.0, float(counts.mean())))
    slope = transposed @ (weight * (matrix @ x - target))
    # Products x·s that are much smaller than the others would keep every step short.
    even = float((x * np.abs(slope)).mean()) + tolerance
    s = np.maximum(slope, even / x)
    for _ in range(_ITERATIONS):
        residual = matrix @ x - target
        slope = transposed @ (weight * residual)
        center = float(x @ s) / len(x)
        moved = float(weight @ residual**2)
        if np.abs(slope - s).max() <= tolerance and center * len(x) <= max(gap * moved, tolerance**2):
            break
        if center == 0.0:
            # Floats tell no product from 0 any more, and there is nothing left to shrink.
            break
        system = gram.copy()
        system[diagonal, diagonal] += s / x + ridge
        try:
            factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            break
        dx, ds = _newton(factor, x, s, slope, 0.0)
        length = min(_longest(x, dx), _longest(s, ds))
        shrunk = float((x + length * dx) @ (s + length * ds)) / len(x)
        # The correction is of second order, so a predictor that was cut short brings as much less of it.
        dx, ds = _newton(factor, x, s, slope, center * (shrunk / center) ** 3 - length**2 * dx * ds)
        length = min(_longest(x, dx), _longest(s, ds))
        if length < _STUCK:
            dx, ds = _newton(factor, x, s, slope, center)
            length = min(_longest(x, dx), _longest(s, ds))
        length = min(_step(x, dx), _step(s, ds))
        x, s = x + length * dx, s + length * ds
    return _polished(matrix, target, weight, gram, x, x > s, tolerance) if gap <= _POLISHED else x


def _polished(
    matrix: sparse.csc_array, target: Floats, weight: Floats, gram: Floats, x: Floats, occur: Flags, tolerance: float
) -> Floats:
    """The least with all other rows at 0, if it is one: an interior point stops short of it by what floats can tell."""
    if not occur.any():
        return x
    part, counts = matrix[:, occur], x[occur]
    system = gram[np.ix_(occur, occur)]
    system[np.diag_indices(len(system))] *= 1 + 1e-12
    try:
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return x
    for _ in range(_REFINEMENTS):
        counts = counts - cho_solve(factor, part.T @ (weight * (part @ counts - target)), check_finite=False)
    if (counts < 0).any() or (matrix.T @ (weight * (part @ counts - target))).min() < -tolerance:
        return x
    found = np.zeros(len(x))
    found[occur] = counts
    return found


def _newton(
    factor: tuple[Floats, bool], x: Floats, s: Floats, slope: Floats, product: float | Floats
) -> tuple[Floats, Floats]:
    """The step after which, to first order, s are the slopes and x·s the ``product``."""
    dx = cho_solve(factor, product / x - slope, check_finite=False)
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
