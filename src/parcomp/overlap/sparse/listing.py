"""Every overlap of a workload, written out: for plans on domains that cannot be compiled.

A plan needs to know which sets of queries meet in a row, whatever they cost.  Where nearly all queries are disjoint the
maximal such sets are few.  A workload on one attribute with a value for each maximal set, accepted by the queries of
the set, has exactly the same overlapping sets: those within a maximal one.  So it stands in for the whole.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits
from parcomp.errors import SizeError
from parcomp.graph import WorkloadGraph
from parcomp.model import Workload
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.sparse.joint_rows import Joint, JointRows
from parcomp.slices import LARGEST_SLICE

__all__ = ["listed_overlaps"]

_OVERLAP_LIMIT = 1 << 17
"""Beyond this many overlapping sets none are written out."""


def listed_overlaps(workload: Workload, queries: npt.NDArray[np.int64]) -> CompiledWorkload:
    """A workload of unit weights with the same overlapping sets as the given queries, none of them a contradiction.

    Raises :class:`~parcomp.errors.SizeError` where there are too many.
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
                raise SizeError(
                    f"more than {_OVERLAP_LIMIT:,} sets of queries overlap, too many to list on a domain of this size; "
                    "plan fewer queries at once, or on fewer attributes"
                )
            if not candidates.any() and not before.any():
                sets.append(vertices[joint.chosen])
            for query in np.flatnonzero(candidates).tolist():
                candidates[query] = False
                larger = rows.join(joint, query)
                if larger is not None:
                    joining = rows.joining(larger, query, candidates), rows.joining(larger, query, before)
                    pending.append((larger, *joining))
                before = before | (np.arange(len(before)) == query)
    return _as_compiled(sets, len(queries))


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
