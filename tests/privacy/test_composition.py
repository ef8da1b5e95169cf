"""Tensor products and envelopes against oracles."""

import math

import mpmath as mp
import numpy as np
import pytest

from parcomp.privacy import composition
from parcomp.privacy.composition import compare, lower_convex_envelope, parallel_composition, tensor, tensor_power
from parcomp.privacy.tradeoff import IDENTITY, ApproximateDP, DiscreteGaussian, Envelope, Gaussian, Laplace
from tests.privacy import oracles

ALPHAS = (1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.8)


def test_gaussians_compose_in_closed_form():
    """G_μ ⊗ G_ν = G_√(μ²+ν²), against forty digits."""
    f = tensor([Gaussian(0.3), Gaussian(0.4), IDENTITY, Gaussian(1.2)])
    assert isinstance(f, Gaussian)
    for alpha in ALPHAS:
        assert oracles.sound_and_tight(f(alpha), oracles.gaussian_tradeoff("1.3", alpha), above=False)


@pytest.mark.parametrize(
    "parameters",
    [[(1, 0)] * 2, [(0.5, 0.01)] * 5, [(0.3, 0), (0.7, 1e-3), (1.1, 0)], [(0.1, 1e-6)] * 3 + [(0.25, 0.1), (2, 0)]],
)
def test_approximate_compositions_are_exact(parameters):
    """f_{ε,δ} ⊗ …, written out answer by answer with forty digits."""
    pair = oracles.compose(*(oracles.randomized_response(*one) for one in parameters))
    f = tensor([ApproximateDP(*one) for one in parameters])
    for alpha in ALPHAS:
        assert oracles.sound_and_tight(f(alpha), oracles.tradeoff(pair, alpha), above=False, absolute=1e-14)
    for epsilon in (-1, 0, 0.2, 0.9, 1.7):
        assert oracles.sound_and_tight(f.profile(epsilon), oracles.profile(pair, epsilon), above=True, absolute=1e-12)


def test_many_equal_compositions_are_binomial():
    """f_{ε,0} to the power 200, whose loss is a binomial variable."""
    epsilon, count = mp.mpf("0.05"), 200
    f = tensor_power({ApproximateDP(0.05): count})
    yes = mp.exp(epsilon) / (1 + mp.exp(epsilon))
    terms = [
        (mp.binomial(count, k) * yes**k * (1 - yes) ** (count - k), (2 * k - count) * epsilon) for k in range(count + 1)
    ]
    for at in (0.0, 0.5, 1.0, 3.0):
        exact = sum(mass * (1 - mp.exp(at - loss)) for mass, loss in terms if loss > at)
        assert oracles.sound_and_tight(f.profile(at), exact, above=True)


@pytest.mark.parametrize(("mu", "epsilon", "delta"), [(1, 1, 0), (0.5, 0.3, 1e-3), (2, 0.1, 0)])
def test_gaussian_with_approximate(mu, epsilon, delta):
    """G_μ ⊗ f_{ε,δ} is a mixture of two shifted Gaussian profiles."""
    f = tensor([Gaussian(mu), ApproximateDP(epsilon, delta)])
    yes = mp.exp(epsilon) / (1 + mp.exp(epsilon))
    for at in (0.0, 0.5, 1.0, 2.5, 4.0):
        mixed = yes * oracles.gaussian_profile(mu, at - epsilon) + (1 - yes) * oracles.gaussian_profile(
            mu, at + epsilon
        )
        exact = delta + (1 - mp.mpf(delta)) * mixed
        assert oracles.sound_and_tight(f.profile(at), exact, above=True, relative=2e-4, absolute=1e-9)


def test_laplace_with_laplace():
    """Two Laplace mechanisms: each loss has two atoms and a density between them, whose convolution is integrated."""
    epsilon = 1.0
    f = tensor([Laplace(epsilon), Laplace(epsilon)])
    single = Laplace(epsilon)
    for at in (0.0, 0.4, 1.0, 1.7):
        # Loss ε with mass 1/2, loss −ε with mass e^(−ε)/2, between them density e^((loss − ε)/2)/4.
        outer = [(epsilon, 0.5), (-epsilon, math.exp(-epsilon) / 2)]
        exact = sum(mass * single.profile(at - loss) for loss, mass in outer)
        exact += mp.quad(
            lambda x, at=at: mp.exp((x - epsilon) / 2) / 4 * single.profile(float(at - x)),
            [-epsilon, at - epsilon, epsilon],
        )
        assert f.profile(at) >= exact * (1 - 1e-7)
        assert f.profile(at) == pytest.approx(float(exact), rel=1e-4)


def test_discrete_gaussians_compose():
    """Against all pairs of answers."""
    pair = oracles.discrete_gaussian(1.0, reach=9)
    both = oracles.compose(pair, pair)
    f = tensor([DiscreteGaussian(1.0)] * 2)
    for epsilon in (0.0, 0.7, 2.0):
        assert oracles.sound_and_tight(f.profile(epsilon), oracles.profile(both, epsilon), above=True, absolute=1e-12)


def test_the_grid_is_never_better_than_exact_products(monkeypatch):
    """The same products by the grid: sound, and off by little."""
    factors = [ApproximateDP(0.31, 1e-3), ApproximateDP(0.77), ApproximateDP(0.77), ApproximateDP(0.05)]
    exact = tensor(factors)
    monkeypatch.setattr(composition, "_EXACT_PRODUCTS", 1)
    grid = tensor(factors)
    epsilons = np.linspace(0, 2, 60)
    assert (grid.deltas(epsilons) >= exact.deltas(epsilons) - 1e-9 * exact.deltas(epsilons)).all()
    assert grid.deltas(epsilons) == pytest.approx(exact.deltas(epsilons), abs=3e-4)
    alphas = np.linspace(0, 1, 60)
    assert (grid.values(alphas) <= exact.values(alphas) + 1e-12).all()


def test_the_grid_makes_up_for_what_a_fourier_transform_loses(monkeypatch):
    """f_{ε,0} to the power 1,000 far out, where δ is as small as the rounding of the transform, beside forty digits."""
    monkeypatch.setattr(composition, "_EXACT_PRODUCTS", 1)
    epsilon, count = mp.mpf(0.1), 1_000
    f = tensor_power({ApproximateDP(0.1): count})
    yes = 1 / (1 + mp.exp(-epsilon))
    terms = [
        (mp.binomial(count, k) * yes**k * (1 - yes) ** (count - k), (2 * k - count) * epsilon) for k in range(count + 1)
    ]
    for at in f.support()[::200].tolist():
        exact = sum(mass * (1 - mp.exp(at - loss)) for mass, loss in terms if loss > at)
        assert f.profile(at) >= exact
        # It makes up for it by no more than the product of that many tables would show.
        assert f.profile(at) <= exact * mp.mpf(1.01) + mp.mpf("2e-10")


def test_envelopes_compose_again():
    """A product may be multiplied on: (f ⊗ f) ⊗ f is f ⊗ f ⊗ f."""
    f = ApproximateDP(0.4, 0.01)
    step = tensor([tensor([f, f]), f])
    whole = tensor([f, f, f])
    epsilons = np.linspace(-1, 2, 40)
    assert step.deltas(epsilons) == pytest.approx(whole.deltas(epsilons), rel=1e-7)
    assert (step.deltas(epsilons) >= whole.deltas(epsilons) * (1 - 1e-9)).all()


CROSSING = (ApproximateDP(1.0, 0.0), ApproximateDP(0.2, 0.2))


def test_envelope_of_crossing_functions_is_the_maximum_of_profiles():
    """Two f_{ε,δ} that cross: the profile is the maximum, and f the greatest convex function below both."""
    assert compare(*CROSSING) == "crossing"
    f = lower_convex_envelope(CROSSING)
    for epsilon in np.linspace(-1.5, 1.5, 61):
        exact = max(oracles.profile(oracles.randomized_response(g.epsilon, g.delta), epsilon) for g in CROSSING)
        assert oracles.sound_and_tight(f.profile(epsilon), exact, above=True, absolute=1e-14)
    corners = [(1 - g.delta) / (1 + math.exp(g.epsilon)) for g in CROSSING]
    alphas = np.unique(np.concatenate((np.linspace(0, 1, 4001), corners)))
    below = np.minimum(*(g.values(alphas) for g in CROSSING))
    values = f.values(alphas)
    assert (values <= below + 1e-9).all()
    # The convex hull from below of the pointwise minimum, by a monotone chain.
    hull = []
    for point in zip(alphas, below, strict=True):
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (point[0] - hull[-2][0]) >= (point[1] - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append(point)
    assert values == pytest.approx(np.interp(alphas, *zip(*hull, strict=True)), abs=1e-6)
    # Strictly below the minimum somewhere: the envelope is not the minimum.
    assert (values < below - 1e-3).any()


def test_envelope_of_ordered_functions_is_the_lowest():
    """Corollary of the paper: parallel Gaussians are as bad as the worst of them."""
    assert parallel_composition([Gaussian(0.5), Gaussian(2.0), Gaussian(1.0)]) == Gaussian(2.0)
    assert parallel_composition([ApproximateDP(0.5), ApproximateDP(1.5)]) == ApproximateDP(1.5)
    assert parallel_composition([ApproximateDP(0.5), IDENTITY, ApproximateDP(0.9, 0.1)]) == ApproximateDP(0.9, 0.1)
    assert parallel_composition([]) == IDENTITY


def test_envelope_of_smooth_functions_that_cross():
    """Gaussian and Laplace: never above either, and close to the lower one where they are apart."""
    parts = [Gaussian(1.0), Laplace(1.3)]
    assert compare(*parts) == "crossing"
    f = lower_convex_envelope(parts)
    alphas = np.linspace(0, 1, 400)
    below = np.minimum(*(g.values(alphas) for g in parts))
    assert (f.values(alphas) <= below + 1e-9).all()
    assert f.values(alphas) == pytest.approx(below, abs=0.03)
    epsilons = np.linspace(-2, 4, 200)
    exact = np.maximum(*(g.deltas(epsilons) for g in parts))
    assert (f.deltas(epsilons) >= exact * (1 - 1e-9) - 1e-15).all()
    assert f.deltas(epsilons) == pytest.approx(exact, abs=1e-5)


def test_comparison():
    """Below is the worse guarantee."""
    assert compare(Gaussian(2), Gaussian(1)) == "below"
    assert compare(Gaussian(1), Gaussian(2)) == "above"
    assert compare(ApproximateDP(1), ApproximateDP(1)) == "equal"
    assert compare(ApproximateDP(1), Laplace(1)) == "below"
    assert compare(IDENTITY, Envelope.from_profile(np.array([0.0]), np.array([0.0]))) == "equal"
