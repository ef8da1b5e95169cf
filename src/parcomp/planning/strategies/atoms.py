"""The atoms of a workload: the classes of rows that no query tells apart.

A row matters to a workload by the queries that it satisfies, and by nothing else.  So the rows that satisfy the same
queries are one *atom*, and whatever holds for each atom holds for each row.  Here no value may be dropped because
another one's queries contain its own: a quadratic form of the queries need not grow with them.

Atoms are listed attribute by attribute.  After some attributes, two choices of values that leave the same queries alive
have the same continuations, so one of them is kept.  The list is complete: it holds every set of queries that some row
satisfies, but for the empty set.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import unpack_bits
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap import accepting_queries

__all__ = ["TIME_IS_UP", "Atoms", "atoms_or_reason", "list_atoms"]

Indices = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

ATOM_LIMIT = 200_000
"""The most atoms that are listed, also on the way to the last attribute."""

WORD_LIMIT = 1 << 22
"""The most words of bits that they may take."""

MEMBER_LIMIT = 1 << 25
"""The most queries that all atoms have together: 256 MiB of numbers."""

_CANDIDATES = 1 << 22
"""The most choices of values that are looked at for one attribute."""

_CHUNK = 1 << 22
"""Words that are written at once."""

TIME_IS_UP = "the time to plan it was up"
"""Why there is no strategy, where time is the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """Each atom as the queries that its rows satisfy: ``index[start[x]:start[x + 1]]``, ascending and not empty."""

    start: Indices
    index: Indices
    query_count: int

    def __len__(self) -> int:
        return len(self.start) - 1

    def sizes(self) -> Indices:
        """How many atoms each query is made of."""
        return np.bincount(self.index, minlength=self.query_count)

    def within(self, queries: Indices) -> Atoms:
        """The atoms of some of the queries, in their order; some may be listed more than once, or be empty."""
        place = np.full(self.query_count, -1)
        place[queries] = np.arange(len(queries))
        inside = place[self.index] >= 0
        count = np.concatenate(([0], np.cumsum(inside)))
        return Atoms(count[self.start], place[self.index[inside]], len(queries))


def list_atoms(compiled: CompiledWorkload, deadline: float = math.inf) -> Atoms | None:
    """All atoms of a compiled workload, or None where they are too many to be listed, or to be listed by then."""
    found = atoms_or_reason(compiled, deadline)
    return None if isinstance(found, str) else found


def atoms_or_reason(compiled: CompiledWorkload, deadline: float = math.inf) -> Atoms | str:
    """All atoms of a compiled workload, or why they are not listed, in words."""
    count = compiled.query_count
    if not count:
        return Atoms(np.zeros(1, np.int64), np.zeros(0, np.int64), 0)
    first, accepting = accepting_queries(compiled)
    # Bits beyond the last query are ones there, and would keep every row alive here.
    alive = _mask(count, accepting.shape[1])
    for attribute in np.argsort(compiled.sizes, kind="stable").tolist():
        if time.monotonic() >= deadline:
            return TIME_IS_UP
        values = _distinct(accepting[first[attribute] : first[attribute + 1]])
        if len(values) > 1:
            refined = _refined(alive, values, deadline)
            if isinstance(refined, str):
                return refined
            alive = refined
    member = unpack_bits(alive, count)
    start = np.concatenate(([0], np.cumsum(member.sum(axis=1, dtype=np.int64))))
    if start[-1] > MEMBER_LIMIT:
        return _too_large(len(alive))
    index = np.flatnonzero(member.ravel())
    index %= count
    return Atoms(start, index, count)


def _refined(alive: Words, values: Words, deadline: float) -> Words | str:
    """What is alive after one more attribute, each set once and no empty one; else why that is not known."""
    if len(alive) * len(values) > _CANDIDATES:
        return f"more than {_CANDIDATES:,} kinds of rows to look through"
    at_once = max(1, _CHUNK // values.size)
    found = values[:0]
    for begin in range(0, len(alive), at_once):
        if begin and time.monotonic() >= deadline:
            return TIME_IS_UP
        met = (alive[begin : begin + at_once, None, :] & values[None, :, :]).reshape(-1, alive.shape[1])
        found = _distinct(np.concatenate((found, _distinct(met[met.any(axis=1)]))))
        if len(found) > ATOM_LIMIT:
            return f"more than {ATOM_LIMIT:,} classes of rows"
        if found.size > WORD_LIMIT:
            return _too_large(len(found))
    return found


def _too_large(atoms: int) -> str:
    return f"at least {atoms:,} classes of rows, which take too much memory"


def _distinct(sets: Words) -> Words:
    """Each row of words once."""
    if len(sets) < 2:
        return sets
    whole = np.ascontiguousarray(sets)
    _, first = np.unique(whole.view(np.dtype((np.void, 8 * whole.shape[1]))).ravel(), return_index=True)
    return whole[first]


def _mask(count: int, words: int) -> Words:
    mask = np.full((1, words), ~np.uint64(0))
    if count % 64:
        mask[0, -1] = np.uint64((1 << (count % 64)) - 1)
    return mask
