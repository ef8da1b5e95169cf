"""A budget of (ε, δ) is turned into ρ or μ that imply it, whatever its size, and back on the side that is safe."""

from __future__ import annotations

import json
import math
import random

import mpmath as mp
import pytest

from parcomp.costs import UNITS_PER_ONE, short_up
from parcomp.errors import CostError
from parcomp.privacy import GDP, MEASURES, PURE, ZCDP, ApproximateBudget, read_budget
from tests.privacy import oracles
from tests.soak import shared_with_soak

CHUNK = 250


def log_delta_of_zcdp(rho, epsilon):
    """The least log δ at ε that ρ-zCDP proves, with forty digits at the best order that a search of its own finds.

    Canonne, Kamath and Steinke 2020, Proposition 12: δ ≤ exp((α−1)(αρ−ε))·(1−1/α)^α/(α−1) for every α > 1; and δ is
    at most the total variation distance, √(1 − e^(−ρ)) (Bretagnolle and Huber 1979).
    """

    def log_delta(above):
        order = 1 + above
        # (1 − 1/α)^α/(α − 1) = (α − 1)^(α − 1)/α^α
        return above * (order * rho - epsilon) + above * mp.log(above) - order * mp.log(order)

    # By golden section over log(α − 1); every order is valid.
    low, high, ratio = -40.0, 60.0, (math.sqrt(5) - 1) / 2
    for _ in range(90):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if _rough(rho, epsilon, left) < _rough(rho, epsilon, right) else (left, high)
    best = log_delta(mp.exp((low + high) / 2))
    return min(best, mp.log(-mp.expm1(-rho)) / 2)


def _rough(rho, epsilon, log_above):
    above = math.exp(log_above)
    order = 1 + above
    return above * (order * float(rho) - float(epsilon)) + above * log_above - order * math.log1p(above)


def log_delta_of_gdp(units, epsilon):
    mu = mp.sqrt(mp.mpf(units) / UNITS_PER_ONE)
    with mp.workdps(60):
        delta = oracles.gaussian_profile(mu, epsilon)
    return mp.log(delta) if delta > 0 else -mp.inf


def log_delta(measure, units, epsilon):
    """What additive units imply at ε, worked out independently."""
    if measure is ZCDP:
        return log_delta_of_zcdp(mp.mpf(units) / UNITS_PER_ONE, mp.mpf(epsilon))
    return log_delta_of_gdp(units, mp.mpf(epsilon))


def stated(chance):
    """An ε and a δ as people would write them, from tiny to huge."""
    epsilon = f"{10 ** chance.uniform(-4, 5):.{chance.randint(1, 6)}g}"
    exponent = -chance.uniform(0.01, 12) if chance.random() < 0.7 else -chance.uniform(12, 299)
    return epsilon, f"{10**exponent:.{chance.randint(1, 4)}e}"


@pytest.mark.parametrize("chunk", shared_with_soak(40, 36))
@pytest.mark.parametrize("measure", [ZCDP, GDP], ids=lambda one: one.name)
def test_what_the_units_imply_is_within_the_stated_budget(measure, chunk):
    """On random (ε, δ), against forty digits: never above it, and not far below."""
    chance, booked = random.Random(chunk), 0
    for _ in range(CHUNK):
        epsilon, delta = stated(chance)
        try:
            budget = ApproximateBudget.of(measure, epsilon, delta)
        except CostError:
            # Too little to be booked.
            continue
        booked += 1
        allowed = mp.log(mp.mpf(delta))
        assert log_delta(measure, budget.units, epsilon) <= allowed, (epsilon, delta)
        more = math.ceil(budget.units * 1.03) + 2
        assert log_delta(measure, more, epsilon) > allowed, (epsilon, delta)
        assert budget.epsilon_up(budget.units) <= float(epsilon)
    assert booked > CHUNK / 2


@pytest.mark.parametrize("measure", [ZCDP, GDP], ids=lambda one: one.name)
def test_spent_is_rounded_up_and_what_is_left_down(measure):
    """An ε of units is enough for them, one that is left is not; both are within a few millionths of each other."""
    chance = random.Random(2026)
    for _ in range(CHUNK):
        delta = f"{10 ** -chance.uniform(1, 15):.3e}"
        budget = ApproximateBudget.of(measure, "8", delta)
        units = int(budget.units * 10 ** -chance.uniform(0, 5)) + 1
        above, below = budget.epsilon_up(units), budget.epsilon_down(units)
        allowed = mp.log(mp.mpf(delta))
        assert log_delta(measure, units, above) <= allowed
        if below:
            assert log_delta(measure, units, below) > allowed
        assert below <= above <= below * (1 + 2e-5) + 1e-8
    assert budget.epsilon_up(0) == budget.epsilon_down(0) == 0
    assert budget.epsilon_down(budget.units) == 8


def test_the_amount_is_short_so_that_every_machine_has_the_same():
    """Six digits, whatever the last bits of a float are: a ledger is bound to it."""
    for epsilon, delta in (("1", "1e-6"), ("0.3", "1e-9"), ("7.7", "0.001")):
        for measure in (ZCDP, GDP):
            units = ApproximateBudget.of(measure, epsilon, delta).units
            assert measure.budget_down(short_up(measure.parameter_up(units))) == units


def test_more_of_either_buys_more():
    """A larger ε or a larger δ is never less budget."""
    for measure in (ZCDP, GDP):
        by_epsilon = [ApproximateBudget.of(measure, epsilon, "1e-6").units for epsilon in ("0.1", "0.5", "1", "4")]
        by_delta = [ApproximateBudget.of(measure, "1", delta).units for delta in ("1e-12", "1e-9", "1e-6", "0.01")]
        assert by_epsilon == sorted(set(by_epsilon))
        assert by_delta == sorted(set(by_delta))


@pytest.mark.parametrize(
    ("measure", "written", "message"),
    [
        ("pure", {"epsilon": "1", "delta": "1e-6"}, "pure DP has no δ to spend"),
        ("zcdp", {"epsilon": "1"}, "epsilon and delta, not epsilon"),
        ("zcdp", {"epsilon": "1", "delta": "1e-6", "rho": "1"}, "epsilon and delta"),
        ("zcdp", {"epsilon": "1", "delta": "0"}, "a delta must be at least 1e-300"),
        ("gdp", {"epsilon": "1", "delta": "1"}, "and below 1"),
        ("gdp", {"epsilon": "1", "delta": "1e-400"}, "a delta must be at least"),
        ("gdp", {"epsilon": "1", "delta": "nan"}, "a delta must be a number"),
        ("gdp", {"epsilon": "1", "delta": True}, "a delta must be a number"),
        ("gdp", {"epsilon": "0", "delta": "1e-6"}, "must be above 0"),
        ("zcdp", {"epsilon": "1e400", "delta": "1e-6"}, "too large"),
        ("zcdp", {"epsilon": None, "delta": "1e-6"}, "must be a number"),
        ("zcdp", {"epsilon": "1e-9", "delta": "1e-12"}, "no rho can be booked that is so small"),
        ("gdp", {"epsilon": "4.6e9", "delta": "0.9"}, "no mu can be booked that is so large"),
        ("zcdp", None, "must be a number"),
    ],
)
def test_what_is_no_budget_is_an_error_in_words(measure, written, message):
    """Each says what is possible."""
    with pytest.raises(CostError, match=message):
        read_budget(MEASURES[measure], written)


def test_a_plain_amount_stays_what_it_is():
    """Settings may state either."""
    assert read_budget(PURE, "1.5") == (1_500_000_000, None)
    units, budget = read_budget(GDP, {"epsilon": "1", "delta": "1e-6"})
    assert budget is not None
    assert budget.units == units
    assert json.dumps([budget.epsilon, budget.delta]) == "[1.0, 1e-06]"
    assert str(budget) == "ε = 1 at δ = 1e-6"
