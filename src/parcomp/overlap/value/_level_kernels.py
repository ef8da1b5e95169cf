"""Kernels that load, copy and shrink the levels of :class:`~parcomp.overlap.value.layout.Levels`."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.jit import inner_kernel, kernel
from parcomp.overlap.value import layout

__all__ = [
    "accepts",
    "common_bits",
    "copy_across",
    "copy_level",
    "drop_slots",
    "fill_attribute",
    "has_room",
    "index_slots",
    "keep_slots",
    "keep_values",
    "simplify",
]

# So many bytes are read before asking whether the rest matters.
_LOOK = 32


@kernel
def fill_attribute(words, offsets, masks, size, bits, begin, work_limit):
    """Write the byte columns of an attribute to ``bits``: slot ``k`` accepts what mask ``masks[k]`` holds.

    Goes on from slot ``begin`` until the end or until ``work_limit`` is used up; where it stopped, and the work.
    """
    k = begin
    work = np.int64(0)
    while k < len(masks) and work < work_limit:
        base = (k >> 3) * size
        shift = np.uint8(k & 7)
        word_at = offsets[masks[k]]
        for j in range(size):
            one = np.uint8((words[word_at + (j >> 6)] >> np.uint64(j & 63)) & np.uint64(1))
            bits[base + j] |= np.uint8(one << shift)
        work += size
        k += 1
    return k, work


@kernel
def index_slots(levels, level):
    """Rebuild ``first`` and ``slot_of`` from ``slot_query``."""
    queries = levels.head[level, layout.QUERIES]
    at = levels.head[level, layout.QUERY_AT]
    base = levels.head[level, layout.SLOT_BASE]
    first = levels.first[at : at + queries + 1]
    first[:] = 0
    for a in range(levels.live.shape[1]):
        for s in range(levels.slot_at[level, a], levels.slot_at[level, a] + levels.slots[level, a]):
            first[levels.slot_query[s] + 1] += 1
    for q in range(queries):
        first[q + 1] += first[q]
    for a in range(levels.live.shape[1]):
        for s in range(levels.slot_at[level, a], levels.slot_at[level, a] + levels.slots[level, a]):
            q = levels.slot_query[s]
            levels.slot_of[base + first[q]] = s - base
            first[q] += 1
    for q in range(queries, 0, -1):
        first[q] = first[q - 1]
    first[0] = 0


@kernel
def copy_across(stack, source, levels, target, scratch, extent):
    """Copy a level of ``stack``, or only its pooled values, behind the region of level ``target - 1``, without gaps.

    ``levels`` may be the same stack or another one.  What the level leaves out is not copied.
    """
    pooled_only = extent == layout.POOLED
    bits_end = levels.head[target - 1, layout.BITS_END]
    value_end = levels.head[target - 1, layout.VALUE_END]
    slot_end = levels.head[target - 1, layout.SLOT_END]
    query_end = levels.head[target - 1, layout.QUERY_END]
    slot_base = slot_end
    for a in range(levels.live.shape[1]):
        n = stack.live[source, a]
        if pooled_only and n:
            n = scratch.pooled[a]
        slots = stack.slots[source, a]
        levels.row[target, a] = stack.row[source, a]
        levels.live[target, a] = n
        levels.slots[target, a] = slots
        levels.stride[target, a] = n
        levels.bits_at[target, a] = bits_end
        levels.value_at[target, a] = value_end
        levels.slot_at[target, a] = slot_end
        at = stack.value_at[source, a]
        if pooled_only:
            for j in range(n):
                levels.value[value_end + j] = stack.value[at + scratch.pool[a, j]]
                levels.score[value_end + j] = stack.score[at + scratch.pool[a, j]]
        else:
            levels.value[value_end : value_end + n] = stack.value[at : at + n]
            levels.score[value_end : value_end + n] = stack.score[at : at + n]
        for g in range((slots + 7) >> 3):
            at = stack.bits_at[source, a] + g * stack.stride[source, a]
            if pooled_only:
                for j in range(n):
                    levels.bits[bits_end + j] = stack.bits[at + scratch.pool[a, j]]
            else:
                levels.bits[bits_end : bits_end + n] = stack.bits[at : at + n]
            bits_end += n
        at = stack.slot_at[source, a]
        levels.slot_query[slot_end : slot_end + slots] = stack.slot_query[at : at + slots]
        levels.slot_term[slot_end : slot_end + slots] = stack.slot_term[at : at + slots]
        levels.multiplier[slot_end : slot_end + slots] = stack.multiplier[at : at + slots]
        value_end += n
        slot_end += slots
    queries = stack.head[source, layout.QUERIES]
    at = stack.head[source, layout.QUERY_AT]
    levels.query[query_end : query_end + queries] = stack.query[at : at + queries]
    levels.weight[query_end : query_end + queries] = stack.weight[at : at + queries]
    head = levels.head[target]
    head[layout.COMMITTED] = stack.head[source, layout.COMMITTED]
    head[layout.QUERIES], head[layout.QUERY_AT], head[layout.SLOT_BASE] = queries, query_end, slot_base
    head[layout.BITS_END], head[layout.VALUE_END], head[layout.SLOT_END] = bits_end, value_end, slot_end
    head[layout.QUERY_END] = query_end + queries + 1
    head[layout.BRANCH], head[layout.RESTS], head[layout.COMPLETE] = -1, 0, 0
    head[layout.VECTOR] = layout.INHERITED
    levels.sifted[target] = stack.sifted[source]
    levels.counted[target] = stack.counted[source]
    for a in range(levels.live.shape[1]):
        if stack.aside[source, a, layout.OUT]:
            levels.aside[target, a] = stack.aside[source, a]
        else:
            levels.aside[target, a] = 0
        levels.aside[target, a, layout.OWN_BITS] = -1
    index_slots(levels, target)


@kernel
def copy_level(levels, source, target, scratch, extent):
    """Copy a level, or only its pooled values, right behind the region of level ``target - 1``, without gaps."""
    copy_across(levels, source, levels, target, scratch, extent)


@inner_kernel
def keep_values(levels, level, a, kept, size):
    """Keep the values at the ascending positions ``kept[:size]`` of an attribute."""
    at = levels.value_at[level, a]
    for j in range(size):
        levels.value[at + j] = levels.value[at + kept[j]]
        levels.score[at + j] = levels.score[at + kept[j]]
    for g in range((levels.slots[level, a] + 7) >> 3):
        at = levels.bits_at[level, a] + g * levels.stride[level, a]
        column = levels.bits[at : at + levels.live[level, a]]
        for j in range(size):
            column[j] = column[kept[j]]
    levels.live[level, a] = size


@inner_kernel
def keep_slots(levels, level, a, slot_flag):
    """Drop the flagged slots of an attribute; slots only ever move towards the front, so this works in place."""
    n = levels.live[level, a]
    slot_at = levels.slot_at[level, a]
    base = levels.head[level, layout.SLOT_BASE]
    slots = levels.slots[level, a]
    moved = np.zeros(256, np.uint16)
    size = 0
    for g in range((slots + 7) >> 3):
        # ``moved`` is what a byte of this group becomes, from bit ``size & 7`` of byte ``size >> 3`` on.
        first = size
        for k in range(8 * g, min(8 * g + 8, slots)):
            half = 1 << (k & 7)
            stays = not slot_flag[slot_at - base + k]
            term = np.uint16(1 << (size - 8 * (first >> 3))) if stays else np.uint16(0)
            for i in range(half):
                moved[half + i] = moved[i] | term
            if stays:
                levels.slot_query[slot_at + size] = levels.slot_query[slot_at + k]
                levels.slot_term[slot_at + size] = levels.slot_term[slot_at + k]
                levels.multiplier[slot_at + size] = levels.multiplier[slot_at + k]
                size += 1
        if first == 8 * g and size == min(8 * g + 8, slots):
            continue
        # No byte is written before it is read: group g ends up in bytes up to g, and the spill is no later either.
        _move_bytes(levels, level, a, g, first, size, moved, n)
    levels.slots[level, a] = size


@inner_kernel
def _move_bytes(levels, level, a, g, first, end, moved, n):
    """Write the bits of byte column ``g`` that stay to the bits ``first`` to ``end`` of each value."""
    stride = levels.stride[level, a]
    at = levels.bits_at[level, a]
    source = levels.bits[at + g * stride : at + g * stride + n]
    at += (first >> 3) * stride
    target = levels.bits[at : at + n]
    if first & 7 == 0:
        for j in range(n):
            target[j] = np.uint8(moved[source[j]])
    elif end <= (first | 7) + 1:
        for j in range(n):
            target[j] |= np.uint8(moved[source[j]])
    else:
        spill = levels.bits[at + stride : at + stride + n]
        for j in range(n):
            pair = moved[source[j]]
            target[j] |= np.uint8(pair & np.uint16(255))
            spill[j] = np.uint8(pair >> np.uint16(8))


@kernel
def common_bits(column, width):
    """Which of the lowest ``width`` bits all bytes have, which some, and how many bytes were read: few, as a rule.

    Once no bit is in all bytes read, and each in one of them, more bytes cannot change that.
    """
    whole = np.uint8((1 << width) - 1)
    every = whole
    some = np.uint8(0)
    read = 0
    while read < len(column) and (every or some != whole):
        end = min(read + _LOOK, len(column))
        for j in range(read, end):
            every &= column[j]
            some |= column[j]
        read = end
    return every, some, read


@inner_kernel
def simplify(levels, level, scratch):
    """Bring a level to normal form after values were dropped or queries flagged dead in ``query_flag``; the work done.

    A query that some attribute's live values all reject is satisfied by no row of the level and dies.  A slot that
    accepts all live values constrains nothing and is dropped; its multiplier moves to the query's other slots, and a
    query without slots is satisfied by every row, so its weight is committed.  An attribute without slots is settled
    by any live value.
    """
    base = levels.head[level, layout.SLOT_BASE]
    queries = levels.head[level, layout.QUERIES]
    flag = scratch.query_flag
    drop = scratch.slot_flag
    work = np.int64(0)
    changed = False
    for a in range(levels.live.shape[1]):
        n = levels.live[level, a]
        slots = levels.slots[level, a]
        slot_at = levels.slot_at[level, a]
        for g in range((slots + 7) >> 3):
            at = levels.bits_at[level, a] + g * levels.stride[level, a]
            every, some, read = common_bits(levels.bits[at : at + n], min(8, slots - 8 * g))
            work += 8 + (read >> 2)
            for k in range(8 * g, min(8 * g + 8, slots)):
                one = np.uint8(1 << (k & 7))
                drop[slot_at - base + k] = 1 if every & one else 0
                if every & one:
                    changed = True
                if not some & one:
                    q = levels.slot_query[slot_at + k]
                    flag[q] = layout.DEAD
    for q in range(queries):
        if flag[q] == layout.DEAD:
            changed = True
    if changed:
        work += drop_slots(levels, level, scratch)
    return work


@inner_kernel
def drop_slots(levels, level, scratch):
    """Drop the slots of ``slot_flag``, which constrain nothing, and the dead queries; the work done.

    The multiplier of a slot moves to the query's other slots, and a query without slots is committed.
    """
    base = levels.head[level, layout.SLOT_BASE]
    query_at = levels.head[level, layout.QUERY_AT]
    queries = levels.head[level, layout.QUERIES]
    flag = scratch.query_flag
    drop = scratch.slot_flag
    work = np.int64(0)
    # Renumber the queries that stay; ``kept`` maps old numbers to new ones.
    size = 0
    for q in range(queries):
        begin = base + levels.first[query_at + q]
        end = base + levels.first[query_at + q + 1]
        weight = levels.weight[query_at + q]
        loose = np.int64(0)
        stay = 0
        dead = flag[q] == layout.DEAD
        flag[q] = 0
        if dead:
            levels.counted[level, levels.query[query_at + q]] = layout.NOT_COUNTED
        for i in range(begin, end):
            s = levels.slot_of[i]
            if dead:
                drop[s] = 1
            elif drop[s]:
                loose += levels.multiplier[base + s]
            else:
                stay += 1
        if stay:
            for i in range(begin, end):
                s = levels.slot_of[i]
                if not drop[s]:
                    share = loose // stay
                    levels.multiplier[base + s] += share
                    loose -= share
                    stay -= 1
            scratch.kept[q] = size
            levels.query[query_at + size] = levels.query[query_at + q]
            levels.weight[query_at + size] = weight
            size += 1
        elif not dead:
            levels.head[level, layout.COMMITTED] += weight
    for a in range(levels.live.shape[1]):
        slots = levels.slots[level, a]
        if slots:
            keep_slots(levels, level, a, drop)
            slots = levels.slots[level, a]
            if slots == 0:
                levels.row[level, a] = levels.value[levels.value_at[level, a]]
                levels.live[level, a] = 0
            slot_at = levels.slot_at[level, a]
            for s in range(slot_at, slot_at + slots):
                levels.slot_query[s] = scratch.kept[levels.slot_query[s]]
            work += levels.live[level, a] * (slots >> 3)
    levels.head[level, layout.QUERIES] = size
    index_slots(levels, level)
    return work


@inner_kernel
def accepts(levels, level, a, slot, position):
    """Whether a slot of attribute ``a`` accepts the live value at ``position``."""
    k = slot - levels.slot_at[level, a]
    at = levels.bits_at[level, a] + (k >> 3) * levels.stride[level, a]
    return (levels.bits[at + position] >> np.uint8(k & 7)) & np.uint8(1)


@inner_kernel
def has_room(levels, level):
    """Whether what a step needs would fit: a probe its pooled values and a child of them, and what is set aside."""
    if level + 2 >= levels.head.shape[0]:
        return False
    bits = np.int64(0)
    values = np.int64(0)
    for a in range(levels.live.shape[1]):
        bits += levels.live[level, a] * ((levels.slots[level, a] + 7) >> 3)
        values += levels.live[level, a]
    bits *= 2
    values *= 2
    slots = 2 * (levels.head[level, layout.SLOT_END] - levels.head[level, layout.SLOT_BASE])
    queries = 2 * (levels.head[level, layout.QUERIES] + 1)
    for a in range(levels.live.shape[1]):
        if levels.aside[level, a, layout.OUT]:
            bits += levels.aside[level, a, layout.KEPT_COUNT] * ((levels.aside[level, a, layout.KEPT_SLOTS] + 7) >> 3)
            values += levels.aside[level, a, layout.KEPT_COUNT]
            slots += levels.aside[level, a, layout.KEPT_SLOTS]
            queries += levels.aside[level, a, layout.KEPT_SLOTS]
    return (
        levels.head[level, layout.BITS_END] + bits <= len(levels.bits)
        and levels.head[level, layout.VALUE_END] + values <= len(levels.value)
        and levels.head[level, layout.SLOT_END] + slots <= len(levels.slot_query)
        and levels.head[level, layout.QUERY_END] + queries <= len(levels.query)
    )
