"""Kernels of the row local search: annealed coordinate ascent over rows.

Weights enter the scores as floats: a score only ranks values, and the weight of a row is summed in integers.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.bits import fill_ones, has_bit, lowest_bit, popcount, xorshift
from parcomp.jit import inlined, inner_kernel, kernel

__all__ = ["RowQueries", "RowState", "ascend", "count_misses"]

# Entries of ``RowState.counters``: the random generator's word, the sweep (-1: a run is to begin) and the position in
# it, the weight of the present and of the best row, whether the weight changed in this sweep, and the number of runs.
RANDOM, STEP, POSITION, CURRENT, BEST, CHANGED, RUN = range(7)
COUNTERS = 7

# The run's plan: so many annealed sweeps, then hard sweeps until nothing changes.
ANNEALED_SWEEPS = 14
HARD_SWEEPS = 8
SOFTEST, HARDEST = 0.25, 3.0
HARD = 12.0
# A query that misses so many further terms that its factor is below this adds nothing to any score.
NEGLIGIBLE = 1e-4
# Above so many (value, mask) additions, values are first filtered by whole words.
EXPANSION_LIMIT = 1 << 13


class RowQueries(NamedTuple):
    """A workload by attributes.

    Attribute ``a`` has ``sizes[a]`` values, the masks ``mask_first[a] … mask_first[a + 1] - 1``, which begin at
    ``mask_words[mask_offset[mask]]``, and the terms ``term_first[a] … term_first[a + 1] - 1``: query ``term_query[i]``
    asks for the mask ``term_mask[i]``.  Query ``q`` weighs ``weights[q]``.
    """

    sizes: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int64]
    mask_first: npt.NDArray[np.int64]
    term_first: npt.NDArray[np.int64]
    term_query: npt.NDArray[np.int64]
    term_mask: npt.NDArray[np.int64]
    mask_offset: npt.NDArray[np.int64]
    mask_words: npt.NDArray[np.uint64]


class RowState(NamedTuple):
    """Where a search is, and its work space.

    ``row[a]`` is the value of attribute ``a`` and ``misses[q]`` how many terms of ``q`` reject it; ``best_row`` is the
    heaviest row met; ``order`` is that of the attributes in this sweep; ``counters`` are named above.  For the
    attribute at hand, ``gain[p]`` is what its mask number ``p`` pulls, ``heavy`` are those that pull at all, ``words``
    the values that are scored, and ``score`` their scores.
    """

    row: npt.NDArray[np.int32]
    misses: npt.NDArray[np.int64]
    best_row: npt.NDArray[np.int32]
    order: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]
    gain: npt.NDArray[np.float64]
    heavy: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]
    score: npt.NDArray[np.float64]


@inner_kernel
def _random(counters, bound):
    """The next random number below ``bound``."""
    x = xorshift(np.uint64(counters[RANDOM]))
    counters[RANDOM] = np.int64(x)
    return np.int64((x >> np.uint64(11)) % np.uint64(bound))


@kernel
def count_misses(queries, state):
    """Set ``misses`` and the current weight from the row."""
    row, misses, counters = state.row, state.misses, state.counters
    misses[:] = 0
    for a in range(len(row)):
        for i in range(queries.term_first[a], queries.term_first[a + 1]):
            offset = queries.mask_offset[queries.term_mask[i]]
            if not has_bit(queries.mask_words[offset + (row[a] >> 6)], row[a]):
                misses[queries.term_query[i]] += 1
    counters[CURRENT] = 0
    for q in range(len(misses)):
        if misses[q] == 0:
            counters[CURRENT] += queries.weights[q]


@inlined
def _begin_run(queries, state):
    """The start of a run: at random, or every other time the best row with a fifth of its values redrawn."""
    row, counters = state.row, state.counters
    again = counters[RUN] % 2 == 1
    for a in range(len(row)):
        state.order[a] = a
        if again:
            row[a] = state.best_row[a]
            if _random(counters, 5) != 0:
                continue
        row[a] = _random(counters, queries.sizes[a])
    counters[RUN] += 1
    counters[STEP] = ANNEALED_SWEEPS // 2 if again else 0
    counters[POSITION] = 0
    counters[CHANGED] = 0
    count_misses(queries, state)


@inlined
def _sum_gains(queries, state, a, factor):
    """Set what each mask of an attribute pulls, Σ w_q · factor[misses of q elsewhere]; how many pull at all."""
    gain, heavy, misses = state.gain, state.heavy, state.misses
    mask_offset, mask_words = queries.mask_offset, queries.mask_words
    first_mask, value = queries.mask_first[a], state.row[a]
    count = queries.mask_first[a + 1] - first_mask
    for p in range(count):
        gain[p] = 0.0
    for i in range(queries.term_first[a], queries.term_first[a + 1]):
        q = queries.term_query[i]
        elsewhere = misses[q]
        offset = mask_offset[queries.term_mask[i]]
        if elsewhere > 0 and not has_bit(mask_words[offset + (value >> 6)], value):
            elsewhere -= 1
        if elsewhere < len(factor):
            gain[queries.term_mask[i] - first_mask] += queries.weights[q] * factor[elsewhere]
    relevant = 0
    for p in range(count):
        if gain[p] > 0.0:
            heavy[relevant] = p
            relevant += 1
    return relevant


@inner_kernel
def _filter_values(words, size, gain, masks, offset, mask_words):
    """Set ``words`` to the values to score, and return how many they are and the work.

    Where values are many, the masks of greatest gain filter them one after the other, as long as some value remains.
    """
    fill_ones(words, size)
    left, work = np.int64(size), np.int64(0)
    if left * len(masks) > EXPANSION_LIMIT:
        by_gain = np.argsort(-gain[masks])
        for j in range(len(masks)):
            if left * (len(masks) - j) <= EXPANSION_LIMIT:
                break
            base = offset[masks[by_gain[j]]]
            common = 0
            for k in range(len(words)):
                common += popcount(words[k] & mask_words[base + k])
            work += len(words)
            if common > 0:
                for k in range(len(words)):
                    words[k] &= mask_words[base + k]
                left = common
    return left, work


@inner_kernel
def _score_values(words, score, gain, masks, offset, mask_words):
    """Score the values of ``words``: each by what the masks that accept it pull together; the work."""
    work = np.int64(0)
    for k in range(len(words)):
        if words[k]:
            for v in range(k << 6, min(len(score), (k + 1) << 6)):
                score[v] = 0.0
    for p in masks:
        base = offset[p]
        g = gain[p]
        for k in range(len(words)):
            word = words[k] & mask_words[base + k]
            work += 1
            while word:
                score[(k << 6) + lowest_bit(word)] += g
                work += 1
                word &= word - np.uint64(1)
    return work


@inner_kernel
def _first_best(words, score, turn):
    """The value of greatest score, the first from word ``turn`` on among equal ones."""
    best, best_score = np.int64(-1), -1.0
    for kk in range(len(words)):
        k = kk + turn
        if k >= len(words):
            k -= len(words)
        word = words[k]
        while word:
            v = (k << 6) + lowest_bit(word)
            if score[v] > best_score:
                best, best_score = v, score[v]
            word &= word - np.uint64(1)
    return best


@inlined
def _best_value(queries, state, a, factor):
    """The value of attribute ``a`` with the greatest score, and the work done."""
    # A term is looked up in three places, which takes as long as a few operations on whole words.
    work = 2 * (queries.term_first[a + 1] - queries.term_first[a]) + queries.mask_first[a + 1] - queries.mask_first[a]
    best = np.int64(state.row[a])
    relevant = _sum_gains(queries, state, a, factor)
    if relevant:
        size, offset = queries.sizes[a], queries.mask_offset[queries.mask_first[a] :]
        words, masks, mask_words = state.words[: (size + 63) >> 6], state.heavy[:relevant], queries.mask_words
        left, spent = _filter_values(words, size, state.gain, masks, offset, mask_words)
        work += left + spent + _score_values(words, state.score[:size], state.gain, masks, offset, mask_words)
        # Ties go to the first value after a random place: a plateau is walked rather than sat on.
        best = _first_best(words, state.score, _random(state.counters, len(words)))
    return best, work


@inlined
def _move(queries, state, a, value):
    """Give attribute ``a`` another value, and keep the row if it is the heaviest."""
    row, misses, counters = state.row, state.misses, state.counters
    mask_offset, mask_words = queries.mask_offset, queries.mask_words
    before = counters[CURRENT]
    for i in range(queries.term_first[a], queries.term_first[a + 1]):
        q = queries.term_query[i]
        offset = mask_offset[queries.term_mask[i]]
        was = has_bit(mask_words[offset + (row[a] >> 6)], row[a])
        is_ = has_bit(mask_words[offset + (value >> 6)], value)
        if was and not is_:
            if misses[q] == 0:
                counters[CURRENT] -= queries.weights[q]
            misses[q] += 1
        elif is_ and not was:
            misses[q] -= 1
            if misses[q] == 0:
                counters[CURRENT] += queries.weights[q]
    row[a] = value
    if counters[CURRENT] != before:
        counters[CHANGED] = 1
    if counters[CURRENT] > counters[BEST]:
        counters[BEST] = counters[CURRENT]
        state.best_row[:] = row


@inner_kernel
def _factors(step, factor):
    """Fill ``factor`` with what a query counts for that misses 0, 1, 2, … terms in this sweep; how many matter."""
    beta = HARD
    if step < ANNEALED_SWEEPS:
        beta = SOFTEST * (HARDEST / SOFTEST) ** (step / (ANNEALED_SWEEPS - 1))
    for count in range(len(factor)):
        factor[count] = np.exp(-beta * count)
        if factor[count] <= NEGLIGIBLE * NEGLIGIBLE:
            return count
    return len(factor)


@kernel
def ascend(queries, state, work_limit):
    """Run the search from where ``state`` left it until ``work_limit`` is spent; returns the work done."""
    row, order, counters = state.row, state.order, state.counters
    m = len(row)
    work = np.int64(0)
    factor = np.empty(64, np.float64)
    while work < work_limit:
        if counters[STEP] < 0:
            _begin_run(queries, state)
            work += len(queries.term_query) + m
        step = counters[STEP]
        count = _factors(step, factor)
        if counters[POSITION] == 0:
            for i in range(m - 1, 0, -1):
                j = _random(counters, i + 1)
                order[i], order[j] = order[j], order[i]
        while counters[POSITION] < m and work < work_limit:
            a = order[counters[POSITION]]
            counters[POSITION] += 1
            value, spent = _best_value(queries, state, a, factor[:count])
            work += spent + 1
            if value != row[a]:
                work += queries.term_first[a + 1] - queries.term_first[a]
                _move(queries, state, a, value)
        if counters[POSITION] == m:
            counters[POSITION] = 0
            if step >= ANNEALED_SWEEPS and (counters[CHANGED] == 0 or step >= ANNEALED_SWEEPS + HARD_SWEEPS):
                counters[STEP] = -1
            else:
                counters[STEP] += 1
            counters[CHANGED] = 0
    return work
