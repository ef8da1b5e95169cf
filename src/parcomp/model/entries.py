"""What someone states for each query of a workload: one value for all, one for each in order, or some by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parcomp.errors import WorkloadError, shown
from parcomp.model.workload import Workload

__all__ = ["entries_for"]


def entries_for(workload: Workload, given: object, what: str, *, complete: bool = False) -> list[Any]:
    """One entry for each query, in order, as it was given; None where an id is missing, unless all must be there.

    ``what`` is named in complaints, such as "an answer".
    """
    if isinstance(given, Mapping):
        known = set(workload.ids)
        unknown = [query_id for query_id in given if query_id not in known]
        if unknown:
            raise WorkloadError(f"{what} is given for {shown(unknown[0])}, which is the id of no query")
        missing = [query_id for query_id in workload.ids if query_id not in given]
        if complete and missing:
            raise WorkloadError(f"{what} is missing for {shown(missing[0])}, the id of a query")
        return [given.get(query_id) for query_id in workload.ids]
    if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str):
        entries = list(given)
        if len(entries) != len(workload):
            raise WorkloadError(f"{what} is given for {len(entries):,} queries, but there are {len(workload):,}")
        return entries
    return [given] * len(workload)
