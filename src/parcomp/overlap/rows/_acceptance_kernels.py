"""Which queries accept each value of each attribute, as bits, and which of them rows satisfy."""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.bits import has_bit
from parcomp.jit import kernel

__all__ = ["AcceptedValues", "members"]


class AcceptedValues(NamedTuple):
    """Which queries accept each value.

    The values of attribute ``a`` are ``first[a] … first[a + 1] - 1``.  ``accepting[v]`` are the queries that accept the
    value ``v``, packed: all values, if they do not constrain its attribute.  ``telling[a]`` are the queries that
    constrain attribute ``a``, packed: only they tell its values apart.  Bits beyond the last query are ones in the
    first and zeros in the second.
    """

    first: npt.NDArray[np.int64]
    accepting: npt.NDArray[np.uint64]
    telling: npt.NDArray[np.uint64]


@kernel
def members(accepted, rows, flags):
    """Set ``flags[r, q]`` where row ``r``, by the numbers of its values, satisfies query ``q``."""
    first, accepting, _ = accepted
    words = accepting.shape[1]
    alive = np.empty(words, np.uint64)
    for r in range(len(rows)):
        alive[:] = ~np.uint64(0)
        for a in range(rows.shape[1]):
            for k in range(words):
                alive[k] &= accepting[first[a] + rows[r, a], k]
        for q in range(flags.shape[1]):
            flags[r, q] = has_bit(alive[q >> 6], q)
