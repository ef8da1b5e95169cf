"""Rows that satisfy several queries at once, found without knowing more of a predicate than its table tells.

With each set of queries goes a row that satisfies them all.  A query that accepts the row's values joins without a
further look; only where it does not are the predicates of one attribute searched for another value that they share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from parcomp.model import Workload

__all__ = ["Joint", "JointRows", "satisfied"]

Positions = npt.NDArray[np.int64]

_FIRST_PIECE = 128
"""How many attributes are looked at before any others."""


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Some of a few queries, as one boolean for each, and the codes of a row that satisfies them; -1 is any value."""

    chosen: npt.NDArray[np.bool_]
    codes: npt.NDArray[np.int64]


class JointRows:
    """A few queries of a workload, numbered from 0 in the order given, and which sets of them overlap."""

    def __init__(self, workload: Workload, queries: npt.NDArray[np.int64]) -> None:
        self._table = workload.table
        self._width = len(workload.domain.attributes)
        part = workload[queries]
        owner = np.repeat(np.arange(len(queries)), np.diff(part.start))
        attribute = np.asarray(workload.table.attributes, np.int32)[part.term]
        order = np.argsort(attribute, kind="stable")
        # Terms sorted by attribute; those of the same attribute as term i are low[i] … high[i] - 1.
        self._owner, self._number, self._attribute = owner[order], part.term[order], attribute[order]
        self._low = np.searchsorted(self._attribute, self._attribute, side="left")
        self._high = np.searchsorted(self._attribute, self._attribute, side="right")
        sizes = np.array([described.size for described in workload.domain.attributes.values()])
        # Those of each query, small attributes first: they are quick to search, and most likely to have no value left.
        by_owner = np.lexsort((sizes[self._attribute], self._owner))
        self._terms = [by_owner[begin:end] for begin, end in pairwise(part.start.tolist())]

    def nothing(self) -> Joint:
        """No query, and any row."""
        return Joint(np.zeros(len(self._terms), np.bool_), np.full(self._width, -1, np.int64))

    def join(self, joint: Joint, query: int) -> Joint | None:
        """The set with one more query; None if they do not overlap."""
        chosen, codes = joint.chosen.copy(), joint.codes.copy()
        chosen[query] = True
        for begin, end in pairwise(_growing(len(self._terms[query]))):
            terms = self._terms[query][begin:end]
            found = self._shared(joint, terms)
            if (found < 0).any():
                return None
            codes[self._attribute[terms]] = found
        return Joint(chosen, codes)

    def joining(self, joint: Joint, last: int, candidates: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Those of the candidates that overlap the set, if they did before ``last`` joined it."""
        left = candidates.copy()
        # Elsewhere than on the attributes of the last query nothing has changed.
        for begin, end in pairwise(_growing(len(self._terms[last]))):
            terms, _ = self._same_attribute(self._terms[last][begin:end])
            terms = terms[left[self._owner[terms]]]
            left[self._owner[terms[self._shared(joint, terms) < 0]]] = False
        return left

    def _shared(self, joint: Joint, terms: Positions) -> npt.NDArray[np.int64]:
        """For each term a code that it shares with all the set asks of the same attribute; -1 if there is none."""
        codes = joint.codes[self._attribute[terms]]
        fits = self._table.accepting(self._number[terms], np.maximum(codes, 0))
        fits &= codes >= 0
        doubtful = np.flatnonzero(~fits)
        place, group = self._same_attribute(terms[doubtful])
        held = joint.chosen[self._owner[place]] | (place == terms[doubtful][group])
        start = np.concatenate(([0], np.cumsum(np.bincount(group[held], minlength=len(doubtful)))))
        codes[doubtful] = self._table.shared_codes(self._number[place[held]], start)
        return codes

    def _same_attribute(self, terms: Positions) -> tuple[Positions, Positions]:
        """All terms of the same attribute as each of the given ones, and which of these each of them is found for."""
        low, length = self._low[terms], self._high[terms] - self._low[terms]
        group = np.repeat(np.arange(len(terms)), length)
        before = np.cumsum(length) - length
        return low[group] + np.arange(len(group)) - before[group], group


def _growing(count: int) -> Iterator[int]:
    """Where to cut a list into pieces, each as long as all before it."""
    cut = 0
    while cut < count:
        yield cut
        cut = max(_FIRST_PIECE, 2 * cut)
    yield count


def satisfied(
    workload: Workload, queries: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Those of the given queries that accept the row with these codes."""
    part = workload[queries]
    attribute = np.asarray(workload.table.attributes, np.int32)[part.term]
    misses = np.concatenate(([0], np.cumsum(~workload.table.accepting(part.term, codes[attribute]))))
    return np.asarray(queries[misses[part.start[1:]] == misses[part.start[:-1]]], np.int64)
