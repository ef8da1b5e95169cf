"""How far discrete noise strays: its tails from above, and its variance.

Discrete Laplace noise of scale b has P(k) ∝ e^(−|k|/b), so with q = e^(−1/b) its tail P(|Y| > r) is 2·q^(r+1)/(1 + q)
and its variance 2·q/(1 − q)².  Discrete Gaussian noise of parameter σ has P(k) ∝ e^(−k²/2σ²), which has no closed form:
up to ``_SUMMED`` it is summed, beyond it is expanded about the integral.  Tails serve to state how good an answer is;
no privacy hangs on them.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

__all__ = ["NOISE_KINDS", "Floats", "NoiseKind", "chances", "one_sided_tails", "tail_up", "variance"]

Floats = npt.NDArray[np.float64]

NoiseKind: TypeAlias = Literal["discrete-laplace", "discrete-gaussian"]
NOISE_KINDS: Final[tuple[NoiseKind, ...]] = get_args(NoiseKind)

_SUMMED: Final = 256.0
"""Up to this σ sums are summed; beyond, the expansion holds to 13 digits as far out as 9σ."""

_REACH: Final = 12
"""Sums go on for so many σ, where terms have fallen to e^(−72) of the first."""

_MARGIN: Final = 1e-12
"""More than the relative error of a tail that is computed in floats."""


def tail_up(kind: NoiseKind, scale: float, bound: int) -> float:
    """P(|noise| > bound), rounded up by 10⁻¹².

    >>> round(tail_up("discrete-laplace", 10.0, 29), 4), round(tail_up("discrete-gaussian", 10.0, 19), 4)
    (0.0523, 0.0511)
    """
    if kind == "discrete-laplace":
        tail = 2 * math.exp(-(bound + 1) / scale) / (1 + math.exp(-1 / scale))
    elif scale <= _SUMMED:
        tail = _summed_tail(scale, bound)
    else:
        tail = _expanded_tail(scale, bound)
    return tail * (1 + _MARGIN)


def variance(kind: NoiseKind, scale: float) -> float:
    """The variance of the noise.

    >>> round(variance("discrete-gaussian", 20.0), 4), round(variance("discrete-laplace", 1.0), 4)
    (400.0, 1.8413)
    """
    if kind == "discrete-laplace":
        return 0.5 / math.sinh(0.5 / scale) ** 2
    if scale > _SUMMED:
        # By Poisson summation it differs from σ² by a factor of 1 − O(σ²·e^(−2π²σ²)).
        return scale * scale
    k = np.arange(1, math.ceil(_REACH * scale) + 2)
    weights = np.exp(-((k / scale) ** 2) / 2)
    return float(2 * (k * k * weights).sum() / (1 + 2 * weights.sum()))


def chances(kind: NoiseKind, scale: float) -> tuple[Floats, Floats]:
    """The values that noise has but in one draw of 10¹², and the probability of each; for scales that can be listed."""
    reach = math.ceil((28 if kind == "discrete-laplace" else 7.5) * scale) + 1
    values = np.arange(-reach, reach + 1, dtype=np.float64)
    bare = np.exp(-np.abs(values) / scale) if kind == "discrete-laplace" else np.exp(-((values / scale) ** 2) / 2)
    return values, bare / bare.sum()


def one_sided_tails(kind: NoiseKind, scale: float, bounds: Floats) -> Floats:
    """P(noise > k) for each of some whole k ≥ 0, to about ten digits."""
    if kind == "discrete-laplace":
        return np.asarray(np.exp(-(bounds + 1) / scale) / (1 + math.exp(-1 / scale)))
    if scale <= _SUMMED:
        _, probabilities = chances(kind, scale)
        tails = np.cumsum(probabilities[::-1])[: len(probabilities) // 2][::-1]
        return np.where(bounds < len(tails), tails[np.minimum(bounds, len(tails) - 1).astype(np.int64)], 0.0)
    from scipy.special import erfc  # noqa: PLC0415  slow to import, and only wide Gaussian noise needs it

    return np.asarray(erfc((bounds + 0.5) / (math.sqrt(2) * scale)) / 2)


def _summed_tail(sigma: float, bound: int) -> float:
    k = np.arange(math.ceil(_REACH * sigma) + 2)
    outside = np.exp(-(((k + bound + 1) / sigma) ** 2) / 2).sum()
    return float(2 * outside / (2 * np.exp(-((k / sigma) ** 2) / 2).sum() - 1))


def _expanded_tail(sigma: float, bound: int) -> float:
    # Euler and Maclaurin at midpoints: with a = r + ½, the sum of f over k > r is its integral from a on, plus 1/24 of
    # the first derivative at a, less 7/5760 of the third.  The sum over all k is σ·√(2π), to all digits of a float.
    t = (bound + 0.5) / sigma
    terms = -t / (24 * sigma) - 7 * (3 * t - t**3) / (5760 * sigma**3)
    return math.erfc(t / math.sqrt(2)) + math.sqrt(2 / math.pi) / sigma * math.exp(-t * t / 2) * terms
