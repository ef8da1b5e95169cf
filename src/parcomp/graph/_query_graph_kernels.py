"""Kernels that strike disjoint pairs out of a packed adjacency matrix, one attribute at a time.

``adjacency`` is ``uint64[t, words]``, symmetric, with an empty diagonal and zero bits beyond ``t``.  A pair is struck
out iff its two masks share no bit.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.bits import bit_of, fill_ones, lowest_bit, popcount
from parcomp.graph._packed_kernels import upper_part
from parcomp.jit import inner_kernel, kernel

__all__ = [
    "Concerned",
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


class Concerned(NamedTuple):
    """The vertices that an attribute concerns.

    ``vertices`` ascend, and ``bits`` is the same set packed; ``mask_of[i]`` is the row of ``masks`` that belongs to
    ``vertices[i]``.  The words of mask ``p`` that are not zero lie from ``first[p]`` to ``last[p]``.
    """

    vertices: npt.NDArray[np.int64]
    bits: npt.NDArray[np.uint64]
    mask_of: npt.NDArray[np.int64]
    masks: npt.NDArray[np.uint64]
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]


@kernel
def complete(size, words):
    """The packed adjacency matrix of the complete graph."""
    adjacency = np.zeros((size, words), np.uint64)
    for i in range(size):
        fill_ones(adjacency[i], size)
        adjacency[i, i >> 6] &= ~bit_of(i)
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


@inner_kernel
def _meet(masks, first, last, p, r):
    """Whether masks ``p`` and ``r`` share a bit."""
    for j in range(max(first[p], first[r]), min(last[p], last[r]) + 1):
        if masks[p, j] & masks[r, j] != 0:
            return True
    return False


@kernel
def strike_by_pair(adjacency, concerned, place, begin, work_limit):
    """Test the adjacent pairs of ``vertices[begin]`` and those after it; returns where it stopped, and the work.

    ``place`` maps a vertex to its position in ``vertices``.  Stops before the first vertex that it comes to with
    ``work_limit`` used up.
    """
    vertices, bits, mask_of, masks, first, last = concerned
    words = adjacency.shape[1]
    work = np.int64(0)
    i = begin
    while i < len(vertices) and work < work_limit:
        row = vertices[i]
        p = mask_of[i]
        work += words
        for j in range(row >> 6, words):
            # Only partners above the row, so that a pair is tested once.
            word = adjacency[row, j] & bits[j] & upper_part(row, j)
            while word != 0:
                column = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                r = mask_of[place[column]]
                work += 4
                if p != r and not _meet(masks, first, last, p, r):
                    # A test that succeeds stops early; one that fails goes through all words.
                    work += max(0, min(last[p], last[r]) - max(first[p], first[r]))
                    adjacency[row, j] &= ~bit_of(column)
                    adjacency[column, row >> 6] &= ~bit_of(row)
        i += 1
    return i, work


@kernel
def group_by_mask(concerned):
    """For each mask the packed set of the vertices that have it."""
    vertices, mask_of = concerned.vertices, concerned.mask_of
    group = np.zeros((len(concerned.masks), len(concerned.bits)), np.uint64)
    for i in range(len(vertices)):
        group[mask_of[i], vertices[i] >> 6] |= bit_of(vertices[i])
    return group


@kernel
def part_masks(concerned, group, apart, begin, work_limit):
    """Test mask ``begin`` and those after it against all before; ``apart[p]`` collects who is disjoint from mask ``p``.

    Returns where it stopped, at the latest with ``work_limit`` used up, and the work.
    """
    masks, first, last = concerned.masks, concerned.first, concerned.last
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
def strike_apart(adjacency, concerned, apart):
    """Strike out, for each vertex concerned, what its mask is disjoint from."""
    vertices, mask_of = concerned.vertices, concerned.mask_of
    for i in range(len(vertices)):
        for j in range(adjacency.shape[1]):
            adjacency[vertices[i], j] &= ~apart[mask_of[i], j]


@kernel
def gather_accepting(accepting, concerned):
    """Add each vertex concerned to the packed sets ``accepting[v]`` of the values ``v`` that its mask holds."""
    vertices, mask_of, masks = concerned.vertices, concerned.mask_of, concerned.masks
    for i in range(len(vertices)):
        for j in range(masks.shape[1]):
            word = masks[mask_of[i], j]
            while word != 0:
                value = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                accepting[value, vertices[i] >> 6] |= bit_of(vertices[i])


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
def strike_unmet(adjacency, concerned, met):
    """Strike out, for each vertex concerned, the others of them that its mask does not meet."""
    vertices, bits, mask_of = concerned.vertices, concerned.bits, concerned.mask_of
    for i in range(len(vertices)):
        for k in range(adjacency.shape[1]):
            adjacency[vertices[i], k] &= met[mask_of[i], k] | ~bits[k]
