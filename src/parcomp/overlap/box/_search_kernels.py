"""Kernels of the box search: depth-first branch and bound on the levels of a stack.

``_box_level_kernels`` describes the stack.  ``state`` holds what outlives a level: the depth, the incumbent's weight,
the target that an overlap has to beat, the work and the nodes spent, and the proven upper bound.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit, popcount
from parcomp.jit import kernel
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
    weight_of,
    work_of_refining,
)
from parcomp.overlap.box.layout import (
    ADJACENCY,
    BRANCH_COUNT,
    BRANCHES,
    CANDIDATES,
    COMMITTED,
    COUNT,
    LEVEL_FIELDS,
    NAMES,
    NONE,
    NUMBERS_TOP,
    ONE,
    UNTOUCHED,
    WEIGHTS,
    WIDTH,
    WORDS_TOP,
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


@kernel
def _list_branches(stack, depth, target, top, numbers_top):
    """Cover the level's candidates and store its branches; returns the work."""
    level = stack.level
    count, work = cover(
        stack.words,
        stack.numbers,
        level[depth, CANDIDATES],
        level[depth, WIDTH],
        level[depth, ADJACENCY],
        level[depth, WEIGHTS],
        level[depth, COUNT],
        level[depth, COMMITTED],
        target,
        top,
        numbers_top,
    )
    level[depth, BRANCHES] = numbers_top
    level[depth, BRANCH_COUNT] = count
    level[depth, WORDS_TOP] = top
    level[depth, NUMBERS_TOP] = numbers_top + 2 * count
    return work


@kernel
def _record(workload, stack, depth, state, row):
    """Keep the row of the box's first values if what is committed at this level beats the incumbent.

    The row satisfies all that is committed and perhaps more, so it is weighed.
    """
    if stack.level[depth, COMMITTED] <= state[LOWER]:
        return
    for a in range(len(workload.width)):
        k = np.int64(0)
        while stack.words[stack.box_at[depth, a] + k] == NONE:
            k += 1
        row[a] = (k << 6) + lowest_bit(stack.words[stack.box_at[depth, a] + k])
    state[LOWER] = 0
    for q in range(len(workload.weights)):
        satisfied = True
        for i in range(workload.first[q], workload.first[q + 1]):
            v = np.int64(row[workload.attribute[i]])
            if not (workload.mask_words[workload.offset[i] + (v >> 6)] >> np.uint64(v & 63)) & ONE:
                satisfied = False
                break
        if satisfied:
            state[LOWER] += workload.weights[q]
    state[WORK] += len(workload.weights)
    state[TARGET] = max(state[TARGET], state[LOWER])


@kernel
def begin(workload, stack, target, state, row):
    """Start a search for an overlap above ``target``, which is at least the incumbent's weight, unless space lacks."""
    open_root(workload, stack)
    state[DEPTH] = 0
    state[TARGET] = target
    _record(workload, stack, 0, state, row)
    top, numbers_top = stack.level[0, WORDS_TOP], stack.level[0, NUMBERS_TOP]
    more_words, more_numbers = space_for_cover(stack, 0, state[TARGET], stack.level[0, COUNT], stack.level[0, WIDTH])
    if top + more_words > len(stack.words):
        return NO_WORDS
    if numbers_top + more_numbers > len(stack.numbers):
        return NO_NUMBERS
    state[WORK] += _list_branches(stack, 0, state[TARGET], top, numbers_top)
    stack.patience[:] = 0
    return PAUSED


@kernel
def _open_child(workload, stack, depth, q, state, row):
    """Choose candidate ``q`` at level ``depth`` and lay the next level down; false if it cannot beat the target."""
    words, numbers, level = stack.words, stack.numbers, stack.level
    child = depth + 1
    width = level[depth, WIDTH]
    place, bit = q >> 6, ONE << np.uint64(q & 63)
    name = numbers[level[depth, NAMES] + q]
    for field in range(LEVEL_FIELDS):
        level[child, field] = level[depth, field]
    top, numbers_top = level[depth, WORDS_TOP], level[depth, NUMBERS_TOP]
    level[child, BRANCH_COUNT] = 0
    level[child, COMMITTED] += numbers[level[depth, WEIGHTS] + q]
    level[child, CANDIDATES] = top
    for k in range(width):
        words[top + k] = words[level[depth, CANDIDATES] + k] & words[level[depth, ADJACENCY] + q * width + k]
    words[top + place] &= ~bit
    reach = level[child, COMMITTED] + weight_of(words, top, width, numbers, level[child, WEIGHTS])
    state[WORK] += width
    if reach <= state[TARGET]:
        return False
    top += width

    m = len(workload.width)
    for a in range(m):
        stack.mode[a] = UNTOUCHED
        stack.box_at[child, a] = stack.box_at[depth, a]
        stack.live[child, a] = stack.live[depth, a]
        stack.open_at[child, a] = stack.open_at[depth, a]
        stack.columns_at[child, a] = stack.columns_at[depth, a]
    top, numbers_top, work = restrict_box(workload, stack, depth, child, name, bit, place, width, top, numbers_top)
    work += m + sift_candidates(workload, stack, depth, child, width)
    state[WORK] += work
    _record(workload, stack, child, state, row)
    candidates = level[child, CANDIDATES]
    kept = np.int64(0)
    for k in range(width):
        kept += popcount(words[candidates + k])
    reach = level[child, COMMITTED] + weight_of(words, candidates, width, numbers, level[child, WEIGHTS])
    if reach <= state[TARGET]:
        return False

    if pays_to_renumber(kept, width):
        top, numbers_top, work = renumber(workload, stack, child, kept, top, numbers_top)
        state[WORK] += work
    if stack.patience[depth, 0] > 0:
        stack.patience[depth, 0] -= 1
    elif work_of_refining(workload, stack, child) <= REFINE_LIMIT:
        top, work, before, after = refine_adjacency(workload, stack, child, top)
        state[WORK] += work
        # Where refining removes next to nothing (points, intervals) it is tried ever less often.
        if before == after:
            stack.patience[depth, 1] = min(2 * stack.patience[depth, 1] + 1, 127)
            stack.patience[depth, 0] = stack.patience[depth, 1]
        else:
            stack.patience[depth, 1] = 0
    state[WORK] += _list_branches(stack, child, state[TARGET], top, numbers_top)
    return level[child, BRANCH_COUNT] > 0


@kernel
def search(workload, stack, state, row, work_limit):
    """Continue depth first until done, until ``state[WORK]`` reaches the limit or until the stack is full.

    ``state[UPPER]`` falls as branches of the root complete: what remains is bounded by the target or by the cover that
    was stored with the last open branch.
    """
    words, numbers, level = stack.words, stack.numbers, stack.level
    while True:
        depth = state[DEPTH]
        count = level[depth, BRANCH_COUNT]
        bound = np.int64(0)
        if count > 0:
            last = level[depth, BRANCHES] + 2 * (count - 1)
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
        more_words, more_numbers = space_for_child(workload, stack, depth, q, state[TARGET])
        if depth + 1 == len(level):
            return NO_LEVEL
        if level[depth, WORDS_TOP] + more_words > len(words):
            return NO_WORDS
        if level[depth, NUMBERS_TOP] + more_numbers > len(numbers):
            return NO_NUMBERS
        state[NODES] += 1
        level[depth, BRANCH_COUNT] -= 1
        if _open_child(workload, stack, depth, q, state, row):
            state[DEPTH] += 1
        words[level[depth, CANDIDATES] + (q >> 6)] &= ~(ONE << np.uint64(q & 63))
