"""Killed at any moment: every released answer has its charge, nothing needs repair, and nobody is locked out."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from parcomp import Workload, max_overlap
from parcomp.custodian import Custodian
from parcomp.ledger import StrategyRecord, audit_charges
from tests.custodians import audited, write_custodian
from tests.soak import soaked
from tests.system.victims import BUDGET, batch_of

LEDGERS = 4
"""A custodian reads its whole ledger when it is opened, so the victims share several short ones out among them."""

TRIALS = 400
DOMAIN = {
    "name": "people",
    "attributes": {"trial": {"low": 0, "high": TRIALS}, "part": {"low": 0, "high": 1}},
}


@pytest.mark.parametrize(
    ("store", "at_calls", "at_times"),
    [
        ("sqlite", 80, 30),
        ("postgresql", 20, 10),
        soaked("sqlite", 160, 60),
        soaked("postgresql", 40, 20),
    ],
)
def test_charges_survive_kill_9(store, at_calls, at_times, tmp_path, request):
    """At calls spread evenly over a whole session, so at every step, and at random times."""
    url = "sqlite:///ledger.db" if store == "sqlite" else request.getfixturevalue("postgres_url")
    paths = [
        write_custodian(
            tmp_path / str(number),
            rows=[{"trial": 1, "part": 0}],
            domain=DOMAIN,
            ledger=url,
            version=f"kill {at_calls} {number}",
        )
        for number in range(LEDGERS)
    ]
    for path in paths:
        with Custodian.open(path) as custodian:
            custodian.ask("SELECT COUNT(*) FROM people WHERE part = 1", epsilon="0.1")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.system.victims", *map(str, paths)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        # Who is killed leaves temporary files behind.
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        assert server.stdout.readline() == "ready\n"
        # How often noise is drawn again differs a little.
        calls = min(int(_trial(server, 0, "0")) for _ in range(4))
        assert calls > at_calls
        draw = random.Random(3)
        for trial in range(at_calls):
            # One in each equal part of the session, so that no step is left out.
            at = 1 + (trial * calls + draw.randrange(calls)) // at_calls
            assert _trial(server, trial % LEDGERS, str(at)) == "o"
        for trial in range(at_times):
            _trial(server, trial % LEDGERS, f"after {draw.randrange(60)}")
        # Nobody is locked out: a whole session goes through.
        for number in range(LEDGERS):
            assert int(_trial(server, number, "0")) > 0
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()
    assert sum(_check(path) for path in paths) > at_calls / 2


@pytest.mark.parametrize(
    ("store", "at_calls", "at_times"), [("sqlite", 12, 3), ("postgresql", 5, 1), soaked("sqlite", 120, 30)]
)
def test_strategies_survive_kill_9(store, at_calls, at_times, tmp_path, request):
    """A batch that was charged as a whole is answered for its charge, by the matrix that was stored with it."""
    url = "sqlite:///ledger.db" if store == "sqlite" else request.getfixturevalue("postgres_url")
    path = write_custodian(
        tmp_path, rows=[{"trial": 1, "part": 0}], domain=DOMAIN, measure="gdp", ledger=url, version=f"kill {at_calls}"
    )
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.system.victims", "together", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        assert server.stdout.readline() == "ready\n"
        calls = min(int(_trial(server, 0, "0")) for _ in range(2))
        assert calls > at_calls
        draw = random.Random(5)
        for trial in range(at_calls):
            at = 1 + (trial * calls + draw.randrange(calls)) // at_calls
            assert _trial(server, 0, str(at)) == "o"
        for _ in range(at_times):
            _trial(server, 0, f"after {draw.randrange(100)}")
        assert int(_trial(server, 0, "0")) > 0
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()
    notes = [json.loads(line) for line in path.with_name("released.jsonl").read_text().splitlines()]
    assert len(notes) > at_calls / 3
    with Custodian.open(path) as custodian:
        charges = custodian.charges()
        for note in notes:
            batch = batch_of(note["trial"])
            answers = custodian.ask_batch(batch, budget=BUDGET, strategy=note["strategy"])
            assert {(one.charge, one.cached) for one in answers} == {(note["charge"], True)}
            assert [[group.value for group in one.groups] for one in answers] == note["values"]
        # What was charged and never answered is answered for its charge.
        for charge in charges:
            record = StrategyRecord.read(charge.statement)
            trial = json.loads(charge.where)["trial"]
            answers = custodian.ask_batch(batch_of(trial), budget=BUDGET, strategy=record.asked)
            assert {one.charge for one in answers} == {charge.number}
        assert custodian.charges() == charges
        settings = custodian.settings
    assert audited(settings).ok


def _check(path):
    """Every released answer has its charge, and the books are right; how many answers were released."""
    notes = [json.loads(line) for line in path.with_name("released.jsonl").read_text().splitlines()]
    with Custodian.open(path) as custodian:
        charges = {charge.number: charge for charge in custodian.charges()}
        derived = [note for note in notes if note["charge"] is None]
        assert derived
        for note in derived:
            # It stands on nothing that is not stored.
            assert [custodian.ask(note["sql"], derive=True).value] == note["values"]
        notes = [note for note in notes if note["charge"] is not None]
        assert len(custodian.charges()) == len(charges)
        for note in notes:
            assert custodian.settings.domain.query(json.loads(charges[note["charge"]].where)).covers(_row(note["sql"]))
            stored = custodian.ask(note["sql"], epsilon="0.1")
            assert (stored.charge, stored.cached) == (note["charge"], True)
            assert [group.value for group in stored.groups] == note["values"]
        released = [charges[number] for number in sorted({note["charge"] for note in notes})]
        domain = custodian.settings.domain
        workload = Workload(
            domain,
            [domain.query(json.loads(charge.where)) for charge in released],
            costs=[charge.units / 1e9 for charge in released],
        )
        assert custodian.balance().loss >= max_overlap(workload).upper
        assert audit_charges(custodian.charges(), custodian._ledger.binding, domain).ok
    return len(notes)


def _trial(server, ledger, what):
    server.stdin.write(f"{ledger} {what}\n")
    server.stdin.flush()
    return server.stdout.readline().strip()


def _row(sql):
    trial = int(sql.split("trial = ")[1].split()[0])
    return {"trial": trial, "part": int(sql.split("part = ")[1]) if "part = " in sql else 0}
