"""How far sums of discrete noise stray, from above: what the intervals of a strategy's answers rest on.

*Gaussian.*  X = Σ a_j·z_j of N independent discrete Gaussians of one σ.  Add a Gaussian of variance τ² to each z_j:
with v = σ²τ²/(σ² + τ²) and e = 2·Σ_{k>0} exp(−2π²vk²), the density of the sum is at most 1 + e times that of a Gaussian
of variance σ² + τ².  What was added strays further than κ of its own deviations with probability 2·Φ(−κ), so

    P(|X| > r) ≤ (1 + e)^N · 2·Φ(−(r/‖a‖ − κτ)/√(σ² + τ²)) / (1 − 2·Φ(−κ)),

for every τ and κ; and P(|X| > r) ≤ 2·exp(−r²/2σ²‖a‖²), as discrete Gaussians are sub-Gaussian.

*Laplace.*  The distribution of a sum of n discrete Laplace noises, wrapped around M whole numbers, is the Fourier
transform of the n-th power of 1/(1 + c·(1 − cos u)) at M points.  Wrapping only raises probabilities, so it hides no
more of the tail than what lies beyond M/2, which is bounded by Chernoff.  More noise strays further, so that n may be
rounded up.  Proofs of both are in ``docs/proofs/strategies.md``.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from parcomp.noise.tails import Floats

__all__ = ["combined_half_widths_up", "laplace_sum_half_widths_up"]

_ADDED: Final = (0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
_KAPPAS: Final = (2.5, 3.0, 3.5, 4.0, 5.0, 6.0)
"""The τ and κ that are tried: narrow noise takes small ones, wide noise any."""

_ROUNDING: Final = 1e-9
"""By which half-widths are raised, and tails taken for larger, for the rounding of floats."""

_EXACT_SIZES, _STEP = 50, 1.02
"""Up to so many noises each number of them is worked out by itself; beyond, numbers are rounded up by this factor."""

_LONGEST: Final = 1 << 17
"""The most points of a transform: wider sums are bounded by Chernoff alone, which takes them for up to 40 % wider."""

_BEYOND: Final = 1e-12
"""The probability of what may lie beyond the points of a transform."""

_THETAS: Final = np.concatenate((np.geomspace(1e-4, 0.05, 60), np.linspace(0.06, 0.99, 60)))
"""The parameters that Chernoff's bound is tried with, as parts of the largest."""


def combined_half_widths_up(
    sigma: float, norms: Floats, terms: npt.NDArray[np.int64] | int, confidence: float
) -> Floats:
    """Numbers that combinations of so many discrete Gaussians of one σ stay within with this probability at least.

    ``norms`` are those of the weights of each combination.

    >>> combined_half_widths_up(2.0**20, np.array([1.0, 2.0]), 1_000, 0.95).round(-2)
    array([2055200., 4110400.])
    """
    from scipy.special import ndtri  # noqa: PLC0415  slow to import, and only strategies need it

    outside = 1 - confidence
    best = np.full(np.shape(norms), sigma * math.sqrt(2 * math.log(2 / outside)))
    for added in _ADDED:
        v = (sigma * added) ** 2 / (sigma**2 + added**2)
        # The terms from k = 2 on are less than the first one's thousandth for v ≥ 0.12; narrower noise is left out.
        if v < 0.12:
            continue
        wave = np.log1p(2.002 * math.exp(-2 * math.pi**2 * v)) * terms
        for kappa in _KAPPAS:
            kept = math.erf(kappa / math.sqrt(2))
            # Of the Gaussian of variance σ² + τ², what may lie outside.
            tail = outside * kept * np.exp(-wave)
            reach = -ndtri(tail / 2) * math.hypot(sigma, added) + kappa * added
            best = np.minimum(best, reach)
    return np.asarray(best * norms * (1 + _ROUNDING))


def laplace_sum_half_widths_up(scale: float, sizes: npt.NDArray[np.int64], confidence: float) -> Floats:
    """Whole numbers that sums of so many discrete Laplace noises stay within with this probability at least.

    >>> laplace_sum_half_widths_up(1.0, np.array([0, 1, 2, 100]), 0.95)
    array([ 0.,  3.,  4., 27.])
    """
    levels = _levels(int(sizes.max(initial=0)))
    place = np.searchsorted(levels, sizes)
    needed = np.unique(place)
    widths = np.zeros(len(levels))
    widths[needed] = [_laplace_half_width_up(scale, int(levels[one]), 1 - confidence) for one in needed]
    return np.asarray(widths[place])


def _levels(most: int) -> npt.NDArray[np.int64]:
    """Numbers of noises, from 0 on, of which each size is rounded up to one."""
    levels = list(range(min(most, _EXACT_SIZES) + 1))
    while levels[-1] < most:
        levels.append(min(most, math.ceil(levels[-1] * _STEP)))
    return np.array(levels)


def _laplace_half_width_up(scale: float, size: int, outside: float) -> float:
    if not size:
        return 0.0
    far = _chernoff(scale, size, _BEYOND)
    points = 1 << math.ceil(math.log2(2 * far + 2))
    if points > _LONGEST or outside <= 2 * _ROUNDING:
        return float(math.floor(_chernoff(scale, size, outside)))
    half = math.sinh(min(0.5 / scale, 350.0))
    angle = np.arange(points // 2 + 1) * (math.pi / points)
    # With c = 1/(2·half²), 1 + c·(1 − cos u) is 1 + (sin(u/2)/half)².
    wrapped = np.fft.irfft(np.exp(-size * np.log1p((np.sin(angle) / half) ** 2)), points)
    inside = np.cumsum(np.concatenate((wrapped[:1], 2 * wrapped[1 : points // 2])))
    return float(np.searchsorted(inside, 1 - outside + _ROUNDING))


def _chernoff(scale: float, size: int, outside: float) -> float:
    """Sums are at least this far from 0 with probability ``outside`` at most: the least over some parameters."""
    q = math.exp(-1 / scale)
    rate = _THETAS / scale
    # M(λ) = (1 − q)²/((1 − q·e^λ)·(1 − q·e^(−λ))), for λ below 1/b.
    grown = 2 * math.log(-math.expm1(-1 / scale)) - np.log(-np.expm1(rate - 1 / scale)) - np.log1p(-q * np.exp(-rate))
    return float(((size * grown + math.log(2 / outside)) / rate).min()) * (1 + _ROUNDING)
