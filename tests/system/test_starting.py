"""How ``parcomp serve`` starts, and how it does not: one line, exit code 2, and nothing changed by a failed start."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from parcomp.custodian import Custodian
from tests.custodians import write_custodian
from tests.service.served import add_keys

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
MEN = "SELECT COUNT(*) FROM people WHERE sex = 'M'"


def command(path, *arguments):
    return [sys.executable, "-m", "parcomp.cli", "serve", "-c", str(path), "--port", "0", *arguments]


def failed_start(arguments):
    """What a server that does not start says, in one line."""
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "Serving" not in ended.stdout
    [line] = ended.stderr.splitlines()
    return line


def started(arguments, **more):
    """A server that has started, what it said before, and its address."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    line = process.stdout.readline()
    address = re.search(r"http://[\d.]+:\d+", line)
    assert address, line + process.stderr.read()
    return process, address[0]


def ended(process):
    process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=60)[1]


@pytest.fixture
def rolled_back(tmp_path):
    """A ledger restored from a copy that was made a charge ago, and the head that it had since."""
    path = write_custodian(tmp_path / "custody")
    ledger, copy = path.parent / "ledger.db", tmp_path / "copy.db"
    with Custodian.open(path) as custodian:
        custodian.ask(WOMEN, epsilon="0.1")
    shutil.copy(ledger, copy)
    copy.chmod(0o600)
    with Custodian.open(path) as custodian:
        custodian.ask(MEN, epsilon="0.1")
        heads = [one.digest for one in custodian.charges()]
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (path.parent / name).unlink(missing_ok=True)
    shutil.copy(copy, ledger)
    ledger.chmod(0o600)
    return path, heads


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_ledger_that_was_rolled_back_is_not_served(rolled_back, workers):
    path, _ = rolled_back
    assert "rolled back" in failed_start(command(path, "--workers", workers))


def test_without_its_mark_a_ledger_is_served_with_a_note_and_refused_by_a_noted_head(rolled_back):
    path, heads = rolled_back
    path.with_suffix(".mark").unlink()
    assert "noted head" in failed_start(command(path, "--head", heads[1]))
    assert "noted head" in failed_start(command(path, "--head", "0" * 64, "--workers", "2"))
    assert not path.with_suffix(".mark").exists(), "a ledger that is refused is not marked"
    process, address = started(command(path, "--head", heads[0]))
    try:
        assert httpx.get(f"{address}/readyz", timeout=60).status_code == 200
    finally:
        said = ended(process)
    assert "nothing here can tell whether it was rolled back" in said.splitlines()[0]
    # From then on it is marked.
    process, _ = started(command(path))
    assert "rolled back" not in ended(process)


def test_a_table_that_cannot_be_used_is_said_before_anything_is_served(tmp_path):
    path = write_custodian(tmp_path)
    path.with_suffix(".codes").unlink()
    assert "coded" in failed_start(command(path, "--workers", "2"))


LOSING = """
import pathlib, sys
import parcomp.service.process as process
from parcomp.cli import main
starting = process._Workers
def losing(*arguments):
    pathlib.Path(sys.argv[3]).with_name("ledger.db").rename(pathlib.Path(sys.argv[3]).with_name("away.db"))
    return starting(*arguments)
if __name__ == "__main__":
    process._Workers = losing
    sys.exit(main())
"""
"""The program, whose ledger is lost between the first look at it and the start of the workers."""


def test_a_worker_that_cannot_start_ends_the_server_with_2(tmp_path):
    path = write_custodian(tmp_path)
    file = tmp_path / "program.py"
    file.write_text(LOSING)
    arguments = [sys.executable, str(file), *command(path, "--workers", "2")[3:]]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    assert "did not start" in done.stderr.splitlines()[-1]


def test_a_second_demonstration_leaves_the_keys_of_the_first_alone(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        arguments = [sys.executable, "-m", "parcomp.cli.demo_server", "--out", str(tmp_path / "out"), "--port", port]
        line = failed_start(arguments)
        assert port in line
        assert "make serve PORT=" in line
        assert not (tmp_path / "out").exists()


def test_a_proxy_is_believed_if_the_settings_name_it(tmp_path):
    """A proxy on another machine is, here, another address of this one."""
    path = write_custodian(tmp_path)
    key = add_keys(path, boss="custodian")["boss"]
    with path.open("a") as file:
        file.write('\n[service]\nproxies = ["127.0.0.2", "10.1.0.0/16"]\n')
    process, address = started(command(path))
    try:
        secure = {}
        for source in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
            with httpx.Client(transport=httpx.HTTPTransport(local_address=source), timeout=60) as http:
                headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
                response = http.post(f"{address}/console/session", json={"key": key}, headers=headers)
                secure[source] = "Secure" in response.headers["set-cookie"]
        assert secure == {"127.0.0.1": True, "127.0.0.2": True, "127.0.0.3": False}
    finally:
        ended(process)
