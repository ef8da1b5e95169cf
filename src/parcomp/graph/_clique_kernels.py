"""Kernels of the weighted clique search.

Invariants shared by all of them: ``adjacency`` is ``uint64[n, words]``, symmetric, with an empty diagonal and zero bits
beyond ``n``; ``weights`` is ``int64[n]``, positive.  Only integers enter a bound.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit, popcount
from parcomp.jit import kernel

__all__ = ["expand", "open_branch", "search"]

# Work allowed for absorbing vertices at a node, in word operations, as a multiple of the work of peeling.
ABSORB_FACTOR = 16
ABSORB_BASE = 1 << 12


@kernel
def _peel_once(adjacency, rest, queue, residual, taken, room):
    """Choose a maximal independent set of ``rest`` into ``taken`` and subtract at most ``room`` from its residuals.

    Exhausted vertices leave ``rest``.  Returns the number chosen and what was subtracted.
    """
    words = adjacency.shape[1]
    for j in range(words):
        queue[j] = rest[j]
    count = 0
    least = room
    for j in range(words):
        while queue[j] != 0:
            v = (j << 6) + lowest_bit(queue[j])
            queue[j] &= queue[j] - np.uint64(1)
            for k in range(j, words):
                queue[k] &= ~adjacency[v, k]
            taken[count] = v
            count += 1
            least = min(least, residual[v])
    for i in range(count):
        v = taken[i]
        residual[v] -= least
        if residual[v] == 0:
            rest[v >> 6] &= ~(np.uint64(1) << np.uint64(v & 63))
    return count, least


@kernel
def _first_excluder(adjacency, x, units, count):
    """The first of the forced vertices ``units[:count, 1]`` that is not adjacent to ``x``; there is one."""
    for i in range(count):
        u = units[i, 1]
        if adjacency[u, x >> 6] >> np.uint64(x & 63) & np.uint64(1) == np.uint64(0):
            return i
    return count


@kernel
def _refute(adjacency, v, sets, available, count, possible, units):
    """Find sets that no clique holding ``v`` meets all of, by unit propagation; return the last of them, or -1.

    ``possible`` shrinks to the vertices that a clique can hold which contains ``v`` and meets the sets looked at.  A
    set with one possible vertex forces it: its row in ``units`` is (set, vertex, needed).  A set with none refutes;
    walking back, the forcing sets without which some vertex would still be possible are marked as needed.  Sets that
    hold ``v`` or a forced vertex are met anyway and prove nothing.
    """
    words = adjacency.shape[1]
    forced = 0
    work = np.int64(0)
    for j in range(words):
        possible[j] = adjacency[v, j]
    possible[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    empty = -1
    changed = True
    while changed and empty < 0:
        changed = False
        for s in range(count):
            if available[s] == 0:
                continue
            work += words
            met = np.int64(0)
            only = np.int64(-1)
            for j in range(words):
                word = sets[s, j] & possible[j]
                if word != 0:
                    met += popcount(word)
                    if met > 1:
                        break
                    only = (j << 6) + lowest_bit(word)
            if met == 0:
                empty = s
                break
            if met > 1 or only == v:
                continue
            known = False
            for i in range(forced):
                known |= units[i, 1] == only
            if known:
                continue
            units[forced, 0] = s
            units[forced, 1] = only
            units[forced, 2] = 0
            forced += 1
            for j in range(words):
                possible[j] &= adjacency[only, j]
            # The forced vertices stay possible: they are adjacent to each other and not to themselves.
            possible[only >> 6] |= np.uint64(1) << np.uint64(only & 63)
            changed = True
    if empty < 0:
        return -1, 0, work
    last = forced
    s = np.int64(empty)
    at = forced
    while True:
        for j in range(words):
            word = sets[s, j] & adjacency[v, j]
            while word != 0:
                x = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                if at < forced and x == units[at, 1]:
                    continue
                units[_first_excluder(adjacency, x, units, at), 2] = 1
        at -= 1
        while at >= 0 and units[at, 2] == 0:
            at -= 1
        if at < 0:
            return empty, last, work
        s = units[at, 0]


@kernel
def _absorb(adjacency, v, residual, sets, available, count, possible, units):
    """Whether the residual weight of ``v`` comes for free on top of the peeled sets, and the work done.

    If no clique meets {v} and each of k sets at once, it collects at most k·d from the k + 1 of them when each counts
    d.  So d of the weight of ``v`` costs nothing.  What the argument uses of each multiplier is taken from
    ``available``, so that no part of it serves twice; all of it is given back if some of the weight of ``v`` remains.
    """
    for s in range(count):
        units[s, 3] = available[s]
    left = residual[v]
    work = np.int64(count)
    while left > 0:
        empty, forced, spent = _refute(adjacency, v, sets, available, count, possible, units)
        work += spent
        if empty < 0:
            for s in range(count):
                available[s] = units[s, 3]
            return False, work
        part = min(left, available[empty])
        for i in range(forced):
            if units[i, 2] == 1:
                part = min(part, available[units[i, 0]])
        left -= part
        available[empty] -= part
        for i in range(forced):
            if units[i, 2] == 1:
                available[units[i, 0]] -= part
    return True, work


@kernel
def expand(adjacency, weights, candidates, target, branch_vertex, branch_bound, begin, scratch):
    """Split ``candidates`` into vertices that together allow no clique above ``target`` and vertices to branch on.

    The latter are written to ``branch_vertex[begin:end]``, ascending, with ``branch_bound``, ascending too; returns
    ``end`` and the work done in word operations.  ``branch_bound[i]`` bounds every clique among the vertices that are
    not branched on and the branches up to ``i``: sets are peeled with multipliers summing to at most ``target``,
    vertices whose residual comes for free cost nothing beyond, and each branch costs at most its residual.

    ``scratch`` holds work arrays: residual weights ``int64[n]``, two packed sets, a list ``int64[n]``, the peeled
    sets ``uint64[n + 1, words]``, what is available of their multipliers ``int64[n + 1]``, and ``int64[n + 1, 4]``
    for propagation.
    """
    residual, rest, queue, taken, sets, available, units = scratch
    words = adjacency.shape[1]
    work = np.int64(0)
    for j in range(words):
        rest[j] = candidates[j]
        word = rest[j]
        while word != 0:
            v = (j << 6) + lowest_bit(word)
            word &= word - np.uint64(1)
            residual[v] = weights[v]
    peeled = np.int64(0)
    count = 0
    while peeled < target:
        some = False
        for j in range(words):
            some |= rest[j] != 0
        if not some:
            return begin, work
        chosen, part = _peel_once(adjacency, rest, queue, residual, taken, target - peeled)
        for j in range(words):
            sets[count, j] = 0
        for i in range(chosen):
            sets[count, taken[i] >> 6] |= np.uint64(1) << np.uint64(taken[i] & 63)
        available[count] = part
        count += 1
        peeled += part
        work += (chosen + 2) * words
    # Absorbing is worth a multiple of what peeling cost, and on large graphs no more than that.
    limit = ABSORB_FACTOR * work + ABSORB_BASE
    spent = np.int64(0)
    for j in range(words):
        word = rest[j]
        while word != 0 and spent < limit:
            low = lowest_bit(word)
            word &= word - np.uint64(1)
            free, tried = _absorb(adjacency, (j << 6) + low, residual, sets, available, count, queue, units)
            spent += tried
            if free:
                rest[j] &= ~(np.uint64(1) << np.uint64(low))
    work += spent
    end = begin
    # Sets of multiplier zero bound nothing below zero.
    bound = max(target, np.int64(0))
    for j in range(words):
        word = rest[j]
        while word != 0:
            v = (j << 6) + lowest_bit(word)
            word &= word - np.uint64(1)
            bound += residual[v]
            branch_vertex[end] = v
            branch_bound[end] = bound
            end += 1
    return end, work


@kernel
def open_branch(adjacency, weights, settled, branch_vertex, position, lower, spare_vertex, spare_bound, scratch, room):
    """Go up the root's branches from ``position`` to one that its own bound does not close, or past the last.

    ``settled`` holds the vertices among which no clique is heavier than ``lower``; branches that are closed join it.
    Returns the position and whether ``room`` for work ran out there.
    """
    words = adjacency.shape[1]
    count = len(branch_vertex)
    work = np.int64(0)
    candidates = np.empty(words, np.uint64)
    while position < count:
        if work > room:
            return position, True
        v = branch_vertex[position]
        for j in range(words):
            candidates[j] = settled[j] & adjacency[v, j]
        end, spent = expand(adjacency, weights, candidates, lower - weights[v], spare_vertex, spare_bound, 0, scratch)
        work += spent + words
        if end > 0:
            break
        settled[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
        position += 1
    return position, False


@kernel
def search(
    adjacency,
    weights,
    branch_vertex,
    branch_bound,
    candidates,
    begin,
    top,
    path,
    gathered,
    best,
    counters,
    scratch,
    room,
):
    """Branch and bound by depth until done (0), out of ``room`` for work (1) or of branch memory (2); resumable.

    The node at depth d has the vertices ``candidates[d]`` not yet branched away, the clique ``path[:d]`` of weight
    ``gathered[d]``, and open branches ``begin[d]:top[d]`` with ascending ``branch_bound``; it is the last branch that
    is taken next, and where its bound does not help, none before it does.  ``counters`` holds depth, incumbent
    weight, the length of the incumbent in ``best`` (0 while nothing beats the weight handed in), and nodes.
    """
    words = adjacency.shape[1]
    depth = counters[0]
    lower = counters[1]
    work = np.int64(0)
    status = 0
    while depth >= 0:
        if work > room:
            status = 1
            break
        if top[depth] == begin[depth]:
            depth -= 1
            continue
        if top[depth] + len(weights) > len(branch_vertex):
            status = 2
            break
        i = top[depth] - 1
        if gathered[depth] + branch_bound[i] <= lower:
            depth -= 1
            continue
        top[depth] = i
        v = branch_vertex[i]
        candidates[depth, v >> 6] &= ~(np.uint64(1) << np.uint64(v & 63))
        path[depth] = v
        weight = gathered[depth] + weights[v]
        if weight > lower:
            lower = weight
            counters[2] = depth + 1
            for k in range(depth + 1):
                best[k] = path[k]
        some = False
        for j in range(words):
            word = candidates[depth, j] & adjacency[v, j]
            candidates[depth + 1, j] = word
            some |= word != 0
        work += words
        counters[3] += 1
        if some:
            end, spent = expand(
                adjacency, weights, candidates[depth + 1], lower - weight, branch_vertex, branch_bound, i, scratch
            )
            work += spent
            if end > i:
                depth += 1
                gathered[depth] = weight
                begin[depth] = i
                top[depth] = end
    counters[0] = depth
    counters[1] = lower
    return status
