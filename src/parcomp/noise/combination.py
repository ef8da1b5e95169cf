"""How far a sum of three independent noises of one kind strays: what a variance's interval rests on.

All are taken as continuous.  Gaussian noises of σ₁, σ₂, σ₃ add up to a Gaussian of σ² = σ₁² + σ₂² + σ₃².  For Laplace
noises of different scales b₁, b₂, b₃ the partial fractions of the characteristic function ∏ 1/(1 + bᵢ²t²) give

    P(|sum| > z) = Σ Aᵢ·e^(−z/bᵢ)   and   E|sum| = Σ Aᵢ·bᵢ,   with Aᵢ = ∏_{j≠i} bᵢ²/(bᵢ² − bⱼ²).

Scales that are closer to each other than a hundredth are moved apart, upward: then it seems to stray a little more.
Nothing of this touches privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from parcomp.noise.tails import Floats, NoiseKind

__all__ = ["size_of_sum", "stays_within"]

_APART = 1.01
"""What scales of Laplace noises differ by at least, as a factor."""

_NEXT_TO_NONE = 1e-4
"""A scale below this part of the largest counts as this part, so that no part is lost to rounding."""


def stays_within(
    kind: NoiseKind, scales: Sequence[Floats], distance: Floats, confidence: float
) -> npt.NDArray[np.bool_]:
    """Whether the sum strays further than ``distance`` in more than 1 − ``confidence`` of draws, element by element.

    So the distances for which it does are those within the half-width of this confidence.

    >>> one, none = np.array([10.0]), np.array([0.0])
    >>> [bool(stays_within("discrete-gaussian", [one, none, none], np.array([z]), 0.95)[0]) for z in (19.5, 19.7)]
    [True, False]
    >>> [bool(stays_within("discrete-laplace", [one, none, none], np.array([z]), 0.95)[0]) for z in (29.9, 30.1)]
    [True, False]
    """
    if kind == "discrete-gaussian":
        width = NormalDist().inv_cdf((1 + confidence) / 2)
        return np.asarray(distance <= width * _root_of_squares(scales))
    parts = _moved_apart(scales)
    tails = sum(part * np.exp(-distance / b) for part, b in zip(_parts(parts), parts, strict=True))
    return np.asarray(tails >= 1 - confidence)


def size_of_sum(kind: NoiseKind, scales: Sequence[Floats]) -> Floats:
    """E|sum|, element by element.

    >>> one, none = np.array([10.0]), np.array([0.0])
    >>> [round(float(size_of_sum(kind, [none, one, none])[0]), 2) for kind in ("discrete-laplace", "discrete-gaussian")]
    [10.0, 7.98]
    """
    if kind == "discrete-gaussian":
        return np.asarray(math.sqrt(2 / math.pi) * _root_of_squares(scales))
    parts = _moved_apart(scales)
    return np.asarray(sum(part * b for part, b in zip(_parts(parts), parts, strict=True)))


def _root_of_squares(scales: Sequence[Floats]) -> Floats:
    return np.sqrt(sum(scale * scale for scale in scales))


def _moved_apart(scales: Sequence[Floats]) -> list[Floats]:
    """The scales in order, each a hundredth at least above the one before."""
    ordered = np.sort(np.stack(np.broadcast_arrays(*scales)), axis=0)
    first = np.maximum(ordered[0], _NEXT_TO_NONE * ordered[2])
    second = np.maximum(ordered[1], _APART * first)
    return [first, second, np.maximum(ordered[2], _APART * second)]


def _parts(scales: Sequence[Floats]) -> list[Floats]:
    squares = [scale * scale for scale in scales]
    return [
        math.prod((one / (one - other) for j, other in enumerate(squares) if j != i), start=np.ones_like(one))
        for i, one in enumerate(squares)
    ]
