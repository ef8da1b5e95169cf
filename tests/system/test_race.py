"""Sixty-four clients in four processes race for the last unit of the budget: exactly one wins each round."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parcomp.custodian import Custodian
from tests.custodians import write_custodian
from tests.soak import soaked
from tests.system.racers import THREADS

PROCESSES, ROUNDS = 4, 50
DOMAIN = {
    "name": "race",
    "attributes": {"round": {"low": 0, "high": ROUNDS - 1}, "client": {"low": 0, "high": PROCESSES * THREADS}},
}


@pytest.mark.parametrize("rounds", [20, soaked(ROUNDS)])
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_exactly_one_of_64_clients_gets_the_last_unit(store, rounds, tmp_path, request):
    """In each round, on rows of which all but one unit was spent."""
    url = "sqlite:///ledger.db" if store == "sqlite" else request.getfixturevalue("postgres_url")
    path = write_custodian(
        tmp_path, rows=[{"round": 1, "client": 1}], domain=DOMAIN, ledger=url, version=f"race {rounds}"
    )
    with Custodian.open(path) as custodian:
        custodian.ask("SELECT COUNT(*) FROM race", epsilon="0.999999999")
    racers = subprocess.Popen(
        [sys.executable, "-m", "tests.system.racers", str(path), str(PROCESSES), str(rounds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert racers.stdout.readline() == "ready\n"
        for _ in range(rounds):
            racers.stdin.write("go\n")
            racers.stdin.flush()
            won, asked = map(int, racers.stdout.readline().split())
            assert asked == PROCESSES * THREADS
            assert won == 1
    finally:
        # The racers are daemons of this one: with its standard input closed it ends, and they with it.
        racers.stdin.close()
        racers.wait()
        racers.stdout.close()
    with Custodian.open(path) as custodian:
        assert custodian.balance().loss == 1
        assert custodian.balance().charges == rounds + 1
