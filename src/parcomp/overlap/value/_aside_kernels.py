"""Kernels that set attributes aside: what costs most of the time and hardly bounds anything is left out for a while.

To set an attribute aside is to pretend that one value satisfies every query there.  That only adds rows, so a bound of
the level without it is a bound of the level, and whatever cannot reach the target without it cannot reach it at all:
values are dropped, queries settled and levels closed as ever.  (A row that misses a query only on an attribute left out
does not satisfy it either: the bound of rows that do not count a query holds for it, so a query that must be satisfied
must be so there too.)  Only rows are not to be had from such a level, as their weight is not known.

An attribute's multipliers add up to what it could lower the bound by at most, together with its part of the bound: one
that accepts nearly all of them with its best value bounds hardly anything.  On random sets that is so for attributes of
10^5 values and more, which hold nearly all bits of the level.  Without an attribute the bound rises by at most this
loss, and a bound that is higher by x typical weights makes the tree larger by a factor that grows exponentially with x;
an attribute costs its share of the bits.  So those are set aside that lower (bits left) · exp(rate · loss) most.

An attribute comes back when the level has spent as much on children as that takes, or when no query is left to branch
on.  By then few queries are, as a rule, and dominance leaves few of its values.

``Levels.aside`` says where its values and slots are: in the region of the level that set it aside, which is left alone
until that level has ended.  There ``slot_query`` holds numbers of the whole workload, as a level's own numbers change.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.jit import inner_kernel
from parcomp.overlap.value import layout
from parcomp.overlap.value._branching_kernels import enforce
from parcomp.overlap.value._dominance_kernels import drop_dominated
from parcomp.overlap.value._level_kernels import drop_slots, index_slots, keep_slots, simplify

__all__ = ["any_aside", "bring_back", "due_back", "set_some_aside", "work_of_return"]

# What a level costs beside the bits of its attributes.
_OVERHEAD = 1 << 14

# Attributes are set aside if that makes the search so many times faster, by the estimate, with this rate of growth.  On
# ten attributes of up to 10^6 values, rates of 0.5 and 1 do not differ in nodes, and 0.25 is too low.
_LEAST_GAIN = 1.2
_RATE = 0.5

# Bringing an attribute back takes about so many passes over its bits.
_PASSES = 6


@inner_kernel
def any_aside(levels, level):
    """Whether the level leaves an attribute out."""
    for a in range(levels.live.shape[1]):
        if levels.aside[level, a, layout.OUT]:
            return True
    return False


@inner_kernel
def work_of_return(levels, level):
    """What bringing back the attribute that takes least takes; 0 if none is set aside."""
    least = np.int64(0)
    for a in range(levels.live.shape[1]):
        if levels.aside[level, a, layout.OUT]:
            work = (
                _PASSES
                * levels.aside[level, a, layout.KEPT_COUNT]
                * (1 + (levels.aside[level, a, layout.KEPT_SLOTS] >> 3))
            )
            if least == 0 or work < least:
                least = work
    return least


@inner_kernel
def due_back(levels, level, work):
    """Whether an attribute is to be brought back before the level is branched on, at this state of the work counter."""
    if levels.head[level, layout.QUERIES] > 0 and work < levels.head[level, layout.DUE]:
        return False
    return any_aside(levels, level)


@inner_kernel
def _set_aside(levels, level, a, scratch):
    """Leave an attribute out."""
    aside = levels.aside[level, a]
    slot_at = levels.slot_at[level, a]
    slots = levels.slots[level, a]
    base = levels.head[level, layout.SLOT_BASE]
    at = levels.head[level, layout.QUERY_AT]
    scratch.slot_flag[: levels.head[level, layout.SLOT_END] - base] = 0
    scratch.slot_flag[slot_at - base : slot_at - base + slots] = 1
    aside[layout.OUT] = 1
    if aside[layout.KEPT_COUNT] == 0:
        aside[layout.KEPT_COUNT] = levels.live[level, a]
        aside[layout.KEPT_STRIDE] = levels.stride[level, a]
        aside[layout.KEPT_BITS] = levels.bits_at[level, a]
        aside[layout.KEPT_VALUES] = levels.value_at[level, a]
        aside[layout.KEPT_SLOTS] = slots
        aside[layout.KEPT_SLOT_AT] = slot_at
        for s in range(slot_at, slot_at + slots):
            levels.slot_query[s] = levels.query[at + levels.slot_query[s]]
    levels.live[level, a] = 0
    levels.slots[level, a] = 0
    return drop_slots(levels, level, scratch)


@inner_kernel
def set_some_aside(levels, level, scratch, shift, unit, work):
    """Set aside what costs most and bounds least; the work done, 0 if all attributes stay.

    Expects multipliers that were scored.  ``work`` is the state of the work counter.
    """
    attributes = levels.live.shape[1]
    size = np.zeros(attributes, np.int64)
    loss = np.zeros(attributes)
    whole = np.int64(_OVERHEAD)
    for a in range(attributes):
        n = levels.live[level, a]
        if n == 0:
            continue
        size[a] = n * (1 + (levels.slots[level, a] >> 3))
        whole += size[a]
        mass = np.int64(0)
        for s in range(levels.slot_at[level, a], levels.slot_at[level, a] + levels.slots[level, a]):
            mass += levels.multiplier[s]
        loss[a] = (mass - scratch.best[a]) / (np.int64(1) << shift) / unit
    order = np.argsort(-size)
    cost = whole
    lost = 0.0
    best = 1.0 / _LEAST_GAIN
    taken = 0
    for i in range(attributes):
        a = order[i]
        if size[a] < _OVERHEAD or a == levels.head[level, layout.BRANCH]:
            break
        cost -= size[a]
        lost += loss[a]
        ratio = cost / whole * np.exp(min(50.0, _RATE * lost))
        if ratio < best:
            best = ratio
            taken = i + 1
    spent = np.int64(0)
    for i in range(taken):
        spent += 1 + _set_aside(levels, level, order[i], scratch)
    if taken:
        age = work - levels.head[level, layout.BORN]
        levels.head[level, layout.DUE] = work + max(age, work_of_return(levels, level))
    return spent


@inner_kernel
def _make_room(levels, level, a):
    """Give an attribute that comes back a place behind the level's region, the same each time."""
    aside = levels.aside[level, a]
    if aside[layout.OWN_BITS] < 0:
        head = levels.head[level]
        aside[layout.OWN_BITS] = head[layout.BITS_END]
        aside[layout.OWN_VALUES] = head[layout.VALUE_END]
        aside[layout.OWN_SLOTS] = head[layout.SLOT_END]
        head[layout.BITS_END] += aside[layout.KEPT_COUNT] * ((aside[layout.KEPT_SLOTS] + 7) >> 3)
        head[layout.VALUE_END] += aside[layout.KEPT_COUNT]
        head[layout.SLOT_END] += aside[layout.KEPT_SLOTS]


@inner_kernel
def _restore_slots(levels, level, a, scratch, shift, weights):
    """Copy the slots of an attribute that comes back, and flag those whose query is not counted any more.

    A query that was committed without this attribute is live again, with its whole weight here.
    """
    aside = levels.aside[level, a]
    head = levels.head[level]
    at = head[layout.QUERY_AT]
    number = np.full(len(weights), -1, np.int64)
    for q in range(head[layout.QUERIES]):
        number[levels.query[at + q]] = q
    for k in range(aside[layout.KEPT_SLOTS]):
        source = aside[layout.KEPT_SLOT_AT] + k
        target = aside[layout.OWN_SLOTS] + k
        q = levels.slot_query[source]
        levels.slot_term[target] = levels.slot_term[source]
        levels.multiplier[target] = 0
        scratch.slot_flag[target - head[layout.SLOT_BASE]] = levels.counted[level, q] == layout.NOT_COUNTED
        if levels.counted[level, q] == layout.NOT_COUNTED:
            continue
        if number[q] < 0:
            number[q] = head[layout.QUERIES]
            levels.query[at + head[layout.QUERIES]] = q
            levels.weight[at + head[layout.QUERIES]] = weights[q]
            levels.multiplier[target] = weights[q] << shift
            head[layout.COMMITTED] -= weights[q]
            head[layout.QUERIES] += 1
        levels.slot_query[target] = number[q]
        if levels.counted[level, q] == layout.DEMANDED:
            scratch.query_flag[number[q]] = layout.FORCED
    head[layout.QUERY_END] = max(head[layout.QUERY_END], at + head[layout.QUERIES] + 1)


@inner_kernel
def _bring_back(levels, level, a, scratch, shift, weights):
    """Bring one attribute back with the slots of queries still counted; the work done, negative if it has no value."""
    aside = levels.aside[level, a]
    _make_room(levels, level, a)
    n = aside[layout.KEPT_COUNT]
    for g in range((aside[layout.KEPT_SLOTS] + 7) >> 3):
        source = aside[layout.KEPT_BITS] + g * aside[layout.KEPT_STRIDE]
        target = aside[layout.OWN_BITS] + g * n
        levels.bits[target : target + n] = levels.bits[source : source + n]
    levels.value[aside[layout.OWN_VALUES] : aside[layout.OWN_VALUES] + n] = levels.value[
        aside[layout.KEPT_VALUES] : aside[layout.KEPT_VALUES] + n
    ]
    levels.score[aside[layout.OWN_VALUES] : aside[layout.OWN_VALUES] + n] = 0
    _restore_slots(levels, level, a, scratch, shift, weights)
    aside[layout.OUT] = 0
    levels.live[level, a] = n
    levels.stride[level, a] = n
    levels.bits_at[level, a] = aside[layout.OWN_BITS]
    levels.value_at[level, a] = aside[layout.OWN_VALUES]
    levels.slot_at[level, a] = aside[layout.OWN_SLOTS]
    levels.slots[level, a] = aside[layout.KEPT_SLOTS]
    levels.sifted[level, a] = aside[layout.KEPT_SLOTS] + 1
    keep_slots(levels, level, a, scratch.slot_flag)
    work = 2 * n * (1 + (aside[layout.KEPT_SLOTS] >> 3))
    if levels.slots[level, a] == 0:
        levels.row[level, a] = levels.value[aside[layout.OWN_VALUES]]
        levels.live[level, a] = 0
    index_slots(levels, level)
    return work if enforce(levels, level, scratch) else -work


@inner_kernel
def bring_back(levels, level, scratch, shift, weights):
    """Bring back the attribute that takes least, or all of them if no query is left: whether the level has a row, work.

    With no query left, what is missing decides, so nothing is set aside again at this level.
    """
    work = np.int64(0)
    if levels.head[level, layout.QUERIES] == 0:
        levels.head[level, layout.COMPLETE] = 1
    while True:
        best = -1
        for a in range(levels.live.shape[1]):
            if levels.aside[level, a, layout.OUT] and (
                best < 0 or levels.aside[level, a, layout.KEPT_COUNT] < levels.aside[level, best, layout.KEPT_COUNT]
            ):
                best = a
        if best < 0:
            break
        spent = _bring_back(levels, level, best, scratch, shift, weights)
        work += abs(spent)
        if spent < 0:
            return False, work
        work += simplify(levels, level, scratch)
        dropped, spent = drop_dominated(levels, level, scratch)
        work += spent
        if dropped:
            work += simplify(levels, level, scratch)
        if not levels.head[level, layout.COMPLETE]:
            break
    return True, work
