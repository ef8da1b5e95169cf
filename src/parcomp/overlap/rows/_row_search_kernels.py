"""Kernels of the row local search: annealed coordinate ascent over rows.

Arrays with the same meaning in every kernel:

``mask_first[a]:mask_first[a + 1]``      the masks of attribute ``a``
``term_first[a]:term_first[a + 1]``      the terms of attribute ``a`` in ``term_query`` and ``term_mask``
``row[a]``                               the value of attribute ``a``
``misses[q]``                            how many terms of ``q`` reject the row
``state``                                the counters named by the constants below

Weights enter the scores as floats: a score only ranks values, and the weight of a row is summed in integers.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit, popcount, xorshift
from parcomp.jit import kernel

__all__ = ["BEST", "CURRENT", "RANDOM", "STATE_SIZE", "ascend", "count_misses"]

RANDOM, STEP, POSITION, CURRENT, BEST, CHANGED, RUN = range(7)
STATE_SIZE = 7

# The run's plan: so many annealed sweeps, then hard sweeps until nothing changes.
ANNEALED_SWEEPS = 14
HARD_SWEEPS = 8
SOFTEST, HARDEST = 0.25, 3.0
HARD = 12.0
# A query that misses so many further terms that its factor is below this adds nothing to any score.
NEGLIGIBLE = 1e-4
# Above so many (value, mask) additions, values are first filtered by whole words.
EXPANSION_LIMIT = 1 << 13


@kernel
def _random(state, bound):
    """The next random number below ``bound``."""
    x = xorshift(np.uint64(state[RANDOM]))
    state[RANDOM] = np.int64(x)
    return np.int64((x >> np.uint64(11)) % np.uint64(bound))


@kernel
def _accepts(mask_offset, mask_words, mask, value):
    word = mask_words[mask_offset[mask] + (value >> 6)]
    return (word >> np.uint64(value & 63)) & np.uint64(1) != np.uint64(0)


@kernel
def count_misses(weights, term_first, term_query, term_mask, mask_offset, mask_words, row, misses, state):
    """Set ``misses`` and the current weight from the row."""
    misses[:] = 0
    for a in range(len(row)):
        for i in range(term_first[a], term_first[a + 1]):
            if not _accepts(mask_offset, mask_words, term_mask[i], row[a]):
                misses[term_query[i]] += 1
    state[CURRENT] = 0
    for q in range(len(weights)):
        if misses[q] == 0:
            state[CURRENT] += weights[q]


@kernel
def _begin_run(sizes, row, best_row, order, state):
    """The start of a run: at random, or every other time the best row with a fifth of its values redrawn."""
    m = len(row)
    again = state[RUN] % 2 == 1
    for a in range(m):
        order[a] = a
        if again:
            row[a] = best_row[a]
            if _random(state, 5) != 0:
                continue
        row[a] = _random(state, sizes[a])
    state[RUN] += 1
    state[STEP] = ANNEALED_SWEEPS // 2 if again else 0
    state[POSITION] = 0
    state[CHANGED] = 0


@kernel
def _best_value(
    a,
    sizes,
    weights,
    mask_first,
    term_first,
    term_query,
    term_mask,
    mask_offset,
    mask_words,
    row,
    misses,
    factor,
    gain,
    heavy,
    words,
    score,
    state,
):
    """The value of attribute ``a`` with the greatest score, and the work done.

    A value's score is Σ w_q · factor[misses of q elsewhere] over the queries that accept it.  Where values are many
    they are first filtered by the masks of greatest gain, one after the other, as long as some value remains.
    """
    first_mask, last_mask = mask_first[a], mask_first[a + 1]
    size = sizes[a]
    word_count = (size + 63) >> 6
    count = last_mask - first_mask
    for p in range(count):
        gain[p] = 0.0
    for i in range(term_first[a], term_first[a + 1]):
        q = term_query[i]
        elsewhere = misses[q]
        if elsewhere > 0 and not _accepts(mask_offset, mask_words, term_mask[i], row[a]):
            elsewhere -= 1
        if elsewhere < len(factor):
            gain[term_mask[i] - first_mask] += weights[q] * factor[elsewhere]
    relevant = 0
    for p in range(count):
        if gain[p] > 0.0:
            heavy[relevant] = p
            relevant += 1
    # A term is looked up in three places, which takes as long as a few operations on whole words.
    work = 2 * (term_first[a + 1] - term_first[a]) + count
    if relevant == 0:
        return np.int64(row[a]), work

    left = np.int64(size)
    for k in range(word_count):
        words[k] = ~np.uint64(0)
    if size & 63:
        words[word_count - 1] = (np.uint64(1) << np.uint64(size & 63)) - np.uint64(1)
    if np.int64(size) * relevant > EXPANSION_LIMIT:
        by_gain = np.argsort(-gain[heavy[:relevant]])
        for j in range(relevant):
            if left * (relevant - j) <= EXPANSION_LIMIT:
                break
            base = mask_offset[first_mask + heavy[by_gain[j]]]
            common = 0
            for k in range(word_count):
                common += popcount(words[k] & mask_words[base + k])
            work += word_count
            if common > 0:
                for k in range(word_count):
                    words[k] &= mask_words[base + k]
                left = common

    for k in range(word_count):
        if words[k]:
            for v in range(k << 6, min(size, (k + 1) << 6)):
                score[v] = 0.0
    for j in range(relevant):
        p = heavy[j]
        base = mask_offset[first_mask + p]
        g = gain[p]
        for k in range(word_count):
            word = words[k] & mask_words[base + k]
            work += 1
            while word:
                score[(k << 6) + lowest_bit(word)] += g
                work += 1
                word &= word - np.uint64(1)

    # Ties go to the first value after a random place: a plateau is walked rather than sat on.
    turn = _random(state, word_count)
    best, best_score = np.int64(row[a]), -1.0
    for kk in range(word_count):
        k = kk + turn
        if k >= word_count:
            k -= word_count
        word = words[k]
        while word:
            v = (k << 6) + lowest_bit(word)
            if score[v] > best_score:
                best, best_score = v, score[v]
            word &= word - np.uint64(1)
    return best, work + left


@kernel
def ascend(
    sizes,
    weights,
    mask_first,
    term_first,
    term_query,
    term_mask,
    mask_offset,
    mask_words,
    row,
    misses,
    best_row,
    order,
    gain,
    heavy,
    words,
    score,
    state,
    work_limit,
):
    """Run the search from where ``state`` left it until ``work_limit`` is spent; returns the work done."""
    m = len(row)
    work = np.int64(0)
    factor = np.empty(64, np.float64)
    while work < work_limit:
        if state[STEP] < 0:
            _begin_run(sizes, row, best_row, order, state)
            count_misses(weights, term_first, term_query, term_mask, mask_offset, mask_words, row, misses, state)
            work += len(term_query) + m
        step = state[STEP]
        beta = HARD
        if step < ANNEALED_SWEEPS:
            beta = SOFTEST * (HARDEST / SOFTEST) ** (step / (ANNEALED_SWEEPS - 1))
        levels = 0
        while levels < len(factor) and np.exp(-beta * levels) > NEGLIGIBLE * NEGLIGIBLE:
            factor[levels] = np.exp(-beta * levels)
            levels += 1
        if state[POSITION] == 0:
            for i in range(m - 1, 0, -1):
                j = _random(state, i + 1)
                order[i], order[j] = order[j], order[i]
        while state[POSITION] < m and work < work_limit:
            a = order[state[POSITION]]
            state[POSITION] += 1
            value, spent = _best_value(
                a,
                sizes,
                weights,
                mask_first,
                term_first,
                term_query,
                term_mask,
                mask_offset,
                mask_words,
                row,
                misses,
                factor[:levels],
                gain,
                heavy,
                words,
                score,
                state,
            )
            work += spent + 1
            if value == row[a]:
                continue
            before = state[CURRENT]
            work += term_first[a + 1] - term_first[a]
            for i in range(term_first[a], term_first[a + 1]):
                q = term_query[i]
                was = _accepts(mask_offset, mask_words, term_mask[i], row[a])
                is_ = _accepts(mask_offset, mask_words, term_mask[i], value)
                if was and not is_:
                    if misses[q] == 0:
                        state[CURRENT] -= weights[q]
                    misses[q] += 1
                elif is_ and not was:
                    misses[q] -= 1
                    if misses[q] == 0:
                        state[CURRENT] += weights[q]
            row[a] = value
            if state[CURRENT] != before:
                state[CHANGED] = 1
            if state[CURRENT] > state[BEST]:
                state[BEST] = state[CURRENT]
                best_row[:] = row
        if state[POSITION] == m:
            state[POSITION] = 0
            if step >= ANNEALED_SWEEPS and (state[CHANGED] == 0 or step >= ANNEALED_SWEEPS + HARD_SWEEPS):
                state[STEP] = -1
            else:
                state[STEP] += 1
            state[CHANGED] = 0
    return work
