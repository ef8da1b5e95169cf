"""From noisy numbers to figures: the value of an item, its 95 % interval and its error.

All of it follows from the noisy numbers and from which noise they have.

- *Counts, sums, different values*: the noisy number, within its exact tails.
- *Averages*: a = T/N, of which noisy T and N are known.  The a for which T − a·N is no further from 0 than its noise
  strays in 95 of 100 draws (:mod:`parcomp.noise.difference`), as far as the declared bounds go.
- *Variances and deviations* are not linear in their three numbers.  Their interval is that of what the true numbers
  may have been, the noisy ones less noise drawn anew (the fiducial distribution, by 8,000 fixed draws): it is
  approximate, and said to be.
- *Quantiles*: the values visited by the search that are below or above the quantile whatever the noise.  Each of up to
  L numbers misleads with probability (1 − 0.95^(1/L)) at most, on one side, so all are right in 95 of 100 answers;
  mostly in more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.custodian.division import Share
from parcomp.custodian.figure import Figure
from parcomp.noise import error_of_difference, searched, spread_of_difference

__all__ = ["CONFIDENCE", "averages", "plain", "quantiles", "variances"]

CONFIDENCE = 0.95

Floats: TypeAlias = npt.NDArray[np.float64]

_DRAWS = 8_000
_MANY_GROUPS = 1_000
"""Beyond so many groups a fourth of the draws have to do."""

_TURNS = (0.7548776662466927, 0.5698402909980532)
"""1/g and 1/g² with g³ = g + 1, by which points are spread evenly in two dimensions."""

_BLOCK = 128
"""So many groups are worked out at a time."""

_SLOPES = 257
"""Where few rows leave the ends of an average's interval open, so many averages are tried."""


def plain(share: Share, numbers: Sequence[int], step: Fraction) -> list[Figure]:
    """Numbers as they are, in steps; they are not cut off at what is possible, so that they are right on average."""
    width = share.mechanism.half_width(CONFIDENCE)
    error = share.mechanism.expected_error * float(step)
    return [
        Figure(_amount(number, step), _amount(number - width, step), _amount(number + width, step), error)
        for number in numbers
    ]


def averages(shares: Sequence[Share], numbers: Sequence[Sequence[int]], step: Fraction) -> list[Figure]:
    """Averages from sums and counts, within the declared bounds; none where the noisy count is below 1."""
    (total, rows), (totals, counts) = shares, numbers
    summed = total.aggregate
    center, low, high = summed.center, summed.low, summed.high
    sums, many = np.array(totals, np.float64), np.array(counts, np.float64)
    ends = _average_ends(total, rows, sums, many)
    slopes = np.clip(sums / np.maximum(many, 1), float(low - center), float(high - center))
    errors = float(step) * error_of_difference(total.mechanism, rows.mechanism, slopes) / np.maximum(many, 1)
    least, largest = float(_amount(low, step)), float(_amount(high, step))
    figures = []
    for noisy, count, below, above, error in zip(totals, counts, *map(np.ndarray.tolist, (*ends, errors)), strict=True):
        if count < 1:
            figures.append(Figure(None, least, largest, None))
            continue
        value = min(max(center + noisy / count, float(low)), float(high))
        interval = (
            max(_down(_down(center + below) * float(step)), least),
            min(_up(_up(center + above) * float(step)), largest),
        )
        figures.append(Figure(min(max(value * float(step), least), largest), *interval, error))
    return figures


def variances(
    shares: Sequence[Share], numbers: Sequence[Sequence[int]], step: Fraction, *, sample: bool, root: bool
) -> list[Figure]:
    """Variances from sums, squares and counts, or their roots; none where the noisy count is too low for one."""
    figures: list[Figure] = []
    draws = _DRAWS if len(numbers[0]) <= _MANY_GROUPS else _DRAWS // 4
    noise = [
        share.mechanism.scale * _standard(share.mechanism.kind, draws, which)
        for which, share in zip((1, 0, 2), shares, strict=True)
    ]
    total, squares, _ = (share.aggregate for share in shares)
    unit = float(step) if root else float(step) ** 2
    shift = float(total.center - squares.center)
    widest = (squares.high - squares.low) ** 2 / 4
    fewest = 2 if sample else 1

    def of(summed: Floats, squared: Floats, counted: Floats) -> Floats:
        rows = np.maximum(counted, fewest)
        factor = rows / (rows - 1) if sample else np.ones_like(rows)
        found = (squared / rows + squares.offset - (summed / rows + shift) ** 2) * factor
        possible = np.clip(found, 0, widest * factor)
        return unit * (np.sqrt(possible) if root else possible)

    most = widest * (fewest if sample else 1)
    for block in _blocks(numbers):
        values = of(*block)
        around = of(*(block[i][:, np.newaxis] - noise[i] for i in range(3)))
        below, above = np.quantile(around, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=1)
        errors = np.abs(around - values[:, np.newaxis]).mean(axis=1)
        # Where noise has made it less than nothing, the squares may still have been larger by as much as it strays.
        above = np.where(
            above > 0, above, of(block[0], block[1] + shares[1].mechanism.half_width(CONFIDENCE), block[2])
        )
        for i, count in enumerate(block[2]):
            if count < fewest:
                end = unit * (math.sqrt(most) if root else most)
                figures.append(Figure(None, 0.0, end, None, approximate=True))
            else:
                interval = min(float(below[i]), float(values[i])), max(float(above[i]), float(values[i]))
                figures.append(Figure(float(values[i]), *interval, float(errors[i]), approximate=True))
    return figures


def quantiles(share: Share, searches: Sequence[Sequence[int]], step: Fraction) -> list[Figure]:
    """The values that searches have come to."""
    low, high = share.aggregate.low, share.aggregate.high
    # A number misleads only if its noise is beyond the width on the one side, which is half as likely as on either.
    width = share.mechanism.half_width(1 - 2 * (1 - CONFIDENCE ** (1 / share.steps)))
    figures = []
    for numbers in searches:
        visited, found = searched(numbers, high - low + 1)
        pairs = list(zip(visited, numbers, strict=True))
        first = max((at + 1 for at, number in pairs if number < -width), default=0)
        last = min((at for at, number in pairs if number >= width), default=high - low)
        value, least, largest = (_amount(low + at, step) for at in (found, first, last))
        figures.append(Figure(value, least, largest, None))
    return figures


def _average_ends(total: Share, rows: Share, totals: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """The least and the greatest average, relative to the center, that the noisy numbers leave."""
    summed = total.aggregate
    low, high = float(summed.low - summed.center), float(summed.high - summed.center)
    spread = spread_of_difference(total.mechanism, rows.mechanism, max(-low, high, 0.0), CONFIDENCE)
    ends = []
    for side in (-1, 1):
        # With enough rows T − a·N ± spread(a) falls with a, and the end is where it is 0.
        outer, inner = (low, high) if side < 0 else (high, low)
        outside = np.full(len(totals), outer)
        inside = np.full(len(totals), inner)
        for _ in range(60):
            middle = (outside + inside) / 2
            beyond = side * (totals - middle * counts) < -spread(middle)
            outside, inside = np.where(beyond, middle, outside), np.where(beyond, inside, middle)
        ends.append(outside)
    below, above = ends
    few = counts <= spread.steepest
    if few.any():
        tried = np.linspace(low, high, _SLOPES)
        held = np.abs(totals[few, np.newaxis] - tried * counts[few, np.newaxis]) <= spread(tried)
        cell = (high - low) / (_SLOPES - 1)
        some = held.any(axis=1)
        below[few] = np.where(some, tried[held.argmax(axis=1)] - cell, low)
        above[few] = np.where(some, tried[_SLOPES - 1 - held[:, ::-1].argmax(axis=1)] + cell, high)
    return below, above


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


def _amount(steps: int, step: Fraction) -> int | float:
    """So many steps, as a number to show."""
    amount = steps * step
    return int(amount) if amount.denominator == 1 else float(amount)


def _down(end: float) -> float:
    """One float outward, so that rounding does not cut off the end itself."""
    return math.nextafter(end, -math.inf)


def _up(end: float) -> float:
    return math.nextafter(end, math.inf)
