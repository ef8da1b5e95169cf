"""Kernels that prepare a clique search: what can matter at all, an order, and a first clique.

``adjacency`` is packed, ``uint64[n, words]``, symmetric with an empty diagonal; ``weights`` are positive.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import has_bit, lowest_bit, xorshift
from parcomp.graph._packed_kernels import order_by_degeneracy, weigh_neighbors
from parcomp.jit import inlined, inner_kernel, kernel

__all__ = ["core", "degeneracy_order", "local_search"]

UNLIMITED = np.int64(1) << 62


@kernel
def core(adjacency, weights, lower):
    """The vertices that may be in a clique heavier than ``lower``, as booleans.

    A vertex goes when it and all its remaining neighbors together weigh at most ``lower``: then so does any clique that
    holds it and none of the vertices dropped before it.
    """
    size, words = adjacency.shape
    alive = np.ones(size, np.bool_)
    reach = weights.copy()
    weigh_neighbors(adjacency, weights, reach, np.int64(0), UNLIMITED)
    stack = np.empty(size, np.int64)
    top = 0
    for v in range(size):
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
    size = len(weights)
    reach, around, order = weights.copy(), np.zeros(size, np.float64), np.empty(size, np.int64)
    weigh_neighbors(adjacency, weights, reach, np.int64(0), UNLIMITED)
    # As floats, since these sums may be too large for integers.
    weigh_neighbors(adjacency, reach.astype(np.float64), around, np.int64(0), UNLIMITED)
    order_by_degeneracy(adjacency, weights, reach, around, np.zeros(size, np.bool_), order, np.int64(size), UNLIMITED)
    return order


@inlined
def _pick(state, bound):
    """A random number below ``bound``."""
    return (state >> np.uint64(11)) % np.uint64(bound)


@inner_kernel
def _choose(weights, inside, missing, tabu, step, record, state):
    """The vertex that gains most, one of several at random, or -1; and the state of the generator.

    Bringing ``v`` in gains its weight and loses ``missing[v]``.  Vertices that are tabu beyond this step are passed
    over unless they gain more than ``record``.
    """
    choice, choice_gain = -1, np.int64(0)
    ties = np.uint64(0)
    for v in range(len(weights)):
        if inside[v]:
            continue
        gain = weights[v] - missing[v]
        if choice >= 0 and gain < choice_gain:
            continue
        if tabu[v] > step and gain <= record:
            continue
        if choice < 0 or gain > choice_gain:
            ties = np.uint64(0)
        ties += np.uint64(1)
        state = xorshift(state)
        if ties == np.uint64(1) or _pick(state, ties) == np.uint64(0):
            choice = v
            choice_gain = gain
    return choice, state


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
        choice, state = _choose(weights, inside, missing, tabu, step, best - current, state)
        if step - last_gain > 200 + size or choice < 0:
            # Start again from a random vertex.
            state = xorshift(state)
            choice = np.int64(_pick(state, size))
            inside[:] = False
            missing[:] = 0
            tabu[:] = 0
            current = np.int64(0)
            last_gain = step
        for u in range(size):
            if u == choice or has_bit(adjacency[choice, u >> 6], u):
                continue
            missing[u] += weights[choice]
            if inside[u]:
                inside[u] = False
                current -= weights[u]
                state = xorshift(state)
                tabu[u] = step + 7 + np.int64(_pick(state, 6))
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
