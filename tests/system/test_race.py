"""Sixty-four clients in four processes race for the last unit of the budget: exactly one wins each round."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parcomp.custodian import Custodian
from tests.custodians import write_custodian
from tests.system.racers import THREADS

PROCESSES, ROUNDS = 4, 50
DOMAIN = {
    "name": "race",
    "attributes": {"round": {"low": 0, "high": ROUNDS - 1}, "client": {"low": 0, "high": PROCESSES * THREADS}},
}


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_exactly_one_of_64_clients_gets_the_last_unit(store, tmp_path, request):
    """In each of 50 rounds, on rows of which all but one unit was spent."""
    url = "sqlite:///ledger.db" if store == "sqlite" else request.getfixturevalue("postgres_url")
    path = write_custodian(tmp_path, rows=[{"round": 1, "client": 1}], domain=DOMAIN, ledger=url, version="race")
    with Custodian.open(path) as custodian:
        custodian.ask("SELECT COUNT(*) FROM race", epsilon="0.999999999")
    root = Path(__file__).parents[2]
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.system.racers", str(path), str(process), str(ROUNDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for process in range(PROCESSES)
    ]
    try:
        assert all(racer.stdout.readline() == "ready\n" for racer in racers)
        for _ in range(ROUNDS):
            for racer in racers:
                racer.stdin.write("go\n")
                racer.stdin.flush()
            results = [tuple(map(int, racer.stdout.readline().split())) for racer in racers]
            assert sum(asked for _, asked in results) == PROCESSES * THREADS
            assert sum(won for won, _ in results) == 1
    finally:
        for racer in racers:
            racer.kill()
            racer.wait()
            racer.stdin.close()
            racer.stdout.close()
    with Custodian.open(path) as custodian:
        assert custodian.balance().loss == 1
        assert custodian.balance().charges == ROUNDS + 1
