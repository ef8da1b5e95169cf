"""Row local search: a heavy row, quickly and without proof.

A row is improved one attribute at a time.  A value is scored not by the queries it completes but by the sum of
w_q·exp(−β·misses), the misses of a query being counted on the *other* attributes: a query that lacks little already
pulls.  β grows from sweep to sweep until only complete queries count; then the search restarts, from a random row or
from the best one shaken.  What it finds is a lower bound of the maximum overlap, attained by the row it returns.
"""

from __future__ import annotations

import numpy as np

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.rows import _row_search_kernels as kernels
from parcomp.overlap.search import Row, Search, Strategy
from parcomp.slices import Slices

__all__ = ["RowSearch", "find_row"]


class RowSearch(Search):
    """A local search for heavy rows; it proves nothing, so ``upper`` stays what it was told."""

    strategy = Strategy.ROW_SEARCH

    def __init__(self, compiled: CompiledWorkload, lower: int = 0, row: Row | None = None, *, seed: int = 0) -> None:
        """Begin at ``row``, or at the row of first values; equal seeds and equal work give equal results."""
        super().__init__(compiled, lower, row)
        m = compiled.attribute_count
        attribute = compiled.mask_attribute[compiled.term]
        order = np.argsort(attribute, kind="stable")
        query = np.repeat(np.arange(compiled.query_count), np.diff(compiled.start))
        mask_first = np.searchsorted(compiled.mask_attribute, np.arange(m + 1))
        widest = int(compiled.sizes.max(initial=1))
        most_masks = int(np.diff(mask_first).max(initial=1))
        self._queries = kernels.RowQueries(
            sizes=compiled.sizes,
            weights=compiled.weights,
            mask_first=mask_first.astype(np.int64),
            term_first=np.searchsorted(attribute[order], np.arange(m + 1)).astype(np.int64),
            term_query=query[order].astype(np.int64),
            term_mask=compiled.term[order].astype(np.int64),
            mask_offset=compiled.mask_offset,
            mask_words=compiled.mask_words,
        )
        self._state = kernels.RowState(
            row=self.row.copy(),
            misses=np.zeros(compiled.query_count, np.int64),
            best_row=self.row.copy(),
            order=np.arange(m),
            counters=np.zeros(kernels.COUNTERS, np.int64),
            gain=np.zeros(most_masks),
            heavy=np.zeros(most_masks, np.int64),
            words=np.zeros((widest + 63) >> 6, np.uint64),
            score=np.zeros(widest),
        )
        self._state.counters[kernels.RANDOM] = (2 * seed + 1) * 0x2545F4914F6CDD1D % 2**63
        kernels.count_misses(self._queries, self._state)
        self._state.counters[kernels.BEST] = self._state.counters[kernels.CURRENT]

    def course(self) -> Slices[None]:
        """Climb from row to row, without an end."""
        while len(self.compiled.term):
            work = self.left
            kernels.ascend(self._queries, self._state, work)
            if (best := int(self._state.counters[kernels.BEST])) > self.lower:
                self.lower, self.row = best, self._state.best_row.copy()
            yield work


def find_row(compiled: CompiledWorkload, work: int, seed: int = 0, start: Row | None = None) -> tuple[int, Row]:
    """A heavy row and its weight, after about ``work`` word operations."""
    search = RowSearch(compiled, row=start, seed=seed)
    search.advance(work)
    return search.lower, search.row
