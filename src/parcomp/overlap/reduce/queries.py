"""Rules on queries and attributes: absorb, merge, drop and settle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.masks._kernels import select_lists
from parcomp.overlap.masks.lists import merge_lists
from parcomp.overlap.masks.rebuild import (
    MaskBlocks,
    drop_unused_masks,
    keep_attributes,
    keep_queries,
    used_masks,
)
from parcomp.overlap.reduce import _kernels as kernels
from parcomp.overlap.reduce.reduction import Reduction, ValueMap, unchanged
from parcomp.slices import Slices, sliced

__all__ = ["absorb_queries", "drop_attributes", "merge_queries", "settle_attributes"]


def absorb_queries(compiled: CompiledWorkload) -> Reduction:
    """Take out the queries that constrain nothing; their weight is the base.

    Exact: every row satisfies them, so they add their weight to every row's.
    """
    length = np.diff(compiled.start)
    free = length == 0
    if not free.any():
        return unchanged(compiled)
    base = int(compiled.weights[free].sum())
    return _without_queries(compiled, free, base, ValueMap.identity(compiled.attribute_count))


@sliced
def merge_queries(compiled: CompiledWorkload) -> Slices[Reduction]:
    """Replace equal queries by one that weighs as much as all of them.

    Exact: masks of an attribute are distinct, so queries with the same masks, and only those, are satisfied by the same
    rows.  Each row satisfies all of them or none.
    """
    label, first = yield from merge_lists.slices(compiled.start, compiled.term)
    if len(first) == compiled.query_count:
        return unchanged(compiled)
    weights = np.zeros(len(first), np.int64)
    np.add.at(weights, label, compiled.weights)
    start, term = select_lists(compiled.start, compiled.term, first.astype(np.int64))
    reduced = drop_unused_masks(compiled, weights, start, term)
    return Reduction(reduced, 0, ValueMap.identity(compiled.attribute_count), label, True)


def drop_attributes(compiled: CompiledWorkload) -> Reduction:
    """Leave out the attributes that no query constrains, among them those with one value.

    Exact: which queries a row satisfies does not depend on its value there; the lifted row has the first one.  An
    attribute with a single value has no mask, since a mask is neither empty nor full.
    """
    constrained = np.zeros(compiled.attribute_count, np.bool_)
    constrained[compiled.mask_attribute[used_masks(compiled)]] = True
    if constrained.all():
        return unchanged(compiled)
    kept = np.flatnonzero(constrained)
    reduced = drop_unused_masks(compiled, compiled.weights, compiled.start, compiled.term)
    return Reduction(keep_attributes(reduced, kept), 0, _without_attributes(compiled, kept, {}), None, True)


def settle_attributes(compiled: CompiledWorkload) -> Reduction:
    """Choose the heaviest value of an attribute whose queries constrain nothing else; its weight goes to the base.

    Exact: let a be such an attribute and A its queries.  Whether a row satisfies a query of A depends on its value at a
    alone, and whether it satisfies any other query does not depend on that value.  So the heaviest row has, at a, a
    value v that maximizes the weight of the queries of A that accept v, whatever it has elsewhere; the maximum overlaps
    of A and of the rest add, and A's is that maximum.
    """
    length = np.diff(compiled.start)
    alone = np.ones(compiled.attribute_count, np.bool_)
    alone[compiled.mask_attribute[compiled.term[np.repeat(length > 1, length)]]] = False
    settled = length == 1
    attribute_of = compiled.mask_attribute[compiled.term[compiled.start[:-1][settled]]]
    settled[settled] = alone[attribute_of]
    if not settled.any():
        return unchanged(compiled)
    mask_weight = np.zeros(len(compiled.mask_attribute), np.int64)
    np.add.at(mask_weight, compiled.term[compiled.start[:-1][settled]], compiled.weights[settled])
    blocks = MaskBlocks(compiled)
    base = 0
    chosen: dict[int, int] = {}
    for attribute in np.unique(attribute_of[alone[attribute_of]]).tolist():
        masks = blocks.masks(attribute)
        score = kernels.sum_columns(blocks.block(attribute, masks), mask_weight[masks], int(compiled.sizes[attribute]))
        chosen[attribute] = int(score.argmax())
        base += int(score[chosen[attribute]])
    kept = np.array([a for a in range(compiled.attribute_count) if a not in chosen], np.int64)
    reduction = _without_queries(compiled, settled, base, _without_attributes(compiled, kept, chosen))
    smaller = keep_attributes(reduction.compiled, kept)
    return Reduction(smaller, base, reduction.values, reduction.query_of, True)


def _without_queries(compiled: CompiledWorkload, gone: npt.NDArray[np.bool_], base: int, values: ValueMap) -> Reduction:
    """The reduction that takes the queries ``gone`` out, for a weight of ``base``."""
    reduced = keep_queries(compiled, np.flatnonzero(~gone))
    query_of = np.where(gone, -1, np.cumsum(~gone) - 1).astype(np.int32)
    return Reduction(reduced, base, values, query_of, True)


def _without_attributes(compiled: CompiledWorkload, kept: npt.NDArray[np.int64], chosen: dict[int, int]) -> ValueMap:
    """The map that leaves out all attributes but ``kept``, with the value ``chosen[a]`` or the first one."""
    count = compiled.attribute_count
    source = np.full(count, -1, np.int32)
    source[kept] = np.arange(len(kept))
    lifted = tuple(
        None if source[attribute] >= 0 else np.array([chosen.get(attribute, 0)], np.int32) for attribute in range(count)
    )
    return ValueMap(source, lifted, (None,) * count, len(kept))
