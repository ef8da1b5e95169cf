"""Kernels of the exact reductions: sums, subsets, components.

A *bit matrix* is ``uint64[rows, words]``; column ``c`` of a row is bit ``c & 63`` of word ``c >> 6`` and bits beyond
the last column are zero.  *Lists* are ragged: list ``i`` is ``item[start[i]:start[i + 1]]``, with ``start`` ascending
from 0. Labels count from 0 in the order of first occurrence.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit
from parcomp.jit import kernel

__all__ = [
    "link_by_lists",
    "link_columns",
    "link_touching_lists",
    "maximal_rows",
    "sum_columns",
]


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
def maximal_rows(matrix, order, row_limit, container, kept, front, front_count, position, kept_count, work_limit):
    """Find rows that are subsets of other rows: the container of each row.

    ``order`` lists the rows by descending popcount, so that a row can only be contained in an earlier one; the columns
    should be sorted by ascending popcount, so that the rarest one of a row is looked at first.  ``container`` comes as
    0, 1, 2, …; ``container[i] == i`` marks a kept row, otherwise ``container[i]`` is a *kept* row that has every one of
    row ``i``.  For each row, at most ``row_limit`` operations look for a container, among those with most ones first;
    if none is found by then, the row is kept.

    ``kept[:kept_count]`` are the kept rows in that order.  ``front[b, c]``, zero to begin with, holds, for column
    ``c``, which of the kept rows number ``256 b … 256 b + 255`` have a one there: the containers of a row are the
    intersection of its columns, 256 candidates at a time.  ``front_count[c]`` is how many kept rows do.

    Goes on from ``position`` in ``order``, until the end or until ``work_limit`` is used up; returns position, number
    of kept rows and the work.
    """
    rows, words = matrix.shape
    ones = np.empty(len(front_count), np.int64)
    zero = np.uint64(0)
    total = np.int64(0)
    while position < rows and total < work_limit:
        row = order[position]
        position += 1
        length = 0
        possible = kept_count > 0
        for word in range(words):
            bits = matrix[row, word]
            while bits != zero:
                column = (word << 6) + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                ones[length] = column
                length += 1
                if front_count[column] == 0:
                    possible = False
        total += words + length
        if length == 0 and kept_count > 0:
            # The empty set is in every set.
            container[row] = kept[0]
            continue
        found = np.int64(-1)
        if possible:
            work = np.int64(0)
            for b in range((kept_count + 255) >> 8):
                first = front[b, ones[0]]
                c0, c1, c2, c3 = first[0], first[1], first[2], first[3]
                j = 1
                while j < length and c0 | c1 | c2 | c3 != zero:
                    more = front[b, ones[j]]
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
                    found = kept[place]
                    break
                if work > row_limit:
                    break
            total += 2 * work
        if found >= 0:
            container[row] = found
            continue
        bit = np.uint64(1) << np.uint64(kept_count & 63)
        for j in range(length):
            front[kept_count >> 8, ones[j], (kept_count >> 6) & 3] |= bit
            front_count[ones[j]] += 1
        total += 2 * length
        kept[kept_count] = row
        kept_count += 1
    return position, kept_count, total


@kernel
def _root(parent, x):
    """The representative of ``x`` in a union-find forest, halving the path."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@kernel
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


@kernel
def link_touching_lists(start, item, owner, offset, words, label, unreached, queue, state, work_limit):
    """Components where two lists are joined if their sets meet for every common owner: the label of each list.

    Item ``p`` is a bit set, ``words[offset[p]:offset[p + 1]]``, that belongs to ``owner[p]``; within a list the owners
    ascend strictly, and sets of one owner have equally many words.  Breadth first over the lists not yet reached, so
    that dense graphs cost near-linear time.

    ``state`` holds head and tail of the queue, the number of lists not reached (``unreached`` names them) and the
    number of finished components; all are zero to begin with but the third.  Goes on until no list is left to reach
    or ``work_limit`` is used up; returns the work.
    """
    head, tail, left, labels = state[0], state[1], state[2], state[3]
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
            i, j = start[x], start[y]
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
                        length = offset[item[i] + 1] - a
                        meets = False
                        for word in range(length):
                            work += 1
                            if words[a + word] & words[b + word] != np.uint64(0):
                                meets = True
                                break
                    i += 1
                    j += 1
            work += 1
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
    state[0], state[1], state[2], state[3] = head, tail, left, labels
    return work
