"""Kernels of the online state: which masks, and which queries, meet a given box."""

from __future__ import annotations

from numba import njit

__all__ = ["lists_within", "rows_meeting"]


@njit(cache=True, nogil=True)
def rows_meeting(matrix, count, mask, numbers, meets):  # type: ignore[no-untyped-def]
    """Set ``meets[numbers[i]]`` to whether row ``i``, of the first ``count``, shares a bit with ``mask``."""
    for i in range(count):
        hit = False
        for word in range(len(mask)):
            if matrix[i, word] & mask[word]:
                hit = True
                break
        meets[numbers[i]] = hit


@njit(cache=True, nogil=True)
def lists_within(start, item, count, allowed, found):  # type: ignore[no-untyped-def]
    """Put into ``found`` those of the first ``count`` lists whose items are all allowed; return their number."""
    total = 0
    for i in range(count):
        inside = True
        for k in range(start[i], start[i + 1]):
            if not allowed[item[k]]:
                inside = False
                break
        if inside:
            found[total] = i
            total += 1
    return total
