"""A pool of rows that only grows, and the nearest answers that tables made of its rows can have.

Two ways lead to the nearest: *descent* is quick and rough, and tells which rows are worth having; *settling* is as good
as floats are, by Newton steps from where the pool stands, and by the interior method where these do not get there.
"""

from __future__ import annotations

import math
import time

import numpy as np
import numpy.typing as npt
from scipy import sparse

from parcomp.estimation import _descent_kernels as kernels
from parcomp.estimation import interior, newton
from parcomp.estimation.distance import Distance
from parcomp.estimation.rows import Flags, Floats

__all__ = ["Pool"]

_SWEEPS, _STEPS = 10, 30
"""Sweeps of coordinate descent, and then steps of conjugate gradients, of one round of descent."""

_AT_ONCE = 10
"""Rounds of descent between two looks at the clock."""

_FEW = 500
"""So few rows all take part in settling."""

_LARGEST = 4_000
"""How many rows settling takes on at once: beyond, a factorization takes more than a second."""

_MORE, _PASSES = 500, 40
"""Of more rows than that, how many join those that occur at a time, and how many times."""


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

    def descend_until(self, target: Floats, weight: Floats, tolerance: float, rounds: int, deadline: float) -> None:
        """The same, a few rounds at a time, until no slope is left to use or the time is up."""
        for _ in range(0, rounds, _AT_ONCE):
            if self.descend(target, weight, tolerance, _AT_ONCE) <= tolerance or time.monotonic() >= deadline:
                break

    def settle(
        self, target: Floats, weight: Floats, near: float, tolerance: float, gap: float, deadline: float = math.inf
    ) -> bool:
        """Bring the answers as near to a target as they come; False where the rows are too many for it, or floats fail.

        Of many rows, those that hardly occur, and would lose more than ``near`` if they did, are left out.  It ends
        where slopes are known to ``tolerance``, and the squared distance to a part of ``gap``, or at ``deadline``.
        """
        matrix = sparse.csc_array(
            (np.ones(len(self._member)), self._member, self._start), shape=(self.columns, len(self))
        )

        def settled(kept: npt.NDArray[np.intp]) -> bool:
            distance = Distance.to(target, weight, matrix[:, kept])
            found = newton.nearest(distance, self.counts[kept], tolerance, gap, deadline)
            if found is None:
                found = interior.nearest(distance, self.counts[kept], tolerance, gap, deadline)
            if not np.isfinite(found).all():
                return False
            self.counts = np.zeros(len(self))
            self.counts[kept] = found
            return True

        slope = matrix.T @ (weight * (self.answers() - target))
        occur = self.counts > near
        kept = np.arange(len(self)) if len(self) <= _FEW else np.flatnonzero(occur | (slope < near))
        if len(kept) <= _LARGEST:
            return not len(kept) or settled(kept)
        # Hardly any of so many rows occur in the end: those that bring answers nearer join a few, until there are none.
        for _ in range(_PASSES):
            kept = np.flatnonzero(occur)
            if len(kept) > _LARGEST:
                return False
            falling = np.flatnonzero(~occur & (slope < -tolerance))
            kept = np.append(kept, falling[np.argsort(slope[falling], kind="stable")[:_MORE]])
            if not len(kept) or not settled(np.sort(kept)):
                return False
            slope = matrix.T @ (weight * (self.answers() - target))
            occur = self.counts > 0
            if time.monotonic() >= deadline or not (~occur & (slope < -tolerance)).any():
                break
        return True

    def cut(self, target: Floats, weight: Floats) -> Pool:
        """The rows that occur and those that come next, as far as they are not too many."""
        if len(self) <= _LARGEST:
            return self
        residual = weight * (self.answers() - target)
        slope = np.add.reduceat(residual[self._member], self._start[:-1])
        order = np.lexsort((slope, self.counts == 0))
        best = np.sort(order[: max(_LARGEST, int((self.counts > 0).sum()))])
        flags = np.zeros((len(best), self.columns), np.bool_)
        for place, row in enumerate(best.tolist()):
            flags[place, self._member[self._start[row] : self._start[row + 1]]] = True
        other = Pool(self.columns)
        other.join(flags)
        other.counts = self.counts[best]
        return other
