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
from parcomp.overlap.masks._kernels import row_popcounts, transpose_bits
from parcomp.overlap.masks.lists import merge_lists
from parcomp.overlap.masks.rebuild import MaskBlocks, keep_values, used_masks
from parcomp.overlap.reduce import _kernels as kernels
from parcomp.overlap.reduce.reduction import Reduction, kept_values, unchanged
from parcomp.slices import SLICE, Slices, sliced

__all__ = [
    "WORK_LIMIT",
    "drop_dominated_values",
    "merge_values",
]

WORK_LIMIT = 300_000_000
"""Operations that one pass over all attributes may spend on equal or on dominated values; about a second."""

_READING = 4
"""Reading the masks of large attributes may take so many times that limit."""

_SMALL = 1 << 14
"""Attributes of up to so many values are looked at whatever the limit."""

Table = npt.NDArray[np.int32]
Standing = Callable[[npt.NDArray[np.uint64], int], Slices[npt.NDArray[np.int64] | None]]


@sliced
def merge_values(compiled: CompiledWorkload, work_limit: int = WORK_LIMIT) -> Slices[Reduction]:
    """Keep one of the values of an attribute that are accepted by exactly the same masks in use.

    Exact: replacing a value of a row by one that the same masks accept changes which queries the row satisfies in
    no way, so the rows over the kept values attain every weight that any row attains.  Keeping equal values is harmless
    too: large attributes are left as they are once ``work_limit`` is used up.
    """
    left = work_limit

    def first_equal(block: npt.NDArray[np.uint64], size: int) -> Slices[npt.NDArray[np.int64] | None]:
        nonlocal left
        if size > _SMALL:
            # The masks are turned to values, and each value is looked up.
            work = 8 * block.size + 12 * size
            if work > left:
                return None
            left -= work
        by_value = transpose_bits(block, size)
        yield 4 * (block.size + by_value.size)
        label, first = yield from merge_lists.slices(np.arange(size + 1) * by_value.shape[1], by_value.ravel())
        stands: npt.NDArray[np.int64] = first[label].astype(np.int64)
        return stands

    return _replace_values(compiled, first_equal)


@sliced
def drop_dominated_values(compiled: CompiledWorkload, work_limit: int = WORK_LIMIT) -> Slices[Reduction]:
    """Drop a value whose accepting masks are a subset of those of another value of the attribute, which is kept.

    Exact: in any row, replace a dropped value by its dominator.  Every mask that accepted the value accepts the
    dominator, so every query satisfied before is satisfied after, and the weight does not fall.  Do so on each
    attribute: some heaviest row has kept values only. A dominator is always itself kept, so the replacement never leads
    in circles; of equal values the first stays. Keeping a dominated value is harmless, so the search for dominators may
    stop: ``work_limit`` operations, shared evenly by the values, and large attributes that would take too long even to
    read are left as they are.

    Of interval masks at most as many values stay as there are masks: the values that stay are each the first of some
    interval.
    """
    row_limit = max(64, work_limit // max(1, int(compiled.sizes.sum(dtype=np.int64))))
    readable = _READING * work_limit

    def dominator(block: npt.NDArray[np.uint64], size: int) -> Slices[npt.NDArray[np.int64] | None]:
        nonlocal readable
        acceptance = row_popcounts(block)
        yield block.size
        if size > _SMALL:
            # The masks of each value are read, and entered among those of other values if it is kept.
            reading = 3 * int(acceptance.sum())
            if reading > readable:
                return None
            readable -= reading
        by_value = transpose_bits(block[np.argsort(acceptance, kind="stable")], size)
        yield 4 * (block.size + by_value.size)
        accepted_by = row_popcounts(by_value)
        best = int(accepted_by.argmax())
        if accepted_by[best] == len(block):
            return np.full(size, best, np.int64)
        order = np.argsort(-accepted_by, kind="stable")
        yield 8 * size
        maxima = kernels.Maxima(
            container=np.arange(size),
            kept=np.empty(size, np.int64),
            front=np.zeros(((size + 255) >> 8, len(block), 4), np.uint64),
            held=np.zeros(len(block), np.int64),
        )
        done = count = 0
        while done < size:
            done, count, work = kernels.maximal_rows(by_value, order, row_limit, maxima, done, count, SLICE)
            yield int(work)
        return maxima.container

    return _replace_values(compiled, dominator)


def _have_masks_of_their_own(compiled: CompiledWorkload, used: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The attributes of which each value is all that some mask in use accepts, so that no other value stands for it.

    Of those of more values than a word has bits it is not asked.
    """
    masks = np.flatnonzero(used & (np.diff(compiled.mask_offset) == 1))
    words = compiled.mask_words[compiled.mask_offset[masks]]
    single = np.bitwise_count(words) == 1
    values = np.zeros(len(compiled.sizes), np.uint64)
    np.bitwise_or.at(values, compiled.mask_attribute[masks[single]], words[single])
    return np.asarray(np.bitwise_count(values) == compiled.sizes)


def _replace_values(compiled: CompiledWorkload, standing: Standing) -> Slices[Reduction]:
    """Replace each value by the one that stands for it, which must stand for itself.

    ``standing(block, size)`` gives the representative of each value of an attribute with ``size`` values, where
    ``block`` has the masks in use, or None if each stands for itself.  A mask in use stays non-empty: it accepts some
    value, hence also the kept value that stands for that one.
    """
    blocks = MaskBlocks(compiled)
    used = used_masks(compiled)
    settled = _have_masks_of_their_own(compiled, used).tolist()
    kept: list[Table | None] = []
    target: list[Table | None] = []
    for attribute in range(compiled.attribute_count):
        size = int(compiled.sizes[attribute])
        if settled[attribute]:
            kept.append(None)
            target.append(None)
            continue
        masks = blocks.masks(attribute)
        masks = masks[used[masks]]
        stands: npt.NDArray[np.int64] | None = None
        if size > 1:
            stands = np.zeros(size, np.int64)
            if len(masks):
                stands = yield from standing(blocks.block(attribute, masks), size)
        stays = None if stands is None else stands == np.arange(size)
        if stands is None or stays is None or stays.all():
            kept.append(None)
            target.append(None)
            continue
        kept.append(np.flatnonzero(stays).astype(np.int32))
        target.append((np.cumsum(stays) - 1)[stands].astype(np.int32))
        yield 4 * size
    if all(values is None for values in kept):
        return unchanged(compiled)
    reduced = yield from keep_values.slices(compiled, kept)
    yield len(reduced.mask_words)
    return kept_values(compiled, reduced, kept, target)
