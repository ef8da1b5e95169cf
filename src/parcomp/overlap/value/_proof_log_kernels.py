"""The log of a value search, from which a proof is read.

Where there is a ``log``, each step is written to it as integers, in the order in which a proof tree is read from the
root: ``LEAF i`` · ``FIX i`` (what cannot reach the target by the multipliers ``i`` goes; the tree of what is left
follows) · ``THIN a`` (dominated values of ``a`` go, which is of use only to whoever reads the proof; the tree of what
is left follows) · ``VALUE a v`` and ``QUERY q`` (the tree of the child follows, then that of the rest) · ``SHARES n k x
…`` (n terms k with their multipliers x, all others being 0; ``i`` counts these lists from 0, -1: no row is left).

Nothing is said of dominated values that the search drops, nor of attributes that it sets aside and brings back:
:mod:`parcomp.overlap.value.proof` tells why no step is needed for these.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.jit import inner_kernel
from parcomp.overlap.value import layout

__all__ = ["FIX", "LEAF", "QUERY", "SHARES", "THIN", "VALUE", "vector_of", "write", "write_leaf"]

LEAF, FIX, THIN, VALUE, QUERY, SHARES = range(6)


@inner_kernel
def write(log, state, item):
    """Append one integer to the log, or only count it if the log is full."""
    if state[layout.LOGGED] < len(log):
        log[state[layout.LOGGED]] = item
    state[layout.LOGGED] += 1


@inner_kernel
def _write_shares(levels, level, state, task):
    """Log the multipliers in force; the number of their list.

    Queries that left the level have none: one that all rows satisfy counts in full without, and one that no row
    satisfies not at all.
    """
    base = levels.head[level, layout.SLOT_BASE]
    at = levels.head[level, layout.QUERY_AT]
    begin = base + levels.first[at]
    end = base + levels.first[at + levels.head[level, layout.QUERIES]]
    size = np.int64(0)
    for i in range(begin, end):
        size += levels.multiplier[base + levels.slot_of[i]] > 0
    write(task.log, state, SHARES)
    write(task.log, state, size)
    for i in range(begin, end):
        s = base + levels.slot_of[i]
        if levels.multiplier[s] > 0:
            write(task.log, state, levels.slot_term[s])
            write(task.log, state, levels.multiplier[s])
    state[layout.VECTORS] += 1
    return state[layout.VECTORS] - 1


@inner_kernel
def vector_of(levels, level, state, task):
    """The number of the list of the level's multipliers, which is written once; -1 where no proof is recorded."""
    if len(task.log) == 0:
        return np.int64(-1)
    if levels.head[level, layout.VECTOR] == layout.INHERITED:
        level -= 1
    if levels.head[level, layout.VECTOR] < 0:
        levels.head[level, layout.VECTOR] = _write_shares(levels, level, state, task)
    return levels.head[level, layout.VECTOR]


@inner_kernel
def write_leaf(state, log, vector):
    """Log a leaf where a proof is recorded; True, as the level is closed by it."""
    if len(log):
        write(log, state, LEAF)
        write(log, state, vector)
    return True
