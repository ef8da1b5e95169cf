"""Extensions of domains: what is one, and what queries over the older domain cover in the newer one."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import DomainError
from parcomp.model import (
    Attribute,
    Binned,
    Categorical,
    Dated,
    Domain,
    Integer,
    Stepped,
    Workload,
    check_extension,
    lift,
)
from parcomp.overlap import max_overlap
from tests.property.strategies import few, many, wheres

GROWN: list[tuple[Attribute, Attribute]] = [
    (Categorical(["F", "M"]), Categorical(["F", "M"])),
    (Categorical(["F", "M"]), Categorical(["F", "M", "X", "Y"])),
    (Categorical([True], nullable=True), Categorical([True, False], nullable=True)),
    (Integer(0, 9), Integer(0, 9)),
    (Integer(-5, 9, nullable=True), Integer(-5, 10, nullable=True)),
    (Binned(0, 1, 4), Binned(0, 1.25, 5)),
    (Binned(0, 100, 3, nullable=True), Binned(0, 200, 6, nullable=True)),
    (Stepped("0", "1", "0.1"), Stepped("0", "1.5", "0.1")),
    (Dated("2026-01", "2026-06", "month"), Dated("2026-01", "2026-07", "month")),
    (Dated("2026-01-01", "2026-01-31", nullable=True), Dated("2026-01-01", "2026-02-28", nullable=True)),
    (Integer(0, 9, clip=True), Integer(0, 9, clip=True)),
]
CLIPPED: list[tuple[Attribute, Attribute]] = [
    (Integer(0, 9, clip=True), Integer(0, 10, clip=True)),
    (Integer(0, 9), Integer(0, 9, clip=True)),
    (Integer(0, 9, clip=True), Integer(0, 9)),
    (Binned(0, 1, 4, clip=True), Binned(0, 1.25, 5, clip=True)),
    (Stepped("0", "1", "0.1", clip=True), Stepped("0", "1.5", "0.1", clip=True)),
]
OTHER: list[tuple[Attribute, Attribute]] = [
    (Categorical(["F", "M"]), Categorical(["M", "F", "X"])),
    (Categorical(["F", "M"]), Categorical(["X", "F", "M"])),
    (Categorical(["F", "M"]), Categorical(["F", "X"])),
    (Categorical(["F", "M", "X"]), Categorical(["F", "M"])),
    (Categorical(["F", "M"]), Categorical(["F", "M"], nullable=True)),
    (Categorical(["F", "M"], nullable=True), Categorical(["F", "M", "X"])),
    (Categorical([1, 0]), Categorical([True, False])),
    # What is stored as text could be read as the number from then on.
    (Categorical(["1"]), Categorical(["1", 1])),
    (Stepped("0", "1", "0.1"), Stepped("0", "1", "0.05")),
    (Stepped("0", "1", "0.1"), Stepped("-0.1", "1", "0.1")),
    (Dated("2026-01", "2026-06", "month"), Dated("2025-12", "2026-07", "month")),
    (Dated("2026-01-01", "2026-01-31"), Dated("2026-01", "2026-01", "month")),
    (Integer(0, 9), Integer(-1, 9)),
    (Integer(0, 9), Integer(0, 8)),
    (Integer(0, 9), Integer(0, 10, nullable=True)),
    (Integer(0, 9), Categorical(list(range(11)))),
    (Integer(0, 9), Binned(0, 10, 10)),
    (Binned(0, 1, 4), Binned(0, 2, 4)),
    (Binned(0, 1, 4), Binned(0, 1, 5)),
    (Binned(0, 1, 4), Binned(0, 1, 8)),
    (Binned(0, 1, 4), Binned(-0.25, 1, 5)),
    (Binned(0, 1, 4), Binned(0, 0.75, 3)),
    (Binned(0, 1, 4), Binned(0, 1.25, 5, nullable=True)),
]


def alone(attribute: Attribute, name: str = "d") -> Domain:
    return Domain({"other": Integer(0, 1), "a": attribute}, name=name)


@pytest.mark.parametrize(("old", "new"), CLIPPED)
def test_clipped_numbers_are_not_extended(old, new):
    """A number beyond the end has the code of the end, and would get another one."""
    with pytest.raises(DomainError, match="unless numbers are clipped"):
        check_extension(Domain({"a": old}), Domain({"a": new}))


@pytest.mark.parametrize(("older", "newer"), GROWN)
def test_values_may_be_added_after_the_declared_ones(older: Attribute, newer: Attribute) -> None:
    check_extension(alone(older), alone(newer))
    assert [newer.value(code) for code in range(older.null)] == [older.value(code) for code in range(older.null)]


@pytest.mark.parametrize(("older", "newer"), OTHER)
def test_all_else_stays(older: Attribute, newer: Attribute) -> None:
    with pytest.raises(DomainError, match="attribute 'a' does not extend what it was: values may be added after"):
        check_extension(alone(older), alone(newer))


def test_names_and_the_order_of_attributes_stay() -> None:
    one, two = Integer(0, 1), Integer(0, 2)
    with pytest.raises(DomainError, match="is named 'e' and was named 'd'"):
        check_extension(alone(one), alone(one, name="e"))
    for attributes in ({"b": one, "a": one}, {"a": one}, {"a": one, "b": one, "c": one}, {"a": one, "c": two}):
        with pytest.raises(DomainError, match=r"has the attributes '.*' and had 'a, b'"):
            check_extension(Domain({"a": one, "b": one}), Domain(attributes))


@st.composite
def grown_domains(draw: st.DrawFn) -> list[Domain]:
    """A domain and two extensions, the second of the first."""
    sizes = [draw(st.lists(st.integers(1, 3), min_size=3, max_size=3)) for _ in range(3)]
    totals = [[sum(column[: step + 1]) for column in zip(*sizes, strict=True)] for step in range(3)]
    nullable = draw(st.lists(st.booleans(), min_size=3, max_size=3))
    return [
        Domain(
            {
                "sex": Categorical([f"v{number}" for number in range(named)], nullable[0]),
                "age": Integer(-1, numbers - 2, nullable[1]),
                "pay": Binned(0, bins / 2, bins, nullable[2]),
            }
        )
        for named, numbers, bins in totals
    ]


@st.composite
def asked(draw: st.DrawFn) -> tuple[list[Domain], list[dict[str, Any]]]:
    domains = draw(grown_domains())
    return domains, draw(st.lists(wheres(domains[0]), min_size=1, max_size=5))


def rows_of(domain: Domain) -> list[dict[str, Any]]:
    return [domain.row(codes) for codes in product(*(range(a.size) for a in domain.attributes.values()))]


@many
@given(asked())
def test_a_lifted_query_covers_what_the_query_counted(case: tuple[list[Domain], list[dict[str, Any]]]) -> None:
    (old, middle, new), written = case
    query = old.query(written[0])
    lifted = lift(query, new)
    # Over the older domain the values that were declared later are outside.
    for row in rows_of(new):
        assert lifted.covers(row) == query.covers(row)
    assert [index for index, _ in lifted.tested] == [index for index, _ in query.tested]
    assert lift(lift(query, middle), new) == lifted
    assert lift(query, old) == query
    assert lifted.is_contradiction == query.is_contradiction


@few
@given(asked())
def test_the_maximum_overlap_stays(case: tuple[list[Domain], list[dict[str, Any]]]) -> None:
    (old, _, new), written = case
    queries = [old.query(where) for where in written]
    before = max_overlap(Workload(old, queries))
    after = max_overlap(Workload(new, [lift(query, new) for query in queries]))
    assert (before.lower, before.upper) == (after.lower, after.upper)
    assert before.exact


def test_scattered_subsets_of_a_large_attribute_are_lifted() -> None:
    old, new = (Domain({"a": Integer(0, high, nullable=True)}) for high in (999, 10_000))
    scattered = [*range(0, 1000, 3), None]
    assert old.query(a=scattered).tested[0][1].edges is None
    assert lift(old.query(a=scattered), new) == new.query(a=scattered)
