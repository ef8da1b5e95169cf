"""Maximum overlap without compiling: for domains so large that predicates are only looked at one by one.

Where log10 of the domain's size is in the thousands, nearly all queries are disjoint, so the query graph is sparse
and its cliques are small.  Clique number and colorings bound the overlap from above (paper §5, Eq. "approx").  A
search over cliques in the manner of Algorithm 1, with colorings as bounds, finds the heaviest overlap; if it ends,
that is exact.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import unpack_bits
from parcomp.errors import SizeError
from parcomp.graph.clique import CliqueSearch
from parcomp.graph.coloring import weighted_coloring
from parcomp.graph.query_graph import QueryGraph
from parcomp.graph.workload_graph import build_workload_graph
from parcomp.model.compile import whole_weights
from parcomp.model.workload import Workload
from parcomp.overlap.result import Method, WitnessedBracket
from parcomp.overlap.sparse.joint_rows import Joint, JointRows, satisfied

__all__ = ["solve_sparse"]

_LATE_START = 32
"""How many queries are tried for a row although the time is up."""


def solve_sparse(
    workload: Workload,
    deadline: float,
    method: Method = "auto",
    tell: Callable[[int, int], None] | None = None,
) -> WitnessedBracket:
    """Bracket the maximum overlap of a workload; ``tell`` hears of each better bracket, in units of cost."""
    if method not in {"auto", "exact", "clique", "chromatic"}:
        raise SizeError(f"the domain is too large for the method {method!r}; choose auto, exact, clique or chromatic")
    queries = np.flatnonzero(~workload.contradictory())
    units = workload.additive_units()
    weights, unit = whole_weights(units[queries])
    graph = build_workload_graph(workload, queries, weights, deadline)
    cliques = CliqueSearch(graph)
    # For the chromatic number, the clique that the search starts with is only wanted for a row.
    clique = cliques.result() if method == "chromatic" else cliques.run(deadline)
    upper = weighted_coloring(graph).weight if method == "chromatic" else clique.upper

    def heavier(weight: int) -> None:
        if tell is not None:
            tell(weight * unit, upper * unit)

    search = _OverlapSearch(workload, queries, graph, heavier)
    search.start(clique.vertices, deadline)
    exact = method not in {"clique", "chromatic"} and search.run(upper, deadline)
    codes = np.maximum(search.codes, 0)
    members = satisfied(workload, queries[search.near()], codes)
    lower = sum(units[members].tolist())
    # An exact search leaves no overlap heavier than its own, and the row's is one of those.
    proven = lower if exact else upper * unit
    bound = "a coloring" if method == "chromatic" else "the clique number"
    reason = "all cliques that could be heavier were searched" if exact else f"upper end: {bound} of the query graph"
    return WitnessedBracket(lower, proven, codes.tolist(), members.tolist(), (reason,))


class _OverlapSearch:
    """Depth first over cliques of a graph that has an edge for each overlapping pair, and perhaps others.

    ``best`` is the weight of the vertices ``chosen``, whose queries the row ``codes`` satisfies; -1 is any value.
    """

    def __init__(
        self, workload: Workload, queries: npt.NDArray[np.int64], graph: QueryGraph, tell: Callable[[int], None]
    ) -> None:
        self._workload, self._queries, self._graph, self._tell = workload, queries, graph, tell
        self.best = 0
        self.chosen = np.zeros(0, np.int64)
        self.codes = np.full(len(workload.domain.attributes), -1, np.int64)

    def near(self) -> npt.NDArray[np.bool_]:
        """The chosen vertices and those adjacent to all of them: no other query accepts a row that these accept."""
        near = np.ones(self._graph.vertex_count, np.bool_)
        for vertex in self.chosen.tolist():
            beside = np.zeros(len(near), np.bool_)
            beside[self._graph.neighbors(vertex)] = beside[vertex] = True
            near &= beside
        return near

    def start(self, clique: npt.NDArray[np.int64], deadline: float) -> None:
        """Join the queries of a clique one by one, those with few constraints first, as far as they overlap."""
        queries = self._queries[clique]
        vertices = clique[np.argsort(self._workload.start[queries + 1] - self._workload.start[queries], kind="stable")]
        if time.monotonic() >= deadline:
            vertices = vertices[:_LATE_START]
        rows = JointRows(self._workload, self._queries[vertices])
        joint = rows.nothing()
        for position in range(len(vertices)):
            joint = rows.join(joint, position) or joint
            if position >= _LATE_START and time.monotonic() >= deadline:
                break
        self._take(int(self._graph.weights[vertices[joint.chosen]].sum()), joint, vertices)

    def run(self, upper: int, deadline: float) -> bool:
        """Search until the time is up; whether ``best`` is proven to be the maximum."""
        weights = self._graph.weights
        degree = np.bitwise_count(self._graph.adjacency).sum(axis=1, dtype=np.int64)
        order = np.argsort(degree, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        # An overlap is found at its member that ranks first, among neighbors that rank later: few are left.  Where a
        # heavy one is known, others are looked for first, as each better one spares work elsewhere.
        roots = [*self.chosen[np.argsort(rank[self.chosen])[:1]].tolist(), *order.tolist()]
        for root in roots:
            if self.best >= upper:
                return True
            if time.monotonic() >= deadline:
                return False
            near = self._graph.neighbors(root)
            later = near[rank[near] > rank[root]]
            if int(weights[root]) + int(weights[later].sum()) <= self.best:
                continue
            if not self._search(root, later[np.argsort(-rank[later])], deadline):
                return self.best >= upper
        return True

    def _search(self, root: int, later: npt.NDArray[np.int64], deadline: float) -> bool:
        """Look for a better overlap of the root and some of the later vertices; whether all were looked through."""
        weights = self._graph.weights[later].tolist()
        adjacent = self._adjacent(later)
        own, everyone = int(self._graph.weights[root]), (1 << len(later)) - 1
        if own + _bound(_colored(everyone, adjacent, weights)) <= self.best:
            return True
        vertices = np.append(later, root)
        rows = JointRows(self._workload, self._queries[vertices])
        stack: list[_Node] = []

        def enter(before: Joint, weight: int, vertex: int, candidates: int) -> None:
            joint = rows.join(before, vertex)
            assert joint is not None, "a candidate overlaps the set that it is a candidate for"
            self._take(weight, joint, vertices)
            left = _as_bits(rows.joining(joint, vertex, _as_flags(candidates, len(vertices))))
            stack.append(_Node(joint, weight, left, _colored(left, adjacent, weights)))

        enter(rows.nothing(), own, len(later), everyone)
        while stack:
            node = stack[-1]
            if node.weight + _bound(node.order) <= self.best:
                stack.pop()
                continue
            if time.monotonic() >= deadline:
                return False
            vertex, _ = node.order.pop()
            node.left &= ~(1 << vertex)
            enter(node.joint, node.weight + weights[vertex], vertex, node.left & adjacent[vertex])
        return True

    def _take(self, weight: int, joint: Joint, vertices: npt.NDArray[np.int64]) -> None:
        if weight > self.best:
            self.best, self.chosen, self.codes = weight, vertices[joint.chosen], joint.codes
            self._tell(weight)

    def _adjacent(self, vertices: npt.NDArray[np.int64]) -> list[int]:
        """For each vertex those of the others that are adjacent to it, as the bits of an integer."""
        count = self._graph.vertex_count
        rows = (self._graph.adjacency[vertex] for vertex in vertices.tolist())
        return [_as_bits(unpack_bits(row, count)[vertices]) for row in rows]


@dataclass(slots=True, eq=False)
class _Node:
    """A set of queries, the candidates ``left`` to join it, and these in ``order`` of what a coloring tells of them."""

    joint: Joint
    weight: int
    left: int
    order: list[tuple[int, int]]


def _colored(candidates: int, adjacent: list[int], weights: list[int]) -> list[tuple[int, int]]:
    """The candidates, each with a bound on the weight of any clique among it and those before it.

    Classes of pairwise disjoint vertices are formed one after the other; a clique has at most one vertex of each.
    """
    order, before = [], 0
    while candidates:
        free, heaviest = candidates, 0
        while free:
            lowest = free & -free
            vertex = lowest.bit_length() - 1
            candidates ^= lowest
            free &= ~(adjacent[vertex] | lowest)
            heaviest = max(heaviest, weights[vertex])
            order.append((vertex, before + heaviest))
        before += heaviest
    return order


def _bound(order: list[tuple[int, int]]) -> int:
    return order[-1][1] if order else 0


def _as_flags(bits: int, size: int) -> npt.NDArray[np.bool_]:
    raw = np.frombuffer(bits.to_bytes((size + 7) // 8, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little", count=size).view(np.bool_)


def _as_bits(flags: npt.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
