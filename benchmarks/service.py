"""The service under load: clients that ask a new question as soon as they have the answer to the last one."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import httpx
import numpy as np

from benchmarks.harness import Goal, Row, Settings, Timing, benchmark
from parcomp.cli.demo_session import write_census
from parcomp.custodian import Access, Custodian
from parcomp.custodian import Settings as CustodianSettings
from parcomp.ledger import audit_charges, open_ledger
from parcomp.samples import census_table

__all__ = ["load", "together"]

_CLIENTS = 64
_EPSILON = "0.000002"
_MARITAL = ("never married", "married", "divorced", "widowed")


@dataclass
class _Load:
    """What the clients have seen."""

    seconds: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)


@benchmark("serve")
def load(settings: Settings) -> Iterator[Row]:
    """64 clients on loopback, 2 workers, a SQLite ledger and a table of 1,000,000 rows; every question is new."""
    rows, duration = _size(settings)
    with tempfile.TemporaryDirectory() as directory:
        path = _written(Path(directory), rows)
        yield _row(settings, path, [_command(path, workers=2)], rows, duration)


@benchmark("serve-together")
def together(settings: Settings) -> Iterator[Row]:
    """64 clients, two servers of one worker each that share a ledger in PostgreSQL, and a table of 1,000,000 rows."""
    from tests.servers import running_postgres  # noqa: PLC0415  may not be installed

    rows, duration = _size(settings)
    with running_postgres() as ledger, tempfile.TemporaryDirectory() as directory:
        path = _written(Path(directory), rows, ledger)
        # Another machine has its own settings, its own copy of the coded table and its own mark.
        second = path.with_name("second.toml")
        second.write_text(path.read_text())
        shutil.copy2(path.with_suffix(".codes"), second.with_suffix(".codes"))
        yield _row(settings, path, [_command(path), _command(second)], rows, duration)


def _size(settings: Settings) -> tuple[int, float]:
    return (50_000, 10.0) if settings.quick else (1_000_000, 60.0)


def _row(settings: Settings, path: Path, commands: list[list[str]], rows: int, duration: float) -> Row:
    """What 64 clients see of servers that are started by these commands, and whether their ledger is right."""
    with Access(CustodianSettings.load(path)) as access:
        keys = [access.add(name, "analyst").key for name in ("anna", "ben")]
    seen, elapsed = _served(commands, keys, duration)
    with Custodian.open(path) as custodian:
        charges = custodian.charges()
        with closing(open_ledger(custodian.settings.ledger, custodian.settings.binding)) as ledger:
            sound = audit_charges(charges, ledger.binding, custodian.settings.domain).ok
    answered = seen.statuses.get(200, 0)
    p50, p99 = np.percentile(seen.seconds, [50, 99]).tolist()
    figures = {
        "rows": f"{rows:,}",
        "answers": f"{answered:,}",
        "answers/s": f"{answered / elapsed:.0f}",
        "p50": Timing(p50),
        "p99": Timing(p99),
        "errors": sum(count for status, count in seen.statuses.items() if status != 200),
        "ledger": "verified" if sound and len(charges) == answered else "wrong",
        "load": f"{os.getloadavg()[0]:.1f}",
    }
    goal = Goal("≥ 50 answers a second, no error", answered / elapsed >= 50 and figures["errors"] == 0)
    return Row(f"{_CLIENTS} clients", figures, settings.at_full_size(goal))


def _written(directory: Path, rows: int, ledger: str = "") -> Path:
    """A census of so many rows, whose ledger is empty."""
    path = write_census(directory)
    columns = census_table(rows, seed=1)
    with duckdb.connect(str(directory / "census.duckdb")) as database:
        database.register("drawn", {name: columns[name] for name in columns})
        database.execute("DELETE FROM census")
        database.execute("INSERT INTO census SELECT income, age, marital, race, gender FROM drawn")
    text = path.read_text() + "\n[service]\nrate = 100000\n"
    path.write_text(text.replace("sqlite:///ledger.db", ledger) if ledger else text)
    Custodian.create(path).close()
    return path


def _command(path: Path, workers: int = 1) -> list[str]:
    return [sys.executable, "-m", "parcomp.cli", "serve", "-c", str(path), "--port", "0", "--workers", str(workers)]


def _served(commands: list[list[str]], keys: list[str], duration: float) -> tuple[_Load, float]:
    servers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for command in commands
    ]
    try:
        urls = []
        for server in servers:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            _wait_for(found[0])
            urls.append(found[0])
        return asyncio.run(_ask_all(urls, keys, duration))
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.communicate()


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise TimeoutError("the server did not start")


async def _ask_all(urls: list[str], keys: list[str], duration: float) -> tuple[_Load, float]:
    seen, began = _Load(), time.monotonic()
    limits = httpx.Limits(max_connections=_CLIENTS, max_keepalive_connections=_CLIENTS)
    async with httpx.AsyncClient(timeout=60, limits=limits) as http:
        clients = (
            _ask(
                http,
                urls[number % len(urls)],
                seen,
                keys[number // 2 % len(keys)],
                _questions(number),
                began + duration,
            )
            for number in range(_CLIENTS)
        )
        await asyncio.gather(*clients)
    return seen, time.monotonic() - began


async def _ask(
    http: httpx.AsyncClient, url: str, seen: _Load, key: str, questions: Iterator[str], until: float
) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    while (began := time.monotonic()) < until:
        body = {"sql": next(questions), "epsilon": _EPSILON}
        try:
            status = (await http.post(f"{url}/v1/answers", headers=headers, json=body)).status_code
        except httpx.TransportError:
            status = 0
        seen.seconds.append(time.monotonic() - began)
        seen.statuses[status] = seen.statuses.get(status, 0) + 1


def _questions(client: int) -> Iterator[str]:
    """Questions that neither this client nor another one has asked: an answer that was bought before would be free."""
    draw = random.Random(client)
    asked = set()
    while True:
        # Clients differ in the lower ends of their ranges.
        low = client + _CLIENTS * draw.randrange(5_000 // _CLIENTS)
        high = draw.randrange(low + 1, 5_001)
        condition = f"income >= {150 * low} AND income < {150 * high} AND marital = '{draw.choice(_MARITAL)}'"
        if draw.random() < 0.5:
            age = 20 * draw.randrange(5)
            condition += f" AND age >= {age} AND age < {age + 20}"
        if condition not in asked:
            asked.add(condition)
            yield f"SELECT COUNT(*) FROM census WHERE {condition}"
