"""Comfortable query limits under other distributions (paper §7.1): the most queries that complete within ten seconds.

The distributions are those of :mod:`parcomp.experiments.distributions`.  A set is a domain of 10^48 rows and a sequence
of queries.  Ever more of them are taken, in steps of about a quarter, until an algorithm's time is out; its limit is
the most at which it completed on all sets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from parcomp import Query, Workload
from parcomp.experiments.distributions import LOG10, PARTS, QUANTITIES, distribution_name, drawn_queries, settings
from parcomp.experiments.drawing import ALGORITHM_COLORS, ALGORITHMS, METHODS, limit_line, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Table, Tables
from parcomp.experiments.measuring import ALL, COMPLETED, by_paper, by_parcomp, owed

__all__ = ["QUERY_LIMITS", "Climb"]

_SIZES = (20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600, 800, 1_000)
_SETS = 1


@dataclass(frozen=True, slots=True)
class Climb:
    """Ever more queries, up to ``most``, of which one quantity is not uniform but has the parameter ``part``.

    A part of 0 is all uniform.  ``limit`` is in seconds, for each number of queries and each algorithm.
    """

    method: str
    quantity: str
    part: float
    seed: int
    most: int
    limit: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of queries, from the smallest on."""
        return tuple(t for t in _SIZES if t <= self.most)

    def workloads(self) -> Iterator[Workload]:
        """The first queries of a sequence, ever more of them."""
        domain, drawn = drawn_queries(np.random.default_rng([self.seed, LOG10]), self.quantity, self.part)
        queries: list[Query] = []
        for t in self.sizes:
            queries += islice(drawn, t - len(queries))
            yield Workload(domain, queries)


def _due(timed_out: Collection[str]) -> tuple[str, ...]:
    """The algorithms that go on: those that have not timed out at fewer queries."""
    return tuple(one for one in ALL if one not in timed_out)


def _instances(quick: bool) -> list[Climb]:
    if quick:
        chosen = [("uniform", 0.0), *((quantity, PARTS[0]) for quantity in QUANTITIES)]
        return [Climb(method, *one, 0, 60, 1.0) for method in METHODS for one in chosen]
    return [
        Climb(method, *one, seed, _SIZES[-1], 10.0)
        for seed in range(_SETS)
        for method in reversed(METHODS)
        for one in settings()
    ]


def _measure(instance: Climb) -> Iterator[Row]:
    run = by_paper if instance.method == "paper" else by_parcomp
    timed_out: set[str] = set()
    for workload in instance.workloads():
        due = _due(timed_out)
        if not due:
            return
        for row in run(workload, instance.limit, due):
            if row["status"] != COMPLETED:
                timed_out.add(str(row["algorithm"]))
            yield {"t": len(workload), **row}


def _whole(record: Record) -> Table:
    """The rows of a record with those that were due next when it was ended."""
    one: Climb = record.instance
    found: Table = []
    timed_out: set[str] = set()
    for t in one.sizes:
        due = _due(timed_out)
        have = [row for row in record.rows if row["t"] == t]
        rows: Table = [{**row, "t": t} for row in owed(one.method, t, have, record.ended, one.limit, due)]
        found += rows
        timed_out |= {str(row["algorithm"]) for row in rows if row["status"] != COMPLETED}
        if len(have) < len(due):
            break
    return found


def _tables(records: Sequence[Record]) -> Tables:
    groups: dict[tuple[str, str, float, str], Table] = {}
    sets: dict[tuple[str, str, float], int] = {}
    for record in records:
        one: Climb = record.instance
        where = (one.method, one.quantity, one.part)
        sets[where] = sets.get(where, 0) + 1
        for row in _whole(record):
            groups.setdefault((*where, str(row["algorithm"])), []).append(row)
    found: Table = []
    for (method, quantity, part, algorithm), rows in sorted(groups.items()):
        what: Row = {"method": method, "quantity": quantity, "distribution": distribution_name(quantity, part)}
        found.append({**what, "algorithm": algorithm, "sets": sets[method, quantity, part], **_limit(rows)})
    uniform = {(row["method"], row["algorithm"]): row for row in found if row["quantity"] == "uniform"}
    for row in found:
        least = float(uniform[row["method"], row["algorithm"]]["comfortable_limit"])
        row["over_uniform"] = float(row["comfortable_limit"]) / least if least else "uniform has none"
    return {"query-limits": found}


def _limit(rows: Table) -> Row:
    """The most queries up to which all sets complete, and the number at which the first does not."""
    failed = min((int(row["t"]) for row in rows if row["status"] != COMPLETED), default=0)
    below = [int(row["t"]) for row in rows if not failed or int(row["t"]) < failed]
    return {"comfortable_limit": max(below, default=0), "timed_out_at": failed or "never"}


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(1, 4, size=(14, 4.8), sharey=True)
    for one, (quantity, title) in zip(axes, QUANTITIES.items(), strict=True):
        rows = [row for row in tables["query-limits"] if row["quantity"] in (quantity, "uniform")]
        names = [distribution_name(quantity, part) for part in (0.0, *PARTS)]
        names = [name for name in names if any(row["distribution"] == name for row in rows)]
        bars = [(method, algorithm) for method in reversed(METHODS) for algorithm in ALGORITHMS]
        for number, (method, algorithm) in enumerate(bars):
            by = {
                str(row["distribution"]): row
                for row in rows
                if (row["method"], row["algorithm"]) == (method, algorithm)
            }
            color = ALGORITHM_COLORS[algorithm]
            one.bar(
                [place + (number - 2.5) * 0.14 for place in range(len(names))],
                [float(by[name]["comfortable_limit"]) for name in names],
                0.13,
                color=color if method == "parcomp" else "white",
                edgecolor=color,
                hatch=None if method == "parcomp" else "////",
                label=f"{METHODS[method]}: {ALGORITHMS[algorithm]}",
            )
        one.set_yscale("log")
        one.set_ylim(10, 2_500)
        one.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        one.set_xticks(range(len(names)), names, fontsize=8.5)
        one.set_title(title, fontsize=10)
        limit_line(one, 1_000, "the most that is tried" if one is axes[0] else "")
    axes[0].set_ylabel("comfortable limit, queries")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
    figure.suptitle("Other distributions of the queries: the most that complete within 10 s (paper, §7.1)", fontsize=12)
    return figure


QUERY_LIMITS = Experiment(
    "query-limits",
    "the most queries within 10 s under exponential and normal distributions (§7.1)",
    Climb,
    _instances,
    _measure,
    lambda instance: 180.0 + 4 * instance.limit * len(instance.sizes),
    _tables,
    _draw,
)
