"""A workload as the arrays that kernels read.

A :class:`CompiledWorkload` knows no names, values or files: attributes are ``0 … m-1``, the values of attribute
``a`` are ``0 … sizes[a]-1``, a predicate is a bit mask over them, and a query is a list of masks, one for each
attribute that it constrains.  A missing attribute is a tautology.  Graph building, bounds and searches all work on
this form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import unpack_bits

__all__ = ["CompiledWorkload"]


@dataclass(frozen=True, slots=True, eq=False)
class CompiledWorkload:
    """Queries as masks.

    Query ``q`` has weight ``weights[q] > 0`` and the masks ``term[start[q]:start[q + 1]]``, in ascending order of
    attribute and at most one for each attribute.  Mask ``p`` belongs to attribute ``mask_attribute[p]`` and occupies
    the words ``mask_words[mask_offset[p]:mask_offset[p + 1]]``, ``(sizes[a] + 63) // 64`` of them; bits beyond
    ``sizes[a]`` are zero.  Masks are neither empty nor full, masks of one attribute are distinct, and
    ``mask_attribute`` ascends.  The sum of all weights is below 2**62.
    """

    sizes: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    term: npt.NDArray[np.int32]
    mask_attribute: npt.NDArray[np.int32]
    mask_offset: npt.NDArray[np.int64]
    mask_words: npt.NDArray[np.uint64]

    @property
    def query_count(self) -> int:
        """The number of queries, t."""
        return len(self.weights)

    @property
    def attribute_count(self) -> int:
        """The number of attributes, m."""
        return len(self.sizes)

    @property
    def total(self) -> int:
        """The sum of all weights: what sequential composition would charge."""
        return int(self.weights.sum())

    def mask_bits(self, mask: int) -> npt.NDArray[np.bool_]:
        """The mask as one boolean for each value of its attribute."""
        words = self.mask_words[self.mask_offset[mask] : self.mask_offset[mask + 1]]
        size = int(self.sizes[self.mask_attribute[mask]])
        return unpack_bits(words, size)

    def members(self, row: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """The queries that the row ``row`` (one value for each attribute) satisfies, ascending."""
        if not len(self.term):
            return np.arange(self.query_count)
        value = row[self.mask_attribute].astype(np.int64)
        word = self.mask_words[self.mask_offset[:-1] + (value >> 6)]
        rejects = (word >> (value & 63).astype(np.uint64)) & np.uint64(1) == 0
        # One entry more, so that a query without terms at the end has a place to begin at.
        missed = np.zeros(len(self.term) + 1, np.bool_)
        missed[:-1] = rejects[self.term]
        some = np.logical_or.reduceat(missed, self.start[:-1])
        return np.flatnonzero(~some | (self.start[1:] == self.start[:-1]))

    def weigh(self, row: npt.NDArray[np.int32]) -> int:
        """The weight of the queries that the row satisfies."""
        return int(self.weights[self.members(row)].sum())
