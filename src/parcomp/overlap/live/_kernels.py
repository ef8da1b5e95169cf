"""Kernels of the online state: which masks, and which queries, meet a given box."""

# mypy: ignore-errors

from __future__ import annotations

from parcomp.jit import kernel

__all__ = ["lists_within", "rows_meeting"]


@kernel
def rows_meeting(matrix, count, mask, numbers, meets):
    """Set ``meets[numbers[i]]`` to whether row ``i``, of the first ``count``, shares a bit with ``mask``."""
    for i in range(count):
        hit = False
        for word in range(len(mask)):
            if matrix[i, word] & mask[word]:
                hit = True
                break
        meets[numbers[i]] = hit


@kernel
def lists_within(start, item, count, allowed, found):
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
