"""Maximum overlap without compiling: for domains so large that predicates are only looked at one by one.

Where log10 of the domain's size is in the thousands, nearly all queries are disjoint, so the query graph is sparse
and its cliques are small.  Clique number and colorings bound the overlap from above (paper §5, Eq. "approx").  A
search over cliques in the manner of Algorithm 1, with colorings as bounds, finds the heaviest overlap; if it ends,
that is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import unpack_bits
from parcomp.errors import SizeError
from parcomp.graph import CliqueSearch, QueryGraph, WorkloadGraph, weighted_coloring
from parcomp.model import Workload
from parcomp.overlap.bracket import Bracket, Method, bounded
from parcomp.overlap.sparse.joint_rows import Joint, JointRows, satisfied
from parcomp.slices import Course, Slices

__all__ = ["SparseSearch"]

_LATE_START = 32
"""How many queries are tried for a row although the time is up."""

_NODE_WORK, _ROOT_WORK = 1 << 18, 1 << 12
"""What a node of the search, and a root that is passed over, are reckoned as in word operations."""


class SparseSearch(Course):
    """The maximum overlap of some queries of a workload, none of them a contradiction, with the given weights."""

    def __init__(
        self,
        workload: Workload,
        queries: npt.NDArray[np.int64],
        weights: npt.NDArray[np.int64],
        method: Method = "auto",
    ) -> None:
        super().__init__()
        if method not in {"auto", "exact", "clique", "chromatic"}:
            raise SizeError(
                f"the domain is too large for the method {method!r}; choose auto, exact, clique or chromatic"
            )
        self._workload, self._queries, self._weights, self._method = workload, queries, weights, method
        self._building = WorkloadGraph(workload, queries, weights)
        self._cliques = CliqueSearch(self._building.graph)
        self._colored: int | None = None
        self._overlaps: _OverlapSearch | None = None

    @property
    def upper(self) -> int:
        """The least bound proven so far."""
        if self._overlaps is not None and self._overlaps.exhausted:
            return self._overlaps.best
        if not self._building.done:
            return int(self._weights.sum())
        return self._cliques.upper if self._colored is None else self._colored

    @property
    def lower(self) -> int:
        """The weight of the heaviest overlap found so far."""
        return 0 if self._overlaps is None else self._overlaps.best

    def course(self) -> Slices[None]:
        """Build the query graph, bound its cliques, then look through them for the heaviest overlap."""
        while work := self._building.advance(self.left):
            yield work
        if self._method == "chromatic":
            coloring = yield from weighted_coloring.slices(self._building.graph)
            self._colored = coloring.weight
            # The clique that the search starts with is only wanted for a row.
            return
        while work := self._cliques.advance(self.left):
            yield work
        if self._method != "clique":
            yield from self._begin().run(self.upper)

    def bracket(self) -> Bracket:
        """The bracket so far, its row as the codes of all attributes."""
        if self._overlaps is None:
            if not len(self._cliques.vertices):
                # A coloring and a first clique of the graph as far as it is built take little time.
                while not len(self._cliques.vertices) and self._cliques.advance(1):
                    pass
            self._begin(late=not self.ended)
        overlaps = self._overlaps
        assert overlaps is not None
        codes = np.maximum(overlaps.codes, 0)
        positions = np.flatnonzero(overlaps.near())
        chosen = np.isin(self._queries[positions], satisfied(self._workload, self._queries[positions], codes))
        lower = int(self._weights[positions[chosen]].sum())
        bound = (
            "queries were colored so that no two of a color meet, and a row satisfies one of each color"
            if self._colored is not None
            else "the heaviest set of queries of which any two meet weighs as much"
        )
        upper = self._cliques.upper if self._colored is None else self._colored
        reason = bounded(bound, exact=lower == upper)
        if overlaps.exhausted:
            # A search that has ended leaves no overlap heavier than its own, and the row's is one of those.
            upper, reason = lower, "every set of queries that could be heavier was looked at"
        return Bracket(lower, upper, codes, (reason,))

    def _begin(self, *, late: bool = False) -> _OverlapSearch:
        self._overlaps = _OverlapSearch(self._workload, self._queries, self._building.graph)
        self._overlaps.start(self._cliques.vertices, late=late)
        return self._overlaps


class _OverlapSearch:
    """Depth first over cliques of a graph that has an edge for each overlapping pair, and perhaps others.

    ``best`` is the weight of the vertices ``chosen``, whose queries the row ``codes`` satisfies; -1 is any value.  Once
    ``exhausted`` no overlap is heavier.
    """

    def __init__(self, workload: Workload, queries: npt.NDArray[np.int64], graph: QueryGraph) -> None:
        self._workload, self._queries, self._graph = workload, queries, graph
        self.best = 0
        self.chosen = np.zeros(0, np.int64)
        self.codes = np.full(len(workload.domain.attributes), -1, np.int64)
        self.exhausted = False

    def near(self) -> npt.NDArray[np.bool_]:
        """The chosen vertices and those adjacent to all of them: no other query accepts a row that these accept."""
        near = np.ones(self._graph.vertex_count, np.bool_)
        for vertex in self.chosen.tolist():
            beside = np.zeros(len(near), np.bool_)
            beside[self._graph.neighbors(vertex)] = beside[vertex] = True
            near &= beside
        return near

    def start(self, clique: npt.NDArray[np.int64], *, late: bool) -> None:
        """Join the queries of a clique one by one, those with few constraints first, as far as they overlap."""
        queries = self._queries[clique]
        vertices = clique[np.argsort(self._workload.start[queries + 1] - self._workload.start[queries], kind="stable")]
        if late:
            vertices = vertices[:_LATE_START]
        rows = JointRows(self._workload, self._queries[vertices])
        joint = rows.nothing()
        for position in range(len(vertices)):
            joint = rows.join(joint, position) or joint
        self._take(int(self._graph.weights[vertices[joint.chosen]].sum()), joint, vertices)

    def run(self, upper: int) -> Slices[None]:
        """Search until ``best`` is proven to be the maximum, which is at most ``upper``."""
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
                break
            near = self._graph.neighbors(root)
            later = near[rank[near] > rank[root]]
            yield _ROOT_WORK
            if int(weights[root]) + int(weights[later].sum()) > self.best:
                yield from self._search(root, later[np.argsort(-rank[later])])
        self.exhausted = True

    def _search(self, root: int, later: npt.NDArray[np.int64]) -> Slices[None]:
        """Look for a better overlap of the root and some of the later vertices."""
        weights = self._graph.weights[later].tolist()
        adjacent = self._adjacent(later)
        own, everyone = int(self._graph.weights[root]), (1 << len(later)) - 1
        if own + _bound(_colored(everyone, adjacent, weights)) <= self.best:
            return
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
            yield _NODE_WORK
            node = stack[-1]
            if node.weight + _bound(node.order) <= self.best:
                stack.pop()
                continue
            vertex, _ = node.order.pop()
            node.left &= ~(1 << vertex)
            enter(node.joint, node.weight + weights[vertex], vertex, node.left & adjacent[vertex])

    def _take(self, weight: int, joint: Joint, vertices: npt.NDArray[np.int64]) -> None:
        if weight > self.best:
            self.best, self.chosen, self.codes = weight, vertices[joint.chosen], joint.codes

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
