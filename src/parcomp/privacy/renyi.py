"""The Rényi loss of a workload: one maximum overlap for each order, and only the orders that matter are refined.

Rényi divergences of one order add up (Mironov 2017), so for each order the loss is the maximum overlap of the queries'
divergences.  With a δ in mind only the order that proves the least ε counts: each order is bracketed within a little
work, and searches go on only for orders whose lower end could still beat the best upper end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Final

import numpy as np

from parcomp.costs import COST_KINDS, UNITS_PER_ONE, CostKind, float_down, float_up
from parcomp.errors import ArgumentError, WorkloadError, shown
from parcomp.model import Workload, book_each
from parcomp.overlap import Bracket, Units, WorkloadOverlap
from parcomp.privacy.conversions import (
    check_delta,
    gdp_to_zcdp,
    pure_to_renyi,
    pure_to_zcdp,
    renyi_epsilon,
    zcdp_to_renyi,
)
from parcomp.privacy.loss import neighbor_units
from parcomp.privacy.measures import Neighbours, check_rows_per_person

__all__ = ["ORDERS", "RenyiLoss", "renyi_loss"]

_WHOLE_ORDERS: Final = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256, 512)
ORDERS: Final = tuple(sorted((1.1, 1.25, 1.5, 1.75, 2.5, *map(float, _WHOLE_ORDERS))))
"""The orders that are looked at where none are given."""

_FIRST_WORK: Final = 1 << 22
"""Word operations spent on each order before any is refined."""


@dataclass(frozen=True, slots=True)
class RenyiLoss:
    """The loss at each order, between ``lower`` and the proven ``losses``.

    With a δ also the least ``epsilon``, and the ``order`` that proves it.
    """

    orders: tuple[float, ...] = field(repr=False)
    losses: tuple[float, ...] = field(repr=False)
    lower: tuple[float, ...] = field(repr=False)
    sequential: tuple[float, ...] = field(repr=False)
    neighbours: Neighbours
    rows_per_person: int
    delta: float | None
    epsilon: float | None
    order: float | None
    refined: tuple[float, ...] = field(repr=False)
    """The orders on which a search was spent beyond the first look."""


def renyi_loss(
    workload: Workload,
    delta: float | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    rows_per_person: int = 1,
    *,
    orders: Sequence[float] = ORDERS,
    time_limit: float = 60.0,
) -> RenyiLoss:
    """The Rényi loss of answering a workload whose costs are stated in ε, ρ or μ, also mixed.

    With several rows per person an ε is booked as α·ε²/2, which, like the others, grows with the square of the rows.
    """
    deadline = time.monotonic() + time_limit
    relation, rows = Neighbours(neighbours), check_rows_per_person(rows_per_person)
    if not orders or not all(1 < order <= 10**6 for order in orders):
        raise ArgumentError(f"Rényi orders must be above 1 and at most 10^6, not {shown(list(orders))}")
    if delta is not None:
        check_delta(delta)
    ascending = sorted(set(orders))
    overlap = WorkloadOverlap(workload)
    costs = [_costs(workload, order, rows) for order in ascending]
    totals = [overlap.total(units) for units in costs]
    brackets = [overlap.within_work(units, _FIRST_WORK) for units in costs]
    refined: list[float] = []

    def curve(ends: Sequence[int], rounded: Callable[[Fraction], float] = float_up) -> list[float]:
        return [
            rounded(Fraction(neighbor_units(end, total, relation) * rows * rows, UNITS_PER_ONE))
            for end, total in zip(ends, totals, strict=True)
        ]

    while (
        chosen := _worth_refining(ascending, brackets, curve, delta, refined)
    ) is not None and time.monotonic() < deadline:
        candidates = len(ascending) - len(refined)
        share = time.monotonic() + (deadline - time.monotonic()) / candidates
        found = overlap.within_time(costs[chosen], share)
        old = brackets[chosen]
        brackets[chosen] = Bracket(max(old.lower, found.lower), min(old.upper, found.upper))
        refined.append(ascending[chosen])
    # Divergences grow with the order, query by query and so in sum: an upper end holds for every lower order as well.
    uppers = list(accumulate([bracket.upper for bracket in reversed(brackets)], min))[::-1]
    losses = curve(uppers)
    epsilon, order = renyi_epsilon(ascending, losses, delta) if delta is not None else (None, None)
    return RenyiLoss(
        orders=tuple(ascending),
        losses=tuple(losses),
        lower=tuple(curve([bracket.lower for bracket in brackets], float_down)),
        sequential=tuple(float_up(Fraction(sum(units.tolist()) * rows * rows, UNITS_PER_ONE)) for units in costs),
        neighbours=relation,
        rows_per_person=rows,
        delta=delta,
        epsilon=epsilon,
        order=order,
        refined=tuple(refined),
    )


def _worth_refining(
    orders: Sequence[float],
    brackets: Sequence[Bracket],
    curve: Callable[[Sequence[int]], list[float]],
    delta: float | None,
    refined: Sequence[float],
) -> int | None:
    """The open order to refine next: with a δ the one that promises the least ε, if it could beat what is proven."""
    open_orders = [i for i, order in enumerate(orders) if not brackets[i].exact and order not in refined]
    if not open_orders or delta is None:
        return open_orders[0] if open_orders else None
    proven = renyi_epsilon(orders, curve([bracket.upper for bracket in brackets]), delta)[0]
    promised = curve([bracket.lower for bracket in brackets])
    best = {i: renyi_epsilon([orders[i]], [promised[i]], delta)[0] for i in open_orders}
    chosen = min(open_orders, key=best.__getitem__)
    return chosen if best[chosen] < proven else None


def _costs(workload: Workload, order: float, rows: int) -> Units:
    """The Rényi divergence of each query at an order, in units, rounded up to at least one."""
    costs = np.empty(len(workload), np.int64)
    for kind in workload.cost_kinds:

        def book(units: int, kind: CostKind = kind) -> int:
            return max(1, math.ceil(_divergence(kind, units / UNITS_PER_ONE, order, rows) * UNITS_PER_ONE))

        chosen = workload.kinds == COST_KINDS.index(kind)
        costs[chosen] = book_each(workload.units[chosen], book, f"a divergence of order {order}")
    return costs


def _divergence(kind: CostKind, amount: float, order: float, rows: int) -> float:
    match kind:
        case "epsilon":
            return pure_to_renyi(amount, order) if rows == 1 else zcdp_to_renyi(pure_to_zcdp(amount), order)
        case "rho":
            return zcdp_to_renyi(amount, order)
        case "mu":
            return zcdp_to_renyi(gdp_to_zcdp(amount), order)
        case _:
            raise WorkloadError("a weight says nothing about Rényi divergences; state costs in epsilon, rho or mu")
