"""The certified bracket over time: how fast the two ends close in on the maximum overlap where it is hard to find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import parcomp as pc
from parcomp import Workload
from parcomp.experiments import workloads
from parcomp.experiments.clock import processor_seconds
from parcomp.experiments.drawing import BLUE, GREEN, ORANGE, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Tables
from parcomp.experiments.measuring import warm_up

__all__ = ["BRACKETS", "Watched"]

SHAPES: dict[str, Callable[[], Workload]] = {
    "uniform, t=100, m=10": lambda: workloads.uniform_workload(100, 10, 4, 0),
    "uniform, t=200, m=20": lambda: workloads.uniform_workload(200, 20, 4, 0),
    "uniform, t=300, m=50": lambda: workloads.uniform_workload(300, 50, 4, 0),
    "dense subsets, t=200": lambda: workloads.dense_subsets(200, 12, 0),
    "two-valued, t=400, m=40": lambda: workloads.binary(400, 40, 0),
    "boxes, t=2,000, m=5": lambda: workloads.boxes(2_000, 5, 1_000, 0),
    "uniform, t=60, m=10": lambda: workloads.uniform_workload(60, 10, 3, 0),
}


@dataclass(frozen=True, slots=True)
class Watched:
    """A workload of a named shape, watched for so many seconds."""

    shape: str
    limit: float


def _instances(quick: bool) -> list[Watched]:
    if quick:
        return [Watched("uniform, t=60, m=10", 3.0), Watched("dense subsets, t=200", 3.0)]
    return [Watched(shape, 60.0) for shape in list(SHAPES)[:6]]


def _measure(instance: Watched) -> Iterator[Row]:
    warm_up()
    workload = SHAPES[instance.shape]()
    chromatic = pc.chromatic_number(workload, instance.limit)
    began = processor_seconds()
    seen: list[Row] = []

    def note(lower: int | float, upper: int | float) -> None:
        if not seen or (seen[-1]["lower"], seen[-1]["upper"]) != (lower, upper):
            seen.append({"seconds": round(processor_seconds() - began, 4), "lower": lower, "upper": upper})

    answer = pc.max_overlap(workload, instance.limit, progress=note)
    seen.append({"seconds": round(answer.seconds, 4), "lower": answer.lower, "upper": answer.upper})
    for row in seen:
        yield {**row, "chromatic": chromatic.upper, "queries": len(workload)}


def _tables(records: Sequence[Record]) -> Tables:
    return {
        "brackets": [
            {"shape": record.instance.shape, **row}
            for record in records
            for row in record.rows
            or [{"seconds": record.seconds, "lower": 0, "upper": record.ended, "chromatic": 0, "queries": 0}]
        ]
    }


def _draw(tables: Tables) -> Any:
    shapes = list(dict.fromkeys(str(row["shape"]) for row in tables["brackets"]))
    columns = min(3, len(shapes))
    lines = -(-len(shapes) // columns)
    figure, axes = new_figure(lines, columns, size=(4.4 * columns, 3.3 * lines), squeeze=False)
    for one, shape in zip(axes.flat, shapes, strict=False):
        rows = [row for row in tables["brackets"] if row["shape"] == shape]
        at = [max(float(row["seconds"]), 1e-3) for row in rows]
        lower, upper = ([float(row[end]) for row in rows] for end in ("lower", "upper"))
        one.fill_between(at, lower, upper, step="post", color=BLUE, alpha=0.15)
        one.step(at, upper, where="post", color=BLUE, label="proven: no row weighs more")
        one.step(at, lower, where="post", color=GREEN, label="found: a row that weighs so much")
        one.axhline(float(rows[0]["chromatic"]), color=ORANGE, linestyle="--", label="chromatic number")
        last = rows[-1]
        exact = last["lower"] == last["upper"]
        end = f"γ = {last['lower']}" if exact else f"{last['lower']} ≤ γ ≤ {last['upper']}"
        one.set_title(f"{shape}: {end}", fontsize=9.5)
        one.set_xscale("log")
        one.set_yscale("log")
        one.set_ylim(bottom=0.8 * max(min(lower), 1.0), top=1.25 * max(float(rows[0]["chromatic"]), *upper))
        one.set_xlabel("processor seconds")
        one.yaxis.get_major_locator().set_params(subs=(1, 2, 3, 5))
        one.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        one.tick_params(axis="both", which="minor", labelbottom=False, labelleft=False)
    for one in axes[:, 0]:
        one.set_ylabel("maximum overlap γ")
    for one in list(axes.flat)[len(shapes) :]:
        one.set_visible(False)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
    figure.suptitle("The certified bracket over time", fontsize=12)
    return figure


BRACKETS = Experiment(
    "brackets",
    "the certified bracket over time on hard workloads",
    Watched,
    _instances,
    _measure,
    lambda instance: 3 * instance.limit + 120.0,
    _tables,
    _draw,
)
