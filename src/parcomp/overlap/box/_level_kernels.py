"""Kernels of the box search that lay down a node: its box, its candidates and who of them are adjacent inside the box.

They work on :class:`~parcomp.overlap.box.layout.Stack`.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit, popcount
from parcomp.jit import kernel
from parcomp.overlap.box.layout import (
    ADJACENCY,
    ALL,
    BY_COLUMN,
    BY_MASK,
    CANDIDATES,
    COLUMN_LIMIT,
    COMMITTED,
    COUNT,
    NAMES,
    NONE,
    NUMBERS_TOP,
    ONE,
    TO_COLUMNS,
    UNTOUCHED,
    WEIGHTS,
    WIDTH,
    WORDS_TOP,
)

__all__ = [
    "open_root",
    "pays_to_renumber",
    "refine_adjacency",
    "renumber",
    "restrict_box",
    "sift_candidates",
    "space_for_child",
    "space_for_cover",
    "weight_of",
    "work_of_refining",
]


@kernel
def weight_of(words, at, width, weights, weights_at):
    total = np.int64(0)
    for k in range(width):
        word = words[at + k]
        while word:
            total += weights[weights_at + (k << 6) + lowest_bit(word)]
            word &= word - ONE
    return total


@kernel
def open_root(workload, stack):
    """Lay level 0 down: the box is the domain, queries without terms are committed, all others are candidates.

    The adjacency of the query graph lies at the bottom of ``words`` from the beginning.
    """
    words, numbers, level = stack.words, stack.numbers, stack.level
    t = len(workload.weights)
    width = (t + 63) >> 6
    level[0, ADJACENCY] = 0
    top = t * width
    level[0, COMMITTED] = 0
    level[0, WIDTH] = width
    level[0, COUNT] = t
    level[0, CANDIDATES] = top
    for k in range(width):
        words[top + k] = NONE
    for q in range(t):
        words[top + (q >> 6)] |= ONE << np.uint64(q & 63)
    top += width
    m = len(workload.width)
    for a in range(m):
        stack.box_at[0, a] = top
        size = stack.live[0, a]
        for k in range(workload.width[a]):
            words[top + k] = ALL
        if size & 63:
            words[top + workload.width[a] - 1] = (ONE << np.uint64(size & 63)) - ONE
        top += workload.width[a]
        stack.open_at[0, a] = top
        for k in range(width):
            words[top + k] = NONE
        top += width
        stack.columns_at[0, a] = -1
        if size <= COLUMN_LIMIT:
            stack.columns_at[0, a] = top
            for k in range(size * width):
                words[top + k] = ALL
            top += size * width
    for q in range(t):
        bit = ONE << np.uint64(q & 63)
        for i in range(workload.first[q], workload.first[q + 1]):
            a = workload.attribute[i]
            words[stack.open_at[0, a] + (q >> 6)] |= bit
            if stack.columns_at[0, a] >= 0:
                for v in range(stack.live[0, a]):
                    if not (workload.mask_words[workload.offset[i]] >> np.uint64(v)) & ONE:
                        words[stack.columns_at[0, a] + v * width + (q >> 6)] &= ~bit
        if workload.first[q] == workload.first[q + 1]:
            words[level[0, CANDIDATES] + (q >> 6)] &= ~bit
            level[0, COMMITTED] += workload.weights[q]
    level[0, WORDS_TOP] = top
    level[0, NAMES] = 0
    level[0, WEIGHTS] = t
    for q in range(t):
        numbers[q] = q
        numbers[t + q] = workload.weights[q]
    level[0, NUMBERS_TOP] = 2 * t


@kernel
def pays_to_renumber(kept, width):
    return width >= 8 and 4 * ((kept + 63) >> 6) <= width


@kernel
def space_for_cover(stack, depth, target, count, width):
    """Bounds on a cover's scratch space: each set but the last takes a unit of the target and exhausts a vertex."""
    sets = min(count, max(0, target - stack.level[depth, COMMITTED])) + 1
    return width * (sets + 2), 11 * count + 16


@kernel
def space_for_child(workload, stack, depth, q, target):
    """Bounds on the words and numbers that the child which chooses ``q`` may take, scratch space included."""
    words, level = stack.words, stack.level
    width, count = level[depth, WIDTH], level[depth, COUNT]
    place, bit = q >> 6, ONE << np.uint64(q & 63)
    name = stack.numbers[level[depth, NAMES] + q]
    more_words, more_numbers = width, np.int64(0)
    for i in range(workload.first[name], workload.first[name + 1]):
        a = workload.attribute[i]
        if words[stack.open_at[depth, a] + place] & bit:
            more_words += workload.width[a] + width * (1 + min(stack.live[depth, a], COLUMN_LIMIT))
            more_numbers += COLUMN_LIMIT
    kept = np.int64(0)
    for k in range(width):
        kept += popcount(words[level[depth, CANDIDATES] + k] & words[level[depth, ADJACENCY] + q * width + k])
    if pays_to_renumber(kept, width):
        count, width = kept, (kept + 63) >> 6
    if pays_to_renumber(kept, level[depth, WIDTH]) or level[depth, WIDTH] >= 8:
        more_words += width * (count + 1)
        for a in range(len(workload.width)):
            more_words += width * (1 + min(stack.live[depth, a], COLUMN_LIMIT))
    cover_words, cover_numbers = space_for_cover(stack, depth, target, count, width)
    return more_words + width * count + cover_words, more_numbers + 3 * count + cover_numbers


@kernel
def restrict_box(workload, stack, depth, child, name, bit, place, width, top, numbers_top):
    """Intersect the box with the masks of the chosen query; returns the stack tops and the work.

    Attributes of which the query accepts every live value are left as they are.
    """
    words, numbers = stack.words, stack.numbers
    candidates = stack.level[child, CANDIDATES]
    work = np.int64(0)
    for i in range(workload.first[name], workload.first[name + 1]):
        a = workload.attribute[i]
        open_before = stack.open_at[depth, a]
        if not words[open_before + place] & bit:
            continue
        old, new = stack.box_at[depth, a], top
        live = np.int64(0)
        for k in range(workload.width[a]):
            word = words[old + k] & workload.mask_words[workload.offset[i] + k]
            words[new + k] = word
            live += popcount(word)
        top += workload.width[a]
        work += workload.width[a]
        stack.box_at[child, a] = new
        stack.live[child, a] = live
        open_after = top
        top += width
        stack.open_at[child, a] = open_after
        source = stack.columns_at[depth, a]
        if source >= 0:
            stack.mode[a] = BY_COLUMN
            stack.columns_at[child, a] = top
            for _ in range(stack.live[depth, a]):
                if words[source + place] & bit:
                    for k in range(width):
                        words[top + k] = words[source + k]
                    top += width
                source += width
            first = stack.columns_at[child, a]
            for k in range(width):
                some, every = NONE, ALL
                for v in range(live):
                    word = words[first + v * width + k]
                    some |= word
                    every &= word
                words[candidates + k] &= some
                words[open_after + k] = words[open_before + k] & ~every
            work += (stack.live[depth, a] + live) * width
            continue
        for k in range(width):
            words[open_after + k] = NONE
        if live > COLUMN_LIMIT:
            stack.mode[a] = BY_MASK
            continue
        stack.mode[a] = TO_COLUMNS
        stack.columns_at[child, a] = top
        for k in range(live * width):
            words[top + k] = ALL
        top += live * width
        work += live * width
        stack.values_at[a] = numbers_top
        for k in range(workload.width[a]):
            word = words[new + k]
            while word:
                numbers[numbers_top] = (k << 6) + lowest_bit(word)
                numbers_top += 1
                word &= word - ONE
    return top, numbers_top, work


@kernel
def sift_candidates(workload, stack, depth, child, width):
    """Drop the candidates that miss the box, absorb those that contain it; returns the work.

    A candidate that misses the box on some attribute satisfies no row of the box.  One whose masks contain the box on
    *every* attribute satisfies all its rows, so it joins any choice of the others at no expense and needs no branch.
    (Being adjacent to all other candidates would not do: without the Helly property the masks of pairwise
    overlapping queries may have no value in common.)
    """
    words, numbers, level = stack.words, stack.numbers, stack.level
    candidates, names = level[child, CANDIDATES], level[child, NAMES]
    work = np.int64(0)
    for k in range(width):
        word = words[candidates + k]
        while word:
            place = lowest_bit(word)
            bit = ONE << np.uint64(place)
            word &= word - ONE
            q = (k << 6) + place
            name = numbers[names + q]
            missed, contains = False, True
            for i in range(workload.first[name], workload.first[name + 1]):
                a = workload.attribute[i]
                mode = stack.mode[a]
                work += 1
                if mode == UNTOUCHED or mode == BY_COLUMN:
                    if words[stack.open_at[child, a] + k] & bit:
                        contains = False
                    continue
                if not words[stack.open_at[depth, a] + k] & bit:
                    continue
                offset = workload.offset[i]
                some, every = False, True
                if mode == TO_COLUMNS:
                    column = stack.columns_at[child, a] + k
                    for j in range(stack.values_at[a], stack.values_at[a] + stack.live[child, a]):
                        v = numbers[j]
                        if (workload.mask_words[offset + (v >> 6)] >> np.uint64(v & 63)) & ONE:
                            some = True
                        else:
                            every = False
                            words[column] &= ~bit
                        column += width
                    work += stack.live[child, a]
                else:
                    box = stack.box_at[child, a]
                    for j in range(workload.width[a]):
                        inside = words[box + j]
                        common = inside & workload.mask_words[offset + j]
                        work += 1
                        some = some or common != NONE
                        every = every and common == inside
                        if some and not every:
                            break
                if not some:
                    missed = True
                    break
                if not every:
                    contains = False
                    words[stack.open_at[child, a] + k] |= bit
            if missed:
                words[candidates + k] &= ~bit
            elif contains:
                words[candidates + k] &= ~bit
                level[child, COMMITTED] += numbers[level[child, WEIGHTS] + q]
    return work


@kernel
def _gather(words, source, target, width, kept, numbers, picks):
    """Bit ``j`` of the block at ``target`` becomes bit ``numbers[picks + j]`` of the block at ``source``."""
    for k in range(width):
        words[target + k] = NONE
    for j in range(kept):
        q = numbers[picks + j]
        word = (words[source + (q >> 6)] >> np.uint64(q & 63)) & ONE
        words[target + (j >> 6)] |= word << np.uint64(j & 63)


@kernel
def renumber(workload, stack, child, kept, top, numbers_top):
    """Give the ``kept`` candidates a frame of their own, in the same order; returns the stack tops and the work."""
    words, numbers, level = stack.words, stack.numbers, stack.level
    old_width, candidates = level[child, WIDTH], level[child, CANDIDATES]
    width = (kept + 63) >> 6
    picks = numbers_top
    names, weights = picks + kept, picks + 2 * kept
    numbers_top += 3 * kept
    j = np.int64(0)
    for k in range(old_width):
        word = words[candidates + k]
        while word:
            q = (k << 6) + lowest_bit(word)
            word &= word - ONE
            numbers[picks + j] = q
            numbers[names + j] = numbers[level[child, NAMES] + q]
            numbers[weights + j] = numbers[level[child, WEIGHTS] + q]
            j += 1
    adjacency = top
    for j in range(kept):
        source = level[child, ADJACENCY] + numbers[picks + j] * old_width
        _gather(words, source, top, width, kept, numbers, picks)
        top += width
    rows = kept
    for a in range(len(workload.width)):
        _gather(words, stack.open_at[child, a], top, width, kept, numbers, picks)
        stack.open_at[child, a] = top
        any_open = NONE
        for k in range(width):
            any_open |= words[top + k]
        top += width
        rows += 1
        if stack.columns_at[child, a] >= 0:
            if any_open:
                source = stack.columns_at[child, a]
                stack.columns_at[child, a] = top
                for v in range(stack.live[child, a]):
                    _gather(words, source + v * old_width, top, width, kept, numbers, picks)
                    top += width
                rows += stack.live[child, a]
            else:
                # No candidate tells the live values apart, and none ever will below this level.
                stack.columns_at[child, a] = -1
    level[child, CANDIDATES] = top
    for k in range(width):
        words[top + k] = ALL
    if kept & 63:
        words[top + width - 1] = (ONE << np.uint64(kept & 63)) - ONE
    top += width
    level[child, WIDTH] = width
    level[child, COUNT] = kept
    level[child, NAMES] = names
    level[child, WEIGHTS] = weights
    level[child, ADJACENCY] = adjacency
    return top, numbers_top, rows * kept


@kernel
def work_of_refining(workload, stack, child):
    """About what :func:`refine_adjacency` takes, if a candidate accepts half of the live values."""
    words, level = stack.words, stack.level
    width, candidates = level[child, WIDTH], level[child, CANDIDATES]
    rows = np.int64(0)
    for k in range(width):
        rows += popcount(words[candidates + k])
    work = 2 * rows
    for a in range(len(workload.width)):
        columns, live = stack.columns_at[child, a], stack.live[child, a]
        if columns < 0 or live < 2 or stack.mode[a] == UNTOUCHED:
            continue
        for k in range(width):
            work += popcount(words[candidates + k] & words[stack.open_at[child, a] + k]) * (2 + (live >> 1))
    return work * width


@kernel
def refine_adjacency(workload, stack, child, top):
    """Keep candidates adjacent only if their masks meet *inside the box*; the top, the work, edges before and after.

    A row of the box satisfies two candidates only if on every attribute some live value is accepted by both, so a
    bound on the cliques of this sparser graph bounds the overlap in the box.  Attributes without columns are passed
    over, which leaves edges in and is safe.
    """
    words, level = stack.words, stack.level
    width, count, candidates = level[child, WIDTH], level[child, COUNT], level[child, CANDIDATES]
    before, after, work = np.int64(0), np.int64(0), np.int64(0)
    old, new = level[child, ADJACENCY], top
    for k in range(width):
        word = words[candidates + k]
        while word:
            q = (k << 6) + lowest_bit(word)
            word &= word - ONE
            for z in range(width):
                row = words[old + q * width + z] & words[candidates + z]
                words[new + q * width + z] = row
                before += popcount(row)
            work += width
    level[child, ADJACENCY] = new
    top += count * width
    scratch = top
    for a in range(len(workload.width)):
        columns, live = stack.columns_at[child, a], stack.live[child, a]
        if columns < 0 or live < 2 or stack.mode[a] == UNTOUCHED:
            continue
        for k in range(width):
            word = words[candidates + k] & words[stack.open_at[child, a] + k]
            while word:
                place = lowest_bit(word)
                bit = ONE << np.uint64(place)
                word &= word - ONE
                for z in range(width):
                    words[scratch + z] = NONE
                for v in range(live):
                    if words[columns + v * width + k] & bit:
                        for z in range(width):
                            words[scratch + z] |= words[columns + v * width + z]
                        work += width
                row = new + ((k << 6) + place) * width
                for z in range(width):
                    words[row + z] &= words[scratch + z]
    for k in range(width):
        word = words[candidates + k]
        while word:
            q = (k << 6) + lowest_bit(word)
            word &= word - ONE
            for z in range(width):
                after += popcount(words[new + q * width + z])
    return top, work, before, after
