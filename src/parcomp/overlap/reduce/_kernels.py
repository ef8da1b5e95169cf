"""Kernels of the exact reductions: sums, subsets, components.

Bit matrices, lists and labels are those of :mod:`parcomp.overlap.masks._kernels`.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.bits import lowest_bit
from parcomp.jit import inlined, inner_kernel, kernel
from parcomp.overlap.masks._front_kernels import enter_front, first_container

__all__ = [
    "BitLists",
    "Maxima",
    "Reach",
    "link_by_lists",
    "link_columns",
    "link_touching_lists",
    "maximal_rows",
    "sum_columns",
]

# Entries of ``Reach.state``: head and tail of the queue, the number of lists not reached, and that of finished
# components; all are zero to begin with but the third.
HEAD, TAIL, LEFT, LABELS = range(4)


class Maxima(NamedTuple):
    """Which rows of a matrix are maximal, as far as they have been looked at.

    ``container`` comes as 0, 1, 2, …; ``container[i] == i`` marks a kept row, otherwise ``container[i]`` is a *kept*
    row that has every one of row ``i``.  ``kept`` are the kept rows, in their order; ``front``, zero to begin with, is
    theirs (:mod:`parcomp.overlap.masks._front_kernels`), and ``held[c]`` is how many of them hold column ``c``.
    """

    container: npt.NDArray[np.int64]
    kept: npt.NDArray[np.int64]
    front: npt.NDArray[np.uint64]
    held: npt.NDArray[np.int64]


class BitLists(NamedTuple):
    """Lists of bit sets: item ``p`` is the set ``words[offset[p]:offset[p + 1]]`` and belongs to ``owner[p]``.

    Within a list the owners ascend strictly, and sets of one owner have equally many words.
    """

    start: npt.NDArray[np.int64]
    item: npt.NDArray[np.int32]
    owner: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]


class Reach(NamedTuple):
    """How far a search for components has come: labels so far, lists ``unreached``, those waiting in the ``queue``."""

    label: npt.NDArray[np.int64]
    unreached: npt.NDArray[np.int64]
    queue: npt.NDArray[np.int64]
    state: npt.NDArray[np.int64]


@kernel
def sum_columns(matrix, weight, columns):
    """For each column, the sum of ``weight`` over the rows that have a one there."""
    rows, words = matrix.shape
    total = np.zeros(columns, np.int64)
    for i in range(rows):
        for word in range(words):
            bits = matrix[i, word]
            while bits != np.uint64(0):
                total[(word << 6) + lowest_bit(bits)] += weight[i]
                bits &= bits - np.uint64(1)
    return total


@kernel
def maximal_rows(matrix, order, row_limit, maxima, position, kept_count, work_limit):
    """Find rows that are subsets of other rows: the container of each row.

    ``order`` lists the rows by descending popcount, so that a row can only be contained in an earlier one; the columns
    should be sorted by ascending popcount, so that the rarest one of a row is looked at first.  For each row, at most
    ``row_limit`` operations look for a container, among those with most ones first; if none is found by then, the row
    is kept.

    Goes on from ``position`` in ``order``, until the end or until ``work_limit`` is used up; returns position, number
    of kept rows and the work.
    """
    container, kept, front, held = maxima
    rows, words = matrix.shape
    ones = np.empty(len(held), np.int64)
    total = np.int64(0)
    while position < rows and total < work_limit:
        row = order[position]
        position += 1
        length = 0
        possible = kept_count > 0
        for word in range(words):
            bits = matrix[row, word]
            while bits != np.uint64(0):
                column = (word << 6) + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                ones[length] = column
                length += 1
                if held[column] == 0:
                    possible = False
        total += words + length
        if length == 0 and kept_count > 0:
            # The empty set is in every set.
            container[row] = kept[0]
            continue
        if possible:
            found, work = first_container(front, ones[:length], kept_count, row_limit)
            total += 2 * work
            if found >= 0:
                container[row] = kept[found]
                continue
        enter_front(front, ones[:length], kept_count)
        for j in range(length):
            held[ones[j]] += 1
        total += 2 * length
        kept[kept_count] = row
        kept_count += 1
    return position, kept_count, total


@inner_kernel
def _root(parent, x):
    """The representative of ``x`` in a union-find forest, halving the path."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@inner_kernel
def _labels(parent):
    """Components of a union-find forest as labels in order of first occurrence: ``(label, count)``."""
    count = len(parent)
    label = np.full(count, np.int64(-1))
    labels = np.int64(0)
    for x in range(count):
        root = _root(parent, x)
        if label[root] < 0:
            label[root] = labels
            labels += 1
        label[x] = label[root]
    return label, labels


@kernel
def link_by_lists(start, item, target, count):
    """Components of ``0 … count-1`` where each list links the ``target`` of all its items: ``(label, count)``."""
    parent = np.arange(count)
    for i in range(len(start) - 1):
        if start[i + 1] == start[i]:
            continue
        root = _root(parent, target[item[start[i]]])
        for j in range(start[i] + 1, start[i + 1]):
            other = _root(parent, target[item[j]])
            if other != root:
                parent[other] = root
    return _labels(parent)


@kernel
def link_columns(matrix, columns):
    """Components of the columns where each row links all columns in which it has a one: ``(label, count)``."""
    rows, words = matrix.shape
    parent = np.arange(columns)
    left = columns
    for i in range(rows):
        root = np.int64(-1)
        for word in range(words):
            bits = matrix[i, word]
            while bits != np.uint64(0):
                other = _root(parent, (word << 6) + lowest_bit(bits))
                bits &= bits - np.uint64(1)
                if root < 0:
                    root = other
                elif other != root:
                    parent[other] = root
                    left -= 1
        if left == 1:
            break
    return _labels(parent)


@inlined
def _meet(lists, x, y):
    """Whether the sets of two lists meet for every common owner, and the work."""
    start, item, owner, offset, words = lists
    i, j = start[x], start[y]
    work = np.int64(1)
    meets = True
    while meets and i < start[x + 1] and j < start[y + 1]:
        work += 1
        if owner[item[i]] < owner[item[j]]:
            i += 1
        elif owner[item[i]] > owner[item[j]]:
            j += 1
        else:
            if item[i] != item[j]:
                a, b = offset[item[i]], offset[item[j]]
                meets = False
                for word in range(offset[item[i] + 1] - a):
                    work += 1
                    if words[a + word] & words[b + word] != np.uint64(0):
                        meets = True
                        break
            i += 1
            j += 1
    return meets, work


@kernel
def link_touching_lists(lists, reach, work_limit):
    """Components where two lists are joined if their sets meet for every common owner: the label of each list.

    Breadth first over the lists not yet reached, so that dense graphs cost near-linear time.  Goes on until no list is
    left to reach or ``work_limit`` is used up; returns the work.
    """
    label, unreached, queue, state = reach
    head, tail, left, labels = state[HEAD], state[TAIL], state[LEFT], state[LABELS]
    work = np.int64(0)
    while left > 0 and work < work_limit:
        if head == tail:
            left -= 1
            head, tail = 0, 1
            queue[0] = unreached[left]
            label[queue[0]] = labels
        x = queue[head]
        head += 1
        rest = 0
        for position in range(left):
            y = unreached[position]
            meets, spent = _meet(lists, x, y)
            work += spent
            if meets:
                label[y] = labels
                queue[tail] = y
                tail += 1
            else:
                unreached[rest] = y
                rest += 1
        left = rest
        if head == tail or left == 0:
            labels += 1
            head = tail
    state[HEAD], state[TAIL], state[LEFT], state[LABELS] = head, tail, left, labels
    return work
