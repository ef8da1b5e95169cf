"""Other distributions of the queries (paper §7.2 and appendix): utility gain against the number of queries.

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
from itertools import count, islice
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp import Domain, Integer, Query, Workload
from parcomp.experiments.drawing import ALGORITHMS, BLACK, BLUE, GREEN, METHODS, ORANGE, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Table, Tables
from parcomp.experiments.measuring import COMPLETED, by_paper, by_parcomp, owed
from parcomp.model import Predicate

__all__ = [
    "DISTRIBUTIONS",
    "LOG10",
    "PARTS",
    "QUANTITIES",
    "DrawnSet",
    "distribution_name",
    "drawn_queries",
    "drawn_workload",
    "settings",
]

QUANTITIES = {
    "predicates": "number of predicates",
    "attributes": "attributes",
    "counts": "number of values per predicate",
    "values": "attribute values",
}
_KINDS = {"predicates": "exp", "attributes": "norm", "counts": "exp", "values": "norm"}
PARTS = (0.1, 0.25, 0.5)
_COLORS = {"uniform": BLACK, "0.1": ORANGE, "0.25": BLUE, "0.5": GREEN}
LOG10 = 48
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
    domain, queries = drawn_queries(np.random.default_rng([seed, t]), quantity, part)
    return Workload(domain, islice(queries, t))


def drawn_queries(draw: np.random.Generator, quantity: str, part: float) -> tuple[Domain, Iterator[Query]]:
    """The domain, and queries without end."""
    exponents: list[int] = []
    while (left := LOG10 - sum(exponents)) > 0:
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
            many = number(size, "counts")
            if many < size:
                terms.append((attribute, Predicate.from_codes(size, some(size, many, "values"))))
        return Query(domain, tuple(terms))

    return domain, (query() for _ in count())


def settings() -> list[tuple[str, float]]:
    """All quantities with all parameters, after the uniform distribution."""
    return [("uniform", 0.0), *((quantity, part) for quantity in QUANTITIES for part in PARTS)]


def _instances(quick: bool) -> list[DrawnSet]:
    if quick:
        chosen = [("uniform", 0.0), ("predicates", 0.1), ("attributes", 0.1), ("counts", 0.1), ("values", 0.1)]
        theirs = [DrawnSet("paper", *one, t, 0, 1.0) for one in chosen for t in (20, 60)]
        return [*theirs, *(DrawnSet("parcomp", *one, t, 0, 1.0) for one in chosen for t in (20, 60))]
    ours = [
        DrawnSet("parcomp", *one, t, seed, 10.0)
        for one in settings()
        for t in _SIZES
        for seed in range(2 if t <= 200 else 1)
    ]
    return [*(DrawnSet("paper", *one, t, 0, 10.0) for one in settings() for t in _PAPER_SIZES), *ours]


def _measure(instance: DrawnSet) -> Iterator[Row]:
    workload = drawn_workload(instance.t, instance.quantity, instance.part, instance.seed)
    run = by_paper if instance.method == "paper" else by_parcomp
    yield from run(workload, instance.limit)


def distribution_name(quantity: str, part: float) -> str:
    """What a distribution is called in tables and pictures."""
    return f"{_KINDS[quantity]} {part:g}" if part else "uniform"


def _tables(records: Sequence[Record]) -> Tables:
    groups: dict[tuple[str, str, float, str, int], Table] = {}
    for record in records:
        one: DrawnSet = record.instance
        for row in owed(one.method, one.t, record.rows, record.ended, one.limit):
            key = (one.method, one.quantity, one.part, str(row["algorithm"]), one.t)
            groups.setdefault(key, []).append(row)
    gains: Table = []
    for (method, quantity, part, algorithm, t), rows in sorted(groups.items()):
        done = [row for row in rows if row["status"] == COMPLETED]
        # An upper bound of Parcomp is proven, completed or not; of the paper's method only an answer is one.
        bounds = rows if method == "parcomp" else done
        gains.append(
            {
                "method": method,
                "quantity": quantity,
                "distribution": distribution_name(quantity, part),
                "algorithm": algorithm,
                "t": t,
                "sets": len(rows),
                "gain": mean(1 - float(row["upper"]) / t for row in bounds) if bounds else "none completed",
                "complete": 100.0 * len(done) / len(rows),
                "seconds": mean(float(row["seconds"]) for row in rows),
            }
        )
    return {"distributions": gains}


def _of(row: Row, quantity: str) -> bool:
    return row["quantity"] in (quantity, "uniform")


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(3, 4, size=(14, 10.5), sharey="row")
    for column, (quantity, title) in enumerate(QUANTITIES.items()):
        for line, algorithm in zip(axes[:, column], ALGORITHMS, strict=True):
            for name in ("uniform", *(distribution_name(quantity, part) for part in PARTS)):
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
    for line in axes[:, 0]:
        line.set_ylabel("utility gain, %")
    note = f"lines: {METHODS['parcomp']}; squares: {METHODS['paper']}, where it ended within the time limit"
    title = "Other distributions of the queries: utility gain (paper, Figures 7, 9 and 10)"
    figure.suptitle(f"{title}\n{note}", fontsize=12)
    return figure


DISTRIBUTIONS = Experiment(
    "distributions",
    "utility gain of three algorithms under exponential and normal distributions (Figures 7, 9 and 10)",
    DrawnSet,
    _instances,
    _measure,
    lambda instance: 4 * instance.limit + 180.0,
    _tables,
    _draw,
)
