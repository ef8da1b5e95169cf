"""Random census queries (paper §7.2): utility gain, percent complete and mean time against the number of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from parcomp.experiments.drawing import ALGORITHM_COLORS, ALGORITHMS, METHODS, limit_line, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Table, Tables
from parcomp.experiments.measuring import COMPLETED, by_paper, by_parcomp, owed
from parcomp.experiments.workloads import census_sample

__all__ = ["CENSUS", "CensusSets"]

_TIMES_OUT = 1_350
"""Where the paper's exact algorithms begin to time out."""


@dataclass(frozen=True, slots=True)
class CensusSets:
    """Sample sets of ``t`` queries, of the seeds from ``first`` on, by one method, with a time limit for each."""

    method: str
    t: int
    first: int
    sets: int
    limit: float


def _instances(quick: bool) -> list[CensusSets]:
    if quick:
        ours = [CensusSets("parcomp", t, 0, 5, 10.0) for t in (25, 200, 1_000, 2_000)]
        return [*(CensusSets("paper", t, 0, 1, 4.0) for t in (25, 200, 1_000)), *ours]
    ours = [CensusSets("parcomp", t, 0, 30, 60.0) for t in range(25, 2_001, 25)]
    sizes = (25, 100, 250, 500, 750, 1_000, 1_350, 1_700, 2_000)
    theirs = [CensusSets("paper", t, seed, 1, 60.0) for t in reversed(sizes) for seed in range(3 if t <= 500 else 2)]
    return [*theirs, *ours]


def _measure(instance: CensusSets) -> Iterator[Row]:
    run = by_paper if instance.method == "paper" else by_parcomp
    for seed in range(instance.first, instance.first + instance.sets):
        for row in run(census_sample(instance.t, seed), instance.limit):
            yield {"seed": seed, **row}


def _limit(instance: CensusSets) -> float:
    each = 4 * instance.limit + 30 if instance.method == "paper" else 3 * instance.limit
    return 120.0 + instance.sets * each


def _tables(records: Sequence[Record]) -> Tables:
    groups: dict[tuple[str, str, int], Table] = {}
    for record in records:
        one: CensusSets = record.instance
        for seed in range(one.first, one.first + one.sets):
            rows = [row for row in record.rows if row["seed"] == seed]
            for row in owed(one.method, one.t, rows, record.ended, one.limit):
                groups.setdefault((one.method, str(row["algorithm"]), one.t), []).append(row)
    methods: Table = []
    for (method, algorithm, t), rows in sorted(groups.items()):
        done = [row for row in rows if row["status"] == COMPLETED]
        methods.append(
            {
                "method": method,
                "algorithm": algorithm,
                "t": t,
                "sets": len(rows),
                "gain": mean(1 - float(row["upper"]) / t for row in done) if done else "none completed",
                "complete": 100.0 * len(done) / len(rows),
                "seconds": mean(float(row["seconds"]) for row in done) if done else "none completed",
            }
        )
    own = [row for row in methods if (row["method"], row["algorithm"]) == ("parcomp", "overlap")]
    columns = ("t", "gain", "complete", "seconds")
    return {"census": [{name: row[name] for name in columns} for row in own], "census-methods": methods}


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(1, 3, size=(13.5, 4.6))
    panels = (
        ("gain", "utility gain, %"),
        ("complete", "sets completed, %"),
        ("seconds", "mean time, processor seconds"),
    )
    for one, (column, label) in zip(axes, panels, strict=True):
        for method, style, marker in (("parcomp", "-", ""), ("paper", "--", "s")):
            for number, (algorithm, title) in enumerate(ALGORITHMS.items()):
                rows = [
                    row
                    for row in tables["census-methods"]
                    if (row["method"], row["algorithm"]) == (method, algorithm) and not isinstance(row[column], str)
                ]
                if not rows:
                    continue
                scale = 100.0 if column == "gain" else 1.0
                one.plot(
                    [row["t"] for row in rows],
                    [scale * float(row[column]) for row in rows],
                    style,
                    marker=marker,
                    markersize=4.5,
                    # The three coincide nearly everywhere: the lines that are drawn first are wider.
                    linewidth=(5.0, 3.0, 1.3)[number],
                    alpha=0.9 if number == 2 else 0.65,
                    color=ALGORITHM_COLORS[algorithm],
                    label=f"{METHODS[method]}: {title}",
                )
        one.set_xlabel("queries t")
        one.set_ylabel(label)
        one.set_xlim(0, 2_050)
        limit_line(
            one, _TIMES_OUT, "the paper's exact algorithms\nbegin to time out" if one is axes[1] else "", vertical=True
        )
    axes[0].set_ylim(80, 100)
    axes[0].axhspan(85, 95, color="#d8dee4", alpha=0.5, zorder=0)
    axes[0].annotate("85–95 %, as the paper reports", (60, 85.3), fontsize=8, color="#57606a")
    axes[1].set_ylim(0, 104)
    axes[2].set_yscale("log")
    limit_line(axes[2], 60, "60 s")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8.5)
    figure.suptitle("Random census queries: gain, sets completed and mean time (paper, Figures 4 to 6)", fontsize=12)
    return figure


CENSUS = Experiment(
    "census",
    "utility gain, percent complete and mean time of census samples against t (Figures 4 to 6)",
    CensusSets,
    _instances,
    _measure,
    _limit,
    _tables,
    _draw,
)
