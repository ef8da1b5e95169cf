"""Rules on values: merge the equal ones, drop the dominated ones.

Only the masks in use on the value's own attribute matter, not the weights and not the other attributes.  Kept values
stay in their order, so an interval of values stays an interval.

Both rules are valid for maximum *overlap*, where a whole row is chosen.  The related rules of clique solvers on
queries (twins, dominated vertices) are not: a clique need not be satisfied by any row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.reduce import _kernels as kernels
from parcomp.overlap.reduce.rebuild import MaskBlocks, keep_values, used_masks
from parcomp.overlap.reduce.reduction import Reduction, kept_values, unchanged

__all__ = ["drop_dominated_values", "merge_values"]

WORK_LIMIT = 300_000_000
"""Operations that one pass over all attributes may spend on dominated values; less than a second."""

Table = npt.NDArray[np.int32]
Standing = Callable[[npt.NDArray[np.uint64], int], npt.NDArray[np.int64]]


def merge_values(compiled: CompiledWorkload) -> Reduction:
    """Keep one of the values of an attribute that are accepted by exactly the same masks in use.

    Exact: replacing a value of a row by one that the same masks accept changes which queries the row satisfies in
    no way, so the rows over the kept values attain every weight that any row attains.
    """

    def first_equal(block: npt.NDArray[np.uint64], size: int) -> npt.NDArray[np.int64]:
        by_value = kernels.transpose_bits(block, size)
        label, first = kernels.merge_lists(np.arange(size + 1) * by_value.shape[1], by_value.ravel())
        representative: npt.NDArray[np.int64] = first[label].astype(np.int64)
        return representative

    return _replace_values(compiled, first_equal)


def drop_dominated_values(compiled: CompiledWorkload, work_limit: int = WORK_LIMIT) -> Reduction:
    """Drop a value whose accepting masks are a subset of those of another value of the attribute, which is kept.

    Exact: in any row, replace a dropped value by its dominator.  Every mask that accepted the value accepts the
    dominator, so every query satisfied before is satisfied after, and the weight does not fall.  Do so on each
    attribute: some heaviest row has kept values only. A dominator is always itself kept, so the replacement never leads
    in circles; of equal values the first stays. Keeping a dominated value is harmless, so the search for dominators may
    stop: ``work_limit`` operations, shared evenly by the values.

    Of interval masks at most as many values stay as there are masks: the values that stay are each the first of some
    interval.
    """
    row_limit = max(64, work_limit // max(1, int(compiled.sizes.sum(dtype=np.int64))))

    def dominator(block: npt.NDArray[np.uint64], size: int) -> npt.NDArray[np.int64]:
        acceptance = kernels.row_popcounts(block)
        by_value = kernels.transpose_bits(block[np.argsort(acceptance, kind="stable")], size)
        accepted_by = kernels.row_popcounts(by_value)
        best = int(accepted_by.argmax())
        if accepted_by[best] == len(block):
            return np.full(size, best, np.int64)
        order = np.argsort(-accepted_by, kind="stable")
        container: npt.NDArray[np.int64] = kernels.maximal_rows(by_value, len(block), order, row_limit)
        return container

    return _replace_values(compiled, dominator)


def _replace_values(compiled: CompiledWorkload, standing: Standing) -> Reduction:
    """Replace each value by the one that stands for it, which must stand for itself.

    ``standing(block, size)`` gives the representative of each value of an attribute with ``size`` values, where
    ``block`` has the masks in use. A mask in use stays non-empty: it accepts some value, hence also the kept value that
    stands for that one.
    """
    blocks = MaskBlocks(compiled)
    used = used_masks(compiled)
    kept: list[Table | None] = []
    target: list[Table | None] = []
    for attribute in range(compiled.attribute_count):
        size = int(compiled.sizes[attribute])
        masks = blocks.masks(attribute)
        masks = masks[used[masks]]
        if size == 1:
            stands = np.zeros(1, np.int64)
        elif not len(masks):
            stands = np.zeros(size, np.int64)
        else:
            stands = standing(blocks.block(attribute, masks), size)
        stays = stands == np.arange(size)
        if stays.all():
            kept.append(None)
            target.append(None)
            continue
        kept.append(np.flatnonzero(stays).astype(np.int32))
        target.append((np.cumsum(stays) - 1)[stands].astype(np.int32))
    if all(values is None for values in kept):
        return unchanged(compiled)
    return kept_values(compiled, keep_values(compiled, kept), kept, target)
