"""What custodians look at, worked out once for each head of the ledger.

A graph or a map of a long ledger takes seconds, is asked for again and again, and changes only when something is
charged.  So what was worked out is kept until then, and the state that bounds what is spent on a cell takes in the
charges that came since and not all of them anew.  Nothing here holds the lock of the books while it works: analysts are
quoted and answered meanwhile.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from parcomp.custodian.accountant import Expense
from parcomp.custodian.budget_map import MOST_BANDS, BudgetMap, budget_map, cells_of
from parcomp.custodian.charge_graph import ChargeGraph, charge_graph
from parcomp.ledger import Charge
from parcomp.overlap import LiveOverlap

if TYPE_CHECKING:
    from parcomp.custodian.custodian import Custodian

__all__ = ["Overlook"]

_KEPT = 32
"""Views that are kept."""

T = TypeVar("T")
Spending = Sequence[tuple[Charge, Expense]]


class Overlook:
    """Graphs and maps of a custodian's charges; to be called from any thread, one at a time."""

    def __init__(self, custodian: Custodian) -> None:
        self._custodian = custodian
        self._working = threading.Lock()
        self._kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._cells: LiveOverlap | None = None
        self._head = ""

    def graph(self, most: int, analyst: str | None = None) -> ChargeGraph:
        """The graph of the latest charges, ``most`` at the most: of all analysts, or of one."""

        def drawn(spending: Spending) -> ChargeGraph:
            seen = [one for one in spending if analyst is None or one[0].analyst == analyst]
            return charge_graph(self._custodian.settings, seen, most)

        return self._seen(("graph", most, analyst), drawn)

    def map(self, x: str, y: str, bands: int = MOST_BANDS) -> BudgetMap:
        """The budget map of two attributes, each in at most so many bands."""

        def drawn(spending: Spending) -> BudgetMap:
            return budget_map(self._custodian.settings, spending, x, y, bands, self._live(spending))

        return self._seen(("map", x, y, bands), drawn)

    def _seen(self, what: tuple[Any, ...], draw: Callable[[Spending], T]) -> T:
        with self._working:
            spending = self._custodian.spending()
            key = (*what, len(spending), _head(spending))
            if key not in self._kept:
                self._kept[key] = draw(spending)
            self._kept.move_to_end(key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return cast("T", self._kept[key])

    def _live(self, spending: Spending) -> LiveOverlap:
        """The state of the cells, with all of the spending."""
        live = self._cells
        # A digest speaks for all charges before it.
        if live is None or len(live) > len(spending) or _head(spending[: len(live)]) != self._head:
            live = cells_of(self._custodian.settings)
        # If this is cut short, the state is not relied on again.
        self._cells = None
        live.restore((expense.query, expense.units, 0) for _, expense in spending[len(live) :])
        self._cells, self._head = live, _head(spending)
        return live


def _head(spending: Spending) -> str:
    return spending[-1][0].digest if spending else ""
