"""How a statement's cost is divided: never more than it costs, for the least error, and as ledgers remember it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcomp.custodian import Settings
from parcomp.custodian.division import divide
from parcomp.custodian.release import Release
from parcomp.errors import CostError
from parcomp.model import Categorical, Condition, Domain, Integer, Item, Statement
from parcomp.noise import mechanism_for, steps_of
from parcomp.planning import error_exponent
from parcomp.privacy import Neighbours
from parcomp.privacy.measures import MEASURES
from tests.data.coded_rows import statements_to_count

DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119), "pay": Integer(0, 9, nullable=True)})
SETTINGS = Settings(
    name="people",
    version="1",
    source="people.csv",
    domain=DOMAIN,
    measure=MEASURES["pure"],
    budget_units=10**9,
    ledger="sqlite:///nowhere",
)
MEDIAN = Item("quantile", "age", Fraction(1, 2))
WITHIN = Condition.of(DOMAIN.query(age={"not": []}))
FAR = Domain({"x": Integer(0, 2**31 - 2)})


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(sorted(MEASURES)), st.sampled_from(list(Neighbours)), st.integers(1, 10**10))
def test_the_parts_cost_no_more_than_the_whole(data, measure, relation, units):
    """Each number of each aggregate has the noise of its part, made for the most by which a row moves it."""
    chosen = replace(SETTINGS, measure=MEASURES[measure], neighbours=relation)
    asked = data.draw(statements_to_count(DOMAIN))
    try:
        shares = divide(chosen, asked, units)
    except CostError:
        return
    assert [share.aggregate for share in shares] == list(asked.aggregates)
    assert sum(share.units for share in shares) == units
    for share in shares:
        one = share.aggregate
        moved = one.sensitivity if relation == Neighbours.ADD_REMOVE else max(one.sensitivity, one.spread)
        assert share.steps == (steps_of(one.high - one.low + 1) if one.kind == "ranks" else 1)
        assert share.mechanism == mechanism_for(chosen.measure, share.units // share.steps, moved)


@pytest.mark.parametrize(("measure", "units"), [*product(MEASURES, [2, 3, 10**9, 10**9 + 1])])
def test_an_average_is_half_a_sum_and_half_a_count(measure, units):
    """As every ledger before has it, to the unit: stored answers were given noise so."""
    chosen = replace(SETTINGS, measure=MEASURES[measure])
    for asked in (Statement.one("average", WITHIN, "age"), Statement.one("average", WITHIN, "pay", (0,))):
        total, rows = divide(chosen, asked, units)
        assert (total.units, rows.units) == (units // 2, units - units // 2)
        assert (total.aggregate.kind, rows.aggregate.kind) == ("sum", "rows")


@pytest.mark.parametrize("measure", MEASURES)
def test_the_division_has_the_least_error(measure):
    """Moving some cost from any part to any other makes the sum of all errors larger."""
    chosen = replace(SETTINGS, measure=MEASURES[measure])
    items = (Item("count"), Item("average", "age"), Item("variance", "age"), MEDIAN)
    asked = Statement(WITHIN, items)
    exponent = error_exponent(chosen.measure)
    shares = divide(chosen, asked, 10**9)
    used = [sum(share.aggregate in asked.aggregates_of(item) for item in items) for share in shares]
    assert sorted(used) == [1, 1, 2, 3]

    def error(parts: list[int]) -> float:
        return sum(
            times * share.steps**exponent * part**-exponent
            for times, share, part in zip(used, shares, parts, strict=True)
        )

    parts = [share.units for share in shares]
    best = error(parts)
    for give, take in product(range(len(parts)), repeat=2):
        if give != take:
            moved = list(parts)
            moved[give] -= 10**6
            moved[take] += 10**6
            assert error(moved) > best


def test_a_cost_that_cannot_be_divided_is_refused():
    with pytest.raises(CostError, match="too small to be divided among 2 noisy numbers"):
        divide(SETTINGS, Statement.one("average", WITHIN, "age"), 1)
    with pytest.raises(CostError, match="too small to be divided among 9 noisy numbers"):
        divide(SETTINGS, Statement(WITHIN, (MEDIAN,)), 8)
    with pytest.raises(CostError, match="noise of scale"):
        divide(SETTINGS, Statement(Condition.of(FAR.query()), (Item("variance", "x"),)), 10)


def test_how_the_cost_was_shared_is_told():
    notes = Release.plan(SETTINGS, Statement(WITHIN, (Item("count"), Item("average", "age"), MEDIAN)), 10**9).notes
    assert len(notes) == 1
    assert notes[0].startswith("the cost was shared for the least error: ")
    assert "% for the sum of age" in notes[0]
    assert "% for the number of rows" in notes[0]
    assert "% for the search at 1/2 of age" in notes[0]
    variance = Release.plan(SETTINGS, Statement(WITHIN, (Item("variance", "age"),)), 10**9).notes
    assert len(variance) == 1
    for quiet in (Item("count"), Item("average", "age"), Item("sum", "age"), Item("distinct", "age")):
        assert Release.plan(SETTINGS, Statement(WITHIN, (quiet,)), 10**9).notes == ()
