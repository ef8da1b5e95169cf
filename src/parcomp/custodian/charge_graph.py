"""The query graph of a ledger: its charges, which of them can meet in one row, and the row where most is spent.

An edge joins two charges whose coverages overlap.  The charges of one color class are pairwise disjoint, so that a row
pays for one of them at most (paper §5).  The maximum overlap is a bracket with a row that attains its lower end; both
ends are proven, whether or not they meet.

The graph is for the eye, so it holds the latest charges only, and the members of the maximum overlap.  The overlap is
that of all charges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parcomp.bits import unpack_bits
from parcomp.custodian.accountant import Expense
from parcomp.custodian.settings import Settings
from parcomp.graph import WorkloadGraph, dsatur
from parcomp.ledger import Charge
from parcomp.model import Value, Workload
from parcomp.overlap import WorkloadOverlap

__all__ = ["ChargeGraph", "ChargeNode", "charge_graph"]

_WORK = 1 << 28
"""Word operations spent on the maximum overlap: about a quarter of a second."""

_UNLIMITED = 1 << 62


@dataclass(frozen=True, slots=True)
class ChargeNode:
    """A charge; ``color`` is its class, and ``maximum`` whether the row where most is spent pays for it."""

    charge: Charge
    units: int
    color: int
    maximum: bool


@dataclass(frozen=True, slots=True)
class ChargeGraph:
    """Charges, the pairs of numbers that overlap, and the maximum overlap of all charges in units.

    ``total`` is how many charges there are, of which ``nodes`` are shown.
    """

    nodes: tuple[ChargeNode, ...]
    edges: tuple[tuple[int, int], ...]
    colors: int
    total: int
    lower: int
    upper: int
    witness: dict[str, Value] | None
    members: tuple[int, ...]

    def as_json(self, settings: Settings) -> dict[str, Any]:
        """The graph with amounts in the measure's parameter."""
        up, down = settings.measure.parameter_up, settings.measure.parameter_down
        return {
            "nodes": [
                {
                    "number": node.charge.number,
                    "analyst": node.charge.analyst,
                    "time": node.charge.time,
                    "cost": up(node.units),
                    "units": node.units,
                    "color": node.color,
                    "maximum": node.maximum,
                }
                for node in self.nodes
            ],
            "edges": [list(edge) for edge in self.edges],
            "colors": self.colors,
            "maximum": {
                "lower": down(self.lower),
                "upper": up(self.upper),
                "exact": self.lower == self.upper,
                "members": list(self.members),
                "witness": self.witness,
            },
            "charges": self.total,
            "left_out": self.total - len(self.nodes),
        }


def charge_graph(settings: Settings, spending: Sequence[tuple[Charge, Expense]], most: int) -> ChargeGraph:
    """The graph of the latest charges, and of as many members of the maximum overlap, ``most`` at the most."""
    if not spending:
        return ChargeGraph((), (), 0, 0, 0, 0, None, ())
    workload = Workload(spending[0][1].query.domain, [expense.query for _, expense in spending])
    units = np.array([expense.units for _, expense in spending], np.int64)
    overlap = WorkloadOverlap(workload)
    bracket = overlap.within_work(units, _WORK)
    assert bracket.row is not None
    members = overlap.members(bracket)
    shown = _chosen(len(spending), members, most)
    graph = WorkloadGraph(workload, shown, units[shown])
    while not graph.done:
        graph.advance(_UNLIMITED)
    coloring = dsatur(graph.graph)
    within = set(members)
    nodes = tuple(
        ChargeNode(spending[position][0], int(units[position]), int(color), position in within)
        for position, color in zip(shown.tolist(), coloring.classes.tolist(), strict=True)
    )
    first, second = np.nonzero(np.triu(unpack_bits(graph.graph.adjacency, len(shown)), 1))
    numbers = [node.charge.number for node in nodes]
    return ChargeGraph(
        nodes,
        tuple((numbers[one], numbers[other]) for one, other in zip(first.tolist(), second.tolist(), strict=True)),
        coloring.class_count,
        len(spending),
        bracket.lower,
        bracket.upper,
        settings.domain.row(bracket.row.tolist()),
        tuple(spending[position][0].number for position in members),
    )


def _chosen(count: int, members: Sequence[int], most: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Positions to show: the latest members, at most half, and the latest others."""
    kept = set(members[-max(most // 2, 1) :])
    for position in range(count - 1, -1, -1):
        if len(kept) >= most:
            break
        kept.add(position)
    return np.array(sorted(kept), np.int64)
