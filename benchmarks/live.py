"""The online state: one more decision on a long ledger, and opening one."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Goal, Row, Settings, Timing, benchmark
from parcomp.experiments import workloads
from parcomp.overlap import LiveOverlap

__all__ = ["ledger"]


@benchmark("ledger")
def ledger(settings: Settings) -> Iterator[Row]:
    """A ledger of census-like charges (paper §7.2): loading it, and deciding on one more query at a time."""
    held, more = (1_000, 100) if settings.quick else (10_000, 1_000)
    for seed in range(3):
        queries = list(workloads.census_sample(held + more, seed))
        draw = np.random.default_rng(seed)
        costs = draw.integers(1, 10**6, held + more).tolist()
        history = list(zip(queries[:held], costs[:held], strict=True))
        warm = LiveOverlap(queries[0].domain, budget=10**12)
        warm.load(history[:100])
        warm.add(*history[100])

        state = LiveOverlap(queries[0].domain, budget=10**12)
        began = time.perf_counter()
        state.load(history)
        loaded = time.perf_counter() - began
        # Half of the queries meet a budget that is nearly spent, so that refusals are measured too.
        state.budget = state.upper + 10**6 // 2
        seconds, admitted = [], 0
        for query, cost in zip(queries[held:], costs[held:], strict=True):
            began = time.perf_counter()
            admitted += state.add(query, cost)
            seconds.append(time.perf_counter() - began)
        p50, p99 = np.percentile(seconds, [50, 99]).tolist()
        figures = {
            "charges": held,
            "load": Timing(loaded),
            "admitted": f"{admitted} of {more}",
            "p50": Timing(p50),
            "p99": Timing(p99),
            "longest": Timing(max(seconds)),
        }
        met = p50 <= 0.005 and p99 <= 0.05 and loaded <= 3
        yield Row(f"seed {seed}", figures, settings.at_full_size(Goal("p50 ≤ 5 ms, p99 ≤ 50 ms, load ≤ 3 s", met)))
