"""Kernels on pairs of adjacent vertices: list them, find what both constrain, strike them out.

``adjacency`` is ``uint64[t, words]``, symmetric, with an empty diagonal and zero bits beyond ``t``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, lowest_bit, popcount
from parcomp.graph._packed_kernels import upper_part
from parcomp.jit import kernel

__all__ = ["adjacent_pairs", "common_ranks", "count_pairs", "strike"]


@kernel
def count_pairs(adjacency, counts):
    """``counts[u]`` receives the number of neighbors of ``u`` that come after it."""
    for u in range(adjacency.shape[0]):
        counts[u] = 0
        for j in range(u >> 6, adjacency.shape[1]):
            word = adjacency[u, j] & upper_part(u, j)
            counts[u] += popcount(word)


@kernel
def adjacent_pairs(adjacency, begin, end, first, second):
    """The adjacent pairs ``u < v`` with ``begin <= u < end``, written to ``first`` and ``second`` in order."""
    found = 0
    for u in range(begin, end):
        for j in range(u >> 6, adjacency.shape[1]):
            word = adjacency[u, j] & upper_part(u, j)
            while word != 0:
                first[found] = u
                second[found] = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                found += 1
    return found


@kernel
def common_ranks(first, second, begin, end, rank, pair, one, other):
    """The positions of equal ranks of both vertices of each pair.

    ``rank[begin[v]:end[v]]`` ascends strictly.  For the i-th find, ``pair[i]`` names the pair, ``one[i]`` and
    ``other[i]`` the positions in ``rank``; the arrays must have room for the shorter list of each pair.
    """
    found = 0
    for i in range(len(first)):
        p, p_end = begin[first[i]], end[first[i]]
        r, r_end = begin[second[i]], end[second[i]]
        while p < p_end and r < r_end:
            if rank[p] < rank[r]:
                p += 1
            elif rank[p] > rank[r]:
                r += 1
            else:
                pair[found] = i
                one[found] = p
                other[found] = r
                found += 1
                p += 1
                r += 1
    return found


@kernel
def strike(adjacency, first, second):
    """Strike out the pairs ``first[i]``, ``second[i]``."""
    for i in range(len(first)):
        u, v = first[i], second[i]
        adjacency[u, v >> 6] &= ~bit_of(v)
        adjacency[v, u >> 6] &= ~bit_of(u)
