"""Kernels on a *front* of sets, in which one looks for a set that contains another.

The sets of a front are numbered from 0.  ``front[b, c]``, four words, says which of the sets number ``256 b … 256 b +
255`` hold the element ``c``: those that contain some set are what the columns of its elements have in common, 256
candidates at a time.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, lowest_bit
from parcomp.jit import inlined

__all__ = ["enter_front", "first_container"]


@inlined
def enter_front(front, elements, number):
    """Make the set of ``elements`` the set of this number."""
    for c in elements:
        front[number >> 8, c, (number >> 6) & 3] |= bit_of(number)


@inlined
def first_container(front, elements, count, work_limit):
    """The first of ``count`` sets that holds all ``elements``, at least one, or -1; and the columns looked at.

    Gives up at the end of a block when that is more than ``work_limit``.
    """
    zero = np.uint64(0)
    work = np.int64(0)
    for b in range((count + 255) >> 8):
        first = front[b, elements[0]]
        c0, c1, c2, c3 = first[0], first[1], first[2], first[3]
        j = 1
        while j < len(elements) and c0 | c1 | c2 | c3 != zero:
            more = front[b, elements[j]]
            c0 &= more[0]
            c1 &= more[1]
            c2 &= more[2]
            c3 &= more[3]
            j += 1
        work += j
        if c0 | c1 | c2 | c3 != zero:
            place = b << 8
            if c0 != zero:
                place += lowest_bit(c0)
            elif c1 != zero:
                place += 64 + lowest_bit(c1)
            elif c2 != zero:
                place += 128 + lowest_bit(c2)
            else:
                place += 192 + lowest_bit(c3)
            return np.int64(place), work
        if work > work_limit:
            break
    return np.int64(-1), work
