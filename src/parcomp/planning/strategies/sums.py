"""How far a sum of n noises strays: the error of a query that is answered as a sum of n atoms.

*Discrete Laplace* of scale b.  With c = 1/(cosh(1/b) − 1) one noise has the characteristic function 1/(1 + c·s), where
s = 1 − cos u, and |k| is the mean of (1 − cos ku)/(1 − cos u) over 0 ≤ u ≤ π.  So the error E_n of a sum of n noises
and the probability J_n that it is 0 satisfy

    E_n = E_{n−1} + c·J_n,    J_n = mean of (1 + c·s)^(−n) over 0 ≤ u ≤ π = a^n·P_{n−1}((1 + c)·a),

where a = (1 + 2c)^(−½) and P are Legendre's polynomials (Laplace's integral).  Their recurrence is stable upward.

*Discrete Gaussian* of parameter σ.  A combination of N noises with weights of norm r strays by at most

    σ·r·√(2/π)·(1 + 2·√(N·e/π)),    e = 2·Σ_{k>0} exp(−2π²σ²k²)

in expectation (``docs/proofs/strategies.md``): hardly more than a Gaussian does, from σ = 1 on.  For narrow noise, the
sum of the errors and the root of the sum of the variances, each at most σ², bound it too.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from parcomp.planning.accuracy import noise_of, noise_scales
from parcomp.planning.utility import Floats, expected_error
from parcomp.privacy import Measure
from parcomp.privacy.rounding import up

__all__ = ["combined_error", "errors_of_sums", "laplace_sums"]


def errors_of_sums(measure: Measure, units: int, sizes: npt.NDArray[np.int64]) -> Floats:
    """The expected absolute error of sums of so many noises, each bought for so many additive units; rounded up."""
    scale = _scale(measure, units)
    if noise_of(measure) == "discrete-laplace":
        errors: Floats = up(laplace_sums(scale, int(sizes.max(initial=0))))
        return np.asarray(errors[sizes], np.float64)
    one = float(expected_error("discrete-gaussian", scale))
    spread = scale * np.sqrt(sizes)
    return np.asarray(np.minimum(combined_error(scale, spread, sizes), up(np.minimum(one * sizes, spread))))


@lru_cache(maxsize=1024)
def _scale(measure: Measure, units: int) -> float:
    """That of the noise for so many units, which thousands of parts may have in common."""
    return float(noise_scales(measure, np.array([units]))[0])


def combined_error(sigma: float, spread: Floats, terms: npt.NDArray[np.int64] | int) -> Floats:
    """The expected absolute error of combinations of so many discrete Gaussian noises of one σ; rounded up.

    ``spread`` is σ times the norm of the weights of each combination.
    """
    # The terms from k = 2 on are less than a millionth of the first for σ ≥ ½.  Below, Poisson summation gives
    # e < Σ exp(−k²/2σ²)/(σ·√(2π)), and the sum over all k is less than 1.3.
    wave = 2.000_002 * math.exp(-2 * (math.pi * sigma) ** 2) if sigma >= 0.5 else 0.52 / sigma
    return np.asarray(up(math.sqrt(2 / math.pi) * spread * (1 + 2 * np.sqrt(terms * wave / math.pi))))


def laplace_sums(scale: float, most: int) -> Floats:
    """E|sum of n discrete Laplace noises of a scale| for n from 0 to ``most``.

    >>> laplace_sums(1.0, 3).round(4)
    array([0.    , 0.8509, 1.3672, 1.7463])
    """
    half = math.sinh(min(0.5 / scale, 350.0))
    c = 1 / (2 * half * half)
    square = 1 / (1 + 2 * c)
    before, zero = 1.0, math.sqrt(square)
    errors = [0.0]
    for n in range(1, most + 1):
        errors.append(errors[-1] + c * zero)
        # J_{n+1} from J_n and J_{n−1}; of J_0 the factor is 0.
        following = ((2 * n - 1) * (1 + c) * square * zero - (n - 1) * square * before) / n
        before, zero = zero, following
    return np.array(errors)
