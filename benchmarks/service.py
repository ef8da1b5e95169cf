"""The service under load: clients that ask a new question as soon as they have the answer to the last one."""

from __future__ import annotations

import asyncio
import random
import re
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

__all__ = ["load"]

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
    rows, duration = (50_000, 10.0) if settings.quick else (1_000_000, 60.0)
    with tempfile.TemporaryDirectory() as directory:
        path = _written(Path(directory), rows)
        with Access(CustodianSettings.load(path)) as access:
            keys = [access.add(name, "analyst").key for name in ("anna", "ben")]
        seen, elapsed = _served(path, keys, duration)
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
    }
    goal = Goal("≥ 50 answers a second, no error", answered / elapsed >= 50 and figures["errors"] == 0)
    yield Row(f"{_CLIENTS} clients", figures, settings.at_full_size(goal))


def _written(directory: Path, rows: int) -> Path:
    """A census of so many rows, whose ledger is empty."""
    path = write_census(directory)
    columns = census_table(rows, seed=1)
    with duckdb.connect(str(directory / "census.duckdb")) as database:
        database.register("drawn", {name: columns[name] for name in columns})
        database.execute("DELETE FROM census")
        database.execute("INSERT INTO census SELECT income, age, marital, race, gender FROM drawn")
    with path.open("a") as file:
        file.write("\n[service]\nrate = 100000\n")
    Custodian.create(path).close()
    return path


def _served(path: Path, keys: list[str], duration: float) -> tuple[_Load, float]:
    command = [sys.executable, "-m", "parcomp.cli", "serve", "-c", str(path), "--port", "0", "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            _wait_for(found[0])
            return asyncio.run(_ask_all(found[0], keys, duration))
        finally:
            server.terminate()


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


async def _ask_all(url: str, keys: list[str], duration: float) -> tuple[_Load, float]:
    seen, began = _Load(), time.monotonic()
    limits = httpx.Limits(max_connections=_CLIENTS, max_keepalive_connections=_CLIENTS)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as http:
        clients = (
            _ask(http, seen, keys[number % len(keys)], random.Random(number), began + duration)
            for number in range(_CLIENTS)
        )
        await asyncio.gather(*clients)
    return seen, time.monotonic() - began


async def _ask(http: httpx.AsyncClient, seen: _Load, key: str, draw: random.Random, until: float) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    while (began := time.monotonic()) < until:
        body = {"sql": _question(draw), "epsilon": _EPSILON}
        try:
            status = (await http.post("/v1/answers", headers=headers, json=body)).status_code
        except httpx.TransportError:
            status = 0
        seen.seconds.append(time.monotonic() - began)
        seen.statuses[status] = seen.statuses.get(status, 0) + 1


def _question(draw: random.Random) -> str:
    """One of some 10¹⁰ questions, so that hardly one is asked twice."""
    low, high = sorted(draw.sample(range(5_001), 2))
    marital = draw.choice(_MARITAL)
    age = 20 * draw.randrange(5)
    condition = f"income >= {150 * low} AND income < {150 * high} AND marital = '{marital}'"
    if draw.random() < 0.5:
        condition += f" AND age >= {age} AND age < {age + 20}"
    return f"SELECT COUNT(*) FROM census WHERE {condition}"
