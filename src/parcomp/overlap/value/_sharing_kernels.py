"""Kernels that hand a part of a problem over from one stack to another.

A level above which others stand holds what is left of its problem beside the branch in work: the values of an attribute
that are still to be branched on, or all rows with a query not counted.  ``BOUND`` bounds it.  Of the first level with
anything left that may beat the target, another stack gets every other value, by their scores, beginning with the best,
or, after a branching on a query, all of it.  A row of what was left has one value of the attribute, so it is in one of
the two parts, and each part is bounded by its best score in place of that of the whole.

What the level leaves out (:mod:`parcomp.overlap.value._aside_kernels`) is in a region that belongs to its stack alone,
and is copied too.  Counters of work are those of the one who holds the level, so they are set forward or back.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.jit import inlined, inner_kernel, kernel
from parcomp.overlap.tree import layout as tree
from parcomp.overlap.value import layout
from parcomp.overlap.value._level_kernels import copy_across, keep_values

__all__ = ["hand_over", "level_to_share", "room_of"]


@inner_kernel
def _has_rows(levels, level):
    """Whether the level has an attribute with slots, and none of these has lost all its values."""
    some = False
    for a in range(levels.live.shape[1]):
        if levels.slots[level, a]:
            if levels.live[level, a] == 0:
                return False
            some = True
    return some


@kernel
def level_to_share(levels, state):
    """The first level below the one in work with rows left that may beat the target; 0 if there is none."""
    need = (state[tree.TARGET] + 1) << state[tree.SHIFT]
    for level in range(1, state[tree.DEPTH]):
        if levels.head[level, layout.BOUND] >= need and _has_rows(levels, level):
            return level
    return 0


@kernel
def room_of(levels, level):
    """How many bits, values, slots and queries a level takes, with what it leaves out."""
    bits = np.int64(0)
    values = np.int64(0)
    slots = np.int64(0)
    for a in range(levels.live.shape[1]):
        bits += levels.live[level, a] * ((levels.slots[level, a] + 7) >> 3)
        values += levels.live[level, a]
        slots += levels.slots[level, a]
        if levels.aside[level, a, layout.OUT]:
            kept = levels.aside[level, a]
            bits += kept[layout.KEPT_COUNT] * ((kept[layout.KEPT_SLOTS] + 7) >> 3)
            values += kept[layout.KEPT_COUNT]
            slots += kept[layout.KEPT_SLOTS]
    return bits, values, slots, levels.head[level, layout.QUERIES] + 1


@inlined
def _copy_aside(levels, level, other):
    """Copy what a level leaves out behind the region of level 1 of another stack, and make it a part of that."""
    head = other.head[1]
    for a in range(levels.live.shape[1]):
        if not levels.aside[level, a, layout.OUT]:
            continue
        kept = levels.aside[level, a]
        copied = other.aside[1, a]
        n, slots = kept[layout.KEPT_COUNT], kept[layout.KEPT_SLOTS]
        copied[layout.KEPT_STRIDE] = n
        copied[layout.KEPT_BITS] = head[layout.BITS_END]
        copied[layout.KEPT_VALUES] = head[layout.VALUE_END]
        copied[layout.KEPT_SLOT_AT] = head[layout.SLOT_END]
        for g in range((slots + 7) >> 3):
            source = kept[layout.KEPT_BITS] + g * kept[layout.KEPT_STRIDE]
            target = head[layout.BITS_END]
            other.bits[target : target + n] = levels.bits[source : source + n]
            head[layout.BITS_END] += n
        source, target = kept[layout.KEPT_VALUES], head[layout.VALUE_END]
        other.value[target : target + n] = levels.value[source : source + n]
        head[layout.VALUE_END] += n
        source, target = kept[layout.KEPT_SLOT_AT], head[layout.SLOT_END]
        other.slot_query[target : target + slots] = levels.slot_query[source : source + slots]
        other.slot_term[target : target + slots] = levels.slot_term[source : source + slots]
        head[layout.SLOT_END] += slots


@inlined
def _part_values(levels, level, a, other):
    """Leave every other value of an attribute, the best-scored one among them, to level 1 of the other stack alone."""
    n = levels.live[level, a]
    at = levels.value_at[level, a]
    order = np.argsort(levels.score[at : at + n])
    second = levels.score[at + order[n - 2]] if n > 1 else np.int64(0)
    levels.head[level, layout.BOUND] -= levels.score[at + order[n - 1]] - second
    given = np.zeros(n, np.bool_)
    for i in range(n - 1, -1, -2):
        given[order[i]] = True
    kept = np.flatnonzero(given)
    keep_values(other, 1, a, kept, len(kept))
    kept = np.flatnonzero(~given)
    keep_values(levels, level, a, kept, len(kept))


@kernel
def hand_over(levels, level, state, other, other_state, scratch):
    """Give a part of what is left of a level to a stack that holds nothing, and must have room for it."""
    head, to_head = levels.head[level], other.head[1]
    copy_across(levels, level, other, 1, scratch, layout.WHOLE)
    _copy_aside(levels, level, other)
    later = other_state[tree.WORK] - state[tree.WORK]
    to_head[layout.BORN] = head[layout.BORN] + later
    to_head[layout.DUE] = head[layout.DUE] + later
    to_head[layout.COMPLETE] = head[layout.COMPLETE]
    to_head[layout.BOUND] = head[layout.BOUND]
    a = head[layout.BRANCH]
    if a >= 0:
        to_head[layout.BRANCH] = a
        to_head[layout.RESTS] = head[layout.RESTS] + later
        _part_values(levels, level, a, other)
    else:
        # A level with slots and no values is closed when it is looked at.
        levels.live[level] = 0
    other_state[tree.DEPTH] = 1
    other_state[layout.STAGE] = layout.FRESH
    other_state[tree.WORK] += to_head[layout.BITS_END] >> 2
