"""From one guarantee to another, always in the sound direction.

Every answer is rounded outward by the margin of :mod:`parcomp.privacy.rounding` (10⁻¹⁰, relative) or is at most 10⁻⁹
above the optimum of a one-dimensional search whose every point is valid.

* pure ε → zCDP: ρ = ε²/2 (Bun and Steinke 2016, Proposition 1.4).
* pure ε → Rényi: the divergence of randomized response, which dominates every ε-DP mechanism.
* zCDP ρ → Rényi: α·ρ, by definition.
* GDP μ → Rényi and zCDP: α·μ²/2 and ρ = μ²/2, those of N(0, 1) and N(μ, 1); divergences cannot grow by processing.
* Rényi → (ε, δ): Canonne, Kamath and Steinke 2020, Proposition 12, by ``dp_accounting``.
* zCDP → (ε, δ): the same over all orders; the order is searched, and any order is valid.
* GDP ↔ (ε, δ): exact (Balle and Wang 2018; Dong, Roth and Su 2019, Corollary 2.13).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import erfcx, ndtr

from parcomp.errors import ArgumentError, shown
from parcomp.privacy.rounding import RELATIVE, Floats, least_true, most_true, up

__all__ = [
    "check_delta",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "gdp_to_zcdp",
    "pure_to_renyi",
    "pure_to_zcdp",
    "renyi_delta",
    "renyi_epsilon",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
    "zcdp_to_renyi",
]

_TINY = 1e-307
"""What is positive is never reported as less: below, floats have fewer digits."""
_LARGEST = 1e15
"""No ε beyond this is looked for."""


def pure_to_zcdp(epsilon: float) -> float:
    """The ρ of zCDP that ε of pure differential privacy implies, ε²/2."""
    return _half_square(_checked("epsilon", epsilon))


def gdp_to_zcdp(mu: float) -> float:
    """The ρ of zCDP that μ of Gaussian differential privacy implies, μ²/2."""
    return _half_square(_checked("mu", mu))


def zcdp_to_renyi(rho: float, order: float) -> float:
    """The Rényi divergence of an order that ρ of zCDP allows, α·ρ."""
    return up(_order(order) * _checked("rho", rho))


def pure_to_renyi(epsilon: float, order: float) -> float:
    """The largest Rényi divergence of an order between neighbors under ε of pure differential privacy.

    With x = (α−1)·ε it is log(cosh x + tanh(ε/2)·sinh x) / (α−1), the divergence of randomized response, and never
    above ε.
    """
    x = (_order(order) - 1) * _checked("epsilon", epsilon)
    if x > 500:
        # Only the larger of the two answers counts.
        return up(epsilon - math.log1p(math.exp(-epsilon)) / (order - 1))
    excess = 2 * math.sinh(x / 2) ** 2 + math.tanh(epsilon / 2) * math.sinh(x)
    return min(up(math.log1p(excess) / (order - 1)), up(epsilon))


def renyi_epsilon(orders: Sequence[float], losses: Sequence[float], delta: float) -> tuple[float, float]:
    """The least ε at δ that a Rényi curve proves, and the order that proves it.

    The terms of ε = loss + log(1 − 1/α) − log(δ·α)/(α − 1) cancel where ε is near 0, so the margin is given to what
    goes in: a δ that is lower by 10⁻¹⁰ adds 10⁻¹⁰/(α − 1), and a loss that is higher by as much its own part, which
    are more than the rounding of any term.
    """
    check_delta(delta)
    from dp_accounting.rdp import rdp_privacy_accountant as rdp  # noqa: PLC0415  it takes a second to load

    epsilon, order = rdp.compute_epsilon(list(orders), [up(loss) for loss in losses], delta * (1 - RELATIVE))
    return up(float(epsilon)), float(order)


def renyi_delta(orders: Sequence[float], losses: Sequence[float], epsilon: float) -> tuple[float, float]:
    """The least δ at ε that a Rényi curve proves, and the order that proves it.

    Where losses are small, √(1 − e^(−loss)) is worked out from a float near 1, which may be off by 10⁻¹⁶: as much and
    more is added to the loss.
    """
    from dp_accounting.rdp import rdp_privacy_accountant as rdp  # noqa: PLC0415  it takes a second to load

    raised = [up(loss) + 4e-16 if loss else 0.0 for loss in losses]
    delta, order = rdp.compute_delta(list(orders), raised, _checked("epsilon", epsilon))
    return min(1.0, max(up(float(delta)), _TINY if any(losses) else 0.0)), float(order)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The least ε at δ that ρ of zCDP proves."""
    check_delta(delta)
    if _checked("rho", rho) == 0:
        return 0.0

    def epsilon_at(order: float) -> float:
        return order * rho + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)

    order = _best_order(epsilon_at)
    return renyi_epsilon([1.0, order], [up(rho), up(order * rho)], delta)[0]


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The least δ at ε that ρ of zCDP proves."""
    _checked("epsilon", epsilon)
    if _checked("rho", rho) == 0:
        return 0.0

    def log_delta_at(order: float) -> float:
        return (order - 1) * (order * rho - epsilon + math.log1p(-1 / order)) - math.log(order)

    order = _best_order(log_delta_at)
    return renyi_delta([1.0, order], [up(rho), up(order * rho)], epsilon)[0]


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The greatest ρ of zCDP that is seen to imply (ε, δ), from below: what a budget of (ε, δ) buys."""
    _checked("epsilon", epsilon)
    return _most(lambda rho: zcdp_epsilon(rho, delta) <= epsilon)


def gdp_delta(mu: float, epsilon: float | Floats) -> Floats:
    """The δ at ε (of any sign, one or many) that μ of Gaussian differential privacy allows, exactly but for the margin.

    With x = ε/μ − μ/2 and y = ε/μ + μ/2 it is Φ(−x) − e^ε·Φ(−y).  As y² − x² = 2ε, this is e^(−x²/2)·(erfcx(x/√2) −
    erfcx(y/√2))/2, which does not cancel where δ is small because ε is large.  It does where μ is small: there what
    rounding may take is added.  Let s bound the error of x and y.  It moves erfcx(z) by at most s times its slope,
    which is at most (2/√π)/(1 + z²) for z ≥ 0 and 2/√π + 2·|z|·erfcx(z) below, and e^(−x²/2) by the factor 1 + |x|·s.
    """
    if _checked("mu", mu) == 0:
        return up(np.maximum(0.0, -np.expm1(np.asarray(epsilon, np.float64))))
    losses = np.asarray(epsilon, np.float64)
    # The identity δ(−ε) = 1 − e^(−ε)·(1 − δ(ε)) of a symmetric trade-off function leaves only ε ≥ 0.
    size = np.abs(losses)
    x, y = size / mu - mu / 2, size / mu + mu / 2
    shift = 4e-16 * y
    root = math.sqrt(2)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        left, right = np.maximum(x, -5.0) / root, y / root
        rounding = 8e-16 * (erfcx(left) + erfcx(right)) + shift * (_erfcx_slope(left) + _erfcx_slope(right))
        difference = erfcx(left) - erfcx(right) + rounding
        tail = np.exp(-x * x / 2) / 2 * difference * (1 + 2 * np.abs(x) * shift)
        # Far on the left nothing cancels, while erfcx would overflow.
        center = ndtr(-x) - np.exp(-x * x / 2) * erfcx(y / root) / 2
        delta = np.where(x > -5.0, tail, center)
        delta = np.minimum(1.0, np.maximum(up(delta), _TINY))
        mirrored = np.minimum(1.0, up(-np.expm1(-size) + np.exp(-size) * delta))
        return np.asarray(np.where(losses >= 0, delta, mirrored), np.float64)


def gdp_epsilon(mu: float, delta: float) -> float:
    """The least ε ≥ 0 at δ that μ of Gaussian differential privacy allows."""
    check_delta(delta)
    if _checked("mu", mu) == 0:
        return 0.0
    high = 1.0
    while gdp_delta(mu, high) > delta:
        high *= 2
        if high > _LARGEST:
            return math.inf
    return least_true(lambda epsilon: float(gdp_delta(mu, epsilon)) <= delta, 0.0, high)


def gdp_mu(epsilon: float, delta: float) -> float:
    """The greatest μ of Gaussian differential privacy that implies (ε, δ), from below: what a budget of (ε, δ) buys."""
    _checked("epsilon", epsilon)
    check_delta(delta)
    return _most(lambda mu: float(gdp_delta(mu, epsilon)) <= delta)


def _most(implied: Callable[[float], bool]) -> float:
    """The greatest amount for which what is ``implied`` was seen to hold; it holds for 0 and for less of it."""
    high = 1.0
    while implied(high) and high < _LARGEST:
        high *= 2
    return most_true(implied, 0.0, high)


def _best_order(proven: Callable[[float], float]) -> float:
    """An order at which what it proves is near its least; any order is valid."""
    from scipy.optimize import minimize_scalar  # noqa: PLC0415  few conversions search

    found = minimize_scalar(
        lambda log_order: proven(1.011 + math.exp(log_order)),
        bounds=(-12.0, 40.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return 1.011 + math.exp(found.x)


def _half_square(value: float) -> float:
    """Half of a square, from above."""
    return max(up(value**2 / 2), _TINY if value else 0.0)


def _erfcx_slope(z: Floats) -> Floats:
    """A bound of the absolute derivative of erfcx."""
    steepest = 2 / math.sqrt(math.pi)
    return np.asarray(np.where(z >= 0, steepest / (1 + z * z), steepest + 2 * np.abs(z) * erfcx(z)))


def _checked(name: str, value: float) -> float:
    if not 0 <= value < math.inf:
        raise ArgumentError(f"{name} must be a number of at least 0, not {shown(value)}")
    return value


def _order(order: float) -> float:
    if not 1 < order < math.inf:
        raise ArgumentError(f"a Rényi order must be above 1, not {shown(order)}")
    return order


def check_delta(delta: float) -> float:
    """The number itself, if it can be the δ of a guarantee."""
    if not 0 < delta < 1:
        raise ArgumentError(f"delta must be between 0 and 1, not {shown(delta)}")
    return delta
