"""Kernels that look for rows of the largest gain: the sum of signed numbers over what a row satisfies.

``gain[q]`` is that of query ``q``; floats, since a sum only ranks rows here, or is rounded up by who proves by it.
``acceptance`` is what :class:`~parcomp.overlap.Acceptance` hands to kernels.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.bits import bit_of, lowest_bit, xorshift
from parcomp.jit import inner_kernel, kernel

__all__ = ["Runs", "best_in_each_cell", "climb"]


class Runs(NamedTuple):
    """The values of one attribute that each query accepts, as runs.

    Query ``q`` accepts the values from ``begin[k]`` below ``end[k]`` for ``k`` in ``start[q] … start[q + 1] - 1``: none
    where it does not constrain the attribute.
    """

    start: npt.NDArray[np.int64]
    begin: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]


@inner_kernel
def _best_of_cell(alive, runs, gain, change):
    """The largest sum over the values of the last attribute, for the queries ``alive`` on all others, and its value."""
    size = len(change) - 1
    change[:] = 0.0
    base = 0.0
    for k in range(len(alive)):
        rest = alive[k]
        while rest:
            q = (k << 6) + lowest_bit(rest)
            rest &= rest - np.uint64(1)
            if q >= len(gain):
                break
            if runs.start[q] == runs.start[q + 1]:
                base += gain[q]
            for r in range(runs.start[q], runs.start[q + 1]):
                change[runs.begin[r]] += gain[q]
                change[runs.end[r]] -= gain[q]
    best, best_value = -np.inf, np.int64(0)
    total = base
    for v in range(size):
        total += change[v]
        if total > best:
            best, best_value = total, np.int64(v)
    return best, best_value


@kernel
def best_in_each_cell(acceptance, attributes, runs, size, gain, best, rows):
    """Look at every row: for each cell of ``attributes``, all but the last one, the best value of the last.

    ``best[c]`` is the sum of the best row of cell ``c``, ``rows[c]`` its values: those of ``attributes``, the last of
    which changes fastest, and then that of the last attribute, which has ``size`` values.
    """
    first, accepting, _ = acceptance
    depth, words = len(attributes), accepting.shape[1]
    alive = np.empty((depth + 1, words), np.uint64)
    alive[0] = ~np.uint64(0)
    value = np.zeros(depth, np.int64)
    change = np.empty(size + 1, np.float64)
    level, cell = 0, 0
    while True:
        while level < depth:
            v = first[attributes[level]] + value[level]
            for k in range(words):
                alive[level + 1, k] = alive[level, k] & accepting[v, k]
            level += 1
        best[cell], rows[cell, depth] = _best_of_cell(alive[depth], runs, gain, change)
        for i in range(depth):
            rows[cell, i] = value[i]
        cell += 1
        level -= 1
        while level >= 0 and value[level] + 1 == first[attributes[level] + 1] - first[attributes[level]]:
            value[level] = 0
            level -= 1
        if level < 0:
            return
        value[level] += 1


@inner_kernel
def _others(accepting, value, a, missed):
    """Collect in ``missed[0]`` the queries that miss the row outside ``a``, in ``missed[1]`` those that do twice."""
    missed[:] = 0
    for b in range(len(value)):
        if b == a:
            continue
        for k in range(accepting.shape[1]):
            rejects = ~accepting[value[b], k]
            missed[1, k] |= missed[0, k] & rejects
            missed[0, k] |= rejects


@inner_kernel
def _score(accepting, telling, v, missed, gain, pull):
    """What the value ``v`` gains, of what its attribute tells apart; a query that misses once elsewhere pulls."""
    total = 0.0
    for k in range(len(telling)):
        rest = telling[k] & accepting[v, k] & ~missed[0, k]
        while rest:
            total += gain[(k << 6) + lowest_bit(rest)]
            rest &= rest - np.uint64(1)
        if pull > 0.0:
            rest = telling[k] & accepting[v, k] & missed[0, k] & ~missed[1, k]
            while rest:
                total += pull * max(0.0, gain[(k << 6) + lowest_bit(rest)])
                rest &= rest - np.uint64(1)
    return total


@inner_kernel
def _random(state, below):
    """A random number below ``below``."""
    state[0] = xorshift(state[0])
    return np.int64(state[0] >> np.uint64(33)) % below


@inner_kernel
def _enter(acceptance, target, value, state):
    """Make ``value`` a random row that satisfies the query ``target``."""
    first, accepting, _ = acceptance
    place, bit = target >> 6, bit_of(target)
    for a in range(len(value)):
        size = first[a + 1] - first[a]
        value[a] = first[a] + _random(state, size)
        tries = np.int64(0)
        while not accepting[value[a], place] & bit:
            # Where few values will do, all are looked at in turn.
            tries += 1
            value[a] = first[a] + (_random(state, size) if tries < 64 else (value[a] - first[a] + 1) % size)


@kernel
def climb(acceptance, gain, pulls, targets, rows, state, look, work_limit):
    """Improve each row one attribute at a time, a sweep for each of ``pulls``; how many rows were within the work.

    ``rows`` hold the number of each value among those of its attribute; a row with a target begins anywhere within that
    query, one with target -1 where it is.  A query with a gain that a row misses on one other attribute counts for
    ``pull`` of it; the last sweeps, without pull, count what is satisfied.  Of an attribute ``look`` values are looked
    at, evenly spread, from a random one on.
    """
    first, accepting, telling = acceptance
    m, words = rows.shape[1], accepting.shape[1]
    missed = np.empty((2, words), np.uint64)
    value = np.empty(m, np.int64)
    order = np.arange(m)
    work = np.int64(0)
    for r in range(len(rows)):
        if work > work_limit:
            return r
        for a in range(m):
            value[a] = first[a] + rows[r, a]
        if targets[r] >= 0:
            _enter(acceptance, targets[r], value, state)
        for i in range(m - 1, 0, -1):
            j = _random(state, i + 1)
            order[i], order[j] = order[j], order[i]
        for pull in pulls:
            changed = False
            for a in order:
                size = first[a + 1] - first[a]
                if size == 1:
                    continue
                _others(accepting, value, a, missed)
                best = value[a]
                most = _score(accepting, telling[a], best, missed, gain, pull)
                begin = _random(state, size) if size > look else 0
                looked = min(size, look)
                for i in range(looked):
                    v = first[a] + (begin + i * size // looked) % size
                    score = _score(accepting, telling[a], v, missed, gain, pull)
                    if score > most + 1e-12 * abs(most):
                        best, most = v, score
                changed |= best != value[a]
                value[a] = best
                work += 8 * words * (looked + m)
            if not changed and pull == 0.0:
                break
        for a in range(m):
            rows[r, a] = value[a] - first[a]
    return len(rows)
