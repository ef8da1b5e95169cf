"""The whole census workload of 3,600,000 queries (paper §7.2), and parts of it; the paper takes samples of 2,000."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parcomp as pc
from parcomp import Workload
from parcomp.experiments.clock import processor_seconds
from parcomp.experiments.drawing import BLUE, GREEN, VERMILION, limit_line, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Tables
from parcomp.experiments.measuring import COMPLETED, TIMED_OUT
from parcomp.samples import census_choices, census_domain, census_sample

__all__ = ["WHOLE_CENSUS", "Prefixes", "peak_memory"]


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Every census query on so many income ranges, evenly spread; 5,000 is all of them."""

    incomes: int
    limit: float


def _instances(quick: bool) -> list[Prefixes]:
    return [Prefixes(incomes, 60.0) for incomes in ((5, 50) if quick else (5, 50, 500, 5_000))]


def _measure(instance: Prefixes) -> Iterator[Row]:
    pc.max_overlap(census_sample(500, 0), time_limit=10.0)
    choices = census_choices()
    step = len(choices["income"]) // instance.incomes
    choices["income"] = choices["income"][step - 1 :: step]
    began = processor_seconds()
    workload = Workload.product(census_domain(), choices)
    built = processor_seconds()
    answer = pc.max_overlap(workload, instance.limit)
    yield {
        "queries": len(workload),
        "lower": answer.lower,
        "upper": answer.upper,
        "gain": 1 - answer.upper / len(workload),
        "status": COMPLETED if answer.exact else TIMED_OUT,
        "build_seconds": round(built - began, 4),
        "solve_seconds": round(processor_seconds() - built, 4),
        "peak_gib": round(peak_memory() / 2**30, 3),
    }


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    # Where Linux tells, this is better: ru_maxrss also counts the parent's memory at the moment of the start.
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024


def _tables(records: Sequence[Record]) -> Tables:
    return {"whole-census": [{"incomes": record.instance.incomes, **row} for record in records for row in record.rows]}


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(size=(7.2, 4.4))
    rows = tables["whole-census"]
    queries = [row["queries"] for row in rows]
    for column, color, text in (("build_seconds", GREEN, "building the workload"), ("solve_seconds", BLUE, "exact γ")):
        axes.plot(queries, [float(row[column]) for row in rows], "o-", color=color, label=text)
    for row in rows:
        text = f"γ = {row['lower']:,}"
        place = (float(row["queries"]), float(row["solve_seconds"]))
        axes.annotate(text, place, (-6, 7), textcoords="offset points", ha="right", fontsize=8.5)
    axes.set_xscale("log")
    axes.set_xlim(left=900)
    axes.set_yscale("log")
    axes.axvline(2_000, color=VERMILION, linestyle="--", linewidth=1.2, label="2,000: the paper's largest sample")
    limit_line(axes, 60, "60 s")
    axes.set_xlabel("queries: all on 5 to 5,000 income ranges")
    axes.set_ylabel("processor seconds")
    axes.legend(fontsize=8.5, loc="lower right")
    axes.set_title("The whole census workload", fontsize=11)
    return figure


WHOLE_CENSUS = Experiment(
    "whole-census",
    "all 3,600,000 census queries, and parts of them: exact overlap, time and memory",
    Prefixes,
    _instances,
    _measure,
    lambda instance: 3 * instance.limit + 120.0,
    _tables,
    _draw,
    fresh=True,
)
