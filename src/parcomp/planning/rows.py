"""The rows that a plan must respect: written out where they are few, looked for where they are many.

A plan is worked out on a pool of rows.  What a *row source* adds to the pool are rows that the costs at hand cover
too much: for each group of queries the heaviest row that it covers, exactly if all rows are written out and by local
search otherwise.  Whether any row is left is for the overlap engine to say; a search only makes the pool grow quickly.
"""

from __future__ import annotations

import time
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap import Acceptance
from parcomp.planning import _separation_kernels as kernels
from parcomp.planning.problem import Floats

__all__ = ["EveryRow", "RowSource", "SearchedRows", "row_source"]

Cover = npt.NDArray[np.bool_]
"""Which groups each row covers, a line for each row."""

_WRITTEN_OUT = 1 << 24
"""Rows are written out while rows times groups stay below this."""

_HELD = 1 << 24
"""As many are held of rows that were searched for: 128 MiB of floats, of which there are some copies."""

_TARGETS = 1 << 10
"""For so many groups rows are looked for between two looks at the clock, at most."""

_WORK = 1 << 26
"""Word operations that one round of local search may take: some 50 ms."""

_FACTORS = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0])
"""How much a group that a row just misses pulls, sweep by sweep of the local search."""


class RowSource(Protocol):
    """Where rows come from."""

    def first(self, deadline: float) -> Cover | None:
        """Rows that together cover every group; None where they are not found by then, or too many to be held."""

    def heavy(self, cost: Floats) -> tuple[Cover, Floats]:
        """Heavy rows at the given cost of each group, and what each of them is covered by."""


def row_source(compiled: CompiledWorkload) -> RowSource:
    """All rows where they are few enough, else a search; each query of ``compiled`` is a group."""
    rows = prod(compiled.sizes.tolist())
    return EveryRow(compiled) if rows * max(1, compiled.query_count) <= _WRITTEN_OUT else SearchedRows(compiled)


class EveryRow:
    """All rows, written out."""

    def __init__(self, compiled: CompiledWorkload) -> None:
        grid = np.indices(tuple(compiled.sizes.tolist()), np.int32).reshape(compiled.attribute_count, -1).T
        self.rows = _distinct(Acceptance(compiled).flags(np.ascontiguousarray(grid)))
        self._covered = self.rows.astype(np.float64)

    def first(self, deadline: float) -> Cover:  # noqa: ARG002  the rows are there
        """For each group the row that most groups cover with it."""
        return self.heavy(np.ones(self.rows.shape[1]))[0]

    def weigh(self, units: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What each row costs, exactly, given what each group does."""
        return np.array([units[row].sum() for row in self.rows], np.int64)

    def heavy(self, cost: Floats) -> tuple[Cover, Floats]:
        """For each group the heaviest row that it covers."""
        load = self._covered @ cost
        heaviest = np.unique((self._covered * load[:, None]).argmax(axis=0))
        return self.rows[heaviest], load[heaviest]


class SearchedRows:
    """Rows found by local search."""

    def __init__(self, compiled: CompiledWorkload, seed: int = 1) -> None:
        self._acceptance = Acceptance(compiled)
        self._state = np.array([(2 * seed + 1) * 0x2545F4914F6CDD1D % 2**63], np.uint64)
        self._groups = compiled.query_count
        self._next = 0

    def first(self, deadline: float) -> Cover | None:
        """For each group a row that many groups cover with it."""
        packed = np.zeros((0, (self._groups + 7) // 8), np.uint8)
        done = 0
        while done < self._groups:
            targets = np.arange(done, min(self._groups, done + _TARGETS))
            rows = self._climbed(np.ones(self._groups), targets, _WORK)
            done += len(rows)
            fresh = np.packbits(self._acceptance.flags(rows), axis=1)
            packed = _distinct_lines(np.concatenate((packed, fresh)))
            if time.monotonic() >= deadline or len(packed) * self._groups > _HELD:
                return None
        return np.unpackbits(packed, axis=1, count=self._groups).view(np.bool_)

    def heavy(self, cost: Floats) -> tuple[Cover, Floats]:
        """Heavy rows of as many groups as the work allows, taken in turn."""
        targets = np.roll(np.arange(self._groups), -self._next)
        cover = self._search(cost, targets, _WORK)
        return cover, cover.astype(np.float64) @ cost

    def _search(self, cost: Floats, targets: npt.NDArray[np.int64], work: int) -> Cover:
        # As many as are held at once.
        rows = self._climbed(cost, targets[: max(1, _HELD // max(1, self._groups))], work)
        self._next = (self._next + len(rows)) % max(1, self._groups)
        return _distinct(self._acceptance.flags(rows))

    def _climbed(self, cost: Floats, targets: npt.NDArray[np.int64], work: int) -> npt.NDArray[np.int32]:
        """A row for each target, as far as the work goes: for the first one at least."""
        rows = np.zeros((len(targets), len(self._acceptance.arrays.telling)), np.int32)
        found = kernels.climb(self._acceptance.arrays, targets, cost, _FACTORS, rows, self._state, work)
        return rows[:found]


def _distinct(cover: Cover) -> Cover:
    """Each line once."""
    if not cover.size:
        return cover[:1]
    return cover[_first_of_each(np.packbits(cover, axis=1))]


def _distinct_lines(packed: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return packed[_first_of_each(packed)]


def _first_of_each(packed: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """The places of the lines that are no repetition."""
    whole = np.ascontiguousarray(packed)
    _, first = np.unique(whole.view(np.dtype((np.void, whole.shape[1]))).ravel(), return_index=True)
    return np.sort(first)
