"""Kernels of the box search that see a graph only: covers by disjoint sets, which bound cliques and choose branches.

Sets of candidates are blocks of ``width`` words in ``Stack.words``, named by where they begin; the adjacency is one
such block for each candidate, in a row.  Lists of integers lie in ``Stack.numbers`` and are named likewise.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, lowest_bit
from parcomp.graph._packed_kernels import choose_apart
from parcomp.jit import inlined, inner_kernel
from parcomp.overlap.box import layout

__all__ = ["cover"]

# What one cover may take, in word operations: some hundredths of a second, which only the largest graphs reach.
SQUEEZE_LIMIT = 1 << 25
PEEL_LIMIT = 1 << 27


@inlined
def _lay_out(head, top, numbers_top):
    """The places of a cover of a level, given its scalars."""
    count, width = head[layout.COUNT], head[layout.WIDTH]
    residual = numbers_top + 2 * count
    return layout.CoverPlaces(
        width,
        head[layout.ADJACENCY],
        top,
        top + width,
        top + 2 * width,
        numbers_top,
        residual,
        residual + count,
        residual + 2 * count,
        residual + 3 * count + 1,
    )


@inlined
def _not_all_met(words, adjacency, width, q, first, second):
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
            word &= word - layout.ONE
            work += width
            for z in range(width):
                if words[other + z] & words[row + z] & words[second + z]:
                    return False, work
    return True, work


@inner_kernel
def _squeeze(words, numbers, at, q, set_count, work_limit):
    """Cover what is left of vertex ``q`` out of the multipliers of sets that exist; whether it worked, and the work.

    If no clique holds ``q`` and meets both of two sets, neither of which holds ``q``, then a clique meets at most two
    of the three.  As much of the two multipliers as ``q`` still needs therefore pays for ``q`` as well (San Segundo,
    Nikolaev and Batsyn 2015, here with weights).  Units of a multiplier are spent once: ``numbers[at.spare + i]`` are
    those of set ``i`` not yet spent.  On failure, or with ``work_limit`` used up, nothing is spent.
    """
    sets, spare, used, width = at.sets, at.spare, at.used, at.width
    need = numbers[at.residual + q]
    work, spent = np.int64(0), np.int64(0)
    place, bit = q >> 6, bit_of(q)
    for i in range(set_count):
        if need == 0 or work > work_limit:
            break
        if numbers[spare + i] == 0 or words[sets + i * width + place] & bit:
            continue
        work += 1
        for j in range(i + 1, set_count):
            if numbers[spare + j] == 0 or words[sets + j * width + place] & bit:
                continue
            apart, looked = _not_all_met(words, at.adjacency, width, q, sets + i * width, sets + j * width)
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


@inlined
def _squeeze_all(words, numbers, at, start, set_count):
    """Squeeze in what is left to cover, vertex by vertex until ``SQUEEZE_LIMIT`` is used up; the work."""
    work = np.int64(0)
    for k in range(start, at.width):
        word = words[at.left + k]
        while word and work < SQUEEZE_LIMIT:
            q = (k << 6) + lowest_bit(word)
            covered, spent = _squeeze(words, numbers, at, q, set_count, SQUEEZE_LIMIT - work)
            work += spent
            if covered:
                words[at.left + k] &= ~bit_of(q)
            word &= word - layout.ONE
    return work


@inlined
def _peel(words, numbers, at, count, start, most):
    """Choose non-adjacent candidates of ``left``, all that fit or ``most``, into ``members``: see ``choose_apart``."""
    width = at.width
    for k in range(start, width):
        words[at.free + k] = words[at.left + k]
    return choose_apart(
        words[at.adjacency : at.adjacency + count * width],
        words[at.free : at.free + width],
        numbers[at.residual : at.residual + count],
        numbers[at.members : at.members + count],
        start,
        most,
    )


@inner_kernel
def cover(stack, depth, target, top, numbers_top):
    """Cover candidates by disjoint sets as far as ``target`` allows, list the others; the number listed and the work.

    Branches are written to ``numbers_top``, two numbers each; scratch space follows them, and begins at ``top`` in
    ``words``.

    A set of pairwise non-adjacent candidates has at most one member in any clique.  Sets are peeled off greedily, each
    with a multiplier, the least uncovered weight in it; a clique of candidates covered in full weighs at most the sum
    of multipliers (Balas and Xue 1991 for weights; with unit weights this is greedy coloring, Tomita and Seki 2003).
    While that sum stays within ``target`` less the committed weight, cliques among the covered cannot beat the target,
    so a heavier one has a member among the branches.  Branch ``i`` is stored with the bound of the cover that includes
    it and all before it.

    Squeezing ends with ``SQUEEZE_LIMIT`` used up.  Beyond ``PEEL_LIMIT`` the sets that are still peeled off have a
    single member: what is left to cover gets a bound that is poor and sound, in no time.
    """
    words, numbers, head = stack.words, stack.numbers, stack.level[depth]
    count, width = head[layout.COUNT], head[layout.WIDTH]
    at = _lay_out(head, top, numbers_top)
    left, residual, members, branches = at.left, at.residual, at.members, at.branches
    for k in range(width):
        word = words[head[layout.CANDIDATES] + k]
        words[left + k] = word
        while word:
            q = (k << 6) + lowest_bit(word)
            word &= word - layout.ONE
            numbers[residual + q] = numbers[head[layout.WEIGHTS] + q]
    branch_count, set_count = np.int64(0), np.int64(0)
    total, work, squeezing = head[layout.COMMITTED], np.int64(0), np.int64(0)
    start = np.int64(0)
    squeezed = False
    while True:
        while start < width and words[left + start] == layout.NONE:
            start += 1
        if start == width:
            break
        if total >= target and not squeezed:
            squeezed = True
            squeezing = _squeeze_all(words, numbers, at, start, set_count)
            continue
        size, least, spent = _peel(words, numbers, at, count, start, count if work < PEEL_LIMIT else 1)
        work += spent + 2 * size
        if total < target and total + least > target:
            least = target - total
        total += least
        within = total <= target
        members_of_set = at.sets + set_count * width
        if within:
            for k in range(width):
                words[members_of_set + k] = layout.NONE
            numbers[at.spare + set_count] = least
            set_count += 1
        for j in range(size):
            q = numbers[members + j]
            if within:
                words[members_of_set + (q >> 6)] |= bit_of(q)
            numbers[residual + q] -= least
            if numbers[residual + q] == 0:
                words[left + (q >> 6)] &= ~bit_of(q)
                if not within:
                    numbers[branches + 2 * branch_count] = q
                    numbers[branches + 2 * branch_count + 1] = total
                    branch_count += 1
    # A test of two sets mostly ends early, so that looking at words costs less than it counts.
    return branch_count, work + (squeezing >> 1)
