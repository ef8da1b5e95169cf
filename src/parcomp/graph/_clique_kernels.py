"""Kernels of the weighted clique search.  Only integers enter a bound."""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.bits import bit_of, has_bit, lowest_bit, popcount
from parcomp.graph._packed_kernels import choose_apart
from parcomp.jit import inlined, inner_kernel, kernel

__all__ = ["Branches", "Nodes", "PackedGraph", "Scratch", "expand", "open_branch", "search"]

# Work allowed for absorbing vertices at a node, in word operations, as a multiple of the work of peeling.
ABSORB_FACTOR = 16
ABSORB_BASE = 1 << 12

# Columns of ``Scratch.units``: a set that forces a vertex, the vertex, whether the refutation needs it; and, for each
# set, what was available of it before.
SET, VERTEX, NEEDED, BEFORE = range(4)

# Entries of the counters of a search: depth, weight of the incumbent, its length (0 while nothing beats the weight
# handed in), and nodes.
DEPTH, LOWER, LENGTH, NODES = range(4)

# How a slice of a search ends: with the search complete, with the work used up, or for want of branch memory.
DONE, PAUSED, NO_BRANCHES = range(3)


class PackedGraph(NamedTuple):
    """``adjacency`` is symmetric, with an empty diagonal and zero bits beyond the last vertex; weights are positive."""

    adjacency: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.int64]


class Branches(NamedTuple):
    """Vertices to branch on, of each node one after the other, with ``bound`` ascending within a node.

    ``bound[i]`` bounds every clique among the vertices that its node does not branch on and its branches up to ``i``.
    """

    vertex: npt.NDArray[np.int32]
    bound: npt.NDArray[np.int64]


class Nodes(NamedTuple):
    """The node at depth d: ``candidates[d]`` not yet branched away, the clique ``path[:d]`` of weight ``gathered[d]``.

    Its open branches are ``begin[d] … top[d] - 1``; the last is taken next, and where its bound does not help, none
    before it does.
    """

    candidates: npt.NDArray[np.uint64]
    begin: npt.NDArray[np.int64]
    top: npt.NDArray[np.int64]
    path: npt.NDArray[np.int64]
    gathered: npt.NDArray[np.int64]


class Scratch(NamedTuple):
    """Work space of one node at a time.

    ``residual[v]`` is the weight of ``v`` that peeled sets do not cover; ``rest`` and ``queue`` are packed sets and
    ``taken`` a list of vertices; ``sets[s]`` is a peeled set and ``available[s]`` what is not spent of its multiplier.
    """

    residual: npt.NDArray[np.int64]
    rest: npt.NDArray[np.uint64]
    queue: npt.NDArray[np.uint64]
    taken: npt.NDArray[np.int64]
    sets: npt.NDArray[np.uint64]
    available: npt.NDArray[np.int64]
    units: npt.NDArray[np.int64]


@kernel
def _peel_once(adjacency, rest, queue, residual, taken, room):
    """Choose a maximal independent set of ``rest`` into ``taken`` and subtract at most ``room`` from its residuals.

    Exhausted vertices leave ``rest``.  Returns the number chosen and what was subtracted.
    """
    for j in range(len(rest)):
        queue[j] = rest[j]
    count, least, _ = choose_apart(adjacency.ravel(), queue, residual, taken, 0, len(taken) + 1)
    least = min(least, room)
    for i in range(count):
        v = taken[i]
        residual[v] -= least
        if residual[v] == 0:
            rest[v >> 6] &= ~bit_of(v)
    return count, least


@inner_kernel
def _first_excluder(adjacency, x, units, count):
    """The first of the forced vertices ``units[:count, VERTEX]`` that is not adjacent to ``x``; there is one."""
    for i in range(count):
        if not has_bit(adjacency[units[i, VERTEX], x >> 6], x):
            return i
    return count


@inlined
def _propagate(adjacency, v, count, scratch):
    """Meet the sets one by one and force what must be met: the first set that cannot be, or -1, units and the work."""
    sets, available, possible, units = scratch.sets, scratch.available, scratch.queue, scratch.units
    words = adjacency.shape[1]
    forced = 0
    work = np.int64(0)
    for j in range(words):
        possible[j] = adjacency[v, j]
    possible[v >> 6] |= bit_of(v)
    empty = np.int64(-1)
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
                empty = np.int64(s)
                break
            if met > 1 or only == v:
                continue
            known = False
            for i in range(forced):
                known |= units[i, VERTEX] == only
            if known:
                continue
            units[forced, SET] = s
            units[forced, VERTEX] = only
            units[forced, NEEDED] = 0
            forced += 1
            for j in range(words):
                possible[j] &= adjacency[only, j]
            # The forced vertices stay possible: they are adjacent to each other and not to themselves.
            possible[only >> 6] |= bit_of(only)
            changed = True
    return empty, forced, work


@inlined
def _refute(adjacency, v, count, scratch):
    """Find sets that no clique holding ``v`` meets all of, by unit propagation; the last of them, or -1, units, work.

    ``scratch.queue`` shrinks to the vertices that a clique can hold which contains ``v`` and meets the sets looked at.
    A set with one possible vertex forces it, which is a row of ``units``.  A set with none refutes; walking back, the
    forcing sets without which some vertex would still be possible are marked as needed.  Sets that hold ``v`` or a
    forced vertex are met anyway and prove nothing.
    """
    sets, units = scratch.sets, scratch.units
    empty, forced, work = _propagate(adjacency, v, count, scratch)
    if empty < 0:
        return empty, 0, work
    s, at = empty, forced
    while True:
        for j in range(adjacency.shape[1]):
            word = sets[s, j] & adjacency[v, j]
            while word != 0:
                x = (j << 6) + lowest_bit(word)
                word &= word - np.uint64(1)
                if at < forced and x == units[at, VERTEX]:
                    continue
                units[_first_excluder(adjacency, x, units, at), NEEDED] = 1
        at -= 1
        while at >= 0 and units[at, NEEDED] == 0:
            at -= 1
        if at < 0:
            return empty, forced, work
        s = units[at, SET]


@inlined
def _absorb(adjacency, v, count, scratch):
    """Whether the residual weight of ``v`` comes for free on top of the peeled sets, and the work done.

    If no clique meets {v} and each of k sets at once, it collects at most k·d from the k + 1 of them when each counts
    d.  So d of the weight of ``v`` costs nothing.  What the argument uses of each multiplier is taken from
    ``available``, so that no part of it serves twice; all of it is given back if some of the weight of ``v`` remains.
    """
    available, units = scratch.available, scratch.units
    for s in range(count):
        units[s, BEFORE] = available[s]
    left = scratch.residual[v]
    work = np.int64(count)
    while left > 0:
        empty, forced, spent = _refute(adjacency, v, count, scratch)
        work += spent
        if empty < 0:
            for s in range(count):
                available[s] = units[s, BEFORE]
            return False, work
        part = min(left, available[empty])
        for i in range(forced):
            if units[i, NEEDED] == 1:
                part = min(part, available[units[i, SET]])
        left -= part
        available[empty] -= part
        for i in range(forced):
            if units[i, NEEDED] == 1:
                available[units[i, SET]] -= part
    return True, work


@inlined
def _peel(adjacency, target, scratch):
    """Peel sets off ``rest`` with multipliers that sum to ``target``, or until none is left; their number, the work."""
    residual, rest, queue, taken, sets, available, _ = scratch
    words = adjacency.shape[1]
    work = np.int64(0)
    peeled = np.int64(0)
    count = 0
    while peeled < target and rest.any():
        chosen, part = _peel_once(adjacency, rest, queue, residual, taken, target - peeled)
        for j in range(words):
            sets[count, j] = 0
        for i in range(chosen):
            sets[count, taken[i] >> 6] |= bit_of(taken[i])
        available[count] = part
        count += 1
        peeled += part
        work += (chosen + 2) * words
    return count, work


@kernel
def expand(graph, candidates, target, branches, begin, scratch):
    """Split ``candidates`` into vertices that together allow no clique above ``target`` and vertices to branch on.

    The latter are written to ``branches`` from ``begin`` on, ascending; returns where they end and the work done in
    word operations.  Their bounds hold: sets are peeled with multipliers summing to at most ``target``, vertices whose
    residual comes for free cost nothing beyond, and each branch costs at most its residual.
    """
    adjacency, residual, rest = graph.adjacency, scratch.residual, scratch.rest
    words = adjacency.shape[1]
    for j in range(words):
        rest[j] = candidates[j]
        word = rest[j]
        while word != 0:
            v = (j << 6) + lowest_bit(word)
            word &= word - np.uint64(1)
            residual[v] = graph.weights[v]
    count, work = _peel(adjacency, target, scratch)
    # Absorbing is worth a multiple of what peeling cost, and on large graphs no more than that.
    limit = ABSORB_FACTOR * work + ABSORB_BASE
    spent = np.int64(0)
    for j in range(words):
        word = rest[j]
        while word != 0 and spent < limit:
            v = (j << 6) + lowest_bit(word)
            word &= word - np.uint64(1)
            free, tried = _absorb(adjacency, v, count, scratch)
            spent += tried
            if free:
                rest[j] &= ~bit_of(v)
    end = begin
    # Sets of multiplier zero bound nothing below zero.
    bound = max(target, np.int64(0))
    for j in range(words):
        word = rest[j]
        while word != 0:
            v = (j << 6) + lowest_bit(word)
            word &= word - np.uint64(1)
            bound += residual[v]
            branches.vertex[end] = v
            branches.bound[end] = bound
            end += 1
    return end, work + spent


@kernel
def open_branch(graph, settled, order, position, lower, spare, scratch, room):
    """Go up the root's branches ``order`` from ``position`` to one that its own bound does not close, or past the last.

    ``settled`` holds the vertices among which no clique is heavier than ``lower``; branches that are closed join it.
    ``spare`` has room for the branches of one node.  Returns the position and whether ``room`` for work ran out there.
    """
    words = len(settled)
    work = np.int64(0)
    candidates = np.empty(words, np.uint64)
    while position < len(order):
        if work > room:
            return position, True
        v = order[position]
        for j in range(words):
            candidates[j] = settled[j] & graph.adjacency[v, j]
        end, spent = expand(graph, candidates, lower - graph.weights[v], spare, 0, scratch)
        work += spent + words
        if end > 0:
            break
        settled[v >> 6] |= bit_of(v)
        position += 1
    return position, False


@kernel
def search(graph, branches, nodes, best, counters, scratch, room):
    """Branch and bound by depth until done, out of ``room`` for work or of branch memory; resumable.

    ``counters`` has the entries named above, and ``best`` is the incumbent.
    """
    candidates, begin, top, path, gathered = nodes
    words = graph.adjacency.shape[1]
    depth = counters[DEPTH]
    lower = counters[LOWER]
    work = np.int64(0)
    status = DONE
    while depth >= 0:
        if work > room:
            status = PAUSED
            break
        if top[depth] == begin[depth]:
            depth -= 1
            continue
        if top[depth] + len(graph.weights) > len(branches.vertex):
            status = NO_BRANCHES
            break
        i = top[depth] - 1
        if gathered[depth] + branches.bound[i] <= lower:
            depth -= 1
            continue
        top[depth] = i
        v = branches.vertex[i]
        candidates[depth, v >> 6] &= ~bit_of(v)
        path[depth] = v
        weight = gathered[depth] + graph.weights[v]
        if weight > lower:
            lower = weight
            counters[LENGTH] = depth + 1
            best[: depth + 1] = path[: depth + 1]
        some = False
        for j in range(words):
            word = candidates[depth, j] & graph.adjacency[v, j]
            candidates[depth + 1, j] = word
            some |= word != 0
        work += words
        counters[NODES] += 1
        if some:
            end, spent = expand(graph, candidates[depth + 1], lower - weight, branches, i, scratch)
            work += spent
            if end > i:
                depth += 1
                gathered[depth] = weight
                begin[depth] = i
                top[depth] = end
    counters[DEPTH] = depth
    counters[LOWER] = lower
    return status
