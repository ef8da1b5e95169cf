"""Box search: branch and bound over queries that carries the box of still possible values.

Algorithm 1 of the paper branches over the cliques of the query graph.  Here a node also holds the *box*, the values
that all queries chosen so far accept, so every node is an overlap and its rows are known.  Against the algorithm as
printed the incumbent is passed on and never falls.  The box does three things to the candidates: one whose mask misses
it is dropped, one that contains it on every attribute is absorbed, and two whose masks do not meet inside it are no
longer adjacent.  The deeper the node, the sparser therefore the graph and the sharper its bounds.

The search proves upper bounds *destructively*: it pretends to know an overlap of weight U and looks for a heavier one.
If it completes without finding any, the maximum overlap is at most U.  U is lowered step by step, and at the
incumbent's weight the result is exact.  An upper bound comes only from a completed search, or from branches of the root
that are complete together with a cover of the rest; an incumbent is a lower bound and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.bits import word_count
from parcomp.graph import QueryGraph, degeneracy_order, renumber
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.box import _search_kernels as kernels
from parcomp.overlap.box import layout
from parcomp.overlap.search import Row, Search, Strategy
from parcomp.overlap.targets import Targets
from parcomp.slices import Slices

__all__ = ["BoxSearch"]

# A stack does not grow beyond this many words, 256 MiB, unless its root takes a quarter of it or more.
WORD_LIMIT = 1 << 25
# The first attempt is at the exact value; only when it outlasts this work are larger targets tried.
FIRST_BUDGET = 200_000_000

# Which arrays of the stack grow when a kernel ends for want of them.
_WANTING = {
    kernels.NO_LEVEL: ("box_at", "live", "open_at", "columns_at", "level", "patience"),
    kernels.NO_WORDS: ("words",),
    kernels.NO_NUMBERS: ("numbers",),
}


class BoxSearch(Search):
    """Box search by slices; its first steps lay down the root.

    It is ``stuck``, and ends, where going on would take too much memory: on large dense graphs, where every level of
    the stack has thousands of queries.
    """

    strategy = Strategy.BOX_SEARCH

    def __init__(self, compiled: CompiledWorkload, graph: QueryGraph, lower: int = 0, row: Row | None = None) -> None:
        """Search ``compiled``, whose query graph is ``graph``; ``row`` weighs ``lower`` if given."""
        super().__init__(compiled, lower, row)
        self._graph = graph
        self._state = np.zeros(kernels.STATE_FIELDS, np.int64)
        self._state[kernels.LOWER], self._state[kernels.UPPER] = self.lower, self.upper
        self._best_row = self.row.copy()
        self._targets = Targets(FIRST_BUDGET)
        self._queries: layout.BoxQueries
        self._stack: layout.Stack
        self.stuck = False
        self._ready = False

    @property
    def nodes(self) -> int:
        """How many nodes were opened."""
        return int(self._state[kernels.NODES])

    @property
    def _target(self) -> int:
        return int(self._state[kernels.TARGET])

    @property
    def _work(self) -> int:
        return int(self._state[kernels.WORK])

    def learn(self, lower: int, row: Row, upper: int) -> None:
        """Take over what another search has found, and turn to the next target where this one proves nothing more."""
        if lower > self.lower:
            self._best_row[:] = row
            self._state[kernels.LOWER] = lower
            self._state[kernels.TARGET] = max(self._target, lower)
        super().learn(lower, row, upper)
        if self.upper < self._state[kernels.UPPER]:
            self._state[kernels.UPPER] = self.upper
            if self._ready and self._target >= self.upper:
                self._begin_next()

    def course(self) -> Slices[None]:
        """Lay the root down, then prove ever smaller targets."""
        yield from self._set_up()
        while self.lower < self.upper and not self.stuck:
            began = self._work
            # With no target left between this one and the upper bound there is nothing easier to turn to.
            patient = self.upper - self._target <= 1
            stop = began + self.left
            stop = stop if patient else min(stop, self._began + self._targets.budget)
            status = kernels.search(self._queries, self._stack, self._state, self._best_row, stop)
            self._take_over()
            if status in _WANTING:
                self._grow(_WANTING[status])
            elif status == kernels.DONE:
                self._targets.completed(self._target, self._work - self._began)
                self._begin_next()
            elif not patient and self._work >= self._began + self._targets.budget:
                self._targets.given_up(self.lower, self.upper, self._target)
                self._begin_next()
            yield self._work - began

    def _take_over(self) -> None:
        if self._state[kernels.LOWER] > self.lower:
            self.lower, self.row = int(self._state[kernels.LOWER]), self._best_row.copy()
        self.upper = int(self._state[kernels.UPPER])

    def _set_up(self) -> Slices[None]:
        """Lay the root down, and begin with the exact value."""
        compiled, graph = self.compiled, self._graph
        t = compiled.query_count
        # Covers are filled in this order: entangled queries first, loose ones where they fit.
        order = yield from degeneracy_order.slices(graph)
        position = np.empty_like(order)
        position[order] = np.arange(t)
        self._queries = _sorted_queries(compiled, order, position)
        self._stack, root = _empty_stack(compiled)
        self._most_words = max(WORD_LIMIT, 4 * root)
        yield 8 * len(compiled.term) + len(self._stack.words)
        yield from renumber.slices(graph, order, self._stack.words[: graph.adjacency.size])
        self._ready = True
        self._begin_next()

    def _begin_next(self) -> None:
        if self.lower < self.upper:
            self._begin(self._targets.begin(self.lower, self.upper))

    def _begin(self, target: int) -> None:
        self._began = self._work
        while not self.stuck:
            status = kernels.begin(self._queries, self._stack, target, self._state, self._best_row)
            if status not in _WANTING:
                break
            self._grow(_WANTING[status])

    def _grow(self, names: tuple[str, ...]) -> None:
        """Double the room of some arrays of the stack, unless there is no more to be had."""
        if "words" in names and 2 * len(self._stack.words) > self._most_words:
            self.stuck = True
        else:
            self._stack = self._stack._replace(**{name: _longer(getattr(self._stack, name)) for name in names})


def _sorted_queries(
    compiled: CompiledWorkload, order: npt.NDArray[np.int64], position: npt.NDArray[np.int64]
) -> layout.BoxQueries:
    """The queries in the given order, whose inverse is ``position``; the terms of each by size of attribute."""
    attribute = compiled.mask_attribute[compiled.term].astype(np.int64)
    query = np.repeat(position, np.diff(compiled.start))
    by_query = np.lexsort((compiled.sizes[attribute], query))
    first = np.concatenate(([0], np.cumsum(np.diff(compiled.start)[order])))
    return layout.BoxQueries(
        weights=compiled.weights[order],
        first=first.astype(np.int64),
        attribute=attribute[by_query],
        offset=compiled.mask_offset[compiled.term[by_query]],
        mask_words=compiled.mask_words,
        width=(compiled.sizes.astype(np.int64) + 63) >> 6,
    )


def _empty_stack(compiled: CompiledWorkload) -> tuple[layout.Stack, int]:
    """Storage for the root and a few levels more, which grows when it is full; and how many words the root takes."""
    t, width = compiled.query_count, word_count(compiled.query_count)
    m = compiled.attribute_count
    sizes = compiled.sizes.astype(np.int64)
    columns = np.where(sizes <= layout.COLUMN_LIMIT, sizes, 0).sum() * width
    root = int((t + 1 + m) * width + columns + ((sizes + 63) >> 6).sum())
    levels = 8
    stack = layout.Stack(
        # Memory that is not written to costs nothing, while growing means to copy.
        words=np.zeros(max(root + 1024, min(16 * root, WORD_LIMIT)), np.uint64),
        numbers=np.zeros(16 * t + 64, np.int64),
        box_at=np.zeros((levels, m), np.int64),
        live=np.zeros((levels, m), np.int64),
        open_at=np.zeros((levels, m), np.int64),
        columns_at=np.zeros((levels, m), np.int64),
        level=np.zeros((levels, layout.LEVEL_FIELDS), np.int64),
        mode=np.zeros(m, np.int64),
        values_at=np.zeros(m, np.int64),
        patience=np.zeros((levels, 2), np.int64),
    )
    stack.live[0] = sizes
    return stack, root


def _longer(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array with twice the room, contents kept."""
    result = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    result[: len(array)] = array
    return result
