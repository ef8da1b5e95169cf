"""How much noise a cost buys, and what noise costs: discrete mechanisms on counts.

Noise on counts is discrete.  Discrete Laplace noise of scale 1/ε is ε-DP.  Discrete Gaussian noise of
parameter σ is 1/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020).  It is *not* (1/σ)-GDP: its trade-off function lies
above G_μ exactly for μ ≥ μ*, where

    p₀ = 1 / Σ_k exp(−k²/2σ²),    μ*(σ) = 2·Φ⁻¹((1 + p₀)/2),

the step of Φ⁻¹∘CDF at the center.  That no other step is larger is proved in ``docs/proofs/discrete-gaussian.md``.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from parcomp.errors import ArgumentError, shown
from parcomp.privacy.rounding import RELATIVE, Floats, up

__all__ = ["discrete_gaussian_mu", "laplace_scale", "sigma_for_mu", "sigma_for_rho"]

_SMALLEST, _LARGEST = 0.03, 1e9
"""The range of σ that is booked."""


@overload
def discrete_gaussian_mu(sigma: float) -> float: ...
@overload
def discrete_gaussian_mu(sigma: Floats) -> Floats: ...
def discrete_gaussian_mu(sigma: float | Floats) -> float | Floats:
    """The least μ such that discrete Gaussian noise of parameter σ on a count is μ-GDP, from above (by 10⁻¹⁰).

    >>> [round(discrete_gaussian_mu(sigma) * sigma, 4) for sigma in (1.0, 10.0)]
    [1.0458, 1.0004]
    """
    parameter = np.asarray(sigma, np.float64)
    if not ((parameter >= _SMALLEST) & (parameter <= _LARGEST)).all():
        raise ArgumentError(
            f"the sigma of a discrete Gaussian must be from {_SMALLEST} to {_LARGEST:.0f}, not {shown(sigma)}"
        )
    from scipy.special import erfcinv, erfinv  # noqa: PLC0415  slow to import, and only Gaussian noise under GDP needs it

    rest = _others(parameter)
    center = 1 / (1 + rest)
    # Φ⁻¹((1 + p)/2) = √2·erfinv(p); where p is close to 1, erfcinv of 1 − p keeps the digits.
    with np.errstate(divide="ignore"):
        mu = up(
            2
            * math.sqrt(2)
            * np.where(center < 0.5, erfinv(np.minimum(center, 0.5)), erfcinv(np.minimum(rest * center, 0.5)))
        )
    return float(mu) if np.ndim(sigma) == 0 else mu


@overload
def sigma_for_mu(mu: float) -> float: ...
@overload
def sigma_for_mu(mu: Floats) -> Floats: ...
def sigma_for_mu(mu: float | Floats) -> float | Floats:
    """The least σ, from above, such that discrete Gaussian noise of parameter σ on a count is μ-GDP."""
    target = np.asarray(mu, np.float64)
    smallest, largest = discrete_gaussian_mu(_LARGEST), discrete_gaussian_mu(_SMALLEST)
    if not ((target >= smallest) & (target <= largest)).all():
        raise ArgumentError(
            f"mu must be from {smallest:.3g} to {largest:.3g} to be met by discrete Gaussian noise, not {shown(mu)}"
        )
    # μ* falls with σ and is close to 1/σ; where that guess does not bracket the answer, the whole range is searched.
    low = np.where(target < 2, np.maximum(_SMALLEST, 0.9 / target), _SMALLEST)
    high = np.where(target < 2, np.minimum(_LARGEST, 2 / target), 2.0)
    low = np.where(discrete_gaussian_mu(low) <= target, _SMALLEST, low)
    high = np.where(discrete_gaussian_mu(high) > target, _LARGEST, high)
    for _ in range(60):
        middle = (low + high) / 2
        met = discrete_gaussian_mu(middle) <= target
        low, high = np.where(met, low, middle), np.where(met, middle, high)
    return float(high) if np.ndim(mu) == 0 else high


def sigma_for_rho(rho: float | Floats) -> Floats:
    """The σ of discrete Gaussian noise that costs ρ of zCDP on a count: 1/√(2ρ), from above."""
    return np.asarray(up(1 / np.sqrt(2 * np.asarray(rho, np.float64))))


def laplace_scale(epsilon: float | Floats) -> Floats:
    """The scale of discrete Laplace noise that costs ε on a count: 1/ε, from above."""
    return np.asarray((1 + RELATIVE) / np.asarray(epsilon, np.float64))


def _others(sigma: Floats) -> Floats:
    """Σ exp(−k²/2σ²) over k ≠ 0."""
    # From σ = 1 on, Poisson summation gives σ√(2π)·(1 + 2·Σ_{k>0} exp(−2π²σ²k²)) for the sum over all k; two terms are
    # enough.
    small = np.minimum(sigma, 1.0)
    direct = 2 * sum(np.exp(-(k * k) / (2 * small * small)) for k in range(1, 10))
    large = np.maximum(sigma, 1.0)
    wave = 1 + 2 * np.exp(-2 * (math.pi * large) ** 2) + 2 * np.exp(-8 * (math.pi * large) ** 2)
    return np.asarray(np.where(sigma <= 1, direct, large * math.sqrt(2 * math.pi) * wave - 1))
