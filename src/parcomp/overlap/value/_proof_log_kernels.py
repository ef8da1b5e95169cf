"""The log of a value search, from which a proof is read.

Where ``Levels.home`` is not empty, each step is written to ``log`` as integers, in the order in which a proof tree is
read from the root: ``LEAF i`` · ``DROP a i n v…`` (the other values of ``a`` go on, ``v…`` are a leaf) · ``KEEP a i n
v…`` (the reverse) · ``MISS q i``, ``MEET q i`` (rows that satisfy q, or do not, are a leaf) · ``VALUE a v`` and
``QUERY q`` (the tree of the child follows, then that of the rest) · ``SHARES x…`` (a multiplier vector, one integer a
term; the leaves' ``i`` counts these from 0, -1: no row is left).
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.jit import inner_kernel
from parcomp.overlap.value import layout

__all__ = [
    "DROP",
    "KEEP",
    "LEAF",
    "MEET",
    "MISS",
    "QUERY",
    "SHARES",
    "VALUE",
    "write",
    "write_leaf",
    "write_settled",
    "write_shares",
]

LEAF, DROP, KEEP, MISS, MEET, VALUE, QUERY, SHARES = range(8)


@inner_kernel
def write(log, state, item):
    """Append one integer to the log, or only count it if the log is full."""
    if state[layout.LOGGED] < len(log):
        log[state[layout.LOGGED]] = item
    state[layout.LOGGED] += 1


@inner_kernel
def write_shares(levels, level, state, task):
    """Log the multipliers in force as one vector over all terms; its number, or -1 where no proof is recorded.

    Queries that left the level put their whole weight on their home: it counts fully if they are satisfied and not at
    all if they are dead.
    """
    if levels.home.shape[1] == 0:
        return np.int64(-1)
    base = levels.head[level, layout.SLOT_BASE]
    at = levels.head[level, layout.QUERY_AT]
    vector = np.zeros(task.terms, np.int64)
    for q in range(levels.home.shape[1]):
        if levels.home[level, q] >= 0:
            vector[levels.home[level, q]] = task.weights[q] << state[layout.SHIFT]
    for q in range(levels.head[level, layout.QUERIES]):
        for i in range(base + levels.first[at + q], base + levels.first[at + q + 1]):
            s = base + levels.slot_of[i]
            vector[levels.slot_term[s]] = levels.multiplier[s]
    write(task.log, state, SHARES)
    for x in vector:
        write(task.log, state, x)
    state[layout.VECTORS] += 1
    return state[layout.VECTORS] - 1


@inner_kernel
def write_settled(levels, level, scratch, state, log, vector):
    """Log the flagged queries."""
    at = levels.head[level, layout.QUERY_AT]
    for q in range(levels.head[level, layout.QUERIES]):
        if scratch.query_flag[q]:
            write(log, state, MISS if scratch.query_flag[q] == layout.DEAD else MEET)
            write(log, state, levels.query[at + q])
            write(log, state, vector)


@inner_kernel
def write_leaf(levels, state, log, vector):
    """Log a leaf where a proof is recorded; True, as the level is closed by it."""
    if levels.home.shape[1]:
        write(log, state, LEAF)
        write(log, state, vector)
    return True
