"""The query graph straight from a workload, for domains so large that its predicates cannot all become bit masks.

Small attributes come first, and as masks: they are cheap and tell nearly all pairs apart (Prop. "disjoint").  Once an
attribute's masks would take more work than there are pairs left, only those pairs are looked at: for each attribute
that both queries constrain, the table of predicates is asked whether the two share a value, until one says no.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits, word_count
from parcomp.errors import SizeError
from parcomp.graph import _workload_graph_kernels as kernels
from parcomp.graph._query_graph_kernels import complete
from parcomp.graph.query_graph import MAX_VERTICES, AttributeMasks, QueryGraph, strike_disjoint
from parcomp.model.predicate_table import PredicateTable
from parcomp.model.workload import Workload

__all__ = ["build_workload_graph"]

_MASK_VALUES = 1 << 12
"""Attributes of more values are not turned into masks."""

_PAIRS = 1 << 18
"""Pairs that are looked at together, unless a single vertex has more."""

_QUESTIONS = 1 << 22
"""The most questions that a table is asked in one go: their arrays take some 100 MB."""

_ROUND_SECONDS = 0.1
"""How long a round of questions may take before the next one is made smaller, so that a deadline is kept."""


def build_workload_graph(
    workload: Workload,
    queries: npt.NDArray[np.int64],
    weights: npt.NDArray[np.int64],
    deadline: float = inf,
    *,
    mask_values: int = _MASK_VALUES,
) -> QueryGraph:
    """The query graph of some queries of a workload, none of them a contradiction, with the given weights.

    When ``time.monotonic()`` passes the deadline, the pairs not yet told apart stay adjacent: every clique of the query
    graph is one of the graph returned, so that bounds from above remain such.
    """
    if len(queries) > MAX_VERTICES:
        raise SizeError(f"a query graph of {len(queries)} queries exceeds {MAX_VERTICES}; split the workload first")
    adjacency = complete(len(queries), word_count(len(queries)))
    terms = _Terms.of(workload, queries)
    done = _strike_by_masks(adjacency, terms, workload.table, mask_values, deadline)
    counts = np.empty(len(queries), np.int64)
    kernels.count_pairs(adjacency, counts)
    total = np.concatenate(([0], np.cumsum(counts)))
    begin = 0
    while begin < len(queries) and time.monotonic() < deadline:
        end = max(begin + 1, int(np.searchsorted(total, total[begin] + _PAIRS, side="right")) - 1)
        size = int(total[end] - total[begin])
        first, second = np.empty(size, np.int64), np.empty(size, np.int64)
        kernels.adjacent_pairs(adjacency, begin, end, first, second)
        _strike_by_pairs(adjacency, terms, workload.table, (first, second), done, deadline)
        begin = end
    return QueryGraph(adjacency, np.array(weights, np.int64))


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


def _strike_by_masks(
    adjacency: npt.NDArray[np.uint64], terms: _Terms, table: PredicateTable, limit: int, deadline: float
) -> int:
    """Strike pairs out by masks as long as that is the cheaper way; return the first rank that is left."""
    small = np.flatnonzero(terms.rank < np.searchsorted(terms.sizes, limit, side="right"))
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
        if len(numbers) * size > pairs or time.monotonic() >= deadline:
            return rank

        def fetch(ids: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32] = numbers) -> npt.NDArray[np.uint64]:
            return pack_bits(table.flags(numbers[ids]))

        owners = terms.owner[chosen].astype(np.int64)
        strike_disjoint(adjacency, AttributeMasks(size, owners, masks, len(numbers), fetch))
    return ranks


def _strike_by_pairs(
    adjacency: npt.NDArray[np.uint64],
    terms: _Terms,
    table: PredicateTable,
    pairs: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    rank: int,
    deadline: float,
) -> None:
    """Ask of each pair whether its predicates overlap, from ``rank`` on, and strike out those of which one does not."""
    first, second = pairs
    end, width = terms.bounds(rank), 1
    began = time.monotonic()
    while rank < len(terms.sizes) and len(first) and began < deadline:
        # Few attributes to begin with: most pairs that are disjoint are told apart by one of the first.
        rank = min(rank + width, len(terms.sizes))
        begin, end = end, terms.bounds(rank)
        length = end - begin
        room = int(np.minimum(length[first], length[second]).sum())
        pair, one, other = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
        found = kernels.common_ranks(first, second, begin, end, terms.rank, pair, one, other)
        apart = ~table.overlapping(terms.number[one[:found]], terms.number[other[:found]])
        disjoint = np.zeros(len(first), np.bool_)
        disjoint[pair[:found][apart]] = True
        kernels.strike(adjacency, first[disjoint], second[disjoint])
        first, second = first[~disjoint], second[~disjoint]
        ended = time.monotonic()
        width = 2 * width if ended - began < _ROUND_SECONDS else width // 2
        width = max(1, min(width, _QUESTIONS // max(len(first), 1)))
        began = ended
