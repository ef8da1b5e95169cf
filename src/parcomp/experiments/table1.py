"""Table 1: utility gain and average error on the query log of the Australian Bureau of Statistics.

The log is not public, so t and γ of its nine workloads are the paper's.  The rest follows from them: the gain is
1 − γ/t, and at an overall μ = 1 each query gets μ' = 1/√t under sequential and 1/√γ under optimal composition, that is
Gaussian noise of σ = √t or √γ, whose expected absolute value is σ·√(2/π).  The paper's errors are averages of drawn
noise, and differ from these in the third digit or so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from parcomp.experiments.drawing import BLUE, GREY, ORANGE, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Table, Tables
from parcomp.planning import expected_error, utility_gain_simple

__all__ = ["TABLE_1", "Workload1"]

_PAPER = (
    ("1", 9, 6, "0.333", "2.392", "1.9488"),
    ("2", 120, 107, "0.108", "8.747", "8.254"),
    ("3", 2, 2, "0.000", "1.133", "1.133"),
    ("4", 267, 216, "0.191", "13.040", "11.734"),
    ("5", 54, 34, "0.370", "5.850", "4.657"),
    ("6", 68, 55, "0.191", "6.573", "5.921"),
    ("7", 41, 17, "0.585", "5.116", "3.286"),
    ("8", 38, 20, "0.474", "4.912", "3.568"),
    ("9", 284, 208, "0.268", "13.446", "11.516"),
    ("Combined", 883, 563, "0.362", "23.709", "18.940"),
)


@dataclass(frozen=True, slots=True)
class Workload1:
    """A line of the table: a data set, and its t and γ as the paper states them."""

    data_set: str
    t: int
    gamma: int


def _measure(instance: Workload1) -> Iterator[Row]:
    t, gamma = instance.t, instance.gamma
    yield {
        "gain": f"{utility_gain_simple(gamma, t):.3f}",
        "sequential": f"{float(expected_error('gaussian', math.sqrt(t))):.3f}",
        "optimal": f"{float(expected_error('gaussian', math.sqrt(gamma))):.3f}",
    }


def _tables(records: Sequence[Record]) -> Tables:
    printed = {line[0]: line[3:] for line in _PAPER}
    own: Table = []
    beside: Table = []
    for record in records:
        one: Workload1 = record.instance
        (row,) = record.rows
        own.append({"t": one.t, "gamma": one.gamma, **row})
        gain, sequential, optimal = printed[one.data_set]
        beside.append(
            {
                "data_set": one.data_set,
                "t": one.t,
                "gamma": one.gamma,
                "paper_gain": gain,
                "gain": row["gain"],
                "paper_sequential": sequential,
                "sequential": row["sequential"],
                "paper_optimal": optimal,
                "optimal": row["optimal"],
            }
        )
    return {"table1": own, "table1-paper": beside}


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(size=(9, 4.2))
    rows = tables["table1-paper"]
    for offset, color, column, text in (
        (-0.2, GREY, "sequential", "sequential composition"),
        (0.2, BLUE, "optimal", "by maximum overlap"),
    ):
        places = [number + offset for number in range(len(rows))]
        axes.bar(places, [float(row[column]) for row in rows], 0.38, color=color, label=f"expected error, {text}")
        axes.scatter(
            places,
            [float(row[f"paper_{column}"]) for row in rows],
            marker="_",
            s=170,
            color=ORANGE,
            linewidths=2.2,
            zorder=3,
            label="as the paper prints it (drawn noise)" if offset > 0 else None,
        )
    for number, row in enumerate(rows):
        height = float(row["sequential"])
        axes.annotate(
            f"{float(row['gain']):.1%}", (number, height), (0, 6), textcoords="offset points", ha="center", fontsize=8
        )
    axes.set_xticks(range(len(rows)), [f"{row['data_set']}\nt={row['t']}" for row in rows], fontsize=8.5)
    axes.set_xlabel("data set; above each the utility gain, by which γ is smaller than t")
    axes.set_ylabel("average l₁ error at μ = 1")
    axes.legend(fontsize=8.5, loc="upper left")
    axes.set_title("Table 1: errors on the query log of a statistics office, from its t and γ", fontsize=11)
    return figure


TABLE_1 = Experiment(
    "table1",
    "utility gain and error on nine workloads of a statistics office, from the paper's t and γ (Table 1)",
    Workload1,
    lambda _quick: [Workload1(*line[:3]) for line in _PAPER],
    _measure,
    lambda _instance: 60.0,
    _tables,
    _draw,
)
