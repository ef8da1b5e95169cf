"""The predicates of a growing workload as bit masks, attribute by attribute.

The masks of an attribute run over *cells* of values that no predicate seen so far tells apart.  A small attribute has
a cell for each value from the start; a large one is cut up further when a predicate needs it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits, word_count
from parcomp.model import Predicate

__all__ = ["LiveAttribute"]

_WHOLE = 1 << 14
"""Attributes of up to this many values have one cell for each from the start."""


class LiveAttribute:
    """The distinct predicates seen on one attribute, numbered across all attributes by the caller."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.cells = np.arange(size, dtype=np.int64) if size <= _WHOLE else np.zeros(1, np.int64)
        self.predicates: list[Predicate] = []
        self.numbers = np.zeros(8, np.int64)
        self.masks = np.zeros((8, word_count(len(self.cells))), np.uint64)
        self._index: dict[Predicate, int] = {}

    def find(self, predicate: Predicate) -> int | None:
        """The caller's number of a predicate seen before."""
        index = self._index.get(predicate)
        return None if index is None else int(self.numbers[index])

    def enter(self, predicate: Predicate, number: int) -> None:
        """Enter a predicate that was not seen before."""
        mask = self.mask(predicate)
        index = len(self.predicates)
        if index == len(self.numbers):
            self.numbers = np.concatenate((self.numbers, np.zeros_like(self.numbers)))
            self.masks = np.concatenate((self.masks, np.zeros_like(self.masks)))
        self.predicates.append(predicate)
        self._index[predicate] = index
        self.numbers[index] = number
        self.masks[index] = mask

    def forget_last(self) -> None:
        """Take back the predicate entered last; the cells stay as fine as they are."""
        del self._index[self.predicates.pop()]

    def mask(self, predicate: Predicate) -> npt.NDArray[np.uint64]:
        """The predicate over the cells, which are cut up first where it divides one."""
        if len(self.cells) < self.size:
            self._cut([predicate])
        mask: npt.NDArray[np.uint64] = self._pack([predicate])[0]
        return mask

    def prepare(self, predicates: list[Predicate]) -> None:
        """Cut up the cells for many predicates at once, which is quicker than one by one."""
        if predicates and len(self.cells) < self.size:
            self._cut(predicates)

    def _cut(self, predicates: list[Predicate]) -> None:
        if all(predicate.edges is not None for predicate in predicates):
            edges = np.concatenate([np.array(p.edges or (0,), np.int64) for p in predicates])
            cells = np.union1d(self.cells, edges[edges < self.size])
        else:
            cells = np.arange(self.size, dtype=np.int64)
        if len(cells) > len(self.cells):
            self.cells = cells
            known = len(self.predicates)
            self.masks = np.zeros((len(self.numbers), word_count(len(cells))), np.uint64)
            if known:
                self.masks[:known] = self._pack(self.predicates)

    def _pack(self, predicates: list[Predicate]) -> npt.NDArray[np.uint64]:
        return np.vstack([pack_bits(predicate.flags_at(self.cells)) for predicate in predicates])
