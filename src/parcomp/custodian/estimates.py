"""From noisy numbers to figures: the value of an item, its 95 % interval and its error.

All of it follows from the noisy numbers and from which noise they have.

- *Counts, sums, different values*: the noisy number, within its exact tails.
- *Averages*: a = T/N, of which noisy T and N are known.  The a for which T − a·N is no further from 0 than its noise
  strays in 95 of 100 draws (:mod:`parcomp.noise.difference`), as far as the declared bounds go.
- *Variances and deviations*: :mod:`parcomp.custodian.variances`.
- *Quantiles*: the values asked for by the search that are below or above the quantile whatever the noise.  Each of up
  to L numbers misleads with probability (1 − 0.95^(1/L)) at most, on one side, so all are right in 95 of 100 answers;
  mostly in more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.custodian.division import Share
from parcomp.figures import Figure
from parcomp.noise import Mechanism, error_of_difference, searched, spread_of_difference

__all__ = ["CONFIDENCE", "average_ends", "averages", "is_coarse", "plain", "quantiles", "search_width"]

CONFIDENCE = 0.95

Floats: TypeAlias = npt.NDArray[np.float64]

_HELD = 0.96
"""An interval that holds the true number more often than this is cautious, and said to be."""

_SLOPES = 257
"""Where few rows leave the ends of an average's interval open, so many averages are tried."""


def plain(share: Share, numbers: Sequence[int], step: Fraction) -> list[Figure]:
    """Numbers as they are, in steps; they are not cut off at what is possible, so that they are right on average."""
    width = share.mechanism.half_width(CONFIDENCE)
    error = share.mechanism.expected_error * float(step)
    cautious = is_coarse(share.mechanism)
    return [
        Figure(
            _amount(number, step),
            _amount(number - width, step),
            _amount(number + width, step),
            error,
            cautious=cautious,
        )
        for number in numbers
    ]


def is_coarse(mechanism: Mechanism) -> bool:
    """Whether the interval of a whole number with such noise is cautious: some units more or less weigh much then."""
    return mechanism.held(mechanism.half_width(CONFIDENCE)) > _HELD


def averages(shares: Sequence[Share], numbers: Sequence[Sequence[int]], step: Fraction) -> list[Figure]:
    """Averages from sums and counts, within the declared bounds; none where the noisy count is below 1."""
    (total, rows), (totals, counts) = shares, numbers
    summed = total.aggregate
    center, low, high = summed.center, summed.low, summed.high
    sums, many = np.array(totals, np.float64), np.array(counts, np.float64)
    ends = average_ends(total, rows, sums, many, CONFIDENCE)
    coarse = is_coarse(total.mechanism)
    slopes = np.clip(sums / np.maximum(many, 1), float(low - center), float(high - center))
    errors = float(step) * error_of_difference(total.mechanism, rows.mechanism, slopes) / np.maximum(many, 1)
    least, largest = float(_amount(low, step)), float(_amount(high, step))
    figures = []
    for noisy, count, below, above, error in zip(totals, counts, *map(np.ndarray.tolist, (*ends, errors)), strict=True):
        if count < 1:
            figures.append(Figure(None, least, largest, None, cautious=True))
            continue
        value = min(max(center + noisy / count, float(low)), float(high))
        start = max(_down(_down(center + below) * float(step)), least)
        end = min(_up(_up(center + above) * float(step)), largest)
        # At an end of what is declared only the other side can fail.
        cautious = coarse or start == least or end == largest
        value = min(max(value * float(step), least), largest)
        # The true average is within the bounds, so it is no further off than the further of them.
        furthest = max(value - least, largest - value)
        figures.append(Figure(value, start, end, min(error, furthest), cautious=cautious))
    return figures


def search_width(share: Share) -> int:
    """What a number of a search misleads beyond, on one side, so rarely that all are right in 95 of 100 answers."""
    # Beyond it on the one side is half as likely as on either.
    return share.mechanism.half_width(1 - 2 * (1 - CONFIDENCE ** (1 / share.steps)))


def quantiles(share: Share, width: int, searches: Sequence[Sequence[int]], step: Fraction) -> list[Figure]:
    """The values that searches have come to."""
    low, high = share.aggregate.low, share.aggregate.high
    figures = []
    for numbers in searches:
        _, told = searched(numbers, high - low + 1, width)
        value, least, largest = (_amount(low + at, step) for at in (told.low, told.under + 1, told.over))
        figures.append(Figure(value, least, largest, None, cautious=True))
    return figures


def average_ends(total: Share, rows: Share, totals: Floats, counts: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The least and the greatest average, relative to the center, that the noisy numbers leave at a confidence."""
    summed = total.aggregate
    low, high = float(summed.low - summed.center), float(summed.high - summed.center)
    spread = spread_of_difference(total.mechanism, rows.mechanism, max(-low, high, 0.0), confidence)
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


def _amount(steps: int, step: Fraction) -> int | float:
    """So many steps, as a number to show."""
    amount = steps * step
    return int(amount) if amount.denominator == 1 else float(amount)


def _down(end: float) -> float:
    """One float outward, so that rounding does not cut off the end itself."""
    return math.nextafter(end, -math.inf)


def _up(end: float) -> float:
    return math.nextafter(end, math.inf)
