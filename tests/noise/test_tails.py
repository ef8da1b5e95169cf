"""Tails of discrete noise against sums of many digits."""

import mpmath as mp
import pytest

from parcomp.noise.tails import tail_up
from tests.noise.exact import rest_of_gaussian, weights

SIGMAS = (0.03, 0.3, 1.0, 3.7, 20.0, 255.9, 256.1, 400.3)
OUT = (0, 0.1, 1, 2, 3, 5, 8)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_gaussian_tails_are_exact_sums_from_above(sigma):
    """Within 2·10⁻¹², relative, and never below; summed and expanded alike."""
    with mp.workdps(40):
        found = weights("discrete-gaussian", sigma, int(20 * sigma) + 20)
        center = 1 - rest_of_gaussian(sigma)
        for times in OUT:
            bound = int(times * sigma)
            exact = 2 * mp.fsum(found[bound + 1 :]) * center
            assert exact <= tail_up("discrete-gaussian", sigma, bound) <= exact * (1 + mp.mpf("2e-12"))


@pytest.mark.parametrize("scale", [0.03, 0.3, 1.0, 3.7, 20.0])
def test_laplace_tails_are_exact_sums_from_above(scale):
    """Within 2·10⁻¹², relative, and never below."""
    with mp.workdps(40):
        found = weights("discrete-laplace", scale, int(130 * scale) + 20)
        total = 2 * mp.fsum(found) - 1
        for times in OUT:
            bound = int(times * scale)
            exact = 2 * mp.fsum(found[bound + 1 :]) / total
            assert exact <= tail_up("discrete-laplace", scale, bound) <= exact * (1 + mp.mpf("2e-12"))
