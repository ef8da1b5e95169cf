"""Kernels of the value search: close a level or shrink it, then branch.

All work on the stack of :class:`Levels`.  A search for rows heavier than ``target`` closes a level when no row of it
is; ``need`` is ``(target + 1) << shift``, the scaled weight that such a row must reach.  What is dropped from a level
is only ever what cannot be part of such a row, so a search that ends without finding one proves that no row is
heavier than ``target``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.jit import inlined, inner_kernel, kernel
from parcomp.overlap.tree import layout as tree
from parcomp.overlap.value import layout
from parcomp.overlap.value._aside_kernels import any_aside, bring_back, due_back, set_some_aside, work_of_return
from parcomp.overlap.value._branching_kernels import choose_branch, enforce, work_of_trying
from parcomp.overlap.value._dominance_kernels import drop_dominated
from parcomp.overlap.value._level_kernels import accepts, common_bits, copy_level, has_room, keep_values, simplify
from parcomp.overlap.value._proof_log_kernels import FIX, QUERY, THIN, VALUE, vector_of, write, write_leaf
from parcomp.overlap.value._splitting_kernels import (
    load_point,
    pick_pools,
    pool_bits,
    round_multipliers,
    score_values,
    smooth_rounds,
)

__all__ = ["search_slice", "shrink_root"]

_ROUNDS = np.int64(24)  # typed, as a literal would be compiled for anew
_CAREFUL_ROUNDS = np.int64(12)
_MOST_TRIES = 8

# With more slots to a query, on average, other values become the best ones within a few rounds: scores have to be exact
# before multipliers are improved, and rounds are fewer.
_FEW_SLOTS = 16

# What trying branches may take at one level; where a try takes long, fewer are made.
_TRYING = 1 << 25

# More than any score is below another.
_NEVER = np.int64(1) << np.int64(61)

# Whoever reads a proof is told of dominated values if there are so many.
_WORTH_THINNING = 64


@inner_kernel
def _weigh_best(levels, level, scratch):
    """The weight that the row of best-scored values satisfies for certain."""
    flag = scratch.query_flag
    for a in range(levels.live.shape[1]):
        if levels.live[level, a]:
            for s in range(levels.slot_at[level, a], levels.slot_at[level, a] + levels.slots[level, a]):
                if not accepts(levels, level, a, s, scratch.argmax[a]):
                    flag[levels.slot_query[s]] = 1
    weight = levels.head[level, layout.COMMITTED]
    at = levels.head[level, layout.QUERY_AT]
    for q in range(levels.head[level, layout.QUERIES]):
        if not flag[q]:
            weight += levels.weight[at + q]
        flag[q] = 0
    return weight


@inlined
def _reaching(scores, least, kept):
    """Put the positions of the scores of at least ``least`` into ``kept``; return how many they are."""
    size = 0
    for j in range(len(scores)):
        kept[size] = j
        size += scores[j] >= least
    return size


@inner_kernel
def _drop_values(levels, level, scratch, slack):
    """Drop the values whose score is more than ``slack`` below their attribute's best; return how many.

    A row with such a value scores less than bound - slack = need in all, so it is not heavier than the target.
    """
    dropped = 0
    for a in range(levels.live.shape[1]):
        n = levels.live[level, a]
        at = levels.value_at[level, a]
        least = scratch.best[a] - slack
        size = _reaching(levels.score[at : at + n], least, scratch.kept)
        if size < n:
            dropped += n - size
            keep_values(levels, level, a, scratch.kept, size)
    return dropped


@kernel
def shrink_root(levels, scratch, slack, begin, end):
    """Drop values of the attributes ``begin … end - 1`` of level 0, whose scores are exact, for good: the work done.

    ``slack`` is the bound of level 0 less what a row must score to be heavier than the best one known: what is dropped
    is part of no such row.
    """
    work = np.int64(0)
    for a in range(begin, end):
        n = levels.live[0, a]
        at = levels.value_at[0, a]
        size = _reaching(levels.score[at : at + n], scratch.best[a] - slack, scratch.kept)
        work += n
        if size < n:
            keep_values(levels, 0, a, scratch.kept, size)
            work += size * (1 + (levels.slots[0, a] >> 3))
    return work


@inner_kernel
def _settle_queries(levels, level, scratch, slack):
    """Flag queries that a row reaching ``need`` must miss or must satisfy, by the pooled scores; return how many.

    With I and O the best score of an attribute among values that accept and reject the query (``floor`` stands in for
    values outside the pool), rows that satisfy it score at most bound - Σ (best - I), as it is accepted everywhere.
    Rows that do not satisfy it lose nothing by not counting it, so they weigh at most bound - Σ (best - max(I - λ,
    O)).
    """
    base = levels.head[level, layout.SLOT_BASE]
    queries = levels.head[level, layout.QUERIES]
    lowest = np.int64(-1) << np.int64(62)
    inside = np.zeros(queries, np.int64)
    outside = np.zeros(queries, np.int64)
    cap = slack + 1  # sums stop there, so they cannot overflow
    for a in range(levels.live.shape[1]):
        if levels.live[level, a] == 0:
            continue
        size = scratch.pooled[a]
        best = scratch.best[a]
        for s in range(levels.slot_at[level, a], levels.slot_at[level, a] + levels.slots[level, a]):
            pool_accepts = scratch.pool_accepts[s - base]
            top_in = scratch.floor[a]
            top_out = scratch.floor[a]
            for j in range(size):
                if pool_accepts[j]:
                    top_in = max(top_in, scratch.pool_score[a, j])
                else:
                    top_out = max(top_out, scratch.pool_score[a, j])
            q = levels.slot_query[s]
            top = top_out
            if top_in == lowest:
                inside[q] = cap
            else:
                inside[q] = min(cap, inside[q] + min(cap, best - top_in))
                top = max(top, top_in - levels.multiplier[s])
            outside[q] = min(cap, outside[q] + min(cap, best - top))
    flagged = 0
    for q in range(queries):
        if inside[q] > slack:
            scratch.query_flag[q] = layout.DEAD
            flagged += 1
        elif outside[q] > slack:
            scratch.query_flag[q] = layout.FORCED
            flagged += 1
    return flagged


@inner_kernel
def _decides(levels, level, a):
    """Whether some slot of attribute ``a`` accepts all live values or none."""
    slots = levels.slots[level, a]
    for g in range((slots + 7) >> 3):
        at = levels.bits_at[level, a] + g * levels.stride[level, a]
        width = min(8, slots - 8 * g)
        every, some, _ = common_bits(levels.bits[at : at + levels.live[level, a]], width)
        if every or some != np.uint8((1 << width) - 1):
            return True
    return False


@inner_kernel
def _bound_as_it_is(levels, level, scratch):
    """The scaled bound, less what is committed, by multipliers that are not shared out anew; the work done.

    A query that the live values of some attribute all reject counts for nothing from here on.
    """
    base = levels.head[level, layout.SLOT_BASE]
    at = levels.head[level, layout.QUERY_AT]
    for a in range(levels.live.shape[1]):
        slot_at = levels.slot_at[level, a]
        for g in range((levels.slots[level, a] + 7) >> 3):
            start = levels.bits_at[level, a] + g * levels.stride[level, a]
            width = min(8, levels.slots[level, a] - 8 * g)
            _, some, _ = common_bits(levels.bits[start : start + levels.live[level, a]], width)
            for k in range(8 * g, min(8 * g + 8, levels.slots[level, a])):
                if not some & np.uint8(1 << (k & 7)):
                    q = at + levels.slot_query[slot_at + k]
                    for i in range(levels.first[q], levels.first[q + 1]):
                        levels.multiplier[base + levels.slot_of[base + i]] = 0
    return score_values(levels, level, scratch, 0, levels.live.shape[1])


@inlined
def _open_level(levels, level, scratch, state, task, need):
    """Bring a level to normal form; True if it has no row or its bound is known to close it.

    A level that comes back from a branching on values has lost one of them, and its bound is known.  It is bounded
    anew only if the branch took longer than that, or if what remains decides queries.
    """
    head = levels.head[level]
    state[tree.NODES] += 1
    state[tree.WORK] += 1
    for a in range(levels.live.shape[1]):
        if levels.slots[level, a] and levels.live[level, a] == 0:
            return write_leaf(state, task.log, -1)
    if state[tree.WORK] < head[layout.RESTS] and not _decides(levels, level, head[layout.BRANCH]):
        if head[layout.BOUND] < need:
            return write_leaf(state, task.log, vector_of(levels, level, state, task))
        state[layout.STAGE] = layout.BOUNDED
        return False
    if len(task.log):
        # A list of multipliers that is written already makes for a shorter proof than one that bounds better.
        total, spent = _bound_as_it_is(levels, level, scratch)
        state[tree.WORK] += spent
        if total + (head[layout.COMMITTED] << state[tree.SHIFT]) < need:
            return write_leaf(state, task.log, vector_of(levels, level, state, task))
    head[layout.RESTS] = state[tree.WORK]
    state[tree.WORK] += simplify(levels, level, scratch)
    head[layout.VECTOR] = layout.UNWRITTEN
    state[layout.STAGE] = layout.SIMPLE
    return False


@inlined
def _keep_row(levels, level, scratch, state, task, weight):
    """Keep the row of best-scored values, of this weight, as the heaviest."""
    state[tree.BEST] = weight
    state[tree.TARGET] = max(state[tree.TARGET], weight)
    for a in range(levels.live.shape[1]):
        task.best_row[a] = levels.row[level, a]
        if levels.live[level, a]:
            task.best_row[a] = levels.value[levels.value_at[level, a] + scratch.argmax[a]]


@inlined
def _settle(levels, level, scratch, state, task, slack):
    """Drop values and settle queries by the scores at hand: whether any went, and any was; and if rows remain."""
    dropped = _drop_values(levels, level, scratch, slack)
    pick_pools(levels, level, scratch, 0, levels.live.shape[1])
    pool_bits(levels, level, scratch)
    flagged = _settle_queries(levels, level, scratch, slack)
    if len(task.log) and (dropped or flagged):
        vector = vector_of(levels, level, state, task)
        write(task.log, state, FIX)
        write(task.log, state, vector)
    fits = not flagged or enforce(levels, level, scratch)
    if not fits:
        scratch.query_flag[: levels.head[level, layout.QUERIES]] = 0
    return dropped > 0, flagged > 0, fits


@inner_kernel
def _thin_out(levels, level, scratch, state, task):
    """Drop dominated values."""
    before = levels.live[level].copy()
    dominated, spent = drop_dominated(levels, level, scratch)
    state[tree.WORK] += spent
    if dominated:
        if len(task.log):
            for a in range(levels.live.shape[1]):
                if before[a] - levels.live[level, a] >= _WORTH_THINNING:
                    write(task.log, state, THIN)
                    write(task.log, state, a)
        state[tree.WORK] += simplify(levels, level, scratch)


@inlined
def _finish_bounding(levels, level, scratch, state, task, bound, slots):
    """Thin a level with improved multipliers out, or declare it ready to be branched on.

    It is so if it has lost none of its ``slots`` since it was bounded, and nothing is to be set aside: then the
    multipliers are those of the bound, and the next look at the level may rely on it for as long again.
    """
    head, shift = levels.head[level], state[tree.SHIFT]
    _thin_out(levels, level, scratch, state, task)
    if levels.slots[level].sum() < slots:
        head[layout.VECTOR] = layout.UNWRITTEN
        return
    if not head[layout.COMPLETE]:
        spent = set_some_aside(levels, level, scratch, shift, task.unit, state[tree.WORK])
        state[tree.WORK] += spent
        if spent:
            head[layout.VECTOR] = layout.UNWRITTEN
            state[layout.STAGE] = layout.SIMPLE
            return
    state[layout.SLACK] = bound - ((state[tree.TARGET] + 1) << shift)
    head[layout.BOUND] = bound
    head[layout.RESTS] = 2 * state[tree.WORK] - head[layout.RESTS]
    state[layout.STAGE] = layout.BOUNDED


@inlined
def _few_slots(levels, level):
    """Whether queries have few slots, on average."""
    return levels.slots[level].sum() <= _FEW_SLOTS * levels.head[level, layout.QUERIES]


@inlined
def _improve(levels, level, scratch, state, task, need):
    """Improve the multipliers by a few float rounds on the pool, and round them."""
    shift = state[tree.SHIFT]
    state[layout.STAGE] = layout.IMPROVED
    load_point(levels, level, scratch, shift)
    goal = np.float32(need / (np.int64(1) << shift) - levels.head[level, layout.COMMITTED])
    rounds = _ROUNDS if _few_slots(levels, level) else _CAREFUL_ROUNDS
    _, _, spent = smooth_rounds(levels, level, scratch, rounds, task.hot, task.cold, 1.0, goal)
    state[tree.WORK] += spent
    round_multipliers(levels, level, scratch, shift)
    levels.head[level, layout.VECTOR] = layout.UNWRITTEN


@inner_kernel
def _close_or_shrink(levels, level, scratch, state, task):
    """Bound a level once and drop what cannot reach the target; True if nothing remains.

    Called again and again until the level is closed or its stage is ``BOUNDED``: each time the bound is exact, and once
    the multipliers are improved.  That comes first where queries have few slots: the scores that a level has from the
    one it was made of tell its best values well enough.  Called for a level that is bounded, it first brings back what
    was set aside.
    """
    shift = state[tree.SHIFT]
    need = (state[tree.TARGET] + 1) << shift
    if state[layout.STAGE] == layout.BOUNDED:
        fits, spent = bring_back(levels, level, scratch, shift, task.weights)
        state[tree.WORK] += spent
        levels.head[level, layout.VECTOR] = layout.UNWRITTEN
        if not fits:
            return write_leaf(state, task.log, -1)
        state[layout.STAGE] = layout.SIMPLE
    if state[layout.STAGE] == layout.FRESH:
        if _open_level(levels, level, scratch, state, task, need):
            return True
        if state[layout.STAGE] == layout.BOUNDED:
            return False
        if 0 < levels.head[level, layout.QUERIES] and _few_slots(levels, level):
            pick_pools(levels, level, scratch, 0, levels.live.shape[1])
            pool_bits(levels, level, scratch)
            _improve(levels, level, scratch, state, task, need)
    total, spent = score_values(levels, level, scratch, 0, levels.live.shape[1])
    state[tree.WORK] += spent
    bound = total + (levels.head[level, layout.COMMITTED] << shift)
    if bound < need:
        return write_leaf(state, task.log, vector_of(levels, level, state, task))
    # A row that lacks an attribute is no row.
    complete = not any_aside(levels, level)
    weight = _weigh_best(levels, level, scratch) if complete else np.int64(-1)
    if weight > state[tree.BEST]:
        _keep_row(levels, level, scratch, state, task, weight)
        return False
    # Settling takes a list of multipliers in a proof, so it waits for good ones.
    stage = state[layout.STAGE]
    slack = bound - need
    if len(task.log) and (stage < layout.IMPROVED or (stage > layout.IMPROVED and not task.thorough)):
        slack = _NEVER
    dropped, settled, fits = _settle(levels, level, scratch, state, task, slack)
    state[tree.WORK] += spent  # picking and settling take about as long as scoring
    if not fits:
        return write_leaf(state, task.log, -1)
    slots = levels.slots[level].sum()
    if settled or dropped:
        state[tree.WORK] += simplify(levels, level, scratch)
        if levels.slots[level].sum() < slots:
            levels.head[level, layout.VECTOR] = layout.UNWRITTEN
    if levels.head[level, layout.QUERIES] == 0:
        state[layout.STAGE] = layout.SIMPLE if complete or settled or dropped else layout.BOUNDED
    elif settled and len(task.log):
        state[layout.STAGE] = layout.SETTLED
    elif not settled and state[layout.STAGE] >= layout.IMPROVED:
        _finish_bounding(levels, level, scratch, state, task, bound, slots)
    elif not settled:
        if dropped:
            # Positions and slots have moved; the scores are those of the kept values, good enough to pick a pool by.
            pick_pools(levels, level, scratch, 0, levels.live.shape[1])
            pool_bits(levels, level, scratch)
        _improve(levels, level, scratch, state, task, need)
    return False


@inlined
def _part_values(levels, level, a, scratch, state, task):
    """Leave the best-scored value of an attribute to the child, and the others to the level."""
    at = levels.value_at[level, a]
    best = levels.score[at : at + levels.live[level, a]].argmax()
    if len(task.log):
        write(task.log, state, VALUE)
        write(task.log, state, a)
        write(task.log, state, levels.value[at + best])
    scratch.kept[0] = best
    keep_values(levels, level + 1, a, scratch.kept, 1)
    size = 0
    second = np.int64(0)
    for j in range(levels.live[level, a]):
        scratch.kept[size] = j
        size += j != best
        if j != best:
            second = max(second, levels.score[at + j])
    levels.head[level, layout.BOUND] -= levels.score[at + best] - second
    keep_values(levels, level, a, scratch.kept, size)


@inner_kernel
def _branch(levels, level, scratch, state, task):
    """Move one side of a branching to a child level and keep the other; False if the child has no row.

    An attribute that was branched on is branched on again until it is settled: its values are the children of one node.
    """
    tracing = len(task.log) > 0
    a = levels.head[level, layout.BRANCH]
    q = -1
    if a < 0 or levels.live[level, a] == 0:
        gap = state[layout.SLACK] / (np.int64(1) << state[tree.SHIFT]) / task.unit
        tries = min(_MOST_TRIES, np.int64(gap), _TRYING // work_of_trying(levels, level))
        a, q, spent = choose_branch(levels, level, scratch, state[tree.SHIFT], task, tries)
        state[tree.WORK] += spent
    copy_level(levels, level, level + 1, scratch, layout.WHOLE)
    state[tree.WORK] += (levels.head[level + 1, layout.BITS_END] - levels.head[level, layout.BITS_END]) >> 2
    levels.head[level + 1, layout.BORN] = state[tree.WORK]
    levels.head[level + 1, layout.DUE] = state[tree.WORK] + work_of_return(levels, level + 1)
    levels.head[level, layout.BRANCH] = a
    if q >= 0:
        levels.head[level, layout.RESTS] = 0
        if tracing:
            write(task.log, state, QUERY)
            write(task.log, state, levels.query[levels.head[level, layout.QUERY_AT] + q])
        scratch.query_flag[q] = layout.FORCED
        fits = enforce(levels, level + 1, scratch)
        scratch.query_flag[q] = layout.DEAD
        state[tree.WORK] += simplify(levels, level, scratch)
        if not fits:
            write_leaf(state, task.log, -1)
        return fits
    _part_values(levels, level, a, scratch, state, task)
    return True


@kernel
def search_slice(levels, scratch, state, task, limit):
    """Continue the search until the work counter reaches ``limit``; False if the stack is too short to go on.

    It may pause in the midst of a large level: what its next stage needs to know is in ``scratch``.  Stops early where
    the log is full.
    """
    while state[tree.DEPTH] > 0 and state[tree.WORK] < limit and state[layout.LOGGED] <= len(task.log):
        level = state[tree.DEPTH]
        if not has_room(levels, level):
            return False
        if state[layout.STAGE] == layout.BOUNDED and not due_back(levels, level, state[tree.WORK]):
            state[layout.STAGE] = layout.FRESH
            if _branch(levels, level, scratch, state, task):
                state[tree.DEPTH] = level + 1
        elif _close_or_shrink(levels, level, scratch, state, task):
            state[layout.STAGE] = layout.FRESH
            state[tree.DEPTH] = level - 1
    return True
