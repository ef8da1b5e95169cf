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


class BoxQueries(NamedTuple):
    """The queries, in the order in which the root frame numbers them.

    Query ``q`` weighs ``weights[q]`` and has the terms ``first[q] … first[q + 1] - 1``, smallest attribute first.  Term
    ``i`` is on ``attribute[i]``, and its mask begins at ``mask_words[offset[i]]``; masks of attribute ``a`` have
    ``width[a]`` words.
    """

    weights: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    attribute: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    mask_words: npt.NDArray[np.uint64]
    width: npt.NDArray[np.int64]


class Stack(NamedTuple):
    """The storage described above.

    The last three are of the node in work: ``mode[a]`` is one of the ways above, ``values_at[a]`` is where in
    ``numbers`` the live values are listed that columns are made for, and ``patience[L]`` says for how many children of
    a level refining is left out, now and after the next failure.
    """

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


class CoverPlaces(NamedTuple):
    """Where a cover of a level reads and writes.

    In ``words``: the adjacency, what is ``left`` to cover, what is ``free`` to join the set at hand, and the ``sets``
    made so far.  In ``numbers``: the branches; for each candidate the ``residual`` weight that is not covered yet;
    the ``members`` of the set at hand; for each set what is ``spare`` of its multiplier; and what a candidate that is
    squeezed in has ``used``.
    """

    width: int
    adjacency: int
    left: int
    free: int
    sets: int
    branches: int
    residual: int
    members: int
    spare: int
    used: int
