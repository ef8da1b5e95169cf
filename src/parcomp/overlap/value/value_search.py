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
from parcomp.overlap.search import Strategy
from parcomp.overlap.value._level_kernels import copy_level
from parcomp.overlap.value._proof_log_kernels import BEST, DEPTH, NODES, SHIFT, STAGE, STATE, TARGET, WORK
from parcomp.overlap.value._search_kernels import FRESH, search_slice, shrink_root
from parcomp.overlap.value.layout import BORN, COMMITTED, WHOLE, Levels
from parcomp.overlap.value.splitting import Splitter, choose_shift, load_levels_slices, make_scratch, typical_weight
from parcomp.slices import Slices, spend

__all__ = ["COLD", "HOT", "ValueSearch", "grow_levels"]

# Temperatures at which a problem's multipliers are improved, in units of the typical weight.
HOT, COLD = 0.05, 0.02


# Stacks grow this many times at once up to this many bytes an array, and twofold beyond: memory that is not written to
# costs nothing, while copying what is there takes time.
_GROWTH, _ROOMY = 16, 1 << 28


def grow_levels(levels: Levels) -> Levels:
    """The same stack with at least twice the room."""

    def grow(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        factor = max(2, min(_GROWTH, _ROOMY // max(1, array.nbytes)))
        longer = np.zeros((factor * len(array) + 64, *array.shape[1:]), array.dtype)
        longer[: len(array)] = array
        return longer

    return Levels._make(grow(array) for array in levels)


class ValueSearch:
    """A resumable search for the maximum overlap.

    ``lower`` is what ``row`` weighs and only ever rises; ``upper`` is proven and only ever falls; ``done`` when they
    meet.  Its first steps load the workload; creating it takes no time.
    """

    strategy = Strategy.VALUE_SEARCH

    def __init__(
        self,
        compiled: CompiledWorkload,
        lower: int = 0,
        row: npt.NDArray[np.int32] | None = None,
        *,
        root_rounds: int = 200,
    ) -> None:
        """Start from ``row`` if there is one; it must weigh at least ``lower``."""
        self._compiled = compiled
        self.row: npt.NDArray[np.int32] = np.zeros(compiled.attribute_count, np.int32)
        if row is not None:
            self.row = np.array(row, np.int32)
        self.lower = compiled.weigh(self.row)
        if self.lower < lower:
            # A bound without a row is not taken on trust: it would prune rows that nobody has.
            raise ValueError(
                f"the row weighs {self.lower}, which is less than the lower bound {lower}; pass its row too"
            )
        self.upper = compiled.total
        self._shift = choose_shift(compiled.total)
        self._unit = typical_weight(compiled)
        self._state = np.zeros(STATE, np.int64)
        self._state[SHIFT] = self._shift
        self._best_row = self.row.copy()
        self._no_log = np.zeros(0, np.int64)
        self._spent = 0
        self._ready = False
        self._setting_up = self._set_up(root_rounds)

    def _set_up(self, root_rounds: int) -> Slices[None]:
        """Load the workload and bound it by the best multipliers that the root rounds find."""
        self._levels = yield from load_levels_slices(self._compiled, self._shift)
        self._scratch = make_scratch(self._levels)
        yield self._scratch.pool_accepts.size >> 3
        root = Splitter(self._levels, self._scratch, self._shift, self._unit, root_rounds, warm=False)
        while not root.done:
            before = root.work
            root.advance()
            self._bound_root(root)
            yield root.work - before
        # What cannot beat the best row is dropped once and for all, not in each search anew.
        slack = root.scaled + ((int(self._levels.head[0, COMMITTED]) - self.lower - 1) << self._shift)
        for begin, end in root.batches() if slack >= 0 else ():
            yield int(shrink_root(self._levels, self._scratch, slack, begin, end))
        self._ready = True

    @property
    def done(self) -> bool:
        """Whether the maximum overlap is known."""
        return self.lower >= self.upper

    @property
    def nodes(self) -> int:
        """How many problems have been bounded."""
        return int(self._state[NODES])

    @property
    def work(self) -> int:
        """How much work has been done."""
        return self._spent + int(self._state[WORK])

    def advance(self, work: int) -> None:
        """Do about ``work`` more units of work, at least one step."""
        if not self._ready:
            left = spend(self._setting_up, work)
            self._spent += work - left
            work = left
        end = self.work + work
        while not self.done and self.work < end:
            self._search(end - self._spent)

    def learn(self, lower: int, row: npt.NDArray[np.int32], upper: int) -> None:
        """Take over a heavier row (of weight ``lower``) or a smaller proven ``upper`` from elsewhere.

        What was pruned so far cannot beat the old target, hence not a larger one either, so a search under way goes on
        with its target raised.  A target that the upper bound has passed is not worth finishing.
        """
        state = self._state
        if lower > self.lower:
            self.lower, self.row = lower, np.array(row, np.int32)
            state[BEST] = lower
            state[TARGET] = max(int(state[TARGET]), lower)
        self.upper = min(self.upper, upper)
        if self.upper <= state[TARGET]:
            state[DEPTH] = 0

    def _bound_root(self, root: Splitter) -> None:
        constant = int(self._levels.head[0, COMMITTED])
        self.upper = min(self.upper, constant + (root.scaled >> self._shift))

    def _search(self, end: int) -> None:
        """Go on with the search for a row heavier than the target, or start one, until its work reaches ``end``."""
        state = self._state
        while len(self._levels.head) < 2:
            self._levels = grow_levels(self._levels)
        if state[DEPTH] == 0:
            state[TARGET] = self._next_target()
            state[BEST] = self.lower
            state[STAGE] = FRESH
            copy_level(self._levels, 0, 1, self._scratch, WHOLE)
            self._levels.head[1, BORN] = state[WORK]
            state[DEPTH] = 1
        roomy = search_slice(
            self._levels,
            self._scratch,
            state,
            self._best_row,
            end,
            HOT * self._unit,
            COLD * self._unit,
            self._unit,
            self._no_log,
            self._compiled.weights,
            len(self._compiled.term),
        )
        if state[BEST] > self.lower:
            # Queries that the search stopped counting may be satisfied too, so the row may weigh more than it knows.
            self.row = self._best_row.copy()
            self.lower = self._compiled.weigh(self.row)
            state[BEST] = self.lower
            state[TARGET] = max(int(state[TARGET]), self.lower)
        if state[DEPTH] == 0:
            self.upper = min(self.upper, int(state[TARGET]))
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
