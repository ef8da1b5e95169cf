"""Variances and deviations from three noisy numbers: their values, intervals and errors.

Let S be the sum of the values less a center, Q that of the squares less an offset o each, about a center that is
``shift`` below the other, and N the number of rows.  A mean m about the first center and a variance V are those of the
rows if and only if S − m·N = 0 and, with μ = m + ``shift`` and d = 1 for the variance of a sample and else 0,

    Q + o·N − μ²·N − (N − d)·V = 0.

*A test of m and V.*  Put noisy numbers in, and take 2μ times the first from the second:

    T = Q + (o − μ²)·N − 2μ·(S − m·N) − (N − d)·V.

For the true m and V it is a sum of the three noises with known factors, 1 for that of Q, −2μ for S and o − μ² + 2μm − V
for N, so how far it strays is known (:mod:`parcomp.noise.combination`).  At other m it is as large, but for terms of
second order, since its derivative by m is 0 where S = m·N.

*The interval* is of all V that pass for some m that is possible.  An m is if it is in its own interval of a much higher
confidence.  So the true V is left out only if that interval misses or the test fails for the true m and V: with
probability 0.0025 + 0.0465 at most (Berger and Boos 1994).  Values between bounds have variances of at most
(m − low)·(high − m) (Bhatia and Davis 2000), times N/(N − 1) for a sample, where N may be less than the noisy one by
what noise strays in one of 1,000 draws.

It is cautious where rows are few, for the worst m counts then.  *Where it does not matter much* which m is taken, and
nothing that is possible is near, the interval is instead that of what the true numbers may have been: the noisy ones
less noise drawn anew, by fixed draws (the fiducial distribution).

*All of it is approximate*, for noise is taken as continuous and only some m are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.custodian.division import Share
from parcomp.custodian.estimates import CONFIDENCE, average_ends, is_coarse
from parcomp.figures import Figure
from parcomp.noise import size_of_sum, stays_within

__all__ = ["variances"]

Floats: TypeAlias = npt.NDArray[np.float64]

_OF_MEANS = 0.9975
_OF_COUNTS = 0.999
_OF_TEST = 0.9535
"""The confidences: what they leave adds up to 5 %."""

_MEANS = 8
"""So many means are tried, and the noisy one."""

_HALVINGS = 36
"""An end is found to this power of ½ of what is possible."""

_MANY_GROUPS = 1_000
"""Beyond so many groups half of the means and a fourth of the draws have to do."""

_BLOCK = 2_048
"""So many groups are worked out at a time."""

_WIDER = 1.02
"""By less than this factor the unknown mean may widen an interval without being noticed."""

_NARROW = 0.3
"""Up to this part of the distance of the bounds means may differ for fixed draws to do."""

_DRAWS = 8_000
_DRAWN_AT_ONCE = 128
_TURNS = (0.7548776662466927, 0.5698402909980532)
"""1/g and 1/g² with g³ = g + 1, by which points are spread evenly in two dimensions."""


def variances(
    shares: Sequence[Share], numbers: Sequence[Sequence[int]], step: Fraction, *, sample: bool, root: bool
) -> list[Figure]:
    """Variances from sums, squares and counts, or their roots; none where the noisy count is too low for one."""
    many = len(numbers[0]) > _MANY_GROUPS
    means, draws = (_MEANS // 2, _DRAWS // 4) if many else (_MEANS, _DRAWS)
    unit = float(step) if root else float(step) ** 2
    fewest = 2 if sample else 1
    figures: list[Figure] = []
    for sums, squared, counts in _blocks(numbers):
        block = _Noisy(shares, sums, squared, np.maximum(counts, fewest), sample)
        low, high, cautious = block.ends(means, draws)
        values, errors, most = block.values, block.errors, np.array([block.widest * fewest])
        largest = block.largest
        if root:
            errors = np.minimum(errors / np.maximum(2 * np.sqrt(values), 1e-100), np.sqrt(errors))
            values, low, high, most, largest = map(np.sqrt, (values, low, high, most, largest))
        # The true one is possible too, so it is no further off than the further end of what is.
        errors = np.minimum(errors, np.maximum(values, largest - values))
        low, high = np.minimum(low, values), np.maximum(high, values)
        columns = ((unit * column).tolist() for column in (values, low, high, errors))
        for count, value, start, end, error, careful in zip(counts.tolist(), *columns, cautious.tolist(), strict=True):
            if count < fewest:
                figures.append(Figure(None, 0.0, unit * float(most[0]), None, approximate=True, cautious=True))
            else:
                figures.append(Figure(value, start, end, error, approximate=True, cautious=careful))
    return figures


class _Noisy:
    """The noisy numbers of some groups, in steps, and what follows from them."""

    def __init__(self, shares: Sequence[Share], sums: Floats, squared: Floats, counts: Floats, sample: bool) -> None:
        self._total, self._squares, self._rows = shares
        self._sums, self._squared, self._counts = sums, squared, counts
        self._fewer = 1 if sample else 0
        total, squares = self._total.aggregate, self._squares.aggregate
        self._low, self._high = float(total.low - total.center), float(total.high - total.center)
        self._shift, self._offset = float(total.center - squares.center), float(squares.offset)
        self._mean = np.clip(sums / counts, self._low, self._high)
        self.widest = (self._high - self._low) ** 2 / 4
        """The largest variance of rows between the bounds."""

    @property
    def values(self) -> Floats:
        """The variances, as far as they are possible."""
        return self._variances(self._sums, self._squared, self._counts)

    def _variances(self, sums: Floats, squared: Floats, counts: Floats) -> Floats:
        rows = np.maximum(counts, 1 + self._fewer)
        about = sums / rows + self._shift
        found = squared / rows + self._offset - about * about
        return np.asarray(np.clip(found, 0, self.widest) * rows / (rows - self._fewer))

    @property
    def errors(self) -> Floats:
        """About their mean absolute errors."""
        strayed = size_of_sum(self._total.mechanism.kind, self._scales(self._mean, self.values))
        return np.asarray(np.minimum(strayed / (self._counts - self._fewer), self.largest))

    @property
    def largest(self) -> Floats:
        """The largest variances of so many rows between the bounds."""
        return np.asarray(self.widest * self._counts / (self._counts - self._fewer))

    def ends(self, means: int, draws: int) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        """The ends of the intervals, and whether these are cautious."""
        least, largest = average_ends(self._total, self._rows, self._sums, self._counts, _OF_MEANS)
        tried = np.linspace(np.maximum(least, self._low), np.minimum(largest, self._high), means)
        most = self._most(tried[0], tried[-1])
        low, high = np.full_like(most, np.inf), np.zeros_like(most)
        for mean in (*tried, self._mean):
            # The variance that passes best; beyond what is possible it is taken for the nearest that is.
            best = np.clip(self._test(mean, np.zeros_like(most)) / (self._counts - self._fewer), 0, most)
            lower, higher = (self._end(mean, best, outer) for outer in (np.zeros_like(most), most))
            low, high = np.minimum(low, lower), np.maximum(high, higher)
        # The last of them is the interval, were the mean known.
        wider = high - low > _WIDER * (higher - lower)
        drawn = wider & (high < most) & (largest - least <= 2 * _NARROW * (self._high - self._low))
        places = np.flatnonzero(drawn)
        for some in np.array_split(places, range(_DRAWN_AT_ONCE, len(places), _DRAWN_AT_ONCE)):
            ends = self._drawn(some, draws)
            # Where noise has made the variance less than nothing, they say nothing of how large it may be.
            drawn[some] = ends[1] > 0
            low[some], high[some] = np.where(drawn[some], ends, (low[some], high[some]))
        coarse = any(is_coarse(share.mechanism) for share in (self._total, self._squares))
        return low, high, (wider & ~drawn) | (low <= 0) | (high >= most) | coarse

    def _drawn(self, some: npt.NDArray[np.intp], draws: int) -> tuple[Floats, Floats]:
        """The ends of what the true variances of some groups may be, the noisy numbers less noise."""
        noise = (
            share.mechanism.scale * _standard(share.mechanism.kind, draws, which)
            for which, share in zip((1, 0, 2), (self._total, self._squares, self._rows), strict=True)
        )
        numbers = (one[some, np.newaxis] for one in (self._sums, self._squared, self._counts))
        around = self._variances(*(one - other for one, other in zip(numbers, noise, strict=True)))
        low, high = np.quantile(around, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=1)
        return low, high

    def _end(self, mean: Floats, best: Floats, outer: Floats) -> Floats:
        """Where the variances end that pass with a mean, from the best of them on toward ``outer``.

        How far T strays is a convex function of V, and T a linear one: so there is one end, if ``outer`` does not pass.
        """
        inside, outside = best, outer
        passes = self._passes(mean, best, outer)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            held = self._passes(mean, best, middle)
            inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
        return np.where(passes, outer, outside)

    def _passes(self, mean: Floats, best: Floats, variance: Floats) -> npt.NDArray[np.bool_]:
        distance = (self._counts - self._fewer) * np.abs(variance - best)
        return stays_within(self._total.mechanism.kind, self._scales(mean, variance), distance, _OF_TEST)

    def _test(self, mean: Floats, variance: Floats) -> Floats:
        """T: how far the noisy numbers are from a mean and a variance."""
        about = mean + self._shift
        return (
            self._squared
            + (self._offset - about * about) * self._counts
            - 2 * about * (self._sums - mean * self._counts)
            - (self._counts - self._fewer) * variance
        )

    def _scales(self, mean: Floats, variance: Floats) -> list[Floats]:
        """The scales of the three noises in T."""
        about = mean + self._shift
        return [
            np.full_like(mean, self._squares.mechanism.scale),
            2 * np.abs(about) * self._total.mechanism.scale,
            np.abs(self._offset - about * about + 2 * about * mean - variance) * self._rows.mechanism.scale,
        ]

    def _most(self, least: Floats, largest: Floats) -> Floats:
        """The largest variances with means in these ranges."""
        middle = np.clip((self._low + self._high) / 2, least, largest)
        most = (middle - self._low) * (self._high - middle)
        if self._fewer:
            rows = np.maximum(self._counts - self._rows.mechanism.half_width(_OF_COUNTS), 2)
            most = most * rows / (rows - 1)
        return np.asarray(most)


def _blocks(numbers: Sequence[Sequence[int]]) -> Iterator[tuple[Floats, ...]]:
    for start in range(0, len(numbers[0]), _BLOCK):
        yield tuple(np.array(some[start : start + _BLOCK], np.float64) for some in numbers)


@lru_cache(maxsize=16)
def _standard(kind: str, draws: int, which: int) -> Floats:
    """Fixed draws of noise of scale 1; those of three ``which`` are spread evenly over the joint distribution.

    How far they are from 0 are the points of a lattice: places in order, and the coordinates of a Kronecker sequence.
    Each point has all eight signs.
    """
    order = np.arange(draws // 8) + 0.5
    places = order / len(order) if which == 0 else order * _TURNS[which - 1] % 1
    if kind == "discrete-laplace":
        sizes = -np.log1p(-places)
    else:
        from scipy.special import ndtri  # noqa: PLC0415  slow to import, and only Gaussian noise needs it

        sizes = ndtri((1 + places) / 2)
    return np.concatenate([sign * sizes for sign in (np.arange(8) >> which & 1) * 2 - 1])
