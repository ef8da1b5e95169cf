"""Kernels of the box search: depth-first branch and bound on the levels of a stack.

The stack is that of :mod:`parcomp.overlap.box.layout`.  ``state`` holds what outlives a level: the depth, the
incumbent's weight, the target that an overlap has to beat, the work and the nodes spent, and the proven upper bound.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, has_bit, lowest_bit, popcount, weigh_bits
from parcomp.jit import inlined, inner_kernel, kernel
from parcomp.overlap.box import layout
from parcomp.overlap.box._cover_kernels import cover
from parcomp.overlap.box._level_kernels import (
    open_root,
    pays_to_renumber,
    refine_adjacency,
    renumber,
    restrict_box,
    sift_candidates,
    space_for_child,
    space_for_cover,
    work_of_refining,
)

__all__ = [
    "DONE",
    "LOWER",
    "NODES",
    "NO_LEVEL",
    "NO_NUMBERS",
    "NO_WORDS",
    "PAUSED",
    "STATE_FIELDS",
    "TARGET",
    "UPPER",
    "WORK",
    "begin",
    "search",
]

DEPTH, LOWER, TARGET, WORK, NODES, UPPER = range(6)
STATE_FIELDS = 6

# How a call ends: with the search complete, with the work used up, or for want of levels, words or numbers.
DONE, PAUSED, NO_LEVEL, NO_WORDS, NO_NUMBERS = range(5)

# A node is refined only where that takes no more, lest it be too long between two looks at the clock.
REFINE_LIMIT = 1 << 26


@inlined
def _list_branches(stack, depth, target, top, numbers_top):
    """Cover the level's candidates and store its branches; returns the work."""
    head = stack.level[depth]
    count, work = cover(stack, depth, target, top, numbers_top)
    head[layout.BRANCHES] = numbers_top
    head[layout.BRANCH_COUNT] = count
    head[layout.WORDS_TOP] = top
    head[layout.NUMBERS_TOP] = numbers_top + 2 * count
    return work


@inner_kernel
def _record(queries, stack, depth, state, row):
    """Keep the row of the box's first values if what is committed at this level beats the incumbent.

    The row satisfies all that is committed and perhaps more, so it is weighed.
    """
    if stack.level[depth, layout.COMMITTED] <= state[LOWER]:
        return
    for a in range(len(queries.width)):
        k = np.int64(0)
        while stack.words[stack.box_at[depth, a] + k] == layout.NONE:
            k += 1
        row[a] = (k << 6) + lowest_bit(stack.words[stack.box_at[depth, a] + k])
    state[LOWER] = 0
    for q in range(len(queries.weights)):
        satisfied = True
        for i in range(queries.first[q], queries.first[q + 1]):
            v = np.int64(row[queries.attribute[i]])
            if not has_bit(queries.mask_words[queries.offset[i] + (v >> 6)], v):
                satisfied = False
                break
        if satisfied:
            state[LOWER] += queries.weights[q]
    state[WORK] += len(queries.weights)
    state[TARGET] = max(state[TARGET], state[LOWER])


@kernel
def begin(queries, stack, target, state, row):
    """Start a search for an overlap above ``target``, which is at least the incumbent's weight, unless space lacks."""
    open_root(queries, stack)
    state[DEPTH] = 0
    state[TARGET] = target
    _record(queries, stack, 0, state, row)
    head = stack.level[0]
    top, numbers_top = head[layout.WORDS_TOP], head[layout.NUMBERS_TOP]
    more_words, more_numbers = space_for_cover(stack, 0, state[TARGET], head[layout.COUNT], head[layout.WIDTH])
    if top + more_words > len(stack.words):
        return NO_WORDS
    if numbers_top + more_numbers > len(stack.numbers):
        return NO_NUMBERS
    state[WORK] += _list_branches(stack, 0, state[TARGET], top, numbers_top)
    stack.patience[:] = 0
    return PAUSED


@inlined
def _reach(stack, child):
    """What the level's rows could weigh if its candidates had one in common."""
    head, width = stack.level[child], stack.level[child, layout.WIDTH]
    candidates = stack.words[head[layout.CANDIDATES] : head[layout.CANDIDATES] + width]
    return head[layout.COMMITTED] + weigh_bits(candidates, stack.numbers[head[layout.WEIGHTS] :])


@inlined
def _refine(queries, stack, depth, state, top):
    """Refine the adjacency of the child of level ``depth``, unless that does not pay; returns the top."""
    patience = stack.patience[depth]
    if patience[0] > 0:
        patience[0] -= 1
    elif work_of_refining(queries, stack, depth + 1) <= REFINE_LIMIT:
        top, work, sparser = refine_adjacency(queries, stack, depth + 1, top)
        state[WORK] += work
        # Where refining removes next to nothing (points, intervals) it is tried ever less often.
        patience[1] = 0 if sparser else min(2 * patience[1] + 1, 127)
        patience[0] = patience[1]
    return top


@inner_kernel
def _open_child(queries, stack, depth, q, state, row):
    """Choose candidate ``q`` at level ``depth`` and lay the next level down; false if it cannot beat the target."""
    words, parent, child = stack.words, stack.level[depth], stack.level[depth + 1]
    width = parent[layout.WIDTH]
    for field in range(layout.LEVEL_FIELDS):
        child[field] = parent[field]
    top, numbers_top = parent[layout.WORDS_TOP], parent[layout.NUMBERS_TOP]
    child[layout.BRANCH_COUNT] = 0
    child[layout.COMMITTED] += stack.numbers[parent[layout.WEIGHTS] + q]
    child[layout.CANDIDATES] = top
    for k in range(width):
        words[top + k] = words[parent[layout.CANDIDATES] + k] & words[parent[layout.ADJACENCY] + q * width + k]
    words[top + (q >> 6)] &= ~bit_of(q)
    reach = _reach(stack, depth + 1)
    state[WORK] += width
    if reach <= state[TARGET]:
        return False
    top += width

    for a in range(len(queries.width)):
        stack.mode[a] = layout.UNTOUCHED
        stack.box_at[depth + 1, a] = stack.box_at[depth, a]
        stack.live[depth + 1, a] = stack.live[depth, a]
        stack.open_at[depth + 1, a] = stack.open_at[depth, a]
        stack.columns_at[depth + 1, a] = stack.columns_at[depth, a]
    top, numbers_top, work = restrict_box(queries, stack, depth, q, top, numbers_top)
    state[WORK] += work + len(queries.width) + sift_candidates(queries, stack, depth)
    _record(queries, stack, depth + 1, state, row)
    if _reach(stack, depth + 1) <= state[TARGET]:
        return False

    kept = np.int64(0)
    for k in range(width):
        kept += popcount(words[child[layout.CANDIDATES] + k])
    if pays_to_renumber(kept, width):
        top, numbers_top, work = renumber(queries, stack, depth + 1, kept, top, numbers_top)
        state[WORK] += work
    top = _refine(queries, stack, depth, state, top)
    state[WORK] += _list_branches(stack, depth + 1, state[TARGET], top, numbers_top)
    return child[layout.BRANCH_COUNT] > 0


@kernel
def search(queries, stack, state, row, work_limit):
    """Continue depth first until done, until ``state[WORK]`` reaches the limit or until the stack is full.

    ``state[UPPER]`` falls as branches of the root complete: what remains is bounded by the target or by the cover that
    was stored with the last open branch.
    """
    words, numbers, level = stack.words, stack.numbers, stack.level
    while True:
        depth = state[DEPTH]
        count = level[depth, layout.BRANCH_COUNT]
        bound = np.int64(0)
        if count > 0:
            last = level[depth, layout.BRANCHES] + 2 * (count - 1)
            bound = numbers[last + 1]
        if bound <= state[TARGET]:
            if depth == 0:
                state[UPPER] = min(state[UPPER], state[TARGET])
                return DONE
            state[DEPTH] -= 1
            continue
        if depth == 0:
            state[UPPER] = min(state[UPPER], bound)
        if state[WORK] >= work_limit:
            return PAUSED
        q = numbers[last]
        more_words, more_numbers = space_for_child(queries, stack, depth, q, state[TARGET])
        if depth + 1 == len(level):
            return NO_LEVEL
        if level[depth, layout.WORDS_TOP] + more_words > len(words):
            return NO_WORDS
        if level[depth, layout.NUMBERS_TOP] + more_numbers > len(numbers):
            return NO_NUMBERS
        state[NODES] += 1
        level[depth, layout.BRANCH_COUNT] -= 1
        if _open_child(queries, stack, depth, q, state, row):
            state[DEPTH] += 1
        words[level[depth, layout.CANDIDATES] + (q >> 6)] &= ~bit_of(q)
