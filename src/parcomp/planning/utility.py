"""How far answers are off: expected errors, the utility gain and the average l1 error (paper §3.3).

A count is off by the noise alone, so the expected absolute error of an answer is E|Y|, a number of the mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from parcomp.errors import ArgumentError, shown

__all__ = [
    "NOISES",
    "Floats",
    "Noise",
    "average_error",
    "expected_error",
    "utility_gain",
    "utility_gain_simple",
]

Noise: TypeAlias = Literal["laplace", "discrete-laplace", "gaussian", "discrete-gaussian"]
NOISES: Final[tuple[Noise, ...]] = get_args(Noise)

Floats = npt.NDArray[np.float64]

_SUMMED: Final = 16.0
"""Up to this σ the sums of a discrete Gaussian are summed; beyond, their expansions hold to all digits of a float."""


def expected_error(noise: Noise, scale: float | Floats) -> Floats:
    """E|Y| of noise of a scale: b of a (discrete) Laplace, σ of a (discrete) Gaussian.

    Laplace: b.  Discrete Laplace, P(k) ∝ e^(−|k|/b): 1/sinh(1/b).  Gaussian: σ·√(2/π).  Discrete Gaussian:
    Σ|k|·e^(−k²/2σ²) / Σ e^(−k²/2σ²).

    >>> float(expected_error("laplace", 2.0)), round(float(expected_error("discrete-gaussian", 10.0)), 4)
    (2.0, 7.9722)
    """
    scales = np.asarray(scale, np.float64)
    if not (scales > 0).all() or not np.isfinite(scales).all():
        raise ArgumentError("the scale of noise must be a positive number")
    match _checked(noise):
        case "laplace":
            return scales
        case "discrete-laplace":
            return np.asarray(1 / np.sinh(np.minimum(1 / scales, 700.0)), np.float64)
        case "gaussian":
            return scales * math.sqrt(2 / math.pi)
        case _:
            return _discrete_gaussian_error(scales)


def average_error(errors: Floats) -> float:
    """The average l1 error of a workload in expectation: the mean of its answers' expected errors."""
    return float(np.mean(errors)) if len(errors) else 0.0


def utility_gain(errors: Floats, members: Collection[int]) -> float:
    """The paper's utility gain (Eq. "util"): 1 − Σ E|Y_i| over a maximum overlap / Σ E|Y_i| over all queries.

    ``members`` are the positions of the queries of a maximum overlap.
    """
    total = float(np.sum(errors))
    return 1 - float(np.sum(errors[np.array(sorted(members), np.int64)])) / total if total else 0.0


def utility_gain_simple(gamma: float, queries: int) -> float:
    """The utility gain where all queries cost the same, 1 − γ/t.

    >>> utility_gain_simple(70, 100)
    0.30000000000000004
    """
    if not 0 <= gamma <= queries:
        raise ArgumentError(f"a maximum overlap of {shown(gamma)} does not fit {shown(queries)} queries")
    return 1 - gamma / queries if queries else 0.0


def _checked(noise: Noise) -> Noise:
    if noise not in NOISES:
        raise ArgumentError(f"unknown noise {shown(noise)}; there are {', '.join(NOISES)}")
    return noise


def _discrete_gaussian_error(sigma: Floats) -> Floats:
    k = np.arange(1, math.ceil(12 * _SUMMED))
    small = np.minimum(sigma, _SUMMED)
    weights = np.exp(-((k / small[..., None]) ** 2) / 2)
    summed = 2 * (k * weights).sum(axis=-1) / (1 + 2 * weights.sum(axis=-1))
    # Σ k·e^(−k²/2σ²) by Euler and Maclaurin, and Σ e^(−k²/2σ²) = σ·√(2π) by Poisson, both to all digits of a float.
    large = np.maximum(sigma, _SUMMED)
    expanded = 2 * (large**2 - 1 / 12 - 1 / (240 * large**2) - 1 / (2016 * large**4)) / (large * math.sqrt(2 * math.pi))
    return np.asarray(np.where(sigma <= _SUMMED, summed, expanded), np.float64)
