"""Online admission: one more decision against the length of the ledger, beside solving the whole ledger again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import parcomp as pc
from parcomp import Workload
from parcomp.experiments.clock import processor_seconds
from parcomp.experiments.drawing import BLUE, ORANGE, SKY, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Tables
from parcomp.experiments.workloads import census_sample
from parcomp.overlap import LiveOverlap

__all__ = ["ADMISSION", "LongLedger"]


@dataclass(frozen=True, slots=True)
class LongLedger:
    """A ledger of so many census-like charges with random costs, and so many decisions more."""

    charges: int
    decisions: int
    seed: int


def _instances(quick: bool) -> list[LongLedger]:
    if quick:
        return [LongLedger(charges, 50, 0) for charges in (100, 1_000)]
    lengths = (100, 300, 1_000, 3_000, 10_000, 30_000)
    return [LongLedger(charges, 500, seed) for charges in lengths for seed in range(3)]


def _measure(instance: LongLedger) -> Iterator[Row]:
    workload = census_sample(instance.charges + instance.decisions, instance.seed)
    queries = list(workload)
    costs = np.random.default_rng(instance.seed).integers(1, 10**6, len(queries)).tolist()
    history = list(zip(queries[: instance.charges], costs[: instance.charges], strict=True))
    warm = LiveOverlap(workload.domain, budget=10**12)
    warm.load(history[:50])
    warm.add(*history[50])
    again = Workload(workload.domain, queries[: instance.charges], costs[: instance.charges])
    pc.max_overlap(again[: min(instance.charges, 500)], time_limit=10.0)

    state = LiveOverlap(workload.domain, budget=10**12)
    began = processor_seconds()
    state.load(history)
    loaded = processor_seconds() - began
    # About half of what is asked meets a budget that is nearly spent, so that refusals are measured too.
    state.budget = state.upper + 10**6 // 2
    seconds, admitted = [], 0
    for query, cost in zip(queries[instance.charges :], costs[instance.charges :], strict=True):
        began = processor_seconds()
        admitted += state.add(query, cost)
        seconds.append(processor_seconds() - began)
    p50, p99 = np.percentile(seconds, [50, 99]).tolist()
    answer = pc.max_overlap(again, 60.0)
    yield {
        "admitted_percent": 100.0 * admitted / instance.decisions,
        "p50_seconds": round(p50, 6),
        "p99_seconds": round(p99, 6),
        "longest_seconds": round(max(seconds), 6),
        "load_seconds": round(loaded, 4),
        "solve_again_seconds": round(answer.seconds, 4),
        "spent_percent_of_sequential": 100.0 * state.upper / state.total,
    }


def _tables(records: Sequence[Record]) -> Tables:
    return {
        "admission": [
            {"charges": record.instance.charges, "seed": record.instance.seed, **row}
            for record in records
            for row in record.rows
        ]
    }


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(size=(7.4, 4.6))
    lengths = sorted({int(row["charges"]) for row in tables["admission"]})
    for column, color, text in (
        ("p50_seconds", SKY, "one more decision, p50"),
        ("p99_seconds", BLUE, "one more decision, p99"),
        ("solve_again_seconds", ORANGE, "solving the whole ledger again"),
    ):
        groups = [
            [1e3 * float(row[column]) for row in tables["admission"] if row["charges"] == length] for length in lengths
        ]
        axes.plot(lengths, [sum(group) / len(group) for group in groups], "-", color=color, label=text)
        for length, group in zip(lengths, groups, strict=True):
            axes.plot([length] * len(group), group, "o", color=color, markersize=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("charges in the ledger")
    axes.set_ylabel("milliseconds of a processor")
    axes.legend(fontsize=8.5, loc="upper left")
    axes.set_title("Online admission against the length of the ledger", fontsize=11)
    return figure


ADMISSION = Experiment(
    "admission",
    "time of one more online decision against the ledger's length",
    LongLedger,
    _instances,
    _measure,
    lambda _instance: 300.0,
    _tables,
    _draw,
)
