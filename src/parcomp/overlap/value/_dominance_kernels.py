"""Kernels that drop dominated values of a level: the fewer queries a level still counts, the fewer values it needs.

A value is dominated by another of its attribute that every slot accepting the first accepts too.  Replacing it in any
row of the level loses no query that the level counts, so the heaviest row without dominated values weighs, as the level
counts, what the heaviest row of the level does.  That concerns the level's own queries only: a value that is dominated
here need not be so in the level above, and the rule goes beyond the reduction of the whole workload.  The effect is
large: of random sets on 10^6 values, 400,000 are maximal as seen by 50 queries, 1,500 as seen by 25, and one as seen by
10.

Keeping a dominated value is harmless, so dominators are looked for only among a front of kept values with most ones
(:mod:`parcomp.overlap.masks._front_kernels`): a value is the set of slots that accept it.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit
from parcomp.jit import inner_kernel, kernel
from parcomp.overlap.masks._front_kernels import enter_front, first_container
from parcomp.overlap.value._level_kernels import keep_values

__all__ = ["drop_dominated"]

# Shorter lists are scored faster than thinned out.
_LEAST_VALUES = 24

# The front has as many blocks as give about so many pairs of a value and a block, at least one and at most _BLOCKS.
_PAIRS = 1 << 15
_BLOCKS = 64

# So many values with most ones are tried for each place in the front.
_TRIED = 4

# Where less than one value in so many is dominated, the next look waits until one slot in so many more is gone: a look
# takes ten times as long as scoring the values, and what it would drop costs less until then.
_WORTHWHILE = 4
_WAIT = 3

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@inner_kernel
def _most_ones(bits, n, slots, wanted):
    """About ``wanted`` values that most slots accept or a few more, by descending number of slots."""
    zeros = np.full(n, slots, np.int32)
    ones = np.zeros(256, np.int32)
    for i in range(1, 256):
        ones[i] = ones[i >> 1] + (i & 1)
    for g in range(bits.shape[0]):
        column = bits[g]
        for j in range(n):
            zeros[j] -= ones[column[j]]
    first = np.zeros(slots + 2, np.int64)
    for j in range(n):
        first[zeros[j] + 1] += 1
    most = 0
    for i in range(1, slots + 2):
        first[i] += first[i - 1]
        if first[i - 1] < wanted:
            most = i - 1
    order = np.empty(first[most + 1], np.int64)
    for j in range(n):
        if zeros[j] <= most:
            order[first[zeros[j]]] = j
            first[zeros[j]] += 1
    return order


@inner_kernel
def _list_slots(bits, j, accepting):
    """Write the slots that accept value ``j`` to ``accepting``; return how many."""
    length = 0
    for g in range(bits.shape[0]):
        byte = np.uint64(bits[g, j])
        while byte != _NONE:
            accepting[length] = (g << 3) + lowest_bit(byte)
            length += 1
            byte &= byte - _ONE
    return length


@inner_kernel
def _fill_front(bits, order, front, seen, stays):
    """Take the values of ``order`` that none before them dominates into the front, until it is full.

    They come by descending number of ones, so none of the front dominates another.  Sets ``seen`` for the values tried
    and ``stays`` for those taken, and returns the number taken and the work done.
    """
    accepting = np.empty(front.shape[1], np.int64)
    kept = np.int64(0)
    work = np.int64(0)
    for j in order:
        if kept == 256 * front.shape[0]:
            break
        seen[j] = True
        length = _list_slots(bits, j, accepting)
        dominated = kept > 0
        if length:
            container, spent = first_container(front, accepting[:length], kept, np.int64(1) << 62)
            dominated = container >= 0
            work += spent
        if not dominated:
            stays[j] = True
            enter_front(front, accepting[:length], kept)
            kept += 1
    return kept, work


@inner_kernel
def _meet_columns(columns, kept, groups):
    """``meet[g, byte]``: what the columns of the slots 8 g + i with bit i of ``byte`` have in common.

    ``columns`` is a block of the front.  Its first ``kept`` bits are in use, and all of them if there is no such slot.
    """
    slots = columns.shape[0]
    meet = np.zeros((groups, 256, 4), np.uint64)
    for g in range(groups):
        for z in range(4):
            used = min(64, max(0, kept - 64 * z))
            meet[g, 0, z] = ~_NONE if used == 64 else (_ONE << np.uint64(used)) - _ONE
        for k in range(8):
            half = 1 << k
            for i in range(half):
                for z in range(4):
                    column = columns[8 * g + k, z] if 8 * g + k < slots else _NONE
                    meet[g, half + i, z] = meet[g, i, z] & column
    return meet


@inner_kernel
def _mark_kept(bits, n, slots, stays):
    """Set ``stays[j]`` for the values that no value of the front dominates; return the work done.

    A value is dropped only for one of the front, which stays; of equal values one stays.
    """
    groups = bits.shape[0]
    blocks = max(1, min(_BLOCKS, _PAIRS // n))
    front = np.zeros((blocks, slots, 4), np.uint64)
    seen = np.zeros(n, np.bool_)
    order = _most_ones(bits, n, slots, _TRIED * 256 * blocks)
    kept, work = _fill_front(bits, order, front, seen, stays)
    work += n * (1 + (groups >> 2))
    if len(order) == n and kept < 256 * blocks:
        return work
    for b in range((kept + 255) >> 8):
        meet = _meet_columns(front[b], kept - 256 * b, groups)
        for j in range(n):
            if seen[j]:
                continue
            byte = bits[0, j]
            c0 = meet[0, byte, 0]
            c1 = meet[0, byte, 1]
            c2 = meet[0, byte, 2]
            c3 = meet[0, byte, 3]
            g = 1
            while g < groups and c0 | c1 | c2 | c3 != _NONE:
                byte = bits[g, j]
                c0 &= meet[g, byte, 0]
                c1 &= meet[g, byte, 1]
                c2 &= meet[g, byte, 2]
                c3 &= meet[g, byte, 3]
                g += 1
            seen[j] = c0 | c1 | c2 | c3 != _NONE
        work += n * (1 + (groups >> 1))
    for j in range(n):
        if not seen[j]:
            stays[j] = True
    return work


@kernel
def drop_dominated(levels, level, scratch):
    """Drop dominated values of the attributes with fewer slots than ``Levels.sifted``; the number and the work.

    That is set to the number of slots, or to less where few values were dominated.
    """
    dropped = np.int64(0)
    work = np.int64(0)
    for a in range(levels.live.shape[1]):
        slots = levels.slots[level, a]
        if levels.live[level, a] < _LEAST_VALUES or slots >= levels.sifted[level, a]:
            continue
        whole = levels.live[level, a]
        stride = levels.stride[level, a]
        groups = (slots + 7) >> 3
        at = levels.bits_at[level, a]
        bits = levels.bits[at : at + groups * stride].reshape((groups, stride))
        # With half the values gone, the rest is worth a larger front.
        while True:
            n = levels.live[level, a]
            stays = np.zeros(n, np.bool_)
            work += _mark_kept(bits, n, slots, stays)
            size = 0
            for j in range(n):
                scratch.kept[size] = j
                size += stays[j]
            if size < n:
                keep_values(levels, level, a, scratch.kept, size)
                dropped += n - size
            if 2 * size > n or size < _LEAST_VALUES:
                break
        few = _WORTHWHILE * (whole - levels.live[level, a]) < whole
        levels.sifted[level, a] = slots - slots // _WAIT if few else slots
    return dropped, work
