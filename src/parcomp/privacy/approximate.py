"""Approximate differential privacy by basic composition: ε and δ add up, each by itself.

Against one row the queries it satisfies spend (Σ ε, Σ δ), so (max overlap of the ε, max overlap of the δ) holds for
every row.  This is simple and often loose; :func:`~parcomp.privacy.workload_tradeoff.f_gamma` is tighter for workloads
that are fixed in advance.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parcomp.costs import Amount, amount_up, cost_up
from parcomp.errors import ArgumentError, WorkloadError
from parcomp.model import Workload
from parcomp.overlap import WorkloadOverlap
from parcomp.privacy.loss import neighbor_units
from parcomp.privacy.measures import PURE, Neighbours, workload_units

__all__ = ["ApproximateLoss", "approximate_loss"]


@dataclass(frozen=True, slots=True)
class ApproximateLoss:
    """The (ε, δ) of a workload, with what sequential composition would charge beside it."""

    epsilon: int | float
    delta: int | float
    sequential_epsilon: int | float
    sequential_delta: int | float
    exact: bool
    neighbours: Neighbours


def approximate_loss(
    workload: Workload,
    deltas: Amount | Sequence[Amount],
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    rows_per_person: int = 1,
    *,
    time_limit: float = 60.0,
) -> ApproximateLoss:
    """The (ε, δ) of answering a workload with (ε_q, δ_q)-DP mechanisms.

    ε_q are the costs of the queries, and δ_q is one for all or one for each query.
    """
    deadline = time.monotonic() + time_limit
    relation = Neighbours(neighbours)
    if rows_per_person != 1:
        raise ArgumentError("basic composition of (ε, δ) is offered for one row per person; use zcdp or gdp for more")
    epsilons = workload_units(workload, PURE)
    given = [deltas] * len(workload) if isinstance(deltas, str) or not isinstance(deltas, Sequence) else list(deltas)
    if len(given) != len(workload):
        raise WorkloadError(f"there are {len(given)} deltas for {len(workload)} queries")
    booked = np.array([cost_up(delta) for delta in given], np.int64)
    overlap = WorkloadOverlap(workload)
    half = time.monotonic() + (deadline - time.monotonic()) / 2
    by_epsilon, by_delta = overlap.within_time(epsilons, half), overlap.within_time(booked, deadline)
    return ApproximateLoss(
        epsilon=amount_up(neighbor_units(by_epsilon.upper, overlap.total(epsilons), relation)),
        delta=amount_up(neighbor_units(by_delta.upper, overlap.total(booked), relation)),
        sequential_epsilon=amount_up(sum(epsilons.tolist())),
        sequential_delta=amount_up(sum(booked.tolist())),
        exact=by_epsilon.exact and by_delta.exact,
        neighbours=relation,
    )
