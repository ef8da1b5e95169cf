"""The workload in the form that a lean search reads, and its stack of problems.

A *lane* is one (mask, value) pair: -1, which has all bits set, if the mask accepts the value, and 0 if not, so that
``share & lane`` is what a value gets of a share.

A *level* of the stack is one problem: the live values of each attribute (a box), and the open queries, each with the
*slots* in which its mask rejects some live value.  Query ``i`` of level ``L`` has the slots ``first[L, i] … first[L, i
+ 1] - 1``; slot ``k`` has the mask ``mask[L, k]`` and the multiplier ``share[L, k] >= 0``.  The multipliers of a query
sum to its scaled weight.  ``score[L, v]`` is, for a live value, the sum of the shares of the slots that accept it, and
negative for any other value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Columns of ``Lanes.masks``: where the lanes of a mask begin, where the values of its attribute begin among all values,
# how many they are, the attribute, where the words of the mask begin and where the live words of the attribute do, and
# how many words they take.
LANE_AT, VALUE_AT, SIZE, ATTRIBUTE, WORD_AT, LIVE_AT, WORDS = range(7)
MASK = 7

# Columns of ``Stack.head``: the scaled weight of the queries that all rows of the box satisfy, how many queries are
# open, the scaled bound, and the attribute that is branched on (-1: the level has not been bounded).
COMMITTED, QUERIES, BOUND, BRANCH = range(4)
HEAD = 4

# The score of a value that is not live.  With any sum of multipliers, which is below 2**62, it is negative.
LOWEST = np.int64(-1) << np.int64(62)

# What ``Stack.flag`` says of a query: no row that matters satisfies it.
DEAD = np.uint8(1)


class Lanes(NamedTuple):
    """The workload, which does not change.

    ``masks[p]`` describes a mask by the columns above, ``lanes`` and ``words`` are those of all masks.  The values of
    attribute ``a`` begin at ``value_at[a]`` and its live words at ``live_at[a]``, and both end where the next begin.
    """

    masks: npt.NDArray[np.int32]
    lanes: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]
    value_at: npt.NDArray[np.int64]
    live_at: npt.NDArray[np.int64]


class Stack(NamedTuple):
    """The levels of one worker, by the module's docstring, and its scratch.

    ``live[L]`` holds the live values of all attributes and ``todo[L]`` those of them that are still to be branched on.
    ``flag[i]`` marks queries of the level in work, and is zero between two steps up to the number of its parent's.
    ``room`` has an entry for each slot of a query, ``lost`` one for each value, ``all_lost`` one for each attribute.
    """

    head: npt.NDArray[np.int64]
    live: npt.NDArray[np.uint64]
    todo: npt.NDArray[np.uint64]
    score: npt.NDArray[np.int64]
    first: npt.NDArray[np.int32]
    mask: npt.NDArray[np.int32]
    share: npt.NDArray[np.int64]
    flag: npt.NDArray[np.uint8]
    room: npt.NDArray[np.int64]
    lost: npt.NDArray[np.float64]
    all_lost: npt.NDArray[np.float64]
    best_row: npt.NDArray[np.int32]
