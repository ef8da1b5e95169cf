"""The stack of nodes of a box search in shared arrays.

A node (a *level* of the stack) knows a set of chosen queries only through what they leave: the box of values that all
of them accept, the weight committed, and the candidates that may still join.  Candidates are bits in the numbering of a
*frame*; a node with far fewer candidates than its parent renumbers them and so works on fewer words.

What lies where:

``words``, ``numbers``   two stacks of storage; a level's blocks lie below its ``WORDS_TOP`` and ``NUMBERS_TOP``
``box_at[L, a]``         in ``words``: the live values of attribute ``a``, a mask
``live[L, a]``           how many they are
``open_at[L, a]``        in ``words``: the candidates whose mask on ``a`` rejects some live value
``columns_at[L, a]``     in ``words``: for each live value, in ascending order, the candidates that accept it; -1 where
                         values are more than ``COLUMN_LIMIT`` or no candidate tells them apart
``level[L, …]``          the scalars named below; ``ADJACENCY`` is the place of one row of bits for each of ``COUNT``
                         queries of the frame, ``NAMES`` and ``WEIGHTS`` that of their root numbers and weights

Bits of queries that are no longer candidates are meaningless everywhere but in the candidate set itself.
A level refers to its parent's block wherever the two agree, so in a complete level only the candidate set is altered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "ADJACENCY",
    "ALL",
    "BRANCHES",
    "BRANCH_COUNT",
    "BY_COLUMN",
    "BY_MASK",
    "CANDIDATES",
    "COLUMN_LIMIT",
    "COMMITTED",
    "COUNT",
    "LEVEL_FIELDS",
    "NAMES",
    "NONE",
    "NUMBERS_TOP",
    "ONE",
    "TO_COLUMNS",
    "UNTOUCHED",
    "WEIGHTS",
    "WIDTH",
    "WORDS_TOP",
    "Stack",
    "Workload",
]

(
    WORDS_TOP,
    NUMBERS_TOP,
    COMMITTED,
    CANDIDATES,
    ADJACENCY,
    WIDTH,
    COUNT,
    NAMES,
    WEIGHTS,
    BRANCHES,
    BRANCH_COUNT,
) = range(11)
LEVEL_FIELDS = 11

COLUMN_LIMIT = 64
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE = np.uint64(1)
NONE = np.uint64(0)

# How the candidates of a node are held against an attribute (``Stack.mode``): it is as in the parent, or its values are
# looked up in masks, in the parent's columns, or in columns that are made for it.
UNTOUCHED, BY_MASK, BY_COLUMN, TO_COLUMNS = range(4)


class Workload(NamedTuple):
    """The queries, in the order in which the root frame numbers them; the terms of each, smallest attribute first."""

    weights: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    attribute: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    mask_words: npt.NDArray[np.uint64]
    width: npt.NDArray[np.int64]


class Stack(NamedTuple):
    """The storage described above."""

    words: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.int64]
    box_at: npt.NDArray[np.int64]
    live: npt.NDArray[np.int64]
    open_at: npt.NDArray[np.int64]
    columns_at: npt.NDArray[np.int64]
    level: npt.NDArray[np.int64]
    mode: npt.NDArray[np.int64]
    values_at: npt.NDArray[np.int64]
    patience: npt.NDArray[np.int64]
