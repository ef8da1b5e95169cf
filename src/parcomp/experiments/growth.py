"""How the time grows with the number of queries, of attributes, and with the size of the domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import parcomp as pc
from parcomp import Workload
from parcomp.experiments import workloads
from parcomp.experiments.drawing import GREY, SPREAD, limit_line, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Tables
from parcomp.experiments.huge import huge_uniform_workload
from parcomp.experiments.measuring import COMPLETED, TIMED_OUT, warm_up

__all__ = ["GROWTH", "Grown"]

_AXES = {
    "t": "queries t",
    "m": "attributes m",
    "log10_domain": "log₁₀ of the domain's size",
}
FAMILIES: dict[str, tuple[str, Callable[[int], Workload], tuple[int, ...], tuple[int, ...]]] = {
    "census": ("t", lambda t: workloads.census_sample(t, 0), (100, 400), (100, 300, 1_000, 3_000, 10_000, 30_000)),
    "marginals, 3-way": ("t", lambda n: workloads.marginals(n, 6, 3), (4, 6), (4, 6, 8, 10, 12)),
    "boxes, m=3": ("t", lambda t: workloads.boxes(t, 3, 1_000, 0), (100, 300), (100, 300, 1_000, 3_000, 10_000)),
    "uniform, m=50": ("t", lambda t: workloads.uniform_workload(t, 50, 4, 0), (25, 50), (25, 50, 75, 100, 150, 200)),
    "uniform, t=50": ("m", lambda m: workloads.uniform_workload(50, m, 4, 0), (10, 40), (10, 20, 50, 100, 200, 500)),
    "points, t=1,000": ("m", lambda m: workloads.points(1_000, m, 5, 0), (10, 40), (10, 30, 100, 300, 1_000)),
    "uniform, t=200": (
        "log10_domain",
        lambda size: huge_uniform_workload(200, size, 0),
        (1_000, 4_000),
        (2_000, 5_000, 10_000, 20_000, 40_000, 80_000),
    ),
    "uniform, t=2,000": (
        "log10_domain",
        lambda size: huge_uniform_workload(2_000, size, 0),
        (),
        (10_000, 20_000, 40_000, 80_000),
    ),
}


@dataclass(frozen=True, slots=True)
class Grown:
    """A workload of a family at a size."""

    family: str
    size: int
    limit: float


def _instances(quick: bool) -> list[Grown]:
    return [
        Grown(family, size, 10.0 if quick else 60.0)
        for family, (_, _, few, many) in FAMILIES.items()
        for size in (few if quick else many)
    ]


def _measure(instance: Grown) -> Iterator[Row]:
    warm_up()
    axis, build, _, _ = FAMILIES[instance.family]
    workload = build(instance.size)
    answer = pc.max_overlap(workload, instance.limit)
    yield {
        # The marginals' size is that of their domain; what grows is the number of their cells.
        "value": len(workload) if axis == "t" else instance.size,
        "lower": answer.lower,
        "upper": answer.upper,
        "status": COMPLETED if answer.exact else TIMED_OUT,
        "seconds": round(answer.seconds, 4),
    }


def _tables(records: Sequence[Record]) -> Tables:
    found = []
    for record in records:
        one: Grown = record.instance
        cut: Row = {
            "value": one.size,
            "lower": 0,
            "upper": "not known",
            "status": record.ended,
            "seconds": record.seconds,
        }
        found.append({"axis": FAMILIES[one.family][0], "family": one.family, **(record.rows or [cut])[0]})
    return {"growth": found}


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(1, 3, size=(13.5, 4.4), sharey=True)
    for one, (axis, label) in zip(axes, _AXES.items(), strict=True):
        rows = [row for row in tables["growth"] if row["axis"] == axis]
        for color, family in zip(SPREAD, dict.fromkeys(str(row["family"]) for row in rows), strict=False):
            line = [row for row in rows if row["family"] == family]
            one.plot([row["value"] for row in line], [float(row["seconds"]) for row in line], color=color, label=family)
            for done, marker in ((True, "o"), (False, "x")):
                chosen = [row for row in line if (row["status"] == COMPLETED) == done]
                one.plot([row["value"] for row in chosen], [float(r["seconds"]) for r in chosen], marker, color=color)
        one.plot([], [], "x", color=GREY, label="not exact within the limit")
        one.set_xscale("log")
        one.set_yscale("log")
        one.tick_params(axis="x", which="minor", labelbottom=False)
        if axis == "log10_domain":
            sizes = sorted({int(row["value"]) for row in rows})
            one.set_xticks(sizes, [f"{size:,}" for size in sizes])
        one.set_xlabel(label)
        limit_line(one, 60, "60 s" if one is axes[0] else "")
        one.legend(fontsize=8, loc="upper left")
    axes[0].set_ylabel("processor seconds to the exact maximum overlap")
    axes[0].set_ylim(top=4_000)
    figure.suptitle("Growth with queries, attributes and domain size", fontsize=12)
    return figure


GROWTH = Experiment(
    "growth",
    "time against the number of queries, of attributes, and the domain's size",
    Grown,
    _instances,
    _measure,
    lambda instance: 2 * instance.limit + 180.0,
    _tables,
    _draw,
)
