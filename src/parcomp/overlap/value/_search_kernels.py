"""Kernels of the value search: close a level or shrink it, then branch.

All work on the stack of :class:`Levels`.  A search for rows heavier than ``target`` closes a level when no row of it
is; ``need`` is ``(target + 1) << shift``, the scaled weight that such a row must reach.  What is dropped from a level
is only ever what cannot be part of such a row, so a search that ends without finding one proves that no row is
heavier than ``target``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.jit import inner_kernel, kernel
from parcomp.overlap.value._aside_kernels import any_aside, bring_back, due_back, set_some_aside, work_of_return
from parcomp.overlap.value._branching_kernels import choose_branch, enforce, work_of_trying
from parcomp.overlap.value._dominance_kernels import drop_dominated
from parcomp.overlap.value._level_kernels import accepts, copy_level, has_room, keep_values, simplify
from parcomp.overlap.value._proof_log_kernels import (
    BEST,
    DEPTH,
    DROP,
    KEEP,
    LOGGED,
    NODES,
    QUERY,
    SHIFT,
    SLACK,
    STAGE,
    TARGET,
    VALUE,
    WORK,
    write,
    write_leaf,
    write_settled,
    write_shares,
)
from parcomp.overlap.value._splitting_kernels import (
    load_point,
    pick_pool,
    pool_bits,
    round_multipliers,
    score_level,
    smooth_rounds,
)
from parcomp.overlap.value.layout import (
    BITS_END,
    BORN,
    BOUND,
    BRANCH,
    COMMITTED,
    COMPLETE,
    DEAD,
    DUE,
    FORCED,
    QUERIES,
    QUERY_AT,
    RESTS,
    SLOT_BASE,
    WHOLE,
)

__all__ = ["FRESH", "search_slice", "shrink_root"]

# Stages of a level: just opened, in normal form, with multipliers improved, and ready to be branched on.
FRESH, SIMPLE, IMPROVED, BOUNDED = range(4)

_ROUNDS = np.int64(12)  # typed, as a literal would be compiled for anew
_MOST_TRIES = 8

# What trying branches may take at one level; where a try takes long, fewer are made.
_TRYING = 1 << 25


@inner_kernel
def _weigh_best(levels, level, scratch):
    """The weight that the row of best-scored values satisfies for certain."""
    flag = scratch.query_flag
    for a in range(levels.count.shape[1]):
        if levels.count[level, a]:
            for s in range(levels.slot_at[level, a], levels.slot_at[level, a] + levels.slots[level, a]):
                if not accepts(levels, level, a, s, scratch.argmax[a]):
                    flag[levels.slot_query[s]] = 1
    weight = levels.head[level, COMMITTED]
    at = levels.head[level, QUERY_AT]
    for q in range(levels.head[level, QUERIES]):
        if not flag[q]:
            weight += levels.weight[at + q]
        flag[q] = 0
    return weight


@inner_kernel
def _drop_values(levels, level, scratch, slack, state, log, vector):
    """Drop the values whose score is more than ``slack`` below their attribute's best; return how many.

    A row with such a value scores less than bound - slack = need in all, so it is not heavier than the target.
    ``vector`` numbers the multipliers in the log (negative: nothing is logged).
    """
    dropped = 0
    for a in range(levels.count.shape[1]):
        n = levels.count[level, a]
        at = levels.value_at[level, a]
        least = scratch.best[a] - slack
        size = 0
        for j in range(n):
            scratch.kept[size] = j
            size += levels.score[at + j] >= least
        if size == n:
            continue
        dropped += n - size
        if vector >= 0:
            keeping = 2 * size < n
            write(log, state, KEEP if keeping else DROP)
            write(log, state, a)
            write(log, state, vector)
            write(log, state, size if keeping else n - size)
            for j in range(n):
                if (levels.score[at + j] >= least) == keeping:
                    write(log, state, levels.value[at + j])
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
        n = levels.count[0, a]
        at = levels.value_at[0, a]
        size = 0
        for j in range(n):
            scratch.kept[size] = j
            size += levels.score[at + j] >= scratch.best[a] - slack
        work += n
        if size < n:
            keep_values(levels, 0, a, scratch.kept, size)
            work += size * (1 + (levels.slots[0, a] >> 3))
    return work


@inner_kernel
def _any_value_below(levels, level, scratch, slack):
    """Whether :func:`_drop_values` would drop anything."""
    for a in range(levels.count.shape[1]):
        least = scratch.best[a] - slack
        at = levels.value_at[level, a]
        for j in range(at, at + levels.count[level, a]):
            if levels.score[j] < least:
                return True
    return False


@inner_kernel
def _settle_queries(levels, level, scratch, slack):
    """Flag queries that a row reaching ``need`` must miss or must satisfy, by the pooled scores; return how many.

    With I and O the best score of an attribute among values that accept and reject the query (``floor`` stands in for
    values outside the pool), rows that satisfy it score at most bound - Σ (best - I), as it is accepted everywhere.
    Rows that do not satisfy it lose nothing by not counting it, so they weigh at most bound - Σ (best - max(I - λ,
    O)).
    """
    base = levels.head[level, SLOT_BASE]
    queries = levels.head[level, QUERIES]
    lowest = np.int64(-1) << np.int64(62)
    inside = np.zeros(queries, np.int64)
    outside = np.zeros(queries, np.int64)
    cap = slack + 1  # sums stop there, so they cannot overflow
    for a in range(levels.count.shape[1]):
        if levels.count[level, a] == 0:
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
            scratch.query_flag[q] = DEAD
            flagged += 1
        elif outside[q] > slack:
            scratch.query_flag[q] = FORCED
            flagged += 1
    return flagged


@inner_kernel
def _decides(levels, level, a):
    """Whether some slot of attribute ``a`` accepts all live values or none."""
    slots = levels.slots[level, a]
    for g in range((slots + 7) >> 3):
        at = levels.bits_at[level, a] + g * levels.stride[level, a]
        every = np.uint8(255)
        some = np.uint8(0)
        for j in range(levels.count[level, a]):
            every &= levels.bits[at + j]
            some |= levels.bits[at + j]
        if every or some != np.uint8((1 << min(8, slots - 8 * g)) - 1):
            return True
    return False


@inner_kernel
def _close_or_shrink(levels, level, scratch, state, best_row, hot, cold, unit, log, weights, terms):
    """Bound a level once and drop what cannot reach the target; True if nothing remains.

    Called again and again until the level is closed or its stage is ``BOUNDED``: each time the bound is exact, and once
    the multipliers are improved.  Called for a level that is bounded, it first brings back what was set aside.

    A level that comes back from a branching on values has lost one of them, and its bound is known.  It is bounded
    anew only if the branch took longer than that, or if what remains decides queries.
    """
    shift = state[SHIFT]
    need = (state[TARGET] + 1) << shift
    tracing = levels.home.shape[1] > 0
    if state[STAGE] == BOUNDED:
        fits, spent = bring_back(levels, level, scratch, shift, weights)
        state[WORK] += spent
        if not fits:
            return True
        state[STAGE] = SIMPLE
    if state[STAGE] == FRESH:
        state[NODES] += 1
        state[WORK] += 1
        for a in range(levels.count.shape[1]):
            if levels.slots[level, a] and levels.count[level, a] == 0:
                return write_leaf(levels, state, log, -1)
        if state[WORK] < levels.head[level, RESTS] and not _decides(levels, level, levels.head[level, BRANCH]):
            if levels.head[level, BOUND] < need:
                vector = write_shares(levels, level, state, log, weights, terms) if tracing else np.int64(-1)
                return write_leaf(levels, state, log, vector)
            state[STAGE] = BOUNDED
            return False
        levels.head[level, RESTS] = state[WORK]
        state[WORK] += simplify(levels, level, scratch)
        state[STAGE] = SIMPLE
    total, spent = score_level(levels, level, scratch)
    state[WORK] += spent
    bound = total + (levels.head[level, COMMITTED] << shift)
    if bound < need:
        vector = write_shares(levels, level, state, log, weights, terms) if tracing else np.int64(-1)
        return write_leaf(levels, state, log, vector)
    # A row that lacks an attribute is no row.
    complete = not any_aside(levels, level)
    weight = _weigh_best(levels, level, scratch) if complete else np.int64(-1)
    if weight > state[BEST]:
        state[BEST] = weight
        state[TARGET] = max(state[TARGET], weight)
        for a in range(levels.count.shape[1]):
            best_row[a] = levels.row[level, a]
            if levels.count[level, a]:
                best_row[a] = levels.value[levels.value_at[level, a] + scratch.argmax[a]]
        return False
    slack = bound - need
    vector = np.int64(-1)
    if tracing and _any_value_below(levels, level, scratch, slack):
        vector = write_shares(levels, level, state, log, weights, terms)
    dropped = _drop_values(levels, level, scratch, slack, state, log, vector)
    pick_pool(levels, level, scratch)
    pool_bits(levels, level, scratch)
    flagged = _settle_queries(levels, level, scratch, slack)
    state[WORK] += spent  # picking and settling take about as long as scoring
    if flagged and tracing:
        if vector < 0:
            vector = write_shares(levels, level, state, log, weights, terms)
        write_settled(levels, level, scratch, state, log, vector)
    if flagged and not enforce(levels, level, scratch):
        scratch.query_flag[: levels.head[level, QUERIES]] = 0
        return write_leaf(levels, state, log, -1)
    slots = levels.slots[level].sum()
    if flagged or dropped:
        state[WORK] += simplify(levels, level, scratch)
    if levels.head[level, QUERIES] == 0:
        state[STAGE] = SIMPLE if complete or flagged or dropped else BOUNDED
        return False
    if flagged:
        return False
    if state[STAGE] == IMPROVED:
        if not tracing:
            # The format of proofs has no step for this.
            dominated, spent = drop_dominated(levels, level, scratch)
            state[WORK] += spent
            if dominated:
                state[WORK] += simplify(levels, level, scratch)
        if levels.slots[level].sum() == slots:
            if not tracing and not levels.head[level, COMPLETE]:
                spent = set_some_aside(levels, level, scratch, shift, unit, state[WORK])
                state[WORK] += spent
                if spent:
                    state[STAGE] = SIMPLE
                    return False
            # The multipliers are those of the bound, and the next look at the level may rely on it for as long again.
            state[SLACK] = slack
            levels.head[level, BOUND] = bound
            levels.head[level, RESTS] = 2 * state[WORK] - levels.head[level, RESTS]
            state[STAGE] = BOUNDED
        return False
    state[STAGE] = IMPROVED
    if dropped:
        # Positions and slots have moved; the scores are those of the kept values and good enough to pick a pool by.
        pick_pool(levels, level, scratch)
        pool_bits(levels, level, scratch)
    load_point(levels, level, scratch, shift)
    goal = np.float32(need / (np.int64(1) << shift) - levels.head[level, COMMITTED])
    _, _, spent = smooth_rounds(levels, level, scratch, _ROUNDS, hot, cold, 1.0, goal)
    state[WORK] += spent
    round_multipliers(levels, level, scratch, shift)
    return False


@inner_kernel
def _branch(levels, level, scratch, state, hot, cold, unit, log):
    """Move one side of a branching to a child level and keep the other; False if the child has no row.

    An attribute that was branched on is branched on again until it is settled: its values are the children of one node.
    """
    tracing = levels.home.shape[1] > 0
    a = levels.head[level, BRANCH]
    q = -1
    if a < 0 or levels.count[level, a] == 0:
        gap = state[SLACK] / (np.int64(1) << state[SHIFT]) / unit
        tries = min(_MOST_TRIES, np.int64(gap), _TRYING // work_of_trying(levels, level))
        a, q, spent = choose_branch(levels, level, scratch, state[SHIFT], hot, cold, unit, tries)
        state[WORK] += spent
    copy_level(levels, level, level + 1, scratch, WHOLE)
    state[WORK] += (levels.head[level + 1, BITS_END] - levels.head[level, BITS_END]) >> 2
    levels.head[level + 1, BORN] = state[WORK]
    levels.head[level + 1, DUE] = state[WORK] + work_of_return(levels, level + 1)
    levels.head[level, BRANCH] = a
    if q >= 0:
        levels.head[level, RESTS] = 0
        if tracing:
            write(log, state, QUERY)
            write(log, state, levels.query[levels.head[level, QUERY_AT] + q])
        scratch.query_flag[q] = FORCED
        fits = enforce(levels, level + 1, scratch)
        scratch.query_flag[q] = DEAD
        state[WORK] += simplify(levels, level, scratch)
        if not fits:
            write_leaf(levels, state, log, -1)
        return fits
    at = levels.value_at[level, a]
    n = levels.count[level, a]
    best = 0
    for j in range(1, n):
        if levels.score[at + j] > levels.score[at + best]:
            best = j
    if tracing:
        write(log, state, VALUE)
        write(log, state, a)
        write(log, state, levels.value[at + best])
    scratch.kept[0] = best
    keep_values(levels, level + 1, a, scratch.kept, 1)
    size = 0
    second = np.int64(0)
    for j in range(n):
        scratch.kept[size] = j
        size += j != best
        if j != best:
            second = max(second, levels.score[at + j])
    levels.head[level, BOUND] -= levels.score[at + best] - second
    keep_values(levels, level, a, scratch.kept, size)
    return True


@kernel
def search_slice(levels, scratch, state, best_row, limit, hot, cold, unit, log, weights, terms):
    """Continue the search until the work counter reaches ``limit``; False if the stack is too short to go on.

    It may pause in the midst of a large level: what its next stage needs to know is in ``scratch``.  ``weights`` and
    ``terms`` describe the whole workload for the log.  Stops early where the log is full.
    """
    while state[DEPTH] > 0 and state[WORK] < limit and state[LOGGED] <= len(log):
        level = state[DEPTH]
        if not has_room(levels, level):
            return False
        if state[STAGE] == BOUNDED and not due_back(levels, level, state[WORK]):
            state[STAGE] = FRESH
            if _branch(levels, level, scratch, state, hot, cold, unit, log):
                state[DEPTH] = level + 1
        elif _close_or_shrink(levels, level, scratch, state, best_row, hot, cold, unit, log, weights, terms):
            state[STAGE] = FRESH
            state[DEPTH] = level - 1
    return True
