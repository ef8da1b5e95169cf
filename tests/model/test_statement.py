"""Statements: their groups, their measured numbers and their notation, against plain enumeration."""

from __future__ import annotations

import json
from itertools import product
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import DomainError, PredicateError, SizeError, WorkloadError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.statement import MAX_GROUPS, Aggregate, Kind, Statement
from tests.property.strategies import many

DOMAIN = Domain(
    {
        "sex": Categorical(["F", "M"]),
        "age": Integer(0, 4, nullable=True),
        "income": Binned(0.5, 30.5, bins=3),
        "rate": Binned(0, 1, bins=4),
        "big": Integer(0, 200_000),
    }
)
EVERYTHING = Condition.of(DOMAIN.query())


def test_a_count_measures_one_number_that_a_row_changes_by_one() -> None:
    statement = Statement("count", EVERYTHING)
    assert statement.aggregates == (Aggregate(),)
    assert (Aggregate().sensitivity, Aggregate().spread) == (1, 0)
    assert (statement.group_count, list(statement.group_rows())) == (1, [{}])


@many
@given(st.integers(-30, 30), st.integers(0, 40), st.sampled_from(["sum", "average"]))
def test_no_row_changes_a_sum_by_more_than_its_sensitivity(low: int, extent: int, kind: Kind) -> None:
    domain = Domain({"x": Integer(low, low + extent)})
    summed = Statement(kind, Condition.of(domain.query()), "x").aggregates[0]
    added = [min(max(value, summed.low), summed.high) - summed.center for value in range(low - 20, low + extent + 21)]
    assert max(abs(number) for number in added) <= summed.sensitivity
    assert max(added) - min(added) == summed.spread == extent
    # Values within the bounds are summed as they are.
    assert set(added) == {value - summed.center for value in range(low, low + extent + 1)}
    assert len(Statement(kind, Condition.of(domain.query()), "x").aggregates) == (2 if kind == "average" else 1)


def test_centering_about_halves_what_a_row_can_change() -> None:
    domain = Domain({"x": Integer(100, 200)})
    assert Statement("sum", Condition.of(domain.query()), "x").aggregates[0].sensitivity == 200
    assert Statement("average", Condition.of(domain.query()), "x").aggregates[0].sensitivity == 50


def test_a_binned_attribute_is_summed_between_the_whole_numbers_of_its_bounds() -> None:
    summed = Statement("sum", EVERYTHING, "income").aggregates[0]
    assert (summed.low, summed.high) == (floor(0.5), floor(30.4999))
    with pytest.raises(PredicateError, match="narrower than 1"):
        Statement("sum", EVERYTHING, "rate")
    # The upper bound belongs to no bin, so it is not reached.
    domain = Domain({"x": Binned(-2, 4, bins=6)})
    summed = Statement("sum", Condition.of(domain.query()), "x").aggregates[0]
    assert (summed.low, summed.high) == (-2, 3)


def test_a_sum_is_over_the_rows_that_have_a_value() -> None:
    assert Statement("sum", EVERYTHING, "age").query == DOMAIN.query(age={"not": None})
    assert Statement("count", EVERYTHING).query == DOMAIN.query()


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(PredicateError, match="sex"):
        Statement("average", EVERYTHING, "sex")
    with pytest.raises(DomainError, match="height"):
        Statement("sum", EVERYTHING, "height")
    with pytest.raises(WorkloadError, match="not taken of an attribute"):
        Statement("count", EVERYTHING, "age")
    with pytest.raises(WorkloadError, match="taken of an attribute"):
        Statement("sum", EVERYTHING)
    with pytest.raises(WorkloadError, match="count, sum, average"):
        Statement("median", EVERYTHING, "age")  # type: ignore[arg-type]
    with pytest.raises(SizeError, match="200,001 groups"):
        Statement("count", EVERYTHING, groups=(4,))
    assert Statement("count", Condition.of(DOMAIN.query(big=[1, 5])), groups=(4,)).group_count == 2
    most = Condition.of(DOMAIN.query(big=range(MAX_GROUPS)))
    assert Statement("count", most, groups=(4,)).group_count == MAX_GROUPS


PARTS = {"sex": st.sampled_from([["F"], ["M"], ["F", "M"], []]), "age": st.lists(st.sampled_from([0, 2, 3, None]))}


@many
@given(st.lists(st.fixed_dictionaries({}, optional=PARTS), max_size=4), st.sets(st.integers(0, 2)))
def test_every_row_of_the_condition_falls_into_one_declared_group(wheres: list[dict], groups: set[int]) -> None:
    condition = Condition(DOMAIN, tuple(DOMAIN.query(where) for where in wheres))
    statement = Statement("count", condition, groups=tuple(groups))
    names = [DOMAIN.names[index] for index in sorted(groups)]
    listed = [tuple(group[name] for name in names) for group in statement.group_rows()]
    assert len(set(listed)) == len(listed) == statement.group_count == len(list(statement.group_codes()))
    values = [[attribute.value(code) for code in range(attribute.size)] for attribute in DOMAIN.attributes.values()]
    rows = [dict(zip(DOMAIN.names, row, strict=True)) for row in product(*values[:4], [0])]
    reached = {tuple(row[name] for name in names) for row in rows if condition.covers(row)}
    assert reached <= set(listed)
    # No group is listed on which the condition leaves some attribute no such value; without groups one answer remains.
    for position in range(len(names)):
        assert {group[position] for group in listed} == {group[position] for group in reached}


def test_the_text_names_all_that_is_asked_and_nothing_of_its_wording() -> None:
    query = DOMAIN.query(age=[3, 2])
    mean = Statement("average", Condition.of(query), "age", groups=(2, 0, 2))
    assert json.loads(mean.text) == {
        "kind": "average",
        "attribute": "age",
        "groups": ["sex", "income"],
        "where": [{"age": [2, 3]}],
    }
    same = Statement("average", Condition(DOMAIN, (DOMAIN.query(age=2), DOMAIN.query(age=[3, None]))), "age", (0, 2))
    assert same == mean
    assert same.text == mean.text
    others = [
        Statement("sum", mean.where, "age", (0, 2)),
        Statement("average", mean.where, "age", (0,)),
        Statement("average", mean.where, "age"),
        Statement("count", mean.where, groups=(0,)),
        Statement("count", mean.where),
        Statement("average", mean.where, "income", (0, 2)),
    ]
    assert len({mean.text, *(other.text for other in others)}) == 7
