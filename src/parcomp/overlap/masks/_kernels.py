"""Kernels on bit matrices and on ragged lists.

A *bit matrix* is ``uint64[rows, words]``; column ``c`` of a row is bit ``c & 63`` of word ``c >> 6`` and bits beyond
the last column are zero.  *Lists* are ragged: list ``i`` is ``item[start[i]:start[i + 1]]``, with ``start`` ascending
from 0.  Labels count from 0 in the order of first occurrence.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit, popcount
from parcomp.jit import kernel

__all__ = ["label_lists", "rewrite_items", "row_ends", "row_popcounts", "select_lists", "transpose_bits"]


@kernel
def _transpose_block(block):
    """Transpose 64 words of 64 bits in place, by swapping ever smaller quarters (Warren, Hacker's Delight, 2002)."""
    shift = np.uint64(32)
    mask = np.uint64(0xFFFFFFFF)
    while shift > np.uint64(0):
        step = np.int64(shift)
        for i in range(64):
            if i & step == 0:
                swap = ((block[i] >> shift) ^ block[i + step]) & mask
                block[i] ^= swap << shift
                block[i + step] ^= swap
        shift = shift >> np.uint64(1)
        mask = mask ^ (mask << shift)


@kernel
def transpose_bits(matrix, columns):
    """The bit matrix whose rows are the first ``columns`` columns of ``matrix``."""
    rows, words = matrix.shape
    result = np.zeros((columns, (rows + 63) >> 6), np.uint64)
    block = np.empty(64, np.uint64)
    for first in range(0, rows, 64):
        height = min(64, rows - first)
        for word in range(words):
            any_bit = np.uint64(0)
            for i in range(height):
                block[i] = matrix[first + i, word]
                any_bit |= block[i]
            if any_bit == np.uint64(0):
                continue
            for i in range(height, 64):
                block[i] = np.uint64(0)
            _transpose_block(block)
            base = word << 6
            for i in range(min(64, columns - base)):
                result[base + i, first >> 6] = block[i]
    return result


@kernel
def row_popcounts(matrix):
    """The number of ones in each row."""
    rows, words = matrix.shape
    count = np.zeros(rows, np.int64)
    for i in range(rows):
        total = np.int64(0)
        for word in range(words):
            total += popcount(matrix[i, word])
        count[i] = total
    return count


@kernel
def row_ends(matrix):
    """The lowest and the highest one of each row, which must not be empty."""
    rows, words = matrix.shape
    low = np.empty(rows, np.int64)
    high = np.empty(rows, np.int64)
    for i in range(rows):
        word = 0
        while matrix[i, word] == np.uint64(0):
            word += 1
        low[i] = (word << 6) + lowest_bit(matrix[i, word])
        word = words - 1
        while matrix[i, word] == np.uint64(0):
            word -= 1
        bits = matrix[i, word]
        top = 0
        while bits > np.uint64(1):
            bits >>= np.uint64(1)
            top += 1
        high[i] = (word << 6) + top
    return low, high


@kernel
def label_lists(start, item, label, first, slot, begin, labels, work_limit):
    """Label equal lists alike, from list ``begin`` on: ``label`` of each list, ``first`` list of each of the labels.

    Open addressing in ``slot``, -1 to begin with and a power of two long; the hash only chooses where to look, lists
    are compared item by item.  Goes on until the end or until ``work_limit`` is used up; returns where it stopped, the
    number of labels and the work.
    """
    lists = len(start) - 1
    wrap = np.int64(len(slot) - 1)
    multiplier = np.uint64(0x9E3779B97F4A7C15)
    half = np.uint64(32)
    work = np.int64(0)
    i = begin
    while i < lists and work < work_limit:
        at = start[i]
        length = start[i + 1] - at
        work += 4 + length
        key = np.uint64(length) * multiplier
        for j in range(length):
            key = (key ^ np.uint64(item[at + j])) * multiplier
            key ^= key >> half
        place = np.int64(key & np.uint64(wrap))
        while True:
            other = slot[place]
            if other < 0:
                slot[place] = labels
                label[i] = labels
                first[labels] = i
                labels += 1
                break
            at_other = start[first[other]]
            equal = start[first[other] + 1] - at_other == length
            j = 0
            while equal and j < length:
                equal = item[at + j] == item[at_other + j]
                j += 1
            work += 2
            if equal:
                label[i] = other
                break
            place = (place + 1) & wrap
        i += 1
    return i, labels, work


@kernel
def rewrite_items(start, item, target):
    """Replace each item ``x`` by ``target[x]``, leaving out those with a negative target: ``(start, item)``."""
    lists = len(start) - 1
    kept = np.int64(0)
    for j in range(len(item)):
        if target[item[j]] >= 0:
            kept += 1
    result_start = np.empty(lists + 1, np.int64)
    result = np.empty(kept, np.int32)
    end = np.int64(0)
    result_start[0] = 0
    for i in range(lists):
        for j in range(start[i], start[i + 1]):
            image = target[item[j]]
            if image >= 0:
                result[end] = image
                end += 1
        result_start[i + 1] = end
    return result_start, result


@kernel
def select_lists(start, item, chosen):
    """The lists ``chosen``, in that order: ``(start, item)``."""
    result_start = np.empty(len(chosen) + 1, np.int64)
    result_start[0] = 0
    for i in range(len(chosen)):
        result_start[i + 1] = result_start[i] + start[chosen[i] + 1] - start[chosen[i]]
    result = np.empty(result_start[len(chosen)], np.int32)
    for i in range(len(chosen)):
        begin = start[chosen[i]]
        for j in range(result_start[i + 1] - result_start[i]):
            result[result_start[i] + j] = item[begin + j]
    return result_start, result
