"""How ledgers are made, told apart by their bindings, and taken over from earlier versions: SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple, replace
from pathlib import Path

import psycopg
import pytest

from parcomp import Categorical, Domain, Integer
from parcomp.errors import LedgerError, MissingLedgerError
from parcomp.ledger import Binding, Ledger, Request
from parcomp.ledger.charge import chain, trail_after
from parcomp.ledger.migrations import STEPS, Step, migrate
from parcomp.privacy.measures import PURE, ZCDP
from tests.contract.ledger_places import REWRITING, Place, assert_whole, charge
from tests.ledger.entries import BINDING, DOMAIN, entry


def test_a_ledger_is_made_once_and_opened_only_if_it_is_there(place: Place) -> None:
    with pytest.raises(MissingLedgerError, match="no ledger"):
        place.open()
    # Looking for it has made nothing.
    with pytest.raises(MissingLedgerError, match="no ledger"):
        place.open()
    place.create().close()
    with pytest.raises(LedgerError, match="there is a ledger already"):
        place.create()
    ledger = place.open()
    charge(ledger, 3)
    ledger.close()
    with pytest.raises(LedgerError, match="there is a ledger already"):
        place.create()
    ledger = place.open()
    assert [one.units for one in ledger.charges()] == [3]
    ledger.close()


SAME_TO_PEOPLE = [
    ("People", "1"),
    ("people ", "1"),
    ("people", "1 "),
    ("\uff50eople", " 1"),
    ("PEOPLE", "1\t"),
    ("peo ple", "1\u200b"),
    ("pe\u00adople", "1\ufeff"),
    ("people\u2800", "1\ufe0f"),
]


@pytest.mark.parametrize(("dataset", "version"), SAME_TO_PEOPLE)
def test_a_name_that_looks_the_same_is_no_fresh_budget(
    place: Place, ledger: Ledger, dataset: str, version: str
) -> None:
    charge(ledger, 1)
    similar = replace(BINDING, dataset=dataset, version=version)
    with pytest.raises(LedgerError, match="there is a ledger already, of 'people' version '1'"):
        place.create(similar)
    with pytest.raises(LedgerError, match="in the ledger and"):
        place.open(similar)


OTHER_DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 10)}, name="people")


REORDERED = Domain({"age": Integer(0, 9), "sex": Categorical(["F", "M"])}, name="people")


OTHER_BINDINGS = [
    (Binding.of("people", "1", OTHER_DOMAIN, ZCDP, 1_000_000), ["domain", "'age'", "measure is 'pure' in the ledger"]),
    (Binding.of("people", "1", REORDERED, ZCDP, 1_000_000), ["domain", "'sex, age'", "'age, sex'"]),
    (replace(BINDING, budget_units=2_000_000), ["the budget is epsilon 0.001 in the ledger and epsilon 0.002 in"]),
    (replace(BINDING, neighbours="replace-one"), ["neighbours"]),
    (replace(BINDING, rows_per_person=2), ["rows_per_person is 1"]),
    (replace(BINDING, source="others.csv"), ["source is 'people.csv' in the ledger and 'others.csv' in the settings"]),
]


@pytest.mark.parametrize(("binding", "named"), OTHER_BINDINGS)
def test_a_ledger_is_not_opened_with_other_settings(
    place: Place, ledger: Ledger, binding: Binding, named: list[str]
) -> None:
    charge(ledger, 1)
    with pytest.raises(LedgerError) as error:
        place.open(binding)
    assert all(part in str(error.value) for part in [*named, "another ledger"])
    assert "dataset is" not in str(error.value)
    place.open(Binding.of("people", "1", DOMAIN, PURE, 1_000_000, source="people.csv")).close()


def test_changed_settings_are_found_even_if_the_database_was_changed_to_match(place: Place, ledger: Ledger) -> None:
    charge(ledger, 1)
    trigger = {
        "sqlite": "DROP TRIGGER parcomp_ledger_update",
        "postgresql": "DROP TRIGGER parcomp_ledger_append_only ON parcomp_ledger",
    }
    place.execute(trigger[place.kind])
    place.execute("UPDATE parcomp_ledger SET budget_units = 2000000")
    with pytest.raises(LedgerError, match="tampered"):
        place.open(replace(BINDING, budget_units=2_000_000))


def test_tables_are_migrated_in_one_transaction_and_later_ones_refused(place: Place, ledger: Ledger) -> None:
    charge(ledger, 4)
    ledger.close()
    sound = Step(STEPS[-1].number + 1, ("ALTER TABLE parcomp_request ADD COLUMN remark TEXT",))
    broken = Step(STEPS[-1].number + 2, ("CREATE TABLE parcomp_remark (remark TEXT)", "INSERT INTO nowhere VALUES (1)"))
    session = place.session()
    session.begin(0)
    with pytest.raises(LedgerError, match="nowhere"):
        migrate(session.execute, session.dialect, [*STEPS, sound, broken])
    session.rollback()
    # Nothing of the failed steps is left.
    again = place.open()
    assert [one.units for one in again.charges()] == [4]
    again.close()
    session.begin(0)
    migrate(session.execute, session.dialect, [*STEPS, sound])
    session.commit()
    assert session.execute("SELECT units FROM parcomp_charge") == [(4,)]
    assert session.execute("SELECT remark FROM parcomp_request") == []
    assert session.execute("SELECT step FROM parcomp_schema ORDER BY step") == [
        *((step.number,) for step in STEPS),
        (sound.number,),
    ]
    session.close()
    with pytest.raises(
        LedgerError, match=rf"are of step {sound.number}, this version of Parcomp knows step {STEPS[-1].number}"
    ):
        place.open()


def test_a_ledger_of_the_first_step_is_taken_over_with_its_answers_and_requests(place: Place) -> None:
    """As version 0.1.0 made it: no source in the binding, answers and requests by the numbers of charges."""
    if place.kind == "sqlite":
        Path(place.url.removeprefix("sqlite:///")).touch(0o600)
    old = replace(BINDING, source="")
    charges = [chain(old.digest, 1, entry(4))]
    charges.append(chain(charges[0].digest, 2, entry(5)))
    session = place.session()
    session.begin(0)
    migrate(session.execute, session.dialect, STEPS[:1])
    session.execute("INSERT INTO parcomp_ledger VALUES (1, ?, ?, ?, ?, ?, ?, ?)", astuple(old)[:7])
    for one in charges:
        fields = one.number, *astuple(one.entry), one.previous, one.digest
        session.execute(f"INSERT INTO parcomp_charge VALUES (1{', ?' * 10})", fields)
    session.execute("INSERT INTO parcomp_answer VALUES (1, 2, 'second')")
    session.execute(
        "INSERT INTO parcomp_request VALUES (1, 'anna', 'k', 'body', '[[2, null, 1], [true, false, false]]')"
    )
    session.commit()
    session.close()
    ledger = place.open()
    assert ledger.binding == old
    assert ledger.charges() == charges
    first, second = (one.digest for one in charges)
    assert ledger.answers([first, second]) == {second: "second"}
    assert ledger.request("anna", "k") == Request("anna", "k", "body", (second, None, first), (True, False, False))
    charge(ledger, 6)
    ledger.store_answer(first, "first")
    assert ledger.answered() == (2, trail_after(trail_after("", second, "second"), first, "first"))
    assert_whole(ledger)
    ledger.close()
    again = place.open()
    assert again.answers([first, second]) == {first: "first", second: "second"}
    again.close()
    for sql in REWRITING:
        with pytest.raises((sqlite3.Error, psycopg.Error), match="append-only"):
            place.execute(sql)
