"""A kernel that parts bit sets into classes of disjoint ones."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit
from parcomp.jit import kernel

__all__ = ["disjoint_classes"]


@kernel
def disjoint_classes(matrix, class_limit):
    """Part the rows of a bit matrix into classes of pairwise disjoint rows: ``(class of each row, number of classes)``.

    First fit by ascending lowest one, which for intervals uses as few classes as possible.  ``union[c]`` is the union
    of the rows of class ``c``; a row that meets the first ``class_limit`` unions becomes a class of its own.
    """
    rows, words = matrix.shape
    lowest = np.empty(rows, np.int64)
    for i in range(rows):
        word = 0
        while word < words and matrix[i, word] == np.uint64(0):
            word += 1
        lowest[i] = (word << 6) + (lowest_bit(matrix[i, word]) if word < words else 0)
    order = np.argsort(lowest, kind="mergesort")
    union = np.zeros((class_limit, words), np.uint64)
    label = np.empty(rows, np.int32)
    classes = 0
    for position in range(rows):
        i = order[position]
        fit = -1
        for c in range(min(classes, class_limit)):
            disjoint = True
            for word in range(words):
                if union[c, word] & matrix[i, word] != np.uint64(0):
                    disjoint = False
                    break
            if disjoint:
                fit = c
                break
        if fit < 0:
            fit = classes
            classes += 1
        if fit < class_limit:
            for word in range(words):
                union[fit, word] |= matrix[i, word]
        label[i] = fit
    return label, classes
