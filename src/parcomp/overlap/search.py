"""What the pieces that work on one part have in common: their names, and how a search is run."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Row", "Search", "Strategy"]

Row: TypeAlias = npt.NDArray[np.int32]


class Strategy(StrEnum):
    """What can be tried on a part, in this order."""

    EVERY_ROW = "a look at every row"
    SWEEP = "a sweep over ranges"
    ROW_SEARCH = "row local search"
    GROUPS = "groups of disjoint queries"
    COLORING = "a coloring of the query graph"
    BOX_SEARCH = "box search"
    VALUE_SEARCH = "value search"


class Search(Protocol):
    """A search that can be paused: ``row`` weighs ``lower``, no row weighs more than ``upper``, both at all times."""

    @property
    def lower(self) -> int:
        """The weight of ``row``."""

    @property
    def row(self) -> Row:
        """The heaviest row found."""

    @property
    def upper(self) -> int:
        """The least proven bound."""

    @property
    def strategy(self) -> Strategy:
        """What ``upper`` comes from."""

    @property
    def done(self) -> bool:
        """Whether the bracket is closed, or nothing is left that could close it further."""

    def advance(self, work: int) -> None:
        """Search on for about ``work`` word operations."""

    def learn(self, lower: int, row: Row, upper: int) -> None:
        """Take over a heavier row or a lower bound that another search has found."""
