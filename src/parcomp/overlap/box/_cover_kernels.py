"""Kernels of the box search that see a graph only: covers by disjoint sets, which bound cliques and choose branches.

Sets of vertices are blocks of ``width`` words in the array ``words``, named by where they begin; the adjacency is one
such block for each vertex, in a row.  Lists of integers lie in the array ``numbers`` and are named likewise.
"""

# mypy: ignore-errors

# Numba infers the types of kernels itself, so their bodies are left to it.
# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit
from parcomp.jit import kernel

__all__ = ["cover", "order_by_degeneracy", "rename", "weigh_neighbors"]

ONE = np.uint64(1)
NONE = np.uint64(0)

# What one cover may take, in word operations: some hundredths of a second, which only the largest graphs reach.
SQUEEZE_LIMIT = 1 << 25
PEEL_LIMIT = 1 << 27


@kernel
def _peel(words, numbers, left, free, start, width, adjacency, residual, members, most):
    """Fill ``members`` with non-adjacent vertices of ``left``, all that fit or ``most``; size, least residual, work."""
    for k in range(start, width):
        words[free + k] = words[left + k]
    size, work = np.int64(0), np.int64(0)
    least = np.int64(1) << 62
    for k in range(start, width):
        while words[free + k]:
            q = (k << 6) + lowest_bit(words[free + k])
            words[free + k] &= words[free + k] - ONE
            numbers[members + size] = q
            size += 1
            least = min(least, numbers[residual + q])
            work += width - k
            if size == most:
                return size, least, work + width
            for z in range(k, width):
                words[free + z] &= ~words[adjacency + q * width + z]
    return size, least, work + width


@kernel
def _not_all_met(words, q, first, second, width, adjacency):
    """Whether no clique that holds ``q`` meets both sets, of which neither holds ``q``; and the work.

    It would meet them in two adjacent neighbors of ``q``, or in one neighbor that is in both: with weights, sets
    share vertices.
    """
    row = adjacency + q * width
    work = width
    for k in range(width):
        word = words[first + k] & words[row + k]
        if word & words[second + k]:
            return False, work
        while word:
            other = adjacency + ((k << 6) + lowest_bit(word)) * width
            word &= word - ONE
            work += width
            for z in range(width):
                if words[other + z] & words[row + z] & words[second + z]:
                    return False, work
    return True, work


@kernel
def _squeeze(words, numbers, q, need, sets, set_count, spare, used, width, adjacency, work_limit):
    """Cover ``need`` units of vertex ``q`` out of the multipliers of sets that exist; whether it worked, and the work.

    If no clique holds ``q`` and meets both of two sets, neither of which holds ``q``, then a clique meets at most two
    of the three.  As much of the two multipliers as ``q`` still needs therefore pays for ``q`` as well (San Segundo,
    Nikolaev and Batsyn 2015, here with weights).  Units of a multiplier are spent once: ``numbers[spare + i]`` are
    those of set ``i`` not yet spent.  On failure, or with ``work_limit`` used up, nothing is spent.
    """
    work, spent = np.int64(0), np.int64(0)
    place, bit = q >> 6, ONE << np.uint64(q & 63)
    for i in range(set_count):
        if need == 0 or work > work_limit:
            break
        if numbers[spare + i] == 0 or words[sets + i * width + place] & bit:
            continue
        work += 1
        for j in range(i + 1, set_count):
            if numbers[spare + j] == 0 or words[sets + j * width + place] & bit:
                continue
            apart, looked = _not_all_met(words, q, sets + i * width, sets + j * width, width, adjacency)
            work += looked
            if work > work_limit:
                break
            if apart:
                units = min(need, numbers[spare + i], numbers[spare + j])
                numbers[spare + i] -= units
                numbers[spare + j] -= units
                need -= units
                numbers[used + 3 * spent] = i
                numbers[used + 3 * spent + 1] = j
                numbers[used + 3 * spent + 2] = units
                spent += 1
                if need == 0 or numbers[spare + i] == 0:
                    break
    if need == 0:
        return True, work
    for k in range(spent):
        numbers[spare + numbers[used + 3 * k]] += numbers[used + 3 * k + 2]
        numbers[spare + numbers[used + 3 * k + 1]] += numbers[used + 3 * k + 2]
    return False, work


@kernel
def cover(words, numbers, candidates, width, adjacency, weights, count, committed, target, top, numbers_top):
    """Cover candidates by disjoint sets as far as ``target`` allows, list the others; the number listed and the work.

    ``candidates`` and ``adjacency`` are places in ``words``, ``weights`` (one for each of ``count`` vertices) in
    ``numbers``.  Branches are written to ``numbers_top``, two numbers each; scratch space follows them, and begins at
    ``top`` in ``words``.

    A set of pairwise non-adjacent candidates has at most one member in any clique.  Sets are peeled off greedily, each
    with a multiplier, the least uncovered weight in it; a clique of candidates covered in full weighs at most the sum
    of multipliers (Balas and Xue 1991 for weights; with unit weights this is greedy coloring, Tomita and Seki 2003).
    While that sum stays within ``target`` less the committed weight, cliques among the covered cannot beat the target,
    so a heavier one has a member among the branches.  Branch ``i`` is stored with the bound of the cover that includes
    it and all before it.

    Squeezing ends with ``SQUEEZE_LIMIT`` used up.  Beyond ``PEEL_LIMIT`` the sets that are still peeled off have a
    single member: what is left to cover gets a bound that is poor and sound, in no time.
    """
    left, free, sets = top, top + width, top + 2 * width
    branches, residual = numbers_top, numbers_top + 2 * count
    members, spare, used = residual + count, residual + 2 * count, residual + 3 * count + 1
    branch_count, set_count = np.int64(0), np.int64(0)
    total, work, squeezing = committed, np.int64(0), np.int64(0)
    for k in range(width):
        word = words[candidates + k]
        words[left + k] = word
        while word:
            q = (k << 6) + lowest_bit(word)
            word &= word - ONE
            numbers[residual + q] = numbers[weights + q]
    start = np.int64(0)
    squeezed = False
    while True:
        while start < width and words[left + start] == NONE:
            start += 1
        if start == width:
            break
        if total >= target and not squeezed:
            squeezed = True
            for k in range(start, width):
                word = words[left + k]
                while word and squeezing < SQUEEZE_LIMIT:
                    q = (k << 6) + lowest_bit(word)
                    covered, spent = _squeeze(
                        words,
                        numbers,
                        q,
                        numbers[residual + q],
                        sets,
                        set_count,
                        spare,
                        used,
                        width,
                        adjacency,
                        SQUEEZE_LIMIT - squeezing,
                    )
                    squeezing += spent
                    if covered:
                        words[left + k] &= ~(word & (~word + ONE))
                    word &= word - ONE
            continue
        most = count if work < PEEL_LIMIT else 1
        size, least, spent = _peel(words, numbers, left, free, start, width, adjacency, residual, members, most)
        work += spent + 2 * size
        if total < target and total + least > target:
            least = target - total
        total += least
        if total <= target:
            for k in range(width):
                words[sets + set_count * width + k] = NONE
            numbers[spare + set_count] = least
        for j in range(size):
            q = numbers[members + j]
            bit = ONE << np.uint64(q & 63)
            if total <= target:
                words[sets + set_count * width + (q >> 6)] |= bit
            numbers[residual + q] -= least
            if numbers[residual + q] == 0:
                words[left + (q >> 6)] &= ~bit
                if total > target:
                    numbers[branches + 2 * branch_count] = q
                    numbers[branches + 2 * branch_count + 1] = total
                    branch_count += 1
        if total <= target:
            set_count += 1
    # A test of two sets mostly ends early, so that looking at words costs less than it counts.
    return branch_count, work + (squeezing >> 1)


@kernel
def weigh_neighbors(adjacency, weights, reach, begin, work_limit):
    """Set ``reach[q]``, from vertex ``begin`` on, to the weight of its neighbors; where it stopped, and the work."""
    q = begin
    work = np.int64(0)
    while q < len(weights) and work < work_limit:
        for k in range(adjacency.shape[1]):
            word = adjacency[q, k]
            while word:
                reach[q] += weights[(k << 6) + lowest_bit(word)]
                word &= word - ONE
                work += 1
        work += adjacency.shape[1]
        q += 1
    return q, work


@kernel
def order_by_degeneracy(adjacency, weights, reach, placed, order, left, work_limit):
    """Fill ``order`` from place ``left - 1`` down with the vertex of least weight of neighbors among those that remain.

    ``reach`` is that weight and ``placed`` says who does not remain.  Stops with ``work_limit`` used up; returns the
    places left and the work.
    """
    t = len(weights)
    work = np.int64(0)
    while left > 0 and work < work_limit:
        least = np.int64(-1)
        for q in range(t):
            if not placed[q] and (least < 0 or reach[q] < reach[least]):
                least = q
        left -= 1
        order[left] = least
        placed[least] = True
        work += t + adjacency.shape[1]
        for k in range(adjacency.shape[1]):
            word = adjacency[least, k]
            while word:
                reach[(k << 6) + lowest_bit(word)] -= weights[least]
                word &= word - ONE
                work += 1
    return left, work


@kernel
def rename(adjacency, order, position, renamed, begin, work_limit):
    """Write the adjacency, vertex ``order[i]`` called ``i``, to the zeros of ``renamed`` row by row, without loops.

    ``position`` is the inverse of ``order``.  Goes on from row ``begin`` until the end or with ``work_limit`` used up;
    returns where it stopped and the work.
    """
    width = adjacency.shape[1]
    i = begin
    work = np.int64(0)
    while i < len(order) and work < work_limit:
        for k in range(width):
            word = adjacency[order[i], k]
            while word:
                j = position[(k << 6) + lowest_bit(word)]
                word &= word - ONE
                work += 1
                if i != j:
                    renamed[i * width + (j >> 6)] |= ONE << np.uint64(j & 63)
        work += width
        i += 1
    return i, work
