"""Kernels that look for heavily covered rows: local search, once within the coverage of each group.

``weight[g]`` is what group ``g`` costs, at least 0; floats, since a sum only ranks rows here.  ``acceptance`` is what
:class:`~parcomp.overlap.Acceptance` hands to kernels, with a query for each group.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, lowest_bit, xorshift
from parcomp.jit import inner_kernel, kernel

__all__ = ["climb"]


@inner_kernel
def _next_random(state):
    """The next random number below 2**31, from the generator's word ``state[0]``."""
    state[0] = xorshift(state[0])
    return np.int64(state[0] >> np.uint64(33))


@inner_kernel
def _best_value(acceptance, a, target, alive, weight):
    """The value of ``a`` that ``target`` accepts and that keeps most weight of ``alive``, that weight, and the work."""
    first, accepting, telling = acceptance
    words = accepting.shape[1]
    place, bit = target >> 6, bit_of(target)
    best, best_gain = np.int64(-1), -1.0
    work = np.int64(0)
    for v in range(first[a], first[a + 1]):
        work += words
        if not accepting[v, place] & bit:
            continue
        gain = 0.0
        for k in range(words):
            rest = alive[k] & telling[a, k] & accepting[v, k]
            while rest:
                gain += weight[(k << 6) + lowest_bit(rest)]
                work += 1
                rest &= rest - np.uint64(1)
        if gain > best_gain:
            best, best_gain = np.int64(v), gain
    return best, best_gain, work


@inner_kernel
def _soften(a, value, accepting, weight, factor, missed, alive, pull):
    """Set ``alive`` to the groups that miss the row at most twice outside ``a``, and ``pull`` to what they count for.

    ``missed[j]`` collects the groups that miss on more than ``j`` attributes.  A group counts for its weight times
    ``factor`` to the number of its misses.
    """
    words = accepting.shape[1]
    missed[:] = 0
    for b in range(len(value)):
        if b == a:
            continue
        for k in range(words):
            rejects = ~accepting[value[b], k]
            missed[2, k] |= missed[1, k] & rejects
            missed[1, k] |= missed[0, k] & rejects
            missed[0, k] |= rejects
    last = 2 if factor > 0.0 else 0
    for k in range(words):
        alive[k] = ~missed[last, k]
        rest = alive[k]
        while rest:
            bit = rest & (~rest + np.uint64(1))
            rest &= rest - np.uint64(1)
            g = (k << 6) + lowest_bit(bit)
            if g >= len(weight):
                break
            pull[g] = weight[g]
            if missed[0, k] & bit:
                pull[g] *= factor
                if missed[1, k] & bit:
                    pull[g] *= factor


@inner_kernel
def _build(acceptance, order, target, alive, weight, value):
    """Choose the values of a row that ``target`` covers greedily, attributes in this order; the work."""
    work = np.int64(0)
    alive[:] = ~np.uint64(0)
    for a in order:
        value[a], _, spent = _best_value(acceptance, a, target, alive, weight)
        work += spent
        for k in range(len(alive)):
            alive[k] &= acceptance.accepting[value[a], k]
    return work


@kernel
def climb(acceptance, targets, weight, factors, rows, state, work_limit):
    """For each target find a heavy row that it covers, into ``rows``; returns how many were found within the work.

    Attributes are taken in random order.  A row is built greedily, then improved one attribute at a time, a sweep for
    each of ``factors``: a group that the row misses on other attributes pulls by that factor for each miss.  The last
    sweeps, with factor 0, count complete groups only.
    """
    first, accepting, telling = acceptance
    m = len(first) - 1
    words = accepting.shape[1]
    alive = np.empty(words, np.uint64)
    missed = np.empty((3, words), np.uint64)
    pull = np.empty(len(weight), np.float64)
    order = np.arange(m)
    value = np.empty(m, np.int64)
    work = np.int64(0)
    for position in range(len(targets)):
        if work > work_limit:
            return position
        target = targets[position]
        for i in range(m - 1, 0, -1):
            j = _next_random(state) % (i + 1)
            order[i], order[j] = order[j], order[i]
        work += _build(acceptance, order, target, alive, weight, value)
        for sweep in range(len(factors)):
            changed = False
            for a in order:
                _soften(a, value, accepting, weight, factors[sweep], missed, alive, pull)
                before = 0.0
                for k in range(words):
                    rest = alive[k] & telling[a, k] & accepting[value[a], k]
                    while rest:
                        before += pull[(k << 6) + lowest_bit(rest)]
                        rest &= rest - np.uint64(1)
                best, gain, spent = _best_value(acceptance, a, target, alive, pull)
                work += spent + m * words
                if gain > before * (1 + 1e-12):
                    value[a] = best
                    changed = True
            if not changed and factors[sweep] == 0.0:
                break
        for a in range(m):
            rows[position, a] = value[a] - first[a]
    return len(targets)
