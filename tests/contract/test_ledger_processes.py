"""Ledgers under several threads and processes, killed and forked at any moment: over SQLite and PostgreSQL."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TextIO

import pytest

from parcomp.errors import LedgerError
from parcomp.ledger import Ledger
from parcomp.ledger.charge import chain_problems
from tests.contract.ledger_places import Place, assert_whole, charge
from tests.contract.ledger_writer import write
from tests.ledger.entries import BINDING, entry, note_of

ROOT = Path(__file__).parents[2]


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
