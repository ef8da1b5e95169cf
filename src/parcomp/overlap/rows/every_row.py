"""Maximum overlap by plain enumeration of all rows.

The definition itself, turned into code: every row of the domain is looked at.  It is the judge of all other methods,
so it shares nothing with them but the array form of a workload.
"""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from parcomp.errors import SizeError
from parcomp.model.compiled import CompiledWorkload

__all__ = ["brute_force"]

ROWS_AT_ONCE = 1 << 14


def brute_force(compiled: CompiledWorkload, row_limit: int = 10**7) -> tuple[int, npt.NDArray[np.int32]]:
    """The maximum overlap and the first row, in lexicographic order, that attains it.

    Raises :class:`~parcomp.errors.SizeError` where the domain has more than ``row_limit`` rows.
    """
    sizes = [int(size) for size in compiled.sizes]
    row_count = prod(sizes)
    if row_count > row_limit:
        raise SizeError(
            f"brute force was asked to look at {row_count} rows and may look at {row_limit}; choose another method"
        )
    masks = [compiled.mask_bits(mask) for mask in range(len(compiled.mask_attribute))]
    best_weight, best_row = -1, np.zeros(len(sizes), np.int32)
    for first in range(0, row_count, ROWS_AT_ONCE):
        rows = _rows(sizes, first, min(first + ROWS_AT_ONCE, row_count))
        weight = np.zeros(len(rows), np.int64)
        for query in range(compiled.query_count):
            satisfied = np.ones(len(rows), np.bool_)
            for mask in compiled.term[compiled.start[query] : compiled.start[query + 1]]:
                satisfied &= masks[mask][rows[:, compiled.mask_attribute[mask]]]
            weight += compiled.weights[query] * satisfied
        heaviest = int(weight.argmax())
        if weight[heaviest] > best_weight:
            best_weight, best_row = int(weight[heaviest]), rows[heaviest]
    return best_weight, best_row


def _rows(sizes: list[int], first: int, last: int) -> npt.NDArray[np.int32]:
    """The rows number ``first`` to ``last - 1`` of the domain, the last attribute changing fastest."""
    rows = np.empty((last - first, len(sizes)), np.int32)
    number = np.arange(first, last, dtype=np.int64)
    for attribute in reversed(range(len(sizes))):
        number, rows[:, attribute] = np.divmod(number, sizes[attribute])
    return rows
