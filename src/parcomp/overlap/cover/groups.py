"""An upper bound from groups of queries that are pairwise disjoint, without a query graph.

Each row satisfies at most one query of a pairwise disjoint group, so the sum, over groups that together hold every
query, of the heaviest weight in the group is an upper bound of the maximum overlap (the paper's bound by a coloring of
the query graph, where a group is a color class).  Here the groups are found in near-linear time among queries that
constrain the same attributes: all k-way marginals of a domain, however many, are one group for each set of k
attributes, and the bound is exact.

Let J be some of the attributes that the queries of one such bucket constrain.  Color the masks of each attribute so
that masks of one color are disjoint.  Put two queries into one group if they have the same color at every attribute of
J and the same rank among the queries of the bucket that have the same masks on J.  Two queries of a group then have
different masks at some attribute of J, since of those with equal masks ranks differ; these masks have one color, so
they are disjoint, and so are the queries.  Any J is sound.  For each bucket, J grows by one attribute after the other
as long as the bound does not rise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.cover._group_kernels import disjoint_classes
from parcomp.overlap.masks.lists import merge_lists
from parcomp.overlap.masks.rebuild import MaskBlocks
from parcomp.slices import Slices, sliced

__all__ = ["Groups", "group_bound"]

Indices = npt.NDArray[np.int64]

CLASS_LIMIT = 64
"""How many colors of an attribute are tried for a mask before it gets one of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups(Sequence[Indices]):
    """Pairwise disjoint groups that together hold each query once.

    Group ``g`` is ``member[start[g]:start[g + 1]]``, its heaviest query first, and ``multiplier[g]`` is that query's
    weight.
    """

    start: Indices
    member: Indices
    multiplier: Indices

    def __len__(self) -> int:
        return len(self.multiplier)

    @overload
    def __getitem__(self, index: int) -> Indices: ...

    @overload
    def __getitem__(self, index: slice) -> list[Indices]: ...

    def __getitem__(self, index: int | slice) -> Indices | list[Indices]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"group {index} of {len(self)}")
        index %= len(self)
        return self.member[self.start[index] : self.start[index + 1]]


@sliced
def group_bound(compiled: CompiledWorkload) -> Slices[tuple[int, Groups]]:
    """An upper bound of the maximum overlap, and the groups that prove it: the sum of their multipliers."""
    heaviest_first = np.argsort(-compiled.weights, kind="stable")
    weights = compiled.weights[heaviest_first]
    length = np.diff(compiled.start)[heaviest_first]
    color_of_mask, priority = yield from _color_masks(compiled)
    start, term = _sorted_terms(compiled, heaviest_first, length, priority)
    bucket, _ = merge_lists(start, compiled.mask_attribute[term])
    yield 16 * len(term)

    cell = np.zeros(len(weights), np.int32)
    color = np.zeros(len(weights), np.int32)
    rank = _ranks(bucket)
    bound = _bounds(bucket, color, rank, weights, len(weights))
    bucket_size = np.bincount(bucket, minlength=1)
    for position in range(int(length.max(initial=0))):
        longer = np.flatnonzero((length > position) & (bucket_size[bucket] > 1))
        if not len(longer):
            break
        mask = term[start[longer] + position]
        cell_then = _number(bucket[longer], cell[longer], mask)
        color_then = _number(bucket[longer], color[longer], color_of_mask[mask])
        rank_then = _ranks(cell_then)
        bound_then = _bounds(bucket[longer], color_then, rank_then, weights[longer], len(weights))
        better = (bound_then <= bound)[bucket[longer]]
        chosen = longer[better]
        cell[chosen], color[chosen], rank[chosen] = cell_then[better], color_then[better], rank_then[better]
        bound[bucket[chosen]] = bound_then[bucket[chosen]]
        yield 64 * len(longer)
    return _collect(_number(bucket, color, rank), heaviest_first, weights)


def _color_masks(compiled: CompiledWorkload) -> Slices[tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]]:
    """A color of each mask within its attribute, and how little the coloring of each attribute tells apart."""
    blocks = MaskBlocks(compiled)
    color = np.zeros(len(compiled.mask_attribute), np.int32)
    priority = np.ones(compiled.attribute_count)
    for attribute in range(compiled.attribute_count):
        masks = blocks.masks(attribute)
        if len(masks):
            block = blocks.block(attribute, masks)
            color[masks], count = disjoint_classes(block, CLASS_LIMIT)
            priority[attribute] = count / len(masks)
            yield 2 * block.size + min(CLASS_LIMIT, len(masks)) * len(masks)
    return color, priority


def _sorted_terms(
    compiled: CompiledWorkload, queries: Indices, length: Indices, priority: npt.NDArray[np.float64]
) -> tuple[Indices, npt.NDArray[np.int32]]:
    """The masks of the queries in the given order, those of attributes with few colors for their masks first."""
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(length)))
    place = np.repeat(compiled.start[queries] - start[:-1], length) + np.arange(start[-1])
    term = compiled.term[place]
    position = np.argsort(np.argsort(priority, kind="stable"), kind="stable")
    order = np.lexsort((position[compiled.mask_attribute[term]], np.repeat(np.arange(len(queries)), length)))
    return start, term[order]


def _number(
    first: npt.NDArray[np.int32], second: npt.NDArray[np.int32], third: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Number the distinct triples."""
    triples = np.stack((first, second, third), axis=1).astype(np.int32, copy=False).ravel()
    label: npt.NDArray[np.int32] = merge_lists(np.arange(len(first) + 1) * 3, triples)[0]
    return label


def _ranks(label: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """How many earlier entries have the same label."""
    order = np.argsort(label, kind="stable")
    position = np.arange(len(label))
    opens = np.ones(len(label), np.bool_)
    opens[1:] = label[order[1:]] != label[order[:-1]]
    rank = np.empty(len(label), np.int32)
    rank[order] = position - np.maximum.accumulate(np.where(opens, position, 0))
    return rank


def _bounds(
    bucket: npt.NDArray[np.int32],
    color: npt.NDArray[np.int32],
    rank: npt.NDArray[np.int32],
    weights: Indices,
    bucket_limit: int,
) -> Indices:
    """For each bucket the sum of its groups' heaviest weights, the queries being sorted by descending weight."""
    triples = np.stack((bucket, color, rank), axis=1).ravel()
    first = merge_lists(np.arange(len(bucket) + 1) * 3, triples)[1]
    bound = np.zeros(bucket_limit, np.int64)
    np.add.at(bound, bucket[first], weights[first])
    return bound


def _collect(label: npt.NDArray[np.int32], queries: Indices, weights: Indices) -> tuple[int, Groups]:
    """The groups by label; the first query of each is its heaviest."""
    order = np.argsort(label, kind="stable")
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    start = np.concatenate((np.zeros(1, np.int64), cuts, np.full(1, len(label))))
    if not len(label):
        start = np.zeros(1, np.int64)
    multiplier = weights[order[start[:-1]]]
    return int(multiplier.sum()), Groups(start, queries[order], multiplier)
