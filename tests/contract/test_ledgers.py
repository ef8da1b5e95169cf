"""What every ledger promises, whatever keeps it: run over SQLite and over a real PostgreSQL."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path
from typing import TextIO

import psycopg
import pytest

from parcomp import Categorical, Domain, Integer
from parcomp.errors import LedgerError, MissingLedgerError
from parcomp.ledger.audit import audit
from parcomp.ledger.binding import Binding
from parcomp.ledger.charge import chain, chain_problems, trail_after
from parcomp.ledger.migrations import STEPS, Step, migrate
from parcomp.ledger.store import Ledger, Request
from parcomp.privacy.measures import PURE, ZCDP
from tests.contract.ledger_places import Place, fresh_database
from tests.contract.ledger_writer import write
from tests.ledger.entries import BINDING, DOMAIN, entry, note_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place("sqlite", f"sqlite:///{tmp_path / 'ledger.db'}")
    return Place("postgresql", fresh_database(request.getfixturevalue("postgres_url")))


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    opened = place.create()
    yield opened
    opened.close()


def charge(ledger: Ledger, *units: int) -> None:
    with ledger.transaction() as transaction:
        transaction.append([entry(one) for one in units])


def assert_whole(ledger: Ledger) -> None:
    assert chain_problems(ledger.charges(), ledger.binding.digest) == []


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


def test_threads_follow_one_another(place: Place, ledger: Ledger) -> None:
    other = place.open()

    def work(name: int) -> None:
        mine = (ledger, other)[name % 2]
        for _ in range(10):
            with mine.transaction() as transaction:
                expected = len(transaction.charges()) + 1
                transaction.append([entry(note=str(expected))])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    charges = ledger.charges()
    assert [int(note_of(one.statement)) for one in charges] == list(range(1, 61))
    assert_whole(ledger)
    other.close()


def start_writer(place: Place, name: str, transactions: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.contract.ledger_writer", place.url, name, str(transactions)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_processes_follow_one_another(place: Place) -> None:
    place.create().close()
    writers = [start_writer(place, f"w{number}", 12) for number in range(2)]
    told = [writer.communicate(timeout=60)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    ledger = place.open()
    charges = ledger.charges()
    assert len(charges) == 2 * 24
    assert [int(note_of(one.statement)) for one in charges] == [one.number for one in charges]
    assert_whole(ledger)
    assert all(text.count("charged") == 12 for text in told)
    ledger.close()


def fork_writer(place: Place, name: str) -> tuple[int, TextIO]:
    """A child that charges until it is killed, and where it tells what it has committed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            write(place.url, name, 10**6, os.fdopen(writing, "w"))
        finally:
            os._exit(1)
    os.close(writing)
    return child, os.fdopen(reading)


def test_a_process_killed_at_any_moment_leaves_a_whole_chain_and_no_lock(place: Place) -> None:
    """Three writers contend for the lock and are killed one after another; the others must not notice."""
    place.create().close()
    randomness = random.Random(17)
    charged: dict[str, list[int]] = {}
    answered: dict[str, str] = {}
    kills = 0
    for turn in range(10 if place.kind == "sqlite" else 4):
        writers = [fork_writer(place, f"{turn}.{number}") for number in range(3)]
        for _, told in writers:
            assert told.readline() == "ready\n"
        for writer, _ in writers:
            time.sleep(randomness.uniform(0.0, 0.06))
            os.kill(writer, signal.SIGKILL)
            os.waitpid(writer, 0)
            kills += 1
        for _, told in writers:
            # The last line may be cut off; what is complete was committed before.
            lines = told.readlines()
            told.close()
            for line in lines:
                word, name, *rest = line.split(" ", 2)
                if line.endswith("\n") and word == "charged":
                    charged[name] = [int(number) for number in rest[0].split()]
                elif line.endswith("\n") and word == "answered":
                    answered[name] = rest[0].rstrip("\n")
        ledger = place.open(busy_seconds=5.0)
        charge(ledger, 1)
        charges = ledger.charges()
        assert chain_problems(charges, BINDING.digest) == []
        batches: dict[str, list[int]] = {}
        digests: dict[str, list[str]] = {}
        for one in charges:
            batches.setdefault(one.batch, []).append(one.number)
            digests.setdefault(one.batch, []).append(one.digest)
        for name in batches:
            if name:
                # All of a transaction or nothing: its charges and its idempotency key.
                request = ledger.request(name.rpartition("-")[0], name)
                assert request is not None
                assert request.charges == tuple(digests[name])
        assert {name: batches.get(name) for name in charged} == charged
        assert ledger.answers(answered) == answered
        assert ledger.answered()[0] >= len(answered)
        assert {digest for _, digest in ledger.ties()} <= {one.digest for one in charges}
        ledger.close()
    assert kills >= (30 if place.kind == "sqlite" else 12)
    assert len(charged) > kills


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


REWRITING = [
    "UPDATE parcomp_charge SET units = 1",
    "DELETE FROM parcomp_charge",
    "UPDATE parcomp_answer SET answer = 'other'",
    "DELETE FROM parcomp_answer",
    "DELETE FROM parcomp_request",
    "UPDATE parcomp_ledger SET budget_units = 2000000",
]


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


OTHER_DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 10)}, name="people")
REORDERED = Domain({"age": Integer(0, 9), "sex": Categorical(["F", "M"])}, name="people")
OTHER_BINDINGS = [
    (Binding.of("people", "1", OTHER_DOMAIN, ZCDP, 1_000_000), ["domain", "'age'", "measure is 'pure' in the ledger"]),
    (Binding.of("people", "1", REORDERED, ZCDP, 1_000_000), ["domain", "'sex, age'", "'age, sex'"]),
    (replace(BINDING, budget_units=2_000_000), ["budget_units is 1000000 in the ledger and 2000000 in the settings"]),
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
    sound = Step(3, ("ALTER TABLE parcomp_request ADD COLUMN remark TEXT",))
    broken = Step(4, ("CREATE TABLE parcomp_remark (remark TEXT)", "INSERT INTO nowhere VALUES (1)"))
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
    assert session.execute("SELECT step FROM parcomp_schema ORDER BY step") == [(1,), (2,), (3,)]
    session.close()
    with pytest.raises(LedgerError, match=r"are of step 3, this version of Parcomp knows step 2"):
        place.open()


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
    session.execute("INSERT INTO parcomp_ledger VALUES (1, ?, ?, ?, ?, ?, ?, ?)", astuple(old)[:-1])
    for one in charges:
        session.execute(f"INSERT INTO parcomp_charge VALUES (1{', ?' * 10})", astuple(one))
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
    problems = audit(again.charges(), again.binding, DOMAIN, ties=again.ties()).problems
    assert problems == ("answer 2: belongs to no charge of the chain",)
    again.close()


def in_child(action: Callable[[], None]) -> int:
    """Run an action in a forked child; 0 if it went well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_both_sides_of_a_fork_can_charge(ledger: Ledger) -> None:
    charge(ledger, 1)
    assert in_child(lambda: charge(ledger, 2)) == 0
    charge(ledger, 3)
    assert [one.units for one in ledger.charges()] == [1, 2, 3]
    assert_whole(ledger)


def test_a_child_forked_within_a_transaction_cannot_charge_and_does_no_harm(place: Place, ledger: Ledger) -> None:
    def refused() -> None:
        for use in (ledger.charges, lambda: charge(ledger, 9)):
            with pytest.raises(LedgerError):
                use()

    with ledger.transaction() as transaction:
        transaction.append([entry(1)])
        assert in_child(refused) == 0
    charge(ledger, 2)
    assert [one.units for one in ledger.charges()] == [1, 2]
    assert_whole(ledger)


def test_a_child_does_not_commit_what_its_parent_has_begun(ledger: Ledger) -> None:
    child = -1
    try:
        with ledger.transaction() as transaction:
            transaction.append([entry(7)])
            child = os.fork()
            if child != 0:
                raise ValueError("the parent takes it back")
    except (LedgerError, ValueError) as error:
        if child == 0:
            os._exit(0 if "child process" in str(error) else 1)
    if child == 0:
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ledger.charges() == []
    charge(ledger, 1)
