"""Proofs that no clique is heavier than a target: cases by vertices, each closed by a cover.

Sets of pairwise non-adjacent vertices that cover the weights bound a clique, which has at most one vertex of each
(:class:`~parcomp.graph.coloring.Cover`).  Where they weigh too much together, those that hold fewest vertices for what
they weigh are done without.  The vertices v₁, v₂, … that these held are branched on, one after the other: a clique with
vᵢ and none of the earlier ones is vᵢ and a clique of its neighbors, and one with none of them is closed by the sets
that stay.  This is the step that clique searches repeat (Tomita and Seki, "An efficient branch-and-bound algorithm for
finding a maximum clique", 2003), written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits, unpack_bits
from parcomp.graph.coloring import fractional_cover
from parcomp.graph.query_graph import QueryGraph

__all__ = ["Case", "VertexCase", "prove_cliques"]

Vertices = npt.NDArray[np.int64]

_ROUNDS = 2
"""Rounds of covering for each case."""

_DEEPEST = 400
"""The most vertices on the way to a case."""


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
    cases: list[Case | VertexCase] = field(default_factory=list)

    def close(self, vertices: Vertices, target: int, depth: int) -> bool:
        """Append a proof that the cliques of some vertices weigh at most ``target``; False if it gets too long."""
        if target < 0 or depth > _DEEPEST:
            return False
        weights = self.graph.weights[vertices]
        if int(weights.sum()) <= target:
            return self._add(Case(()), 1)
        self.work_limit -= len(vertices) ** 2
        if self.work_limit < 0:
            return False
        part = QueryGraph(pack_bits(self.adjacent[np.ix_(vertices, vertices)]), weights)
        cover = fractional_cover(part, rounds=_ROUNDS)
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
        open_ = ~branched
        # Vertices with few neighbors come first, so that their cases are small and the others' have fewer vertices.
        neighbors = self.adjacent[np.ix_(vertices, vertices)].sum(axis=1)
        for number in np.flatnonzero(branched)[np.argsort(neighbors[branched], kind="stable")].tolist():
            branched[number] = False
            vertex = int(vertices[number])
            case = VertexCase(vertex, len(self.cases) + 1)
            near = vertices[(open_ | branched) & self.adjacent[vertex, vertices]]
            if not self._add(case, 4) or not self.close(near, target - int(weights[number]), depth + 1):
                return False
            case.rest = len(self.cases)
        return self._add(Case(kept), sum(1 + len(members) for _, members in kept))

    def _add(self, case: Case | VertexCase, numbers: int) -> bool:
        self.cases.append(case)
        self.size_limit -= numbers
        return self.size_limit >= 0


def prove_cliques(
    graph: QueryGraph, target: int, *, size_limit: int = 10**6, work_limit: int = 1 << 36
) -> list[Case | VertexCase] | None:
    """Cases, of which the first is the whole graph, that prove that no clique is heavier than ``target``.

    None if that is not so, or takes too many numbers or too much work.
    """
    prover = _Prover(graph, unpack_bits(graph.adjacency, graph.vertex_count), size_limit, work_limit)
    return prover.cases if prover.close(np.arange(graph.vertex_count), target, 0) else None
