"""Feasible regions, clique sizes, the most queries within 60 processor seconds: uniform distribution (paper §7.1).

An instance is m attributes of 10^k values, k uniform in 1 … 6, with a domain of at most 10^80000 rows, and t queries.
The paper draws m and t uniformly.  Half of the instances here have m drawn uniformly on a logarithmic scale instead:
otherwise hardly any would have a small domain, where the algorithms differ.  A third have few queries, since the
paper's method ends there.  All three experiments share the instances and what was measured of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from parcomp.experiments.drawing import (
    ALGORITHM_COLORS,
    ALGORITHMS,
    BLUE,
    GREEN,
    GREY,
    METHODS,
    ORANGE,
    VERMILION,
    limit_line,
    new_figure,
)
from parcomp.experiments.experiment import Experiment, Record, Row, Table, Tables
from parcomp.experiments.huge import uniform_queries
from parcomp.experiments.measuring import COMPLETED, by_paper, by_parcomp, owed

__all__ = ["CLIQUE_SIZE", "DOMAIN_SIZE", "FEASIBLE_REGIONS", "UniformSet"]

LARGEST = 80_000
"""The paper's cap on log10 of the domain's size."""

_BANDS = (0, 100, 300, 1_000, 3_000, 10_000, 30_000, LARGEST)
_CLASSES = ((1, 4), (5, 9), (10, 2_000))
"""Clique sizes; the paper has three classes and names the bound of the last one, 10."""


@dataclass(frozen=True, slots=True)
class UniformSet:
    """``t`` queries on ``m`` attributes, by one method, with a time limit in seconds."""

    method: str
    t: int
    m: int
    seed: int
    limit: float

    @property
    def exponents(self) -> list[int]:
        """log10 of the attributes' sizes."""
        return _exponents(self.seed, self.m)

    @property
    def log10(self) -> int:
        """log10 of the domain's size."""
        return sum(self.exponents)


def _instances(quick: bool) -> list[UniformSet]:
    if quick:
        shapes = [(20, 10), (60, 10), (120, 10), (40, 300), (250, 300), (40, 3_000), (400, 3_000)]
        return [UniformSet(method, t, m, 7, 2.0) for method in ("paper", "parcomp") for t, m in shapes]
    draw = np.random.default_rng(71)
    drawn: list[UniformSet] = []
    while len(drawn) < 60:
        number = len(drawn)
        wide = number % 2 == 0
        m = int(draw.integers(10, 50_001) if wide else 10 ** draw.uniform(1, 4))
        few = number % 3 == 2
        t = int(10 ** draw.uniform(1, 2.5) if few else draw.integers(10, 2_001))
        one = UniformSet("parcomp", t, m, number, 60.0)
        if one.log10 <= LARGEST:
            drawn.append(one)
    # The largest domain of the paper, and 2,000 queries where it has 100 to 200.
    ends = [_of_size(2_000, 20_000, 1_000), _of_size(2_000, LARGEST, 1_001), _of_size(100, LARGEST, 1_002)]
    # The slow ones first, so that no core waits for the last of them.
    theirs = [UniformSet("paper", one.t, one.m, one.seed, one.limit) for one in [*drawn[:30], ends[2]]]
    return [*theirs, *drawn, *ends]


def _exponents(seed: int, m: int) -> list[int]:
    drawn: list[int] = np.random.default_rng([seed, 6]).integers(1, 7, m).tolist()
    return drawn


def _of_size(t: int, log10: int, seed: int) -> UniformSet:
    """An instance on a domain of exactly this size, by the first seed from ``seed`` on that has one."""
    while (sizes := list(accumulate(_exponents(seed, log10)))) and log10 not in sizes:
        seed += 1
    return UniformSet("parcomp", t, sizes.index(log10) + 1, seed, 60.0)


def _measure(instance: UniformSet) -> Iterator[Row]:
    workload = uniform_queries(instance.t, instance.exponents, instance.seed)
    run = by_paper if instance.method == "paper" else by_parcomp
    yield from run(workload, instance.limit)


def _rows(records: Sequence[Record]) -> Table:
    """A row for each method, instance and algorithm."""
    found: Table = []
    for record in records:
        one: UniformSet = record.instance
        for row in owed(one.method, one.t, record.rows, record.ended, one.limit):
            where: Row = {"method": one.method, "algorithm": row["algorithm"], "t": one.t, "m": one.m}
            found.append({**where, "log10_domain": one.log10, **{k: v for k, v in row.items() if k not in where}})
    return sorted(found, key=lambda row: tuple(map(str, (row["method"], row["algorithm"]))) + _place(row))


def _place(row: Row) -> tuple[Any, ...]:
    return (row["log10_domain"], row["t"])


def _region_tables(records: Sequence[Record]) -> Tables:
    return {"feasible-regions": _rows(records)}


def _clique_tables(records: Sequence[Record]) -> Tables:
    cliques = [row for row in _rows(records) if row["algorithm"] == "clique"]
    return {
        "clique-size": [
            {
                **{name: row[name] for name in ("method", "t", "m", "log10_domain", "status")},
                "clique_number": row["upper"] if row["status"] == COMPLETED else f"at least {row['lower']}",
                "class": _class_of(row["upper"]) if row["status"] == COMPLETED else "not known",
            }
            for row in cliques
        ]
    }


def _class_of(size: Any) -> str:
    low, high = next(bounds for bounds in _CLASSES if bounds[0] <= size <= bounds[1])
    return f"{low} to {high}" if high < _CLASSES[-1][1] else f"{low} or more"


def _domain_tables(records: Sequence[Record]) -> Tables:
    return {"domain-size": most_queries(_rows(records))}


def most_queries(rows: Table) -> Table:
    """By method, algorithm and class of domains: the most queries that completed and the fewest that did not."""
    found: Table = []
    for method in METHODS:
        for algorithm in ALGORITHMS:
            for low, high in pairwise(_BANDS):
                inside = [
                    row
                    for row in rows
                    if (row["method"], row["algorithm"]) == (method, algorithm)
                    and low < int(row["log10_domain"]) <= high
                ]
                if not inside:
                    continue
                done = [int(row["t"]) for row in inside if row["status"] == COMPLETED]
                failed = [int(row["t"]) for row in inside if row["status"] != COMPLETED]
                found.append(
                    {
                        "method": method,
                        "algorithm": algorithm,
                        "log10_above": low,
                        "log10_to": high,
                        "most_queries": max(done, default=0),
                        "fewest_not": min(failed) if failed else "all completed",
                        "most_tried": max(int(row["t"]) for row in inside),
                        "sets": len(inside),
                    }
                )
    return found


def _scale(axes: Any) -> None:
    axes.set_yscale("log")
    axes.set_ylabel("log₁₀ of the domain's size")
    axes.set_xlim(left=0)


def _draw_regions(tables: Tables) -> Any:
    figure, axes = new_figure(2, 3, size=(12, 7.2), sharex=True, sharey=True)
    for line, (method, name) in zip(axes, METHODS.items(), strict=True):
        for one, (algorithm, title) in zip(line, ALGORITHMS.items(), strict=True):
            rows = [
                row for row in tables["feasible-regions"] if (row["method"], row["algorithm"]) == (method, algorithm)
            ]
            for done, color, marker, text in (
                (False, VERMILION, "x", "timed out, or not started"),
                (True, BLUE, "o", "completed"),
            ):
                chosen = [row for row in rows if (row["status"] == COMPLETED) == done]
                one.scatter(
                    [row["t"] for row in chosen],
                    [row["log10_domain"] for row in chosen],
                    s=22,
                    c=color,
                    marker=marker,
                    linewidths=1.2 if marker == "x" else 0,
                    alpha=0.85,
                    label=text,
                )
            share = sum(row["status"] == COMPLETED for row in rows) / max(len(rows), 1)
            one.set_title(f"{title}\n{name}: {share:.0%} of {len(rows)} completed", fontsize=9.5)
            one.set_yscale("log")
    for one in axes[:, 0]:
        _scale(one)
    for one in axes[-1]:
        one.set_xlabel("queries t")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
    figure.suptitle("Feasible regions under the uniform distribution (paper, Figure 1)", fontsize=12)
    return figure


def _draw_cliques(tables: Tables) -> Any:
    figure, axes = new_figure(1, 2, size=(10.5, 4.4), sharex=True, sharey=True)
    markers = {"not known": (GREY, "x")} | {
        _class_of(low): (color, marker)
        for (low, _), color, marker in zip(_CLASSES, (GREEN, ORANGE, BLUE), "^so", strict=True)
    }
    for one, (method, name) in zip(axes, METHODS.items(), strict=True):
        rows = [row for row in tables["clique-size"] if row["method"] == method]
        for text, (color, marker) in markers.items():
            chosen = [row for row in rows if row["class"] == text]
            label = "timed out" if text == "not known" else f"ω is {text}"
            points = [row["t"] for row in chosen], [row["log10_domain"] for row in chosen]
            one.scatter(*points, s=24, c=color, marker=marker, alpha=0.85, label=label)
        one.set_title(name, fontsize=10)
        one.set_xlabel("queries t")
        _scale(one)
    axes[1].set_ylabel("")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    figure.suptitle("Clique numbers found, by size (paper, Figure 2)", fontsize=12)
    return figure


def _draw_domains(tables: Tables) -> Any:
    figure, axes = new_figure(size=(8.2, 5.4))
    bands = sorted({(int(row["log10_above"]), int(row["log10_to"])) for row in tables["domain-size"]})
    places = {band: number for number, band in enumerate(bands)}
    for method, style in (("parcomp", "-"), ("paper", "--")):
        for algorithm, title in ALGORITHMS.items():
            rows = [row for row in tables["domain-size"] if (row["method"], row["algorithm"]) == (method, algorithm)]
            # Lines that coincide are set apart by a hair.
            shift = (list(ALGORITHMS).index(algorithm) - 1) * 0.06
            color = ALGORITHM_COLORS[algorithm]
            at = {id(row): places[int(row["log10_above"]), int(row["log10_to"])] + shift for row in rows}
            some = [row for row in rows if row["most_queries"]]
            axes.plot(
                [at[id(row)] for row in some],
                [float(row["most_queries"]) for row in some],
                style,
                color=color,
                marker="o" if method == "parcomp" else "s",
                markersize=5,
                label=f"{METHODS[method]}: {title}",
            )
            none = [row for row in rows if not row["most_queries"]]
            less = [float(row["fewest_not"]) for row in none]
            axes.plot([at[id(row)] for row in none], less, "v", color=color, markerfacecolor="none", markersize=8)
    axes.plot(
        [],
        [],
        "v",
        color=GREY,
        markerfacecolor="none",
        markersize=8,
        label="none completed; the fewest that were tried",
    )
    axes.set_yscale("log")
    axes.set_ylim(10, 4_000)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    limit_line(axes, 2_000, "2,000: the most that is tried", left=True)
    axes.set_xticks(range(len(bands)), [f"{low:,} to\n{high:,}" for low, high in bands], fontsize=8)
    axes.set_xlabel("log₁₀ of the domain's size")
    axes.set_ylabel("most queries within the time limit")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8.5)
    axes.set_title("The most queries within the time limit, by domain size (paper, Figure 3)", fontsize=11)
    return figure


def _limit(instance: UniformSet) -> float:
    """Each algorithm ends itself; loading kernels and making the workload take time too."""
    return 4 * instance.limit + 180.0


def _experiment(name: str, summary: str, tables: Any, draw: Any) -> Experiment:
    return Experiment(name, summary, UniformSet, _instances, _measure, _limit, tables, draw, journal="feasible-regions")


FEASIBLE_REGIONS = _experiment(
    "feasible-regions",
    "which instances three algorithms complete within 60 s, under the uniform distribution (Figure 1)",
    _region_tables,
    _draw_regions,
)
CLIQUE_SIZE = _experiment(
    "clique-size", "the same instances by the size of their largest clique (Figure 2)", _clique_tables, _draw_cliques
)
DOMAIN_SIZE = _experiment(
    "domain-size", "the most queries within 60 s against the domain's size (Figure 3)", _domain_tables, _draw_domains
)
