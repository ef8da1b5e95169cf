"""Kernels of the splitting bound: exact scores, and float rounds that improve the multipliers.

All work on one level of :class:`Levels`.  Scores are exact integers.  Floats only steer where the multipliers go
next, and :func:`round_multipliers` turns whatever they hold into valid integers.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.jit import float_kernel, inner_kernel, kernel
from parcomp.overlap.value import layout

__all__ = [
    "improve",
    "load_point",
    "pick_pools",
    "pool_bits",
    "round_multipliers",
    "score_values",
    "smooth_rounds",
]

# Attributes with fewer values are scored slot by slot, larger ones by tables of the 256 sums of each byte.
_TABLE_FROM = 400

# The step of the float rounds in units of the temperature: longer ones overshoot on dense workloads.
_RATE = 0.7


@inner_kernel
def _score_attribute(levels, level, a, table):
    """Set the exact score of each live value: the sum of the multipliers of the slots that accept it."""
    n = levels.live[level, a]
    slots = levels.slots[level, a]
    slot_at = levels.slot_at[level, a]
    at = levels.value_at[level, a]
    score = levels.score[at : at + n]
    score[:] = 0
    groups = (slots + 7) >> 3
    begin = levels.bits_at[level, a]
    stride = levels.stride[level, a]
    if n < _TABLE_FROM:
        for k in range(slots):
            term = levels.multiplier[slot_at + k]
            shift = np.uint8(k & 7)
            start = begin + (k >> 3) * stride
            column = levels.bits[start : start + n]
            if term:
                for j in range(n):
                    score[j] += term & -np.int64((column[j] >> shift) & np.uint8(1))
        return
    # Two columns at once; the second table is all zeros where the number of columns is odd.
    for g in range(0, groups, 2):
        first = levels.bits[begin + g * stride : begin + g * stride + n]
        other = min(g + 1, groups - 1)
        second = levels.bits[begin + other * stride : begin + other * stride + n]
        for k in range(16):
            s = 8 * g + k
            term = levels.multiplier[slot_at + s] if s < slots else np.int64(0)
            half = 1 << (k & 7)
            at = 256 * (k >> 3)
            table[at] = 0
            for i in range(half):
                table[at + half + i] = table[at + i] + term
        for j in range(n):
            score[j] += table[first[j]] + table[256 + second[j]]


@kernel
def score_values(levels, level, scratch, begin, end):
    """Score the live values of the attributes ``begin … end - 1``; the sum of the highest scores, and the work."""
    total = np.int64(0)
    work = np.int64(0)
    for a in range(begin, end):
        n = levels.live[level, a]
        if n:
            _score_attribute(levels, level, a, scratch.table)
            at = levels.value_at[level, a]
            best = levels.score[at]
            where = 0
            for j in range(1, n):
                if levels.score[at + j] > best:
                    best = levels.score[at + j]
                    where = j
            scratch.best[a] = best
            scratch.argmax[a] = where
            total += best
            work += n * (1 + (levels.slots[level, a] >> 3))
    return total, work


@inner_kernel
def _sift(scores, order, i, size):
    """Restore the heap with the lowest score on top below position ``i``."""
    item = order[i]
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and scores[order[child + 1]] < scores[order[child]]:
            child += 1
        if scores[order[child]] >= scores[item]:
            break
        order[i] = order[child]
        i = child
    order[i] = item


@kernel
def pick_pools(levels, level, scratch, begin, end):
    """Choose the best values of each of the attributes ``begin … end - 1`` by the present scores."""
    lowest = np.int64(-1) << np.int64(62)
    for a in range(begin, end):
        n = levels.live[level, a]
        if n == 0:
            continue
        at = levels.value_at[level, a]
        scores = levels.score[at : at + n]
        order = scratch.pool[a]
        size = min(n, layout.POOL)
        for j in range(size):
            order[j] = j
        if n > layout.POOL:
            for i in range(size // 2 - 1, -1, -1):
                _sift(scores, order, i, size)
            least = scores[order[0]]
            for j in range(size, n):
                if scores[j] > least:
                    order[0] = j
                    _sift(scores, order, 0, size)
                    least = scores[order[0]]
            scratch.floor[a] = least
        else:
            scratch.floor[a] = lowest
        scratch.pooled[a] = size
        for j in range(size):
            scratch.pool_score[a, j] = scores[order[j]]


@inner_kernel
def pool_bits(levels, level, scratch):
    """Spread the bits of the pooled values to one byte each."""
    base = levels.head[level, layout.SLOT_BASE]
    for a in range(levels.live.shape[1]):
        if levels.live[level, a]:
            stride = levels.stride[level, a]
            size = scratch.pooled[a]
            for k in range(levels.slots[level, a]):
                start = levels.bits_at[level, a] + (k >> 3) * stride
                target = scratch.pool_accepts[levels.slot_at[level, a] - base + k]
                shift = np.uint8(k & 7)
                for j in range(size):
                    target[j] = (levels.bits[start + scratch.pool[a, j]] >> shift) & np.uint8(1)


@kernel
def load_point(levels, level, scratch, shift):
    """Start the float rounds from the level's multipliers."""
    base = levels.head[level, layout.SLOT_BASE]
    scale = 1.0 / (1 << shift)
    for s in range(levels.head[level, layout.SLOT_END] - base):
        x = np.float32(levels.multiplier[base + s] * scale)
        scratch.point[s] = x
        scratch.previous[s] = x
        scratch.best_point[s] = x


@float_kernel
def smooth_rounds(levels, level, scratch, rounds, hot, cold, momentum, goal):
    """Accelerated gradient steps on the smoothed bound over the pooled values.

    The maximum of an attribute is smoothed to a soft maximum whose temperature falls from ``hot`` to ``cold``
    (Nesterov 2005); each query's share vector is projected back to its simplex.  Stops as soon as the pooled bound is
    below ``goal``.  ``best_point`` receives the point of the lowest pooled bound.  Returns that bound, the momentum
    and the work done.
    """
    base = levels.head[level, layout.SLOT_BASE]
    query_at = levels.head[level, layout.QUERY_AT]
    queries = levels.head[level, layout.QUERIES]
    lowest = np.float32(np.inf)
    scores = np.empty(layout.POOL, np.float32)
    work = np.int64(0)
    last = np.float32(np.inf)
    cool = (cold / hot) ** (1.0 / max(1, rounds - 1))
    temperature = hot
    for _ in range(rounds):
        bound = np.float32(0.0)
        slope = np.float32(_RATE * temperature)
        inverse = np.float32(1.0 / temperature)
        for a in range(levels.live.shape[1]):
            if levels.live[level, a] == 0:
                continue
            size = scratch.pooled[a]
            begin = levels.slot_at[level, a] - base
            end = begin + levels.slots[level, a]
            for j in range(size):
                scores[j] = np.float32(0.0)
            for s in range(begin, end):
                x = scratch.point[s]
                if x > np.float32(0.0):
                    accepts = scratch.pool_accepts[s]
                    for j in range(size):
                        scores[j] += x * np.float32(accepts[j])
            top = scores[0]
            for j in range(1, size):
                top = max(top, scores[j])
            bound += top
            total = np.float32(0.0)
            for j in range(size):
                e = (scores[j] - top) * inverse
                scores[j] = np.exp(e) if e > np.float32(-12.0) else np.float32(0.0)
                total += scores[j]
            factor = slope / total
            for s in range(begin, end):
                accepts = scratch.pool_accepts[s]
                g = np.float32(0.0)
                for j in range(size):
                    g += scores[j] * np.float32(accepts[j])
                scratch.step[s] = scratch.point[s] - factor * g
            work += (end - begin) * (1 + (size >> 2))
        if bound < lowest:
            lowest = bound
            for s in range(levels.head[level, layout.SLOT_END] - base):
                scratch.best_point[s] = scratch.point[s]
            if bound < goal:
                break
        if bound > last:
            momentum = 1.0
        last = bound
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        push = np.float32((momentum - 1.0) / following)
        momentum = following
        for q in range(queries):
            begin = levels.first[query_at + q]
            end = levels.first[query_at + q + 1]
            weight = np.float32(levels.weight[query_at + q])
            _project(scratch.step, levels.slot_of, base, begin, end, weight)
            total = np.float32(0.0)
            for i in range(begin, end):
                s = levels.slot_of[base + i]
                x = scratch.step[s]
                y = max(np.float32(0.0), x + push * (x - scratch.previous[s]))
                scratch.previous[s] = x
                scratch.point[s] = y
                total += y
            for i in range(begin, end):
                s = levels.slot_of[base + i]
                if total > np.float32(0.0):
                    scratch.point[s] *= weight / total
                else:
                    scratch.point[s] = weight / np.float32(end - begin)
        temperature *= cool
        work += 4 * (levels.head[level, layout.SLOT_END] - base)
    return lowest, momentum, work


@inner_kernel
def _project(x, slot_of, base, begin, end, weight):
    """Project the entries of one query to the simplex of sum ``weight`` (Michelot 1986)."""
    size = end - begin
    total = np.float32(0.0)
    for i in range(begin, end):
        total += x[slot_of[base + i]]
    live = size
    cut = np.float32(0.0)
    for _ in range(size):  # the live entries only ever shrink, but for rounding
        cut = (total - weight) / np.float32(live)
        total = np.float32(0.0)
        count = 0
        for i in range(begin, end):
            y = x[slot_of[base + i]]
            if y > cut:
                total += y
                count += 1
        if count == live or count == 0:
            break
        live = count
    for i in range(begin, end):
        s = slot_of[base + i]
        x[s] = max(np.float32(0.0), x[s] - cut)


@inner_kernel
def round_multipliers(levels, level, scratch, shift):
    """Turn ``best_point`` into integer multipliers whose sum is exactly ``weight << shift`` for each query.

    Every share is rounded down, clipped to what is left, and the remainder goes to the largest share, so the
    multipliers are nonnegative and sum up exactly whatever the floats hold.
    """
    base = levels.head[level, layout.SLOT_BASE]
    query_at = levels.head[level, layout.QUERY_AT]
    for q in range(levels.head[level, layout.QUERIES]):
        begin = levels.first[query_at + q]
        end = levels.first[query_at + q + 1]
        left = levels.weight[query_at + q] << shift
        total = 0.0
        for i in range(begin, end):
            total += max(0.0, np.float64(scratch.best_point[levels.slot_of[base + i]]))
        factor = np.float64(left) / total if total > 0.0 else 0.0
        largest = begin
        for i in range(begin, end):
            s = levels.slot_of[base + i]
            x = np.float64(scratch.best_point[s])
            share = np.int64(x * factor) if x > 0.0 and np.isfinite(x * factor) else np.int64(0)
            share = max(np.int64(0), min(share, left))
            left -= share
            levels.multiplier[base + s] = share
            if share > levels.multiplier[base + levels.slot_of[base + largest]]:
                largest = i
        levels.multiplier[base + levels.slot_of[base + largest]] += left


@kernel
def improve(levels, level, scratch, shift, rounds, hot, cold, momentum):
    """Float rounds on the pool from where the last ones stopped, then integers: the momentum and the work done.

    Expects the pool of exact scores, and leaves multipliers that have not been scored.
    """
    pool_bits(levels, level, scratch)
    _, momentum, work = smooth_rounds(levels, level, scratch, rounds, hot, cold, momentum, np.float32(-1.0))
    round_multipliers(levels, level, scratch, shift)
    return momentum, work
