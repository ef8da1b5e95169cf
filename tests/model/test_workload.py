"""Workloads: columns that behave as a list of queries with costs and ids."""

from __future__ import annotations

import itertools
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.costs import UNITS_PER_ONE, Cost
from parcomp.errors import CostError, DomainError, PredicateError, WorkloadError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload
from tests.property.strategies import costs, domains, few, many, wheres, workloads

PEOPLE = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 9, nullable=True), "pay": Binned(0, 1, 4)})


def listed(workload: Workload) -> list[tuple[Any, ...]]:
    return [(query, workload.cost_of(i), workload.id_of(i)) for i, query in enumerate(workload)]


@st.composite
def parts(draw: st.DrawFn) -> tuple[Domain, list[dict[str, Any]], list[Cost]]:
    domain = draw(domains())
    asked = draw(st.lists(wheres(domain), max_size=6))
    return domain, asked, draw(st.lists(costs(), min_size=len(asked), max_size=len(asked)))


@many
@given(parts())
def test_a_workload_holds_what_it_was_given(case: tuple[Domain, list[dict[str, Any]], list[Cost]]) -> None:
    domain, asked, spent = case
    queries = [domain.query(where) for where in asked]
    workload = Workload(domain, queries, spent)
    assert len(workload) == len(queries)
    assert listed(workload) == list(zip(queries, spent, range(1, len(queries) + 1), strict=True))
    # Tautologies decide nothing about overlap: they are no terms.
    assert len(workload.term) == sum(len(query.terms) for query in queries)
    last = np.arange(len(queries))[::-1]
    assert list(workload[last]) == queries[::-1]
    assert list(workload.with_costs(np.ones(len(queries), np.int64), "weight")) == queries
    assert workload.ids == list(range(1, len(queries) + 1))


@many
@given(workloads(max_queries=8, one_kind=False), st.data())
def test_slices_are_those_of_a_list(workload: Workload, data: st.DataObject) -> None:
    whole, count = listed(workload), len(workload)
    cut = data.draw(st.slices(count))
    assert listed(workload[cut]) == whole[cut]
    flags = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    assert listed(workload[np.array(flags, np.bool_)]) == list(itertools.compress(whole, flags))
    if count:
        positions = data.draw(st.lists(st.integers(-count, count - 1), unique_by=lambda i: i % count))
        assert listed(workload[positions]) == [whole[position] for position in positions]
        assert workload[-1] == whole[-1][0]
    with pytest.raises(IndexError):
        workload[[count]]
    with pytest.raises(IndexError):
        workload[count]


def test_equal_predicates_are_held_once() -> None:
    queries = [PEOPLE.query(sex="F", age=[1, 2]), PEOPLE.query(sex=["F"], age={"from": 1, "to": 2}), PEOPLE.query()]
    workload = Workload(PEOPLE, queries)
    assert len(workload.table.predicates) == 2
    assert workload.term.tolist() == [0, 1, 0, 1]
    assert workload.start.tolist() == [0, 2, 4, 4]


@st.composite
def choices(draw: st.DrawFn) -> tuple[Domain, dict[str, list[Any]]]:
    domain = draw(domains(max_attributes=3))
    names = draw(st.permutations(domain.names))
    asked = {name: [w.get(name) for w in draw(st.lists(wheres(domain), max_size=3))] for name in names}
    return domain, asked


@many
@given(choices())
def test_a_product_is_every_combination_in_order(case: tuple[Domain, dict[str, list[Any]]]) -> None:
    domain, asked = case
    expected = [
        domain.query({name: written for name, written in zip(asked, combination, strict=True) if written is not None})
        for combination in itertools.product(*asked.values())
    ]
    workload = Workload.product(domain, asked, cost="0.5")
    assert [query.terms for query in workload] == [query.terms for query in expected]
    assert set(workload.units.tolist()) <= {UNITS_PER_ONE // 2}
    assert workload.ids == list(range(1, len(expected) + 1))


def test_none_in_a_product_is_the_tautology_and_a_list_of_it_is_null() -> None:
    workload = Workload.product(PEOPLE, {"age": [None, [None], 3]})
    assert list(workload) == [PEOPLE.query(), PEOPLE.query(age=None), PEOPLE.query(age=3)]


def test_the_product_of_nothing_is_one_query_and_that_of_no_choice_is_none() -> None:
    assert list(Workload.product(PEOPLE, {})) == [PEOPLE.query()]
    assert len(Workload.product(PEOPLE, {"age": [], "sex": [None, "F"]})) == 0


def test_a_product_takes_lists_of_predicates_that_fit() -> None:
    with pytest.raises(PredicateError, match="sex: a product takes a list"):
        Workload.product(PEOPLE, {"sex": "FM"})
    with pytest.raises(PredicateError, match="age: 'x' is not an integer"):
        Workload.product(PEOPLE, {"age": ["x"]})
    with pytest.raises(DomainError, match="unknown attribute"):
        Workload.product(PEOPLE, {"height": [1]})


MILLION = """
import time
from parcomp.model.attribute import Integer
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload
domain = Domain({f"a{i}": Integer(0, 999) for i in range(5)})
began = time.perf_counter()
workload = Workload.product(domain, {
    "a0": [None, *range(9)],
    "a1": [{"from": 0, "to": i} for i in range(10)],
    "a2": [[i, i + 500] for i in range(10)],
    "a3": [{"not": i} for i in range(10)],
    "a4": list(range(100)),
})
seconds = time.perf_counter() - began
part = workload[::1000]
assert len(part) == 1000 and part.id_of(1) == 1001 and part[1] == workload[1000]
# The peak that getrusage tells is the parent's where that was larger.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(workload), seconds, int(peak) / 1024)
"""


def test_a_product_of_a_million_queries_is_small_and_quick() -> None:
    done = subprocess.run([sys.executable, "-c", MILLION], capture_output=True, text=True, check=True, timeout=120)
    count, seconds, megabytes = (float(number) for number in done.stdout.split())
    assert count == 1_000_000
    assert seconds < 5
    assert megabytes < 500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"costs": [1]}, "fewer costs"),
        ({"costs": [1, 1, 1]}, "more costs"),
        ({"ids": ["a"]}, "fewer ids"),
        ({"ids": ["a", "b", "c"]}, "more ids"),
        ({"ids": ["a", "a"]}, "twice"),
        ({"ids": ["2", None]}, "twice"),
        ({"ids": ["a", ""]}, "non-empty"),
        ({"ids": ["a", 1.5]}, "string or an integer"),
        ({"ids": ["a", True]}, "string or an integer"),
        ({"ids": ["a", "\ud800"]}, "Unicode"),
    ],
)
def test_costs_and_ids_must_match_the_queries(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        Workload(PEOPLE, [PEOPLE.query(), PEOPLE.query(sex="F")], **arguments)


@pytest.mark.parametrize("cost", [0, -1, float("nan"), float("inf"), True, None, "x", "1e-10", 10**30])
def test_a_cost_must_be_a_positive_number(cost: Any) -> None:
    with pytest.raises(CostError):
        Workload(PEOPLE, [PEOPLE.query()], costs=[cost])


def test_a_query_of_another_domain_is_an_error() -> None:
    reordered = Domain(dict(reversed(PEOPLE.attributes.items())))
    with pytest.raises(WorkloadError, match="another domain"):
        Workload(PEOPLE, [reordered.query(sex="F")])


def test_costs_of_different_kinds_do_not_add_up() -> None:
    workload = Workload(PEOPLE, [PEOPLE.query()] * 2, [Cost.of("epsilon", 1), Cost.of("rho", 1)])
    with pytest.raises(WorkloadError, match="epsilon and rho"):
        _ = workload.total


@few
@given(st.lists(st.integers(1, 10**13), max_size=5))
def test_mu_adds_up_in_squares_that_are_rounded_up(units: list[int]) -> None:
    workload = Workload(PEOPLE, [PEOPLE.query()] * len(units), [Cost("mu", unit) for unit in units])
    for unit, square in zip(units, workload.additive_units().tolist(), strict=True):
        assert Decimal(unit) ** 2 <= Decimal(square) * UNITS_PER_ONE < Decimal(unit) ** 2 + UNITS_PER_ONE


def test_the_square_of_a_mu_must_be_bookable() -> None:
    with pytest.raises(CostError, match="square"):
        _ = Workload(PEOPLE, [PEOPLE.query()], [Cost.of("mu", 10**6)]).total


def test_an_empty_workload_costs_nothing() -> None:
    empty = Workload(PEOPLE)
    assert (len(empty), empty.total, empty.kind, empty.ids, list(empty)) == (0, 0, "weight", [], [])
