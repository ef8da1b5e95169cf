"""Every overlap of a workload, written out: for plans on domains that cannot be compiled.

A plan needs to know which sets of queries meet in a row, whatever they cost.  Where nearly all queries are disjoint the
maximal such sets are few.  A workload on one attribute with a value for each maximal set, accepted by the queries of
the set, has exactly the same overlapping sets: those within a maximal one.  So it stands in for the whole.

Where they are many, a value stands for each query and its neighbors in the query graph that come after it, in an order
in which few do.  The queries of an overlap are pairwise adjacent, so it lies within the value of its first query: the
workload has every overlap, and others.  What fits it fits the whole.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits
from parcomp.graph import QueryGraph, WorkloadGraph, degeneracy_order
from parcomp.model import Workload
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.sparse.joint_rows import Joint, JointRows
from parcomp.slices import LARGEST_SLICE

__all__ = ["listed_overlaps"]

_OVERLAP_LIMIT = 1 << 12
"""Beyond this many overlapping sets that were looked at, they are not written out: some seconds."""


def listed_overlaps(workload: Workload, queries: npt.NDArray[np.int64]) -> tuple[CompiledWorkload, bool]:
    """A workload of unit weights in which the given queries, none a contradiction, overlap where they do.

    And whether they overlap there only.
    """
    building = WorkloadGraph(workload, queries, np.ones(len(queries), np.int64))
    while building.advance(LARGEST_SLICE):
        pass
    sets: list[npt.NDArray[np.int64]] = []
    looked_at = 0
    for root in range(len(queries)):
        near = building.graph.neighbors(root)
        vertices = np.append(near, root)
        rows = JointRows(workload, queries[vertices])
        earlier = np.append(near < root, False)
        joint = rows.join(rows.nothing(), len(near))
        assert joint is not None
        # A set that is joined by a query before it was found with that query already.
        pending: list[tuple[Joint, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]] = [
            (joint, np.append(near > root, False), earlier)
        ]
        while pending:
            joint, candidates, before = pending.pop()
            looked_at += 1
            if looked_at > _OVERLAP_LIMIT:
                return _as_compiled(_neighborhoods(building.graph), len(queries)), False
            together, others = _join_all(rows, joint, candidates, before)
            if together is not None:
                # All sets from here on lie within this one, which is maximal unless a query before it joins it.
                if not others.any():
                    sets.append(vertices[together.chosen])
                continue
            for query in np.flatnonzero(candidates).tolist():
                candidates[query] = False
                larger = rows.join(joint, query)
                if larger is not None:
                    joining = rows.joining(larger, query, candidates), rows.joining(larger, query, before)
                    pending.append((larger, *joining))
                before = before | (np.arange(len(before)) == query)
    return _as_compiled(sets, len(queries)), True


def _neighborhoods(graph: QueryGraph) -> list[npt.NDArray[np.int64]]:
    """For each vertex itself and those of its neighbors that come before it in the order of degeneracy."""
    order = degeneracy_order(graph)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    near = [graph.neighbors(vertex) for vertex in range(len(order))]
    return [np.append(those[place[those] < place[vertex]], vertex) for vertex, those in enumerate(near)]


def _join_all(
    rows: JointRows, joint: Joint, candidates: npt.NDArray[np.bool_], before: npt.NDArray[np.bool_]
) -> tuple[Joint | None, npt.NDArray[np.bool_]]:
    """The set with all candidates, None if they do not overlap, and those of ``before`` that overlap it."""
    for query in np.flatnonzero(candidates).tolist():
        larger = rows.join(joint, query)
        if larger is None:
            return None, before
        before = rows.joining(larger, query, before)
        joint = larger
    return joint, before


def _as_compiled(sets: list[npt.NDArray[np.int64]], count: int) -> CompiledWorkload:
    """Queries on one attribute, whose values are the sets that they are in."""
    held = np.zeros((count, max(1, len(sets))), np.bool_)
    for number, members in enumerate(sets):
        held[members, number] = True
    masks, mask_of = np.unique(pack_bits(held), axis=0, return_inverse=True)
    constrains = ~held.all(axis=1)
    used = np.unique(mask_of[constrains])
    number_of = np.zeros(len(masks), np.int32)
    number_of[used] = np.arange(len(used))
    return CompiledWorkload(
        sizes=np.array([held.shape[1]], np.int32),
        weights=np.ones(count, np.int64),
        start=np.concatenate(([0], np.cumsum(constrains))).astype(np.int64),
        term=number_of[mask_of[constrains]],
        mask_attribute=np.zeros(len(used), np.int32),
        mask_offset=np.arange(len(used) + 1) * masks.shape[1],
        mask_words=np.ascontiguousarray(masks[used]).ravel(),
    )
