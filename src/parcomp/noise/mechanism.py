"""The noise that a cost buys.

A number that one row changes by at most Δ is released with discrete noise of its own:

- *pure*: discrete Laplace noise of scale b ≥ Δ/ε.  Shifting it by d ≤ Δ changes no probability by more than the factor
  e^(d/b) ≤ e^ε.
- *zCDP*: discrete Gaussian noise of σ ≥ Δ/√(2ρ), which is Δ²/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020, Theorem 4).
- *GDP*: discrete Gaussian noise of a σ with Δ·μ*(σ) ≤ μ.  Noise shifted by 1 is μ*(σ)-GDP (``privacy.mechanisms``), and
  a shift by d ≤ Δ is a chain of d shifts by 1, which is d·μ*(σ)-GDP: the group privacy of Gaussian differential privacy
  (Dong, Roth and Su 2019, Theorem 2.14), whose proof needs only a chain of distributions with adjacent ones μ*-GDP.

A list of numbers of which one row changes a single one, such as the groups of a GROUP BY, costs what one of them does:
the others are distributed alike, and noise is independent.

Every scale is rounded up, by 10⁻¹⁰.  A scale is never below ``SMALLEST_SCALE``: a cost that would buy less noise gets
this much, which costs less than was paid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from parcomp.costs import MAX_UNITS, UNITS_PER_ONE
from parcomp.errors import CostError, SettingsError, shown
from parcomp.noise.tails import NOISE_KINDS, NoiseKind, tail_up, variance
from parcomp.planning import expected_error
from parcomp.privacy import Measure, discrete_gaussian_mu, laplace_scale, sigma_for_mu, sigma_for_rho
from parcomp.privacy.rounding import up

__all__ = ["LARGEST_SCALE", "LARGEST_VALUE", "SMALLEST_SCALE", "Mechanism", "NoiseKind", "mechanism_for"]

LARGEST_VALUE: Final = 2**62
"""Noise is added to values within plus or minus this; others are moved to the nearer end."""

SMALLEST_SCALE: Final = 0.03
"""Noise of this scale is 0 but in one draw in 10¹⁴ (Laplace) or 10²⁴⁰ (Gaussian)."""

LARGEST_SCALE: Final = 2.0**52
"""Noise of this scale leaves ±2⁶² with a probability below e^(−1000), so what is released fits 64 bits."""

_LARGEST_WORKED_OUT: Final = 1e9
"""The largest σ whose μ* ``privacy.mechanisms`` works out."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Discrete noise of a kind and a scale: b of a discrete Laplace, σ of a discrete Gaussian.

    >>> noise = Mechanism("discrete-gaussian", 10.0)
    >>> round(noise.expected_error, 4), round(noise.variance, 4), noise.half_width(), noise.half_width(0.99)
    (7.9722, 100.0, 20, 26)
    """

    kind: NoiseKind
    scale: float

    def __post_init__(self) -> None:
        if self.kind not in NOISE_KINDS:
            raise SettingsError(f"unknown noise {shown(self.kind)}; there are {' and '.join(NOISE_KINDS)}")
        if not isinstance(self.scale, float) or not SMALLEST_SCALE <= self.scale <= LARGEST_SCALE:
            raise SettingsError(
                f"the scale of noise must be a float from {SMALLEST_SCALE} to {LARGEST_SCALE:.4g}, "
                f"not {shown(self.scale)}"
            )

    @property
    def expected_error(self) -> float:
        """E|noise|, by which an answer is off on average."""
        return float(expected_error(self.kind, self.scale))

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        return variance(self.kind, self.scale)

    def half_width(self, confidence: float = 0.95) -> int:
        """The least r such that the noise is within ±r with at least this probability, rounded up.

        Up to scales of 10⁹ it exceeds the least by no more than one, and beyond by no more than 10⁻¹¹ of the scale.
        """
        if not isinstance(confidence, float) or not 0 < confidence < 1:
            raise SettingsError(f"a confidence must be a float between 0 and 1, such as 0.95, not {shown(confidence)}")
        return _half_width(self.kind, self.scale, confidence)

    def held(self, width: int) -> float:
        """P(|noise| ≤ width), rounded down by 10⁻¹².

        >>> round(Mechanism("discrete-laplace", 1.0).held(3), 4)
        0.9732
        """
        return 1 - tail_up(self.kind, self.scale, width)


@lru_cache(maxsize=4096)
def mechanism_for(measure: Measure, units: int, sensitivity: int = 1) -> Mechanism:
    """The noise that additive units of a measure buy for a number that one row changes by at most ``sensitivity``.

    >>> from parcomp.privacy.measures import PURE
    >>> noise = mechanism_for(PURE, 500_000_000, sensitivity=3)
    >>> noise.kind, round(noise.scale, 6)
    ('discrete-laplace', 6.0)
    """
    _check_whole(units, MAX_UNITS, "a cost, in units of 1e-9,")
    _check_whole(sensitivity, LARGEST_VALUE, "what one row changes a number by")
    match measure.name:
        case "pure":
            scale = sensitivity * float(laplace_scale(units / UNITS_PER_ONE))
        case "zcdp":
            scale = sensitivity * float(sigma_for_rho(units / UNITS_PER_ONE))
        case "gdp":
            # The root is rounded down: its square must not exceed what is paid.
            scale = _sigma_for_mu(Fraction(math.isqrt(units * UNITS_PER_ONE), UNITS_PER_ONE * sensitivity))
    if scale > LARGEST_SCALE:
        raise _too_little(measure, units, sensitivity, scale)
    kind: NoiseKind = "discrete-laplace" if measure.name == "pure" else "discrete-gaussian"
    return Mechanism(kind, max(scale, SMALLEST_SCALE))


def _sigma_for_mu(target: Fraction) -> float:
    """A σ with μ*(σ) ≤ ``target``, or the smallest σ there is."""
    mu = float(target)
    if Fraction(mu) > target:
        mu = math.nextafter(mu, 0.0)
    if mu > discrete_gaussian_mu(_LARGEST_WORKED_OUT):
        return sigma_for_mu(min(mu, discrete_gaussian_mu(SMALLEST_SCALE)))
    # Poisson summation gives p₀ ≤ 1/(σ·√(2π)), and 2·√2·erfinv(p₀) ≤ √(2π)·p₀·(1 + p₀²) for p₀ this small.  So μ*(σ) is
    # at most (1 + 10⁻¹⁸)/σ, which the margin covers.
    return up(1 / mu)


@lru_cache(maxsize=4096)
def _half_width(kind: NoiseKind, scale: float, confidence: float) -> int:
    outside = 1 - confidence
    low, high = -1, math.ceil(scale)
    while tail_up(kind, scale, high) > outside:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if tail_up(kind, scale, middle) > outside:
            low = middle
        else:
            high = middle
    return high


def _check_whole(number: object, largest: int, what: str) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= largest:
        raise CostError(f"{what} must be a whole number from 1 to {largest}, not {shown(number)}")


def _too_little(measure: Measure, units: int, sensitivity: int, scale: float) -> CostError:
    # The scale falls as 1/ε and 1/μ, and as 1/√ρ.
    factor = (scale / LARGEST_SCALE) ** (2 if measure.name == "zcdp" else 1)
    given = float(measure.parameter_up(units))
    return CostError(
        f"a {measure.parameter} of {given:.3g} buys noise of scale {scale:.3g} on a number that one row changes by up "
        f"to {sensitivity:,}, and at most {LARGEST_SCALE:.3g} can be drawn; spend a {measure.parameter} of at least "
        f"{1.01 * given * factor:.3g}, or declare narrower bounds"
    )
