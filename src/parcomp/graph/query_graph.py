"""The query graph: queries are vertices, and two of them are adjacent iff they overlap (paper §5).

Two conjunctions are disjoint as soon as one attribute tells them apart, so building starts from the complete graph and
strikes pairs out, smallest attributes first: those cost least and part most.  An attribute only matters to pairs that
both constrain it and are still adjacent; where none are left its masks are never even fetched, which is why they are
handed over lazily as :class:`AttributeMasks`.  Memory is t²/8 bytes, and a few times that while building.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits, unpack_bits, word_count
from parcomp.errors import ParcompError, SizeError
from parcomp.graph import _query_graph_kernels as kernels
from parcomp.model.compiled import CompiledWorkload
from parcomp.slices import SLICE, Slices, sliced

__all__ = [
    "MAX_VERTICES",
    "AttributeMasks",
    "QueryGraph",
    "attribute_masks",
    "build_from_masks",
    "build_query_graph",
    "concern",
    "strike_by_mask",
    "strike_by_pair",
    "strike_by_value",
    "strike_disjoint",
]

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

MAX_VERTICES = 1 << 17
"""The largest graph that is built: its adjacency takes 2 GiB."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryGraph:
    """Packed adjacency ``uint64[t, words]`` (symmetric, empty diagonal) and positive weights ``int64[t]``."""

    adjacency: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        size = len(self.weights)
        if self.adjacency.shape != (size, word_count(size)):
            raise ValueError(f"adjacency of shape {self.adjacency.shape} does not fit {size} weights")
        if self.adjacency.dtype != np.uint64 or self.weights.dtype != np.int64:
            raise TypeError(
                f"adjacency is {self.adjacency.dtype}, not uint64, or weights {self.weights.dtype}, not int64"
            )
        if size and int(self.weights.min()) <= 0:
            raise ValueError("weights must be positive")

    @property
    def vertex_count(self) -> int:
        """The number of vertices, t."""
        return len(self.weights)

    @property
    def edge_count(self) -> int:
        """The number of adjacent pairs."""
        return int(np.bitwise_count(self.adjacency).sum(dtype=np.int64)) // 2

    @property
    def density(self) -> float:
        """Edges as a share of all pairs; 0 for fewer than two vertices."""
        pairs = self.vertex_count * (self.vertex_count - 1) // 2
        return self.edge_count / pairs if pairs else 0.0

    @property
    def total(self) -> int:
        """The sum of all weights."""
        return int(self.weights.sum())

    def neighbors(self, vertex: int) -> npt.NDArray[np.int64]:
        """The vertices adjacent to ``vertex``, ascending."""
        return np.flatnonzero(unpack_bits(self.adjacency[vertex], self.vertex_count))

    def subgraph(self, vertices: npt.ArrayLike) -> QueryGraph:
        """The graph induced by ``vertices``, renumbered in the order given."""
        chosen = np.asarray(vertices, np.int64)
        if len(np.unique(chosen)) != len(chosen):
            raise ValueError("a subgraph needs distinct vertices")
        rows = np.empty((len(chosen), word_count(len(chosen))), np.uint64)
        for i, vertex in enumerate(chosen):
            rows[i] = pack_bits(unpack_bits(self.adjacency[vertex], self.vertex_count)[chosen])
        return QueryGraph(rows, self.weights[chosen])

    def to_networkx(self) -> Any:
        """The same graph for networkx; each node has the attribute ``weight``."""
        try:
            import networkx  # noqa: PLC0415  (an optional dependency)
        except ImportError as error:
            raise ParcompError("exporting a query graph needs networkx; install it, e.g. parcomp[plot]") from error
        graph = networkx.Graph()
        graph.add_nodes_from((v, {"weight": int(w)}) for v, w in enumerate(self.weights))
        for v in range(self.vertex_count):
            graph.add_edges_from((v, int(u)) for u in self.neighbors(v) if u > v)
        return graph

    @classmethod
    def from_networkx(cls, graph: Any) -> QueryGraph:
        """Take nodes in their order as vertices; the node attribute ``weight`` defaults to 1."""
        number = {node: i for i, node in enumerate(graph)}
        weights = [int(data.get("weight", 1)) for _, data in graph.nodes(data=True)]
        return cls.from_edges(len(number), ((number[u], number[v]) for u, v in graph.edges), weights)

    @classmethod
    def from_edges(
        cls, vertex_count: int, edges: Iterable[tuple[int, int]], weights: npt.ArrayLike | None = None
    ) -> QueryGraph:
        """The graph on ``0 … vertex_count-1`` with these edges; loops are ignored, as a query is no pair."""
        adjacent = np.zeros((vertex_count, vertex_count), np.bool_)
        for u, v in edges:
            adjacent[u, v] = adjacent[v, u] = u != v
        chosen = np.ones(vertex_count, np.int64) if weights is None else np.array(weights, np.int64)
        return cls(pack_bits(adjacent), chosen)


@dataclass(frozen=True, slots=True, eq=False)
class AttributeMasks:
    """What building needs to know of one attribute, with its masks to be fetched on demand.

    ``queries`` (ascending, distinct) constrain the attribute; ``masks[i]`` in ``0 … mask_count-1`` names the mask of
    ``queries[i]``.  ``fetch(ids)`` returns these masks as rows of ``(size + 63) // 64`` words, zero beyond ``size``
    bits.
    """

    size: int
    queries: npt.NDArray[np.int64]
    masks: npt.NDArray[np.int64]
    mask_count: int
    fetch: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.uint64]]


def attribute_masks(compiled: CompiledWorkload) -> Iterator[AttributeMasks]:
    """The constrained attributes of a workload, in ascending size."""
    owner = np.repeat(np.arange(compiled.query_count, dtype=np.int64), np.diff(compiled.start))
    attribute = compiled.mask_attribute[compiled.term]
    # Stable, so that the queries of an attribute stay ascending.
    by_attribute = np.argsort(attribute, kind="stable")
    numbers = np.arange(compiled.attribute_count + 1)
    term_bound = np.searchsorted(attribute[by_attribute], numbers)
    mask_bound = np.searchsorted(compiled.mask_attribute, numbers)
    for a in np.argsort(compiled.sizes, kind="stable"):
        chosen = by_attribute[term_bound[a] : term_bound[a + 1]]
        if not len(chosen):
            continue
        low, high = int(mask_bound[a]), int(mask_bound[a + 1])
        begin, end = int(compiled.mask_offset[low]), int(compiled.mask_offset[high])
        block = compiled.mask_words[begin:end].reshape(high - low, word_count(int(compiled.sizes[a])))
        yield AttributeMasks(
            int(compiled.sizes[a]),
            owner[chosen],
            compiled.term[chosen].astype(np.int64) - low,
            high - low,
            block.__getitem__,
        )


@sliced
def strike_disjoint(adjacency: npt.NDArray[np.uint64], attribute: AttributeMasks) -> Slices[None]:
    """Strike out the pairs that ``attribute`` tells apart, by whichever of three ways costs least.

    Until the last slice, some of those pairs are still there.
    """
    size, words = adjacency.shape
    is_member = np.zeros(size, np.bool_)
    is_member[attribute.queries] = True
    touched = np.empty(len(attribute.queries), np.bool_)
    looks = kernels.open_pairs(adjacency, attribute.queries, pack_bits(is_member), touched)
    yield len(attribute.queries) * words
    if not looks:
        return
    members = np.ascontiguousarray(attribute.queries[touched])
    ids, mask_of = np.unique(attribute.masks[touched], return_inverse=True)
    is_member[attribute.queries[~touched]] = False
    member_bits = pack_bits(is_member)
    pairs = kernels.open_pairs(adjacency, members, member_bits, np.empty(len(members), np.bool_))
    masks = np.ascontiguousarray(attribute.fetch(ids))
    concerned, ones = concern(members, member_bits, mask_of, masks)
    yield len(members) * words + 2 * masks.size

    # Costs in word operations.  A test of two masks is reckoned as a few words, whatever their length: it stops at
    # the first one they share.
    test = min(masks.shape[1], 4) + 4
    by_pair = pairs * test
    by_mask = len(ids) * (len(ids) - 1) // 2 * (test + words // 2) + len(members) * words
    by_value = (ones + len(members)) * words if attribute.size <= size else by_pair + 1
    if by_value <= min(by_pair, by_mask):
        yield from strike_by_value(adjacency, concerned, attribute.size)
    elif by_mask <= by_pair:
        yield from strike_by_mask(adjacency, concerned)
    else:
        yield from strike_by_pair(adjacency, concerned)


def concern(vertices: Numbers, bits: Words, mask_of: Numbers, masks: Words) -> tuple[kernels.Concerned, int]:
    """The vertices that an attribute concerns, packed too, with their masks; and the number of ones in all masks."""
    first, last = np.empty(len(masks), np.int64), np.empty(len(masks), np.int64)
    ones = kernels.mask_spans(masks, first, last)
    return kernels.Concerned(vertices, bits, mask_of, masks, first, last), int(ones)


def strike_by_pair(adjacency: Words, concerned: kernels.Concerned) -> Slices[None]:
    """Test each adjacent pair."""
    place = np.zeros(len(adjacency), np.int64)
    place[concerned.vertices] = np.arange(len(concerned.vertices))
    done = 0
    while done < len(concerned.vertices):
        done, work = kernels.strike_by_pair(adjacency, concerned, place, done, SLICE)
        yield int(work)


def strike_by_mask(adjacency: Words, concerned: kernels.Concerned) -> Slices[None]:
    """Test each pair of masks once and strike out whole groups of vertices that share a mask."""
    group = kernels.group_by_mask(concerned)
    apart = np.zeros_like(group)
    done = 0
    while done < len(group):
        done, work = kernels.part_masks(concerned, group, apart, done, SLICE)
        yield int(work)
    kernels.strike_apart(adjacency, concerned, apart)
    yield len(concerned.vertices) * adjacency.shape[1]


def strike_by_value(adjacency: Words, concerned: kernels.Concerned, values: int) -> Slices[None]:
    """Collect, per mask, the vertices that accept one of its values; the others concerned are disjoint from it."""
    accepting = np.zeros((values, adjacency.shape[1]), np.uint64)
    kernels.gather_accepting(accepting, concerned)
    yield accepting.size + len(concerned.vertices) * values
    met = np.zeros((len(concerned.masks), adjacency.shape[1]), np.uint64)
    done = 0
    while done < len(met):
        done, work = kernels.gather_met(accepting, concerned.masks, met, done, SLICE)
        yield int(work)
    kernels.strike_unmet(adjacency, concerned, met)
    yield len(concerned.vertices) * adjacency.shape[1]


@sliced
def build_query_graph(compiled: CompiledWorkload) -> Slices[QueryGraph]:
    """The query graph of a workload."""
    return build_from_masks.slices(compiled.weights, attribute_masks(compiled))


@sliced
def build_from_masks(weights: npt.NDArray[np.int64], attributes: Iterable[AttributeMasks]) -> Slices[QueryGraph]:
    """The query graph of queries with these weights and masks; give the attributes in ascending size."""
    size = len(weights)
    if size > MAX_VERTICES:
        raise SizeError(f"a query graph of {size} queries exceeds {MAX_VERTICES}; reduce or split the workload first")
    adjacency = kernels.complete(size, word_count(size))
    yield adjacency.size
    for attribute in attributes:
        yield from strike_disjoint.slices(adjacency, attribute)
    return QueryGraph(adjacency, np.array(weights, np.int64))
