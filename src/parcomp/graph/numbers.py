"""The paper's two upper bounds of the maximum overlap: clique number and chromatic number (§5, Eq. "approx").

γ ≤ ω ≤ χ ≤ χ̃ ≤ total.  An approximate clique number could be too low and is never reported as a bound; an
approximate chromatic number is only ever too high.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from parcomp.costs import amount_down, amount_up
from parcomp.graph.clique import CliqueSearch
from parcomp.graph.coloring import weighted_coloring
from parcomp.graph.query_graph import build_query_graph
from parcomp.model.compile import compile_workload
from parcomp.model.workload import QueryId, Workload

__all__ = ["ChromaticNumber", "CliqueNumber", "chromatic_number", "clique_number"]


@dataclass(frozen=True, slots=True)
class CliqueNumber:
    """A bracket around the weighted clique number ω: the clique ``members`` weighs ``lower``, ``upper`` is proven."""

    lower: int | float
    upper: int | float
    exact: bool
    members: list[QueryId]
    seconds: float


@dataclass(frozen=True, slots=True)
class ChromaticNumber:
    """A coloring: the queries of a class are pairwise disjoint; ``upper`` is the sum of the largest cost of each."""

    upper: int | float
    classes: list[list[QueryId]]
    seconds: float


def clique_number(workload: Workload, time_limit: float = 60.0) -> CliqueNumber:
    """The largest weight of pairwise overlapping queries, or a proven bracket when the time is up."""
    began = time.monotonic()
    compilation = compile_workload(workload)
    found = CliqueSearch(build_query_graph(compilation.compiled)).run(began + time_limit)
    return CliqueNumber(
        amount_down(found.lower * compilation.unit),
        amount_up(found.upper * compilation.unit),
        found.exact,
        [workload.id_of(position) for position in compilation.queries[found.vertices].tolist()],
        time.monotonic() - began,
    )


def chromatic_number(workload: Workload) -> ChromaticNumber:
    """The best coloring found: an upper bound of the chromatic number, and so of the maximum overlap."""
    began = time.monotonic()
    compilation = compile_workload(workload)
    coloring = weighted_coloring(build_query_graph(compilation.compiled))
    classes: list[list[QueryId]] = [[] for _ in range(coloring.class_count)]
    for position, color in zip(compilation.queries.tolist(), coloring.classes.tolist(), strict=True):
        classes[color].append(workload.id_of(position))
    return ChromaticNumber(amount_up(coloring.weight * compilation.unit), classes, time.monotonic() - began)
