"""Kernels that strike disjoint pairs out of a packed adjacency matrix, one attribute at a time.

Invariants shared by all of them: ``adjacency`` is ``uint64[t, words]``, symmetric, with an empty diagonal and zero
bits beyond ``t``.  ``members`` are the vertices that the attribute concerns, ascending; ``member_bits`` is the same
set packed; ``mask_of[i]`` is the row of ``masks`` that belongs to ``members[i]``.  A pair is struck out iff its two
masks share no bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from parcomp.bits import lowest_bit, popcount

__all__ = ["complete", "mask_spans", "open_pairs", "strike_by_mask", "strike_by_pair", "strike_by_value"]


@njit(cache=True, nogil=True)
def complete(size, words):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def open_pairs(adjacency, members, member_bits, touched):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def mask_spans(masks, first, last):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def _meet(masks, first, last, p, r):  # type: ignore[no-untyped-def]
    """Whether masks ``p`` and ``r`` share a bit."""
    for j in range(max(first[p], first[r]), min(last[p], last[r]) + 1):
        if masks[p, j] & masks[r, j] != 0:
            return True
    return False


@njit(cache=True, nogil=True)
def strike_by_pair(adjacency, members, member_bits, mask_of, place, masks, first, last):  # type: ignore[no-untyped-def]
    """Test each adjacent pair within ``members``; ``place`` maps a vertex to its position in ``members``."""
    words = adjacency.shape[1]
    for i in range(len(members)):
        row = members[i]
        p = mask_of[i]
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
                if p != r and not _meet(masks, first, last, p, r):
                    adjacency[row, j] &= ~(np.uint64(1) << np.uint64(bit))
                    adjacency[column, row >> 6] &= ~(np.uint64(1) << np.uint64(row & 63))


@njit(cache=True, nogil=True)
def strike_by_mask(adjacency, members, mask_of, masks, first, last):  # type: ignore[no-untyped-def]
    """Test each pair of masks once and strike out whole groups of vertices that share a mask."""
    words = adjacency.shape[1]
    count = masks.shape[0]
    group = np.zeros((count, words), np.uint64)
    for i in range(len(members)):
        group[mask_of[i], members[i] >> 6] |= np.uint64(1) << np.uint64(members[i] & 63)
    apart = np.zeros((count, words), np.uint64)
    for p in range(count):
        for r in range(p):
            if not _meet(masks, first, last, p, r):
                for j in range(words):
                    apart[p, j] |= group[r, j]
                    apart[r, j] |= group[p, j]
    for i in range(len(members)):
        for j in range(words):
            adjacency[members[i], j] &= ~apart[mask_of[i], j]


@njit(cache=True, nogil=True)
def strike_by_value(adjacency, members, member_bits, mask_of, masks, values):  # type: ignore[no-untyped-def]
    """Collect, per mask, the vertices that accept one of its values; the rest of ``members`` is disjoint from it."""
    words = adjacency.shape[1]
    accepting = np.zeros((values, words), np.uint64)
    for i in range(len(members)):
        for j in range(masks.shape[1]):
            word = masks[mask_of[i], j]
            while word != 0:
                value = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                accepting[value, members[i] >> 6] |= np.uint64(1) << np.uint64(members[i] & 63)
    met = np.zeros((masks.shape[0], words), np.uint64)
    for p in range(masks.shape[0]):
        for j in range(masks.shape[1]):
            word = masks[p, j]
            while word != 0:
                value = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                for k in range(words):
                    met[p, k] |= accepting[value, k]
    for i in range(len(members)):
        for k in range(words):
            adjacency[members[i], k] &= met[mask_of[i], k] | ~member_bits[k]
