"""The overlap hypergraph: every set of queries that some row satisfies is a hyperedge (paper, appendix "Hypergraphs").

Its rank is the maximum overlap γ, by definition; listing it takes time exponential in the number of queries, so it
serves as an independent oracle and for pictures of small sets.  A conjunctive set has coverage iff on each attribute
the masks of its queries share a value, which is tested on plain integers as bit sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from parcomp.errors import SizeError
from parcomp.model.compiled import CompiledWorkload

__all__ = ["MAX_HYPERGRAPH_QUERIES", "OverlapHypergraph", "overlap_hypergraph"]

MAX_HYPERGRAPH_QUERIES = 20
"""Beyond this many queries (2**20 sets) no hypergraph is listed."""


@dataclass(frozen=True, slots=True)
class OverlapHypergraph:
    """A down-closed hypergraph on ``0 … vertex_count-1``, kept as its maximal hyperedges, each ascending."""

    vertex_count: int
    maximal: tuple[tuple[int, ...], ...]

    @property
    def rank(self) -> int:
        """The size of the largest hyperedge: the maximum overlap γ of the queries."""
        return max((len(edge) for edge in self.maximal), default=0)

    def hyperedges(self) -> Iterator[tuple[int, ...]]:
        """Every hyperedge once, by ascending size: the non-empty subsets of the maximal ones."""
        for size in range(1, self.rank + 1):
            yield from sorted({part for edge in self.maximal for part in combinations(edge, size)})


def _masks_as_integers(compiled: CompiledWorkload) -> list[dict[int, int]]:
    """For each query its masks as integers, by attribute."""
    queries = []
    for q in range(compiled.query_count):
        masks = {}
        for p in compiled.term[compiled.start[q] : compiled.start[q + 1]]:
            words = compiled.mask_words[compiled.mask_offset[p] : compiled.mask_offset[p + 1]]
            masks[int(compiled.mask_attribute[p])] = sum(int(word) << 64 * i for i, word in enumerate(words))
        queries.append(masks)
    return queries


def _restrict(box: dict[int, int], masks: dict[int, int]) -> dict[int, int] | None:
    """The values still possible per attribute once ``masks`` hold too; None if some attribute has none left."""
    narrowed = dict(box)
    for attribute, mask in masks.items():
        narrowed[attribute] = narrowed.get(attribute, mask) & mask
        if not narrowed[attribute]:
            return None
    return narrowed


def overlap_hypergraph(compiled: CompiledWorkload) -> OverlapHypergraph:
    """List the maximal overlapping sets of at most :data:`MAX_HYPERGRAPH_QUERIES` queries."""
    count = compiled.query_count
    if count > MAX_HYPERGRAPH_QUERIES:
        raise SizeError(
            f"the overlap hypergraph of {count} queries may have 2**{count} hyperedges; "
            f"at most {MAX_HYPERGRAPH_QUERIES} queries are listed: use the query graph instead"
        )
    queries = _masks_as_integers(compiled)
    maximal = []
    pending: list[tuple[tuple[int, ...], dict[int, int]]] = [((), {})]
    while pending:
        chosen, box = pending.pop()
        extensible = False
        for q in range(count):
            if q in chosen:
                continue
            narrowed = _restrict(box, queries[q])
            if narrowed is None:
                continue
            extensible = True
            # Each set is reached once, by adding its queries in ascending order.
            if not chosen or q > chosen[-1]:
                pending.append(((*chosen, q), narrowed))
        if chosen and not extensible:
            maximal.append(chosen)
    return OverlapHypergraph(count, tuple(sorted(maximal)))
