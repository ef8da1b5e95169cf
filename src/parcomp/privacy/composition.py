"""Composition of trade-off functions: tensor product, lower convex envelope, comparison (paper §2.3, §2.4).

*Tensor product.*  Answers that one row can enter add their losses.  Gaussians compose in closed form, finite loss
distributions are convolved exactly while they stay small, and all else goes to a grid by pessimistic rounding and is
convolved by ``dp_accounting``.  The result is a lower bound of the true function in every case.

*Lower convex envelope.*  Answers about disjoint parts of the domain: the profile is the maximum of their profiles.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final, Literal, TypeAlias

import numpy as np
from dp_accounting.pld import pld_pmf

from parcomp.privacy.atoms import Atoms
from parcomp.privacy.rounding import Floats, up
from parcomp.privacy.tradeoff import IDENTITY, ApproximateDP, Envelope, Gaussian, Laplace, TradeOff

__all__ = ["Comparison", "compare", "lower_convex_envelope", "parallel_composition", "tensor", "tensor_power"]

Comparison: TypeAlias = Literal["equal", "below", "above", "crossing"]

_EXACT_PRODUCTS: Final = 1 << 21
"""Finite loss distributions are convolved exactly up to this many products of atoms."""

_STEPS: Final = 200
"""Steps of the loss grid across the largest loss of the gentlest factor; its chords are off by the step squared."""

_GRID_POINTS: Final = 60_000
"""The most points that the grid of a whole product may have; beyond that its step is widened."""

_ENVELOPE_POINTS: Final = 20_000
"""The most corners that an envelope is taken at; any choice of them is valid."""

_TRUNCATED: Final = 1e-15
"""Mass that one convolution on the grid may move to ∞."""

_CONVOLVED: Final = 1e-13
"""What a δ may lose by one Fourier transform: some 10⁻¹⁶ in each of 10⁵ points, at random signs, with a margin."""


def tensor(factors: Iterable[TradeOff]) -> TradeOff:
    """The tensor product of trade-off functions, from below."""
    return tensor_power(Counter(factors))


def tensor_power(counts: Mapping[TradeOff, int]) -> TradeOff:
    """The tensor product of trade-off functions, each taken as often as ``counts`` says, from below."""
    gaussian = _gaussian_product({f.mu: count for f, count in counts.items() if isinstance(f, Gaussian)})
    others = {f: count for f, count in counts.items() if count and not isinstance(f, Gaussian) and f != IDENTITY}
    if not others:
        return Gaussian(gaussian) if gaussian else IDENTITY
    if not gaussian and len(others) == 1 and next(iter(others.values())) == 1:
        return next(iter(others))
    if not gaussian and (atoms := _exact(others)) is not None:
        epsilons = atoms.support()
        return Envelope.from_profile(epsilons, atoms.deltas(epsilons))
    factors = {**others, Gaussian(gaussian): 1} if gaussian else others
    return _on_grid(factors)


def lower_convex_envelope(functions: Iterable[TradeOff]) -> TradeOff:
    """The greatest convex function below all the given ones, from below: its profile is the maximum of theirs."""
    # Within a family the larger parameter is the lower function.
    lowest: dict[object, tuple[float, TradeOff]] = {}
    for f in functions:
        family, parameter = _family(f)
        if family not in lowest or parameter > lowest[family][0]:
            lowest[family] = parameter, f
    least = [f for _, f in lowest.values()]
    if len(least) == 1:
        return least[0]
    if not least:
        return IDENTITY
    corners = np.unique(np.concatenate([np.zeros(1), *(f.support() for f in least)]))
    thinned = len(corners) > _ENVELOPE_POINTS
    epsilons = corners[np.linspace(0, len(corners) - 1, _ENVELOPE_POINTS).astype(np.int64)] if thinned else corners
    profiles = np.array([f.deltas(epsilons) for f in least])
    # Between corners the profiles of finite functions are straight in e^ε; smooth ones could still cross there.
    if not thinned and all(f.atoms() is not None for f in least):
        for f, profile in zip(least, profiles, strict=True):
            if (profile >= profiles.max(axis=0)).all():
                return f
    everywhere = np.unique(np.concatenate((epsilons, _crossings(epsilons, profiles))))
    return Envelope.from_profile(everywhere, np.max([f.deltas(everywhere) for f in least], axis=0))


def parallel_composition(functions: Iterable[TradeOff]) -> TradeOff:
    """The guarantee of mechanisms that read disjoint parts of the domain (paper, "Parallel composition in f-DP").

    Neighbors differ by the addition or removal of one row.  The row lies in at most one part, so only that part's
    mechanism changes.
    """
    return lower_convex_envelope(functions)


def compare(first: TradeOff, second: TradeOff, tolerance: float = 1e-9) -> Comparison:
    """Where ``first`` lies relative to ``second``: "below" is the worse guarantee, at every type I error.

    Profiles are compared at the corners of both, up to the tolerance: f ≤ g everywhere if and only if δ_f ≥ δ_g
    everywhere.
    """
    epsilons = np.unique(np.concatenate((np.zeros(1), first.support(), second.support())))
    difference = first.deltas(epsilons) - second.deltas(epsilons)
    worse, better = bool((difference > tolerance).any()), bool((difference < -tolerance).any())
    if worse and better:
        return "crossing"
    return "below" if worse else "above" if better else "equal"


def _gaussian_product(counts: Mapping[float, int]) -> float:
    """The μ of a product of Gaussians, √Σ μ², from above; that of a single one is its own."""
    present = {mu: count for mu, count in counts.items() if count and mu}
    if len(present) == 1 and 1 in present.values():
        return next(iter(present))
    largest = max(present, default=0.0)
    # As fractions of the largest, so that no square is too small for a float.
    return up(largest * math.sqrt(math.fsum(count * (mu / largest) ** 2 for mu, count in present.items())))


def _exact(counts: Mapping[TradeOff, int]) -> Atoms | None:
    product: Atoms | None = None
    for f, count in counts.items():
        atoms = f.atoms()
        power = None if atoms is None else atoms.power(count, _EXACT_PRODUCTS)
        if power is None or (product is not None and len(product) * len(power) > _EXACT_PRODUCTS):
            return None
        product = power if product is None else product.compose(power)
    return product


def _on_grid(counts: Mapping[TradeOff, int]) -> Envelope:
    """The tensor product by loss distributions on a common grid."""
    largest = {f: float(f.support()[-1]) for f in counts}
    # Where the summed loss lies: its mean is at most a Rényi divergence, and it strays by some multiples of the root
    # of Σ largest².
    spread = math.sqrt(sum(count * largest[f] ** 2 for f, count in counts.items()))
    mean = sum(count * f.renyi(1.1) for f, count in counts.items())
    reach = min(mean + 9 * spread, sum(count * largest[f] for f, count in counts.items()), 690.0)
    step = max(min(largest.values()) / _STEPS, 2 * reach / _GRID_POINTS)
    pmfs = []
    for f, count in counts.items():
        pmf = _grid_pmf(f, step)
        pmfs.append(pmf if count == 1 else pmf.self_compose(count, _TRUNCATED))
    composed = reduce(lambda one, other: pld_pmf.compose_pmfs(one, other, _TRUNCATED), pmfs)
    lost = _CONVOLVED * sum(counts.values())
    epsilons = np.concatenate((np.linspace(0, reach, 8001), np.geomspace(step, max(reach, 2 * step), 400)))
    epsilons = np.unique(np.ceil(epsilons / step) * step)
    return Envelope.from_profile(epsilons, np.asarray(composed.get_delta_for_epsilon(epsilons)) + lost)


def _grid_pmf(f: TradeOff, step: float) -> pld_pmf.PLDPmf:
    """A loss distribution on multiples of ``step`` whose profile, made of chords, is never below that of f."""
    last = math.ceil(float(f.support()[-1]) / step)
    losses = np.arange(-last, last + 1)
    deltas = np.minimum.accumulate(f.deltas((losses * step).astype(np.float64)))
    return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -last, last, deltas)


def _family(f: TradeOff) -> tuple[object, float]:
    """A family of functions that one parameter orders, and the parameter; any other function is one by itself."""
    match f:
        case Gaussian():
            return Gaussian, f.mu
        case Laplace():
            return Laplace, f.epsilon
        case ApproximateDP():
            return ("delta", f.delta), f.epsilon
        case _:
            return f, 0.0


def _crossings(epsilons: Floats, profiles: Floats) -> Floats:
    """The ε between neighboring points at which the largest profile changes, by chords in e^ε."""
    nodes = np.expm1(epsilons)
    largest = profiles.argmax(axis=0)
    at = np.flatnonzero(largest[:-1] != largest[1:])
    before, after = largest[at], largest[at + 1]
    left = profiles[before, at] - profiles[after, at]
    right = profiles[after, at + 1] - profiles[before, at + 1]
    share = left / np.maximum(left + right, 1e-300)
    return np.asarray(np.log1p(nodes[at] + share * (nodes[at + 1] - nodes[at])), np.float64)
