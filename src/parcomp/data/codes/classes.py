"""How many rows satisfy the same of some conjunctions: the atoms of a strategy, counted in one scan.

A row is followed from attribute to attribute.  What matters of the values so far is which conjunctions they leave
alive, so there is a *state* for each such set, and the code of the next attribute leads from one to another.  Codes
that all conjunctions treat alike lead the same way.  After the last attribute the state is the set of conjunctions that
the row satisfies.  The tables of states follow from the conjunctions alone, and a row takes one look at each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.bits import unpack_bits
from parcomp.data.codes.counting import Places, code_masks, scan_sql
from parcomp.data.codes.keys import Terms
from parcomp.data.layout import outside
from parcomp.model import Domain

__all__ = ["ClassPass", "Classes"]

_SLICE = 2**16
"""How many rows are followed at a time."""

_CHUNK = 2**22
"""Words that are written at once."""

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Sets of conjunctions that rows may satisfy, a row of ``satisfied`` for each, and how many rows do."""

    satisfied: npt.NDArray[np.bool_]
    counts: list[int]


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """From the code in one column, and the state before, to the state after: ``following[state, kind]``."""

    column: int
    place: Places
    kind: npt.NDArray[np.int64]
    following: npt.NDArray[np.int32]


class ClassPass:
    """A pass that counts, for each of some lists of conjunctions, the rows that satisfy the same of its own."""

    def __init__(self, lists: Sequence[Sequence[Terms]], domain: Domain, relation: str, stored: int) -> None:
        sizes = [outside(attribute) for attribute in domain.attributes.values()]
        used = sorted({index for queries in lists for terms in queries for index, _ in terms})
        self.sql = scan_sql(used, relation, grouped=4 * math.prod(sizes[i] + 1 for i in used) <= stored)
        self._walks = [_Walk(queries, used, sizes) for queries in lists]

    def add(self, chunk: Sequence[npt.NDArray[Any]]) -> None:
        """Follow some records, given as the columns of the query's result."""
        for start in range(0, len(chunk[-1]), _SLICE):
            part = [values[start : start + _SLICE] for values in chunk]
            for walk in self._walks:
                walk.add(part)

    def classes(self) -> list[Classes]:
        """What was counted for each list, once all records were followed."""
        return [walk.classes() for walk in self._walks]


class _Walk:
    def __init__(self, queries: Sequence[Terms], used: Sequence[int], sizes: Sequence[int]) -> None:
        self._count = len(queries)
        tested = sorted({index for terms in queries for index, _ in terms})
        places, masks, full = code_masks(queries, tested, sizes)
        ends = [*(place.first for place in places[1:]), len(masks)]
        kinds = [_distinct(masks[place.first : end]) for place, end in zip(places, ends, strict=False)]
        states = full[np.newaxis]
        self._steps: list[_Step] = []
        # Attributes of few kinds first, as where atoms are listed: so states stay as few as atoms do.
        for number in sorted(range(len(tested)), key=lambda one: len(kinds[one][0])):
            different, kind = kinds[number]
            states, following = _followed(states, different)
            self._steps.append(_Step(used.index(tested[number]), places[number], kind, following))
        self._states = states
        self._total = np.zeros(len(states), np.int64)

    def add(self, part: Sequence[npt.NDArray[Any]]) -> None:
        state = np.zeros(len(part[-1]), np.int64)
        for step in self._steps:
            state = step.following[state, step.kind[step.place(part[step.column]) - step.place.first]]
        np.add.at(self._total, state, np.asarray(part[-1], np.int64))

    def classes(self) -> Classes:
        return Classes(unpack_bits(self._states, self._count), self._total.tolist())


def _followed(states: Words, kinds: Words) -> tuple[Words, npt.NDArray[np.int32]]:
    """The sets that are left alive by each kind of code, each once, and which one follows each state."""
    number: dict[bytes, int] = {}
    following = np.empty((len(states), len(kinds)), np.int32)
    at_once = max(1, _CHUNK // max(1, kinds.size))
    for begin in range(0, len(states), at_once):
        met = (states[begin : begin + at_once, None, :] & kinds[None, :, :]).reshape(-1, states.shape[1])
        different, which = _distinct(met)
        known = [number.setdefault(one.tobytes(), len(number)) for one in different]
        following[begin : begin + at_once] = np.array(known, np.int32)[which].reshape(-1, len(kinds))
    return np.frombuffer(b"".join(number), np.uint64).reshape(len(number), states.shape[1]), following


def _distinct(sets: Words) -> tuple[Words, npt.NDArray[np.int64]]:
    """Each row of words once, and which of them each row is."""
    whole = np.ascontiguousarray(sets)
    rows = whole.view(np.dtype((np.void, 8 * whole.shape[1]))).ravel()
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)
    return whole[first], which.reshape(-1).astype(np.int64)
