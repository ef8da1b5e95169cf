"""Discrete Gaussian noise booked as μ-GDP, against its own trade-off function."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtri_exp

from parcomp.errors import ArgumentError
from parcomp.privacy.mechanisms import discrete_gaussian_mu, laplace_scale, sigma_for_mu, sigma_for_rho
from parcomp.privacy.tradeoff import DiscreteGaussian, Gaussian

SIGMAS = (0.5, 0.6, 0.75, 0.9, 1.0, 1.3, 2.0, 3.3, 5.0, 7.5, 10.0, 20.0, 50.0, 100.0)


def _quantile(tail):
    """The z with P(N > z) = tail, from scipy's guess by Newton's method in many digits."""
    z = -mp.mpf(float(ndtri_exp(float(mp.log(tail)))))
    for _ in range(6):
        density = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
        z += (mp.erfc(z / mp.sqrt(2)) / 2 - tail) / density
    return z


def _steps(sigma, until):
    """Φ⁻¹(F(k)) − Φ⁻¹(F(k − 1)) for k = 0, 1, …: the μ that each corner of the trade-off function asks for."""
    reach = until + int(40 * sigma) + 40
    weights = [mp.exp(-(mp.mpf(k) ** 2) / (2 * mp.mpf(sigma) ** 2)) for k in range(reach)]
    total = weights[0] + 2 * sum(weights[1:])
    tails = [mp.mpf(0)]
    for weight in reversed(weights[1:]):
        tails.append(tails[-1] + weight / total)
    tails.reverse()
    edges = [_quantile(tails[k]) for k in range(until)]
    return [2 * edges[0], *(b - a for a, b in pairwise(edges))]


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_largest_step_is_at_the_center(sigma):
    """Exhaustively to 8σ: no corner asks for more than μ*, the center asks for all of it, and steps fall from there."""
    with mp.workdps(30):
        steps = _steps(sigma, int(8 * sigma) + 4)
        booked = mp.mpf(discrete_gaussian_mu(sigma))
        assert 0 <= booked - steps[0] <= 1e-9 * steps[0]
        assert max(steps) == steps[0]
        assert all(b <= a for a, b in pairwise(steps))
        # None of them is as small as 1/σ: booking that would understate the loss.
        assert min(steps) > 1 / mp.mpf(sigma)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_its_trade_off_function_lies_above_the_gaussian_booked(sigma):
    """At every corner of the function, within 12σ; a μ that is 10⁻⁶ smaller fails at the center."""
    steps = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
    weights = np.exp(-((steps / sigma) ** 2) / 2)
    # α = P(X ≥ k) and β = P(X ≤ k − 2) for k ≥ 1, α summed from its small end; the other half is the mirror image.
    positive = slice(len(steps) // 2 + 1, None)
    alphas = (np.cumsum(weights[::-1])[::-1] / weights.sum())[positive]
    betas = (np.cumsum(weights) / weights.sum())[len(steps) // 2 - 1 : -2]
    mu = discrete_gaussian_mu(sigma)
    assert (Gaussian(mu).values(alphas) <= betas * (1 + 1e-9)).all()
    assert (Gaussian(mu * (1 - 1e-6)).values(alphas) > betas * (1 + 1e-9)).any()
    assert (Gaussian(1 / sigma).values(alphas) > betas * (1 + 1e-9)).any()
    grid = np.linspace(0, 1, 300)
    assert (DiscreteGaussian(sigma).values(grid) >= Gaussian(mu).values(grid) * (1 - 1e-9) - 1e-13).all()


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.01, 0.1, 0.5, 1.0, 1.9, 2.0, 3.0, 10.0, 30.0])
def test_sigma_for_mu_is_enough_and_hardly_more(mu):
    """μ*(σ) ≤ μ, within 10⁻⁸."""
    sigma = sigma_for_mu(mu)
    assert discrete_gaussian_mu(sigma) <= mu
    assert discrete_gaussian_mu(sigma * (1 - 1e-8)) > mu


def test_many_at_once():
    """Arrays give what numbers give."""
    mus = np.array([0.01, 0.5, 2.0, 5.0])
    assert sigma_for_mu(mus).tolist() == [sigma_for_mu(mu) for mu in mus.tolist()]


def test_the_series_meet_at_one():
    """The direct sum and Poisson's agree where one takes over from the other."""
    assert discrete_gaussian_mu(1.0) == pytest.approx(discrete_gaussian_mu(np.nextafter(1.0, 2)), rel=1e-14)


def test_scales_of_the_other_mechanisms():
    """1/√(2ρ) and 1/ε, from above."""
    assert 1.0 <= sigma_for_rho(0.5) <= 1 + 1e-9
    assert 10.0 <= laplace_scale(0.1) <= 10 * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan, 1e3])
def test_impossible_mu_is_an_error(mu):
    """The range is named."""
    with pytest.raises(ArgumentError, match="must be from"):
        sigma_for_mu(mu)
