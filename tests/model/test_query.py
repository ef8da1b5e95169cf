"""Queries: coverage and disjointness (Prop. "disjoint") against enumeration of all rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import PredicateError, WorkloadError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.domain import Domain
from parcomp.model.query import Query
from tests.property.strategies import domains, many, wheres


@st.composite
def domain_and_wheres(draw: st.DrawFn) -> tuple[Domain, dict[str, Any], dict[str, Any]]:
    domain = draw(domains(max_rows=150))
    return domain, draw(wheres(domain)), draw(wheres(domain))


def rows_of(domain: Domain) -> list[dict[str, Any]]:
    sizes = [attribute.size for attribute in domain.attributes.values()]
    return [domain.row(codes) for codes in product(*(range(size) for size in sizes))]


def coverage(query: Query) -> set[int]:
    return {number for number, row in enumerate(rows_of(query.domain)) if query.covers(row)}


@many
@given(domain_and_wheres())
def test_coverage_and_disjointness_agree_with_enumeration(case: tuple[Domain, dict[str, Any], dict[str, Any]]) -> None:
    domain, first, second = case
    p, q = domain.query(first), domain.query(second)
    a, b = coverage(p), coverage(q)
    assert p.coverage_size == len(a)
    assert p.is_contradiction == (not a)
    assert p.isdisjoint(q) == q.isdisjoint(p) == a.isdisjoint(b)
    assert p.overlaps(q) == (not a.isdisjoint(b))
    assert coverage(p & q) == a & b


@many
@given(domain_and_wheres())
def test_a_query_is_the_conjunction_of_its_predicates(case: tuple[Domain, dict[str, Any], dict[str, Any]]) -> None:
    domain, where, _ = case
    separate = [coverage(domain.query({name: written})) for name, written in where.items()]
    assert coverage(domain.query(where)) == set(range(domain.size)).intersection(*separate)


@many
@given(domain_and_wheres())
def test_what_a_query_says_it_asks_is_the_query(case: tuple[Domain, dict[str, Any], dict[str, Any]]) -> None:
    domain, where, _ = case
    query = domain.query(where)
    assert domain.query(query.where()) == query
    assert [index for index, _ in query.terms] == sorted({index for index, _ in query.terms})
    assert not any(predicate.is_tautology for _, predicate in query.terms)


def test_a_tautology_is_charged_like_no_predicate_and_tests_its_attribute() -> None:
    domain = Domain({"a": Integer(0, 9), "b": Categorical(["x"])})
    every = domain.query(a={"not": []}, b="x")
    assert (every.terms, every.coverage_size) == ((), domain.size)
    assert [index for index, _ in every.tested] == [0, 1]
    assert every != domain.query()
    assert every.where() == {"a": {"from": 0, "to": 9}, "b": "x"}
    outside = {"a": 10, "b": "x"}
    assert domain.query().covers(outside)
    assert not every.covers(outside)
    assert str(domain.query()) == "every row"
    assert str(domain.query(a=3)) == "a: 3"


def test_a_contradiction_is_disjoint_from_itself_and_from_every_row() -> None:
    domain = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})
    nothing = domain.query(a=[])
    assert nothing.isdisjoint(nothing)
    assert nothing.isdisjoint(domain.query(b=1))
    assert domain.query().isdisjoint(nothing)
    assert domain.query().overlaps(domain.query())


def test_coverage_of_a_huge_domain_is_counted_not_listed() -> None:
    domain = Domain({f"a{number}": Integer(1, 10**6) for number in range(20)})
    assert domain.query(a0=[{"from": 1, "to": 10}], a1={"not": 5}).coverage_size == 10 * (10**6 - 1) * 10**108


def test_rows_outside_the_domain_satisfy_only_what_does_not_look_at_them() -> None:
    domain = Domain({"a": Integer(0, 9), "b": Binned(0, 1, 2)})
    assert not domain.query(a={"not": 5}).covers({"a": 10, "b": 0})
    assert domain.query(b=0).covers({"a": 10, "b": 0})
    with pytest.raises(PredicateError, match="lacks attribute 'a'"):
        domain.query(a=5).covers({"b": 0})


def test_queries_of_different_domains_do_not_compare() -> None:
    a, b = Integer(0, 9), Integer(0, 9)
    one, other = Domain({"a": a, "b": b}), Domain({"b": b, "a": a})
    with pytest.raises(WorkloadError, match="different domains"):
        one.query(a=1).isdisjoint(other.query(a=2))
    with pytest.raises(WorkloadError, match="different domains"):
        one.query(a=1) & other.query(a=2)
