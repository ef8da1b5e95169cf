"""Kernels that strike disjoint pairs out of a packed adjacency matrix, one attribute at a time.

Invariants shared by all of them: ``adjacency`` is ``uint64[t, words]``, symmetric, with an empty diagonal and zero
bits beyond ``t``.  ``members`` are the vertices that the attribute concerns, ascending; ``member_bits`` is the same
set packed; ``mask_of[i]`` is the row of ``masks`` that belongs to ``members[i]``.  A pair is struck out iff its two
masks share no bit.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit, popcount
from parcomp.jit import kernel

__all__ = [
    "complete",
    "gather_accepting",
    "gather_met",
    "group_by_mask",
    "mask_spans",
    "open_pairs",
    "part_masks",
    "strike_apart",
    "strike_by_pair",
    "strike_unmet",
]


@kernel
def complete(size, words):
    """The packed adjacency matrix of the complete graph."""
    adjacency = np.zeros((size, words), np.uint64)
    full = ~np.uint64(0)
    for i in range(size):
        for j in range(size >> 6):
            adjacency[i, j] = full
        if size & 63:
            adjacency[i, size >> 6] = (np.uint64(1) << np.uint64(size & 63)) - np.uint64(1)
        adjacency[i, i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))
    return adjacency


@kernel
def open_pairs(adjacency, members, member_bits, touched):
    """The number of adjacent pairs within ``members``; sets ``touched[i]`` where ``members[i]`` is in one of them."""
    words = adjacency.shape[1]
    twice = np.int64(0)
    for i in range(len(members)):
        row = members[i]
        found = np.int64(0)
        for j in range(words):
            found += popcount(adjacency[row, j] & member_bits[j])
        touched[i] = found > 0
        twice += found
    return twice >> 1


@kernel
def mask_spans(masks, first, last):
    """The number of ones in all masks; ``first`` and ``last`` receive the span of nonzero words of each mask."""
    ones = np.int64(0)
    for p in range(masks.shape[0]):
        first[p] = masks.shape[1]
        last[p] = -1
        for j in range(masks.shape[1]):
            if masks[p, j] != 0:
                ones += popcount(masks[p, j])
                if last[p] < 0:
                    first[p] = j
                last[p] = j
    return ones


@kernel
def _meet(masks, first, last, p, r):
    """Whether masks ``p`` and ``r`` share a bit."""
    for j in range(max(first[p], first[r]), min(last[p], last[r]) + 1):
        if masks[p, j] & masks[r, j] != 0:
            return True
    return False


@kernel
def strike_by_pair(adjacency, members, member_bits, mask_of, place, masks, first, last, begin, work_limit):
    """Test the adjacent pairs of ``members[begin]`` and those after it; returns where it stopped, and the work.

    ``place`` maps a vertex to its position in ``members``.  Stops before the first member that it comes to with
    ``work_limit`` used up.
    """
    words = adjacency.shape[1]
    work = np.int64(0)
    i = begin
    while i < len(members) and work < work_limit:
        row = members[i]
        p = mask_of[i]
        work += words
        for j in range(row >> 6, words):
            word = adjacency[row, j] & member_bits[j]
            if j == row >> 6:
                # Only partners above the row, so that a pair is tested once.
                word &= ~np.uint64(0) << np.uint64(row & 63)
            while word != 0:
                bit = lowest_bit(word)
                word &= word - np.uint64(1)
                column = (j << 6) + bit
                r = mask_of[place[column]]
                work += 4
                if p != r and not _meet(masks, first, last, p, r):
                    # A test that succeeds stops early; one that fails goes through all words.
                    work += max(0, min(last[p], last[r]) - max(first[p], first[r]))
                    adjacency[row, j] &= ~(np.uint64(1) << np.uint64(bit))
                    adjacency[column, row >> 6] &= ~(np.uint64(1) << np.uint64(row & 63))
        i += 1
    return i, work


@kernel
def group_by_mask(members, mask_of, count, words):
    """For each of ``count`` masks the packed set of the vertices that have it."""
    group = np.zeros((count, words), np.uint64)
    for i in range(len(members)):
        group[mask_of[i], members[i] >> 6] |= np.uint64(1) << np.uint64(members[i] & 63)
    return group


@kernel
def part_masks(group, apart, masks, first, last, begin, work_limit):
    """Test mask ``begin`` and those after it against all before; ``apart[p]`` collects who is disjoint from mask ``p``.

    Returns where it stopped, at the latest with ``work_limit`` used up, and the work.
    """
    words = group.shape[1]
    work = np.int64(0)
    p = begin
    while p < len(group) and work < work_limit:
        for r in range(p):
            work += 4
            if not _meet(masks, first, last, p, r):
                work += max(0, min(last[p], last[r]) - max(first[p], first[r])) + words
                for j in range(words):
                    apart[p, j] |= group[r, j]
                    apart[r, j] |= group[p, j]
        p += 1
    return p, work


@kernel
def strike_apart(adjacency, members, mask_of, apart):
    """Strike out, for each of ``members``, what its mask is disjoint from."""
    for i in range(len(members)):
        for j in range(adjacency.shape[1]):
            adjacency[members[i], j] &= ~apart[mask_of[i], j]


@kernel
def gather_accepting(accepting, members, mask_of, masks):
    """Add each of ``members`` to the packed sets ``accepting[v]`` of the values ``v`` that its mask holds."""
    for i in range(len(members)):
        for j in range(masks.shape[1]):
            word = masks[mask_of[i], j]
            while word != 0:
                value = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                accepting[value, members[i] >> 6] |= np.uint64(1) << np.uint64(members[i] & 63)


@kernel
def gather_met(accepting, masks, met, begin, work_limit):
    """Set ``met[p]``, for mask ``begin`` and those after it, to the vertices that accept one of its values.

    Returns where it stopped, at the latest with ``work_limit`` used up, and the work.
    """
    words = accepting.shape[1]
    work = np.int64(0)
    p = begin
    while p < len(masks) and work < work_limit:
        for j in range(masks.shape[1]):
            word = masks[p, j]
            while word != 0:
                value = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                work += words
                for k in range(words):
                    met[p, k] |= accepting[value, k]
        work += masks.shape[1]
        p += 1
    return p, work


@kernel
def strike_unmet(adjacency, members, member_bits, mask_of, met):
    """Strike out, for each of ``members``, the others of them that its mask does not meet."""
    for i in range(len(members)):
        for k in range(adjacency.shape[1]):
            adjacency[members[i], k] &= met[mask_of[i], k] | ~member_bits[k]
