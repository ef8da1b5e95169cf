"""What the query graph tells of a part: colorings bound its maximum overlap, then box search closes the bracket.

Building the graph, coloring it and searching it are one search that can be paused anywhere, so that others go on beside
it while the graph of thousands of queries is still being colored.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from parcomp.graph.coloring import ColoringSearch
from parcomp.graph.query_graph import query_graph_slices
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.box.box_search import BoxSearch
from parcomp.overlap.search import Row, Strategy
from parcomp.slices import Slices, spend

__all__ = ["GRAPH_LIMIT", "GraphSearch"]

GRAPH_LIMIT = 1 << 15
"""Up to this many queries the query graph is built."""

_MANY = 1 << 12
"""Beyond so many queries a first coloring must do: improving it would take longer than it gains."""


class GraphSearch:
    """A :class:`~parcomp.overlap.search.Search` by the query graph, with a coloring, box search or both."""

    def __init__(self, compiled: CompiledWorkload, chosen: Collection[Strategy], lower: int, row: Row) -> None:
        """Begin with ``row``, which weighs ``lower``; ``chosen`` says what to do with the graph."""
        self.lower = lower
        self.row = row
        self.upper = compiled.total
        self.strategy = Strategy.COLORING
        self._compiled = compiled
        self._chosen = chosen
        self._box: BoxSearch | None = None
        self._setting_up = self._set_up()
        self._ended = False

    @property
    def searching(self) -> bool:
        """Whether the graph is built and colored."""
        return self._box is not None or self._ended

    @property
    def done(self) -> bool:
        """Whether the bracket is closed, or nothing is left that could close it further."""
        return self.lower >= self.upper or (self._ended and (self._box is None or self._box.stuck))

    def advance(self, work: int) -> None:
        """Build, color or search on for about ``work`` word operations."""
        if not self._ended:
            work = spend(self._setting_up, work)
            self._ended = work > 0
        if self._box is not None and work > 0:
            self._box.advance(work)
            if self._box.lower > self.lower:
                self.lower, self.row = self._box.lower, self._box.row
            self._bound(self._box.upper, Strategy.BOX_SEARCH)

    def learn(self, lower: int, row: Row, upper: int) -> None:
        """Take over a heavier row or a lower bound that another search has found."""
        if lower > self.lower:
            self.lower, self.row = lower, np.array(row, np.int32)
        self.upper = min(self.upper, upper)
        if self._box is not None:
            self._box.learn(lower, row, upper)

    def _set_up(self) -> Slices[None]:
        graph = yield from query_graph_slices(self._compiled)
        if Strategy.COLORING in self._chosen:
            coloring = ColoringSearch(graph, rounds=8 if graph.vertex_count <= _MANY else 0)
            for work in coloring.slices():
                if coloring.best is not None:
                    self._bound(coloring.best.weight, Strategy.COLORING)
                yield work
                if self.done:
                    return
            if coloring.best is not None:
                self._bound(coloring.best.weight, Strategy.COLORING)
        if Strategy.BOX_SEARCH in self._chosen:
            self._box = BoxSearch(self._compiled, graph, self.lower, self.row)
            self._box.learn(upper=self.upper)

    def _bound(self, upper: int, by: Strategy) -> None:
        if upper < self.upper:
            self.upper, self.strategy = upper, by
