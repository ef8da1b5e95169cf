"""Errors of sums of noises against convolutions and draws."""

import math

import numpy as np
import pytest

from parcomp.planning.accuracy import expected_errors, noise_scales
from parcomp.planning.strategies.sums import combined_error, errors_of_sums, laplace_sums
from parcomp.privacy.measures import GDP, PURE, ZCDP


def error_of_sum(weights, count):
    """E|sum| of so many independent integers of a symmetric distribution, by convolution."""
    total = np.array([1.0])
    for _ in range(count):
        total = np.convolve(total, weights)
    reach = (len(total) - 1) // 2
    return float(np.abs(np.arange(-reach, reach + 1)) @ total)


def distribution(kind, scale):
    reach = math.ceil((45 if kind == "laplace" else 12) * scale) + 2
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / scale if kind == "laplace" else -((k / scale) ** 2) / 2)
    return weights / weights.sum()


@pytest.mark.parametrize("scale", [0.2, 0.7, 1.0, 3.3, 20.0])
def test_sums_of_discrete_laplace_noise(scale):
    errors = laplace_sums(scale, 12)
    for count in (0, 1, 2, 3, 7, 12):
        assert errors[count] == pytest.approx(error_of_sum(distribution("laplace", scale), count), rel=1e-10, abs=1e-12)


def test_many_wide_noises_are_like_continuous_ones():
    """E|sum| of n Laplace noises is 2·Γ(n + ½)/(√π·Γ(n)), also after 100,000 steps of the recurrence."""
    for scale, count in ((1e6, 1), (1e6, 100), (1e5, 100_000)):
        exact = 2 * math.exp(math.lgamma(count + 0.5) - math.lgamma(count)) / math.sqrt(math.pi)
        assert laplace_sums(scale, count)[count] / scale == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("units", [5 * 10**7, 10**8, 4 * 10**8, 10**9, 3 * 10**9])
@pytest.mark.parametrize("measure", [PURE, ZCDP, GDP], ids=["pure", "zcdp", "gdp"])
def test_the_error_of_a_query_is_never_stated_too_low(measure, units):
    """Against convolutions: an upper figure, exact for Laplace noise and within a hundredth for wide Gaussian noise."""
    sizes = np.array([0, 1, 2, 5, 16])
    stated = errors_of_sums(measure, units, sizes)
    scale = float(noise_scales(measure, np.array([units]))[0])
    for size, error in zip(sizes.tolist(), stated.tolist(), strict=True):
        exact = error_of_sum(distribution("laplace" if measure is PURE else "gaussian", scale), size)
        assert exact <= error * (1 + 1e-12)
        assert error <= exact * (1 + (1e-6 if measure is PURE else 0.5 / scale**2 if scale > 1 else 0.7)) + 1e-12
    assert stated[1] >= expected_errors(measure, np.array([units]))[0]


def test_combinations_stray_no_further_than_stated():
    """Weights of any kind on narrow noise, by exact distributions of two and three terms."""
    draw = np.random.default_rng(2)
    for sigma in (0.5, 0.6, 0.8, 1.0, 1.5):
        weights = distribution("gaussian", sigma)
        reach = (len(weights) - 1) // 2
        k = np.arange(-reach, reach + 1)
        for _ in range(5):
            a, b, c = draw.normal(size=3)
            exact = float(
                np.einsum(
                    "i,j,k,ijk->", weights, weights, weights, np.abs(a * k[:, None, None] + b * k[:, None] + c * k)
                )
            )
            assert exact <= combined_error(sigma, np.array([sigma * math.hypot(a, b, c)]), 3)[0]
