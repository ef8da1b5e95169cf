"""The paper's two upper bounds of the maximum overlap: clique number and chromatic number (§5, Eq. "approx").

γ ≤ ω ≤ χ ≤ χ̃ ≤ total.  An approximate clique number could be too low and is never reported as a bound; an
approximate chromatic number is only ever too high.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from parcomp.costs import amount_down, amount_up
from parcomp.graph.clique import CliqueSearch
from parcomp.graph.coloring import Coloring, ColoringSearch
from parcomp.graph.query_graph import build_query_graph
from parcomp.model import QueryId, Workload
from parcomp.model.compile import compile_workload
from parcomp.model.compiled import CompiledWorkload
from parcomp.slices import Course, Slices, run

__all__ = ["ChromaticNumber", "CliqueNumber", "GraphNumber", "chromatic_number", "clique_number"]


class GraphNumber(Course):
    """Clique or chromatic number of a workload's query graph: at most ``upper``, and for cliques at least ``lower``."""

    def __init__(self, compiled: CompiledWorkload, kind: Literal["clique", "chromatic"]) -> None:
        super().__init__()
        self.lower, self.upper = 0, compiled.total
        self.vertices = np.zeros(0, np.int64)
        # With a color for each query to begin with, which is a coloring whatever the graph.
        self.coloring = Coloring(np.arange(compiled.query_count, dtype=np.int32), compiled.query_count, self.upper)
        self._compiled, self._kind = compiled, kind

    def course(self) -> Slices[None]:
        """Build the graph, then search it."""
        graph = yield from build_query_graph.slices(self._compiled)
        if self._kind == "clique":
            cliques = CliqueSearch(graph)
            while not cliques.done:
                work = cliques.advance(self.left)
                self.lower, self.upper, self.vertices = cliques.lower, cliques.upper, cliques.vertices
                yield work
            return
        colorings = ColoringSearch(graph)
        while not colorings.done:
            work = colorings.advance(self.left)
            if colorings.best is not None:
                self.coloring, self.upper = colorings.best, colorings.best.weight
            yield work


@dataclass(frozen=True, slots=True)
class CliqueNumber:
    """A bracket around the weighted clique number ω: the clique ``members`` weighs ``lower``, ``upper`` is proven."""

    lower: int | float
    upper: int | float
    exact: bool
    members: list[QueryId]
    seconds: float

    def __repr__(self) -> str:
        bracket = f"{self.upper:,}" if self.exact else f"{self.lower:,} … {self.upper:,}"
        return f"<CliqueNumber: {bracket}, by {len(self.members):,} queries>"


@dataclass(frozen=True, slots=True)
class ChromaticNumber:
    """A coloring: the queries of a class are pairwise disjoint; ``upper`` is the sum of the largest cost of each."""

    upper: int | float
    classes: list[list[QueryId]]
    seconds: float

    def __repr__(self) -> str:
        return f"<ChromaticNumber: at most {self.upper:,}, by {len(self.classes):,} classes>"


def clique_number(workload: Workload, time_limit: float = 60.0) -> CliqueNumber:
    """The largest weight of pairwise overlapping queries, or a proven bracket when the time is up."""
    began = time.monotonic()
    compilation = compile_workload(workload)
    number = GraphNumber(compilation.compiled, "clique")
    run(number, began + time_limit)
    return CliqueNumber(
        amount_down(number.lower * compilation.unit),
        amount_up(number.upper * compilation.unit),
        number.lower == number.upper,
        [workload.id_of(position) for position in compilation.queries[number.vertices].tolist()],
        time.monotonic() - began,
    )


def chromatic_number(workload: Workload, time_limit: float = 60.0) -> ChromaticNumber:
    """The best coloring found: an upper bound of the chromatic number, and so of the maximum overlap."""
    began = time.monotonic()
    compilation = compile_workload(workload)
    number = GraphNumber(compilation.compiled, "chromatic")
    run(number, began + time_limit)
    classes: list[list[QueryId]] = [[] for _ in range(number.coloring.class_count)]
    for position, color in zip(compilation.queries.tolist(), number.coloring.classes.tolist(), strict=True):
        classes[color].append(workload.id_of(position))
    return ChromaticNumber(amount_up(number.upper * compilation.unit), classes, time.monotonic() - began)
