"""The value search: branch and bound under the splitting bound.

A problem is a set of live values for each attribute (a box) and the queries still counted.  Its splitting bound
(:mod:`parcomp.overlap.value.splitting`) is improved by a few rounds from the multipliers of the problem it came from.
If the bound stays above the target, values and queries that cannot be part of a heavier row are dropped, and the search
branches on the values of an attribute or on whether a query is satisfied, whichever closes the gap fastest.

Large attributes would take nearly all of the time.  A problem keeps no value that another one dominates as its queries
see them (:mod:`parcomp.overlap.value._dominance_kernels`), and leaves out for a while what bounds it little
(:mod:`parcomp.overlap.value._aside_kernels`).

Upper bounds are found destructively: suppose that γ > U, search for a row heavier than U, and if there is none, γ ≤ U
is proven.  U falls in steps from the bound at the root to the heaviest row found; the last step makes the result
exact.  A search for U = 70 costs a small part of one for U = 65, so repeating it costs little, and every step leaves
a bound to stop at.

The search has no clock: :meth:`ValueSearch.advance` does a given amount of work, about one unit for a word operation,
and its course depends on nothing but its input.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.search import Row, Search, Strategy
from parcomp.overlap.value import layout
from parcomp.overlap.value._level_kernels import copy_level
from parcomp.overlap.value._search_kernels import search_slice, shrink_root
from parcomp.overlap.value.splitting import Splitter, choose_shift, load_levels, make_scratch, typical_weight
from parcomp.slices import Slices

__all__ = ["ValueSearch", "grow_levels", "make_task"]

# Temperatures at which a problem's multipliers are improved, in units of the typical weight.
_HOT, _COLD = 0.05, 0.02


# Stacks grow this many times at once up to this many bytes an array, and twofold beyond: memory that is not written to
# costs nothing, while copying what is there takes time.
_GROWTH, _ROOMY = 16, 1 << 28


def grow_levels(levels: layout.Levels) -> layout.Levels:
    """The same stack with at least twice the room."""

    def grow(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        factor = max(2, min(_GROWTH, _ROOMY // max(1, array.nbytes)))
        longer = np.zeros((factor * len(array) + 64, *array.shape[1:]), array.dtype)
        longer[: len(array)] = array
        return longer

    return layout.Levels._make(grow(array) for array in levels)


def make_task(
    compiled: CompiledWorkload, unit: float, log: npt.NDArray[np.int64], *, thorough: bool = True
) -> layout.Task:
    """What a search of a workload is given, ``unit`` being its typical weight."""
    row = np.zeros(compiled.attribute_count, np.int32)
    return layout.Task(row, log, compiled.weights, _HOT * unit, _COLD * unit, unit, thorough)


class ValueSearch(Search):
    """Value search by slices; its first steps load the workload."""

    strategy = Strategy.VALUE_SEARCH

    def __init__(
        self,
        compiled: CompiledWorkload,
        lower: int = 0,
        row: Row | None = None,
        *,
        root_rounds: int = 200,
    ) -> None:
        """Start from ``row`` if there is one; it must weigh at least ``lower``."""
        super().__init__(compiled, lower, row)
        self._root_rounds = root_rounds
        self._shift = choose_shift(compiled.total)
        self._unit = typical_weight(compiled)
        self._state = np.zeros(layout.STATE, np.int64)
        self._state[layout.SHIFT] = self._shift
        self._task = make_task(compiled, self._unit, np.zeros(0, np.int64))

    def course(self) -> Slices[None]:
        """Bound the workload as a whole, then prove ever smaller targets."""
        yield from self._set_up()
        while self.lower < self.upper:
            before = int(self._state[layout.WORK])
            self._search(before + self.left)
            yield int(self._state[layout.WORK]) - before

    def _set_up(self) -> Slices[None]:
        """Load the workload and bound it by the best multipliers that the root rounds find."""
        self._levels = yield from load_levels.slices(self.compiled, self._shift)
        self._scratch = make_scratch(self._levels)
        yield self._scratch.pool_accepts.size >> 3
        constant = int(self._levels.head[0, layout.COMMITTED])
        root = Splitter(self._levels, self._scratch, self._shift, self._unit, self._root_rounds, warm=False)
        for work in root.course():
            self.upper = min(self.upper, constant + (root.scaled >> self._shift))
            yield work
        self.upper = min(self.upper, constant + (root.scaled >> self._shift))
        # What cannot beat the best row is dropped once and for all, not in each search anew.
        slack = root.scaled + ((constant - self.lower - 1) << self._shift)
        for begin, end in root.batches() if slack >= 0 else ():
            yield int(shrink_root(self._levels, self._scratch, slack, begin, end))

    @property
    def nodes(self) -> int:
        """How many problems have been bounded."""
        return int(self._state[layout.NODES])

    def learn(self, lower: int, row: Row, upper: int) -> None:
        """Take over what another search has found.

        What was pruned so far cannot beat the old target, hence not a larger one either, so a search under way goes on
        with its target raised.  A target that the upper bound has passed is not worth finishing.
        """
        state = self._state
        if lower > self.lower:
            state[layout.BEST] = lower
            state[layout.TARGET] = max(int(state[layout.TARGET]), lower)
        super().learn(lower, row, upper)
        if self.upper <= state[layout.TARGET]:
            state[layout.DEPTH] = 0

    def _search(self, end: int) -> None:
        """Go on with the search for a row heavier than the target, or start one, until its work reaches ``end``."""
        state = self._state
        while len(self._levels.head) < 2:
            self._levels = grow_levels(self._levels)
        if state[layout.DEPTH] == 0:
            state[layout.TARGET] = self._next_target()
            state[layout.BEST] = self.lower
            state[layout.STAGE] = layout.FRESH
            copy_level(self._levels, 0, 1, self._scratch, layout.WHOLE)
            self._levels.head[1, layout.BORN] = state[layout.WORK]
            state[layout.DEPTH] = 1
        roomy = search_slice(
            self._levels,
            self._scratch,
            state,
            self._task,
            end,
        )
        if state[layout.BEST] > self.lower:
            # Queries that the search stopped counting may be satisfied too, so the row may weigh more than it knows.
            self.row = self._task.best_row.copy()
            self.lower = self.compiled.weigh(self.row)
            state[layout.BEST] = self.lower
            state[layout.TARGET] = max(int(state[layout.TARGET]), self.lower)
        if state[layout.DEPTH] == 0:
            self.upper = min(self.upper, int(state[layout.TARGET]))
        elif not roomy:
            self._levels = grow_levels(self._levels)

    def _next_target(self) -> int:
        """A third of the gap down while it is wide, then one or two typical weights at a time."""
        gap, unit = self.upper - self.lower, max(1, int(self._unit))
        if gap > 6 * unit:
            step = gap // 3
        elif gap > 3 * unit:
            step = 2 * unit
        else:
            step = unit
        return max(self.lower, self.upper - step)
