"""Written predicates mean what they say, and are written as they are read."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import PredicateError
from parcomp.model.attribute import Attribute, Binned, Categorical, Dated, Integer, Stepped
from parcomp.model.notation import between, read_predicate, write_predicate
from parcomp.model.predicate import Predicate
from tests.property.strategies import attributes, many, written_predicates


def satisfied(attribute: Attribute, written: Any) -> set[int]:
    """The codes whose values satisfy ``written``, by comparing values."""
    values = [attribute.value(code) for code in range(attribute.size)]
    if isinstance(written, dict) and "not" in written:
        return set(range(attribute.size)) - satisfied(attribute, written["not"])
    parts = written if isinstance(written, list) else [written]
    return {code for code, value in enumerate(values) for part in parts if matches(attribute, value, part)}


def matches(attribute: Attribute, value: Any, part: Any) -> bool:
    if not isinstance(part, dict):
        if isinstance(attribute, Binned | Stepped) and value is not None and part is not None:
            return number(value) == number(part)
        return type(value) is type(part) and value == part
    if value is None:
        return False
    if isinstance(attribute, Categorical):
        position = {(type(v), v): i for i, v in enumerate(attribute.values)}
        low, high = (position[type(part[key]), part[key]] for key in ("from", "to"))
        return low <= position[type(value), value] <= high
    if isinstance(attribute, Integer | Dated):
        return bool(part["from"] <= value <= part["to"])
    if isinstance(attribute, Stepped):
        return number(part["from"]) <= number(value) <= number(part["to"])
    return number(part["from"]) <= number(value) < number(part["below"])


def number(value: Any) -> Fraction:
    return Fraction(value if isinstance(value, int | Decimal) else repr(value))


@st.composite
def attribute_and_written(draw: st.DrawFn) -> tuple[Attribute, Any]:
    attribute = draw(attributes(max_size=20))
    return attribute, draw(written_predicates(attribute))


@many
@given(attribute_and_written())
def test_a_predicate_holds_the_values_that_its_notation_names(case: tuple[Attribute, Any]) -> None:
    attribute, written = case
    expected = satisfied(attribute, written)
    assert read_predicate(attribute, written) == Predicate.from_codes(attribute.size, expected)


@many
@given(attributes(max_size=20), st.data())
def test_what_is_written_is_read_back(attribute: Attribute, data: st.DataObject) -> None:
    codes = data.draw(st.sets(st.integers(0, attribute.size - 1)))
    predicate = Predicate.from_codes(attribute.size, codes)
    written = write_predicate(attribute, predicate)
    assert read_predicate(attribute, written) == predicate
    in_a_file = json.loads(json.dumps(written), parse_float=Decimal)
    assert read_predicate(attribute, in_a_file) == predicate


@pytest.mark.parametrize(
    ("written", "shortest"),
    [
        ([{"from": 0, "to": 64}, {"from": 66, "to": 119}], {"not": 65}),
        ([5, 6, 7], {"from": 5, "to": 7}),
        ([65], 65),
        ({"not": {"not": [1, 3]}}, [1, 3]),
        # Every declared value is not the same as no predicate: a value outside the domain satisfies only the latter.
        ({"not": []}, {"from": 0, "to": 119}),
        (500, []),
    ],
)
def test_the_notation_written_is_the_shortest(written: object, shortest: object) -> None:
    age = Integer(0, 119)
    assert write_predicate(age, read_predicate(age, written)) == shortest


def test_ranges_on_a_huge_attribute_stay_short() -> None:
    huge = Integer(0, 2 * 10**9)
    written = [{"from": 5, "to": 10**9}, 10**9 + 5]
    assert write_predicate(huge, read_predicate(huge, written)) == written


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("nullable", [False, True])
def test_numbers_of_thirty_digits_are_told_apart(sign: int, nullable: bool) -> None:
    """No float lies between: scalars, ranges, ranges beyond both ends and the negations of all, as sets of integers."""
    base = sign * 10**30
    attribute = Integer(base, base + 9, nullable)
    values: list[int | None] = [*range(base, base + 10), *([None] if nullable else [])]
    ends = [base - 10**30, base - 1, base, base + 1, base + 5, base + 9, base + 10, base + 10**30]
    parts: list[tuple[Any, set[int | None]]] = [(value, {value}) for value in ends]
    for low in ends:
        for high in (end for end in ends if end >= low):
            parts.append(({"from": low, "to": high}, {v for v in values if v is not None and low <= v <= high}))
    for written, accepted in parts:
        for notation, expected in (
            (written, accepted & set(values)),
            ({"not": written}, set(values) - accepted),
            ({"not": [written, base + 2]}, set(values) - accepted - {base + 2}),
            ({"not": {"not": [written, base + 7]}}, accepted & set(values) | {base + 7}),
        ):
            predicate = read_predicate(attribute, notation)
            assert {attribute.value(code) for code in range(attribute.size) if code in predicate} == expected
            in_a_file = json.loads(json.dumps(write_predicate(attribute, predicate)))
            assert read_predicate(attribute, in_a_file) == predicate


def test_named_numbers_of_thirty_digits_are_told_apart() -> None:
    attribute = Categorical([10**30, 10**30 + 1, 10**30 + 2])
    assert list(read_predicate(attribute, {"not": 10**30 + 1}).runs()) == [(0, 1), (2, 3)]
    assert read_predicate(attribute, {"not": [10**30 + 3, float("1e30").as_integer_ratio()[0]]}).is_tautology
    assert read_predicate(attribute, {"from": 10**30 + 1, "to": 10**30 + 2}).count == 2


def test_between_is_a_range_of_either_kind() -> None:
    assert read_predicate(Integer(0, 9), between(2, 4)).count == 3
    assert read_predicate(Binned(0, 9, 9), [between(2, 4), 8]).count == 3
    assert read_predicate(Integer(0, 9), {"not": between(2, 4)}).count == 7


@pytest.mark.parametrize("written", [(1, 2), {1, 2}, frozenset({1, 2}), range(1, 3)])
def test_python_collections_are_lists(written: object) -> None:
    assert read_predicate(Integer(0, 9), written) == read_predicate(Integer(0, 9), [1, 2])


def test_null_is_a_value_where_there_is_one() -> None:
    age = Integer(0, 9, nullable=True)
    assert read_predicate(age, None).count == 1
    assert read_predicate(age, {"not": None}).count == 10
    assert read_predicate(age, {"from": 0, "to": 9}) == ~read_predicate(age, None)


def test_a_predicate_of_another_size_is_an_error() -> None:
    predicate = Predicate.from_codes(10, [1])
    assert read_predicate(Integer(0, 9), predicate) is predicate
    with pytest.raises(PredicateError, match="10 values"):
        read_predicate(Integer(0, 10), predicate)
