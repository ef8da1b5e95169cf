"""Every number that bounds a loss is on the sound side of fifty digits, also where formulas cancel or underflow."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import CostError
from parcomp.privacy import f_gamma
from parcomp.privacy.approximate import approximate_loss
from parcomp.privacy.atoms import Atoms
from parcomp.privacy.clt import central_limit
from parcomp.privacy.composition import tensor, tensor_power
from parcomp.privacy.conversions import (
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    gdp_to_zcdp,
    pure_to_renyi,
    pure_to_zcdp,
    renyi_delta,
    renyi_epsilon,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_to_renyi,
)
from parcomp.privacy.loss import privacy_loss
from parcomp.privacy.renyi import renyi_loss
from parcomp.privacy.tradeoff import IDENTITY, ApproximateDP, Envelope, Gaussian, Laplace
from tests.privacy import oracles

DOMAIN = pc.Domain({"sex": pc.Categorical(["F", "M"])})


@pytest.fixture(autouse=True)
def digits():
    """Enough of them for what is left after cancellation."""
    with mp.workdps(80):
        yield


def spread(draw, low, high):
    """A number with a uniform logarithm."""
    return float(10.0 ** draw.uniform(low, high))


def test_products_of_gaussians_are_rounded_up():
    """√Σ μ² of random factors, some of them too small to be squared; one factor is itself."""
    draw = np.random.default_rng(1)
    for _ in range(300):
        factors = {Gaussian(spread(draw, -8, 1)): int(draw.integers(1, 1000)) for _ in range(int(draw.integers(1, 6)))}
        exact = mp.sqrt(sum(count * mp.mpf(f.mu) ** 2 for f, count in factors.items()))
        assert oracles.sound_and_tight(tensor_power(factors).mu, exact, above=True, relative=3e-10)
    for mu in (0.1, 1e-200, 650.0, 1 / 3):
        assert tensor([Gaussian(mu), IDENTITY]) == Gaussian(mu)
        assert tensor_power({Gaussian(mu): 1, Gaussian(0.3): 0}) == Gaussian(mu)
    assert mp.mpf(tensor([Gaussian(1e-200)] * 2).mu) >= mp.sqrt(2) * mp.mpf(1e-200)
    assert tensor([Gaussian(0.0)] * 2) == IDENTITY


def test_the_profile_of_a_gaussian_is_rounded_up():
    """From μ = 10⁻¹², where the two terms nearly cancel, to 10⁶, where x is the difference of large numbers."""
    draw = np.random.default_rng(2)
    for _ in range(400):
        mu = spread(draw, -12, 6)
        epsilon = max(0.0, mu * (mu / 2 + draw.uniform(-6, 9))) if draw.random() < 0.8 else spread(draw, -12, 3)
        exact = oracles.gaussian_profile(mu, epsilon)
        reported = mp.mpf(float(gdp_delta(mu, epsilon)))
        assert reported >= exact
        if exact > mp.mpf("1e-250"):
            assert reported <= exact * (1 + mp.mpf("2e-10") + mp.mpf("1e-12") / mu + mp.mpf("1e-13") * mu)
    for epsilon in (-3.0, -0.3, -1e-9, -1e-300):
        assert mp.mpf(float(gdp_delta(0.0, epsilon))) >= 1 - mp.exp(mp.mpf(epsilon))


def test_budgets_and_losses_of_gaussian_privacy():
    """The ε of a loss is large enough, and the μ of a budget small enough, by the exact profile."""
    draw = np.random.default_rng(3)
    for _ in range(60):
        mu, delta = spread(draw, -7, 3), spread(draw, -12, -1)
        assert oracles.gaussian_profile(mu, gdp_epsilon(mu, delta)) <= mp.mpf(delta)
        epsilon = spread(draw, -6, 2)
        bought = gdp_mu(epsilon, delta)
        assert bought > 0
        assert oracles.gaussian_profile(bought, epsilon) <= mp.mpf(delta)
    assert gdp_epsilon(1e9, 1e-6) == math.inf


def test_conversions_are_rounded_up():
    """ε²/2, μ²/2, α·ρ and the divergence of randomized response, down to numbers whose square is 0 in a float."""
    draw = np.random.default_rng(4)
    for _ in range(300):
        amount, order = spread(draw, -9, 2.5), 1 + spread(draw, -3, 4)
        half = mp.mpf(amount) ** 2 / 2
        assert oracles.sound_and_tight(pure_to_zcdp(amount), half, above=True, relative=1e-9)
        assert oracles.sound_and_tight(gdp_to_zcdp(amount), half, above=True, relative=1e-9)
        linear = mp.mpf(order) * mp.mpf(amount)
        assert oracles.sound_and_tight(zcdp_to_renyi(amount, order), linear, above=True, relative=1e-9)
        answers = oracles.randomized_response(mp.mpf(amount))
        moment = sum(p ** mp.mpf(order) * q ** (1 - mp.mpf(order)) for p, q in answers)
        divergence = mp.log(moment) / (mp.mpf(order) - 1)
        assert oracles.sound_and_tight(pure_to_renyi(amount, order), divergence, above=True, relative=1e-8)
    assert pure_to_zcdp(1e-200) > 0
    assert gdp_to_zcdp(1e-200) > 0


def proven_delta(order, loss, epsilon):
    """The δ that one Rényi divergence proves (Canonne, Kamath and Steinke 2020, Proposition 12; Bretagnolle, Huber)."""
    order, loss, epsilon = mp.mpf(order), mp.mpf(loss), mp.mpf(epsilon)
    log_delta = (order - 1) * (loss - epsilon + mp.log1p(-1 / order)) - mp.log(order)
    return min(mp.exp(log_delta), mp.sqrt(-mp.expm1(-loss)))


def test_what_a_divergence_proves_is_rounded_up():
    """The δ at random orders and losses, also losses that are lost beside 1; and the ε, also where it is near 0."""
    draw = np.random.default_rng(5)
    for _ in range(400):
        order, loss = 1.02 + spread(draw, -2, 3), spread(draw, -17, 2)
        epsilon = float(max(0.0, loss + draw.uniform(-1, 40) / (order - 1))) if draw.random() < 0.7 else 0.0
        exact = proven_delta(order, loss, epsilon)
        delta, _ = renyi_delta([order], [loss], epsilon)
        assert min(exact, 1) <= mp.mpf(delta) <= exact * (1 + mp.mpf("1e-9") * order * (1 + loss)) + 3e-8
        for wanted in (spread(draw, -14, -1), float(min(exact, 0.9)), float(min(exact * 1.0000001, 0.9))):
            enough, _ = renyi_epsilon([order], [loss], wanted)
            assert proven_delta(order, loss, enough) <= mp.mpf(wanted)


def test_what_zcdp_proves_is_rounded_up():
    """No δ and no ε below what the whole curve proves: each is one that some order proves, in many digits."""
    draw = np.random.default_rng(6)
    for _ in range(12):
        rho = spread(draw, -15, 1.5)
        assert mp.mpf(zcdp_delta(rho, 0.0)) ** 2 >= min(-mp.expm1(-mp.mpf(rho)), _best_squared(rho, 0.0))
        delta = spread(draw, -12, -2)
        epsilon = zcdp_epsilon(rho, delta)
        assert _best_squared(rho, epsilon) <= mp.mpf(delta) ** 2 or -mp.expm1(-mp.mpf(rho)) <= mp.mpf(delta) ** 2


def _best_squared(rho, epsilon):
    """The square of the least δ over orders from 1.011 on, from below by the width of a fine grid."""
    rho, epsilon = mp.mpf(rho), mp.mpf(epsilon)
    best = mp.inf

    def log_delta(order):
        return (order - 1) * (order * rho - epsilon + mp.log1p(-1 / order)) - mp.log(order)

    low, high = mp.mpf(-12), mp.mpf(40)
    for _ in range(140):
        third = (high - low) / 3
        one, other = low + third, high - third
        values = log_delta(mp.mpf("1.011") + mp.exp(one)), log_delta(mp.mpf("1.011") + mp.exp(other))
        best = min(best, *values)
        low, high = (low, other) if values[0] < values[1] else (one, high)
    return mp.exp(2 * best)


def test_divergences_of_laplace_noise_are_rounded_up():
    """Also for small ε and orders near 1, where the two terms cancel."""
    draw = np.random.default_rng(7)
    for _ in range(500):
        epsilon, order = spread(draw, -7, 2), 1 + spread(draw, -3, 3)
        size, alpha = mp.mpf(epsilon), mp.mpf(order)
        moment = alpha / (2 * alpha - 1) * mp.exp((alpha - 1) * size) + (alpha - 1) / (2 * alpha - 1) * mp.exp(
            -alpha * size
        )
        exact = mp.log(moment) / (alpha - 1)
        reported = mp.mpf(Laplace(epsilon).renyi(order))
        assert exact <= reported <= exact * (1 + mp.mpf("1e-9")) + mp.mpf("1e-14") * size


def test_between_the_points_of_a_profile_nothing_is_lost():
    """The chord in e^ε, beside a left end that is larger by many digits."""
    draw = np.random.default_rng(8)
    for _ in range(100):
        epsilons = np.sort(draw.uniform(0, 30, 6))
        points = np.sort(10.0 ** draw.uniform(-40, -0.1, 6))[::-1].copy()
        f = Envelope.from_profile(epsilons, points)
        for index in range(5):
            gap = epsilons[index + 1] - epsilons[index]
            for at in (epsilons[index + 1] - gap * spread(draw, -13, -1), epsilons[index + 1]):
                left, right, here = (mp.exp(mp.mpf(float(e))) for e in (epsilons[index], epsilons[index + 1], at))
                share = (right - here) / (right - left)
                exact = share * mp.mpf(float(points[index])) + (1 - share) * mp.mpf(float(points[index + 1]))
                assert oracles.sound_and_tight(f.profile(float(at)), exact, above=True, relative=1e-9)


def test_losses_of_workloads_above_the_digits_of_a_float():
    """Seven statements on all rows, whose costs add up to more units than a float can hold."""
    draw = np.random.default_rng(9)
    for _ in range(60):
        units = draw.integers(2**50, 2**58, 7)
        workload = pc.Workload(DOMAIN, [DOMAIN.query()] * 7)
        exact = Fraction(int(sum(units.tolist())), 10**9)
        for kind, measure in (("epsilon", "pure"), ("rho", "zcdp"), ("weight", "gdp")):
            answer = privacy_loss(workload.with_costs(units, kind), measure)
            power = 2 if measure == "gdp" else 1
            for shown in (answer.loss, answer.sequential):
                assert Fraction(shown) ** power >= exact
        overlap = pc.max_overlap(workload.with_costs(units, "weight"))
        assert Fraction(overlap.lower) <= exact <= Fraction(overlap.upper)
        assert Fraction(overlap.total) >= exact
        assert Fraction(pc.chromatic_number(workload.with_costs(units, "weight")).upper) >= exact
        basic = approximate_loss(workload.with_costs(units, "epsilon"), "0.001")
        assert Fraction(basic.epsilon) >= exact
        assert Fraction(basic.sequential_epsilon) >= exact
        by_order = renyi_loss(workload.with_costs(units // 2**10, "rho"), orders=[2.0, 8.0])
        for order, loss, lower in zip(by_order.orders, by_order.losses, by_order.lower, strict=True):
            total = order * Fraction(int(sum((units // 2**10).tolist())), 10**9)
            assert total <= Fraction(loss)
            assert Fraction(lower) <= Fraction(loss)


def test_the_central_limit_refuses_squares_that_do_not_fit():
    """A message instead of a number that wrapped around."""
    workload = pc.Workload(DOMAIN, [DOMAIN.query()]).with_costs(np.array([3 * 10**18]), "epsilon")
    with pytest.raises(CostError, match="too large to be added up"):
        central_limit(workload)


def test_real_costs_become_units_that_are_not_below_them():
    """Two thousand Gaussians of 1.9 units of 2⁻⁴⁰ beside one of 1: rounding each of them down would show."""
    count, share = 2_000, 1.9 * 2.0**-40
    workload = pc.Workload(DOMAIN, [DOMAIN.query()] * (count + 1))
    mechanisms = [Gaussian(1.0)] + [Gaussian(math.sqrt(share))] * count
    answer = f_gamma(workload, mechanisms)
    assert answer.method == "one overlap"
    exact = 1 + count * mp.mpf(math.sqrt(share)) ** 2
    assert mp.mpf(answer.tradeoff.mu) ** 2 >= exact


def test_atoms_of_products_lose_no_mass():
    """The profile of f_{ε,δ} to the power 64 by its finite loss distribution, beside eighty digits."""
    epsilon, delta, count = 0.11, 1e-5, 64
    atoms = ApproximateDP(epsilon, delta).atoms().power(count, 1 << 21)
    assert isinstance(atoms, Atoms)
    kept = (1 - mp.mpf(delta)) / (1 + mp.exp(-mp.mpf(epsilon)))
    odds = mp.exp(-mp.mpf(epsilon))
    for at in (0.0, 0.5, 2.0, 5.0):
        exact = 1 - (1 - mp.mpf(delta)) ** count
        for k in range(count + 1):
            loss = (2 * k - count) * mp.mpf(epsilon)
            if loss > at:
                mass = mp.binomial(count, k) * kept**count * odds ** (count - k)
                exact += mass * (1 - mp.exp(mp.mpf(at) - loss))
        assert oracles.sound_and_tight(atoms.deltas(np.array([at]))[0], exact, above=True, relative=1e-8)
