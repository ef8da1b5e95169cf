"""How much the pairwise view overpays: γ against the clique number ω and the chromatic number χ, by workload.

γ ≤ ω ≤ χ (paper §5).  Where the predicates of each attribute have the Helly property (points, intervals, nested
sets), γ = ω; for scattered subsets the gap is wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from parcomp import Workload
from parcomp.experiments import workloads
from parcomp.experiments.drawing import ALGORITHM_COLORS, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Table, Tables
from parcomp.experiments.measuring import by_parcomp, owed

__all__ = ["PAIRWISE_GAP", "Family"]

FAMILIES: dict[str, Callable[[int], Workload]] = {
    "census, t=1,000": lambda seed: workloads.census_sample(1_000, seed),
    "marginals, 8 × 5, 2-way": lambda _seed: workloads.marginals(8, 5, 2),
    "points, t=500, m=10": lambda seed: workloads.points(500, 10, 5, seed),
    "boxes, t=500, m=3": lambda seed: workloads.boxes(500, 3, 1_000, seed),
    "Mycielski, χ = 6": lambda _seed: workloads.mycielski(6),
    "uniform, t=100, m=50": lambda seed: workloads.uniform_workload(100, 50, 4, seed),
    "uniform, t=100, m=20": lambda seed: workloads.uniform_workload(100, 20, 4, seed),
    "uniform, t=100, m=10": lambda seed: workloads.uniform_workload(100, 10, 4, seed),
    "uniform, t=200, m=10": lambda seed: workloads.uniform_workload(200, 10, 4, seed),
    "dense subsets, t=100": lambda seed: workloads.dense_subsets(100, 12, seed),
}
_QUICK = ("census, t=1,000", "boxes, t=500, m=3", "Mycielski, χ = 6", "uniform, t=100, m=50", "uniform, t=40, m=10")
FAMILIES["uniform, t=40, m=10"] = lambda seed: workloads.uniform_workload(40, 10, 3, seed)


@dataclass(frozen=True, slots=True)
class Family:
    """A workload of a named family."""

    family: str
    seed: int
    limit: float


def _instances(quick: bool) -> list[Family]:
    if quick:
        return [Family(name, 0, 3.0) for name in _QUICK]
    return [Family(name, seed, 60.0) for name in FAMILIES for seed in range(3)]


def _measure(instance: Family) -> Iterator[Row]:
    workload = FAMILIES[instance.family](instance.seed)
    for row in by_parcomp(workload, instance.limit):
        yield {**row, "t": len(workload)}


def _tables(records: Sequence[Record]) -> Tables:
    found: Table = []
    for record in records:
        one: Family = record.instance
        t = int(record.rows[0]["t"]) if record.rows else 0
        by = {str(row["algorithm"]): row for row in owed("parcomp", t, record.rows, record.ended, one.limit)}
        overlap, clique = by["overlap"], by["clique"]
        found.append(
            {
                "family": one.family,
                "seed": one.seed,
                "t": t,
                "gamma_lower": overlap["lower"],
                "gamma_upper": overlap["upper"],
                "omega_lower": clique["lower"],
                "omega_upper": clique["upper"],
                "chromatic": by["chromatic"]["upper"],
                "overpaid_percent": 100.0 * (float(by["chromatic"]["upper"]) / float(overlap["upper"]) - 1)
                if float(overlap["upper"])
                else "nothing to pay",
                "seconds": overlap["seconds"],
            }
        )
    return {"pairwise-gap": found}


def _draw(tables: Tables) -> Any:
    figure, axes = new_figure(size=(9.5, 5.6))
    families = list(dict.fromkeys(str(row["family"]) for row in tables["pairwise-gap"]))
    for place, family in enumerate(families):
        rows = [row for row in tables["pairwise-gap"] if row["family"] == family]
        for number, row in enumerate(rows):
            height = place + (number - (len(rows) - 1) / 2) * 0.22
            least = float(row["gamma_upper"])
            axes.plot([1, float(row["chromatic"]) / least], [height, height], color="#d8dee4", linewidth=3, zorder=1)
            for column, key, marker in (("omega_upper", "clique", "D"), ("chromatic", "chromatic", "o")):
                label = {"clique": "clique number ω / γ", "chromatic": "chromatic number χ / γ"}[key]
                first = place == 0 and number == 0
                color = ALGORITHM_COLORS[key]
                value = float(row[column]) / least
                axes.scatter(value, height, color=color, marker=marker, s=34, zorder=3, label=label if first else None)
    axes.axvline(
        1.0, color=ALGORITHM_COLORS["overlap"], linewidth=1.6, label="maximum overlap γ, or what is proven of it"
    )
    axes.set_yticks(range(len(families)), families)
    axes.invert_yaxis()
    axes.set_xlabel("what is charged, in multiples of the maximum overlap")
    axes.legend(fontsize=8.5, loc="upper right")
    axes.set_title("How much the pairwise view overpays", fontsize=11)
    return figure


PAIRWISE_GAP = Experiment(
    "pairwise-gap",
    "maximum overlap against clique and chromatic number, by workload family",
    Family,
    _instances,
    _measure,
    lambda instance: 4 * instance.limit + 120.0,
    _tables,
    _draw,
)
