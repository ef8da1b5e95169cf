"""Kernels that choose what to branch on, by trying candidates on the pooled values.

A branching whose children lower the bound by d_1, d_2, … makes a tree that grows like exp(k·gap) with the gap to be
closed, where Σ exp(-k·d_i) = 1 (Kullmann, "Fundaments of branching heuristics", 2009).  Of the values of a small
attribute (one child each) and of single queries (satisfied or not counted), the candidate with the lowest k is
taken.  Drops are estimated by a few float rounds on a copy that keeps only the best values of each attribute:
estimates choose, they prove nothing.

Where queries constrain many attributes nothing is tried: the most demanding query is taken, and then the next one, as
long as that is so.  Whoever satisfies it has few values left everywhere, which lowers the bound by far more than any
single value does; not to count it lowers the bound by little, but there are no more of these steps than queries.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.jit import inner_kernel
from parcomp.overlap.value import layout
from parcomp.overlap.value._level_kernels import copy_level, keep_values, simplify
from parcomp.overlap.value._splitting_kernels import load_point, pick_pools, pool_bits, smooth_rounds

__all__ = ["choose_branch", "enforce", "work_of_trying"]

_PROBE_ROUNDS = np.int64(6)  # typed, as a literal would be compiled for anew

# With more slots to a query than this, on average, the most demanding one is branched on.
_MANY_SLOTS = 10

# Of a query that a fractional row does not satisfy at all, so much of its weight counts as if it could be saved.
_HOPE = 0.03


@inner_kernel
def enforce(levels, level, scratch):
    """Keep only values that the queries flagged as forced accept; False if an attribute has none left.

    Clears the flags of forced queries.
    """
    fits = True
    for a in range(levels.live.shape[1]):
        if levels.live[level, a] == 0:
            continue
        slot_at = levels.slot_at[level, a]
        for k in range(levels.slots[level, a]):
            if scratch.query_flag[levels.slot_query[slot_at + k]] == layout.FORCED:
                at = levels.bits_at[level, a] + (k >> 3) * levels.stride[level, a]
                shift = np.uint8(k & 7)
                size = 0
                for j in range(levels.live[level, a]):
                    scratch.kept[size] = j
                    size += np.int64((levels.bits[at + j] >> shift) & np.uint8(1))
                if size < levels.live[level, a]:
                    keep_values(levels, level, a, scratch.kept, size)
                if size == 0:
                    fits = False
    for q in range(levels.head[level, layout.QUERIES]):
        if scratch.query_flag[q] == layout.FORCED:
            scratch.query_flag[q] = 0
            levels.counted[level, levels.query[levels.head[level, layout.QUERY_AT] + q]] = layout.DEMANDED
    return fits


@inner_kernel
def _probe(levels, level, scratch, shift, task):
    """An estimate of the bound of a level of pooled values after a few float rounds, and the work done."""
    for a in range(levels.live.shape[1]):
        n = levels.live[level, a]
        if n:
            scratch.pooled[a] = n
            for j in range(n):
                scratch.pool[a, j] = j
    work = simplify(levels, level, scratch)
    if levels.head[level, layout.QUERIES] == 0:
        return np.float64(levels.head[level, layout.COMMITTED]), work
    pool_bits(levels, level, scratch)
    load_point(levels, level, scratch, shift)
    bound, _, spent = smooth_rounds(levels, level, scratch, _PROBE_ROUNDS, task.hot, task.cold, 1.0, np.float32(-1.0))
    return np.float64(bound) + levels.head[level, layout.COMMITTED], work + spent


@inner_kernel
def _growth(drops, size, unit):
    """The rate k with Σ exp(-k·drop / unit) = 1, by bisection."""
    low = 0.0
    high = 50.0
    for _ in range(30):
        k = 0.5 * (low + high)
        total = 0.0
        for i in range(size):
            total += np.exp(-k * max(1e-3, drops[i] / unit))
        if total > 1.0:
            low = k
        else:
            high = k
    return high


@inner_kernel
def _satisfied_in_part(levels, level, scratch, shift, cold):
    """For each query of the level what not counting it can save at most, and how much it demands.

    A fractional row weighs pooled values by a soft maximum.  A query it accepts with shares p_a counts for w · min p_a,
    which is what is saved, and demands Σ (1 - p_a), which grows with what satisfying it costs.
    """
    base = levels.head[level, layout.SLOT_BASE]
    queries = levels.head[level, layout.QUERIES]
    least = np.ones(queries)
    missed = np.zeros(queries)
    scale = 1.0 / (cold * (np.int64(1) << shift))
    share = np.empty(layout.POOL)
    for a in range(levels.live.shape[1]):
        if levels.live[level, a] == 0:
            continue
        size = scratch.pooled[a]
        top = scratch.pool_score[a, 0]
        for j in range(1, size):
            top = max(top, scratch.pool_score[a, j])
        total = 0.0
        for j in range(size):
            share[j] = np.exp(max(-30.0, (scratch.pool_score[a, j] - top) * scale))
            total += share[j]
        for s in range(levels.slot_at[level, a], levels.slot_at[level, a] + levels.slots[level, a]):
            p = 0.0
            for j in range(size):
                p += share[j] * scratch.pool_accepts[s - base, j]
            p /= total
            q = levels.slot_query[s]
            least[q] = min(least[q], p)
            missed[q] += 1.0 - p
    at = levels.head[level, layout.QUERY_AT]
    return least * levels.weight[at : at + queries], missed


@inner_kernel
def _value_rate(levels, level, a, scratch, shift, task, whole):
    """The growth rate of branching on attribute ``a``, from trying its two best values, and the work done.

    Every other value is taken to lower the bound by its score's distance from the best and, on top, what trying gained.
    """
    n = levels.live[level, a]
    at = levels.value_at[level, a]
    scale = 1.0 / (np.int64(1) << shift)
    score = levels.score[at : at + n].copy()
    top = score.max()
    tries = min(n, 2)
    excess = 0.0
    work = np.int64(0)
    for _ in range(tries):
        copy_level(levels, level, level + 1, scratch, layout.WHOLE)
        pick = score.argmax()
        score[pick] = -1
        scratch.kept[0] = pick
        keep_values(levels, level + 1, a, scratch.kept, 1)
        bound, spent = _probe(levels, level + 1, scratch, shift, task)
        work += spent
        excess += whole - bound - (top - levels.score[at + pick]) * scale
    drops = np.empty(n)
    for j in range(n):
        drops[j] = excess / tries + (top - levels.score[at + j]) * scale
    return _growth(drops, n, task.unit), work


@inner_kernel
def _query_rate(levels, level, q, scratch, shift, task, whole):
    """The growth rate of branching on whether query ``q`` is satisfied, and the work done."""
    drops = np.empty(2)
    work = np.int64(0)
    copy_level(levels, level, level + 1, scratch, layout.WHOLE)
    scratch.query_flag[q] = layout.FORCED
    if enforce(levels, level + 1, scratch):
        bound, work = _probe(levels, level + 1, scratch, shift, task)
        drops[0] = whole - bound
    else:
        drops[0] = whole
    copy_level(levels, level, level + 1, scratch, layout.WHOLE)
    scratch.query_flag[q] = layout.DEAD
    bound, spent = _probe(levels, level + 1, scratch, shift, task)
    drops[1] = whole - bound
    return _growth(drops, 2, task.unit), work + spent


@inner_kernel
def work_of_trying(levels, level):
    """About what trying one attribute and one query takes: four probes."""
    work = np.int64(1)
    for a in range(levels.live.shape[1]):
        work += levels.slots[level, a] * (5 + (min(levels.live[level, a], layout.POOL) >> 2))
    return 4 * _PROBE_ROUNDS * work


@inner_kernel
def choose_branch(levels, level, scratch, shift, task, tries):
    """Choose among up to ``tries`` small attributes and as many queries; with no tries the smallest attribute.

    Where queries have many slots, choose the most demanding one.  Returns (attribute, -1) or (-1, query), and the work
    done.  Overwrites the two levels above.
    """
    sizes = levels.live[level].copy()
    for a in range(len(sizes)):
        if sizes[a] == 0:
            sizes[a] = np.int64(1) << 40
    smallest = np.argmin(sizes)
    if tries == 0:
        return smallest, -1, np.int64(0)
    pick_pools(levels, level, scratch, 0, levels.live.shape[1])
    pool_bits(levels, level, scratch)
    saved, demand = _satisfied_in_part(levels, level, scratch, shift, task.cold)
    if levels.slots[level].sum() > _MANY_SLOTS * levels.head[level, layout.QUERIES]:
        return -1, np.argmax(demand**3 * (saved + _HOPE * task.unit)), np.int64(0)
    rank = saved * demand
    copy_level(levels, level, level + 1, scratch, layout.POOLED)
    copy_level(levels, level + 1, level + 2, scratch, layout.WHOLE)
    whole, work = _probe(levels, level + 2, scratch, shift, task)
    best_rate = np.inf
    attribute = smallest
    query = -1
    for _ in range(min(tries, len(sizes))):
        a = np.argmin(sizes)
        if sizes[a] > layout.POOL:
            break
        sizes[a] = np.int64(1) << 40
        rate, spent = _value_rate(levels, level + 1, a, scratch, shift, task, whole)
        work += spent
        if rate < best_rate:
            best_rate = rate
            attribute = a
    for _ in range(min(tries, len(rank))):
        q = np.argmax(rank)
        rank[q] = -1.0
        rate, spent = _query_rate(levels, level + 1, q, scratch, shift, task, whole)
        work += spent
        if rate < best_rate:
            best_rate = rate
            attribute = -1
            query = q
    return attribute, query, work
