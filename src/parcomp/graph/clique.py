"""The weighted clique number of the query graph: exact, or a proven bracket at the deadline (paper §5 and §6).

Branch and bound on bitsets.  A node keeps the vertices that can still extend its clique; independent sets peeled off
their weights bound what they can add, and only vertices beyond that bound are branched on (Tomita and Kameda 2007 and
San Segundo et al. 2011 for unit weights; Held, Cook and Sewell 2012 and Tavares 2016 for weighted peeling).  Vertices
whose residual weight unit propagation refutes together with some of the sets need no branch either (Li and Quan 2010
for unit weights, as MaxSAT reasoning; Fang, Li and Xu 2016 for weights).  A tabu search supplies the first incumbent.

Deviating from Algorithm 1 of the paper, the incumbent only ever grows, and what is reported as ``upper`` is never it:
while the search is unfinished, ``upper`` is a coloring bound of the whole graph, lowered as branches at the root are
finished.  To that end they go from small to large: branch i only looks at vertices that are not branched on and at
branches before i.
"""

from __future__ import annotations

import time
from math import inf

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits, unpack_bits, word_count
from parcomp.graph import _clique_kernels as kernels
from parcomp.graph import _clique_start_kernels as start_kernels
from parcomp.graph._packed_kernels import induced
from parcomp.graph.coloring import dsatur, first_fit, fractional_cover, weighted_coloring
from parcomp.graph.query_graph import QueryGraph
from parcomp.slices import LARGEST_SLICE, Course, Slices, run

__all__ = ["CliqueSearch", "search_cliques"]

_TABU_WORK = 1 << 20  # vertices looked at by the tabu search, unless the coloring is met before
_COVERED_UP_TO = 1 << 11  # up to this many vertices a better root bound than DSatur's is worth its time
_SORTED_ORDER_FROM = 1 << 13  # beyond this many vertices the quadratic degeneracy order gives way to a sort


def _scratch(size: int) -> kernels.Scratch:
    """Work arrays of ``expand`` for a graph of this size."""
    words = word_count(size)
    return kernels.Scratch(
        residual=np.zeros(size, np.int64),
        rest=np.zeros(words, np.uint64),
        queue=np.zeros(words, np.uint64),
        taken=np.zeros(size, np.int64),
        sets=np.zeros((size + 1, words), np.uint64),
        available=np.zeros(size + 1, np.int64),
        units=np.zeros((size + 1, 4), np.int64),
    )


def _branches(size: int) -> kernels.Branches:
    """Room for so many branches."""
    return kernels.Branches(np.zeros(size, np.int32), np.zeros(size, np.int64))


class _Subproblem:
    """Cliques within a small graph that beat ``target``, searched in slices of work."""

    def __init__(self, adjacency: npt.NDArray[np.uint64], weights: npt.NDArray[np.int64], target: int) -> None:
        size, words = adjacency.shape
        self._graph = kernels.PackedGraph(adjacency, weights)
        # No clique has more vertices than any coloring has classes.
        depth = dsatur(QueryGraph(adjacency, weights)).class_count + 2
        self._scratch = _scratch(size)
        self._branches = _branches(4 * size)
        candidates = np.zeros((depth, words), np.uint64)
        candidates[0] = pack_bits(np.ones(size, np.bool_))
        begin, top = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
        end, _ = kernels.expand(self._graph, candidates[0], target, self._branches, 0, self._scratch)
        top[0] = end
        self._nodes = kernels.Nodes(candidates, begin, top, np.zeros(depth, np.int64), np.zeros(depth, np.int64))
        self._best = np.zeros(depth, np.int64)
        self._counters = np.array([0 if end else -1, target, 0, 0], np.int64)

    @property
    def nodes(self) -> int:
        """How many nodes were opened."""
        return int(self._counters[3])

    def run(self, work: int) -> bool:
        """Do about so much work; whether the search is finished."""
        while True:
            status = kernels.search(
                self._graph, self._branches, self._nodes, self._best, self._counters, self._scratch, work
            )
            if status == kernels.NO_BRANCHES:
                vertex, bound = self._branches
                self._branches = kernels.Branches(np.resize(vertex, 2 * len(vertex)), np.resize(bound, 2 * len(bound)))
                continue
            return bool(status == kernels.DONE)

    def best(self) -> tuple[int, npt.NDArray[np.int64]]:
        """The weight handed in or the heaviest clique beyond it, and that clique (empty if nothing beats it)."""
        return int(self._counters[kernels.LOWER]), self._best[: self._counters[kernels.LENGTH]]


class CliqueSearch(Course):
    """A search for the heaviest clique: ``vertices`` (ascending) weigh ``lower``, no clique more than ``upper``."""

    def __init__(self, graph: QueryGraph, *, seed: int = 0) -> None:
        super().__init__()
        self.lower, self.upper = 0, int(graph.weights.sum())
        self.vertices = np.zeros(0, np.int64)
        self._graph, self._seed = graph, seed
        self._position = 0
        self._tail: list[int] | None = None
        self._branches = np.zeros(0, np.int32)

    @property
    def done(self) -> bool:
        """Whether ``lower`` is the clique number."""
        return self.lower >= self.upper

    def course(self) -> Slices[None]:
        """Bracket by coloring and tabu search, then look through the branches of the root one after the other."""
        if self._graph.vertex_count:
            yield from self._start()
        if self._tail is not None:
            self._bound()
        while self._position < len(self._branches):
            work = min(LARGEST_SLICE, self.left)
            position, interrupted = kernels.open_branch(
                self._packed,
                self._settled,
                self._branches,
                self._position,
                self.lower,
                self._spare,
                self._scratch,
                work,
            )
            passed, self._position = int(position) - self._position, int(position)
            self._bound()
            yield work if interrupted else min(work, (passed + 1) * (self._adjacency.size >> 2))
            if self._position < len(self._branches) and not interrupted:
                yield from self._search_branch()

    def _start(self) -> Slices[None]:
        """Prepare the root of the branch and bound, unless a coloring meets the first clique."""
        graph = self._graph
        coloring = yield from dsatur.slices(graph)
        self.upper = coloring.weight
        self._seek(np.arange(graph.vertex_count), _TABU_WORK >> 2, self._seed)
        yield _TABU_WORK + 2 * graph.adjacency.size
        alive = np.flatnonzero(start_kernels.core(graph.adjacency, graph.weights, self.lower))
        if self.lower < self.upper and len(alive):
            # What a first clique leaves of the graph is often small: there the same work goes further.
            self._seek(alive, _TABU_WORK, self._seed + 1)
            yield 4 * _TABU_WORK + 2 * graph.adjacency.size
            alive = np.flatnonzero(start_kernels.core(graph.adjacency, graph.weights, self.lower))
        if self.lower >= self.upper:
            return
        self._chosen, self._adjacency = self._arranged(graph.adjacency, graph.weights, alive)
        self._weights = graph.weights[self._chosen]
        size = len(self._chosen)
        yield 4 * self._adjacency.size
        if size <= _COVERED_UP_TO:
            # A clique heavier than the incumbent lies within the core, so a bound on the core bounds them all.
            inner = QueryGraph(self._adjacency, self._weights)
            coloring = yield from weighted_coloring.slices(inner, rounds=1)
            bound = coloring.weight
            if self._weights.min(initial=1) < self._weights.max(initial=1):
                # With equal weights peeling yields a coloring too.
                cover = yield from fractional_cover.slices(inner)
                bound = min(bound, cover.bound)
            self.upper = max(self.lower, min(self.upper, bound))
        if self.lower >= self.upper:
            return
        self._scratch = _scratch(size)
        self._packed = kernels.PackedGraph(self._adjacency, self._weights)
        self._spare = _branches(size)
        everything = pack_bits(np.ones(size, np.bool_))
        end, work = kernels.expand(self._packed, everything, self.lower, self._spare, 0, self._scratch)
        yield int(work)
        self._branches = self._spare.vertex[:end].copy()
        self._tail = self._tail_bounds()
        outside = np.ones(size, np.bool_)
        outside[self._branches] = False
        self._settled = pack_bits(outside)

    def _search_branch(self) -> Slices[None]:
        """Look for a heavier clique among the vertex at ``position`` and what is settled, then settle it too."""
        vertex = int(self._branches[self._position])
        near = unpack_bits(self._settled & self._adjacency[vertex], len(self._weights))
        vertices, adjacency = self._arranged(self._adjacency, self._weights, np.flatnonzero(near))
        search = _Subproblem(adjacency, self._weights[vertices], self.lower - int(self._weights[vertex]))
        finished = False
        while not finished:
            work, nodes = min(LARGEST_SLICE, self.left), search.nodes
            finished = search.run(work)
            _, found = search.best()
            if len(found):
                self._adopt(self._chosen[np.append(vertices[found], vertex)])
            if finished:
                self._settled[vertex >> 6] |= np.uint64(1) << np.uint64(vertex & 63)
                self._position += 1
                work = min(work, (search.nodes - nodes + 1) * (adjacency.size >> 2))
            self._bound()
            yield work

    def _bound(self) -> None:
        """Lower the upper end as far as the branches that are settled allow.

        Among the settled vertices no clique is heavier than ``lower``.  Any other clique adds to such a one a clique
        among the branches still to come, which the tail bounds.
        """
        assert self._tail is not None
        beyond = self._tail[self._position] if self._position < len(self._branches) else 0
        self.upper = min(self.upper, self.lower + beyond)

    def _seek(self, vertices: npt.NDArray[np.int64], work: int, seed: int) -> None:
        """Look for a better incumbent among ``vertices`` by tabu search, in about this much work."""
        inner = induced(self._graph.adjacency, vertices)
        steps = min(max(512, work // len(vertices)), 64 * (len(vertices) + 8))
        found = start_kernels.local_search(inner, self._graph.weights[vertices], steps, self.upper, seed)
        self._adopt(vertices[np.flatnonzero(found)])

    @staticmethod
    def _arranged(
        adjacency: npt.NDArray[np.uint64], weights: npt.NDArray[np.int64], vertices: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
        """``vertices`` in an order that suits peeling, and the adjacency of the subgraph in that order."""
        inner = induced(adjacency, vertices)
        if len(vertices) > _SORTED_ORDER_FROM:
            order = np.argsort(-np.bitwise_count(inner).sum(axis=1, dtype=np.int64), kind="stable")
        else:
            order = start_kernels.degeneracy_order(inner, weights[vertices])
        return vertices[order], induced(inner, order)

    def _tail_bounds(self) -> list[int]:
        """For each branch a bound on any clique among it and those after it: a coloring by first fit from the end."""
        backwards = self._branches[::-1].astype(np.int64)
        order = np.arange(len(backwards))
        inner = QueryGraph(induced(self._adjacency, backwards), self._weights[backwards])
        classes = first_fit(inner, order).classes
        heaviest: dict[int, int] = {}
        bounds, bound = [], 0
        for number, weight in zip(classes.tolist(), self._weights[backwards].tolist(), strict=True):
            bound += max(0, weight - heaviest.get(number, 0))
            heaviest[number] = max(weight, heaviest.get(number, 0))
            bounds.append(bound)
        return bounds[::-1]

    def _adopt(self, vertices: npt.NDArray[np.int64]) -> None:
        weight = int(self._graph.weights[vertices].sum())
        if weight > self.lower:
            self.lower, self.vertices = weight, np.sort(vertices)


def search_cliques(graph: QueryGraph, time_limit: float = inf, *, seed: int = 0) -> CliqueSearch:
    """The search for the heaviest clique at its end, or after ``time_limit`` seconds."""
    search = CliqueSearch(graph, seed=seed)
    run(search, time.monotonic() + time_limit)
    return search
