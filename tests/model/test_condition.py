"""Conditions against plain enumeration of rows."""

from __future__ import annotations

import json
import random
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import SizeError, WorkloadError
from parcomp.model.attribute import Categorical, Integer
from parcomp.model.condition import MAX_ALTERNATIVES, Condition
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query
from tests.property.strategies import many

DOMAIN = Domain({"a": Integer(0, 3), "b": Categorical(["x", "y"], nullable=True), "c": Integer(0, 2)})
SIZES = [attribute.size for attribute in DOMAIN.attributes.values()]
ROWS = list(product(*(range(size + 1) for size in SIZES)))
"""All rows; the last code stands for a value outside the domain, which satisfies no predicate."""
INSIDE = [row for row in ROWS if all(code < size for code, size in zip(row, SIZES, strict=True))]


@st.composite
def queries(draw: st.DrawFn) -> Query:
    terms = []
    for index, size in enumerate(SIZES):
        if draw(st.booleans()):
            terms.append((index, Predicate.from_codes(size, draw(st.sets(st.integers(0, size - 1))))))
    return Query(DOMAIN, tuple(terms))


unions = st.lists(queries(), max_size=6)
conditions = unions.map(lambda found: Condition(DOMAIN, tuple(found)))


def covered(query: Query) -> set[tuple[int, ...]]:
    return {row for row in ROWS if all(row[index] in predicate for index, predicate in query.tested)}


def rows_of(condition: Condition) -> set[tuple[int, ...]]:
    return {row for query in condition.alternatives for row in covered(query)}


@many
@given(unions)
def test_simplifying_keeps_the_rows(found: list[Query]) -> None:
    condition = Condition(DOMAIN, tuple(found))
    truth = {row for query in found for row in covered(query)}
    assert rows_of(condition) == truth
    assert condition.is_contradiction == (not truth)
    assert {row for row in INSIDE if condition.covers(DOMAIN.row(row))} == truth & set(INSIDE)
    assert len(condition.alternatives) <= len(found)


def test_two_alternatives_keep_their_rows_however_they_lie() -> None:
    """All pairs on two attributes: nested, equal, overlapping and apart."""
    subsets = [[code for code in range(4) if bits >> code & 1] for bits in range(1, 16)]
    terms = [
        [(0, Predicate.from_codes(4, first)), *([(2, Predicate.from_codes(3, second))] if second else [])]
        for first, second in product(subsets, ([], [0], [0, 1]))
    ]
    known = {query: covered(query) for query in (Query(DOMAIN, tuple(some)) for some in terms)}
    for one, other in combinations(known, 2):
        for pair in ((one, other), (other, one)):
            assert rows_of(Condition(DOMAIN, pair)) == known[one] | known[other]


@many
@given(unions)
def test_no_alternative_is_within_another_or_merges_with_it(found: list[Query]) -> None:
    alternatives = Condition(DOMAIN, tuple(found)).alternatives
    for one, other in product(alternatives, repeat=2):
        if one is not other:
            assert not covered(one) <= covered(other)
            different = [i for i in range(len(SIZES)) if dict(one.tested).get(i) != dict(other.tested).get(i)]
            assert len(different) > 1


@many
@given(unions, st.randoms())
def test_the_order_of_the_alternatives_does_not_count(found: list[Query], shuffler: Any) -> None:
    shuffled = [*found, *found[:2]]
    shuffler.shuffle(shuffled)
    assert Condition(DOMAIN, tuple(found)) == Condition(DOMAIN, tuple(shuffled))


def test_alternatives_are_in_the_order_of_their_notations() -> None:
    """An order of hashes would be another one in the next process, and the statement another one in the ledger."""
    domain = Domain({"a": Integer(0, 19), "b": Integer(0, 19)})
    wheres = Condition(domain, tuple(domain.query(a=value, b=19 - value) for value in range(20))).where()
    assert len(wheres) == 20
    assert wheres == sorted(wheres, key=lambda where: json.dumps(where, sort_keys=True))


@many
@given(conditions)
def test_the_hull_is_the_smallest_query_around_the_rows(condition: Condition) -> None:
    truth = rows_of(condition)
    hull = covered(condition.hull)
    assert truth <= hull
    sides = [{row[index] for row in truth} for index in range(len(SIZES))]
    assert hull == {row for row in ROWS if truth and all(row[i] in side for i, side in enumerate(sides))}
    assert condition.hull.is_contradiction == (not truth)


def test_hulls_and_rows_of_many_random_unions() -> None:
    """400 unions of up to six queries: the rows stay, and the hull is on each attribute what they have there."""
    draw = random.Random(0)
    several = 0
    for _ in range(400):
        found = []
        for _ in range(draw.randint(1, 6)):
            sets = [[code for code in range(size) if draw.random() < 0.4] for size in SIZES]
            terms = [(i, Predicate.from_codes(SIZES[i], codes)) for i, codes in enumerate(sets) if draw.random() < 0.8]
            found.append(Query(DOMAIN, tuple(terms)))
        condition = Condition(DOMAIN, tuple(found))
        truth = {row for query in found for row in covered(query)}
        assert rows_of(condition) == truth
        sides = [{row[index] for row in truth} for index in range(len(SIZES))]
        assert covered(condition.hull) == set(product(*sides))
        several += len(condition.alternatives) > 1
    assert several > 100


@many
@given(conditions, conditions)
def test_and_and_or_are_those_of_the_rows(one: Condition, other: Condition) -> None:
    assert rows_of(one & other) == rows_of(one) & rows_of(other)
    assert rows_of(one | other) == rows_of(one) | rows_of(other)


@many
@given(queries(), queries())
def test_conjunctions_with_the_same_rows_are_equal(one: Query, other: Query) -> None:
    mine, theirs = Condition.of(one), Condition.of(other)
    assert (mine == theirs) == (covered(one) == covered(other))
    assert (Condition.of(one) & Condition.of(other)) == Condition.of(one & other)


def test_values_of_one_attribute_become_one_alternative_however_many() -> None:
    domain = Domain({"a": Integer(0, 9_999), "b": Integer(0, 1)})
    union = Condition(domain, tuple(domain.query(a=2 * value, b=1) for value in range(1_000)))
    assert union.alternatives == (domain.query(a=list(range(0, 2_000, 2)), b=1),)


def test_too_many_alternatives_are_refused() -> None:
    domain = Domain({"a": Integer(0, 999), "b": Integer(0, 999), "c": Integer(0, 999), "d": Integer(0, 999)})
    diagonal = [domain.query(a=value, b=value) for value in range(MAX_ALTERNATIVES + 1)]
    assert len(Condition(domain, tuple(diagonal[1:])).alternatives) == MAX_ALTERNATIVES
    with pytest.raises(SizeError, match=f"union of {MAX_ALTERNATIVES + 1} conjunctions"):
        Condition(domain, tuple(diagonal))
    other = Condition(domain, tuple(domain.query(c=value, d=value) for value in range(MAX_ALTERNATIVES)))
    with pytest.raises(SizeError, match="4,096"):
        _ = Condition(domain, tuple(diagonal[1:])) & other


def test_alternatives_belong_to_one_domain() -> None:
    other = Domain({"a": Integer(0, 3)})
    with pytest.raises(WorkloadError, match="one domain"):
        Condition(DOMAIN, (other.query(a=1),))
    with pytest.raises(WorkloadError, match="one domain"):
        _ = Condition.of(DOMAIN.query()) & Condition(other, ())


def test_the_hull_of_nothing_covers_nothing() -> None:
    assert Condition(DOMAIN, ()).hull.is_contradiction
    assert Condition.of(DOMAIN.query(a=[])).where() == []
    assert Condition.of(DOMAIN.query()).where() == [{}]
