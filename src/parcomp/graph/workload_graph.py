"""The query graph straight from a workload, for domains so large that its predicates cannot all become bit masks.

Small attributes come first, and as masks: they are cheap and tell nearly all pairs apart (Prop. "disjoint").  Once an
attribute's masks would take more work than there are pairs left, only those pairs are looked at: for each attribute
that both queries constrain, the table of predicates is asked whether the two share a value, until one says no.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits, word_count
from parcomp.errors import SizeError
from parcomp.graph import _workload_graph_kernels as kernels
from parcomp.graph._query_graph_kernels import complete
from parcomp.graph.query_graph import MAX_VERTICES, AttributeMasks, QueryGraph, strike_disjoint
from parcomp.model import Workload
from parcomp.slices import LEAST_SLICE, Course, Slices

__all__ = ["WorkloadGraph"]

_MASK_VALUES = 1 << 12
"""Attributes of more values are not turned into masks."""

_PAIRS = 1 << 18
"""Pairs that are looked at together, unless a single vertex has more."""

_QUESTIONS = 1 << 22
"""The most questions that a table is asked in one go: their arrays take some 100 MB."""

_QUESTION_WORK = 1 << 6
"""Word operations that a question is reckoned as."""


class WorkloadGraph(Course):
    """The query graph of some queries of a workload, none of them a contradiction, as far as it is built.

    At every pause the pairs not yet told apart are adjacent: each clique of the query graph is one of ``graph``, so
    that bounds from above hold.
    """

    def __init__(
        self,
        workload: Workload,
        queries: npt.NDArray[np.int64],
        weights: npt.NDArray[np.int64],
        *,
        mask_values: int = _MASK_VALUES,
    ) -> None:
        super().__init__()
        if len(queries) > MAX_VERTICES:
            raise SizeError(f"a query graph of {len(queries)} queries exceeds {MAX_VERTICES}; split the workload first")
        self.graph = QueryGraph(complete(len(queries), word_count(len(queries))), np.array(weights, np.int64))
        self._table = workload.table
        self._terms = _Terms.of(workload, queries)
        self._mask_values = mask_values

    def course(self) -> Slices[None]:
        """Strike out disjoint pairs by masks, as long as that is the cheaper way, then by questions."""
        adjacency, count = self.graph.adjacency, self.graph.vertex_count
        rank = yield from self._strike_by_masks()
        pairs = np.empty(count, np.int64)
        kernels.count_pairs(adjacency, pairs)
        total = np.concatenate(([0], np.cumsum(pairs)))
        begin = 0
        while begin < count:
            end = max(begin + 1, int(np.searchsorted(total, total[begin] + _PAIRS, side="right")) - 1)
            size = int(total[end] - total[begin])
            first, second = np.empty(size, np.int64), np.empty(size, np.int64)
            kernels.adjacent_pairs(adjacency, begin, end, first, second)
            yield size
            yield from self._strike_by_pairs(first, second, rank)
            begin = end

    def _strike_by_masks(self) -> Slices[int]:
        """Strike pairs out by masks; return the first rank that is left."""
        terms, adjacency = self._terms, self.graph.adjacency
        small = np.flatnonzero(terms.rank < np.searchsorted(terms.sizes, self._mask_values, side="right"))
        # Stable, so that the queries of an attribute stay ascending.
        by_rank = small[np.argsort(terms.rank[small], kind="stable")]
        ranks = int(terms.rank[small].max(initial=-1)) + 1
        bounds = np.searchsorted(terms.rank[by_rank], np.arange(ranks + 1))
        for rank in range(ranks):
            chosen = by_rank[bounds[rank] : bounds[rank + 1]]
            if len(chosen) < 2:
                continue
            size = int(terms.sizes[rank])
            numbers, masks = np.unique(terms.number[chosen], return_inverse=True)
            pairs = int(np.bitwise_count(adjacency).sum(dtype=np.int64)) // 2
            if len(numbers) * size > pairs:
                return rank

            def fetch(ids: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32] = numbers) -> npt.NDArray[np.uint64]:
                return pack_bits(self._table.flags(numbers[ids]))

            owners = terms.owner[chosen].astype(np.int64)
            yield from strike_disjoint.slices(adjacency, AttributeMasks(size, owners, masks, len(numbers), fetch))
        return ranks

    def _strike_by_pairs(self, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], rank: int) -> Slices[None]:
        """Ask of each pair whether its predicates overlap, from ``rank`` on, and strike it out once one does not."""
        terms = self._terms
        end, width = terms.bounds(rank), 1
        while rank < len(terms.sizes) and len(first):
            # Few attributes to begin with: most pairs that are disjoint are told apart by one of the first.
            rank = min(rank + width, len(terms.sizes))
            begin, end = end, terms.bounds(rank)
            length = end - begin
            room = int(np.minimum(length[first], length[second]).sum())
            pair, one, other = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
            found = int(kernels.common_ranks(first, second, begin, end, terms.rank, pair, one, other))
            apart = ~self._table.overlapping(terms.number[one[:found]], terms.number[other[:found]])
            disjoint = np.zeros(len(first), np.bool_)
            disjoint[pair[:found][apart]] = True
            kernels.strike(self.graph.adjacency, first[disjoint], second[disjoint])
            first, second = first[~disjoint], second[~disjoint]
            allowed = max(self.left, LEAST_SLICE) // _QUESTION_WORK
            width = 2 * width if found <= allowed else width // 2
            width = max(1, min(width, _QUESTIONS // max(len(first), 1)))
            yield _QUESTION_WORK * found + len(terms.start)


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """What the queries ask, with attributes ranked by ascending size.

    Query ``q`` has the terms ``start[q] … start[q + 1] - 1``, in ascending ``rank`` of their attributes; ``number`` are
    their predicates and ``owner`` their queries.  ``sizes`` are those of the m attributes, by rank.  ``key`` is
    m times the owner plus the rank, and so ascends.
    """

    start: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int32]
    rank: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]
    key: npt.NDArray[np.int64]

    @classmethod
    def of(cls, workload: Workload, queries: npt.NDArray[np.int64]) -> _Terms:
        chosen = workload if len(queries) == len(workload) else workload[queries]
        sizes = np.array([described.size for described in workload.domain.attributes.values()], np.int64)
        by_size = np.argsort(sizes, kind="stable")
        rank_of = np.empty(len(sizes), np.int32)
        rank_of[by_size] = np.arange(len(sizes), dtype=np.int32)
        owner = np.repeat(np.arange(len(queries), dtype=np.int32), np.diff(chosen.start))
        rank = rank_of[np.asarray(workload.table.attributes, np.int32)[chosen.term]]
        key = owner.astype(np.int64) * len(sizes) + rank
        order = np.argsort(key)
        return cls(chosen.start, owner, rank[order], chosen.term[order], sizes[by_size], key[order])

    def bounds(self, rank: int) -> npt.NDArray[np.int64]:
        """For each query the position of its first term of this rank or a higher one."""
        return np.searchsorted(self.key, np.arange(len(self.start) - 1) * len(self.sizes) + rank)
