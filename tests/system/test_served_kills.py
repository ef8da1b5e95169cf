"""A server killed at any step of a request that is sent again: charged once, answered once, the same value."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from parcomp.custodian import Custodian
from tests.custodians import audited, write_custodian
from tests.service.served import add_keys
from tests.soak import soaked

DOMAIN = {"name": "people", "attributes": {"trial": {"low": 0, "high": 999}}}


class Victims:
    """The process that forks servers, and requests to whichever serves."""

    def __init__(self, process, key):
        self._process = process
        self._url = f"http://127.0.0.1:{process.stdout.readline().strip()}/v1/answers"
        self._headers = {"Authorization": f"Bearer {key}"}

    @contextmanager
    def serving(self, at):
        self._write(at)
        yield
        self._write("stop")
        self.ended = self._process.stdout.readline().strip()

    def ask(self, trial):
        """The response to the request of a trial, None if the server died over it."""
        body = {"sql": f"SELECT COUNT(*) FROM people WHERE trial = {trial}", "epsilon": "0.5"}
        try:
            return httpx.post(
                self._url, headers={**self._headers, "Idempotency-Key": f"trial-{trial}"}, json=body, timeout=20
            )
        except httpx.TransportError:
            return None

    def _write(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()


@pytest.mark.parametrize("kills", [16, soaked(100)])
def test_a_request_that_is_sent_again_is_charged_and_answered_once(kills, tmp_path):
    path = write_custodian(tmp_path, rows=[{"trial": 1}], domain=DOMAIN, quotas={"anna": "1.0"})
    key = add_keys(path, anna="analyst")["anna"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.system.served_victims", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        victims = Victims(process, key)
        with victims.serving(at=0):
            assert victims.ask(0).status_code == 200
        calls = int(victims.ended)
        assert calls > kills
        values, died, answered_first = {}, 0, 0
        for trial in range(1, kills + 1):
            with victims.serving(at=1 + (trial - 1) * calls // kills):
                first = victims.ask(trial)
            died += victims.ended == "-"
            answered_first += first is not None
            with victims.serving(at=0):
                again = victims.ask(trial).json()
                assert victims.ask(trial).json() == again
            if first is not None:
                assert first.json() == again
            assert (again["cost"], again["cached"]) == (0.5, False)
            values[trial] = again["value"]
        assert died >= kills * 0.9
        assert answered_first < kills / 2
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()
    with Custodian.open(path) as custodian:
        charges = custodian.charges()
        assert len(charges) == kills + 1
        for trial, value in values.items():
            sql = f"SELECT COUNT(*) FROM people WHERE trial = {trial}"
            stored = custodian.ask(sql, epsilon="0.5", analyst="anna")
            assert (stored.value, stored.cached) == (value, True)
        assert audited(custodian.settings).ok
