"""Trade-off functions (paper §2.3, after Dong, Roth and Su 2019).

f(α) is the least type II error of a test that tells two neighboring tables apart with type I error α.  All functions
here are *symmetric*, f = f⁻¹, as adding and removing a row are treated alike, and each says two things, both rounded
to the sound side:

* ``values(alphas)``: lower bounds of f;
* ``deltas(epsilons)``: upper bounds of its privacy profile δ(ε) = sup_α 1 − f(α) − e^ε·α, the least δ at which (ε,
  δ)-DP holds.

The two determine each other: f(α) = sup over ε ≥ 0 of max(1 − δ(ε) − e^ε·α, e^(−ε)·(1 − δ(ε) − α)), so points (ε,
δ(ε)) of a profile are supporting lines of f, and *any* set of them is a valid lower bound.  This is what
:class:`Envelope` holds, and why the lower convex envelope is the maximum of profiles.  Where a function is
not known in closed form, its *loss distribution* (:class:`Atoms`) leads to the profile.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr, ndtri

from parcomp.errors import ArgumentError, shown
from parcomp.privacy.atoms import Atoms, discrete_gaussian_atoms
from parcomp.privacy.conversions import gdp_delta, pure_to_renyi
from parcomp.privacy.rounding import RELATIVE, Floats, up

__all__ = [
    "IDENTITY",
    "ApproximateDP",
    "DiscreteGaussian",
    "Envelope",
    "Gaussian",
    "Laplace",
    "TradeOff",
    "discrete_laplace",
]

_ROUNDING = 1e-15
"""What a difference of numbers in [0, 1] may be off by."""


class TradeOff(ABC):
    """A symmetric trade-off function."""

    def __call__(self, alpha: float) -> float:
        """The least type II error at a type I error, from below."""
        return float(self.values(np.array([alpha]))[0])

    def inverse(self, beta: float) -> float:
        """The least type I error at a type II error, from below: f itself, as f is symmetric."""
        return self(beta)

    def profile(self, epsilon: float) -> float:
        """The least δ at ε, from above."""
        return float(self.deltas(np.array([epsilon]))[0])

    def values(self, alphas: Floats) -> Floats:
        """Lower bounds of f, for type I errors in [0, 1]."""
        if not ((alphas >= 0) & (alphas <= 1)).all():
            raise ArgumentError("a type I error must be between 0 and 1")
        return np.clip(self._values(alphas), 0.0, 1.0) * (1 - RELATIVE)

    def deltas(self, epsilons: Floats) -> Floats:
        """Upper bounds of the privacy profile, for ε of either sign.

        For a symmetric function δ(−ε) = 1 − e^(−ε)·(1 − δ(ε)).
        """
        size = np.abs(epsilons)
        deltas = np.minimum(1.0, self._deltas(size))
        negative = -np.expm1(-size) + np.exp(-size) * deltas
        return np.where(epsilons >= 0, deltas, np.minimum(1.0, up(negative)))

    @abstractmethod
    def _values(self, alphas: Floats) -> Floats:
        """The values but for rounding, which ``values`` makes up for."""

    @abstractmethod
    def _deltas(self, epsilons: Floats) -> Floats:
        """Upper bounds of the privacy profile, for ε ≥ 0."""

    @abstractmethod
    def support(self) -> Floats:
        """Ascending ε ≥ 0 whose supporting lines describe f: all of them if they are finitely many, else a grid."""

    @abstractmethod
    def renyi(self, order: float) -> float:
        """The Rényi divergence of an order, from above, apart from the mass ``revealed``."""

    @property
    def revealed(self) -> float:
        """The probability with which everything is revealed: δ(∞) = 1 − f(0)."""
        return 0.0

    def atoms(self) -> Atoms | None:
        """The loss distribution, if it is finite and small enough to be written out."""
        return None


@dataclass(frozen=True, slots=True)
class ApproximateDP(TradeOff):
    """f_{ε,δ}(α) = max(0, 1 − δ − e^ε·α, e^(−ε)·(1 − δ − α)): the weakest function that (ε, δ)-DP allows.

    >>> round(ApproximateDP(math.log(3), 0.1)(0.1), 9), ApproximateDP(1, 0.1)(0.95)
    (0.6, 0.0)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _check("epsilon", self.epsilon)
        if not 0 <= self.delta <= 1:
            raise ArgumentError(f"delta must be between 0 and 1, not {shown(self.delta)}")

    def _values(self, alphas: Floats) -> Floats:
        return _from_lines(np.array([self.epsilon]), np.array([self.delta]), alphas)

    def _deltas(self, epsilons: Floats) -> Floats:
        """δ + (1 − δ)·(e^ε₀ − e^ε)/(e^ε₀ + 1) for ε ≤ ε₀."""
        pure = np.maximum(0.0, -np.expm1(epsilons - self.epsilon)) / (1 + math.exp(-self.epsilon))
        return up(self.delta + (1 - self.delta) * pure)

    def support(self) -> Floats:
        """The one supporting line."""
        return np.array([self.epsilon])

    def renyi(self, order: float) -> float:
        """The divergence of the pure part."""
        return pure_to_renyi(self.epsilon, order)

    @property
    def revealed(self) -> float:
        """The δ itself: f_{ε,δ} is f_{ε,0} ⊗ f_{0,δ}."""
        return self.delta

    def atoms(self) -> Atoms:
        """Randomized response, and with probability δ everything."""
        odds = math.exp(-self.epsilon)
        kept = (1 - self.delta) / (1 + odds)
        return Atoms(np.array([-self.epsilon, self.epsilon]), np.array([kept * odds, kept]), self.delta)


def discrete_laplace(epsilon: float) -> ApproximateDP:
    """The trade-off function of discrete Laplace noise of scale 1/ε on a count: exactly f_{ε,0}.

    With P(k) ∝ e^(−ε|k|) the likelihood ratio of P(k) to P(k − 1) is e^ε for k ≤ 0 and e^(−ε) for k ≥ 1: it takes
    two values only, as that of randomized response.
    """
    return ApproximateDP(epsilon)


@dataclass(frozen=True, slots=True)
class Gaussian(TradeOff):
    """G_μ(α) = Φ(Φ⁻¹(1 − α) − μ): telling N(0, 1) from N(μ, 1)."""

    mu: float

    def __post_init__(self) -> None:
        _check("mu", self.mu)

    def _values(self, alphas: Floats) -> Floats:
        return np.asarray(ndtr(-ndtri(alphas) - self.mu))

    def _deltas(self, epsilons: Floats) -> Floats:
        return gdp_delta(self.mu, epsilons)

    def support(self) -> Floats:
        """A grid over all losses that occur with a probability above 10⁻³⁰."""
        return np.linspace(0.0, self.mu * (self.mu / 2 + 12), 2001)

    def renyi(self, order: float) -> float:
        """α·μ²/2."""
        return up(order * self.mu**2 / 2)


@dataclass(frozen=True, slots=True)
class Laplace(TradeOff):
    """Laplace noise of scale 1/ε on a count (Dong, Roth and Su 2019): above f_{ε,0} between its two straight ends."""

    epsilon: float

    def __post_init__(self) -> None:
        _check("epsilon", self.epsilon)

    def _values(self, alphas: Floats) -> Floats:
        """1 − e^ε·α, then e^(−ε)/(4α), then e^(−ε)·(1 − α)."""
        odds = math.exp(-self.epsilon)
        left = np.minimum(alphas, odds / 2)
        middle = np.clip(alphas, max(odds / 2, 1e-300), 0.5)
        return np.where(
            alphas > 0.5, odds * (1 - alphas), np.where(alphas < odds / 2, 1 - left / odds, odds / 4 / middle)
        )

    def _deltas(self, epsilons: Floats) -> Floats:
        """1 − e^((ε − ε₀)/2) for ε ≤ ε₀."""
        return up(np.maximum(0.0, -np.expm1((epsilons - self.epsilon) / 2)))

    def support(self) -> Floats:
        """A grid over all losses."""
        return np.linspace(0.0, self.epsilon, 2001)

    def renyi(self, order: float) -> float:
        """The divergence of two Laplace distributions (Mironov 2017, Proposition 6)."""
        x = (order - 1) * self.epsilon
        share, rest = order / (2 * order - 1), (order - 1) / (2 * order - 1)
        if x > 500:
            return up(self.epsilon + math.log(share) / (order - 1))
        # Near ε = 0 the two terms cancel; what is lost is at most a few units in the last place of each.
        grown, shrunk = share * math.expm1(x), -rest * math.expm1(-order * self.epsilon)
        excess = grown - shrunk + 2e-15 * (grown + shrunk)
        return min(up(math.log1p(max(excess, 0.0)) / (order - 1)), up(self.epsilon))


@dataclass(frozen=True, slots=True)
class Envelope(TradeOff):
    """The function above all lines that points (ε, δ) of a profile support: valid for any points with δ ≥ δ(ε).

    Points are kept by ascending ε ≥ 0; between them the profile is the chord in e^ε, as profiles are convex there.
    """

    epsilons: Floats = field(repr=False)
    points: Floats = field(repr=False)
    """δ at each of the ``epsilons``."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @classmethod
    def from_profile(cls, epsilons: Floats, deltas: Floats) -> Envelope:
        """From points of a profile in any order; of a symmetric function those with ε < 0 say nothing more."""
        chosen = np.flatnonzero((epsilons >= 0) & (epsilons < 700))
        order = chosen[np.argsort(epsilons[chosen], kind="stable")]
        if not len(order):
            raise ArgumentError("a profile needs a point with an epsilon of at least 0")
        kept = epsilons[order]
        # δ falls as ε grows, so a point is bettered by any before it.
        points = np.minimum.accumulate(np.clip(deltas[order], 0.0, 1.0))
        # Of points whose slopes a float cannot tell apart, the last one is as good as all.
        last = np.concatenate((np.diff(np.exp(kept)) > 0, [True]))
        return cls(kept[last], points[last])

    def _values(self, alphas: Floats) -> Floats:
        return _from_lines(self.epsilons, self.points, alphas)

    def _deltas(self, epsilons: Floats) -> Floats:
        # Below the first point the chord starts from the bound that (ε, δ)-DP gives at 0.
        first_epsilon, first_delta = float(self.epsilons[0]), float(self.points[0])
        at_zero = float(ApproximateDP(first_epsilon, first_delta).profile(0.0))
        nodes, points = np.concatenate(([0.0], self.epsilons)), np.concatenate(([at_zero], self.points))
        after = np.minimum(np.searchsorted(nodes, epsilons, side="right"), len(nodes) - 1)
        before = after - 1
        # As parts of the two ends, so that nothing cancels where the right one is by far the smaller.
        ended = epsilons >= nodes[after]
        share = np.expm1(np.minimum(epsilons - nodes[after], 0.0)) / np.where(
            ended, 1.0, np.expm1(nodes[before] - nodes[after])
        )
        chord = points[after] + share * np.maximum(points[before] - points[after], 0.0)
        return np.asarray(up(chord))

    def support(self) -> Floats:
        """The points it was made of."""
        return self.epsilons

    @property
    def revealed(self) -> float:
        """The δ that is left at the last point."""
        return float(self.points[-1])

    def renyi(self, order: float) -> float:
        """The divergence of the loss distribution that belongs to the points."""
        return self.atoms().renyi(order)

    def atoms(self) -> Atoms:
        """The loss distribution on ±ε of the points whose profile passes through them (Doroshenko et al. 2022)."""
        positive = self.epsilons if self.epsilons[0] == 0 else np.concatenate(([0.0], self.epsilons))
        losses = np.concatenate((-positive[:0:-1], positive))
        return Atoms.from_profile(losses, self.deltas(losses))


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(TradeOff):
    """Discrete Gaussian noise of parameter σ on a count: P(k) ∝ e^(−k²/2σ²).

    Its loss at k is (1 − 2k)/2σ².  It is *not* (1/σ)-GDP; see :func:`parcomp.privacy.mechanisms.discrete_gaussian_mu`.
    """

    sigma: float

    def __post_init__(self) -> None:
        if not 0.01 <= self.sigma <= 1e5:
            raise ArgumentError(
                f"the sigma of a discrete Gaussian must be from 0.01 to 100000, not {shown(self.sigma)}"
            )

    def atoms(self) -> Atoms:
        """The loss distribution; what is beyond 12σ counts as revealed."""
        return discrete_gaussian_atoms(self.sigma)

    def support(self) -> Floats:
        """The losses that are not negative."""
        return self.atoms().support()

    def _deltas(self, epsilons: Floats) -> Floats:
        return self.atoms().deltas(epsilons)

    def _values(self, alphas: Floats) -> Floats:
        atoms = self.atoms()
        epsilons = atoms.support()
        return _from_lines(epsilons, atoms.deltas(epsilons), alphas)

    def renyi(self, order: float) -> float:
        """α/2σ² (Canonne, Kamath and Steinke 2020, Theorem 4)."""
        return up(order / (2 * self.sigma**2))


def _from_lines(epsilons: Floats, deltas: Floats, alphas: Floats) -> Floats:
    """The largest of both supporting lines of each point (ε, δ), ε ascending, at each α.

    Which line is the largest is found by bisection on their crossings; should rounding point to a neighbor of it, that
    line is a lower bound as well.
    """
    slopes = np.exp(epsilons)
    gained = 1 - deltas
    # Line i beats line i + 1 at α above the crossing (δᵢ − δᵢ₊₁)/(e^εᵢ₊₁ − e^εᵢ); crossings fall with i.
    crossings = np.maximum.accumulate(((deltas[:-1] - deltas[1:]) / np.diff(slopes))[::-1])
    steep = len(epsilons) - 1 - np.searchsorted(crossings, alphas, side="right")
    first = gained[steep] - slopes[steep] * alphas - _ROUNDING
    # The mirrored lines e^(−ε)·(1 − δ − α) are those of the inverse: line i + 1 is the larger one from the value at
    # the crossing on.
    ends = np.maximum.accumulate((gained[:-1] - slopes[:-1] * crossings[::-1]) if len(crossings) else crossings)
    flat = np.searchsorted(ends, alphas, side="right")
    second = (gained[flat] - alphas - _ROUNDING) / slopes[flat]
    return np.maximum(first, second)


def _check(name: str, value: float) -> None:
    if not 0 <= value <= 700:
        raise ArgumentError(f"{name} must be between 0 and 700, not {shown(value)}")


IDENTITY = ApproximateDP(0.0)
"""Id(α) = 1 − α: nothing is disclosed."""
