"""Exact maximum overlap of ranges over one or two attributes, by a sweep.

Over one attribute: weights are added at the low end of each interval and taken off behind its high end; the largest
running sum is the answer. Over two: a line sweeps along the first attribute, and a tree over the second keeps, for each
of its values, the weight of the rectangles under the line, with range addition and maximum (the maximum depth of
rectangles: Imai and Asano, 1983; the tree: Bentley, 1977). Time O(t log t).  Ends need not be numbers of a small
domain: only low ends matter, because the heaviest point may be moved down along each attribute to the nearest low end
of a range that holds it, without leaving any range.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.errors import SizeError
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.masks._kernels import row_ends, row_popcounts
from parcomp.overlap.masks.rebuild import MaskBlocks
from parcomp.overlap.rows._range_kernels import Rectangles, sweep_rectangles

__all__ = ["heaviest_point", "interval_ends", "sweep"]

Integers = npt.NDArray[np.int64]


def heaviest_point(low: Integers, high: Integers, weights: Integers) -> tuple[int, Integers]:
    """The largest total weight of ranges with a common point, and such a point.

    ``low`` and ``high`` are ``int64[t, d]`` with d = 1 or 2: range ``i`` holds the points x with ``low[i] <= x <=
    high[i]`` in each coordinate.  Weights are positive and their sum is below 2**62.  Raises
    :class:`~parcomp.errors.SizeError` for another d.
    """
    dimensions = low.shape[1]
    if dimensions not in {1, 2}:
        raise SizeError(f"a sweep handles ranges over 1 or 2 attributes, not {dimensions}; choose another method")
    if not len(low):
        return 0, np.zeros(dimensions, np.int64)
    first, begin, end = _compress(low[:, 0], high[:, 0])
    if dimensions == 1:
        change = np.zeros(len(first) + 1, np.int64)
        np.add.at(change, begin, weights)
        np.subtract.at(change, end, weights)
        depth = np.cumsum(change[:-1])
        best = int(depth.argmax())
        return int(depth[best]), first[best : best + 1]
    second, bottom, top = _compress(low[:, 1], high[:, 1])
    opening = np.argsort(begin, kind="stable")
    closing = np.argsort(end, kind="stable")
    rectangles = Rectangles(opening, closing, begin, end, bottom, top, weights)
    weight, x, y = sweep_rectangles(rectangles, len(first), len(second))
    return int(weight), np.array([first[x], second[y]], np.int64)


def interval_ends(compiled: CompiledWorkload) -> tuple[Integers, Integers] | None:
    """The ranges of all queries as ``low, high``, both ``int64[t, m]``; None where some mask is no interval."""
    low = np.zeros((compiled.query_count, compiled.attribute_count), np.int64)
    high = np.tile(compiled.sizes.astype(np.int64) - 1, (compiled.query_count, 1))
    blocks = MaskBlocks(compiled)
    query_of_term = np.repeat(np.arange(compiled.query_count), np.diff(compiled.start))
    attribute_of_term = compiled.mask_attribute[compiled.term]
    low_of_mask = np.empty(len(compiled.mask_attribute), np.int64)
    high_of_mask = np.empty(len(compiled.mask_attribute), np.int64)
    for attribute in range(compiled.attribute_count):
        masks = blocks.masks(attribute)
        if not len(masks):
            continue
        block = blocks.block(attribute, masks)
        low_of_mask[masks], high_of_mask[masks] = row_ends(block)
        if not np.array_equal(high_of_mask[masks] - low_of_mask[masks] + 1, row_popcounts(block)):
            return None
    low[query_of_term, attribute_of_term] = low_of_mask[compiled.term]
    high[query_of_term, attribute_of_term] = high_of_mask[compiled.term]
    return low, high


def sweep(compiled: CompiledWorkload) -> tuple[int, npt.NDArray[np.int32]] | None:
    """The maximum overlap and a heaviest row; None for more than two attributes or a mask that is no interval."""
    if compiled.attribute_count == 0:
        return compiled.total, np.zeros(0, np.int32)
    if compiled.attribute_count > 2:
        return None
    ends = interval_ends(compiled)
    if ends is None:
        return None
    weight, point = heaviest_point(*ends, compiled.weights)
    return weight, point.astype(np.int32)


def _compress(low: Integers, high: Integers) -> tuple[Integers, Integers, Integers]:
    """The distinct low ends, and each range as the half-open range of those within it."""
    ends, begin = np.unique(low, return_inverse=True)
    return ends, begin.astype(np.int64), np.searchsorted(ends, high, side="right").astype(np.int64)
