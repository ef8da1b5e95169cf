"""Costs round up, budgets round down, and both are exact."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.costs import (
    MAX_UNITS,
    UNITS_PER_ONE,
    Cost,
    amount_down,
    amount_of,
    amount_text,
    amount_up,
    budget_down,
    cost_up,
    float_down,
    float_up,
    short_down,
    short_up,
)
from parcomp.errors import CostError, shown

decimals = st.decimals(min_value=Decimal("1e-9"), max_value=4 * 10**9, allow_nan=False, places=None)


@given(decimals)
def test_rounding_has_the_safe_direction(amount: Decimal) -> None:
    exact = Fraction(amount) * UNITS_PER_ONE
    assert cost_up(amount) == ceil(exact)
    assert budget_down(amount) == floor(exact)


@given(st.floats(1e-9, 4e9))
def test_a_float_is_taken_by_its_notation(amount: float) -> None:
    assert cost_up(amount) == cost_up(repr(amount)) == ceil(Fraction(repr(amount)) * UNITS_PER_ONE)


@given(st.integers(1, MAX_UNITS))
def test_the_text_of_an_amount_is_the_amount(units: int) -> None:
    assert cost_up(amount_text(units)) == budget_down(amount_text(units)) == units
    assert amount_of(units) == pytest.approx(float(amount_text(units)))


@given(st.integers(1, 2**80) | st.integers(2**53, 2**63))
def test_units_become_numbers_on_the_asked_side(units: int) -> None:
    """By their notation, and by their binary value too where a float cannot hold the units; off by an ulp or two."""
    exact = Fraction(units, UNITS_PER_ONE)
    low, high = amount_down(units), amount_up(units)
    assert Fraction(repr(low)) <= exact <= Fraction(repr(high))
    if Fraction(repr(high)) != exact:
        assert Fraction(low) < exact < Fraction(high)
    assert high - low <= Fraction(1, 2**50) * Fraction(high)
    if units < 2**52:
        assert low == high == amount_of(units)


@given(st.fractions(Fraction(1, 10**12), 10**12))
def test_fractions_become_floats_on_the_asked_side(exact: Fraction) -> None:
    assert Fraction(repr(float_down(exact))) <= exact <= Fraction(repr(float_up(exact)))


def test_digits_beyond_every_precision_still_round_in_the_safe_direction() -> None:
    assert cost_up("0.1" + "0" * 100 + "1") == 10**8 + 1
    assert budget_down("0.0000000019" + "9" * 100) == 1
    with pytest.raises(CostError, match="below one unit"):
        budget_down("0.000000000" + "9" * 100)


@pytest.mark.parametrize("amount", [np.float64(0.25), np.float32(0.25), Fraction(1, 4), "0.25", Decimal("0.25")])
def test_numbers_of_other_types(amount: Any) -> None:
    assert cost_up(amount) == UNITS_PER_ONE // 4


UNBOOKABLE = [
    *[0, -1, 0.0, -0.0, "0", "-1e-9"],
    *[float("nan"), float("inf"), float("-inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), "nan"],
    *["x", "", True, False, None, [1], {}, 1j, b"1", Fraction(1, 3), Fraction(10**400, 3)],
    *["1e-10", "1e-400", 1e-300, "1e-999999999", "1e400", "1e999999999", 10**5000, -(10**5000), MAX_UNITS],
]


@pytest.mark.parametrize("amount", UNBOOKABLE, ids=shown)
def test_what_cannot_be_booked_is_an_error(amount: Any) -> None:
    for book in (cost_up, budget_down):
        with pytest.raises(CostError):
            book(amount)


def test_the_largest_cost() -> None:
    assert cost_up(amount_text(MAX_UNITS)) == MAX_UNITS
    with pytest.raises(CostError, match="too large"):
        cost_up(amount_text(MAX_UNITS + 1))
    with pytest.raises(CostError):
        Cost("weight", MAX_UNITS + 1)
    with pytest.raises(CostError, match="unknown kind"):
        Cost("delta", 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("units", [0, -1])
def test_nothing_costs_nothing(units: int) -> None:
    """A cost of no unit would be an answer for free."""
    with pytest.raises(CostError, match="between 1 and"):
        Cost("epsilon", units)
    for book in (cost_up, budget_down):
        with pytest.raises(CostError, match="must be above 0"):
            book(units)


@given(st.floats(1e-12, 1e12))
def test_short_numbers_are_on_the_asked_side(value: float) -> None:
    """Six digits at most, and as a reader takes them: never below a loss, never above what may be spent."""
    low, high = (Decimal(short(value).replace(",", "")) for short in (short_down, short_up))
    exact = Decimal(repr(value))
    assert low <= exact <= high <= low * (1 + Decimal("1e-5"))
    assert max(len(one.normalize().as_tuple().digits) for one in (low, high)) <= 6


def test_short_numbers_are_exact_where_they_are_short() -> None:
    for text in ("0.075", "0.3", "12,000.5", "1e-9", "0.00001"):
        value = float(text.replace(",", ""))
        assert short_up(value) == short_down(value) == text
    assert short_up(12_345_678) == "12,345,678"
    assert short_up(0.0) == "0"
    assert short_up(float("inf")) == "∞"


def test_a_decimal_comma_is_named() -> None:
    with pytest.raises(CostError, match=r"must be a number, not '0,1'; decimals are written with a point"):
        cost_up("0,1")
