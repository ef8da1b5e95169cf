"""Rows of large gain where predicates are only looked at one by one, on domains too large to be compiled.

Nearly all queries are then disjoint.  From each query of positive gain, its neighbors in the query graph join it as
long as some row satisfies them all and they gain, the largest gain first; what else the row satisfies is looked up.  No
row gains more than the maximum overlap of the positive gains alone, which is proven where there is time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.estimation.rows import Floats, Priced
from parcomp.graph import WorkloadGraph
from parcomp.model import Workload
from parcomp.overlap import JointRows, WorkloadOverlap, satisfied, whole_gains_up
from parcomp.slices import LARGEST_SLICE

__all__ = ["SparseRows"]

_ROOTS = 200
"""From how many queries a round of pricing sets out."""

_NEIGHBORS = 64
"""How many neighbors may join each of them."""


class SparseRows:
    """Rows that satisfy a query and some of its neighbors."""

    exact = False

    def __init__(self, workload: Workload, queries: npt.NDArray[np.int64]) -> None:
        self._workload, self._queries = workload, queries
        building = WorkloadGraph(workload, queries, np.ones(len(queries), np.int64))
        while building.advance(LARGEST_SLICE):
            pass
        self._graph = building.graph
        self._next = 0

    def price(self, gains: Floats) -> Priced:
        """For each of some queries of positive gain, in turn, a row that it satisfies."""
        wanted = np.flatnonzero(gains > 0)
        if not len(wanted):
            return Priced(np.zeros((0, len(gains)), np.bool_), np.zeros(0), np.inf)
        wanted = np.roll(wanted, -(self._next % len(wanted)))[:_ROOTS]
        self._next += len(wanted)
        flags = np.vstack([self._grown(root, gains) for root in wanted.tolist()])
        return Priced(flags, flags @ gains, np.inf)

    def prove(self, gains: Floats, deadline: float, enough: float) -> Priced:  # noqa: ARG002
        """A bound by the positive gains: a row that satisfies queries of negative gain as well has less."""
        positive = np.flatnonzero(gains > 0)
        nothing = np.zeros((0, len(gains)), np.bool_)
        if not len(positive):
            return Priced(nothing, np.zeros(0), 0.0)
        whole, unit = whole_gains_up(gains[positive])
        overlap = WorkloadOverlap(self._workload[self._queries[positive]])
        return Priced(nothing, np.zeros(0), overlap.within_time(whole, deadline).upper * unit)

    def _grown(self, root: int, gains: Floats) -> npt.NDArray[np.bool_]:
        """What a row satisfies that was grown from a query."""
        near = self._graph.neighbors(root)
        near = near[gains[near] > 0]
        near = near[np.argsort(-gains[near], kind="stable")][:_NEIGHBORS]
        rows = JointRows(self._workload, self._queries[np.append(root, near)])
        joint = rows.join(rows.nothing(), 0)
        assert joint is not None, "a query that is no contradiction has a row"
        for position in range(1, len(near) + 1):
            joint = rows.join(joint, position) or joint
        around = np.append(self._graph.neighbors(root), root)
        chosen = satisfied(self._workload, self._queries[around], np.maximum(joint.codes, 0))
        flags = np.zeros(len(gains), np.bool_)
        flags[around] = np.isin(self._queries[around], chosen)
        return flags
