"""What the searches of one compiled workload have in common: their names, their state, and how they are run."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.slices import Course

__all__ = ["Row", "Search", "Strategy"]

Row: TypeAlias = npt.NDArray[np.int32]


class Strategy(StrEnum):
    """What can be tried on a part, in this order."""

    EVERY_ROW = "every combination of the values left was looked at"
    SWEEP = "the ranges of an attribute were gone through from end to end"
    ROW_SEARCH = "a row was found that satisfies all that is left"
    GROUPS = "queries were put into groups that are disjoint, of which a row satisfies one each"
    COLORING = "queries were colored so that no two of a color meet, and a row satisfies one of each color"
    BOX_SEARCH = "the rows were cut into ever smaller boxes, and none is left that could hold a heavier row"
    LEAN_SEARCH = "values were fixed in turn and queries settled, and none is left that could lead to a heavier row"
    VALUE_SEARCH = "values were fixed one by one, and none is left that could lead to a heavier row"

    @property
    def so_far(self) -> str:
        """What proves an upper end where a lighter row is all that was found: a search has not come to its end."""
        return _SO_FAR.get(self, self.value)


_SO_FAR = {
    Strategy.BOX_SEARCH: "the rows were cut into ever smaller boxes, and none that is left can hold such a row",
    Strategy.LEAN_SEARCH: "values were fixed in turn and queries settled, and none that is left can lead to such a row",
    Strategy.VALUE_SEARCH: "values were fixed one by one, and none that is left can lead to such a row",
}


class Search(Course):
    """A search that can be paused: ``row`` weighs ``lower``, no row weighs more than ``upper``, both at all times.

    ``lower`` never falls and ``upper`` never rises.  ``strategy`` names what ``upper`` comes from, or would.  Creating
    a search takes no time to speak of; equal searches that do equal work find the same.
    """

    strategy: Strategy | None = None

    def __init__(self, compiled: CompiledWorkload, lower: int = 0, row: Row | None = None) -> None:
        """Begin at ``row``, which must weigh at least ``lower``, or at the row of first values."""
        super().__init__()
        self.compiled = compiled
        self.row: Row = np.zeros(compiled.attribute_count, np.int32) if row is None else np.array(row, np.int32)
        self.lower = compiled.weigh(self.row)
        if self.lower < lower:
            # A bound without a row is not taken on trust: it would prune rows that nobody has.
            raise ValueError(f"the row weighs {self.lower}, less than the lower bound {lower}; pass its row too")
        self.upper = compiled.total

    @property
    def done(self) -> bool:
        """Whether the bracket is closed, or nothing is left that could close it further."""
        return self.lower >= self.upper or self.ended

    def learn(self, lower: int, row: Row, upper: int) -> None:
        """Take over a heavier row, of weight ``lower``, or a smaller proven bound that another search has found."""
        if lower > self.lower:
            self.lower, self.row = lower, np.array(row, np.int32)
        self.upper = min(self.upper, upper)
