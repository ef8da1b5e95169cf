"""Planned against uniform noise: the mean error that one budget buys on census samples.

Sequential composition and the paper's optimal composition give each query the same cost; a plan gives more to queries
whose rows have budget to spare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import mean
from typing import Any, Literal

from parcomp.experiments import workloads
from parcomp.experiments.clock import processor_seconds
from parcomp.experiments.drawing import BLUE, GREY, ORANGE, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Tables
from parcomp.planning import plan

__all__ = ["PLANNED_NOISE", "PlannedSets"]

_MEASURES = {"pure": "Laplace noise, ε = 1", "zcdp": "Gaussian noise, ρ = 1"}
_COLUMNS = {
    "sequential": ("sequential composition", GREY),
    "uniform": ("the same cost for all, by maximum overlap (the paper)", ORANGE),
    "planned": ("planned costs", BLUE),
}


@dataclass(frozen=True, slots=True)
class PlannedSets:
    """Census samples of ``t`` queries, of the seeds below ``sets``, planned under a measure at a budget of 1."""

    measure: Literal["pure", "zcdp"]
    t: int
    sets: int


def _instances(quick: bool) -> list[PlannedSets]:
    sizes, sets = ((100, 400), 2) if quick else ((25, 50, 100, 200, 500, 1_000, 1_500, 2_000), 10)
    return [PlannedSets(measure, t, sets) for measure in ("pure", "zcdp") for t in sizes]


@cache
def _warm_up() -> None:
    plan(workloads.census_sample(100, 0), budget=1, time_limit=5.0)


def _measure(instance: PlannedSets) -> Iterator[Row]:
    _warm_up()
    for seed in range(instance.sets):
        began = processor_seconds()
        answer = plan(workloads.census_sample(instance.t, seed), instance.measure, 1)
        yield {
            "sequential": answer.sequential_mean_error,
            "uniform": answer.uniform_mean_error,
            "planned": answer.mean_error,
            "seconds": round(processor_seconds() - began, 4),
        }


def _tables(records: Sequence[Record]) -> Tables:
    found = []
    for record in records:
        one: PlannedSets = record.instance
        what: Row = {"measure": one.measure, "t": one.t, "sets": len(record.rows)}
        averages = {name: mean(float(row[name]) for row in record.rows) for name in (*_COLUMNS, "seconds")}
        found.append({**what, **averages, "planned_over_uniform": averages["planned"] / averages["uniform"]})
    return {"planned-noise": found}


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(1, 2, size=(10.5, 4.4))
    for one, (measure, title) in zip(axes, _MEASURES.items(), strict=True):
        rows = [row for row in tables["planned-noise"] if row["measure"] == measure]
        for column, (text, color) in _COLUMNS.items():
            one.plot([row["t"] for row in rows], [row[column] for row in rows], "o-", color=color, label=text)
        one.set_xscale("log")
        one.set_yscale("log")
        one.set_xlabel("queries t")
        one.set_title(title, fontsize=10)
    axes[0].set_ylabel("mean expected error of an answer")
    axes[0].legend(fontsize=8, loc="upper left")
    figure.suptitle("What one budget buys on census samples", fontsize=12)
    return figure


PLANNED_NOISE = Experiment(
    "planned-noise",
    "mean error at one budget on census samples: sequential, uniform and planned costs",
    PlannedSets,
    _instances,
    _measure,
    lambda instance: 120.0 + 70.0 * instance.sets,
    _tables,
    _draw,
)
