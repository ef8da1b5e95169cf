"""The map and the graph of a ledger, held against every row of small domains: never less than was spent."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp import Domain, Integer
from parcomp.custodian import Settings, budget_map, charge_graph
from parcomp.custodian.accountant import Expense
from parcomp.errors import ArgumentError
from parcomp.ledger import Entry, chain, utc_now
from tests.custodians import load_settings
from tests.property.strategies import domains, few, wheres


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> Settings:
    return load_settings(tmp_path_factory.mktemp("views"))


def spending(queries, units):
    """Charges as a ledger has them."""
    charges, digest = [], "0" * 64
    for number, (query, cost) in enumerate(zip(queries, units, strict=True), 1):
        charge = chain(digest, number, Entry(utc_now(), "anna", "{}", "{}", cost, 10**9))
        charges.append((charge, Expense(query, cost, 1)))
        digest = charge.digest
    return charges


def rows(domain):
    return [domain.row(codes) for codes in product(*(range(a.size) for a in domain.attributes.values()))]


@st.composite
def ledgers(draw):
    domain = draw(domains().filter(lambda found: len(found.names) >= 2))
    queries = [domain.query(where) for where in draw(st.lists(wheres(domain), max_size=6))]
    queries = [query for query in queries if not query.is_contradiction]
    return domain, queries, draw(st.lists(st.integers(1, 10), min_size=len(queries), max_size=len(queries)))


@few
@given(ledger=ledgers(), bands=st.sampled_from([1, 2, 3, 60]), names=st.data())
def test_every_cell_has_the_most_that_was_spent_on_a_row_of_it(settings, ledger, bands, names):
    """Exactly, as the domains are small, in bands of any width, null among them."""
    domain, queries, units = ledger
    x, y = names.draw(st.permutations(domain.names))[:2]
    found = budget_map(replace(settings, domain=domain, budget_units=10**9), spending(queries, units), x, y, bands)
    attributes = domain.attributes
    expected = {}
    for row in rows(domain):
        spent = sum(cost for query, cost in zip(queries, units, strict=True) if query.covers(row))
        cell = tuple(
            next(
                number for number, (start, stop) in enumerate(sides) if start <= attributes[name].code(row[name]) < stop
            )
            for name, sides in ((x, found.x_bands), (y, found.y_bands))
        )
        expected[cell] = max(expected.get(cell, 0), spent)
    assert {(i, j): spent for i, line in enumerate(found.cells) for j, spent in enumerate(line)} == expected
    assert max(len(found.x_bands), len(found.y_bands)) <= max(bands, 2)


def test_bands_that_meet_the_same_charges_need_not_spend_the_same(settings):
    """In the first band each charge takes another value, in the second both take one."""
    domain = Domain({"x": Integer(0, 3), "y": Integer(0, 0)}, name="bands")
    charges = spending([domain.query(x=[0, 2]), domain.query(x=[1, 2])], [1, 1])
    assert budget_map(replace(settings, domain=domain), charges, "x", "y", 2).cells == ((1,), (2,))
    assert budget_map(replace(settings, domain=domain), charges, "y", "x", 2).cells == ((1, 2),)


@few
@given(ledger=ledgers())
def test_the_graph_has_the_pairs_that_meet_and_a_row_where_most_is_spent(settings, ledger):
    domain, queries, units = ledger
    found = charge_graph(replace(settings, domain=domain), spending(queries, units), 100)
    pairs = {(i + 1, j + 1) for i, j in combinations(range(len(queries)), 2) if queries[i].overlaps(queries[j])}
    assert set(found.edges) == pairs
    colors = {node.charge.number: node.color for node in found.nodes}
    assert all(colors[one] != colors[other] for one, other in pairs)
    most = max(
        (sum(c for q, c in zip(queries, units, strict=True) if q.covers(row)) for row in rows(domain)), default=0
    )
    assert (found.lower, found.upper) == (most, most)
    if queries:
        covering = [number for number, query in enumerate(queries, 1) if query.covers(found.witness)]
        assert list(found.members) == covering
        assert sum(units[number - 1] for number in covering) == most


def test_long_ledgers_and_large_attributes_are_bounded(settings):
    """3,000 charges on 5,000 and 10⁶ values: as many nodes as asked for, and at most sixty bands."""
    domain = Domain({"income": Integer(0, 4_999), "code": Integer(0, 999_999)}, name="large")
    queries = [domain.query(income=range(n, n + 500)) for n in range(0, 3_000)]
    charges = spending(queries, [1] * len(queries))
    large = replace(settings, domain=domain, budget_units=10**9)
    graph = charge_graph(large, charges, 500)
    assert (len(graph.nodes), graph.total, graph.upper) == (500, 3_000, 500)
    assert sum(node.maximum for node in graph.nodes) == 250
    assert {node.charge.number for node in graph.nodes if not node.maximum} >= {3_000, 2_999}
    found = budget_map(large, charges[:200], "income", "code")
    assert (len(found.x_bands), len(found.y_bands)) == (60, 60)
    assert max(max(line) for line in found.cells) == 200
    told = found.as_json(large)
    assert told["x_labels"][0] == {"from": 0, "to": 82}


@pytest.mark.parametrize(
    ("x", "y", "bands"), [("sex", "sex", 5), ("sex", "nothing", 5), ("sex", "age", 61), ("sex", "age", 0)]
)
def test_maps_that_there_are_not(settings, x, y, bands):
    with pytest.raises(ArgumentError):
        budget_map(settings, [], x, y, bands)
