"""Close the bracket of one part that the reductions left: cheap bounds first, then the searches that suit its shape.

All steps count work instead of time, so that equal work gives equal brackets on every machine.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from operator import methodcaller
from typing import Protocol

import numpy as np
import numpy.typing as npt

from parcomp.graph.coloring import weighted_coloring
from parcomp.graph.query_graph import build_query_graph
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.box_search import BoxSearch
from parcomp.overlap.enumeration import enumeration_work, heaviest_row
from parcomp.overlap.group_cover import group_bound
from parcomp.overlap.helly import has_helly
from parcomp.overlap.row_search import RowSearch
from parcomp.overlap.sweep import sweep
from parcomp.overlap.value_search import ValueSearch

__all__ = ["ALL", "PartSearch", "Search", "Strategy"]

Row = npt.NDArray[np.int32]

_ENUMERATION_WORK = 1 << 20
"""Parts whose rows can all be looked at with this much work are not worth anything cleverer."""

_COLORING_LIMIT = 1 << 12
"""Up to this many queries the query graph is colored too, which takes milliseconds."""

_EDGE_LIMIT = 1 << 22
"""Box search covers the whole graph at its root in one go, which takes too long on large dense graphs."""

_GRAPH_LIMIT = 1 << 15
"""Up to this many queries the query graph is built; box search needs it."""

_ROW_SHARE, _ROW_WORK = 4, 1 << 29
"""Row search goes on beside the others for one part in so many of the work, up to this much in all."""

_PARALLEL_WORK = 1 << 22
"""From this much work in a slice on, two searches run on two threads; their kernels release the interpreter's lock."""


class Strategy(StrEnum):
    """What can be tried on a part, in this order."""

    EVERY_ROW = "a look at every row"
    SWEEP = "a sweep over ranges"
    ROW_SEARCH = "row local search"
    GROUPS = "groups of disjoint queries"
    COLORING = "a coloring of the query graph"
    BOX_SEARCH = "box search"
    VALUE_SEARCH = "value search"


ALL = frozenset(Strategy)
_ON_GRAPH = frozenset({Strategy.COLORING, Strategy.BOX_SEARCH})


class Search(Protocol):
    """A search that can be paused: ``row`` weighs ``lower``, no row weighs more than ``upper``, both at all times."""

    @property
    def lower(self) -> int:
        """The weight of ``row``."""

    @property
    def row(self) -> Row:
        """The heaviest row found."""

    @property
    def upper(self) -> int:
        """The least proven bound."""

    @property
    def done(self) -> bool:
        """Whether the bracket is closed."""

    def advance(self, work: int) -> None:
        """Search on for about ``work`` word operations."""

    def learn(self, lower: int, row: Row, upper: int) -> None:
        """Take over a heavier row or a lower bound that another search has found."""


class PartSearch:
    """The bracket of one part, closed step by step; ``closed_by`` names what lowered ``upper`` last."""

    def __init__(self, compiled: CompiledWorkload, strategies: Iterable[Strategy] = ALL) -> None:
        self.compiled = compiled
        self.lower = int(compiled.weights[compiled.start[1:] == compiled.start[:-1]].sum())
        self.row: Row = np.zeros(compiled.attribute_count, np.int32)
        self.upper = compiled.total
        self.closed_by: Strategy | None = None
        self.exhausted = False
        self._strategies = frozenset(strategies)
        self._steps = self._close()
        if next(self._steps, _ENDED) is _ENDED:
            self.exhausted = True

    @property
    def done(self) -> bool:
        """Whether the bracket is closed, or nothing is left that could close it further."""
        return self.exhausted or self.lower >= self.upper

    def advance(self, work: int) -> None:
        """Work on the bracket for about ``work`` word operations, or finish the step at hand."""
        try:
            self._steps.send(work)
        except StopIteration:
            self.exhausted = True

    def _close(self) -> Generator[None, int, None]:
        """Each yield takes the work that the next step may do."""
        compiled, chosen = self.compiled, self._strategies
        if self.lower >= self.upper:
            return
        work = yield
        if Strategy.EVERY_ROW in chosen and enumeration_work(compiled) <= _ENUMERATION_WORK:
            weight, row = heaviest_row(compiled)
            self._found(weight, row, weight, Strategy.EVERY_ROW)
            return
        if Strategy.SWEEP in chosen and compiled.attribute_count <= 2 and (swept := sweep(compiled)) is not None:
            weight, row = swept
            self._found(weight, row, weight, Strategy.SWEEP)
            return
        rows = RowSearch(compiled) if Strategy.ROW_SEARCH in chosen else None
        if rows is not None:
            rows.advance(work)
            self._found(rows.lower, rows.row, self.upper, Strategy.ROW_SEARCH)
        if Strategy.GROUPS in chosen:
            self._found(self.lower, self.row, group_bound(compiled)[0], Strategy.GROUPS)
        searches: dict[Strategy, Search] = {}
        if chosen & _ON_GRAPH and compiled.query_count <= _GRAPH_LIMIT and not self.done:
            work = yield
            graph = build_query_graph(compiled)
            if Strategy.COLORING in chosen and compiled.query_count <= _COLORING_LIMIT:
                self._found(self.lower, self.row, weighted_coloring(graph).weight, Strategy.COLORING)
            small = graph.edge_count <= _EDGE_LIMIT or Strategy.VALUE_SEARCH not in chosen
            if Strategy.BOX_SEARCH in chosen and small and not self.done:
                searches[Strategy.BOX_SEARCH] = BoxSearch(compiled, graph, self.lower, self.row)
                self._learn(searches)
        if Strategy.VALUE_SEARCH in chosen and not self.done and not (searches and has_helly(compiled).all()):
            work = yield
            searches[Strategy.VALUE_SEARCH] = ValueSearch(compiled, self.lower, self.row)
            self._learn(searches)
        if searches:
            yield from self._search(searches, rows)

    def _search(self, searches: dict[Strategy, Search], rows: RowSearch | None) -> Generator[None, int, None]:
        """Advance all searches side by side, and row search at times; what one finds the others are told."""
        spent = spent_on_rows = 0
        with ThreadPoolExecutor(max_workers=2) as pool:
            while not self.done:
                work = yield
                active: list[Search | RowSearch] = list(searches.values())
                if rows is not None and spent_on_rows <= min(spent // _ROW_SHARE, _ROW_WORK):
                    active.append(rows)
                    spent_on_rows += work
                each = pool.map if len(active) > 1 and work >= _PARALLEL_WORK else map
                list(each(methodcaller("advance", work), active))
                spent += work
                if rows is not None:
                    self._found(rows.lower, rows.row, self.upper, Strategy.ROW_SEARCH)
                self._learn(searches)

    def _learn(self, searches: dict[Strategy, Search]) -> None:
        for strategy, search in searches.items():
            self._found(search.lower, search.row, search.upper, strategy)
        for search in searches.values():
            search.learn(self.lower, self.row, self.upper)

    def _found(self, lower: int, row: Row, upper: int, by: Strategy) -> None:
        if lower > self.lower:
            self.lower, self.row = lower, row
        if upper < self.upper:
            self.upper = upper
            self.closed_by = by


_ENDED = object()
