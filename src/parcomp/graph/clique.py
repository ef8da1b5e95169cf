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
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits, unpack_bits, word_count
from parcomp.graph import _clique_kernels as kernels
from parcomp.graph import _clique_start_kernels as start_kernels
from parcomp.graph.coloring import dsatur, first_fit, fractional_cover, weighted_coloring
from parcomp.graph.query_graph import QueryGraph

__all__ = ["CliqueResult", "CliqueSearch", "clique_number"]

_SLICE_WORK = 1 << 24  # word operations between two looks at the clock: some 20 ms
_TABU_WORK = 1 << 20  # vertices looked at by the tabu search, unless the coloring is met before
_COVERED_UP_TO = 1 << 11  # up to this many vertices a better root bound than DSatur's is worth its time
_SORTED_ORDER_FROM = 1 << 13  # beyond this many vertices the quadratic degeneracy order gives way to a sort


@dataclass(frozen=True, slots=True, eq=False)
class CliqueResult:
    """A clique ``vertices`` (ascending) of weight ``lower``, and a proven bound ``upper`` on any clique's weight."""

    lower: int
    upper: int
    exact: bool
    vertices: npt.NDArray[np.int64]


def _scratch(size: int) -> tuple[npt.NDArray[Any], ...]:
    """Work arrays of ``expand`` for a graph of this size."""
    words = word_count(size)
    return (
        np.zeros(size, np.int64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(size, np.int64),
        np.zeros((size + 1, words), np.uint64),
        np.zeros(size + 1, np.int64),
        np.zeros((size + 1, 4), np.int64),
    )


class _Subproblem:
    """Cliques within a small graph that beat ``target``, searched in slices of work."""

    __slots__ = ("_adjacency", "_best", "_branches", "_counters", "_nodes", "_scratch", "_weights")

    def __init__(self, adjacency: npt.NDArray[np.uint64], weights: npt.NDArray[np.int64], target: int) -> None:
        size, words = adjacency.shape
        self._adjacency, self._weights = adjacency, weights
        # No clique has more vertices than any coloring has classes.
        depth = dsatur(QueryGraph(adjacency, weights)).class_count + 2
        self._scratch = _scratch(size)
        self._branches = (np.zeros(4 * size, np.int32), np.zeros(4 * size, np.int64))
        candidates = np.zeros((depth, words), np.uint64)
        candidates[0] = pack_bits(np.ones(size, np.bool_))
        begin, top = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
        end, _ = kernels.expand(adjacency, weights, candidates[0], target, *self._branches, 0, self._scratch)
        top[0] = end
        self._nodes = (candidates, begin, top, np.zeros(depth, np.int64), np.zeros(depth, np.int64))
        self._best = np.zeros(depth, np.int64)
        self._counters = np.array([0 if end else -1, target, 0, 0], np.int64)

    def run_slice(self) -> bool:
        """Do a slice of work; whether the search is finished."""
        while True:
            status = kernels.search(
                self._adjacency,
                self._weights,
                *self._branches,
                *self._nodes,
                self._best,
                self._counters,
                self._scratch,
                _SLICE_WORK,
            )
            if status == 2:
                vertex, bound = self._branches
                self._branches = (np.resize(vertex, 2 * len(vertex)), np.resize(bound, 2 * len(bound)))
                continue
            return bool(status == 0)

    def best(self) -> tuple[int, npt.NDArray[np.int64]]:
        """The weight handed in or the heaviest clique beyond it, and that clique (empty if nothing beats it)."""
        return int(self._counters[1]), self._best[: self._counters[2]]


class CliqueSearch:
    """A search that can be run for a while, asked for its bracket, and run on.

    Creating it already colors the graph and looks for a first clique, in time that is not limited but small.
    """

    def __init__(self, graph: QueryGraph, *, seed: int = 0) -> None:
        self._graph = graph
        self._best = np.zeros(0, np.int64)
        self._lower = self._upper = 0
        self._position = 0
        self._tail: list[int] = []
        self._branches = np.zeros(0, np.int32)
        self._subproblem: _Subproblem | None = None
        if graph.vertex_count:
            self._start(seed)

    def _start(self, seed: int) -> None:
        """Bracket by coloring and tabu search, then prepare the root of the branch and bound."""
        graph = self._graph
        self._upper = dsatur(graph).weight
        self._seek(np.arange(graph.vertex_count), _TABU_WORK >> 2, seed)
        alive = np.flatnonzero(start_kernels.core(graph.adjacency, graph.weights, self._lower))
        if self._lower < self._upper and len(alive):
            # What a first clique leaves of the graph is often small: there the same work goes further.
            self._seek(alive, _TABU_WORK, seed + 1)
            alive = np.flatnonzero(start_kernels.core(graph.adjacency, graph.weights, self._lower))
        if self._lower >= self._upper:
            return
        self._chosen, self._adjacency = self._arranged(graph.adjacency, graph.weights, alive)
        self._weights = graph.weights[self._chosen]
        size = len(self._chosen)
        if size <= _COVERED_UP_TO:
            # A clique heavier than the incumbent lies within the core, so a bound on the core bounds them all.
            inner = QueryGraph(self._adjacency, self._weights)
            bound = weighted_coloring(inner, rounds=1).weight
            if self._weights.min(initial=1) < self._weights.max(initial=1):
                # With equal weights peeling yields a coloring too.
                bound = min(bound, fractional_cover(inner).bound)
            self._upper = max(self._lower, min(self._upper, bound))
        if self._lower >= self._upper:
            return
        self._scratch = _scratch(size)
        self._spare = (np.zeros(size, np.int32), np.zeros(size, np.int64))
        everything = pack_bits(np.ones(size, np.bool_))
        end, _ = kernels.expand(self._adjacency, self._weights, everything, self._lower, *self._spare, 0, self._scratch)
        self._branches = self._spare[0][:end].copy()
        self._tail = self._tail_bounds()
        outside = np.ones(size, np.bool_)
        outside[self._branches] = False
        self._settled = pack_bits(outside)

    def _seek(self, vertices: npt.NDArray[np.int64], work: int, seed: int) -> None:
        """Look for a better incumbent among ``vertices`` by tabu search, in about this much work."""
        inner = start_kernels.induced(self._graph.adjacency, vertices)
        steps = min(max(512, work // len(vertices)), 64 * (len(vertices) + 8))
        found = start_kernels.local_search(inner, self._graph.weights[vertices], steps, self._upper, seed)
        self._adopt(vertices[np.flatnonzero(found)])

    @staticmethod
    def _arranged(
        adjacency: npt.NDArray[np.uint64], weights: npt.NDArray[np.int64], vertices: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
        """``vertices`` in an order that suits peeling, and the adjacency of the subgraph in that order."""
        inner = start_kernels.induced(adjacency, vertices)
        if len(vertices) > _SORTED_ORDER_FROM:
            order = np.argsort(-np.bitwise_count(inner).sum(axis=1, dtype=np.int64), kind="stable")
        else:
            order = start_kernels.degeneracy_order(inner, weights[vertices])
        return vertices[order], start_kernels.induced(inner, order)

    def _tail_bounds(self) -> list[int]:
        """For each branch a bound on any clique among it and those after it: a coloring by first fit from the end."""
        backwards = self._branches[::-1].astype(np.int64)
        order = np.arange(len(backwards))
        induced = QueryGraph(start_kernels.induced(self._adjacency, backwards), self._weights[backwards])
        classes = first_fit(induced, order).classes
        heaviest: dict[int, int] = {}
        bounds, bound = [], 0
        for number, weight in zip(classes.tolist(), self._weights[backwards].tolist(), strict=True):
            bound += max(0, weight - heaviest.get(number, 0))
            heaviest[number] = max(weight, heaviest.get(number, 0))
            bounds.append(bound)
        return bounds[::-1]

    def _adopt(self, vertices: npt.NDArray[np.int64]) -> None:
        weight = int(self._graph.weights[vertices].sum())
        if weight > self._lower:
            self._lower, self._best = weight, np.sort(vertices)

    def run(self, deadline: float | None = None) -> CliqueResult:
        """Search until done or until ``time.monotonic()`` passes ``deadline``; return the bracket reached."""
        while self._position < len(self._branches) and self._lower < self._upper:
            if self._subproblem is None:
                position, interrupted = kernels.open_branch(
                    self._adjacency,
                    self._weights,
                    self._settled,
                    self._branches,
                    self._position,
                    self._lower,
                    *self._spare,
                    self._scratch,
                    _SLICE_WORK,
                )
                self._position = int(position)
                if self._position < len(self._branches) and not interrupted:
                    self._enter_branch()
            elif self._subproblem.run_slice():
                self._leave_branch()
            if deadline is not None and time.monotonic() >= deadline:
                break
        return self.result()

    def _enter_branch(self) -> None:
        vertex = int(self._branches[self._position])
        near = self._settled & self._adjacency[vertex]
        vertices = np.flatnonzero(unpack_bits(near, len(self._weights)))
        vertices, adjacency = self._arranged(self._adjacency, self._weights, vertices)
        self._sub_vertices = self._chosen[vertices]
        target = self._lower - int(self._weights[vertex])
        self._subproblem = _Subproblem(adjacency, self._weights[vertices], target)

    def _collect(self) -> None:
        """Take over what the open branch has found."""
        assert self._subproblem is not None
        _, found = self._subproblem.best()
        if len(found):
            vertex = self._chosen[self._branches[self._position]]
            self._adopt(np.append(self._sub_vertices[found], vertex))

    def _leave_branch(self) -> None:
        self._collect()
        vertex = int(self._branches[self._position])
        self._settled[vertex >> 6] |= np.uint64(1) << np.uint64(vertex & 63)
        self._position += 1
        self._subproblem = None

    def result(self) -> CliqueResult:
        """The bracket so far.

        Among the settled vertices no clique is heavier than ``lower``.  Any other clique adds to such a one a clique
        among the branches still to come, which ``tail`` bounds; and no clique is heavier than ``upper`` of the start.
        """
        if self._subproblem is not None:
            self._collect()
        upper = self._lower
        if self._position < len(self._branches):
            upper = max(upper, min(self._upper, self._lower + self._tail[self._position]))
        return CliqueResult(self._lower, upper, self._lower == upper, self._best.copy())


def clique_number(graph: QueryGraph, time_limit: float | None = None, *, seed: int = 0) -> CliqueResult:
    """The heaviest clique, or the bracket reached after ``time_limit`` seconds."""
    deadline = None if time_limit is None else time.monotonic() + time_limit
    return CliqueSearch(graph, seed=seed).run(deadline)
