"""Views that are kept for a head of the ledger say what they would say if they were worked out anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp import Domain, Integer
from parcomp.custodian import Custodian, budget_map, charge_graph, overlook
from parcomp.custodian.own_spending import OwnSpending
from parcomp.ledger import chain
from parcomp.privacy import Neighbours
from tests.custodian.test_views import ledgers, rows, spending
from tests.custodians import open_custodian
from tests.property.strategies import few


@few
@given(ledger=ledgers(), parts=st.lists(st.integers(0, 6), max_size=4))
def test_what_an_analyst_has_spent_is_never_less_than_on_any_row(ledger, parts):
    """Charges come in parts; the bound is exact, as the domains are small, whatever the parts are."""
    domain, queries, units = ledger
    charges = spending(queries, units)
    known = OwnSpending(domain, 10**9, Neighbours.ADD_REMOVE)
    for end in sorted({*parts, len(charges)}):
        seen = charges[:end]
        assert known.continues(seen)
        most = max(
            sum(cost for query, cost in zip(queries[:end], units[:end], strict=True) if query.covers(row))
            for row in rows(domain)
        )
        assert known.loss(seen, 1 << 26) == most


def test_a_cheap_charge_on_other_rows_leaves_what_was_spent():
    domain = Domain({"age": Integer(0, 9)})
    charges = spending([domain.query(age=1), domain.query(age=2), domain.query(age=[1, 2])], [10, 1, 2])
    known = OwnSpending(domain, 10**9, Neighbours.ADD_REMOVE)
    assert [known.loss(charges[:count], 1 << 26) for count in (1, 2, 3)] == [10, 10, 12]


def test_another_history_is_begun_anew():
    domain, queries = _two_queries()
    charges = spending(queries, [3, 4])
    known = OwnSpending(domain, 10**9, Neighbours.ADD_REMOVE)
    known.loss(charges, 1 << 26)
    assert known.continues(charges)
    assert not known.continues(charges[:1])
    other = chain("1" * 64, 2, charges[1][0])
    assert not known.continues([charges[0], (other, charges[1][1])])


def _two_queries():
    domain = Domain({"age": Integer(0, 9)})
    return domain, [domain.query(age=1), domain.query()]


def test_views_follow_the_ledger_and_are_worked_out_once(tmp_path, monkeypatch):
    drawn = []

    def noting(*arguments):
        drawn.append(arguments[2:])
        return budget_map(*arguments)

    monkeypatch.setattr(overlook, "budget_map", noting)
    with open_custodian(tmp_path, budget="2.0") as custodian:
        for age in range(4):
            custodian.ask(f"SELECT COUNT(*) FROM people WHERE age <= {age}", epsilon="0.1", analyst=f"a{age % 2}")
            for _ in range(2):
                found = custodian.overlook.map("sex", "age")
                assert found == budget_map(custodian.settings, custodian.spending(), "sex", "age")
                assert custodian.overlook.graph(10) == charge_graph(custodian.settings, custodian.spending(), 10)
                own = custodian.overlook.graph(10, "a1")
                assert {node.charge.analyst for node in own.nodes} <= {"a1"}
            assert len(drawn) == age + 1
            assert custodian.charges() == custodian._ledger.charges()


@pytest.mark.parametrize("count", [0, 3])
def test_charges_are_those_of_the_ledger_whoever_made_them(tmp_path, count):
    """Another custodian on the same ledger charges as well."""
    with open_custodian(tmp_path) as one, Custodian(one.settings) as other:
        for age in range(count):
            other.ask(f"SELECT COUNT(*) FROM people WHERE age = {age}", epsilon="0.1")
        assert one.charges() == other.charges() == one._ledger.charges()
        assert len(one.charges()) == count
