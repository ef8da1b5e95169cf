"""The distributions of discrete noise by plain sums in many digits: what the code under test is held against."""

from functools import cache
from itertools import accumulate, repeat
from operator import mul

import mpmath as mp


def weights(kind, scale, reach):
    """P(Y = k)·constant for k = 0 … reach, in the working precision of mpmath."""
    scale = mp.mpf(scale)
    if kind == "discrete-laplace":
        return list(accumulate(repeat(mp.exp(-1 / scale), reach), mul, initial=mp.mpf(1)))
    return [mp.exp(-(mp.mpf(k) ** 2) / (2 * scale**2)) for k in range(reach + 1)]


def reach_of(kind, scale):
    """Beyond this, less than 10⁻³⁰ of the noise is found."""
    return int((75 if kind == "discrete-laplace" else 13) * scale) + 4


@cache
def probabilities(kind, scale):
    """P(Y = k) for k ≥ 0, as far as it matters, with 40 digits."""
    with mp.workdps(40):
        found = weights(kind, scale, reach_of(kind, scale))
        total = 2 * mp.fsum(found) - found[0]
        return [weight / total for weight in found]


def rest_of_gaussian(sigma):
    """1 − P(Y = 0) of a discrete Gaussian, with all its digits where it is tiny."""
    sigma = mp.mpf(sigma)
    if sigma < 3:
        others = 2 * mp.fsum(weights("discrete-gaussian", sigma, 40)[1:])
    else:
        # Poisson summation; the terms left out are below e^(−1400).
        waves = mp.fsum(mp.exp(-2 * (mp.pi * sigma * k) ** 2) for k in range(1, 3))
        others = sigma * mp.sqrt(2 * mp.pi) * (1 + 2 * waves) - 1
    return others / (1 + others)
