"""How far X − s·Y strays, of two independent noises X and Y: what an average's interval rests on.

Let an average be a = T/N, of which X + T and Y + N are known.  Then (X + T) − a·(Y + N) = X − a·Y, whose distribution
is known for every a.  So the a for which it is no further from 0 than in 95 of 100 draws are an interval that fails for
the true one in 5 of 100 draws (Fieller 1954).

P(|X − s·Y| > z) is the mean over Y of the tails of X, which is summed while Y has few values that matter.  Beyond, both
noises are taken as continuous: Gaussian ones add up to a Gaussian, and of Laplace noises of scales b and c

    P(|X − s·Y| > z) = (b²·e^(−z/b) − c²·e^(−z/c)) / (b² − c²),   with s·c in the place of c.

Nothing of this touches privacy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

from parcomp.noise.mechanism import Mechanism
from parcomp.noise.tails import Floats, chances, one_sided_tails

__all__ = ["Spread", "error_of_difference", "spread_of_difference", "tail_of_difference"]

_SUMMED: Final = 64.0
"""Up to this scale of Y the tails are summed over its values."""

_SLOPES: Final = 17
"""For so many slopes the spread is worked out; between them it is interpolated, from above since it is convex."""


class Spread:
    """For each slope s up to a largest the least z with P(|X − s·Y| > z) ≤ 1 − confidence."""

    def __init__(self, slopes: Floats, widths: Floats) -> None:
        self._slopes = slopes
        self._widths = widths

    @property
    def steepest(self) -> float:
        """The most by which the spread grows from one slope to the next, for each unit of the slope."""
        gaps = np.diff(self._slopes)
        return float((np.diff(self._widths) / np.where(gaps > 0, gaps, math.inf)).max())

    def __call__(self, slope: Floats) -> Floats:
        """The spread at some slopes, of either sign."""
        return np.interp(np.abs(slope), self._slopes, self._widths)


@lru_cache(maxsize=256)
def spread_of_difference(first: Mechanism, second: Mechanism, largest: float, confidence: float) -> Spread:
    """How far X − s·Y strays for all slopes up to ``largest``."""
    slopes = np.linspace(0.0, largest, _SLOPES)
    widths = np.array([_half_width(first, second, float(slope), 1 - confidence) for slope in slopes])
    return Spread(slopes, np.maximum.accumulate(widths))


def tail_of_difference(first: Mechanism, second: Mechanism, slope: float, bound: float) -> float:
    """P(|X − s·Y| > bound).

    >>> round(tail_of_difference(Mechanism("discrete-laplace", 50.0), Mechanism("discrete-laplace", 2.0), 0.0, 149), 4)
    0.0503
    """
    if second.scale <= _SUMMED:
        values, probabilities = chances(second.kind, second.scale)
        offsets = slope * values
        return float(np.dot(probabilities, _beyond(first, bound + offsets) + _beyond(first, bound - offsets)))
    if first.kind == "discrete-gaussian":
        return math.erfc(bound / math.hypot(first.scale, slope * second.scale) / math.sqrt(2))
    b, c = first.scale, slope * second.scale
    if abs(b - c) < 1e-4 * b:
        b = c = max(b, c)
        return (1 + bound / (2 * b)) * math.exp(-bound / b)
    other = c * c * math.exp(-bound / c) if c else 0.0
    return (b * b * math.exp(-bound / b) - other) / (b * b - c * c)


def error_of_difference(first: Mechanism, second: Mechanism, slope: Floats) -> Floats:
    """E|X − s·Y| for each slope, from the mean absolute errors of both as if they were continuous.

    >>> noise = Mechanism("discrete-laplace", 50.0)
    >>> error_of_difference(noise, noise, np.array([0.0, 1.0])).round()
    array([50., 75.])
    """
    one, other = first.expected_error, np.abs(slope) * second.expected_error
    if first.kind == "discrete-gaussian":
        return np.hypot(one, other)
    # Of noise that is as good as none both are 0.
    return (one * one + one * other + other * other) / np.maximum(one + other, 1e-300)


def _beyond(noise: Mechanism, bounds: Floats) -> Floats:
    """P(noise > bound) for each of some bounds of either sign."""
    whole = np.floor(bounds)
    # Noise is symmetric: P(noise > −k − 1) = 1 − P(noise > k).
    tails = one_sided_tails(noise.kind, noise.scale, np.where(whole >= 0, whole, -whole - 1))
    return np.where(whole >= 0, tails, 1 - tails)


def _half_width(first: Mechanism, second: Mechanism, slope: float, outside: float) -> float:
    low, high = -1.0, first.scale + slope * second.scale + 1
    while tail_of_difference(first, second, slope, high) > outside:
        low, high = high, 2 * high
    while high - low > 1e-4 * high + 1e-9:
        middle = (low + high) / 2
        if tail_of_difference(first, second, slope, middle) > outside:
            low = middle
        else:
            high = middle
    return high
