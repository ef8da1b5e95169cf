"""Kernels of the box search that lay down a node: its box, its candidates and who of them are adjacent inside the box.

They work on :class:`~parcomp.overlap.box.layout.Stack`; the child of level ``depth`` is level ``depth + 1``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, fill_ones, has_bit, lowest_bit, popcount
from parcomp.jit import inlined, inner_kernel
from parcomp.overlap.box import layout

__all__ = [
    "open_root",
    "pays_to_renumber",
    "refine_adjacency",
    "renumber",
    "restrict_box",
    "sift_candidates",
    "space_for_child",
    "space_for_cover",
    "work_of_refining",
]


@inner_kernel
def open_root(queries, stack):
    """Lay level 0 down: the box is the domain, queries without terms are committed, all others are candidates.

    The adjacency of the query graph lies at the bottom of ``words`` from the beginning.
    """
    words, numbers, head = stack.words, stack.numbers, stack.level[0]
    t = len(queries.weights)
    width = (t + 63) >> 6
    top = t * width
    head[layout.ADJACENCY] = 0
    head[layout.COMMITTED] = 0
    head[layout.WIDTH] = width
    head[layout.COUNT] = t
    head[layout.CANDIDATES] = top
    fill_ones(words[top : top + width], t)
    top += width
    for a in range(len(queries.width)):
        size = stack.live[0, a]
        stack.box_at[0, a] = top
        fill_ones(words[top : top + queries.width[a]], size)
        top += queries.width[a]
        stack.open_at[0, a] = top
        words[top : top + width] = layout.NONE
        top += width
        stack.columns_at[0, a] = -1
        if size <= layout.COLUMN_LIMIT:
            stack.columns_at[0, a] = top
            words[top : top + size * width] = layout.ALL
            top += size * width
    for q in range(t):
        place, bit = q >> 6, bit_of(q)
        for i in range(queries.first[q], queries.first[q + 1]):
            a = queries.attribute[i]
            words[stack.open_at[0, a] + place] |= bit
            if stack.columns_at[0, a] >= 0:
                for v in range(stack.live[0, a]):
                    if not (queries.mask_words[queries.offset[i]] >> np.uint64(v)) & layout.ONE:
                        words[stack.columns_at[0, a] + v * width + place] &= ~bit
        if queries.first[q] == queries.first[q + 1]:
            words[head[layout.CANDIDATES] + place] &= ~bit
            head[layout.COMMITTED] += queries.weights[q]
    head[layout.WORDS_TOP] = top
    head[layout.NAMES] = 0
    head[layout.WEIGHTS] = t
    numbers[:t] = np.arange(t)
    numbers[t : 2 * t] = queries.weights
    head[layout.NUMBERS_TOP] = 2 * t


@inlined
def pays_to_renumber(kept, width):
    return width >= 8 and 4 * ((kept + 63) >> 6) <= width


@inlined
def space_for_cover(stack, depth, target, count, width):
    """Bounds on a cover's scratch space: each set but the last takes a unit of the target and exhausts a vertex."""
    sets = min(count, max(0, target - stack.level[depth, layout.COMMITTED])) + 1
    return width * (sets + 2), 11 * count + 16


@inner_kernel
def space_for_child(queries, stack, depth, q, target):
    """Bounds on the words and numbers that the child which chooses ``q`` may take, scratch space included."""
    words, head = stack.words, stack.level[depth]
    width, count = head[layout.WIDTH], head[layout.COUNT]
    place, bit = q >> 6, bit_of(q)
    name = stack.numbers[head[layout.NAMES] + q]
    more_words, more_numbers = width, np.int64(0)
    for i in range(queries.first[name], queries.first[name + 1]):
        a = queries.attribute[i]
        if words[stack.open_at[depth, a] + place] & bit:
            more_words += queries.width[a] + width * (1 + min(stack.live[depth, a], layout.COLUMN_LIMIT))
            more_numbers += layout.COLUMN_LIMIT
    kept = np.int64(0)
    for k in range(width):
        kept += popcount(words[head[layout.CANDIDATES] + k] & words[head[layout.ADJACENCY] + q * width + k])
    if pays_to_renumber(kept, width):
        count, width = kept, (kept + 63) >> 6
    if head[layout.WIDTH] >= 8:
        more_words += width * (count + 1)
        for a in range(len(queries.width)):
            more_words += width * (1 + min(stack.live[depth, a], layout.COLUMN_LIMIT))
    cover_words, cover_numbers = space_for_cover(stack, depth, target, count, width)
    return more_words + width * count + cover_words, more_numbers + 3 * count + cover_numbers


@inlined
def _narrow_columns(stack, depth, a, q, top):
    """Keep the columns of the values that ``q`` accepts, and hold the candidates against them; the top and the work."""
    words, child, width = stack.words, depth + 1, stack.level[depth, layout.WIDTH]
    candidates = stack.level[child, layout.CANDIDATES]
    open_before, open_after = stack.open_at[depth, a], stack.open_at[child, a]
    place, bit = q >> 6, bit_of(q)
    stack.mode[a] = layout.BY_COLUMN
    stack.columns_at[child, a] = top
    first, source, live = top, stack.columns_at[depth, a], stack.live[child, a]
    for _ in range(stack.live[depth, a]):
        if words[source + place] & bit:
            for k in range(width):
                words[top + k] = words[source + k]
            top += width
        source += width
    for k in range(width):
        some, every = layout.NONE, layout.ALL
        for v in range(live):
            word = words[first + v * width + k]
            some |= word
            every &= word
        words[candidates + k] &= some
        words[open_after + k] = words[open_before + k] & ~every
    return top, (stack.live[depth, a] + live) * width


@inlined
def _begin_columns(queries, stack, depth, a, top, numbers_top):
    """Give an attribute whose live values have become few columns that accept all, and list the values; the tops."""
    words, numbers, child, width = stack.words, stack.numbers, depth + 1, stack.level[depth, layout.WIDTH]
    stack.mode[a] = layout.TO_COLUMNS
    stack.columns_at[child, a] = top
    size = stack.live[child, a] * width
    words[top : top + size] = layout.ALL
    stack.values_at[a] = numbers_top
    for k in range(queries.width[a]):
        word = words[stack.box_at[child, a] + k]
        while word:
            numbers[numbers_top] = (k << 6) + lowest_bit(word)
            numbers_top += 1
            word &= word - layout.ONE
    return top + size, numbers_top


@inner_kernel
def restrict_box(queries, stack, depth, q, top, numbers_top):
    """Intersect the box with the masks of the chosen query; returns the stack tops and the work.

    Attributes of which the query accepts every live value are left as they are.
    """
    words, child = stack.words, depth + 1
    width = stack.level[depth, layout.WIDTH]
    place, bit = q >> 6, bit_of(q)
    name = stack.numbers[stack.level[depth, layout.NAMES] + q]
    work = np.int64(0)
    for i in range(queries.first[name], queries.first[name + 1]):
        a = queries.attribute[i]
        if not words[stack.open_at[depth, a] + place] & bit:
            continue
        old, new = stack.box_at[depth, a], top
        live = np.int64(0)
        for k in range(queries.width[a]):
            word = words[old + k] & queries.mask_words[queries.offset[i] + k]
            words[new + k] = word
            live += popcount(word)
        work += queries.width[a]
        stack.box_at[child, a] = new
        stack.live[child, a] = live
        stack.open_at[child, a] = new + queries.width[a]
        top = stack.open_at[child, a] + width
        if stack.columns_at[depth, a] >= 0:
            top, spent = _narrow_columns(stack, depth, a, q, top)
            work += spent
            continue
        words[top - width : top] = layout.NONE
        if live > layout.COLUMN_LIMIT:
            stack.mode[a] = layout.BY_MASK
            continue
        top, numbers_top = _begin_columns(queries, stack, depth, a, top, numbers_top)
        work += live * width
    return top, numbers_top, work


@inner_kernel
def sift_candidates(queries, stack, depth):
    """Drop the child's candidates that miss the box, absorb those that contain it; returns the work.

    A candidate that misses the box on some attribute satisfies no row of the box.  One whose masks contain the box on
    *every* attribute satisfies all its rows, so it joins any choice of the others at no expense and needs no branch.
    (Being adjacent to all other candidates would not do: without the Helly property the masks of pairwise
    overlapping queries may have no value in common.)
    """
    words, numbers, child = stack.words, stack.numbers, depth + 1
    head = stack.level[child]
    candidates, names, width = head[layout.CANDIDATES], head[layout.NAMES], head[layout.WIDTH]
    work = np.int64(0)
    for k in range(width):
        word = words[candidates + k]
        while word:
            q = (k << 6) + lowest_bit(word)
            bit = bit_of(q)
            word &= word - layout.ONE
            name = numbers[names + q]
            missed, contains = False, True
            for i in range(queries.first[name], queries.first[name + 1]):
                a = queries.attribute[i]
                mode = stack.mode[a]
                work += 1
                if mode == layout.UNTOUCHED or mode == layout.BY_COLUMN:
                    if words[stack.open_at[child, a] + k] & bit:
                        contains = False
                    continue
                if not words[stack.open_at[depth, a] + k] & bit:
                    continue
                offset = queries.offset[i]
                some, every = False, True
                if mode == layout.TO_COLUMNS:
                    column = stack.columns_at[child, a] + k
                    for j in range(stack.values_at[a], stack.values_at[a] + stack.live[child, a]):
                        v = numbers[j]
                        if has_bit(queries.mask_words[offset + (v >> 6)], v):
                            some = True
                        else:
                            every = False
                            words[column] &= ~bit
                        column += width
                    work += stack.live[child, a]
                else:
                    box = stack.box_at[child, a]
                    for z in range(queries.width[a]):
                        inside = words[box + z]
                        common = inside & queries.mask_words[offset + z]
                        work += 1
                        some = some or common != layout.NONE
                        every = every and common == inside
                        if some and not every:
                            break
                if not some:
                    missed = True
                    break
                if not every:
                    contains = False
                    words[stack.open_at[child, a] + k] |= bit
            if missed or contains:
                words[candidates + k] &= ~bit
            if contains and not missed:
                head[layout.COMMITTED] += numbers[head[layout.WEIGHTS] + q]
    return work


@inner_kernel
def _gather(words, source, target, picks):
    """Bit ``j`` of the block at ``target`` becomes bit ``picks[j]`` of the block at ``source``; where it ends."""
    width = (len(picks) + 63) >> 6
    for k in range(width):
        words[target + k] = layout.NONE
    for j in range(len(picks)):
        q = picks[j]
        word = (words[source + (q >> 6)] >> np.uint64(q & 63)) & layout.ONE
        words[target + (j >> 6)] |= word << np.uint64(j & 63)
    return target + width


@inner_kernel
def renumber(queries, stack, child, kept, top, numbers_top):
    """Give the ``kept`` candidates a frame of their own, in the same order; returns the stack tops and the work."""
    words, numbers, head = stack.words, stack.numbers, stack.level[child]
    old_width, candidates = head[layout.WIDTH], head[layout.CANDIDATES]
    picks = numbers[numbers_top : numbers_top + kept]
    names, weights = numbers_top + kept, numbers_top + 2 * kept
    j = np.int64(0)
    for k in range(old_width):
        word = words[candidates + k]
        while word:
            q = (k << 6) + lowest_bit(word)
            word &= word - layout.ONE
            picks[j] = q
            numbers[names + j] = numbers[head[layout.NAMES] + q]
            numbers[weights + j] = numbers[head[layout.WEIGHTS] + q]
            j += 1
    adjacency = top
    for q in picks:
        top = _gather(words, head[layout.ADJACENCY] + q * old_width, top, picks)
    rows = kept
    width = (kept + 63) >> 6
    for a in range(len(queries.width)):
        source, stack.open_at[child, a] = stack.open_at[child, a], top
        top = _gather(words, source, top, picks)
        rows += 1
        if stack.columns_at[child, a] >= 0:
            if words[top - width : top].any():
                source, stack.columns_at[child, a] = stack.columns_at[child, a], top
                for v in range(stack.live[child, a]):
                    top = _gather(words, source + v * old_width, top, picks)
                rows += stack.live[child, a]
            else:
                # No candidate tells the live values apart, and none ever will below this level.
                stack.columns_at[child, a] = -1
    head[layout.CANDIDATES] = top
    fill_ones(words[top : top + width], kept)
    head[layout.WIDTH] = width
    head[layout.COUNT] = kept
    head[layout.NAMES] = names
    head[layout.WEIGHTS] = weights
    head[layout.ADJACENCY] = adjacency
    return top + width, numbers_top + 3 * kept, rows * kept


@inlined
def _tells_apart(stack, child, a):
    """Whether columns of an attribute could tell candidates apart that the parent's did not."""
    return stack.columns_at[child, a] >= 0 and stack.live[child, a] >= 2 and stack.mode[a] != layout.UNTOUCHED


@inner_kernel
def work_of_refining(queries, stack, child):
    """About what :func:`refine_adjacency` takes, if a candidate accepts half of the live values."""
    words, head = stack.words, stack.level[child]
    width, candidates = head[layout.WIDTH], head[layout.CANDIDATES]
    rows = np.int64(0)
    for k in range(width):
        rows += popcount(words[candidates + k])
    work = 2 * rows
    for a in range(len(queries.width)):
        if _tells_apart(stack, child, a):
            each = 2 + (stack.live[child, a] >> 1)
            for k in range(width):
                work += popcount(words[candidates + k] & words[stack.open_at[child, a] + k]) * each
    return work * width


@inner_kernel
def refine_adjacency(queries, stack, child, top):
    """Keep candidates adjacent only if their masks meet *inside the box*; the top, the work, whether an edge went.

    A row of the box satisfies two candidates only if on every attribute some live value is accepted by both, so a
    bound on the cliques of this sparser graph bounds the overlap in the box.  Attributes without columns are passed
    over, which leaves edges in and is safe.
    """
    words, head = stack.words, stack.level[child]
    width, candidates = head[layout.WIDTH], head[layout.CANDIDATES]
    work = np.int64(0)
    old, new = head[layout.ADJACENCY], top
    for k in range(width):
        word = words[candidates + k]
        while word:
            q = (k << 6) + lowest_bit(word)
            word &= word - layout.ONE
            for z in range(width):
                words[new + q * width + z] = words[old + q * width + z] & words[candidates + z]
            work += width
    head[layout.ADJACENCY] = new
    top += head[layout.COUNT] * width
    gone = layout.NONE
    for a in range(len(queries.width)):
        if not _tells_apart(stack, child, a):
            continue
        columns, live, met = stack.columns_at[child, a], stack.live[child, a], top
        for k in range(width):
            word = words[candidates + k] & words[stack.open_at[child, a] + k]
            while word:
                q = (k << 6) + lowest_bit(word)
                bit = bit_of(q)
                word &= word - layout.ONE
                for z in range(width):
                    words[met + z] = layout.NONE
                for v in range(live):
                    if words[columns + v * width + k] & bit:
                        for z in range(width):
                            words[met + z] |= words[columns + v * width + z]
                        work += width
                row = new + q * width
                for z in range(width):
                    gone |= words[row + z] & ~words[met + z]
                    words[row + z] &= words[met + z]
    return top, work, gone != layout.NONE
