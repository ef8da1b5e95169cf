"""Kernels of the lean search: depth-first branch and bound on the levels of a stack.

A search for rows heavier than the target ends with ``DEPTH`` 0.  Each row that is heavier than the target was then
either met, which raises the target, or is in a part of a level that was handed over to another worker.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, has_bit, lowest_bit
from parcomp.jit import inlined, inner_kernel, kernel
from parcomp.overlap.lean import layout
from parcomp.overlap.lean._level_kernels import compact, drop_values, rescore, sweep, take_value
from parcomp.overlap.tree import layout as tree

__all__ = ["begin", "choose", "hand_over", "improve_root", "search_slice", "size_to_share"]

# How often the weights of a level are shared out, at most; where a sweep gains less than a quarter of the gap, no more.
_SWEEPS = 2


@kernel
def improve_root(problem, stack, sweeps):
    """Score level 0 and share out its weights so many times: the work.  Nothing is dropped from it."""
    bound, work = rescore(problem, stack, 0)
    for _ in range(sweeps):
        bound, spent, _ = sweep(problem, stack, 0, bound, layout.LOWEST)
        work += spent
    stack.head[0, layout.BOUND] = bound
    return work


@kernel
def begin(problem, stack, state):
    """Start a search for rows heavier than the target at level 1, with all that level 0 holds."""
    stack.live[1] = stack.live[0]
    state[tree.WORK] += compact(problem, stack, 0, 1)
    stack.head[1, layout.BRANCH] = -1
    state[tree.DEPTH] = 1


@inner_kernel
def choose(problem, stack, level, slack):
    """The attribute to branch on: its values, each closer to being closed the more it lowers the bound, are the fewest.

    A value lowers the bound by what it scores below the best of its attribute and, at most, by what the queries that
    reject it have on their other attributes.  There is a choice as long as a query is open: a slot rejects some live
    value and accepts another.
    """
    masks, lanes, lost, all_lost = problem.masks, problem.lanes, stack.lost, stack.all_lost
    lost[:] = 0.0
    all_lost[:] = -1.0
    for i in range(stack.head[level, layout.QUERIES]):
        weight = np.int64(0)
        for k in range(stack.first[level, i], stack.first[level, i + 1]):
            weight += stack.share[level, k]
        for k in range(stack.first[level, i], stack.first[level, i + 1]):
            p = stack.mask[level, k]
            lane = masks[p, layout.LANE_AT]
            at = masks[p, layout.VALUE_AT]
            elsewhere = weight - stack.share[level, k]
            all_lost[masks[p, layout.ATTRIBUTE]] = max(all_lost[masks[p, layout.ATTRIBUTE]], 0.0) + elsewhere
            for j in range(masks[p, layout.SIZE]):
                lost[at + j] += elsewhere & lanes[lane + j]
    scale = 1.0 / (slack + 1.0)
    chosen = np.int64(-1)
    least = np.inf
    for a in range(len(all_lost)):
        if all_lost[a] >= 0.0:
            begin, end = problem.value_at[a], problem.value_at[a + 1]
            best = stack.score[level, begin:end].max()
            growth = 0.0
            for v in range(begin, end):
                if stack.score[level, v] >= 0:
                    drop = 1.0 + (best - stack.score[level, v] + all_lost[a] - lost[v]) * scale
                    growth += 1.0 / (drop * drop * drop)
            if growth < least:
                least = growth
                chosen = a
    return chosen


@inner_kernel
def _record(problem, stack, level, state):
    """Keep a row of a level without open queries if what is committed, which all its rows weigh, beats the best."""
    weight = stack.head[level, layout.COMMITTED] >> state[tree.SHIFT]
    if weight > state[tree.BEST]:
        state[tree.BEST] = weight
        state[tree.TARGET] = max(state[tree.TARGET], weight)
        for a in range(len(problem.live_at) - 1):
            x = problem.live_at[a]
            while stack.live[level, x] == 0:
                x += 1
            stack.best_row[a] = ((x - problem.live_at[a]) << 6) + lowest_bit(stack.live[level, x])


@inlined
def _closed(problem, stack, level, state, bound, need):
    """Whether a level has no row heavier than the target: none at all, or those it has are alike and recorded."""
    if bound >= need and stack.head[level, layout.QUERIES] == 0:
        _record(problem, stack, level, state)
        return True
    return bound < need


@inner_kernel
def _bound(problem, stack, level, state):
    """Bound a level, drop what cannot reach the target, and choose what to branch on; False if nothing remains.

    No attribute loses all its values: the best-scored one stays, and so does one that a demanded query accepts.
    """
    need = (state[tree.TARGET] + 1) << state[tree.SHIFT]
    state[tree.NODES] += 1
    bound, work = rescore(problem, stack, level)
    state[tree.WORK] += work
    if _closed(problem, stack, level, state, bound, need):
        return False
    for _ in range(_SWEEPS):
        before = bound
        bound, work, settled = sweep(problem, stack, level, bound, need)
        state[tree.WORK] += work
        if bound < need:
            return False
        if drop_values(problem, stack, level, bound - need) or settled:
            state[tree.WORK] += compact(problem, stack, level, level)
            bound, work = rescore(problem, stack, level)
            state[tree.WORK] += work
            if _closed(problem, stack, level, state, bound, need):
                return False
        if before - bound < (bound - need) >> 2:
            break
    stack.head[level, layout.BOUND] = bound
    stack.head[level, layout.BRANCH] = choose(problem, stack, level, bound - need)
    stack.todo[level] = stack.live[level]
    state[tree.WORK] += work
    return True


@inner_kernel
def _next_value(problem, stack, level, need):
    """The best-scored value still to be branched on, -1 if none is left that could lead to a row reaching ``need``."""
    a = stack.head[level, layout.BRANCH]
    at, live_at = problem.value_at[a], problem.live_at[a]
    best = top = layout.LOWEST
    pick = np.int64(-1)
    for j in range(problem.value_at[a + 1] - at):
        top = max(top, stack.score[level, at + j])
        if stack.score[level, at + j] > best and has_bit(stack.todo[level, live_at + (j >> 6)], j):
            best = stack.score[level, at + j]
            pick = j
    return pick if pick >= 0 and stack.head[level, layout.BOUND] - top + best >= need else np.int64(-1)


@inner_kernel
def _branch(problem, stack, level, state):
    """Make the next value of the attribute branched on level + 1; False if there is none."""
    pick = _next_value(problem, stack, level, (state[tree.TARGET] + 1) << state[tree.SHIFT])
    if pick < 0:
        return False
    a = stack.head[level, layout.BRANCH]
    word = problem.live_at[a] + (pick >> 6)
    stack.todo[level, word] &= ~bit_of(pick)
    state[tree.WORK] += take_value(problem, stack, level, a, pick)
    return True


@kernel
def search_slice(problem, stack, state, end):
    """Go on until nothing is left to do or the work reaches ``end``."""
    while state[tree.DEPTH] > 0 and state[tree.WORK] < end:
        level = state[tree.DEPTH]
        open_ = stack.head[level, layout.BRANCH] >= 0 or _bound(problem, stack, level, state)
        state[tree.DEPTH] += 1 if open_ and _branch(problem, stack, level, state) else -1


@inner_kernel
def _level_to_share(problem, stack, state):
    """The first level with a value still to be branched on that could lead to a heavier row; 0 if there is none."""
    need = (state[tree.TARGET] + 1) << state[tree.SHIFT]
    for level in range(1, state[tree.DEPTH] + 1):
        if stack.head[level, layout.BRANCH] >= 0 and _next_value(problem, stack, level, need) >= 0:
            return level
    return 0


@kernel
def size_to_share(problem, stack, state):
    """How many slots the level has of which a part could be handed over; 0 if there is none."""
    level = _level_to_share(problem, stack, state)
    return stack.first[level, stack.head[level, layout.QUERIES]] if level else 0


@kernel
def hand_over(problem, stack, state, to_stack, to_state):
    """Give a worker with nothing to do every other value to be branched on, of the first level with any.

    The level is copied.  Each value that could lead to a heavier row is left to do in one of the two copies, so that no
    such row is lost.
    """
    level = _level_to_share(problem, stack, state)
    need = (state[tree.TARGET] + 1) << state[tree.SHIFT]
    to_stack.todo[1] = 0
    kept = np.zeros_like(stack.todo[level])
    keeping = False
    pick = _next_value(problem, stack, level, need)
    while pick >= 0:
        word = problem.live_at[stack.head[level, layout.BRANCH]] + (pick >> 6)
        stack.todo[level, word] &= ~bit_of(pick)
        if keeping:
            kept[word] |= bit_of(pick)
        else:
            to_stack.todo[1, word] |= bit_of(pick)
        keeping = not keeping
        pick = _next_value(problem, stack, level, need)
    stack.todo[level] = kept
    queries = stack.head[level, layout.QUERIES]
    slots = stack.first[level, queries]
    to_stack.head[1] = stack.head[level]
    to_stack.live[1] = stack.live[level]
    to_stack.score[1] = stack.score[level]
    to_stack.first[1, : queries + 1] = stack.first[level, : queries + 1]
    to_stack.mask[1, :slots] = stack.mask[level, :slots]
    to_stack.share[1, :slots] = stack.share[level, :slots]
    to_state[tree.DEPTH] = 1
