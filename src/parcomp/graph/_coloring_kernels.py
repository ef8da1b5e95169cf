"""Kernels for colorings and covers of a packed graph.

Invariants shared by all of them: ``adjacency`` is ``uint64[n, words]``, symmetric, with an empty diagonal and zero
bits beyond ``n``; ``order`` is a permutation of the vertices; ``classes[v]`` is the class of ``v``, numbered from 0
without gaps.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, has_bit, lowest_bit, popcount
from parcomp.jit import kernel

__all__ = ["class_maxima", "degrees", "first_fit", "peel", "saturation_order_fit", "tighten"]


@kernel
def degrees(adjacency):
    """The number of neighbors of each vertex."""
    result = np.zeros(adjacency.shape[0], np.int64)
    for v in range(adjacency.shape[0]):
        for j in range(adjacency.shape[1]):
            result[v] += popcount(adjacency[v, j])
    return result


@kernel
def class_maxima(classes, weights, count):
    """The largest weight in each class."""
    heaviest = np.zeros(count, np.int64)
    for v in range(len(classes)):
        heaviest[classes[v]] = max(heaviest[classes[v]], weights[v])
    return heaviest


@kernel
def saturation_order_fit(adjacency, classes, seen, key, base, count, work_limit):
    """DSatur: color next the vertex whose neighbors show most classes; ties by degree, then by number.

    ``count`` vertices are colored; goes on until all are or ``work_limit`` is used up, and returns how many are then,
    and the work.  ``seen[v]`` is the packed set of classes among the neighbors of ``v``; ``key[v]``, to begin with the
    degree, grows by ``base`` (more than any degree) with each of them, and is -1 once ``v`` is colored.
    """
    size, words = adjacency.shape
    work = np.int64(0)
    while count < size and work < work_limit:
        best = 0
        for v in range(1, size):
            if key[v] > key[best]:
                best = v
        key[best] = -1
        chosen = np.int64(0)
        for j in range(seen.shape[1]):
            free = ~seen[best, j]
            if free != 0:
                chosen = (j << 6) + lowest_bit(free)
                break
        classes[best] = chosen
        word, bit = chosen >> 6, bit_of(chosen)
        work += size + words
        for j in range(words):
            near = adjacency[best, j]
            while near != 0:
                u = (j << 6) + lowest_bit(near)
                near &= near - np.uint64(1)
                work += 1
                if key[u] >= 0 and seen[u, word] & bit == 0:
                    seen[u, word] |= bit
                    key[u] += base
        count += 1
    return count, work


@kernel
def first_fit(adjacency, order, classes, held, position, class_count, work_limit):
    """Give each vertex, in this order, the first class that holds none of its neighbors.

    Goes on from ``position`` in ``order``, with ``class_count`` classes of which ``held[c]`` is the packed set of
    members, until the end or until ``work_limit`` is used up.  Returns position, number of classes and the work.
    """
    size, words = adjacency.shape
    work = np.int64(0)
    while position < size and work < work_limit:
        v = order[position]
        chosen = class_count
        for c in range(class_count):
            clash = False
            for j in range(words):
                work += 1
                if adjacency[v, j] & held[c, j] != 0:
                    clash = True
                    break
            if not clash:
                chosen = c
                break
        if chosen == class_count:
            class_count += 1
        classes[v] = chosen
        held[chosen, v >> 6] |= bit_of(v)
        position += 1
        work += words
    return position, class_count, work


@kernel
def peel(adjacency, weights, order, sets, multipliers):
    """Peel independent sets off the weights until nothing is left; return how many sets were used.

    Each round takes a maximal independent set of the vertices with residual weight, greedily in ``order``, and
    subtracts its smallest residual from all of it.  So the multipliers of the sets that hold ``v`` sum to exactly
    ``weights[v]``, and a round exhausts at least one vertex: ``sets`` (``uint64[n, words]``, zero on entry) and
    ``multipliers`` suffice.
    """
    size, words = adjacency.shape
    residual = weights.copy()
    queue = order.copy()
    left = size
    count = 0
    blocked = np.zeros(words, np.uint64)
    chosen = np.empty(size, np.int64)
    while left > 0:
        blocked[:] = 0
        taken = 0
        smallest = residual[queue[0]]
        for i in range(left):
            v = queue[i]
            if not has_bit(blocked[v >> 6], v):
                for j in range(words):
                    blocked[j] |= adjacency[v, j]
                chosen[taken] = v
                taken += 1
                smallest = min(smallest, residual[v])
        for i in range(taken):
            v = chosen[i]
            residual[v] -= smallest
            sets[count, v >> 6] |= bit_of(v)
        multipliers[count] = smallest
        count += 1
        kept = 0
        for i in range(left):
            if residual[queue[i]] > 0:
                queue[kept] = queue[i]
                kept += 1
        left = kept
    return count


@kernel
def tighten(adjacency, weights, sets, multipliers, count):
    """Grow each set to a maximal independent one, then lower multipliers where every member is covered beyond need.

    Keeps "the multipliers of the sets that hold ``v`` sum to at least ``weights[v]``" and never raises a multiplier.
    """
    size, words = adjacency.shape
    excess = -weights
    blocked = np.zeros(words, np.uint64)
    for s in range(count):
        blocked[:] = 0
        for v in range(size):
            if has_bit(sets[s, v >> 6], v):
                for j in range(words):
                    blocked[j] |= adjacency[v, j]
        for v in range(size):
            word, bit = v >> 6, bit_of(v)
            if blocked[word] & bit == 0:
                if sets[s, word] & bit == 0:
                    sets[s, word] |= bit
                    for j in range(words):
                        blocked[j] |= adjacency[v, j]
                excess[v] += multipliers[s]
    for s in range(count):
        slack = multipliers[s]
        for v in range(size):
            if slack > 0 and has_bit(sets[s, v >> 6], v):
                slack = min(slack, excess[v])
        if slack > 0:
            multipliers[s] -= slack
            for v in range(size):
                if has_bit(sets[s, v >> 6], v):
                    excess[v] -= slack
