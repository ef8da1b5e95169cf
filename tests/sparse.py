"""The search that does without compiling, on workloads that could be compiled."""

from typing import NamedTuple
from unittest.mock import patch

from parcomp.overlap import WorkloadOverlap, units

__all__ = ["Found", "solve_sparse", "sparse_overlap"]


class Found(NamedTuple):
    """A bracket in units, the codes of its row and the positions of the queries that it satisfies."""

    lower: int
    upper: int
    codes: list[int]
    members: list[int]


def sparse_overlap(workload):
    """The workload as if its predicates did not fit into memory as masks."""
    with patch.object(units, "compilable", lambda _: False):
        return WorkloadOverlap(workload)


def solve_sparse(workload, deadline, method="auto"):
    overlap = sparse_overlap(workload)
    bracket = overlap.within_time(workload.additive_units(), deadline, method=method)
    return Found(bracket.lower, bracket.upper, bracket.row.tolist(), overlap.members(bracket))
