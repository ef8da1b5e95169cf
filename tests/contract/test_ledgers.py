"""What every ledger promises, whatever keeps it: run over SQLite and over a real PostgreSQL."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest

from parcomp.errors import LedgerError
from parcomp.ledger import Ledger, Request, audit_charges
from parcomp.ledger.charge import trail_after
from tests.contract.ledger_places import REWRITING, Place, assert_whole, charge
from tests.ledger.entries import BINDING, DOMAIN, entry, note_of


def test_an_empty_ledger_has_the_binding_as_its_head(ledger: Ledger) -> None:
    assert ledger.charges() == []
    assert ledger.head() == (0, BINDING.digest)
    assert ledger.digest(1) is None
    assert ledger.answered() == (0, "")
    assert ledger.request("anna", "k") is None


def test_charges_are_numbered_chained_and_kept(place: Place, ledger: Ledger) -> None:
    texts = ["plain", "quotes ' \" \\ % ? %s", "größer 数 🜚", "line\nend\t"]
    with ledger.transaction() as transaction:
        first = transaction.append([entry(5, analyst=text, note=text, batch=text) for text in texts])
        assert transaction.charges() == first
    charge(ledger, 2**62 - 1)
    ledger.close()
    again = place.open()
    charges = again.charges()
    assert charges[:4] == first
    assert [one.number for one in charges] == [1, 2, 3, 4, 5]
    assert [one.units for one in charges] == [5, 5, 5, 5, 2**62 - 1]
    assert [(one.analyst, note_of(one.statement), one.batch) for one in first] == [(text,) * 3 for text in texts]
    assert again.charges(after=3) == charges[3:]
    assert [again.digest(number) for number in range(1, 7)] == [*(one.digest for one in charges), None]
    assert again.head() == (5, charges[-1].digest)
    assert_whole(again)
    again.close()


def test_an_exception_undoes_the_transaction_and_leaves_the_ledger_usable(ledger: Ledger) -> None:
    charge(ledger, 1)

    def fail(error: type[BaseException]) -> None:
        with ledger.transaction() as transaction:
            transaction.append([entry(7)])
            transaction.remember(Request("anna", "k", "d", ("digest of charge 2",)))
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            fail(error)
    assert ledger.request("anna", "k") is None
    charge(ledger, 3)
    assert [one.units for one in ledger.charges()] == [1, 3]
    assert_whole(ledger)


def test_nothing_is_committed_after_a_step_that_failed_unheeded(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        transaction.remember(Request("anna", "k", "d", ()))

    def go_on_regardless() -> None:
        with ledger.transaction() as transaction:
            transaction.append([entry(7)])
            with suppress(LedgerError):
                transaction.remember(Request("anna", "k", "d", ()))

    with pytest.raises(LedgerError, match="step of the transaction failed"):
        go_on_regardless()
    assert ledger.charges() == []


def test_a_transaction_is_of_no_use_once_it_is_over_or_within_another(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        with pytest.raises(LedgerError, match="still open"), ledger.transaction():
            pass
        with pytest.raises(LedgerError, match="still open"):
            ledger.store_answer(BINDING.digest, "x")
        with pytest.raises(LedgerError, match="still open"):
            ledger.close()
    with pytest.raises(LedgerError, match="is over"):
        transaction.append([entry()])
    assert ledger.charges() == []


def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    ledger.close()
    for use in (ledger.charges, lambda: charge(ledger, 1)):
        with pytest.raises(LedgerError, match="closed"):
            use()


def test_reading_neither_waits_for_a_transaction_nor_sees_into_it(place: Place, ledger: Ledger) -> None:
    charge(ledger, 1)
    other = place.open()
    with ledger.transaction() as transaction:
        transaction.append([entry(2)])
        began = time.monotonic()
        for reader in (ledger, other):
            assert len(reader.charges()) == 1
            assert reader.head()[0] == 1
        assert time.monotonic() - began < 5
    assert len(other.charges()) == 2
    other.close()


def test_a_ledger_that_stays_busy_is_an_error_and_not_a_charge(place: Place, ledger: Ledger) -> None:
    waiting = place.open(busy_seconds=0.2)
    with ledger.transaction() as transaction:
        transaction.append([entry(1)])
        with pytest.raises(LedgerError, match=r"busy for more than 0\.2 s"):
            charge(waiting, 5)
    charge(waiting, 2)
    assert [one.units for one in ledger.charges()] == [1, 2]
    assert_whole(ledger)
    waiting.close()


def test_the_first_answer_stays(place: Place, ledger: Ledger) -> None:
    charge(ledger, 1, 1)
    first, second = (one.digest for one in ledger.charges())
    ledgers = [ledger, *(place.open() for _ in range(3))]
    start = threading.Barrier(4)

    def store(number: int) -> str:
        start.wait()
        return ledgers[number].store_answer(first, f"answer {number}")

    with ThreadPoolExecutor(4) as pool:
        told = set(pool.map(store, range(4)))
    assert len(told) == 1
    assert {one.answer(first) for one in ledgers} == told
    assert ledger.answer(second) is None
    assert ledger.answered()[0] == 1
    assert ledger.store_answers({first: "another", second: "second"}) == {first: told.pop(), second: "second"}
    assert ledger.answers([first, second, "none"]).keys() == {first, second}
    one = trail_after("", first, ledger.answers([first])[first])
    assert ledger.answered() == (2, trail_after(one, second, "second"))
    assert [ledger.trail(position) for position in range(4)] == ["", one, ledger.answered()[1], None]
    assert ledger.ties() == [("answer 1", first), ("answer 2", second)]
    for one in ledgers[1:]:
        one.close()


def test_only_charges_are_answered(ledger: Ledger) -> None:
    charge(ledger, 1)
    first = ledger.head()[1]
    for digest in (BINDING.digest, "0" * 64, ""):
        with pytest.raises(LedgerError, match="no charge with the digest"):
            ledger.store_answers({first: "x", digest: "y"})
    assert ledger.answer(first) is None


def test_answers_of_many_charges_are_found(ledger: Ledger) -> None:
    """More than a statement takes values of; appended in two steps of one transaction, which follow one another."""
    with ledger.transaction() as transaction:
        transaction.append([entry(1)] * 400)
        transaction.append([entry(1)] * 401)
    texts = {one.digest: f"answer {one.number}" for one in ledger.charges()}
    assert ledger.store_answers(texts) == texts
    assert ledger.answers(texts) == texts
    assert ledger.answers(["0" * 64, *texts]) == texts
    assert_whole(ledger)


def test_an_idempotency_key_leads_to_the_charges_that_answer_it(place: Place, ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        one, two = (charge.digest for charge in transaction.append([entry(1), entry(2)]))
        request = Request("anna", "key é'", "digest", (one, None, two), (True, False, False))
        transaction.remember(request)
        assert transaction.request("anna", "key é'") == request
    other = place.open()
    assert other.request("anna", "key é'") == request
    assert other.request("berta", "key é'") is None
    with pytest.raises(LedgerError, match="used before"), other.transaction() as transaction:
        transaction.remember(replace(request, body_digest="other"))
    with other.transaction() as transaction:
        transaction.remember(replace(request, analyst="berta", charges=(), fresh=()))
    berta = ledger.request("berta", "key é'")
    assert berta is not None
    assert berta.charges == ()
    assert [digest for _, digest in ledger.ties()] == [one, two]
    other.close()


@pytest.mark.parametrize("text", ["null \0 character", "half \ud800 pair"])
def test_text_that_no_database_holds_is_refused_beforehand(ledger: Ledger, text: str) -> None:
    charge(ledger, 1)
    first = ledger.head()[1]
    actions: list[Callable[[], object]] = [
        lambda: entry(analyst=text),
        lambda: Request("anna", text, "", ()),
        lambda: ledger.request(text, "k"),
        lambda: ledger.store_answer(first, text),
    ]
    for action in actions:
        with pytest.raises(LedgerError, match="Unicode text"):
            action()
    assert ledger.answer(first) is None


@pytest.mark.parametrize("sql", REWRITING)
def test_the_database_refuses_to_change_what_was_written(place: Place, ledger: Ledger, sql: str) -> None:
    with ledger.transaction() as transaction:
        (charged,) = transaction.append([entry(5)])
        transaction.remember(Request("anna", "k", "", (charged.digest,)))
    ledger.store_answer(charged.digest, "x")
    before = ledger.charges()
    with pytest.raises((sqlite3.Error, psycopg.Error), match="append-only"):
        place.execute(sql)
    assert ledger.charges() == before
    assert ledger.answer(charged.digest) == "x"


@pytest.mark.parametrize("changed", [1, 2, 3])
def test_an_audit_finds_an_answer_that_was_changed(place: Place, ledger: Ledger, changed: int) -> None:
    """Whoever can write to the database could else put a number of their own under a guaranteed interval."""
    charge(ledger, 1, 2, 3)
    ledger.store_answers({one.digest: f"[[{one.number}]]" for one in ledger.charges()})
    whole = audit_charges(ledger.charges(), ledger.binding, DOMAIN, answers=ledger.stored_answers())
    ledger.close()
    triggers = {
        "sqlite": "DROP TRIGGER parcomp_answer_update",
        "postgresql": "DROP TRIGGER parcomp_answer_append_only ON parcomp_answer",
    }
    place.execute(triggers[place.kind])
    place.execute(f"UPDATE parcomp_answer SET answer = '[[7]]' WHERE position = {changed}")
    again = place.open()
    found = audit_charges(again.charges(), again.binding, DOMAIN, answers=again.stored_answers())
    again.close()
    assert set(found.problems) - set(whole.problems) == {
        f"answer {changed}: is not the one that was stored, or follows another one"
    }


def test_an_answer_does_not_pass_to_the_charge_that_gets_its_number(place: Place, ledger: Ledger) -> None:
    """Whoever deletes the last charge and leaves its answer must not choose what the next one is answered."""
    charge(ledger, 1, 2)
    first, second = (one.digest for one in ledger.charges())
    ledger.store_answers({first: "one", second: "two"})
    ledger.close()
    triggers = {
        "sqlite": "DROP TRIGGER parcomp_charge_delete",
        "postgresql": "DROP TRIGGER parcomp_charge_append_only ON parcomp_charge",
    }
    place.execute(triggers[place.kind])
    place.execute("DELETE FROM parcomp_charge WHERE number = 2")
    again = place.open()
    with again.transaction() as transaction:
        transaction.append([entry(7, upper=8)])
    number, digest = again.head()
    assert (number, again.answer(digest)) == (2, None)
    problems = audit_charges(again.charges(), again.binding, DOMAIN, ties=again.ties()).problems
    assert [one for one in problems if "charge" not in one.partition(":")[0]] == [
        "answer 2: belongs to no charge of the chain"
    ]
    again.close()
