"""Statements: their groups, their measured numbers and their notation, against plain enumeration."""

from __future__ import annotations

import hashlib
import json
import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import DomainError, PredicateError, SizeError, WorkloadError
from parcomp.model.attribute import Binned, Categorical, Integer, Stepped
from parcomp.model.bands import Bands
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.statement import MAX_GROUPS, MAX_ITEMS, Aggregate, Grouping, Item, Kind, Statement
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
    statement = Statement.one("count", EVERYTHING)
    assert statement.aggregates == (Aggregate(),)
    assert (Aggregate().sensitivity, Aggregate().spread) == (1, 0)
    assert (statement.group_count, list(statement.group_labels())) == (1, [()])


@many
@given(st.integers(-30, 30), st.integers(0, 40), st.sampled_from(["sum", "average"]))
def test_no_row_changes_a_sum_by_more_than_its_sensitivity(low: int, extent: int, kind: Kind) -> None:
    domain = Domain({"x": Integer(low, low + extent)})
    summed = Statement.one(kind, Condition.of(domain.query()), "x").aggregates[0]
    added = [min(max(value, summed.low), summed.high) - summed.center for value in range(low - 20, low + extent + 21)]
    assert max(abs(number) for number in added) <= summed.sensitivity
    assert max(added) - min(added) == summed.spread == extent
    # Values within the bounds are summed as they are.
    assert set(added) == {value - summed.center for value in range(low, low + extent + 1)}
    assert len(Statement.one(kind, Condition.of(domain.query()), "x").aggregates) == (2 if kind == "average" else 1)


def test_centering_about_halves_what_a_row_can_change() -> None:
    domain = Domain({"x": Integer(100, 200)})
    assert Statement.one("sum", Condition.of(domain.query()), "x").aggregates[0].sensitivity == 200
    assert Statement.one("average", Condition.of(domain.query()), "x").aggregates[0].sensitivity == 50


@pytest.mark.parametrize("kind", ["sum", "average"])
@pytest.mark.parametrize("name", ["income", "rate"])
def test_bins_have_no_sum(kind: Kind, name: str) -> None:
    with pytest.raises(PredicateError, match=rf"{name}: only the bins are known.* without bins .* with a step"):
        Statement.one(kind, EVERYTHING, name)


def test_a_sum_is_over_the_rows_that_have_a_value() -> None:
    assert Statement.one("sum", EVERYTHING, "age").query == DOMAIN.query(age={"not": None})
    assert Statement.one("sum", EVERYTHING, "big").query == DOMAIN.query(big={"not": []})
    assert Statement.one("count", EVERYTHING).query == DOMAIN.query()


def test_a_row_without_a_group_is_in_no_number() -> None:
    grouped = Statement.one("count", Condition.of(DOMAIN.query(age=2)), groups=(0, 1))
    assert grouped.query == DOMAIN.query(sex=["F", "M"], age=2)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(PredicateError, match="sex"):
        Statement.one("average", EVERYTHING, "sex")
    with pytest.raises(DomainError, match="height"):
        Statement.one("sum", EVERYTHING, "height")
    with pytest.raises(DomainError, match="height"):
        Statement.one("distinct", EVERYTHING, "height")
    with pytest.raises(WorkloadError, match="taken of an attribute"):
        Statement.one("sum", EVERYTHING)
    with pytest.raises(WorkloadError, match="count, sum, average"):
        Statement.one("median", EVERYTHING, "age")  # type: ignore[arg-type]
    with pytest.raises(SizeError, match="200,001 groups"):
        Statement.one("count", EVERYTHING, groups=(4,))
    assert Statement.one("count", Condition.of(DOMAIN.query(big=[1, 5])), groups=(4,)).group_count == 2
    most = Condition.of(DOMAIN.query(big=range(MAX_GROUPS)))
    assert Statement.one("count", most, groups=(4,)).group_count == MAX_GROUPS


PARTS = {"sex": st.sampled_from([["F"], ["M"], ["F", "M"], []]), "age": st.lists(st.sampled_from([0, 2, 3, None]))}


@many
@given(st.lists(st.fixed_dictionaries({}, optional=PARTS), max_size=4), st.sets(st.integers(0, 2)))
def test_every_row_of_the_condition_falls_into_one_declared_group(wheres: list[dict], groups: set[int]) -> None:
    condition = Condition(DOMAIN, tuple(DOMAIN.query(where) for where in wheres))
    statement = Statement.one("count", condition, groups=tuple(groups))
    names = [DOMAIN.names[index] for index in sorted(groups)]
    listed = list(statement.group_labels())
    assert len(set(listed)) == len(listed) == statement.group_count
    values = [[attribute.value(code) for code in range(attribute.size)] for attribute in DOMAIN.attributes.values()]
    rows = [dict(zip(DOMAIN.names, row, strict=True)) for row in product(*values[:4], [0])]
    reached = {tuple(row[name] for name in names) for row in rows if condition.covers(row)}
    assert reached <= set(listed)
    # No group is listed on which the condition leaves some attribute no such value; without groups one answer remains.
    for position in range(len(names)):
        assert {group[position] for group in listed} == {group[position] for group in reached}


def test_the_text_names_all_that_is_asked_and_nothing_of_its_wording() -> None:
    query = DOMAIN.query(age=[3, 2])
    mean = Statement.one("average", Condition.of(query), "age", groups=(2, 0, 2))
    assert json.loads(mean.text) == {
        "kind": "average",
        "attribute": "age",
        "groups": ["sex", "income"],
        "where": [{"age": [2, 3]}],
    }
    same = Statement.one(
        "average", Condition(DOMAIN, (DOMAIN.query(age=2), DOMAIN.query(age=[3, None]))), "age", (0, 2)
    )
    assert same == mean
    assert same.text == mean.text
    others = [
        Statement.one("sum", mean.where, "age", (0, 2)),
        Statement.one("average", mean.where, "age", (0,)),
        Statement.one("average", mean.where, "age"),
        Statement.one("count", mean.where, groups=(0,)),
        Statement.one("count", mean.where),
        Statement.one("average", mean.where, "big", (0, 2)),
    ]
    assert len({mean.text, *(other.text for other in others)}) == 7


MEDIAN = Item("quantile", "age", Fraction(1, 2))


@many
@given(st.integers(-30, 30), st.integers(0, 40))
def test_no_row_changes_squares_by_more_than_their_sensitivity(low: int, extent: int) -> None:
    domain = Domain({"x": Integer(low, low + extent)})
    _, squares, _ = Statement.one("variance", Condition.of(domain.query()), "x").aggregates
    added = [(value - squares.center) ** 2 - squares.offset for value in range(low, low + extent + 1)]
    assert max(abs(number) for number in added) == squares.sensitivity or extent < 2
    assert max(abs(number) for number in added) <= squares.sensitivity
    assert max(added) - min(added) <= squares.spread
    # About half of what plain squares would move by.
    assert squares.sensitivity <= (extent + 1) ** 2 / 8 + 1


@pytest.mark.parametrize("place", ["0", "1/10", "1/4", "1/2", "9/10", "1"])
def test_no_row_changes_a_number_of_ranks_by_more_than_its_sensitivity(place: str) -> None:
    ranks = Aggregate("ranks", "age", 0, 4, at=Fraction(place))
    below, above = ranks.weights
    assert Fraction(above, below + above) == Fraction(place)
    # A row up to the value adds the one, a row above takes the other away.
    assert max(below, above) == ranks.sensitivity
    assert below + above == ranks.spread


def test_items_share_the_numbers_that_they_follow_from() -> None:
    items = (Item("average", "big"), Item("count"), Item("variance", "big"), Item("deviation", "big", sample=False))
    kinds = [one.kind for one in Statement(EVERYTHING, items).aggregates]
    # Rows with a value of big are not all rows: undeclared values have none.
    assert sorted(kinds) == ["rows", "rows", "squares", "sum"]
    within = Condition.of(DOMAIN.query(big={"not": []}))
    assert sorted(one.kind for one in Statement(within, items).aggregates) == ["rows", "squares", "sum"]
    [total] = [one for one in Statement(within, (*items, Item("sum", "big"))).aggregates if one.kind == "sum"]
    assert (total.center, total.sensitivity) == (0, 200_000)
    medians = Statement(within, (Item("quantile", "big", Fraction(1, 2)), Item("quantile", "big", Fraction(1, 4))))
    assert [one.kind for one in medians.aggregates] == ["ranks", "ranks"]


def test_a_quantile_is_searched_for_among_the_values_that_the_condition_leaves() -> None:
    some = Statement(Condition.of(DOMAIN.query(big=[7, 12, 300])), (Item("quantile", "big", Fraction(1, 2)),))
    [ranks] = some.aggregates
    assert (ranks.low, ranks.high) == (7, 300)


def test_statements_that_ask_for_the_same_are_equal() -> None:
    mean, rows = Item("average", "age"), Item("count")
    bands = Grouping(1, DECADES)
    one = Statement(EVERYTHING, (mean, rows, mean), (bands, Grouping(0), bands))
    other = Statement(EVERYTHING, (rows, mean), (Grouping(0), bands))
    assert one == other
    assert one.text == other.text
    assert json.loads(one.text) == {
        "groups": ["sex", {"attribute": "age", "bands": [["young", [0, 1]], [None, {"not": {"from": 0, "to": 3}}]]}],
        "items": [{"attribute": "age", "kind": "average"}, {"kind": "count"}],
        "where": [{}],
    }
    texts = {
        Statement(EVERYTHING, (rows, mean)).text,
        Statement(EVERYTHING, (rows,), (bands,)).text,
        Statement(EVERYTHING, (rows,), (Grouping(1),)).text,
        Statement(EVERYTHING, (MEDIAN,)).text,
        Statement(EVERYTHING, (Item("quantile", "age", Fraction(1, 4)),)).text,
        Statement(EVERYTHING, (Item("variance", "age"),)).text,
        Statement(EVERYTHING, (Item("variance", "age", sample=False),)).text,
    }
    assert len(texts) == 7


DECADES = Bands(("young", None), tuple(Predicate.from_codes(6, codes) for codes in ([0, 1], [4, 5])))
PARITY = Bands((0, 1), tuple(Predicate.from_codes(6, codes) for codes in ([0, 2, 4], [1, 3, 5])))


def test_groupings_of_one_attribute_split_each_other() -> None:
    both = Statement(EVERYTHING, groups=(Grouping(1, DECADES), Grouping(1, PARITY)))
    [key] = both.group_keys()
    assert key.values == Predicate.from_codes(6, [0, 1, 4, 5])
    # Labels stand in the order of the statement's groups.
    first = {DECADES: {"young", None}, PARITY: {0, 1}}[both.groups[0].bands]
    assert {labels[0] for labels in both.group_labels()} == first
    assert len(set(both.group_labels())) == both.group_count == 4
    with_values = Statement(EVERYTHING, groups=(Grouping(1, DECADES), Grouping(1)))
    assert with_values.groups[0] == Grouping(1)
    assert set(with_values.group_labels()) == {(0, "young"), (1, "young"), (4, None), (None, None)}
    assert both.touched == 2


def test_bands_leave_out_what_bears_no_label_or_is_not_asked_for() -> None:
    asked = Statement(Condition.of(DOMAIN.query(age=[1, 2, 4])), groups=(Grouping(1, DECADES),))
    assert list(asked.group_labels()) == [("young",), (None,)]
    assert asked.query == DOMAIN.query(age=[1, 4])
    nobody = Statement(Condition.of(DOMAIN.query(age=[2, 3])), groups=(Grouping(1, DECADES),))
    assert nobody.group_count == 0
    assert nobody.query.is_contradiction


@many
@given(
    st.lists(st.fixed_dictionaries({}, optional=PARTS), min_size=1, max_size=3),
    st.lists(
        st.sampled_from(
            [
                Item("count"),
                Item("count", "age"),
                Item("sum", "age"),
                Item("distinct", "sex"),
                Item("sum", "big"),
                MEDIAN,
            ]
        ),
        min_size=1,
        max_size=3,
    ),
    st.sets(st.sampled_from([Grouping(0), Grouping(1), Grouping(1, DECADES), Grouping(1, PARITY)])),
)
def test_every_row_that_is_in_some_number_is_charged_for(
    wheres: list[dict], items: list[Item], groups: set[Grouping]
) -> None:
    asked = Statement(Condition(DOMAIN, tuple(map(DOMAIN.query, wheres))), tuple(items), tuple(groups))
    for sex, age in product(["F", "M"], [0, 1, 2, 3, 4, None]):
        row = {"sex": sex, "age": age, "income": 0.5, "rate": 0, "big": 0}
        code = DOMAIN.attributes["age"].code(age)
        grouped = all(one.bands is None or any(code in member for member in one.bands.members) for one in asked.groups)
        if grouped and any(asked.rows_of(one).covers(row) for one in asked.aggregates):
            assert asked.query.covers(row)


def test_many_bands_on_one_attribute() -> None:
    """Each takes a time that does not grow with how many there are."""
    size = DOMAIN.attributes["big"].size
    halves = tuple(Predicate.from_runs(size, [(2 * i, 2 * i + 2)]) for i in range(20_000))
    asked = Statement(EVERYTHING, groups=(Grouping(4, Bands(tuple(range(20_000)), halves)),))
    assert asked.group_count == 20_000
    assert asked.group_keys()[0].values.count == 40_000


def test_what_is_no_item_is_refused() -> None:
    for wrong, why in (
        ({"kind": "quantile", "attribute": "age"}, "place"),
        ({"kind": "sum", "attribute": "age", "at": Fraction(1, 2)}, "place"),
        ({"kind": "quantile", "attribute": "age", "at": Fraction(3, 2)}, "from 0 to 1"),
        ({"kind": "quantile", "attribute": "age", "at": Fraction(1, 10**6 + 1)}, "1,000,000 parts"),
        # Python writes no whole number of so many digits.
        ({"kind": "quantile", "attribute": "age", "at": Fraction(1, 10**5_000)}, "1,000,000 parts"),
        ({"kind": "sum", "attribute": "age", "sample": False}, "sample"),
        ({"kind": "distinct"}, "of an attribute"),
    ):
        with pytest.raises(WorkloadError, match=why):
            Item(**wrong)
    with pytest.raises(WorkloadError, match="an item or a group at least"):
        Statement(EVERYTHING, ())
    with pytest.raises(SizeError, match="101 items"):
        Statement(EVERYTHING, tuple(Item("quantile", "age", Fraction(i, 200)) for i in range(MAX_ITEMS + 1)))
    with pytest.raises(WorkloadError, match="position 9"):
        Statement(EVERYTHING, groups=(Grouping(9),))
    with pytest.raises(PredicateError, match="sex: bands are of all 2 values"):
        Statement(EVERYTHING, groups=(Grouping(0, DECADES),))
    for labels in ((["a"], "b"), (float("nan"), "b"), ("a", "a")):
        with pytest.raises(PredicateError, match="label"):
            Bands(labels, DECADES.members)
    with pytest.raises(PredicateError, match="two bands"):
        Bands(("a", "b"), (DECADES.members[0], PARITY.members[0]))


def test_items_in_words() -> None:
    assert [str(one) for one in (Item("count"), MEDIAN, Item("quantile", "age", Fraction(9, 10)))] == [
        "count",
        "median of age",
        "quantile at 9/10 of age",
    ]


def test_single_items_are_written_as_ledgers_have_them() -> None:
    """3,000 statements: their texts, charged queries and numbers are those of version 0.2.0, to the byte."""
    domain = Domain(
        {
            "sex": Categorical(["F", "M"]),
            "age": Integer(0, 119, nullable=True),
            "pay": Stepped("0", "20", "0.5"),
            "area": Categorical(["N", "S", "W"], True),
        }
    )
    chance = random.Random(11)
    found = []
    for _ in range(3000):
        condition = Condition(domain, ())
        for _ in range(chance.choice([1, 1, 2])):
            terms = {}
            for name, attribute in domain.attributes.items():
                if chance.random() < 0.5:
                    many = chance.choice([1, min(3, attribute.size), attribute.size, 0])
                    codes = chance.sample(range(attribute.size), many)
                    terms[name] = Predicate.from_codes(attribute.size, codes)
            condition |= Condition.of(domain.query(terms))
        kind: Kind = chance.choice(["count", "sum", "average"])
        about = None if kind == "count" else chance.choice(["age", "pay"])
        asked = Statement.one(kind, condition, about, tuple(chance.sample([0, 3], chance.choice([0, 1, 2]))))
        charged = "contradiction" if asked.query.is_contradiction else json.dumps(asked.query.where())
        numbers = [(a.attribute, a.low, a.high, a.center, a.sensitivity, a.spread) for a in asked.aggregates]
        found.append((asked.text, charged, asked.group_count, asked.touched, numbers))
    digest = hashlib.sha256(repr(found).encode()).hexdigest()
    assert digest == "5c22583343d0f0e58d44203ab591c6546dfd9f8ff1b916fafd3da97e14bcb028"


def test_a_statement_of_groups_alone_covers_no_row() -> None:
    """It lists what is declared, as far as its condition leaves it, and measures nothing."""
    where = Condition.of(DOMAIN.query(age=range(3)))
    groups = Statement(where, (), (Grouping(0),))
    assert groups.aggregates == ()
    assert groups.query.is_contradiction
    assert list(groups.group_labels()) == list(Statement(where, (Item("count"),), (Grouping(0),)).group_labels())
    assert groups.text != Statement(where, (Item("count"),), (Grouping(0),)).text
