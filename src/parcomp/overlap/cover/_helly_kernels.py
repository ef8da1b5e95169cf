"""Kernels that recognize families of sets with the Helly property.

A family is a bit matrix ``uint64[sets, words]``, a row for each set; bits beyond the last element are zero.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit, popcount
from parcomp.jit import kernel

__all__ = ["are_arcs", "is_nested", "satisfies_gilmore"]


@kernel
def is_nested(matrix, order, columns):
    """Whether any two rows are disjoint or one within the other; ``order`` lists the rows by descending popcount.

    ``inner[x]`` is the smallest set seen that holds element ``x``.  A set fits if all its elements have the same
    ``inner``: it lies within that set and is disjoint from every set seen that does not contain it.
    """
    rows, words = matrix.shape
    inner = np.full(columns, np.int64(-1))
    for position in range(rows):
        i = order[position]
        holder = np.int64(-2)
        for word in range(words):
            bits = matrix[i, word]
            while bits != np.uint64(0):
                x = (word << 6) + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                if holder == -2:
                    holder = inner[x]
                elif inner[x] != holder:
                    return False
                inner[x] = i
    return True


@kernel
def are_arcs(matrix, columns):
    """Whether the ones of each row are consecutive where the last column is followed by the first."""
    rows, words = matrix.shape
    last = columns - 1
    for i in range(rows):
        runs = np.int64(0)
        carry = np.uint64(0)
        for word in range(words):
            bits = matrix[i, word]
            before = (bits << np.uint64(1)) | carry
            carry = bits >> np.uint64(63)
            runs += popcount(bits & ~before)
        closes = (matrix[i, 0] & np.uint64(1)) != np.uint64(0) and (
            (matrix[i, last >> 6] >> np.uint64(last & 63)) & np.uint64(1)
        ) != np.uint64(0)
        if runs > 2 or (runs == 2 and not closes):
            return False
    return True


@kernel
def satisfies_gilmore(matrix, by_element):
    """Whether, for any three elements, the sets that hold at least two of them have a common element.

    ``by_element`` is the transposed matrix: for each element the sets that hold it.
    """
    words = matrix.shape[1]
    elements, set_words = by_element.shape
    common = np.empty(words, np.uint64)
    for x in range(elements):
        for y in range(x):
            for z in range(y):
                common[:] = ~np.uint64(0)
                for word in range(set_words):
                    a, b, c = by_element[x, word], by_element[y, word], by_element[z, word]
                    bits = (a & b) | (a & c) | (b & c)
                    while bits != np.uint64(0):
                        i = (word << 6) + lowest_bit(bits)
                        bits &= bits - np.uint64(1)
                        for w in range(words):
                            common[w] &= matrix[i, w]
                if not common.any():
                    return False
    return True
