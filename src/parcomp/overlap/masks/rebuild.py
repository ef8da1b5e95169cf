"""Build a smaller compiled workload from a larger one.

The rules decide which values, queries and attributes stay; these functions make the arrays, and see to it that the
invariants of :class:`~parcomp.model.compiled.CompiledWorkload` hold again: no full mask, no two equal masks of an
attribute, no mask that no query uses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.masks import _kernels as kernels
from parcomp.overlap.masks.lists import merge_lists
from parcomp.slices import Slices, sliced

__all__ = [
    "MaskBlocks",
    "drop_unused_masks",
    "keep_attributes",
    "keep_queries",
    "keep_values",
    "used_masks",
]

Indices = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


class MaskBlocks:
    """The masks of each attribute as a bit matrix, a row for each mask and a column for each value."""

    def __init__(self, compiled: CompiledWorkload) -> None:
        self._compiled = compiled
        self.first = np.searchsorted(compiled.mask_attribute, np.arange(compiled.attribute_count + 1))

    def masks(self, attribute: int) -> Indices:
        """The masks of an attribute, ascending."""
        return np.arange(self.first[attribute], self.first[attribute + 1])

    def block(self, attribute: int, masks: Indices) -> Words:
        """The bit matrix of some masks of an attribute."""
        compiled = self._compiled
        begin, end = int(self.first[attribute]), int(self.first[attribute + 1])
        words = compiled.mask_words[compiled.mask_offset[begin] : compiled.mask_offset[end]]
        whole = words.reshape(end - begin, (int(compiled.sizes[attribute]) + 63) >> 6)
        return whole if len(masks) == end - begin else whole[masks - begin]


def used_masks(compiled: CompiledWorkload) -> npt.NDArray[np.bool_]:
    """Whether any query uses each mask."""
    used = np.zeros(len(compiled.mask_attribute), np.bool_)
    used[compiled.term] = True
    return used


@sliced
def keep_values(compiled: CompiledWorkload, kept: Sequence[npt.NDArray[np.int32] | None]) -> Slices[CompiledWorkload]:
    """The workload on the values ``kept[a]`` (ascending, at least one; None for all) of each attribute ``a``.

    Each mask that is in use must accept some kept value.  A mask that accepts all kept values leaves its queries, masks
    that accept the same kept values become one, and a mask that no query uses is left out.  Queries keep their numbers.
    """
    blocks = MaskBlocks(compiled)
    used = used_masks(compiled)
    sizes = compiled.sizes.copy()
    target = np.full(len(used), -1, np.int32)
    attribute_of: list[npt.NDArray[np.int32]] = []
    # Filled attribute by attribute, so that no slice has to copy all words at once.
    words = np.empty(len(compiled.mask_words), np.uint64)
    mask_count = end = 0
    for attribute in range(compiled.attribute_count):
        masks = blocks.masks(attribute)
        masks = masks[used[masks]]
        values = kept[attribute]
        if values is not None:
            sizes[attribute] = len(values)
        if not len(masks):
            continue
        block = blocks.block(attribute, masks)
        if values is None:
            target[masks] = np.arange(mask_count, mask_count + len(masks))
        else:
            by_value = kernels.transpose_bits(block, int(compiled.sizes[attribute]))[values]
            block = kernels.transpose_bits(by_value, len(masks))
            proper = np.flatnonzero(kernels.row_popcounts(block) < len(values))
            width = block.shape[1]
            block = block[proper]
            yield 4 * (block.size + by_value.size)
            label, first = yield from merge_lists.slices(np.arange(len(proper) + 1) * width, block.ravel())
            block = block[first]
            target[masks[proper]] = label + mask_count
        mask_count += len(block)
        attribute_of.append(np.full(len(block), attribute, np.int32))
        words[end : end + block.size] = block.ravel()
        end += block.size
        yield block.size
    start, term = kernels.rewrite_items(compiled.start, compiled.term, target)
    yield 2 * len(term) + len(start)
    mask_attribute = np.concatenate([np.zeros(0, np.int32), *attribute_of])
    width = (sizes[mask_attribute].astype(np.int64) + 63) >> 6
    offset = np.concatenate((np.zeros(1, np.int64), np.cumsum(width)))
    kept_words = words[:end] if 2 * end > len(words) else words[:end].copy()
    return CompiledWorkload(sizes, compiled.weights, start, term, mask_attribute, offset, kept_words)


def keep_queries(compiled: CompiledWorkload, queries: Indices) -> CompiledWorkload:
    """The workload of some of the queries, on the same attributes and values."""
    start, term = kernels.select_lists(compiled.start, compiled.term, queries)
    return drop_unused_masks(compiled, compiled.weights[queries], start, term)


def drop_unused_masks(
    compiled: CompiledWorkload,
    weights: npt.NDArray[np.int64],
    start: Indices,
    term: npt.NDArray[np.int32],
) -> CompiledWorkload:
    """The workload of the given queries, whose terms number the masks of ``compiled``, with the masks they use."""
    used = np.zeros(len(compiled.mask_attribute), np.bool_)
    used[term] = True
    if used.all():
        return CompiledWorkload(
            compiled.sizes, weights, start, term, compiled.mask_attribute, compiled.mask_offset, compiled.mask_words
        )
    target = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    length = np.diff(compiled.mask_offset)
    offset = np.concatenate((np.zeros(1, np.int64), np.cumsum(length[used])))
    words = compiled.mask_words[np.repeat(used, length)]
    return CompiledWorkload(compiled.sizes, weights, start, target[term], compiled.mask_attribute[used], offset, words)


def keep_attributes(compiled: CompiledWorkload, attributes: Indices) -> CompiledWorkload:
    """The workload on some of the attributes, ascending; every term must be on one of them."""
    renumbered = np.full(compiled.attribute_count, -1, np.int32)
    renumbered[attributes] = np.arange(len(attributes))
    return CompiledWorkload(
        compiled.sizes[attributes],
        compiled.weights,
        compiled.start,
        compiled.term,
        renumbered[compiled.mask_attribute],
        compiled.mask_offset,
        compiled.mask_words,
    )
