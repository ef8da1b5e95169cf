"""Where rows come from that would bring estimates nearer to answers: *pricing*, a maximum overlap of signed gains.

Each query has a gain, positive where its estimate is below what was answered.  A row is worth the sum of the gains of
the queries that it satisfies.  Where few rows tell each other apart, all of them are looked at; else rows are climbed
for, and the overlap engine proves, if there is time, that none is left (:mod:`parcomp.overlap.signed`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from parcomp.bits import word_count
from parcomp.estimation import _pricing_kernels as kernels
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap import Acceptance, Leaf, MaskBlocks, Rule, reduce, signed_overlap, whole_gains_up

__all__ = ["ClimbedRows", "Flags", "Floats", "ListedRows", "Priced", "RowSource", "compiled_rows", "with_outside"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int32]

_LISTED_WORK = 1 << 25
"""All rows are looked at where that takes fewer operations, at every pricing: some 50 ms."""

_CLIMB_WORK = 1 << 26
"""Word operations that one round of climbing may take: some 50 ms."""

_PULLS = np.array([0.5, 0.3, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
"""How much a query that a row just misses pulls, sweep by sweep of the climb."""

_LOOK, _KEPT = 1 << 9, 64
"""How many values of an attribute a climb looks at, and how many rows the next round climbs on from."""

_MOST = 512
"""How many rows a round of pricing hands out at most, the best ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """Rows, as flags of the queries that they satisfy, and their gains; no row has more than ``bound``.

    ``bound`` is infinite where nothing was proven.
    """

    flags: Flags
    gains: Floats
    bound: float


class RowSource(Protocol):
    """Where rows come from."""

    exact: bool
    """Whether pricing looks at every row."""

    def price(self, gains: Floats) -> Priced:
        """Rows of large gain, each once."""

    def prove(self, gains: Floats, deadline: float, enough: float) -> Priced:
        """The best row that a proof finds by ``deadline``, if any, and what is proven; it may stop below ``enough``."""


def compiled_rows(compiled: CompiledWorkload, outside: bool = False) -> RowSource:
    """The rows of a compiled workload, whose weights play no part.

    With ``outside``, a row may have values that its attributes do not declare, which satisfy no predicate.
    """
    # Only values that the same queries accept may be merged: with signed gains no value dominates another.
    root = reduce(compiled, (Rule.MERGE_VALUES,)).root
    assert isinstance(root, Leaf)
    compiled = root.reduction.compiled
    if outside:
        compiled = with_outside(compiled)
    largest = max(compiled.sizes.tolist(), default=1)
    cells = prod(compiled.sizes.tolist()) // largest
    listed = cells * (word_count(compiled.query_count) + largest) <= _LISTED_WORK
    return ListedRows(compiled) if listed else ClimbedRows(compiled)


def with_outside(compiled: CompiledWorkload) -> CompiledWorkload:
    """The workload with one more value of each attribute, which no mask accepts."""
    blocks = MaskBlocks(compiled)
    sizes = (compiled.sizes + 1).astype(np.int32)
    words, lengths = [], []
    for attribute, size in enumerate(sizes.tolist()):
        masks = blocks.masks(attribute)
        if len(masks):
            block = blocks.block(attribute, masks)
            wider = np.zeros((len(block), word_count(size)), np.uint64)
            wider[:, : block.shape[1]] = block
            words.append(wider.ravel())
            lengths += [wider.shape[1]] * len(wider)
    return replace(
        compiled,
        sizes=sizes,
        mask_offset=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        mask_words=np.concatenate(words) if words else np.zeros(0, np.uint64),
    )


class _Compiled:
    """What both ways share: which queries accept which values."""

    def __init__(self, compiled: CompiledWorkload) -> None:
        self._compiled = compiled
        self._acceptance = Acceptance(compiled)

    def _picked(self, rows: Rows, worth: Floats, bound: float) -> Priced:
        """The best rows, those that satisfy the same queries once."""
        best = np.argsort(-worth, kind="stable")[: 4 * _MOST]
        flags = self._acceptance.flags(rows[best])
        packed = np.ascontiguousarray(np.packbits(flags, axis=1))
        _, once = np.unique(packed.view(np.dtype((np.void, packed.shape[1]))).ravel(), return_index=True)
        once = np.sort(once)[:_MOST]
        return Priced(flags[once], worth[best][once], bound)


class ListedRows(_Compiled):
    """All rows, looked at cell by cell: a cell has a value of each attribute but the largest."""

    exact = True

    def __init__(self, compiled: CompiledWorkload) -> None:
        super().__init__(compiled)
        self._last = int(np.argmax(compiled.sizes)) if compiled.attribute_count else -1
        others = [a for a in range(compiled.attribute_count) if a != self._last]
        self._attributes = np.array(sorted(others, key=lambda a: int(compiled.sizes[a])), np.int64)
        self._cells = prod(int(compiled.sizes[a]) for a in others)
        self._size = int(compiled.sizes[self._last]) if compiled.attribute_count else 1
        self._runs = _runs(compiled, self._last)

    def price(self, gains: Floats) -> Priced:
        """The best row of each cell, and the most that any row has, rounded up."""
        worth = np.empty(self._cells)
        values = np.zeros((self._cells, len(self._attributes) + 1), np.int32)
        kernels.best_in_each_cell(
            self._acceptance.arrays, self._attributes, self._runs, self._size, gains, worth, values
        )
        rows = np.zeros((self._cells, self._compiled.attribute_count), np.int32)
        rows[:, self._attributes] = values[:, :-1]
        if self._last >= 0:
            rows[:, self._last] = values[:, -1]
        return self._picked(rows, worth, float(worth.max()) + self._rounding(gains))

    def prove(self, gains: Floats, deadline: float, enough: float) -> Priced:  # noqa: ARG002
        """The same: every row is looked at as it is."""
        return self.price(gains)

    def _rounding(self, gains: Floats) -> float:
        """More than a sum can be off: each addition is off by 2⁻⁵³ of what it adds up to, at most Σ|gain| times 2."""
        additions = len(self._runs.begin) * 2 + len(gains) + self._size
        return 2.0**-51 * additions * float(np.abs(gains).sum())


def _runs(compiled: CompiledWorkload, attribute: int) -> kernels.Runs:
    """What each query accepts of an attribute, as runs."""
    begin, end, lengths = [], [], np.zeros(compiled.query_count, np.int64)
    for query in range(compiled.query_count):
        for mask in compiled.term[compiled.start[query] : compiled.start[query + 1]].tolist():
            if compiled.mask_attribute[mask] == attribute:
                edges = np.flatnonzero(np.diff(compiled.mask_bits(mask).astype(np.int8), prepend=0, append=0))
                begin.append(edges[::2])
                end.append(edges[1::2])
                lengths[query] = len(edges) // 2
    nothing = np.zeros(0, np.int64)
    return kernels.Runs(
        np.concatenate(([0], np.cumsum(lengths))),
        np.concatenate([nothing, *begin]).astype(np.int32),
        np.concatenate([nothing, *end]).astype(np.int32),
    )


class ClimbedRows(_Compiled):
    """Rows found by climbing from others."""

    exact = False

    def __init__(self, compiled: CompiledWorkload, seed: int = 1) -> None:
        super().__init__(compiled)
        self._draw = np.random.default_rng(seed)
        self._state = np.array([(2 * seed + 1) * 0x2545F4914F6CDD1D % 2**63], np.uint64)
        self._best = np.zeros((0, compiled.attribute_count), np.int32)

    def price(self, gains: Floats) -> Priced:
        """Rows that no change of one value improves, from within queries of positive gain and from earlier rows."""
        wanted = np.flatnonzero(gains > 0)
        wanted = self._draw.permutation(wanted)
        targets = np.concatenate((np.full(len(self._best), -1, np.int64), wanted))
        rows = np.zeros((len(targets), self._compiled.attribute_count), np.int32)
        rows[: len(self._best)] = self._best
        found = kernels.climb(self._acceptance.arrays, gains, _PULLS, targets, rows, self._state, _LOOK, _CLIMB_WORK)
        rows = rows[:found]
        worth = self._acceptance.flags(rows) @ gains
        self._best = rows[np.argsort(-worth, kind="stable")[:_KEPT]]
        return self._picked(rows, worth, np.inf)

    def prove(self, gains: Floats, deadline: float, enough: float) -> Priced:
        """Whether any row is left, by the overlap engine."""
        whole, unit = whole_gains_up(gains)
        found = signed_overlap(self._compiled, whole, deadline, int(enough / unit))
        flags = self._acceptance.flags(found.row[None, :])
        return Priced(flags, flags @ gains, max(0.0, found.upper * unit))
