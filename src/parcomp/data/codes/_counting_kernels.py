"""Kernels that count coded rows for many queries at once.

A *place* is a segment of one attribute: codes that all queries treat alike.  Places of all attributes are numbered one
after the other, and ``masks[place]`` has a bit for each query that takes the place: ``uint64[places, words]``, query
``q`` being bit ``q & 63`` of word ``q >> 6``.  A row satisfies the queries whose bit stands in the masks of all its
places.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.bits import lowest_bit
from parcomp.jit import inner_kernel, kernel

__all__ = ["Conditions", "Jobs", "Rows", "mark", "tally"]


class Rows(NamedTuple):
    """Coded rows.

    ``places[row, i]`` is the place of a row on attribute ``i``, ``weight[row]`` how many rows it stands for and
    ``codes[row, j]`` a code that is summed or grouped by.
    """

    places: npt.NDArray[np.int32]
    weight: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int64]


class Conditions(NamedTuple):
    """What rows are counted for.

    ``full`` has the bits of all queries, and ``owner`` says for each the condition whose alternative it is; those of
    one condition stand together, so a row is counted once.
    """

    masks: npt.NDArray[np.uint64]
    full: npt.NDArray[np.uint64]
    owner: npt.NDArray[np.int64]


class Jobs(NamedTuple):
    """What is added up beside the plain counts.

    Condition ``c`` has the jobs ``job[c]:job[c + 1]``, and each adds the weight, times the code ``summed`` unless that
    is negative, to ``total[target + group]``.  The group is the sum of the positions in the factors
    ``factor[i]:factor[i + 1]`` of the job, each by its stride; a factor is the runs ``edges[f]:edges[f + 1]`` of the
    code ``source``, in which positions rise by ``rises``.  A row in no run of a factor is in no group.
    """

    job: npt.NDArray[np.int64]
    summed: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    factor: npt.NDArray[np.int64]
    source: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    rises: npt.NDArray[np.int64]
    edges: npt.NDArray[np.int64]
    edge: npt.NDArray[np.int64]
    before: npt.NDArray[np.int64]


@kernel
def mark(masks, low, high, query, on):
    """Switch the bit of ``query[i]`` on or off at the places ``low[i] … high[i]-1``."""
    for i in range(len(query)):
        word = query[i] >> 6
        bit = np.uint64(1) << np.uint64(query[i] & 63)
        for place in range(low[i], high[i]):
            if on:
                masks[place, word] |= bit
            else:
                masks[place, word] &= ~bit


@inner_kernel
def _position(edge, begin, end, before, rises, code):
    """The position of ``code`` in the runs ``edge[begin:end]``; -1 if it is in none of them.

    Edges are ``start, stop, start, stop, …``, ascending.  ``before[i]`` is the position at the start of a run; within
    it the position rises by ``rises`` from code to code: 1 where each code has its own, 0 where the run shares one.
    """
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if edge[middle] <= code:
            low = middle + 1
        else:
            high = middle
    if (low - begin) & 1 == 0:
        return np.int64(-1)
    return before[low - 1] + rises * (code - edge[low - 1])


@kernel
def tally(rows, conditions, jobs, count, total):
    """Add rows to ``count``, which has a number for each condition, and to ``total``, where jobs say."""
    places, weight, codes = rows
    masks, full, owner = conditions
    job, summed, target, factor, source, stride, rises, edges, edge, before = jobs
    words = len(full)
    bits = np.empty(words, np.uint64)
    for row in range(len(weight)):
        for word in range(words):
            bits[word] = full[word]
        for i in range(places.shape[1]):
            place = places[row, i]
            for word in range(words):
                bits[word] &= masks[place, word]
        amount = weight[row]
        last = np.int64(-1)
        for word in range(words):
            rest = bits[word]
            while rest != np.uint64(0):
                condition = owner[(word << 6) + lowest_bit(rest)]
                rest &= rest - np.uint64(1)
                if condition == last:
                    continue
                last = condition
                count[condition] += amount
                for i in range(job[condition], job[condition + 1]):
                    group = np.int64(0)
                    for f in range(factor[i], factor[i + 1]):
                        position = _position(edge, edges[f], edges[f + 1], before, rises[f], codes[row, source[f]])
                        if position < 0:
                            group = np.int64(-1)
                            break
                        group += position * stride[f]
                    if group >= 0:
                        times = np.int64(1) if summed[i] < 0 else codes[row, summed[i]]
                        total[target[i] + group] += amount * times
