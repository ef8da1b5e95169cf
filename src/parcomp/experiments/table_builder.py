"""A stand-in for the query log of paper §7.3, which is not public: sessions at a statistics office's table builder.

The census is fictional: 25 attributes, 7.2·10^28 rows in its domain; the paper's has 6.8·10^28.  An analyst follows a
subject, which is a condition on one or two attributes, and asks either for a single count about it or for a small
table: the cells of one attribute, or bands of a long one.  Then the subject is narrowed by one more condition, or left
for another.  There are nine analysts, who ask as many queries as the nine of the paper's Table 1, and all together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from parcomp import Domain, Integer, Workload, between
from parcomp.experiments.drawing import ALGORITHM_COLORS, ALGORITHMS, METHODS, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Table, Tables
from parcomp.experiments.measuring import COMPLETED, by_paper, by_parcomp, owed
from parcomp.planning import expected_error

__all__ = ["TABLE_BUILDER", "Sessions", "builder_domain", "builder_workload"]

_SIZES = {
    **{"age": 101, "sex": 2, "state": 8, "district": 88, "birthplace": 60, "arrival": 30, "language": 40},
    **{"religion": 30, "marital": 5, "family": 9, "relation": 12, "education": 12, "field": 12, "work": 6},
    **{"occupation": 48, "industry": 20, "income": 16, "hours": 10, "travel": 8, "dwelling": 6, "rooms": 9},
    **{"tenure": 7, "citizenship": 60, "vehicles": 6, "internet": 3},
}
_QUERIES = (9, 120, 2, 267, 54, 68, 41, 38, 284)
_TABLE, _LEAVE = 0.3, 0.25
_BANDS = 8
"""The most cells of a table: a longer attribute is asked for in so many bands."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """The queries of some analysts, by their numbers from 1 to 9, by one method."""

    method: str
    analysts: tuple[int, ...]
    limit: float

    def __post_init__(self) -> None:
        # A journal has lists.
        object.__setattr__(self, "analysts", tuple(self.analysts))


def builder_domain() -> Domain:
    """The domain of the fictional census."""
    return Domain({name: Integer(0, size - 1) for name, size in _SIZES.items()}, name="census")


def builder_workload(analysts: Sequence[int]) -> Workload:
    """What some of the nine analysts ask."""
    domain = builder_domain()
    asked = (domain.query(where) for number in analysts for where in _session(number, _QUERIES[number - 1]))
    return Workload(domain, asked)


def _session(seed: int, queries: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng([seed, 73])
    names = list(_SIZES)
    # An analyst has interests: a few attributes, over and over.
    interests = [names[i] for i in draw.choice(len(names), 6, replace=False)]
    found: list[dict[str, Any]] = []
    subject: dict[str, Any] = {}
    while len(found) < queries:
        if not subject or len(subject) >= 4 or draw.random() < _LEAVE:
            subject = {}
        free = [name for name in interests if name not in subject]
        name = free[int(draw.integers(len(free)))]
        cells = _cells(_SIZES[name])
        if draw.random() < _TABLE:
            found += [{**subject, name: cell} for cell in cells]
        else:
            subject = {**subject, name: cells[int(draw.integers(len(cells)))]}
            found.append(subject)
    return found[:queries]


def _cells(size: int) -> list[Any]:
    """The cells of a table by an attribute: its values, or bands of about equal width."""
    if size <= _BANDS:
        return list(range(size))
    edges = [size * band // _BANDS for band in range(_BANDS + 1)]
    return [between(low, high - 1) for low, high in pairwise(edges)]


def _instances(quick: bool) -> list[Sessions]:
    everyone = tuple(range(1, 10))
    groups = [(1,), (2,), (5,), everyone] if quick else [*((number,) for number in everyone), everyone]
    limits = {"paper": 3.0, "parcomp": 10.0} if quick else {"paper": 60.0, "parcomp": 60.0}
    return [Sessions(method, group, limits[method]) for method in ("paper", "parcomp") for group in groups]


def _measure(instance: Sessions) -> Iterator[Row]:
    run = by_paper if instance.method == "paper" else by_parcomp
    yield from run(builder_workload(instance.analysts), instance.limit)


def _tables(records: Sequence[Record]) -> Tables:
    found: Table = []
    for record in records:
        one: Sessions = record.instance
        t = sum(_QUERIES[number - 1] for number in one.analysts)
        for row in owed(one.method, t, record.rows, record.ended, one.limit):
            value = row["upper"] if row["status"] == COMPLETED or one.method == "parcomp" else str(row["status"])
            known = not isinstance(value, str)
            gain: Row = {
                "gain": round(1 - float(value) / t, 4) if known else value,
                "sequential": round(float(expected_error("gaussian", math.sqrt(t))), 3),
                "optimal": round(float(expected_error("gaussian", math.sqrt(float(value)))), 3) if known else value,
            }
            name = "Combined" if len(one.analysts) > 1 else one.analysts[0]
            what: Row = {"method": one.method, "algorithm": row["algorithm"], "analyst": name, "t": t}
            found.append({**what, "status": row["status"], "charged": value, **gain, "seconds": row["seconds"]})
    return {"table-builder": found}


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(size=(9, 4.4))
    rows = [row for row in tables["table-builder"] if row["method"] == "parcomp"]
    names = list(dict.fromkeys(str(row["analyst"]) for row in rows))
    for number, (algorithm, title) in enumerate(ALGORITHMS.items()):
        chosen = {str(row["analyst"]): row for row in rows if row["algorithm"] == algorithm}
        axes.bar(
            [place + (number - 1) * 0.26 for place in range(len(names))],
            [100 * float(chosen[name]["gain"]) for name in names],
            0.25,
            color=ALGORITHM_COLORS[algorithm],
            label=f"{METHODS['parcomp']}: {title}",
        )
        for place, name in enumerate(names):
            if algorithm == "overlap":
                gain = 100 * float(chosen[name]["gain"])
                axes.annotate(f"{gain:.1f}", (place, gain), (0, 4), textcoords="offset points", ha="center", fontsize=8)
    sizes = {str(row["analyst"]): row["t"] for row in rows}
    axes.set_xticks(range(len(names)), [f"{name}\nt={sizes[name]}" for name in names], fontsize=8.5)
    axes.set_xlabel("analyst")
    axes.set_ylabel("utility gain, %")
    axes.set_ylim(0, 100)
    axes.legend(fontsize=8.5, loc="upper left", ncols=3)
    axes.set_title("A stand-in for the query log of Table 1: sessions at a fictional table builder", fontsize=11)
    return figure


TABLE_BUILDER = Experiment(
    "table-builder",
    "utility gain and error on a stand-in for the query log of Table 1, which is not public",
    Sessions,
    _instances,
    _measure,
    lambda instance: 4 * instance.limit + 120.0,
    _tables,
    _draw,
)
