"""Conversions against oracles, always on the sound side."""

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcomp.errors import ArgumentError
from parcomp.privacy import conversions as convert
from tests.privacy import oracles


@pytest.mark.parametrize("mu", [3.2e-5, 1e-3, 0.01, 0.1, 0.5, 1, 2, 5, 11, 30])
def test_gdp_profile_is_exact_from_above(mu):
    """Within 10⁻⁸ of forty digits, for ε of either sign and down to δ = 10⁻³⁰⁰."""
    for epsilon in (-20, -3, -1, -0.01, 0, 1e-4, 0.01, 0.1, 1, 3, 10, 50, 200):
        exact = oracles.gaussian_profile(mu, epsilon)
        if exact > 1e-300:
            assert oracles.sound_and_tight(float(convert.gdp_delta(mu, epsilon)), exact, above=True, relative=1e-8)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1, 4])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3])
def test_gdp_epsilon_and_back(mu, delta):
    """The ε is enough and hardly more than needed; the μ it buys is the one it came from."""
    epsilon = convert.gdp_epsilon(mu, delta)
    assert oracles.gaussian_profile(mu, epsilon) <= delta
    if epsilon:
        assert oracles.gaussian_profile(mu, epsilon * (1 - 1e-7)) > delta
        back = convert.gdp_mu(epsilon, delta)
        assert oracles.gaussian_profile(back, epsilon) <= delta
        assert back == pytest.approx(mu, rel=1e-7)


@given(st.floats(1e-4, 20), st.floats(1.01, 200))
@settings(max_examples=60, deadline=None)
def test_pure_to_renyi_is_randomized_response(epsilon, order):
    """The divergence of randomized response, from above, and never above ε."""
    pair = oracles.randomized_response(epsilon)
    exact = mp.log(sum(p ** mp.mpf(order) * q ** (1 - mp.mpf(order)) for p, q in pair)) / (mp.mpf(order) - 1)
    assert oracles.sound_and_tight(convert.pure_to_renyi(epsilon, order), exact, above=True, relative=1e-8)


@pytest.mark.parametrize(("epsilon", "rho"), [(1, 0.5), (0.1, 0.005)])
def test_pure_to_zcdp(epsilon, rho):
    """ρ = ε²/2; and randomized response stays below it at every order."""
    assert rho <= convert.pure_to_zcdp(epsilon) <= rho * (1 + 1e-9)
    assert all(
        convert.pure_to_renyi(epsilon, order) <= convert.pure_to_zcdp(epsilon) * order * (1 + 1e-9)
        for order in (1.01, 2, 50)
    )


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 20])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_zcdp_covers_the_gaussian_mechanism(rho, delta):
    """Gaussian noise with μ² = 2ρ has ρ-zCDP: its exact ε is not undercut, and ρ + 2√(ρ·ln(1/δ)) not exceeded."""
    epsilon = convert.zcdp_epsilon(rho, delta)
    assert convert.gdp_epsilon(math.sqrt(2 * rho), delta) <= epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert convert.zcdp_delta(rho, epsilon) == pytest.approx(delta, rel=1e-4)


def test_zcdp_takes_the_best_order():
    """No order of a fine grid proves less."""
    for rho, delta in ((0.001, 1e-6), (0.5, 1e-6), (3, 1e-10)):
        grid = [1.02 + 1.02**k / 100 for k in range(1200)]
        best = convert.renyi_epsilon(grid, [order * rho for order in grid], delta)[0]
        assert convert.zcdp_epsilon(rho, delta) <= best * (1 + 1e-8)


def test_renyi_to_delta_and_epsilon_agree():
    """A curve's ε at δ has that δ at it."""
    orders = [1.5, 2.0, 4.0, 8.0, 16.0]
    losses = [order * 0.1 for order in orders]
    epsilon, order = convert.renyi_epsilon(orders, losses, 1e-5)
    assert order in orders
    assert convert.renyi_delta(orders, losses, epsilon)[0] == pytest.approx(1e-5, rel=1e-6)
    assert convert.zcdp_to_renyi(0.1, 2.0) == pytest.approx(0.2)
    assert convert.gdp_to_zcdp(2.0) == pytest.approx(2.0)


def test_nothing_disclosed_stays_nothing():
    """Zero of one measure is zero of the others."""
    assert convert.zcdp_epsilon(0, 1e-6) == convert.zcdp_delta(0, 1) == convert.gdp_epsilon(0, 1e-6) == 0
    assert float(convert.gdp_delta(0, 0.5)) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: convert.gdp_delta(-1, 1),
        lambda: convert.gdp_epsilon(1, 0),
        lambda: convert.gdp_epsilon(math.nan, 0.1),
        lambda: convert.zcdp_epsilon(1, 1),
        lambda: convert.pure_to_renyi(1, 1),
        lambda: convert.renyi_delta([2.0], [1.0], -1),
    ],
)
def test_bad_parameters_are_errors(call):
    """Each is told what is possible."""
    with pytest.raises(ArgumentError, match="must be"):
        call()
