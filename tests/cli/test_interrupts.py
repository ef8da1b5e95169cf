"""Ctrl-C: whenever it comes, the command says what was charged, and no traceback is shown."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parcomp.cli import interrupts
from parcomp.custodian import Custodian
from parcomp.ledger.sqlite import SqliteSession
from tests.custodians import write_custodian
from tests.soak import soaked

DROPPING = """
import os, signal, sys, time
from parcomp.cli import app, interrupts

interrupts._AGAIN_SECONDS = 0.2

class Dropping:
    def __del__(self):
        print("dropping", flush=True)
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

def work():
    one = Dropping()
    del one
    print("going on", flush=True)
    time.sleep(20)

app.app.command()(work)
sys.exit(app.main(["work"]))
"""

READY = """
import sys
from parcomp.cli import main
sys.stderr.write("ready\\n")
sys.stderr.flush()
sys.exit(main())
"""
"""The program, which says when it is in charge of interrupts; until then Python itself is."""

ASKING = ["env", "--default-signal=INT", sys.executable, "-c", READY, "ask", "-c"]
SQL = "SELECT COUNT(*) FROM people WHERE age = {n}"
DOMAIN = {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 9_999}}}


@pytest.fixture
def settings(tmp_path):
    """Ages are disjoint, so that one question about each fits the budget."""
    return write_custodian(tmp_path, rows=[{"sex": "F", "age": 1}], domain=DOMAIN)


def charged(settings):
    with Custodian.open(settings) as custodian:
        return {charge.number: json.loads(charge.where)["age"] for charge in custodian.charges()}


def check(settings, code, out, err, ages, key, *, as_json=False):
    """What an interrupted process says is what the ledger has, and asking again costs no more than it has cost."""
    assert "Traceback" not in err
    made = [number for number, age in charged(settings).items() if age in ages]
    if code == 0:
        assert (err, len(made)) == ("", len(ages))
        assert out
    else:
        assert code == 130
        if not made:
            expected = "interrupted; nothing was charged"
        elif len(made) == 1:
            expected = f"interrupted; charge {made[0]} was made; asking the same again is free"
        else:
            expected = f"interrupted; charges {made[0]} and {made[1]} were made; asking the same again is free"
        if as_json:
            error = {"type": "interrupted", "message": expected, "charges": made}
            assert json.loads(err) == {"error": error}
        else:
            assert err == f"parcomp: {expected}\n"
    if made:
        with Custodian.open(settings) as custodian:
            answers = [custodian.ask(SQL.format(n=age), epsilon="0.1") for age in ages]
            assert [answer.charge for answer in answers] == made
            assert sum(answer.cost for answer in answers) == 0
            if key is not None:
                again = custodian.ask(SQL.format(n=ages[0]), epsilon="0.1", key=key)
                assert again.charge == made[0]
    assert len(made) in (0, len(ages))
    return bool(made)


def test_an_interrupt_that_a_destructor_drops_is_raised_again():
    # Whatever is started in the background of a shell ignores Ctrl-C, and so would the command.
    command = ["env", "--default-signal=INT", sys.executable, "-c", DROPPING]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.stdout == "dropping\ngoing on\n", "the first one was not dropped"
    assert (ended.returncode, ended.stderr) == (130, "parcomp: interrupted; nothing was charged\n")
    assert interrupts._AGAIN_SECONDS >= 1


@pytest.mark.parametrize(
    ("seed", "moments", "keyed"),
    [(1, 20, False), (2, 20, True), *(soaked(seed, 200, seed % 2 == 0) for seed in range(3, 7))],
)
def test_an_ask_interrupted_at_any_line_says_what_was_charged(settings, seed, moments, keyed):
    """Processes that are interrupted at lines of Parcomp all over the command, with and without a key."""
    key = ["--key", "k{n}"] if keyed else []
    command = ["ask", "-c", str(settings), SQL, "--epsilon", "0.1", *key]
    results = interrupted(moments, seed, command)
    assert results[0]["code"] == 0, results[0]
    seen = [
        (one["code"], check(settings, one["code"], one["out"], one["err"], [number], f"k{number}" if keyed else None))
        for number, one in enumerate(results)
    ]
    assert {(0, True), (130, False), (130, True)} <= set(seen)


def test_a_batch_interrupted_at_any_line_names_all_its_charges(settings, tmp_path):
    for number in range(20):
        statements = [SQL.format(n=2 * number), SQL.format(n=2 * number + 1)]
        (tmp_path / f"{number}.sql").write_text(";\n".join(statements))
    results = interrupted(20, 3, ["batch", "-c", str(settings), f"{tmp_path}/{{n}}.sql", "--epsilon", "0.1", "--json"])
    seen = [
        (one["code"], check(settings, one["code"], one["out"], one["err"], ages, None, as_json=True))
        for number, one in enumerate(results)
        for ages in [[2 * number, 2 * number + 1]]
    ]
    assert {(0, True), (130, False), (130, True)} <= set(seen)


def interrupted(moments, seed, command):
    script = Path(__file__).with_name("interrupting.py")
    arguments = ["env", "--default-signal=INT", sys.executable, str(script), str(moments), str(seed), *command]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=3_000)
    assert (ended.returncode, ended.stderr) == (0, "")
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.mark.parametrize(
    ("seed", "count", "keyed"), [(1, 3, False), (2, 3, True), soaked(3, 60, False), soaked(4, 60, True)]
)
def test_a_process_interrupted_at_any_time_says_what_was_charged(settings, seed, count, keyed):
    """Processes from their start to their end, the import of libraries and compiled code included."""
    draw, seconds = random.Random(seed), 0.0
    for number in range(count + 1):
        key = ["--key", f"k{number}"] if keyed else []
        process = subprocess.Popen(
            [*ASKING, str(settings), SQL.format(n=number), "--epsilon", "0.1", *key],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        began = time.monotonic()
        if number:
            time.sleep(draw.uniform(0, seconds))
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if not number:
            seconds = time.monotonic() - began
            assert process.returncode == 0
        else:
            check(settings, process.returncode, out, err, [number], f"k{number}" if keyed else None)


def test_a_second_interrupt_takes_nothing_away(settings):
    """Who is impatient is told what was charged all the same."""
    process = subprocess.Popen(
        [*ASKING, str(settings), SQL.format(n=5), "--epsilon", "0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(0.3)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    out, err = process.communicate()
    check(settings, process.returncode, out, err, [5], None)
    assert re.fullmatch("parcomp: interrupted; [^\n]*\n", err)


def test_an_interrupt_while_python_starts_the_program_is_told(tmp_path):
    """While commands are imported; nothing can have been charged."""
    (tmp_path / "typer.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(20)\n")
    for arguments, expected in (
        ([], "parcomp: interrupted; nothing was charged\n"),
        (["ask", "--json"], None),
    ):
        ended = subprocess.run(
            ["env", "--default-signal=INT", sys.executable, "-m", "parcomp.cli", *arguments],
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert ended.returncode == 130
        if expected is not None:
            assert ended.stderr == expected
        else:
            assert json.loads(ended.stderr)["error"]["type"] == "interrupted"


def test_the_latest_charges_are_those_of_the_latest_request(settings):
    """What stands in the ledger, also once the custodian is closed; an answer that was paid for charges nothing."""
    with Custodian.open(settings) as custodian:
        assert custodian.latest_charges() == []
        custodian.ask_batch([SQL.format(n=1), SQL.format(n=2)], epsilon="0.1")
        assert [charge.number for charge in custodian.latest_charges()] == [1, 2]
        custodian.ask(SQL.format(n=1), epsilon="0.1")
        assert custodian.latest_charges() == []
        custodian.ask(SQL.format(n=3), epsilon="0.1")
    assert [charge.number for charge in custodian.latest_charges()] == [3]


def test_a_charge_that_was_rolled_back_is_not_named(settings, monkeypatch):
    """It was made in memory, and the interrupt came before the commit."""

    def interrupt(_session):
        raise KeyboardInterrupt

    with Custodian.open(settings) as custodian:
        with monkeypatch.context() as patched:
            patched.setattr(SqliteSession, "commit", interrupt)
            with pytest.raises(KeyboardInterrupt):
                custodian.ask(SQL.format(n=1), epsilon="0.1")
        assert custodian.latest_charges() == []
        assert custodian.ask(SQL.format(n=1), epsilon="0.1").charge == 1
