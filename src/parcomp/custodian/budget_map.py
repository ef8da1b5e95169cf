"""The budget map: for two attributes, the most that was spent on any row with given values of both.

A cell is the query that asks for a band of values of each attribute.  What was spent on its rows is the maximum overlap
of the charges restricted to the cell, which :class:`~parcomp.overlap.LiveOverlap` bounds from above within counted
work: every number is exact or a certified upper bound, never too low.

An attribute with many values is shown in bands of neighboring values, all of about the same number, and null in one of
its own.  A band shows the most that was spent on any of its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.custodian.accountant import Expense
from parcomp.custodian.settings import Settings
from parcomp.errors import ArgumentError, shown
from parcomp.ledger import Charge
from parcomp.model import Attribute, Domain, Predicate, Query
from parcomp.overlap import LiveOverlap

__all__ = ["MOST_BANDS", "BudgetMap", "budget_map", "cells_of"]

MOST_BANDS = 60
_CELL_WORK = 1 << 22
"""Word operations for each cell, a few milliseconds; a bound that is reached by then is proven."""


@dataclass(frozen=True, slots=True)
class BudgetMap:
    """``cells[i][j]`` is the most that was spent on a row of band i of ``x`` and band j of ``y``, in units.

    Bands are codes ``start … stop-1``.
    """

    x: str
    y: str
    x_bands: tuple[tuple[int, int], ...]
    y_bands: tuple[tuple[int, int], ...]
    cells: tuple[tuple[int, ...], ...]

    def as_json(self, settings: Settings) -> dict[str, Any]:
        """The map with amounts in the measure's parameter, rounded up, and what may be spent on a row."""
        measure, attributes = settings.measure, settings.domain.attributes
        return {
            "x": self.x,
            "y": self.y,
            "x_labels": _labels(attributes[self.x], self.x_bands),
            "y_labels": _labels(attributes[self.y], self.y_bands),
            "x_values": attributes[self.x].size,
            "y_values": attributes[self.y].size,
            "cells": [[measure.parameter_up(units) for units in row] for row in self.cells],
            "limit": measure.parameter_down(settings.row_budget),
            "measure": measure.name,
        }


def budget_map(
    settings: Settings,
    spending: Sequence[tuple[Charge, Expense]],
    x: str,
    y: str,
    bands: int = MOST_BANDS,
    live: LiveOverlap | None = None,
) -> BudgetMap:
    """The map of two attributes, each in at most so many bands; ``live`` has the same spending, if it is at hand."""
    domain = settings.domain
    for name in (x, y):
        if name not in domain.attributes:
            raise ArgumentError(f"unknown attribute {shown(name)}; there are {', '.join(domain.names[:20])}")
    if x == y:
        raise ArgumentError("a map has two different attributes")
    if not 1 <= bands <= MOST_BANDS:
        raise ArgumentError(f"a map has 1 to {MOST_BANDS} bands of each attribute, not {shown(bands)}")
    queries = [expense.query for _, expense in spending]
    across, down = (_Side.of(domain, queries, name, bands) for name in (x, y))
    if live is None:
        live = cells_of(settings)
        live.restore((expense.query, expense.units, 0) for _, expense in spending)
    known: dict[bytes, int] = {}

    def spent(i: int, j: int) -> int:
        common = across.meets[i] & down.meets[j]
        if not common.any():
            return 0
        # Where each charge takes all of both bands or nothing of one, the charges that meet the cell decide.
        key = common.tobytes() if across.pure[i] and down.pure[j] else b""
        if key not in known:
            cell = Query(domain, tuple(sorted([across.term(i), down.term(j)], key=lambda term: term[0])))
            found = live.quote(cell, 1).spent
            if not key:
                return found
            known[key] = found
        return known[key]

    cells = tuple(tuple(spent(i, j) for j in range(len(down.bands))) for i in range(len(across.bands)))
    return BudgetMap(x, y, across.bands, down.bands, cells)


def cells_of(settings: Settings) -> LiveOverlap:
    """An empty state that bounds what is spent on a cell within the work for one."""
    return LiveOverlap(settings.domain, settings.budget_units, _CELL_WORK)


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The bands of one attribute: which charges meet each, and whether all those take the whole of it."""

    index: int
    size: int
    bands: tuple[tuple[int, int], ...]
    meets: npt.NDArray[np.bool_]
    pure: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, domain: Domain, queries: Sequence[Query], name: str, most: int) -> _Side:
        index, attribute = domain.index(name), domain.attributes[name]
        bands = _bands(attribute, most)
        meets = np.ones((len(bands), len(queries)), np.bool_)
        pure = np.ones(len(bands), np.bool_)
        owners: dict[Predicate, list[int]] = {}
        for position, query in enumerate(queries):
            for asked, predicate in query.terms:
                if asked == index:
                    owners.setdefault(predicate, []).append(position)
        starts, stops = (np.array(ends, np.int64) for ends in zip(*bands, strict=True))
        for predicate, positions in owners.items():
            common = _accepted_below(predicate, stops) - _accepted_below(predicate, starts)
            meets[:, positions] = (common > 0)[:, None]
            pure &= (common == 0) | (common == stops - starts)
        return cls(index, attribute.size, bands, meets, pure)

    def term(self, band: int) -> tuple[int, Predicate]:
        return self.index, Predicate.from_runs(self.size, [self.bands[band]])


def _accepted_below(predicate: Predicate, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many accepted codes are below each of the given ones."""
    if predicate.edges is None:
        accepted: npt.NDArray[np.int64] = np.concatenate(([0], np.cumsum(predicate.flags())))[codes]
        return accepted
    edges = np.array(predicate.edges, np.int64)
    starts, lengths = edges[::2], edges[1::2] - edges[::2]
    within: npt.NDArray[np.int64] = np.clip(codes[:, None] - starts, 0, lengths).sum(axis=1)
    return within


def _bands(attribute: Attribute, most: int) -> tuple[tuple[int, int], ...]:
    """Runs of codes: each value by itself where there are few, and null always."""
    room = max(most - attribute.nullable, 1)
    count = min(attribute.null, room)
    ends = [attribute.null * band // count for band in range(count + 1)] if count else [0]
    null = [(attribute.null, attribute.null + 1)] if attribute.nullable else []
    return (*pairwise(ends), *null)


def _labels(attribute: Attribute, bands: Sequence[tuple[int, int]]) -> list[Any]:
    """The value of a band of one, and the first and the last value of a longer one."""
    return [
        attribute.value(start)
        if stop == start + 1
        else {"from": attribute.value(start), "to": attribute.value(stop - 1)}
        for start, stop in bands
    ]
