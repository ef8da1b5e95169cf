"""Kernels on packed graphs that several searches share: what is around a vertex, an order, subgraphs, independent sets.

``adjacency`` is ``uint64[n, words]``, symmetric, with an empty diagonal and zero bits beyond ``n``; ``weights`` are
positive.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, lowest_bit, popcount, weigh_bits
from parcomp.jit import inlined, kernel

__all__ = ["choose_apart", "fill_induced", "induced", "order_by_degeneracy", "upper_part", "weigh_neighbors"]


@kernel
def weigh_neighbors(adjacency, weights, reach, begin, work_limit):
    """Add to ``reach[v]``, from vertex ``begin`` on, the weight of its neighbors; where it stopped, and the work."""
    v = begin
    work = np.int64(0)
    while v < len(weights) and work < work_limit:
        reach[v] += weigh_bits(adjacency[v], weights)
        for j in range(adjacency.shape[1]):
            work += 1 + popcount(adjacency[v, j])
        v += 1
    return v, work


@kernel
def order_by_degeneracy(adjacency, weights, reach, around, placed, order, left, work_limit):
    """Fill ``order`` from place ``left - 1`` down with the vertex of least ``reach`` among those that remain.

    ``reach`` is the weight of the neighbors that remain, perhaps with the vertex itself; ties go by ``around``, then by
    number.  ``placed`` says who does not remain.  Stops with ``work_limit`` used up; returns the places left and the
    work.
    """
    size, words = adjacency.shape
    work = np.int64(0)
    while left > 0 and work < work_limit:
        least = np.int64(-1)
        for v in range(size):
            if not placed[v] and (
                least < 0 or reach[v] < reach[least] or (reach[v] == reach[least] and around[v] < around[least])
            ):
                least = v
        left -= 1
        order[left] = least
        placed[least] = True
        work += size + words
        for j in range(words):
            word = adjacency[least, j]
            while word:
                reach[(j << 6) + lowest_bit(word)] -= weights[least]
                word &= word - np.uint64(1)
                work += 1
    return left, work


@kernel
def fill_induced(adjacency, chosen, place, result, begin, work_limit):
    """Write the subgraph of ``chosen``, renumbered in that order, to the zeros of ``result``, from row ``begin`` on.

    ``place`` is where a vertex is in ``chosen``, -1 if nowhere.  Goes on until the end or with ``work_limit`` used up;
    returns where it stopped and the work.
    """
    i = begin
    work = np.int64(0)
    while i < len(chosen) and work < work_limit:
        for j in range(adjacency.shape[1]):
            word = adjacency[chosen[i], j]
            while word:
                at = place[(j << 6) + lowest_bit(word)]
                word &= word - np.uint64(1)
                work += 1
                if at >= 0:
                    result[i, at >> 6] |= bit_of(at)
        work += adjacency.shape[1]
        i += 1
    return i, work


@kernel
def induced(adjacency, chosen):
    """The adjacency matrix of the subgraph of ``chosen``, renumbered in that order."""
    result = np.zeros((len(chosen), (len(chosen) + 63) >> 6), np.uint64)
    place = np.full(len(adjacency), -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    fill_induced(adjacency, chosen, place, result, np.int64(0), np.int64(1) << 62)
    return result


@inlined
def upper_part(v, j):
    """The bits of word ``j``, not before that of ``v``, from ``v`` on."""
    return ~np.uint64(0) << np.uint64(v & 63) if j == v >> 6 else ~np.uint64(0)


@inlined
def choose_apart(adjacency, free, residual, members, start, most):
    """Fill ``members`` with non-adjacent vertices of ``free``, all that fit or ``most``; size, least residual, work.

    ``adjacency`` has one axis here, the rows one after the other.  ``free`` has no vertex before word ``start``, and
    what is chosen or has a chosen neighbor leaves it.
    """
    words = len(free)
    size, work = np.int64(0), np.int64(0)
    least = np.int64(1) << 62
    for k in range(start, words):
        while free[k]:
            v = (k << 6) + lowest_bit(free[k])
            free[k] &= free[k] - np.uint64(1)
            members[size] = v
            size += 1
            least = min(least, residual[v])
            work += words - k
            if size == most:
                return size, least, work + words
            for j in range(k, words):
                free[j] &= ~adjacency[v * words + j]
    return size, least, work + words
