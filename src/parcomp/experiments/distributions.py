"""Other distributions of the queries (paper §7.1 and §7.2, appendix): comfortable query limits and utility gain.

Four quantities are drawn: how many predicates a query has, about which attributes, how many values each accepts, and
which.  In turn one of them is not uniform.  Numbers are exponential with a scale that is a part of the range, cut to
the range; attributes and values are drawn without repetition, with weights of a normal density about the middle of
their order, whose deviation is a part of the range.  The paper leaves its three parameters open; here they are 0.1,
0.25 and 0.5 of the range.

The domain has 10^48 rows and the limit is 10 seconds, as in the paper.  Attributes have 10^k values with k up to 4, not
6: the paper's method holds its predicates as Python sets, and those of 1,000 queries would not fit into memory
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp import Domain, Integer, Query, Workload
from parcomp.experiments.drawing import (
    ALGORITHM_COLORS,
    ALGORITHMS,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    METHODS,
    ORANGE,
    new_figure,
)
from parcomp.experiments.experiment import Experiment, Record, Row, Table, Tables
from parcomp.experiments.measuring import COMPLETED, by_paper, by_parcomp, owed
from parcomp.model import Predicate

__all__ = ["DISTRIBUTIONS", "QUANTITIES", "DrawnSet", "drawn_workload"]

QUANTITIES = {
    "predicates": "number of predicates",
    "attributes": "attributes",
    "counts": "number of values per predicate",
    "values": "attribute values",
}
_KINDS = {"predicates": "exp", "attributes": "norm", "counts": "exp", "values": "norm"}
_PARTS = (0.1, 0.25, 0.5)
_COLORS = {"uniform": BLACK, "0.1": ORANGE, "0.25": BLUE, "0.5": GREEN}
_LOG10 = 48
_KMAX = 4
_SIZES = (20, 60, 120, 200, 400, 1_000)
_PAPER_SIZES = (20, 60, 120, 1_000)


@dataclass(frozen=True, slots=True)
class DrawnSet:
    """``t`` queries of which one quantity is not uniform but has the parameter ``part``; 0 for all uniform."""

    method: str
    quantity: str
    part: float
    t: int
    seed: int
    limit: float


def drawn_workload(t: int, quantity: str, part: float, seed: int) -> Workload:
    """``t`` queries on a domain of 10^48 rows; of the four quantities one is drawn by another distribution."""
    draw = np.random.default_rng([seed, t])
    exponents: list[int] = []
    while (left := _LOG10 - sum(exponents)) > 0:
        exponents.append(min(int(draw.integers(1, _KMAX + 1)), left))
    sizes = [10**k for k in exponents]
    domain = Domain({f"a{number}": Integer(0, size - 1) for number, size in enumerate(sizes, 1)}, name="drawn")

    def number(most: int, name: str) -> int:
        if quantity != name or not part:
            return int(draw.integers(1, most + 1))
        return min(1 + int(draw.exponential(part * most)), most)

    def some(size: int, count: int, name: str) -> npt.NDArray[np.int64]:
        if quantity != name or not part:
            return draw.choice(size, count, replace=False, shuffle=False)
        # The largest of the logarithms of the weights plus Gumbel noise are a draw without repetition.
        away = (np.arange(size) - (size - 1) / 2) / (part * size)
        return np.argpartition(away**2 / 2 - draw.gumbel(size=size), count - 1)[:count]

    def query() -> Query:
        chosen = np.sort(some(len(sizes), number(len(sizes), "predicates"), "attributes")).tolist()
        terms = []
        for attribute in chosen:
            size = sizes[attribute]
            count = number(size, "counts")
            if count < size:
                terms.append((attribute, Predicate.from_codes(size, some(size, count, "values"))))
        return Query(domain, tuple(terms))

    return Workload(domain, (query() for _ in range(t)))


def _settings() -> list[tuple[str, float]]:
    return [("uniform", 0.0), *((quantity, part) for quantity in QUANTITIES for part in _PARTS)]


def _instances(quick: bool) -> list[DrawnSet]:
    if quick:
        settings = [("uniform", 0.0), ("predicates", 0.1), ("attributes", 0.1), ("counts", 0.1), ("values", 0.1)]
        theirs = [DrawnSet("paper", *one, t, 0, 1.0) for one in settings for t in (20, 60)]
        return [*theirs, *(DrawnSet("parcomp", *one, t, 0, 1.0) for one in settings for t in (20, 60))]
    ours = [
        DrawnSet("parcomp", *one, t, seed, 10.0)
        for one in _settings()
        for t in _SIZES
        for seed in range(2 if t <= 200 else 1)
    ]
    return [*(DrawnSet("paper", *one, t, 0, 10.0) for one in _settings() for t in _PAPER_SIZES), *ours]


def _measure(instance: DrawnSet) -> Iterator[Row]:
    workload = drawn_workload(instance.t, instance.quantity, instance.part, instance.seed)
    run = by_paper if instance.method == "paper" else by_parcomp
    yield from run(workload, instance.limit)


def _name(quantity: str, part: float) -> str:
    return f"{_KINDS[quantity]} {part:g}" if part else "uniform"


def _tables(records: Sequence[Record]) -> Tables:
    groups: dict[tuple[str, str, float, str, int], Table] = {}
    for record in records:
        one: DrawnSet = record.instance
        for row in owed(one.method, one.t, record.rows, record.ended, one.limit):
            key = (one.method, one.quantity, one.part, str(row["algorithm"]), one.t)
            groups.setdefault(key, []).append(row)
    gains: Table = []
    limits: dict[tuple[str, str, float, str], Row] = {}
    for (method, quantity, part, algorithm, t), rows in sorted(groups.items()):
        done = [row for row in rows if row["status"] == COMPLETED]
        # An upper bound of Parcomp is proven, completed or not; of the paper's method only an answer is one.
        bounds = rows if method == "parcomp" else done
        complete = 100.0 * len(done) / len(rows)
        what: Row = {
            "method": method,
            "quantity": quantity,
            "distribution": _name(quantity, part),
            "algorithm": algorithm,
        }
        gains.append(
            {
                **what,
                "t": t,
                "sets": len(rows),
                "gain": mean(1 - float(row["upper"]) / t for row in bounds) if bounds else "none completed",
                "complete": complete,
                "seconds": mean(float(row["seconds"]) for row in rows),
            }
        )
        over = limits.setdefault(
            (method, quantity, part, algorithm), {**what, "comfortable_limit": 0, "timed_out_at": "never"}
        )
        if over["timed_out_at"] == "never":
            over["comfortable_limit" if complete == 100.0 else "timed_out_at"] = t
    return {"distributions": gains, "distributions-limits": list(limits.values())}


def _of(row: Row, quantity: str) -> bool:
    return row["quantity"] in (quantity, "uniform")


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(4, 4, size=(14, 14), sharey="row")
    for column, (quantity, title) in enumerate(QUANTITIES.items()):
        for line, algorithm in zip(axes[:3, column], ALGORITHMS, strict=True):
            for name in ("uniform", *(_name(quantity, part) for part in _PARTS)):
                color = _COLORS[name.split()[-1]]
                for method, style, width in (("paper", "s", 0), ("parcomp", "-", 1.8)):
                    rows = [
                        row
                        for row in tables["distributions"]
                        if _of(row, quantity)
                        and (row["distribution"], row["method"], row["algorithm"]) == (name, method, algorithm)
                        and not isinstance(row["gain"], str)
                    ]
                    line.plot(
                        [row["t"] for row in rows],
                        [100 * float(row["gain"]) for row in rows],
                        style,
                        color=color,
                        linewidth=width,
                        markersize=6,
                        markerfacecolor="none",
                        label=name if method == "parcomp" else "",
                    )
            line.set_xscale("log")
            line.set_xticks((20, 60, 200, 1_000), ("20", "60", "200", "1,000"))
            line.set_xticks([], minor=True)
            line.set_title(f"{ALGORITHMS[algorithm]}\n{title}", fontsize=9)
            line.set_xlabel("queries t", fontsize=8.5)
        axes[1, column].legend(fontsize=8, loc="best", framealpha=0.9)
        _draw_limits(axes[3, column], tables["distributions-limits"], quantity)
    for line in axes[:3, 0]:
        line.set_ylabel("utility gain, %")
    axes[3, 0].set_ylabel("comfortable query limit")
    figure.legend(*axes[3, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
    note = f"lines: {METHODS['parcomp']}; squares: {METHODS['paper']}, where it ended within the time limit"
    title = "Other distributions of the queries: utility gain and comfortable limits (paper, §7 and appendix)"
    figure.suptitle(f"{title}\n{note}", fontsize=12)
    return figure


def _draw_limits(axes: Any, limits: Table, quantity: str) -> None:
    found = {str(row["distribution"]) for row in limits if _of(row, quantity)}
    names = [name for name in ("uniform", *(_name(quantity, part) for part in _PARTS)) if name in found]
    bars = [("paper", one) for one in ALGORITHMS] + [("parcomp", one) for one in ALGORITHMS]
    for number, (method, algorithm) in enumerate(bars):
        heights = [
            next(
                (
                    max(float(row["comfortable_limit"]), 10.0)
                    for row in limits
                    if _of(row, quantity)
                    and (row["distribution"], row["method"], row["algorithm"]) == (name, method, algorithm)
                ),
                0.0,
            )
            for name in names
        ]
        axes.bar(
            [place + (number - 2.5) * 0.14 for place in range(len(names))],
            heights,
            0.13,
            color=ALGORITHM_COLORS[algorithm] if method == "parcomp" else "white",
            edgecolor=ALGORITHM_COLORS[algorithm],
            hatch=None if method == "parcomp" else "////",
            label=f"{METHODS[method]}: {ALGORITHMS[algorithm]}",
        )
    axes.set_yscale("log")
    axes.set_ylim(10, 4_000)
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.axhline(1_000, color=GREY, linestyle=(0, (4, 3)), linewidth=1.0)
    axes.set_title(f"comfortable limit\n{QUANTITIES[quantity]}", fontsize=9)


DISTRIBUTIONS = Experiment(
    "distributions",
    "comfortable query limits and utility gain under exponential and normal distributions (§7, appendix)",
    DrawnSet,
    _instances,
    _measure,
    lambda instance: 4 * instance.limit + 180.0,
    _tables,
    _draw,
)
