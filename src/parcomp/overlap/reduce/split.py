"""Split a workload into parts whose maximum overlaps add, or of which the largest counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.masks._kernels import transpose_bits
from parcomp.overlap.masks.rebuild import MaskBlocks, keep_attributes, keep_queries
from parcomp.overlap.reduce import _kernels as kernels
from parcomp.slices import SLICE, Slices, sliced

__all__ = ["Part", "split_by_attributes", "split_by_overlap"]

WORK_LIMIT = 100_000_000
"""Word operations that may be spent on the components of the query graph; about a tenth of a second."""

PART_LIMIT = 64
"""How many parts a split by overlap may have; the lightest components share the last part."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some queries of a workload as a workload of their own.

    ``attributes`` are the attributes of the whole that are the part's, in the part's order, and ``queries`` the queries
    of the whole. ``whole`` is false for the part in which a split by overlap collects what it did not split further.
    """

    compiled: CompiledWorkload
    attributes: npt.NDArray[np.int64]
    queries: npt.NDArray[np.int64]
    whole: bool = True


@sliced
def split_by_attributes(compiled: CompiledWorkload) -> Slices[tuple[Part, ...]]:
    """Parts that share no attribute; their maximum overlaps add.

    Parts are the connected components of the graph that joins a query with the attributes it constrains.  Whether a row
    satisfies a query depends only on its values at that query's attributes, which are those of one part; the heaviest
    row is made of the heaviest rows of the parts, chosen independently.  Returns no part where there would be one only.
    Queries that constrain nothing belong to no component, so there must be none for a split; attributes that no query
    constrains belong to no part.
    """
    if np.any(compiled.start[1:] == compiled.start[:-1]):
        return ()
    label, count = kernels.link_by_lists(
        compiled.start, compiled.term, compiled.mask_attribute, compiled.attribute_count
    )
    yield 2 * len(compiled.term)
    if not compiled.query_count or count == 1:
        return ()
    label_of_query = label[compiled.mask_attribute[compiled.term[compiled.start[:-1]]]]
    components = np.unique(label_of_query)
    if len(components) == 1:
        return ()
    parts = []
    for queries in _classes(label_of_query):
        attributes = np.flatnonzero(label == label_of_query[queries[0]])
        smaller = keep_attributes(keep_queries(compiled, queries), attributes)
        parts.append(Part(smaller, attributes, queries))
        yield _copying(compiled, smaller)
    return tuple(parts)


@sliced
def split_by_overlap(
    compiled: CompiledWorkload, work_limit: int = WORK_LIMIT, part_limit: int = PART_LIMIT
) -> Slices[tuple[Part, ...]]:
    """Parts of which no query overlaps one of another part; the largest maximum overlap is the whole's.

    The queries that a row satisfies overlap pairwise, so they are in one part: no row satisfies queries of two parts.
    Hence the whole's maximum overlap is the largest of the parts'.  A part need not be connected, so components may
    share a part. Parts that cannot matter are left out: one of total weight at most the heaviest query of another part,
    since that part's maximum overlap is at least that query's weight.

    Two tests, both sufficient.  (1) Where all queries constrain an attribute, a value links all masks that accept it;
    queries whose masks are not linked are disjoint there.  This is near-linear in the input.  (2) Components of the
    query graph by breadth-first search on pairs, given up at ``work_limit``.  Returns no part where no split was found.
    """
    label = yield from _linked_masks(compiled)
    if label is None:
        label = yield from _linked_queries(compiled, work_limit)
    if label is None:
        return ()
    totals = np.zeros(int(label.max()) + 1, np.int64)
    np.add.at(totals, label, compiled.weights)
    heaviest = int(compiled.weights.argmax())
    matters = totals > compiled.weights[heaviest]
    matters[label[heaviest]] = True
    # Components by descending weight; the part of a component is its rank, and the last part takes all that follow.
    rank = np.empty(len(totals), np.int64)
    rank[np.lexsort((-totals, ~matters))] = np.arange(len(totals))
    part_of = np.minimum(rank[label], part_limit - 1)
    part_of[~matters[label]] = -1
    attributes = np.arange(compiled.attribute_count)
    shared = int(matters.sum()) > part_limit
    parts = []
    for queries in _classes(part_of):
        if part_of[queries[0]] >= 0:
            last = bool(part_of[queries[0]] == part_limit - 1)
            parts.append(Part(keep_queries(compiled, queries), attributes, queries, not (shared and last)))
            yield _copying(compiled, parts[-1].compiled)
    return tuple(parts)


def _copying(compiled: CompiledWorkload, part: CompiledWorkload) -> int:
    """The work of taking a part out of a workload."""
    return 2 * (len(compiled.mask_attribute) + len(part.term) + len(part.mask_words))


def _linked_queries(compiled: CompiledWorkload, work_limit: int) -> Slices[npt.NDArray[np.int64] | None]:
    """A component label for each query from the query graph, or None where it is in one piece or takes too long."""
    count = compiled.query_count
    lists = kernels.BitLists(
        compiled.start, compiled.term, compiled.mask_attribute, compiled.mask_offset, compiled.mask_words
    )
    state = np.zeros(4, np.int64)
    state[kernels.LEFT] = count
    reach = kernels.Reach(np.full(count, -1), np.arange(count), np.empty(count, np.int64), state)
    spent = 0
    while state[kernels.LEFT] > 0:
        work = int(kernels.link_touching_lists(lists, reach, SLICE))
        spent += work
        if spent > work_limit:
            return None
        yield work
    return reach.label if state[kernels.LABELS] > 1 else None


def _linked_masks(compiled: CompiledWorkload) -> Slices[npt.NDArray[np.int64] | None]:
    """A component label for each query from the attribute that splits most, or None where none does."""
    if compiled.query_count < 2 or not len(compiled.term):
        return None
    constrained = np.bincount(compiled.mask_attribute[compiled.term], minlength=compiled.attribute_count)
    blocks = MaskBlocks(compiled)
    best: npt.NDArray[np.int64] | None = None
    best_count = 1
    for attribute in np.flatnonzero(constrained == compiled.query_count).tolist():
        masks = blocks.masks(attribute)
        by_value = transpose_bits(blocks.block(attribute, masks), int(compiled.sizes[attribute]))
        yield 8 * by_value.size
        label_of_mask, _ = kernels.link_columns(by_value, len(masks))
        on_attribute = compiled.term[compiled.mask_attribute[compiled.term] == attribute]
        found, label = np.unique(label_of_mask[on_attribute - masks[0]], return_inverse=True)
        if len(found) > best_count:
            best, best_count = label, len(found)
    return best


def _classes(label: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """The indices of each label, by ascending label."""
    order = np.argsort(label, kind="stable")
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    return np.split(order, cuts)
