"""Decimals: the multiples of a step, exact whatever they are written as."""

from __future__ import annotations

import json
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import DomainError, PredicateError
from parcomp.model import Attribute, Binned, Categorical, Dated, Integer, Predicate, Scale, Stepped
from parcomp.model.notation import between, read_predicate, write_predicate
from tests.property.strategies import attributes, many, stepped

KAPPA = Stepped("0.00", "20.00", "0.01")


@many
@given(stepped(max_size=30))
def test_the_values_are_the_multiples_between_the_ends(attribute: Stepped) -> None:
    """Told by exact fractions, from what is written in a file."""
    written = attribute.describe()
    low, high, step = (Fraction(str(written[key])) for key in ("low", "high", "step"))
    wanted = [low + number * step for number in range(int((high - low) / step) + 1)]
    values = [attribute.value(code) for code in range(attribute.null)]
    assert [Fraction(repr(value)) for value in values] == wanted
    assert all(type(value) is (int if step.denominator == 1 else float) for value in values)
    for code, value in enumerate(values):
        for form in (value, Decimal(repr(value)), json.loads(json.dumps(value), parse_float=Decimal)):
            assert attribute.code(form) == code


@many
@given(attributes(max_size=20))
def test_a_scale_gives_each_value_exactly(attribute: Attribute) -> None:
    if not isinstance(attribute, Integer | Stepped):
        assert attribute.scale is None
        return
    scale = attribute.scale
    for code in range(attribute.null):
        assert (scale.base + code) * Fraction(scale.step) == Fraction(repr(attribute.value(code)))


def test_scales_are_in_whole_steps() -> None:
    assert Stepped("-1.5", "3", "0.50").scale == Scale(-3, Decimal("0.5"))
    assert Integer(-4, 9).scale == Scale(-4, Decimal(1))
    assert [one.scale for one in (Binned(0, 9, 9), Categorical([1]), Dated("2020-01-01", "2020-01-02"))] == [None] * 3


@many
@given(stepped(max_size=12), st.data())
def test_a_run_holds_the_values_between_any_two_numbers(attribute: Stepped, data: st.DataObject) -> None:
    values = [Fraction(repr(attribute.value(code))) for code in range(attribute.null)]
    step = Fraction(attribute.scale.step)
    # Ends at, just beside and between the values.
    ends = st.sampled_from([shift + value for value in values for shift in (0, step / 2, -step / 4, 99 * step)])
    low, high = sorted(data.draw(ends) for _ in range(2))
    first, last = (Decimal(end.numerator) / Decimal(end.denominator) for end in (low, high))
    codes = [code for code, value in enumerate(values) if Fraction(first) <= value <= Fraction(last)]
    start, stop = attribute.run(first, last)
    assert list(range(start, stop)) == codes
    assert 0 <= start <= stop <= attribute.null
    if first < last:
        with pytest.raises(PredicateError, match="reversed"):
            attribute.run(last, first)


@pytest.mark.parametrize(
    "forms",
    [
        [("0", "1", "0.1"), (0, 1, 0.1), ("0.0", 1.0, Decimal("0.10")), ("0e5", "1E0", "1e-1"), ("-0", "+1.", ".1")],
        [(0, 100, 10), ("0.0", "1e2", "1e1"), (0.0, Decimal("1E+2"), 10.0)],
        [(10**30, 10**30 + 10, 5), (f"{10**30}", f"{10**30 + 10}.0", "5.00")],
    ],
)
def test_equal_declarations_are_equal(forms: list[tuple[Any, ...]]) -> None:
    made = [Stepped(*form) for form in forms]
    assert len(set(made)) == 1
    assert len({json.dumps(one.describe()) for one in made}) == 1
    assert len({repr(one) for one in made}) == 1


def test_what_a_file_says_has_the_places_of_the_step() -> None:
    assert KAPPA.describe() == {"low": "0.00", "high": "20.00", "step": "0.01"}
    assert Stepped(0, "1e2", "1e1", True, True).describe() == {
        "low": "0",
        "high": "100",
        "step": "10",
        "nullable": True,
        "clip": True,
    }
    assert repr(Stepped(0, 1, 0.5)) == (
        "Stepped(low=Decimal('0.0'), high=Decimal('1.0'), step=Decimal('0.5'), nullable=False, clip=False)"
    )


def test_the_callers_decimal_context_changes_nothing() -> None:
    with localcontext(Context(prec=2)):
        attribute = Stepped("-123456.789", "123456.789", "0.001")
        assert attribute.code(Decimal("123456.788")) == attribute.null - 2
        assert attribute.value(1) == -123456.788
        assert attribute.run(Decimal("123456.7885"), 10**9) == (attribute.null - 1, attribute.null)
    assert attribute == Stepped("-123456.789", "123456.789", "0.001")
    assert attribute.describe()["low"] == "-123456.789"


@pytest.mark.parametrize("value", [0.005, 1.435, -0.01, 20.01, 10**400, -(10**400), Decimal("1e999999"), 1 / 3])
def test_a_number_that_is_no_value_is_never_satisfied(value: Any) -> None:
    assert KAPPA.code(value) is None
    assert read_predicate(KAPPA, value).is_contradiction
    assert read_predicate(KAPPA, {"not": value}).is_tautology


@pytest.mark.parametrize("text", ["1.43", "+1.430", "143e-2", "01.43"])
def test_a_decimal_may_be_a_string_as_in_the_domain(text: str) -> None:
    assert read_predicate(KAPPA, text) == read_predicate(KAPPA, 1.43)
    assert read_predicate(KAPPA, {"from": "0.005", "to": text}) == read_predicate(KAPPA, {"from": 0.01, "to": 1.43})
    assert read_predicate(KAPPA, "20.01").is_contradiction


@pytest.mark.parametrize("value", [True, math.nan, math.inf, Decimal("NaN"), Decimal("-Infinity"), [1], b"1"])
def test_what_is_no_number_is_an_error(value: object) -> None:
    with pytest.raises(PredicateError, match=r"is not a number|list"):
        read_predicate(KAPPA, [value])
    with pytest.raises(PredicateError, match="is not a number"):
        KAPPA.run(0, value)


@pytest.mark.parametrize("text", ["", "1,43", " 1.43", "1_0", "0x1", "nan", "inf", "\u0661", "1e9999999999"])
def test_a_string_that_is_no_decimal_is_an_error(text: str) -> None:
    with pytest.raises(PredicateError, match="is not a decimal number"):
        read_predicate(KAPPA, [text])
    with pytest.raises(PredicateError, match="is not a decimal number"):
        KAPPA.run(0, text)


def test_numbers_of_numpy_and_all_sizes_are_read() -> None:
    assert KAPPA.code(np.float64(1.43)) == 143
    assert KAPPA.code(np.int8(2)) == 200
    assert KAPPA.run(-(10**400), Decimal("1e999999999")) == (0, 2_001)
    assert KAPPA.run(Decimal("1e-999999999"), 0.01) == (1, 2)
    assert KAPPA.run(Decimal("-1e-999999999"), 0) == (0, 1)
    assert KAPPA.run(21, 22) == (2_001, 2_001)
    assert KAPPA.run(0.001, 0.009) == (1, 1)


def test_a_hundred_million_values_cost_nothing() -> None:
    began = perf_counter()
    huge = Stepped("0", "1000000", "0.01")
    assert huge.size == 100_000_001
    predicate = read_predicate(huge, {"not": [between(0.005, 999_999), 1_000_000]})
    assert list(predicate.runs()) == [(0, 1), (99_999_901, 100_000_000)]
    assert write_predicate(huge, predicate) == [0.0, {"from": 999_999.01, "to": 999_999.99}]
    assert read_predicate(huge, write_predicate(huge, predicate)) == predicate
    assert (~predicate & Predicate.from_runs(huge.size, [(0, 5)])).count == 4
    assert perf_counter() - began < 0.5


def test_the_last_step_that_floats_tell_apart() -> None:
    """Fifteen digits are held; of sixteen, two neighbors can be one float."""
    taken = Stepped("999999999999.990", "999999999999.999", "0.001")
    assert [Decimal(repr(taken.value(code))) for code in range(10)] == [
        Decimal("999999999999.990") + Decimal("0.001") * code for code in range(10)
    ]
    with pytest.raises(DomainError, match="15 digits") as caught:
        Stepped("9007199254740.990", "9007199254740.999", "0.001")
    assert caught.value.field == "low"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((0, 1, 0), "step"),
        ((0, 1, -1), "step"),
        ((0, 1, math.nan), "step"),
        ((0, 1, Decimal("Infinity")), "step"),
        ((0, 1, "1e-301"), "step"),
        ((0, 1, "x"), "step"),
        ((0, 1, None), "step"),
        ((0.5, 1, 1), "low"),
        ((0, 1, 0.3), "high"),
        ((True, 1, 1), "low"),
        ((0, math.inf, 1), "high"),
        ((0, "1e301", 1), "high"),
        ((2, 1, 1), None),
        ((0, 2**31, 1), None),
        ((0, 1, 1, 1), "nullable"),
        ((0, 1, 1, False, None), "clip"),
    ],
)
def test_an_ill_formed_declaration_names_the_field(arguments: tuple[Any, ...], field: str | None) -> None:
    with pytest.raises(DomainError) as caught:
        Stepped(*arguments)
    assert caught.value.field == field


def test_clipping_belongs_to_the_declaration() -> None:
    for plain, clipped in (
        (Integer(0, 9), Integer(0, 9, clip=True)),
        (Binned(0, 9, 9), Binned(0, 9, 9, clip=True)),
        (KAPPA, Stepped(0, 20, "0.01", clip=True)),
    ):
        assert plain != clipped
        assert clipped.describe() == plain.describe() | {"clip": True}
        assert "clip=True" in repr(clipped)
        assert type(clipped)(**clipped.describe()) == clipped  # type: ignore[arg-type]
        # A clipped attribute has the same values: a number beyond the ends is none of them.
        assert clipped.size == plain.size
        assert clipped.code(-99) is None
