"""What the query graph tells of a part: colorings bound its maximum overlap, then box search closes the bracket.

Building the graph, coloring it and searching it are one search that can be paused anywhere, so that others go on beside
it while the graph of thousands of queries is still being colored.
"""

from __future__ import annotations

from collections.abc import Collection

from parcomp.graph import ColoringSearch, build_query_graph
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.box import BoxSearch
from parcomp.overlap.search import Row, Search, Strategy
from parcomp.slices import Slices

__all__ = ["GRAPH_LIMIT", "GraphSearch"]

GRAPH_LIMIT = 1 << 15
"""Up to this many queries the query graph is built."""

_MANY = 1 << 12
"""Beyond so many queries a first coloring must do: improving it would take longer than it gains."""


class GraphSearch(Search):
    """A search by the query graph, with a coloring, box search or both; ``searching`` once the graph is colored."""

    strategy = Strategy.COLORING

    def __init__(
        self, compiled: CompiledWorkload, chosen: Collection[Strategy], lower: int = 0, row: Row | None = None
    ) -> None:
        """Begin with ``row``, which weighs ``lower``; ``chosen`` says what to do with the graph."""
        super().__init__(compiled, lower, row)
        self.searching = False
        self._chosen = chosen
        self._box: BoxSearch | None = None

    def learn(self, lower: int, row: Row, upper: int) -> None:
        """Take over what another search has found."""
        super().learn(lower, row, upper)
        if self._box is not None:
            self._box.learn(lower, row, upper)

    def course(self) -> Slices[None]:
        """Build the graph, color it, search it."""
        graph = yield from build_query_graph.slices(self.compiled)
        if Strategy.COLORING in self._chosen:
            coloring = ColoringSearch(graph, rounds=8 if graph.vertex_count <= _MANY else 0)
            for work in coloring.course():
                if coloring.best is not None:
                    self._bound(coloring.best.weight, Strategy.COLORING)
                yield work
            if coloring.best is not None:
                self._bound(coloring.best.weight, Strategy.COLORING)
        self.searching = True
        if Strategy.BOX_SEARCH in self._chosen:
            self._box = BoxSearch(self.compiled, graph, self.lower, self.row)
            self._box.learn(self.lower, self.row, self.upper)
            while not self._box.done:
                work = self._box.advance(self.left)
                if self._box.lower > self.lower:
                    self.lower, self.row = self._box.lower, self._box.row
                self._bound(self._box.upper, Strategy.BOX_SEARCH)
                yield work

    def _bound(self, upper: int, by: Strategy) -> None:
        if upper < self.upper:
            self.upper, self.strategy = upper, by
