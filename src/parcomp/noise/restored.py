"""Plans of strategies from what is kept of them, so that what was charged can be released, now or after a crash.

Of a correlated strategy H and σ are kept, of atoms the queries and the units of each histogram.  What they cost is
worked out here, from these and the queries alone, whatever they were planned by; where it was charged already, it is
given.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from parcomp.errors import ArgumentError
from parcomp.model import Workload
from parcomp.noise.joint import joint_noise
from parcomp.planning import Histogram, Plan, atoms_charge, histogram_of, strategy_charge
from parcomp.privacy import Measure

__all__ = ["atoms_plan", "correlated_plan"]

Indices = npt.NDArray[np.int64]


def correlated_plan(
    workload: Workload,
    measure: Measure,
    matrix: npt.NDArray[np.int64],
    sigma: float,
    *,
    loss_units: int | None = None,
    time_limit: float = 60.0,
) -> Plan:
    """The plan that measures H·counts with noise of σ; ``loss_units`` is what it costs, if that is known.

    Else :class:`~parcomp.errors.SizeError` is raised where it takes longer than ``time_limit`` to find out.
    """
    if loss_units is None:
        loss_units = strategy_charge(workload, matrix, sigma, measure, time_limit=time_limit)
    return _plan(workload, measure, loss_units, matrix=matrix, sigma=sigma)


def atoms_plan(
    workload: Workload,
    measure: Measure,
    histograms: Sequence[tuple[Indices, int]],
    *,
    loss_units: int | None = None,
    time_limit: float = 60.0,
) -> Plan:
    """The plan that counts the atoms of some queries each, with noise for some units each.

    Without ``loss_units``, :class:`~parcomp.errors.SizeError` is raised where they are not listed within
    ``time_limit``.
    """
    deadline = time.monotonic() + time_limit if loss_units is None else math.inf
    listed = np.sort(np.concatenate([queries for queries, _ in histograms]))
    if not np.array_equal(listed, np.arange(len(workload))):
        raise ArgumentError("each query of a strategy is in one of its histograms")
    if loss_units is None:
        loss_units = atoms_charge(workload, histograms, time_limit=time_limit)
    found = tuple(histogram_of(workload, queries, units, deadline) for queries, units in histograms)
    return _plan(workload, measure, loss_units, histograms=found)


def _plan(
    workload: Workload,
    measure: Measure,
    loss_units: int,
    *,
    matrix: npt.NDArray[np.int64] | None = None,
    sigma: float | None = None,
    histograms: tuple[Histogram, ...] = (),
) -> Plan:
    bare = Plan(
        workload=workload,
        measure=measure,
        objective="mean",
        budget_units=loss_units,
        units=np.zeros(len(workload), np.int64),
        expected_errors=np.zeros(len(workload)),
        mean_error=0.0,
        # Nothing was compared.
        uniform_mean_error=math.nan,
        sequential_mean_error=math.nan,
        loss_units=loss_units,
        gap=None,
        rounds=0,
        seconds=0.0,
        strategy="correlated" if matrix is not None else "atoms",
        matrix=matrix,
        sigma=sigma,
        histograms=histograms,
    )
    errors = joint_noise(bare).expected_errors
    return replace(bare, expected_errors=errors, mean_error=float(errors.mean()))
