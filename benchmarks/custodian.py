"""The custodian: opening one on a long ledger, quoting, and asking to the end."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.harness import Goal, Row, Settings, Timing, benchmark
from parcomp.cli.demo_session import write_census
from parcomp.custodian import Custodian
from parcomp.custodian import Settings as CustodianSettings
from parcomp.errors import RefusedError
from parcomp.experiments import workloads
from parcomp.ledger import Entry, open_ledger, utc_now
from parcomp.model import Condition, Query, Statement
from parcomp.overlap import LiveOverlap

__all__ = ["custodian", "longest"]

_UNIT_COST = 10**4
"""Costs are up to this many units, so that thousands of them fit a budget of 1."""

_BATCH = 1_000
"""Statements that are asked for at once."""


@benchmark("long-ledger")
def custodian(settings: Settings) -> Iterator[Row]:
    """A custodian on a SQLite ledger of census-like charges (paper §7.2): opening it, deciding, and asking."""
    held, more = (1_000, 50) if settings.quick else (10_000, 500)
    for seed in range(1 if settings.quick else 3):
        figures, opening, p99 = _measured(held, more, seed)
        goal = Goal("decision p99 ≤ 50 ms, opening < 3 s", p99 <= 0.05 and opening < 3)
        yield Row(f"seed {seed}", figures, settings.at_full_size(goal))


@benchmark("longest-ledger")
def longest(settings: Settings) -> Iterator[Row]:
    """A custodian on a SQLite ledger of 100,000 census-like charges: opening it, deciding, and asking."""
    held, more = (5_000, 50) if settings.quick else (100_000, 500)
    figures, opening, p99 = _measured(held, more, seed=0)
    goal = Goal("decision p99 ≤ 100 ms, opening ≤ 10 s", p99 <= 0.1 and opening <= 10)
    yield Row("seed 0", figures, settings.at_full_size(goal))


def _measured(held: int, more: int, seed: int) -> tuple[dict[str, object], float, float]:
    """Figures of a ledger of so many charges, with so many quotes and asks; seconds of opening, p99 of quotes."""
    with tempfile.TemporaryDirectory() as directory:
        path = write_census(Path(directory))
        queries = list(workloads.census_sample(held + 2 * more + _BATCH, seed))
        Custodian.create(path).close()
        _fill(CustodianSettings.load(path), queries[:held], seed)
        began, worked = time.perf_counter(), time.process_time()
        opened = Custodian.open(path)
        opening, worked = time.perf_counter() - began, time.process_time() - worked
        with opened:
            # The first one loads kernels.
            _quote_all(opened, queries[held : held + 1])
            quoting, working = _quote_all(opened, queries[held : held + more])
            asking, admitted = _ask_all(opened, queries[held + more : held + 2 * more])
            together, batched = _ask_together(opened, queries[held + 2 * more :])
    p50, p99 = np.percentile(quoting, [50, 99]).tolist()
    ask50, ask99 = np.percentile(asking, [50, 99]).tolist()
    figures = {
        "charges": held,
        "opening": Timing(opening),
        "its CPU": Timing(worked),
        "decision p50": Timing(p50),
        "p99": Timing(p99),
        "p99 of CPU": Timing(float(np.percentile(working, 99))),
        "ask p50": Timing(ask50),
        "ask p99": Timing(ask99),
        "admitted": f"{admitted} of {more}",
        f"batch of {_BATCH:,}": Timing(together),
        "of that, CPU": Timing(batched),
        "load": f"{os.getloadavg()[0]:.1f}",
    }
    return figures, opening, p99


def _fill(settings: CustodianSettings, queries: list[Query], seed: int) -> None:
    """Append charges as if they had been asked one by one."""
    costs = np.random.default_rng(seed).integers(1, _UNIT_COST, len(queries)).tolist()
    live = LiveOverlap(settings.domain, settings.row_budget)
    live.load(zip(queries, costs, strict=True))
    entries = [
        Entry(
            utc_now(), "", Statement.one("count", Condition.of(query)).text, json.dumps(query.where()), cost, live.upper
        )
        for query, cost in zip(queries, costs, strict=True)
    ]
    with closing(open_ledger(settings.ledger, settings.binding)) as ledger, ledger.transaction() as transaction:
        transaction.append(entries)


def _quote_all(opened: Custodian, queries: list[Query]) -> tuple[list[float], list[float]]:
    """What each quote takes by the clock, and of a processor."""
    seconds, worked = [], []
    for query in queries:
        began, before = time.perf_counter(), time.process_time()
        opened.quote(_sql(query), epsilon="0.000005", analyst="ben")
        seconds.append(time.perf_counter() - began)
        worked.append(time.process_time() - before)
    return seconds, worked


def _ask_all(opened: Custodian, queries: list[Query]) -> tuple[list[float], int]:
    seconds, admitted = [], 0
    for query in queries:
        began = time.perf_counter()
        try:
            opened.ask(_sql(query), epsilon="0.000005", analyst="ben")
            admitted += 1
        except RefusedError:
            pass
        seconds.append(time.perf_counter() - began)
    return seconds, admitted


def _ask_together(opened: Custodian, queries: list[Query]) -> tuple[float, float]:
    """What a batch takes from its text to its answers, by the clock and of a processor."""
    began, before = time.perf_counter(), time.process_time()
    opened.ask_batch([_sql(query) for query in queries], epsilon="0.000005", analyst="ben")
    return time.perf_counter() - began, time.process_time() - before


def _sql(query: Query) -> str:
    """A census query as SQL: ranges of income and age, single values of the others."""
    conditions = []
    for name, written in query.where().items():
        if name in ("income", "age"):
            width = 150 if name == "income" else 20
            if isinstance(written, dict):
                low, high = written["from"], written["below"]
            else:
                bins = written if isinstance(written, list) else [written]
                low, high = bins[0], bins[-1] + width
            conditions.append(f"{name} >= {low} AND {name} < {high}")
        else:
            conditions.append(f"{name} = '{written}'")
    return (
        f"SELECT COUNT(*) FROM census WHERE {' AND '.join(conditions)}" if conditions else "SELECT COUNT(*) FROM census"
    )
