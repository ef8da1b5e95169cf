"""Proofs that no clique is heavier than a target: cases by vertices, each closed by a cover.

Sets of pairwise non-adjacent vertices that cover the weights bound a clique, which has at most one vertex of each
(:class:`~parcomp.graph.coloring.Cover`).  Where they weigh too much together, those that hold fewest vertices for what
they weigh are done without.  The vertices v₁, v₂, … that these held are branched on, one after the other: a clique with
vᵢ and none of the earlier ones is vᵢ and a clique of its neighbors, and one with none of them is closed by the sets
that stay.  This is the step that clique searches repeat (Tomita and Seki, "An efficient branch-and-bound algorithm for
finding a maximum clique", 2003), written down.

Where most vertices have few neighbors, those are better *peeled* off first: the vertex whose neighbors weigh least is
branched on, again and again (the degeneracy order of Matula and Beck, 1983), and mostly its neighbors weigh too little,
or are covered at once.  What is left is covered in the end, or branched on as above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits, unpack_bits
from parcomp.graph.coloring import Cover, fractional_cover
from parcomp.graph.query_graph import QueryGraph

__all__ = ["Case", "VertexCase", "prove_cliques"]

Vertices = npt.NDArray[np.int64]

_ROUNDS = 2
"""Rounds of covering for each case."""

_DEEPEST = 400
"""The most vertices on the way to a case."""

_STEP = 1 << 15
"""What a case takes at least, in pairs of vertices."""

_SPARSE = 0.25
"""The most pairs that are adjacent where vertices are peeled off."""

_HEAVIEST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A case that is closed: sets with their weights, of which a clique has at most one vertex each."""

    sets: Sequence[tuple[int, Vertices]]


@dataclass(slots=True)
class VertexCase:
    """Cliques with a vertex, and those without it: the numbers of the two cases."""

    vertex: int
    inside: int = -1
    rest: int = -1


@dataclass(slots=True)
class _Prover:
    graph: QueryGraph
    adjacent: npt.NDArray[np.bool_]
    size_limit: int
    work_limit: int
    peel: bool
    go_on: Callable[[], None] = lambda: None
    cases: list[Case | VertexCase] = field(default_factory=list)

    def close(self, vertices: Vertices, target: int, depth: int) -> bool:
        """Append a proof that the cliques of some vertices weigh at most ``target``; False if it gets too long."""
        if target < 0 or depth > _DEEPEST:
            return False
        weights = self.graph.weights[vertices]
        if int(weights.sum()) <= target:
            return self._add(Case(()), 1)
        self.go_on()
        self.work_limit -= len(vertices) ** 2 + _STEP
        if self.work_limit < 0:
            return False
        adjacent = self.adjacent[np.ix_(vertices, vertices)]
        cover = fractional_cover(QueryGraph(pack_bits(adjacent), weights), rounds=_ROUNDS)
        if self.peel and not depth and cover.bound > target:
            return self._peel(vertices, adjacent, target, depth)
        return self._branch(vertices, adjacent, cover, target, depth)

    def _branch(
        self, vertices: Vertices, adjacent: npt.NDArray[np.bool_], cover: Cover, target: int, depth: int
    ) -> bool:
        """Branch on the vertices of the sets that are too much; the others are closed by the sets that stay."""
        sets = sorted(
            zip(cover.multipliers.tolist(), cover.sets, strict=True), key=lambda one: len(one[1]) / one[0], reverse=True
        )
        kept: list[tuple[int, Vertices]] = []
        branched = np.zeros(len(vertices), np.bool_)
        left = target
        for weight, members in sets:
            if weight <= left:
                left -= weight
                kept.append((weight, vertices[members]))
            else:
                branched[members] = True
        # Vertices with few neighbors come first, so that their cases are small and the others' have fewer vertices.
        order = np.flatnonzero(branched)[np.argsort(adjacent.sum(axis=1)[branched], kind="stable")]
        alive = np.ones(len(vertices), np.bool_)
        if not all(self._without(number, vertices, alive, target, depth) for number in order.tolist()):
            return False
        return self._add(Case(kept), sum(1 + len(members) for _, members in kept))

    def _peel(self, vertices: Vertices, adjacent: npt.NDArray[np.bool_], target: int, depth: int) -> bool:
        """Branch on the vertex whose neighbors weigh least, until a cover of what is left is light enough."""
        weights = self.graph.weights[vertices]
        alive = np.ones(len(vertices), np.bool_)
        near = adjacent @ weights
        left = len(vertices)
        while True:
            number = int(np.argmin(np.where(alive, near, _HEAVIEST)))
            if not self._without(number, vertices, alive, target, depth):
                return False
            near -= adjacent[number] * weights[number]
            if int(weights[alive].sum()) <= target:
                return self._add(Case(()), 1)
            if 8 * int(alive.sum()) <= 7 * left:
                left = int(alive.sum())
                rest = np.flatnonzero(alive)
                part = QueryGraph(pack_bits(adjacent[np.ix_(rest, rest)]), weights[rest])
                cover = fractional_cover(part, rounds=_ROUNDS)
                if cover.bound <= target:
                    return self._branch(vertices[rest], adjacent[np.ix_(rest, rest)], cover, target, depth)

    def _without(self, number: int, vertices: Vertices, alive: npt.NDArray[np.bool_], target: int, depth: int) -> bool:
        """Append a proof for the cliques with a vertex; what comes next is about those without it."""
        alive[number] = False
        vertex = int(vertices[number])
        case = VertexCase(vertex, len(self.cases) + 1)
        near = vertices[alive & self.adjacent[vertex, vertices]]
        if not self._add(case, 4) or not self.close(near, target - int(self.graph.weights[vertex]), depth + 1):
            return False
        case.rest = len(self.cases)
        return True

    def _add(self, case: Case | VertexCase, numbers: int) -> bool:
        self.cases.append(case)
        self.size_limit -= numbers
        return self.size_limit >= 0


def prove_cliques(
    graph: QueryGraph,
    target: int,
    *,
    size_limit: int = 10**6,
    work_limit: int = 1 << 36,
    go_on: Callable[[], None] = lambda: None,
) -> list[Case | VertexCase] | None:
    """Cases, of which the first is the whole graph, that prove that no clique is heavier than ``target``.

    None if that is not so, or takes too many numbers or too much work.  Peeling may take all of it, and comes after an
    attempt without, which is shorter where it ends soon.  ``go_on`` is called now and then, and ends it by an error.
    """
    adjacent = unpack_bits(graph.adjacency, graph.vertex_count)
    attempts = [(False, work_limit >> 3)]
    if adjacent.mean() <= _SPARSE:
        attempts.append((True, work_limit))
    for peel, work in attempts:
        prover = _Prover(graph, adjacent, size_limit, work, peel, go_on)
        if prover.close(np.arange(graph.vertex_count), target, 0):
            return prover.cases
    return None
