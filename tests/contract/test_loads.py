"""Loads in the chain of every ledger: which domain a ledger has come to, and with which it is opened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parcomp import Categorical, Domain, Integer
from parcomp.errors import LedgerError
from parcomp.ledger import Ledger, Load, domain_text, is_sealed, open_ledger, read_domain_text
from tests.contract.ledger_places import Place, assert_whole, charge
from tests.ledger.entries import BINDING, DOMAIN

GROWN = Domain({**DOMAIN.attributes, "age": Integer(0, 19)}, name="people")
GROWN_AGAIN = Domain({**GROWN.attributes, "sex": Categorical(["F", "M", "X"])}, name="people")


def load(ledger: Ledger, domain: Domain, rows: str = "r") -> None:
    with ledger.transaction() as transaction:
        transaction.append([Load.of(domain, rows).entry(0)])


def assert_loaded(ledger: Ledger, number: int, domain: Domain, rows: str) -> None:
    """The last load is the one with this number, of these rows under this domain."""
    found = ledger.last_load()
    assert found is not None
    assert (found[0], found[1].domain) == (number, domain_text(domain))
    assert is_sealed(rows, found[1].rows)


def test_the_domain_of_a_ledger_is_that_of_its_last_load(place: Place, ledger: Ledger) -> None:
    assert ledger.last_load() is None
    assert ledger.current_domain() == BINDING.domain
    load(ledger, DOMAIN, "first")
    assert_loaded(ledger, 1, DOMAIN, "first")
    charge(ledger, 3)
    load(ledger, GROWN, "second")
    load(ledger, GROWN_AGAIN, "third")
    charge(ledger, 4)
    assert [one.is_load for one in ledger.charges()] == [True, False, True, True, False]
    assert_loaded(ledger, 4, GROWN_AGAIN, "third")
    with ledger.transaction() as transaction:
        assert transaction.current_domain() == domain_text(GROWN_AGAIN)
    assert read_domain_text(ledger.current_domain()) == GROWN_AGAIN
    assert_whole(ledger)
    # The chain goes on from the binding that it was made with.
    assert ledger.binding == BINDING


def test_a_ledger_is_opened_with_the_domain_that_it_has_come_to(place: Place, ledger: Ledger) -> None:
    load(ledger, GROWN)
    grown = replace(BINDING, domain=domain_text(GROWN))
    again = open_ledger(place.url, grown)
    assert again.binding == BINDING
    again.close()
    with pytest.raises(LedgerError, match="domain has other values of attribute 'age' in the ledger than in the set"):
        open_ledger(place.url, BINDING)
    with pytest.raises(LedgerError, match="extends that of the ledger; take the table in under it with parcomp load"):
        open_ledger(place.url, replace(BINDING, domain=domain_text(GROWN_AGAIN)))
    with pytest.raises(LedgerError, match=r"belongs to other settings: domain has other .*; the budget is"):
        open_ledger(place.url, replace(BINDING, domain=domain_text(GROWN_AGAIN), budget_units=5))


def test_a_ledger_is_opened_for_a_load_with_an_extension(place: Place, ledger: Ledger) -> None:
    load(ledger, GROWN)
    for domain in (GROWN, GROWN_AGAIN):
        opened = open_ledger(place.url, replace(BINDING, domain=domain_text(domain)), extending=True)
        assert opened.current_domain() == domain_text(GROWN)
        opened.close()
    with pytest.raises(LedgerError, match="or one that extends it: attribute 'age' does not extend"):
        open_ledger(place.url, BINDING, extending=True)
    with pytest.raises(LedgerError, match="the budget is"):
        open_ledger(place.url, replace(BINDING, domain=domain_text(GROWN), budget_units=5), extending=True)
