"""A stack of shrinking problems in shared arrays.

A *level* holds one problem: attributes with their live values, and queries with a multiplier for each of their slots.
A *slot* is one (query, attribute) pair.  All levels live in the shared arrays of :class:`Levels`; level ``i`` owns
a contiguous region of each, so a child is made by copying and a finished level is dropped by forgetting it.

Attribute ``a`` of level ``i`` has ``live[i, a]`` live values (zero: the attribute no longer matters and ``row[i,
a]`` holds a value for it) and ``slots[i, a]`` slots.  Its values are ``value[value_at[i, a] + j]``, their scores
``score[value_at[i, a] + j]``.  Its slots are ``slot_at[i, a] + k``; bit ``k & 7`` of the byte ``bits[bits_at[i, a] +
(k >> 3) * stride[i, a] + j]`` says whether slot ``k`` accepts value ``j``.  Bits beyond the last slot are zero.  Slot
``s`` belongs to the query ``slot_query[s]`` (numbered within the level), stems from ``slot_term[s]`` and holds the
multiplier ``multiplier[s] >= 0``.  Query ``q`` of the level has the slots ``slot_of[slot_base + first[query_at + q] :
slot_base + first[query_at + q + 1]]`` relative to ``slot_base``; its multipliers sum to ``weight << shift`` exactly.

Dominated values are looked for again when the attribute has fewer slots than ``sifted[i, a]``.  ``counted[i, q]`` says
of each query of the workload whether rows of the level count it, and whether all of them must satisfy it.  ``aside[i,
a]`` describes an attribute that the level leaves out (:mod:`parcomp.overlap.value._aside_kernels`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.overlap.tree import layout as tree

# Columns of ``Levels.head``: weight of the queries that every row of the level satisfies, number of queries, where
# the level's region starts in the query and slot arrays, where it ends in each array, the attribute being branched on
# (or -1), the scaled bound of a level that is branched on, and the work counter up to which that bound will do; for
# attributes set aside, the work counters when the level was made and when one is due back, and whether all must stay;
# and where a proof is recorded, the number of the list in its log that holds the multipliers of the level.
COMMITTED, QUERIES, QUERY_AT, SLOT_BASE, BITS_END, VALUE_END, SLOT_END, QUERY_END, BRANCH, BOUND, RESTS = range(11)
BORN, DUE, COMPLETE, VECTOR = range(11, 15)
HEAD = 15

# What the last column says instead: nothing was written yet, or the multipliers are those of the level above.
UNWRITTEN, INHERITED = -1, -2

# Columns of ``Levels.aside``: whether the attribute is set aside, the place of its values and slots (no values: none is
# kept), and the room that bringing it back took at this level (-1: none).
OUT, KEPT_COUNT, KEPT_STRIDE, KEPT_BITS, KEPT_VALUES, KEPT_SLOTS, KEPT_SLOT_AT = range(7)
OWN_BITS, OWN_VALUES, OWN_SLOTS = range(7, 10)
ASIDE = 10

# Entries of a worker's state behind those that all trees have: the last bound less ``need``, how much of the log
# is in use (beyond its length: it was too short), how many multiplier vectors it holds, and the stage that the level in
# work has reached.
SLACK, LOGGED, VECTORS, STAGE = range(tree.STATE, tree.STATE + 4)
STATE = tree.STATE + 4

# Stages of a level: just opened, in normal form, with multipliers improved, settled by these where a proof is recorded,
# and ready to be branched on.
FRESH, SIMPLE, IMPROVED, SETTLED, BOUNDED = range(5)

# What ``Levels.counted`` says of a query.
NOT_COUNTED = np.uint8(0)
COUNTED = np.uint8(1)
DEMANDED = np.uint8(2)

# How many of the best values of an attribute the float rounds look at.
POOL = 64

# What ``Scratch.query_flag`` says of a query: no row that matters satisfies it, or all do.
DEAD = np.uint8(1)
FORCED = np.uint8(2)

# What :func:`copy_level` takes along: all values or the pooled ones.
WHOLE = np.uint8(0)
POOLED = np.uint8(1)


class Levels(NamedTuple):
    """The stack of problems; see the module's docstring."""

    live: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    bits_at: npt.NDArray[np.int64]
    value_at: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]
    slot_at: npt.NDArray[np.int64]
    row: npt.NDArray[np.int32]
    head: npt.NDArray[np.int64]
    bits: npt.NDArray[np.uint8]
    value: npt.NDArray[np.int32]
    score: npt.NDArray[np.int64]
    slot_query: npt.NDArray[np.int32]
    slot_term: npt.NDArray[np.int32]
    multiplier: npt.NDArray[np.int64]
    slot_of: npt.NDArray[np.int32]
    query: npt.NDArray[np.int32]
    weight: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    sifted: npt.NDArray[np.int64]
    counted: npt.NDArray[np.uint8]
    aside: npt.NDArray[np.int64]


class Scratch(NamedTuple):
    """Work space of one problem at a time: ``m`` attributes, ``s`` slots, ``t`` queries.

    ``best[a]`` and ``argmax[a]`` are the highest score of an attribute and its position; ``pool[a, :pooled[a]]`` are
    the positions of its best values, ``pool_score`` their exact scores and ``pool_accepts[slot, :pooled[a]]`` which
    of them a slot accepts; ``floor[a]`` is at least the score of every value outside the pool (the lowest integer if
    there is none).
    """

    best: npt.NDArray[np.int64]
    argmax: npt.NDArray[np.int64]
    pool: npt.NDArray[np.int64]
    pooled: npt.NDArray[np.int64]
    pool_score: npt.NDArray[np.int64]
    floor: npt.NDArray[np.int64]
    pool_accepts: npt.NDArray[np.uint8]
    point: npt.NDArray[np.float32]
    previous: npt.NDArray[np.float32]
    step: npt.NDArray[np.float32]
    best_point: npt.NDArray[np.float32]
    table: npt.NDArray[np.int64]
    kept: npt.NDArray[np.int64]
    query_flag: npt.NDArray[np.uint8]
    slot_flag: npt.NDArray[np.uint8]


class Task(NamedTuple):
    """What a search is given, the same all along, and where it puts what it finds.

    ``best_row`` receives the heaviest row and ``log`` the proof; the log is empty if none is recorded.  ``weights`` are
    those of the whole workload.  Multipliers are improved at temperatures from ``hot`` down to ``cold``; ``unit`` is a
    typical weight.  A proof settles a level as often as that gains something where it is ``thorough``, and once if not.
    """

    best_row: npt.NDArray[np.int32]
    log: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]
    hot: float
    cold: float
    unit: float
    thorough: bool
