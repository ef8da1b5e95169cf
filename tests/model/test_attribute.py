"""Attributes code their values as 0 … size-1 and back."""

from __future__ import annotations

import enum
import pickle
from decimal import Decimal
from fractions import Fraction
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import DomainError, PredicateError
from parcomp.model.attribute import Attribute, Binned, Categorical, Integer
from parcomp.model.notation import read_predicate
from tests.property.strategies import attributes, binned, many


@many
@given(attributes(max_size=20))
def test_codes_and_values_correspond(attribute: Attribute) -> None:
    values = [attribute.value(code) for code in range(attribute.size)]
    assert [attribute.code(value) for value in values] == list(range(attribute.size))
    assert (None in values) == attribute.nullable
    if attribute.nullable:
        assert values[-1] is None
    else:
        with pytest.raises(PredicateError, match="nullable"):
            attribute.code(None)


@many
@given(attributes(max_size=20), st.data())
def test_a_run_is_named_by_its_first_value_and_its_edge(attribute: Attribute, data: st.DataObject) -> None:
    count = attribute.size - attribute.nullable
    start = data.draw(st.integers(0, count - 1))
    stop = data.draw(st.integers(start + 1, count))
    assert attribute.run(attribute.value(start), attribute.edge(stop)) == (start, stop)


@many
@given(attributes(max_size=20))
def test_equal_attributes_are_equal_and_survive_pickling(attribute: Attribute) -> None:
    again = type(attribute)(**attribute.describe())  # type: ignore[call-arg]
    assert again == attribute == pickle.loads(pickle.dumps(attribute))
    assert hash(again) == hash(attribute)


def test_one_is_neither_true_nor_text() -> None:
    mixed = Categorical([1, True, "1", 0])
    assert [mixed.code(value) for value in (1, True, "1", 0)] == [0, 1, 2, 3]
    assert mixed.code(False) is None
    assert Categorical([0, 1]) != Categorical([False, True])


def test_values_of_numpy_and_enumerations_are_plain_values() -> None:
    color = enum.Enum("color", {"RED": "r"}, type=str)
    assert Categorical(["r", "g"]).code(color.RED) == 0
    assert Categorical([color.RED]) == Categorical(["r"])
    assert Categorical(["r"]).code(np.str_("r")) == 0
    assert Categorical([7]).code(np.int8(7)) == 0
    assert Categorical([True]).code(np.bool_(True)) == 0
    assert Integer(0, 9).code(np.uint8(3)) == 3
    assert Binned(0, 1, 4).code(np.float32(0.25)) == 1


def test_a_list_over_many_names_is_read_quickly() -> None:
    names = [f"name {number}" for number in range(20_000)]
    attribute = Categorical(names)
    began = perf_counter()
    assert read_predicate(attribute, names[::2]).count == 10_000
    assert perf_counter() - began < 1


@pytest.mark.parametrize("value", [-1, 120, 10**400, -(10**400)])
def test_integers_outside_the_range_are_no_value(value: int) -> None:
    assert Integer(0, 119).code(value) is None


@pytest.mark.parametrize("value", [1.0, "1", True, Decimal(1), float("nan"), [1]])
def test_what_is_no_integer_is_an_error(value: object) -> None:
    with pytest.raises(PredicateError, match="integer"):
        Integer(0, 119).code(value)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        (Categorical(["F"]), 1),
        (Categorical([1]), "F"),
        (Categorical([1]), True),
        (Categorical([True]), 1),
        (Categorical(["F", 1]), 1.5),
        (Binned(0, 1, 2), "0"),
        (Binned(0, 1, 2), True),
        (Binned(0, 1, 2), float("inf")),
        (Binned(0, 1, 2), Decimal("NaN")),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error(attribute: Attribute, value: object) -> None:
    with pytest.raises(PredicateError, match="is not"):
        attribute.code(value)


def test_bins_are_half_open_and_named_by_their_lower_edge() -> None:
    income = Binned(0, 750_000, 5_000)
    assert income.run(0, 150) == (0, 1)
    assert income.code(749_850) == 4_999
    assert income.code(750_000) is None
    assert income.edge(5_000) == 750_000


@pytest.mark.parametrize("value", [-1, -0.5, 750_000, 750_001, 800_000, 1e200])
def test_any_number_outside_the_bins_is_no_value(value: float) -> None:
    assert Binned(0, 750_000, 5_000).code(value) is None


@pytest.mark.parametrize(
    ("low", "high", "run"),
    [(-100, 300, (0, 2)), (-2, -1, (0, 0)), (749_850, 10**9, (4_999, 5_000)), (800_000, 800_001, (5_000, 5_000))],
)
def test_a_range_of_bins_is_cut_to_the_attribute(low: int, high: int, run: tuple[int, int]) -> None:
    assert Binned(0, 750_000, 5_000).run(low, high) == run


@pytest.mark.parametrize("value", [75, 1, 749_999, 0.1, Decimal("149.99")])
def test_a_number_between_bin_edges_is_an_error(value: float) -> None:
    with pytest.raises(PredicateError, match="not a bin edge"):
        Binned(0, 750_000, 5_000).code(value)


@many
@given(binned(max_size=40))
def test_each_edge_is_read_back_as_itself(attribute: Binned) -> None:
    low, high = (Fraction(str(end)) for end in (attribute.low, attribute.high))
    for code in range(attribute.bins):
        edge = attribute.value(code)
        assert attribute.code(edge) == code
        assert float(edge) == float(low + code * (high - low) / attribute.bins)  # type: ignore[arg-type]
        assert attribute.code(Decimal(repr(edge))) == code


def test_a_number_has_one_form_whatever_its_type() -> None:
    forms = [Binned(Decimal("0.1"), 1, 9), Binned(0.1, 1.0, 9), Binned(0.1, Decimal("1.00"), 9)]
    assert len(set(forms)) == 1
    assert forms[0].describe() == {"low": 0.1, "high": 1, "bins": 9}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Categorical([]),
        lambda: Categorical("FM"),
        lambda: Categorical({"F", "M"}),  # type: ignore[arg-type]
        lambda: Categorical(["F", "F"]),
        lambda: Categorical([1.5]),  # type: ignore[list-item]
        lambda: Categorical(["\ud800"]),
        lambda: Integer(1, 0),
        lambda: Integer(0.0, 1),  # type: ignore[arg-type]
        lambda: Integer(False, True),
        lambda: Integer(0, 2**31),
        lambda: Integer(0, 10**5000),
        lambda: Integer(0, 1, nullable=1),  # type: ignore[arg-type]
        lambda: Binned(0, 0, 1),
        lambda: Binned(0, 1, 0),
        lambda: Binned(0, 1, 2**31),
        lambda: Binned(0, 10**5000, 2),
        lambda: Binned(float("-inf"), 0, 2),
        lambda: Binned(2**53, 2**53 + 1, 4),
        lambda: Binned(Decimal("0.1234567890123456789"), 1, 4),
    ],
)
def test_an_ill_formed_attribute_is_an_error(make: object) -> None:
    with pytest.raises(DomainError):
        make()  # type: ignore[operator]


def test_whole_edges_beyond_floats_are_exact() -> None:
    attribute = Binned(10**18, 10**18 + 20, 10)
    assert [attribute.code(10**18 + 2 * code) for code in range(10)] == list(range(10))
    with pytest.raises(PredicateError, match="not a bin edge"):
        attribute.code(10**18 + 1)
