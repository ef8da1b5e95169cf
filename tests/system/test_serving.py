"""``parcomp serve`` as it is run: several workers on one ledger, keys that stop on all of them, an orderly end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from parcomp.custodian import Access, Custodian, Settings
from tests.custodians import audited, write_custodian
from tests.service.served import Served, add_keys

READY_SECONDS = 60


@contextmanager
def served_by_command(path: Path, workers: int = 1) -> Iterator[tuple[Served, subprocess.Popen]]:
    """The service as a user starts it; it is ended as a user does, by a signal."""
    keys = add_keys(path, anna="analyst", boss="custodian")
    command = [sys.executable, "-m", "parcomp.cli", "serve", "-c", str(path), "--port", "0", "--workers", str(workers)]
    # To a file: a server whose log nobody reads from a pipe stands still.
    log = path.with_name("server.log")
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)
    try:
        line = process.stdout.readline()
        address = re.search(r"http://[\d.]+:\d+", line)
        assert address, line + log.read_text()
        served = Served(address[0], path, keys)
        # A connection for each request, so that every worker gets some.
        served.http = httpx.Client(timeout=60, limits=httpx.Limits(max_keepalive_connections=0))
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                if served.get("/readyz", None).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield served, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        print(log.read_text()[-3000:])


@pytest.fixture
def path(tmp_path):
    return write_custodian(tmp_path, quotas={"anna": "0.9"})


def test_two_workers_share_a_ledger_and_stop_a_revoked_key(path):
    with served_by_command(path, workers=2) as (served, _):
        statements = [f"SELECT COUNT(*) FROM people WHERE age = {age}" for age in range(10)]
        answers = [served.ask(sql, key=sql[-1]).json() for sql in statements]
        assert [one["charge"] for one in answers] == list(range(1, 11))
        assert [served.ask(sql, key=sql[-1]).json() for sql in statements] == answers
        assert served.get("/v1/budget", "boss").json()["spent"] == pytest.approx(0.1)
        # What all workers counted, whichever is asked.
        counted = re.search(r'route="/v1/answers",status="200"} (\d+)', served.get("/metrics", None).text)
        assert counted
        assert int(counted[1]) == 20
        with Access(Settings.load(path)) as access:
            access.revoke("anna")
        time.sleep(1)
        assert {served.get("/v1/domain").status_code for _ in range(40)} == {401}
        assert served.get("/v1/domain", "boss").status_code == 200


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(path):
    with served_by_command(path, workers=2) as (served, process):
        first = served.ask("SELECT COUNT(*) FROM people", key="k").json()
        for child in _children(process.pid):
            os.kill(child, signal.SIGKILL)
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                again = served.ask("SELECT COUNT(*) FROM people", key="k")
                break
            except httpx.TransportError:
                assert time.monotonic() < deadline
                time.sleep(0.2)
        assert again.json() == first


def test_what_was_asked_is_answered_before_the_server_stops(path):
    with path.open("a") as file:
        file.write('\n[service]\nanswer_delay = "1.0"\n')
    with served_by_command(path) as (served, process):
        got: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: got.append(served.ask("SELECT COUNT(*) FROM people")))
        asking.start()
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        asking.join(30)
        assert [one.status_code for one in got] == [200]
        process.wait(30)
    with Custodian.open(path) as custodian:
        stored = custodian.ask("SELECT COUNT(*) FROM people", epsilon="0.1", analyst="anna")
        assert (stored.value, stored.cached) == (got[0].json()["value"], True)
        assert audited(custodian.settings).ok


@pytest.mark.parametrize("workers", [1, 2])
def test_nobody_is_cut_off_when_the_server_stops(path, workers):
    """While many ask without a pause: each request is answered, or nobody was there to take the connection."""
    seen: Counter[str] = Counter()

    def ask_until_it_is_gone(served: Served) -> None:
        with httpx.Client(timeout=60) as http:
            headers = {"Authorization": f"Bearer {served.keys['anna']}"}
            while True:
                try:
                    seen[str(http.get(f"{served.url}/v1/budget", headers=headers).status_code)] += 1
                except httpx.TransportError as error:
                    seen[type(error).__name__] += 1
                    return

    with served_by_command(path, workers) as (served, process):
        clients = [threading.Thread(target=ask_until_it_is_gone, args=(served,)) for _ in range(12)]
        for one in clients:
            one.start()
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        for one in clients:
            one.join(30)
    assert set(seen) <= {"200", "429", "ConnectError"}
    assert seen["ConnectError"] == len(clients)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--port", "99999"], "--port"), (["--workers", "0"], "--workers"), (["--host", "203.0.113.1"], "cannot listen")],
)
def test_what_is_wrong_is_a_line(path, arguments, said):
    command = [sys.executable, "-m", "parcomp.cli", "serve", "-c", str(path), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def _children(pid: int) -> list[int]:
    import psutil  # noqa: PLC0415  only here

    return [one.pid for one in psutil.Process(pid).children() if "resource_tracker" not in " ".join(one.cmdline())]
