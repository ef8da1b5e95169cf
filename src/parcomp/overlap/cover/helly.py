"""Attributes whose masks have the Helly property, where cliques are overlapping sets (paper, Prop. pairwise).

A family of sets has the Helly property if every pairwise intersecting subfamily has a common element.  Where the masks
of each attribute do, queries that overlap pairwise have a common value at every attribute, hence a common row: γ = ω,
and the query graph tells all. A query that does not constrain an attribute accepts all its values, and adding the full
set keeps the property.

Recognized here, for the given order of values: points; intervals (Helly, 1923, on a line); nested families, whose sets
are disjoint or one in the other; and short arcs of the circle that the order closes to.  Any other family on few values
is tested by Gilmore's criterion (see Berge, 1989): for any three values, the sets that hold at least two of them have a
common value.  Every answer "yes" is a proof; "no" may mean "not recognized". Value rules keep the order of values, so
points, intervals and nested families stay what they are.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.cover import _helly_kernels as kernels
from parcomp.overlap.masks._kernels import row_ends, row_popcounts, transpose_bits
from parcomp.overlap.masks.rebuild import MaskBlocks
from parcomp.slices import Slices, sliced

__all__ = ["Structure", "attribute_structures", "overlap_is_clique"]

TRIPLE_WORK_LIMIT = 50_000_000
"""Word operations that Gilmore's criterion may take on one attribute; a few hundredths of a second."""


class Structure(StrEnum):
    """Why the masks of an attribute have the Helly property."""

    POINTS = "points"
    INTERVALS = "intervals"
    NESTED = "nested"
    ARCS = "short arcs"
    HELLY = "checked by triples"


def attribute_structures(compiled: CompiledWorkload) -> tuple[Structure | None, ...]:
    """For each attribute why its masks have the Helly property, or None where that is not known."""
    blocks = MaskBlocks(compiled)
    return tuple(
        _structure(blocks.block(attribute, blocks.masks(attribute)), int(compiled.sizes[attribute]))
        for attribute in range(compiled.attribute_count)
    )


@sliced
def overlap_is_clique(compiled: CompiledWorkload) -> Slices[bool]:
    """Whether γ = ω is known from the Helly property of every attribute; ends at the first of which it is not."""
    blocks = MaskBlocks(compiled)
    for attribute in range(compiled.attribute_count):
        block, size = blocks.block(attribute, blocks.masks(attribute)), int(compiled.sizes[attribute])
        structure = _structure(block, size)
        if structure is None:
            return False
        yield 4 * block.size + (_triple_work(block, size) if structure is Structure.HELLY else 0)
    return True


def _structure(block: npt.NDArray[np.uint64], size: int) -> Structure | None:
    counts = row_popcounts(block)
    if not len(block) or counts.max() == 1:
        return Structure.POINTS
    low, high = row_ends(block)
    if np.array_equal(high - low + 1, counts):
        return Structure.INTERVALS
    if kernels.is_nested(block, np.argsort(-counts, kind="stable"), size):
        return Structure.NESTED
    # An arc that holds x values and meets another arc lies within that one and x - 1 values on either side of it.  If
    # that stretch of 3x - 2 values at most does not close the circle, all arcs that meet the one are intervals of a
    # line.
    if 3 * int(counts.max()) - 2 <= size and kernels.are_arcs(block, size):
        return Structure.ARCS
    if _triple_work(block, size) <= TRIPLE_WORK_LIMIT and kernels.satisfies_gilmore(block, transpose_bits(block, size)):
        return Structure.HELLY
    return None


def _triple_work(block: npt.NDArray[np.uint64], size: int) -> int:
    """What Gilmore's criterion takes on an attribute."""
    return size * (size - 1) * (size - 2) // 6 * block.size
