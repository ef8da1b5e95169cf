"""Additive units: exact integers, rounded up for costs and down for budgets."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcomp as pc
from parcomp.errors import ArgumentError, CostError, WorkloadError
from parcomp.privacy.measures import (
    GDP,
    MEASURES,
    PURE,
    ZCDP,
    Neighbours,
    check_rows_per_person,
    find_measure,
    workload_units,
)

DOMAIN = pc.Domain({"sex": pc.Categorical(["F", "M"])})


def workload(*costs):
    return pc.Workload(DOMAIN, [DOMAIN.query() for _ in costs], costs=costs)


def test_each_measure_books_its_parameter():
    """ε and ρ are additive themselves, μ is squared."""
    assert [measure.cost_up("0.3") for measure in MEASURES.values()] == [300_000_000, 300_000_000, 90_000_000]
    assert [measure.budget_down(3) for measure in MEASURES.values()] == [3 * 10**9, 3 * 10**9, 9 * 10**9]


@given(st.integers(31_623, 10**12))
def test_a_cost_of_mu_is_never_booked_below_its_square(units):
    """Costs go up and budgets down, each by less than a unit."""
    mu = Decimal(units).scaleb(-9)
    exact = Fraction(units, 10**9) ** 2 * 10**9
    assert exact <= GDP.cost_up(mu) < exact + 1
    assert exact - 1 < GDP.budget_down(mu) <= exact


@given(st.integers(1, 2**62))
def test_roots_are_rounded_to_the_asked_side(units):
    """The parameter of a loss is never below the root, that of a cost never above; both within 10⁻¹⁵."""
    # Where the root is a whole number of units, the float stands for its decimal notation, as in files.
    whole = math.isqrt(units * 10**9) ** 2 == units * 10**9
    low, high = (
        Fraction(repr(value) if whole else value) for value in (GDP.parameter_down(units), GDP.parameter_up(units))
    )
    exact = Fraction(units, 10**9)
    assert low**2 <= exact <= high**2
    assert high - low <= Fraction(1, 10**15) * high


LOSSES = st.integers(1, 2**62) | st.integers(2**53, 2**120) | st.integers(1, 2**40).map(lambda root: root**2 * 10**9)


@given(LOSSES, st.sampled_from(list(MEASURES.values())))
def test_a_loss_is_never_shown_below_what_was_spent(units, measure):
    """In exact arithmetic, by notation and by binary value, far beyond the units that a float can hold."""
    exact = Fraction(units, 10**9)
    low, high = measure.parameter_down(units), measure.parameter_up(units)
    assert Fraction(repr(low)) ** measure.power <= exact <= Fraction(repr(high)) ** measure.power
    if Fraction(repr(high)) ** measure.power != exact:
        assert Fraction(low) ** measure.power < exact < Fraction(high) ** measure.power
    assert Fraction(high) - Fraction(low) <= Fraction(1, 2**50) * Fraction(high)


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.sampled_from(list(MEASURES.values())))
def test_growth_is_never_shown_below_what_is_added(first, second, measure):
    """What was there and what is added, as they are shown, reach what is there afterwards."""
    before, after = min(first, second), max(first, second)
    added = Fraction(repr(measure.growth_up(before, after)))
    assert added >= 0
    # Exactly so for sums; roots are enclosed by integers of 60 more digits.
    scale = 10**60
    if measure.power == 1:
        assert added >= Fraction(after - before, 10**9)
    else:
        low, high = (math.isqrt(units * scale**2 // 10**9) for units in (before, after))
        assert added >= Fraction(high - low - 1, scale)


@pytest.mark.parametrize("amount", ["0.00003", 1e-5])
def test_what_is_below_one_unit_is_an_error(amount):
    """A square below 10⁻⁹ cannot be booked, neither as a cost nor as a budget."""
    with pytest.raises(CostError, match="below one unit"):
        GDP.cost_up(amount)
    with pytest.raises(CostError, match="below one unit"):
        GDP.budget_down(amount)
    with pytest.raises(CostError, match="below one unit"):
        workload_units(workload(pc.Cost.of("epsilon", amount)), ZCDP)


@pytest.mark.parametrize("amount", [-1, 0, float("nan"), float("inf"), "x", None, True])
def test_what_is_no_budget_is_an_error(amount):
    """One clear line, whatever was given."""
    for measure in MEASURES.values():
        with pytest.raises(CostError):
            measure.budget_down(amount)


def test_epsilon_is_booked_under_zcdp_as_half_its_square():
    """ρ = ε²/2, rounded up; also beside costs in ρ."""
    costs = [pc.Cost.of("epsilon", "0.1"), pc.Cost.of("rho", "0.25"), pc.Cost.of("epsilon", "0.000100001")]
    assert workload_units(workload(*costs), ZCDP).tolist() == [5_000_000, 250_000_000, 6]


def test_weights_are_in_additive_units():
    """A weight is taken as it is, under every measure."""
    for measure in (PURE, ZCDP, GDP):
        assert workload_units(workload(2, "0.5"), measure).tolist() == [2 * 10**9, 5 * 10**8]


@pytest.mark.parametrize(
    ("kinds", "measure"),
    [
        (["mu"], PURE),
        (["rho"], PURE),
        (["mu"], ZCDP),
        (["epsilon"], GDP),
        (["rho"], GDP),
        (["weight", "epsilon"], PURE),
    ],
)
def test_costs_of_another_measure_are_an_error(kinds, measure):
    """The message names what was stated and what is possible."""
    given = workload(*(pc.Cost.of(kind, 1) for kind in kinds))
    with pytest.raises(WorkloadError, match=f"{kinds[0]}.*{measure.parameter}"):
        workload_units(given, measure)


def test_a_square_that_is_too_large_is_an_error():
    """Nothing wraps around."""
    with pytest.raises(CostError, match="too large"):
        workload_units(workload(pc.Cost.of("mu", 4 * 10**9)), GDP)


def test_unknown_names_are_listed():
    """Names of measures, neighbor relations and counts of rows are checked."""
    with pytest.raises(ArgumentError, match="pure, zcdp, gdp"):
        find_measure("renyi")
    with pytest.raises(ArgumentError, match="add-remove and replace-one"):
        Neighbours("bounded")
    for rows in (0, -1, 1.5, True, "2", float("nan")):
        with pytest.raises(ArgumentError, match="rows per person"):
            check_rows_per_person(rows)
    assert check_rows_per_person(np.int64(3)) == 3


def test_group_privacy_scales_additive_units():
    """ε by k, ρ and μ² by k²."""
    assert [measure.group(5, 3) for measure in MEASURES.values()] == [15, 45, 45]
