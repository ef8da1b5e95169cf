"""The value search: branch and bound under the splitting bound.

A problem is a set of live values for each attribute (a box) and the queries still counted.  Its splitting bound
(:mod:`parcomp.overlap.value.splitting`) is improved by a few rounds from the multipliers of the problem it came from.
If the bound stays above the target, values and queries that cannot be part of a heavier row are dropped, and the search
branches on the values of an attribute or on whether a query is satisfied, whichever closes the gap fastest.

Large attributes would take nearly all of the time.  A problem keeps no value that another one dominates as its queries
see them (:mod:`parcomp.overlap.value._dominance_kernels`), and leaves out for a while what bounds it little
(:mod:`parcomp.overlap.value._aside_kernels`).

Upper bounds are found destructively: suppose that γ > U, search for a row heavier than U, and if there is none, γ ≤ U
is proven.  :mod:`parcomp.overlap.targets` says in which steps U falls.

Workers share the tree (:mod:`parcomp.overlap.tree`): one with nothing left takes over what another has still to branch
on at its first such level (:mod:`parcomp.overlap.value._sharing_kernels`).  The work is counted, about one unit for a
word operation, and the course of the search depends on nothing but its input.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.search import Row, Strategy
from parcomp.overlap.tree import PROCESSORS, TreeSearch, Worker
from parcomp.overlap.tree import layout as tree
from parcomp.overlap.value import layout
from parcomp.overlap.value._level_kernels import copy_across
from parcomp.overlap.value._search_kernels import search_slice, shrink_root
from parcomp.overlap.value._sharing_kernels import hand_over, level_to_share, room_of
from parcomp.overlap.value.splitting import Splitter, choose_shift, load_levels, make_scratch, typical_weight
from parcomp.overlap.value.stack import Room, bytes_of, fits, grow_levels, make_stack
from parcomp.slices import Slices

__all__ = ["ValueSearch", "make_task"]

# Temperatures at which a problem's multipliers are improved, in units of the typical weight.
_HOT, _COLD = 0.05, 0.02

# There are as many workers as these bytes have room for, each taken to need so many times what the workload takes.
_MOST_WORKERS, _MOST_BYTES, _STACK = 8, 1 << 31, 3


def make_task(
    compiled: CompiledWorkload, unit: float, log: npt.NDArray[np.int64], *, thorough: bool = True
) -> layout.Task:
    """What a search of a workload is given, ``unit`` being its typical weight."""
    row = np.zeros(compiled.attribute_count, np.int32)
    return layout.Task(row, log, compiled.weights, _HOT * unit, _COLD * unit, unit, thorough)


class _ValueWorker(Worker):
    """A stack of levels with its scratch, made when there is something to do; ``root`` holds the whole workload."""

    def __init__(self, root: layout.Levels, task: layout.Task, shift: int) -> None:
        super().__init__(shift, layout.STATE)
        self._root, self._task = root, task

    @cached_property
    def levels(self) -> layout.Levels:
        """The stack."""
        return make_stack(self._root, Room(0, 0, 0, 0))

    @cached_property
    def _scratch(self) -> layout.Scratch:
        return make_scratch(self._root)

    @property
    def best_row(self) -> Row:
        return self._task.best_row

    def begin(self) -> None:
        self._make_room(self._root, 0)
        copy_across(self._root, 0, self.levels, 1, self._scratch, layout.WHOLE)
        self.levels.head[1, layout.BORN] = self.state[tree.WORK]
        self.state[layout.STAGE] = layout.FRESH
        self.state[tree.DEPTH] = 1

    def run(self, end: int) -> None:
        while not search_slice(self.levels, self._scratch, self.state, self._task, end):
            self.levels = grow_levels(self.levels)

    def to_share(self) -> int:
        # The number of problems grows exponentially with the gap.
        level = level_to_share(self.levels, self.state)
        target = int(self.state[tree.TARGET]) << int(self.state[tree.SHIFT])
        return int(self.levels.head[level, layout.BOUND]) - target if level else 0

    def hand_over(self, other: Worker) -> None:
        assert isinstance(other, _ValueWorker)
        level = level_to_share(self.levels, self.state)
        other._make_room(self.levels, level)
        hand_over(self.levels, level, self.state, other.levels, other.state, other._scratch)

    def _make_room(self, levels: layout.Levels, level: int) -> None:
        """See that a level fits; what the stack has held is of no more use."""
        room = Room(*map(int, room_of(levels, level)))
        if not fits(self.levels, room):
            self.levels = make_stack(self._root, room)


class ValueSearch(TreeSearch):
    """Value search by slices; its first steps load the workload."""

    strategy = Strategy.VALUE_SEARCH
    first_budget = 1 << 26

    def __init__(
        self,
        compiled: CompiledWorkload,
        lower: int = 0,
        row: Row | None = None,
        *,
        processors: int = PROCESSORS,
        root_rounds: int = 200,
    ) -> None:
        """Start from ``row`` if there is one; it must weigh at least ``lower``."""
        super().__init__(compiled, lower, row, processors=processors)
        self._root_rounds = root_rounds

    def _set_up(self) -> Slices[None]:
        """Load the workload and bound it by the best multipliers that the root rounds find."""
        compiled = self.compiled
        shift, unit = choose_shift(compiled.total), typical_weight(compiled)
        levels = yield from load_levels.slices(compiled, shift)
        scratch = make_scratch(levels)
        yield scratch.pool_accepts.size >> 3
        constant = int(levels.head[0, layout.COMMITTED])
        root = Splitter(levels, scratch, shift, unit, self._root_rounds, warm=False)
        for work in root.course():
            self.upper = min(self.upper, constant + (root.scaled >> shift))
            yield work
        self.upper = min(self.upper, constant + (root.scaled >> shift))
        # What cannot beat the best row is dropped once and for all, not in each search anew.
        slack = root.scaled + ((constant - self.lower - 1) << shift)
        for begin, end in root.batches() if slack >= 0 else ():
            yield int(shrink_root(levels, scratch, slack, begin, end))
        count = max(1, min(_MOST_WORKERS, _MOST_BYTES // (_STACK * bytes_of(levels) + bytes_of(scratch))))
        no_log = np.zeros(0, np.int64)
        self._workers = [_ValueWorker(levels, make_task(compiled, unit, no_log), shift) for _ in range(count)]
