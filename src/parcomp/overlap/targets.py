"""In which steps a destructive search lowers its target.

Such a search supposes that γ > U and looks for a row heavier than U; if there is none, γ ≤ U is proven.  The smaller U,
the longer it takes, up to thousands of times as long for the last unit.  So the exact value is tried first, with
a budget; if that does not end, U falls from the known upper bound in steps that are meant to cost a few times as much
as the one before, so that all together cost little more than the last.
"""

from __future__ import annotations

from math import log

__all__ = ["Targets"]

# The next target is chosen to cost about so many times the last completed attempt ...
GROWTH_WANTED = 4
# ... and is given up for one half as far when it costs so many times as much.
GROWTH_ALLOWED = 16


class Targets:
    """The target of each attempt, and the work it may take before an easier one is tried."""

    def __init__(self, first_budget: int) -> None:
        self.budget = self._first_budget = first_budget
        self._step = 0
        self._completed: tuple[int, int] | None = None

    def begin(self, lower: int, upper: int) -> int:
        """The target of the next attempt within a bracket that is still open: ``lower`` at first."""
        return max(lower, upper - self._step) if self._step else lower

    def completed(self, target: int, cost: int) -> None:
        """An attempt at ``target`` has ended after so much work: choose a step that costs a few times as much."""
        self.budget = max(self._first_budget, GROWTH_ALLOWED * cost)
        if self._completed is not None and cost > self._completed[1]:
            stride = (self._completed[0] - target) * log(GROWTH_WANTED) / log(cost / self._completed[1])
            self._step = max(1, min(int(stride), 2 * self._step))
        else:
            self._step *= 2
        self._completed = (target, max(cost, 1))

    def given_up(self, lower: int, upper: int, target: int) -> None:
        """An attempt has used up its budget: try half as far, and a quarter of the gap after the very first."""
        if self._step == 0:
            self._step = max(1, (upper - lower) // 4)
        else:
            self._step = max(1, min(self._step, upper - target) // 2)
