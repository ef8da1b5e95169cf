"""Trade-off functions and profiles against oracles: never above the truth, and close to it."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from parcomp.errors import ArgumentError
from parcomp.privacy.conversions import renyi_delta
from parcomp.privacy.tradeoff import (
    IDENTITY,
    ApproximateDP,
    DiscreteGaussian,
    Envelope,
    Gaussian,
    Laplace,
    discrete_laplace,
)
from tests.privacy import oracles

ALPHAS = (0.0, 1e-9, 1e-4, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999)
FUNCTIONS = [
    IDENTITY,
    ApproximateDP(0.7),
    ApproximateDP(1.5, 0.05),
    ApproximateDP(0.0, 0.3),
    Gaussian(0.4),
    Gaussian(3.0),
    Laplace(0.8),
    Laplace(4.0),
    DiscreteGaussian(0.7),
    DiscreteGaussian(5.0),
]


@pytest.mark.parametrize("mu", [0.01, 0.5, 1, 3, 8])
def test_gaussian(mu):
    """G_μ within 10⁻⁸, from below, also in its tail."""
    f = Gaussian(mu)
    for alpha in ALPHAS:
        assert oracles.sound_and_tight(f(alpha), oracles.gaussian_tradeoff(mu, alpha), above=False, relative=1e-8)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0), (1, 0.01), (3, 1e-6), (0, 0.2)])
def test_approximate(epsilon, delta):
    """f_{ε,δ} and its profile, those of randomized response that sometimes tells all."""
    f, pair = ApproximateDP(epsilon, delta), oracles.randomized_response(epsilon, delta)
    for alpha in ALPHAS:
        assert oracles.sound_and_tight(f(alpha), oracles.tradeoff(pair, alpha), above=False, absolute=1e-14)
    for at in (-5, -1, 0, 0.3, 1, 2.9, 5):
        assert oracles.sound_and_tight(f.profile(at), oracles.profile(pair, at), above=True)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_laplace(epsilon):
    """From the densities: a test rejects beyond a threshold t, with α = P(X > t) and β = P(X ≤ t − 1)."""

    def cdf(x):
        return mp.exp(epsilon * mp.mpf(x)) / 2 if x < 0 else 1 - mp.exp(-epsilon * mp.mpf(x)) / 2

    f = Laplace(epsilon)
    for t in (-3.0, -0.5, 0.0, 0.2, 0.5, 0.9, 1.0, 1.5, 6.0):
        assert oracles.sound_and_tight(f(float(1 - cdf(t))), cdf(t - 1), above=False, absolute=1e-14)
    for at in (0.0, 0.3 * epsilon, 0.9 * epsilon, 2 * epsilon):

        def excess(x, at=at):
            return max(0.0, epsilon / 2 * (math.exp(-epsilon * abs(x)) - math.exp(at - epsilon * abs(x - 1))))

        exact = quad(excess, -60 / epsilon, 1, limit=400, points=[0, 0.5])[0]
        assert f.profile(at) == pytest.approx(exact, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_discrete_laplace_is_randomized_response(epsilon):
    """Discrete Laplace noise on a count has exactly the function f_{ε,0}."""
    weights = {k: mp.exp(-epsilon * abs(k)) for k in range(-400, 402)}
    total = sum(weights.values())
    pair = [(weights[k] / total, weights[k - 1] / total) for k in range(-399, 401)]
    f = discrete_laplace(epsilon)
    for alpha in (0.01, 0.2, 0.5, 0.9):
        assert f(alpha) == pytest.approx(float(oracles.tradeoff(pair, alpha)), rel=1e-8)


@pytest.mark.parametrize("sigma", [0.3, 0.5, 1.0, 2.7, 10.0])
def test_discrete_gaussian(sigma):
    """The function and profile of discrete Gaussian noise, from its probabilities."""
    f, pair = DiscreteGaussian(sigma), oracles.discrete_gaussian(sigma)
    for alpha in ALPHAS:
        assert oracles.sound_and_tight(f(alpha), oracles.tradeoff(pair, alpha), above=False, absolute=1e-13)
    for at in (-1.0, 0.0, 0.1 / sigma, 1 / sigma, 3 / sigma):
        assert oracles.sound_and_tight(f.profile(at), oracles.profile(pair, at), above=True, absolute=1e-28)


@pytest.mark.parametrize("f", FUNCTIONS, ids=str)
def test_is_a_trade_off_function(f):
    """Convex, falling, at most 1 − α, and its own inverse where it falls strictly."""
    alphas = np.linspace(0, 1, 501)
    values = f.values(alphas)
    assert (values <= 1 - alphas + 1e-12).all()
    assert (np.diff(values) <= 1e-12).all()
    assert (np.diff(values, 2) >= -1e-9).all()
    for alpha in (0.05, 0.2, 0.4):
        if (beta := f(alpha)) > 1e-3:
            assert f.inverse(beta) == pytest.approx(alpha, abs=1e-6)


@pytest.mark.parametrize("f", FUNCTIONS, ids=str)
def test_profile_and_back(f):
    """Supporting lines at points of the profile lie below f, and those of its support come close."""
    back = Envelope.from_profile(f.support(), f.deltas(f.support()))
    alphas = np.linspace(0, 1, 301)
    assert (back.values(alphas) <= f.values(alphas) * (1 + 1e-9) + 1e-12).all()
    assert back.values(alphas) == pytest.approx(f.values(alphas), abs=2e-5)
    epsilons = np.linspace(-2, 2, 101)
    assert (back.deltas(epsilons) >= f.deltas(epsilons) * (1 - 1e-9) - 1e-12).all()
    assert back.deltas(epsilons) == pytest.approx(f.deltas(epsilons), abs=2e-5)


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1)), min_size=1, max_size=6), st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_an_envelope_is_the_largest_of_its_lines(points, alpha):
    """Also when points are not convex, nothing above a line's value is claimed that no point supports."""
    epsilons, deltas = np.array([e for e, _ in points]), np.array([d for _, d in points])
    order = np.argsort(epsilons)
    kept = np.minimum.accumulate(deltas[order])
    lines = [
        max(1 - d - math.exp(e) * alpha, math.exp(-e) * (1 - d - alpha), 0)
        for e, d in zip(epsilons[order], kept, strict=True)
    ]
    assert Envelope.from_profile(epsilons, deltas)(alpha) <= max(lines) + 1e-12


@pytest.mark.parametrize("f", FUNCTIONS, ids=str)
def test_renyi_bounds_the_profile(f):
    """Divergence and revealed mass together imply a δ that is not below the profile."""
    orders = [1.5, 2.0, 3.0, 5.0, 9.0, 17.0]
    losses = [f.renyi(order) for order in orders]
    assert losses == sorted(losses)
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        implied = renyi_delta(orders, losses, epsilon)[0]
        assert f.revealed + (1 - f.revealed) * implied >= f.profile(epsilon) * (1 - 1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Gaussian(-1),
        lambda: Gaussian(math.nan),
        lambda: ApproximateDP(1, 2),
        lambda: Laplace(math.inf),
        lambda: DiscreteGaussian(0),
        lambda: Gaussian(1)(1.5),
        lambda: Envelope.from_profile(np.array([-1.0]), np.array([0.5])),
    ],
)
def test_bad_parameters_are_errors(call):
    """Each is told what is possible."""
    with pytest.raises(ArgumentError, match=r"must be|needs"):
        call()
