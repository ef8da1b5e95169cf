"""A sweep over rectangles with a tree of range additions and maxima.

``best[node]`` is the largest sum of additions among the leaves below ``node``, counting additions at the node and
beneath it but not above; leaves are ``size … 2 size - 1`` with ``size`` a power of two, and the children of ``node``
are ``2 node`` and ``2 node + 1``.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.jit import inner_kernel, kernel

__all__ = ["Rectangles", "sweep_rectangles"]


class Rectangles(NamedTuple):
    """Rectangle ``i`` covers the columns ``begin[i] … end[i] - 1`` and the rows ``bottom[i] … top[i] - 1``, not empty.

    ``opening`` and ``closing`` list the rectangles by ascending ``begin`` and ``end``.
    """

    opening: npt.NDArray[np.int64]
    closing: npt.NDArray[np.int64]
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    bottom: npt.NDArray[np.int64]
    top: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]


@inner_kernel
def _refresh(best, added, node):
    """Recompute ``best`` on the path above ``node``."""
    node >>= 1
    while node > 0:
        best[node] = max(best[2 * node], best[2 * node + 1]) + added[node]
        node >>= 1


@inner_kernel
def _add(best, added, size, begin, end, weight):
    """Add ``weight`` to the leaves number ``begin … end - 1``."""
    left, right = begin + size, end + size
    while left < right:
        if left & 1:
            best[left] += weight
            added[left] += weight
            left += 1
        if right & 1:
            right -= 1
            best[right] += weight
            added[right] += weight
        left >>= 1
        right >>= 1
    _refresh(best, added, begin + size)
    _refresh(best, added, end - 1 + size)


@kernel
def sweep_rectangles(rectangles, columns, rows):
    """The heaviest cell of a ``columns`` by ``rows`` grid under at least one rectangle: ``(weight, column, row)``."""
    opening, closing, begin, end, bottom, top, weights = rectangles
    size = 1
    while size < rows:
        size *= 2
    best = np.zeros(2 * size, np.int64)
    added = np.zeros(2 * size, np.int64)
    count = len(weights)
    opened, closed = 0, 0
    heaviest = np.int64(0)
    best_column, best_row = 0, 0
    for column in range(columns):
        while closed < count and end[closing[closed]] == column:
            i = closing[closed]
            _add(best, added, size, bottom[i], top[i], -weights[i])
            closed += 1
        while opened < count and begin[opening[opened]] == column:
            i = opening[opened]
            _add(best, added, size, bottom[i], top[i], weights[i])
            opened += 1
        if best[1] > heaviest:
            heaviest = best[1]
            best_column = column
            node = 1
            while node < size:
                node = 2 * node if best[2 * node] >= best[2 * node + 1] else 2 * node + 1
            best_row = node - size
    return heaviest, best_column, best_row
