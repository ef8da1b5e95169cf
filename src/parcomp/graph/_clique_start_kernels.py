"""Kernels that prepare a clique search: subgraphs, what can matter at all, an order, and a first clique.

``adjacency`` is packed, ``uint64[n, words]``, symmetric with an empty diagonal; ``weights`` are positive.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit
from parcomp.jit import kernel

__all__ = ["core", "degeneracy_order", "induced", "local_search"]


@kernel
def induced(adjacency, chosen):
    """The adjacency matrix of the subgraph of ``chosen``, renumbered in that order."""
    size = len(chosen)
    words = (size + 63) >> 6
    result = np.zeros((size, words), np.uint64)
    place = np.full(adjacency.shape[0], -1, np.int64)
    for i in range(size):
        place[chosen[i]] = i
    for i in range(size):
        for j in range(adjacency.shape[1]):
            word = adjacency[chosen[i], j]
            while word != 0:
                at = place[(j << 6) + lowest_bit(word)]
                word &= word - np.uint64(1)
                if at >= 0:
                    result[i, at >> 6] |= np.uint64(1) << np.uint64(at & 63)
    return result


@kernel
def core(adjacency, weights, lower):
    """The vertices that may be in a clique heavier than ``lower``, as booleans.

    A vertex goes when it and all its remaining neighbors together weigh at most ``lower``: then so does any clique that
    holds it and none of the vertices dropped before it.
    """
    size, words = adjacency.shape
    alive = np.ones(size, np.bool_)
    reach = weights.copy()
    stack = np.empty(size, np.int64)
    top = 0
    for v in range(size):
        for j in range(words):
            word = adjacency[v, j]
            while word != 0:
                reach[v] += weights[(j << 6) + lowest_bit(word)]
                word &= word - np.uint64(1)
        if reach[v] <= lower:
            alive[v] = False
            stack[top] = v
            top += 1
    while top > 0:
        top -= 1
        v = stack[top]
        for j in range(words):
            word = adjacency[v, j]
            while word != 0:
                u = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                reach[u] -= weights[v]
                if alive[u] and reach[u] <= lower:
                    alive[u] = False
                    stack[top] = u
                    top += 1
    return alive


@kernel
def degeneracy_order(adjacency, weights):
    """Vertices in reverse order of removal, where the next to go has the lightest remaining neighborhood and itself."""
    size, words = adjacency.shape
    reach = weights.copy()
    for v in range(size):
        for j in range(words):
            word = adjacency[v, j]
            while word != 0:
                reach[v] += weights[(j << 6) + lowest_bit(word)]
                word &= word - np.uint64(1)
    around = np.zeros(size, np.float64)
    for v in range(size):
        for j in range(words):
            word = adjacency[v, j]
            while word != 0:
                around[v] += np.float64(reach[(j << 6) + lowest_bit(word)])
                word &= word - np.uint64(1)
    alive = np.ones(size, np.bool_)
    order = np.empty(size, np.int64)
    for i in range(size - 1, -1, -1):
        best = -1
        for v in range(size):
            if alive[v] and (
                best < 0 or reach[v] < reach[best] or (reach[v] == reach[best] and around[v] < around[best])
            ):
                best = v
        alive[best] = False
        order[i] = best
        for j in range(words):
            word = adjacency[best, j]
            while word != 0:
                u = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                reach[u] -= weights[best]
    return order


@kernel
def local_search(adjacency, weights, steps, stop_at, seed):
    """A heavy clique by tabu search: bring a vertex in, drop the members it is not adjacent to.

    Runs at most ``steps`` moves and stops at a clique of weight ``stop_at``.  Returns the members as booleans.
    """
    size, words = adjacency.shape
    inside = np.zeros(size, np.bool_)
    best_inside = np.zeros(size, np.bool_)
    missing = np.zeros(size, np.int64)
    tabu = np.zeros(size, np.int64)
    state = np.uint64(seed) * np.uint64(2685821657736338717) + np.uint64(88172645463325252)
    current = np.int64(0)
    best = np.int64(0)
    last_gain = 0
    for step in range(steps):
        choice = -1
        choice_gain = np.int64(0)
        ties = np.uint64(0)
        for v in range(size):
            if inside[v]:
                continue
            gain = weights[v] - missing[v]
            if choice >= 0 and gain < choice_gain:
                continue
            if tabu[v] > step and current + gain <= best:
                continue
            if choice < 0 or gain > choice_gain:
                ties = np.uint64(0)
            ties += np.uint64(1)
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            if ties == np.uint64(1) or (state >> np.uint64(11)) % ties == np.uint64(0):
                choice = v
                choice_gain = gain
        if step - last_gain > 200 + size or choice < 0:
            # Start again from a random vertex.
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            choice = np.int64((state >> np.uint64(11)) % np.uint64(size))
            inside[:] = False
            missing[:] = 0
            tabu[:] = 0
            current = np.int64(0)
            last_gain = step
        for u in range(size):
            apart = adjacency[choice, u >> 6] >> np.uint64(u & 63) & np.uint64(1) == np.uint64(0)
            if u == choice or not apart:
                continue
            missing[u] += weights[choice]
            if inside[u]:
                inside[u] = False
                current -= weights[u]
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                tabu[u] = step + 7 + np.int64((state >> np.uint64(11)) % np.uint64(6))
                for j in range(words):
                    far = ~adjacency[u, j]
                    while far != 0:
                        x = (j << 6) + lowest_bit(far)
                        far &= far - np.uint64(1)
                        if x < size and x != u:
                            missing[x] -= weights[u]
        inside[choice] = True
        current += weights[choice]
        if current > best:
            best = current
            best_inside[:] = inside
            last_gain = step
            if best >= stop_at:
                break
    return best_inside
