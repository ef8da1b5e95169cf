"""How far a sum of different noises with weights strays, from above: what the intervals of derived answers rest on.

X = Σ_j a_j·(the sum of n_j noises of scale s_j), all independent and of one kind.

*Worked out.*  Where all weights are multiples of a step, X is a whole number of steps.  Its distribution, wrapped
around M whole numbers, is the Fourier transform of the product of the noises' characteristic functions at M points.
These are, at u = k·2π·(whole number)/M for noise of the whole weight k,

    Laplace:   1/(1 + (sin(u/2)/sinh(1/2s))²)
    Gaussian:  Σ_m exp(−s²(u − 2πm)²/2) / Σ_m exp(−s²(2πm)²/2)    (Poisson summation).

Wrapping only raises probabilities, so it hides no more of the tail than what lies beyond M/2, which is bounded.

*Rounded weights.*  Where the step is so fine that M would be too large, weights are rounded to a coarser one, and
X = X' + E, where E has the small weights that are left: P(|X| > r + e) ≤ P(|X'| > r) + P(|E| > e).

*Bounded.*  Laplace, by Chernoff, for each λ with λ·a_j·s_j < 1:

    P(|X| ≥ r) ≤ 2·exp(−λr)·∏_j M_j(λ·a_j)^(n_j),  M(λ) = (1 − q)²/((1 − q·e^λ)·(1 − q·e^(−λ))),  q = e^(−1/s).

Gaussian: sums are sub-Gaussian, P(|X| > r) ≤ 2·exp(−r²/2V) with V = Σ n_j·a_j²·s_j².  And as in
:mod:`parcomp.noise.sum_tails`, for different s_j: add a Gaussian of variance τ² to each noise.  The density of the sum
of all is at most ∏_j (1 + e_j)^(n_j) times that of a Gaussian of variance Σ n_j·a_j²·(s_j² + τ²), and what was added
has the variance τ²·Σ n_j·a_j².
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from parcomp.noise.mechanism import Mechanism
from parcomp.noise.tails import Floats, NoiseKind, chances, variance

__all__ = ["Spread", "Term", "spread_of_sum"]

Term: TypeAlias = tuple[Fraction, float, int]
"""The weight, above 0, of so many noises of a scale."""

_ROUNDING: Final = 1e-9
"""By which half-widths are raised, and tails taken for larger, for the rounding of floats."""

_BEYOND: Final = 1e-12
"""The probability of what may lie beyond the points of a transform."""

_MOST_WORK: Final = 1 << 20
"""The most points of a transform times terms: some 30 ms."""

_LEFT: Final = 0.02
"""Which part of what may lie outside is left to what rounding leaves of weights."""

_THETAS: Final = np.concatenate((np.geomspace(1e-4, 0.05, 60), np.linspace(0.06, 0.99, 60)))
"""The parameters that Chernoff's bound is tried with, as parts of the largest."""

_ADDED: Final = (0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 6.0)
_KAPPAS: Final = (2.5, 3.0, 3.5, 4.0, 5.0, 6.0)
"""The τ and κ that are tried: narrow noise takes small ones, wide noise any."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a sum strays: it stays within ``half_width`` with the probability that was asked for, at least.

    ``expected_error`` is about its mean absolute value, and ``exact`` whether both were worked out and not bounded.
    """

    half_width: float
    expected_error: float
    exact: bool


def spread_of_sum(kind: NoiseKind, terms: Iterable[Term], confidence: float = 0.95, *, exact: bool = True) -> Spread:
    """How far a sum of noises with weights strays; the order of terms and the signs of weights do not matter.

    Without ``exact``, of the weights of Gaussian noises only the sum of their squares is known, and it is bounded.

    >>> spread_of_sum("discrete-laplace", [(Fraction(1), 1.0, 2)]).half_width
    4.0
    >>> spread_of_sum("discrete-gaussian", [(Fraction(1), 10.0, 1), (Fraction(-1), 10.0, 1)]).half_width < 28.2
    True
    """
    counts: dict[tuple[Fraction, float], int] = {}
    for weight, scale, count in terms:
        if weight and count:
            counts[abs(weight), scale] = counts.get((abs(weight), scale), 0) + count
    sorted_terms = tuple(sorted((*key, count) for key, count in counts.items()))
    if not exact:
        return _bounded(kind, sorted_terms, 1 - confidence)
    return _spread(kind, sorted_terms, confidence)


@lru_cache(maxsize=4096)
def _spread(kind: NoiseKind, terms: tuple[Term, ...], confidence: float) -> Spread:
    if not terms:
        return Spread(0.0, 0.0, True)
    if len(terms) == 1 and terms[0][2] == 1:
        weight, scale, _ = terms[0]
        alone = Mechanism(kind, scale)
        return Spread(_up(alone.half_width(confidence) * weight), alone.expected_error * float(weight), True)
    outside = 1 - confidence
    exact = _step_of(terms)
    far = _bound(kind, terms, _BEYOND)
    if outside > 4 * _ROUNDING:
        if _points(far, exact) * len(terms) <= _MOST_WORK:
            return Spread(*_transformed(kind, terms, exact, outside, far), True)
        rounded = _rounded(kind, terms, outside, far)
        if rounded is not None and rounded.half_width <= _bound(kind, terms, outside):
            return rounded
    return _bounded(kind, terms, outside)


def _bounded(kind: NoiseKind, terms: tuple[Term, ...], outside: float) -> Spread:
    squares = sum(count * float(weight) ** 2 * variance(kind, scale) for weight, scale, count in terms)
    return Spread(_bound(kind, terms, outside), math.sqrt(2 / math.pi * squares), False)


def _step_of(terms: tuple[Term, ...]) -> Fraction:
    """The largest number of which all weights are multiples."""
    denominator = math.lcm(*(weight.denominator for weight, _, _ in terms))
    return Fraction(math.gcd(*(int(weight * denominator) for weight, _, _ in terms)), denominator)


def _points(far: float, step: Fraction) -> int:
    """How many points a transform takes whose half reaches so far."""
    return 1 << math.ceil(math.log2(2 * far / float(step) + 2))


def _rounded(kind: NoiseKind, terms: tuple[Term, ...], outside: float, far: float) -> Spread | None:
    """The same with weights that are rounded to a coarser step; None if nothing would be left of them."""
    step = Fraction(2) ** math.ceil(math.log2(4 * far * len(terms) / _MOST_WORK))
    near = [round(weight / step) * step for weight, _, _ in terms]
    kept = tuple((one, scale, count) for one, (_, scale, count) in zip(near, terms, strict=True) if one)
    left = tuple((abs(w - one), scale, count) for one, (w, scale, count) in zip(near, terms, strict=True) if w != one)
    if not kept:
        return None
    reach = _bound(kind, kept, _BEYOND)
    width, error = _transformed(kind, kept, step, outside * (1 - _LEFT), reach)
    return Spread((width + _bound(kind, left, outside * _LEFT)) * (1 + _ROUNDING), error, False)


def _transformed(
    kind: NoiseKind, terms: tuple[Term, ...], step: Fraction, outside: float, far: float
) -> tuple[float, float]:
    """Half-width and mean absolute value of a sum whose weights are multiples of a step."""
    points = _points(far, step)
    places = np.arange(points // 2 + 1)
    exponent = np.zeros(len(places))
    for weight, scale, count in terms:
        turned = np.asarray(places * (int(weight / step) % points) % points, np.float64)
        exponent += count * _log_characteristic(kind, scale, turned * (2 * math.pi / points))
    wrapped = np.fft.irfft(np.exp(exponent), points)[: points // 2]
    wrapped[1:] *= 2
    within = int(np.searchsorted(np.cumsum(wrapped), 1 - outside + _ROUNDING))
    return _up(within * step), float(wrapped @ places[:-1]) * float(step)


def _log_characteristic(kind: NoiseKind, scale: float, angles: Floats) -> Floats:
    """The logarithm of E cos(u·noise) at angles from 0 to 2π."""
    if kind == "discrete-laplace":
        half = math.sinh(min(0.5 / scale, 350.0))
        return np.asarray(-np.log1p((np.sin(angles / 2) / half) ** 2))
    waves = np.zeros(len(angles))
    if scale < 1:
        values, probabilities = chances(kind, scale)
        for value, probability in zip(values.tolist(), probabilities.tolist(), strict=True):
            waves += probability * np.cos(value * angles)
        # It is above 0 for every angle; where it is next to 0, a rounded sum need not be.
        return np.asarray(np.log(np.maximum(waves, 1e-300)))
    whole = 0.0
    with np.errstate(under="ignore", divide="ignore"):
        for turn in range(-2, 4):
            waves += np.exp(-((scale * (angles - 2 * math.pi * turn)) ** 2) / 2)
            whole += math.exp(-((scale * 2 * math.pi * turn) ** 2) / 2)
        return np.asarray(np.log(waves / whole))


def _bound(kind: NoiseKind, terms: tuple[Term, ...], outside: float) -> float:
    """Sums are further from 0 than this with probability ``outside`` at most."""
    if not terms:
        return 0.0
    return _gaussian_bound(terms, outside) if kind == "discrete-gaussian" else _chernoff(terms, outside)


def _gaussian_bound(terms: tuple[Term, ...], outside: float) -> float:
    from scipy.special import ndtri  # noqa: PLC0415  slow to import, and only sums of Gaussian noise need it

    squares = np.array([count * float(weight) ** 2 for weight, _, count in terms])
    sigmas, counts = np.array([scale for _, scale, _ in terms]), np.array([count for _, _, count in terms])
    best = math.sqrt(2 * math.log(2 / outside) * float(squares @ sigmas**2))
    for added in _ADDED:
        v = (sigmas * added) ** 2 / (sigmas**2 + added**2)
        # The terms from k = 2 on are less than the first one's thousandth for v ≥ 0.12; narrower noise is left out.
        if v.min() < 0.12:
            continue
        wave = float(np.log1p(2.002 * np.exp(-2 * math.pi**2 * v)) @ counts)
        wide, own = math.sqrt(float(squares @ (sigmas**2 + added**2))), added * math.sqrt(float(squares.sum()))
        for kappa in _KAPPAS:
            tail = outside * math.erf(kappa / math.sqrt(2)) * math.exp(-wave)
            if tail > 0:
                best = min(best, -float(ndtri(tail / 2)) * wide + kappa * own)
    return best * (1 + _ROUNDING)


def _chernoff(terms: tuple[Term, ...], outside: float) -> float:
    """The least over some parameters."""
    rates = _THETAS * min(1 / (scale * float(weight)) for weight, scale, _ in terms)
    grown: Floats | float = 0.0
    for weight, scale, count in terms:
        grown = grown + count * _log_moment(scale, rates * float(weight))
    return float(((grown + math.log(2 / outside)) / rates).min()) * (1 + _ROUNDING)


def _log_moment(scale: float, rates: Floats) -> Floats:
    """The logarithm of E e^(λY) of discrete Laplace noise, for λ below 1/scale."""
    q = math.exp(-1 / scale)
    return np.asarray(
        2 * math.log(-math.expm1(-1 / scale)) - np.log(-np.expm1(rates - 1 / scale)) - np.log1p(-q * np.exp(-rates))
    )


def _up(width: Fraction) -> float:
    shown = float(width)
    return shown if Fraction(shown) >= width else math.nextafter(shown, math.inf)
