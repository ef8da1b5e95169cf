"""What a plan is asked for, checked and brought into arrays: one entry for each query of the workload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from parcomp.errors import ArgumentError, WorkloadError, shown
from parcomp.model import QueryId, Workload, entries_for
from parcomp.planning.accuracy import Floats, Units, costs_for_errors
from parcomp.planning.result import Objective
from parcomp.privacy import Measure

__all__ = ["PerQuery", "StrategyName", "check_kinds", "check_strategy", "least_units_of", "weights_of"]

PerQuery: TypeAlias = float | Sequence[float | None] | Mapping[QueryId, float]
"""One number for all queries, one for each in order (None: none), or some by id."""
StrategyName: TypeAlias = Literal["independent", "correlated", "atoms", "auto"]

_MOST_IMPORTANT: Final = 10**12
"""By how much queries may differ in importance; beyond it, floating point leaves nothing to the others."""


def check_strategy(strategy: StrategyName, measure: Measure, objective: Objective, ceilings: PerQuery | None) -> None:
    """Refuse a strategy that does not go with what else is asked for."""
    names = get_args(StrategyName)
    if strategy not in names:
        raise ArgumentError(f"unknown strategy {shown(strategy)}; there are {', '.join(names)}")
    if strategy == "independent":
        return
    planned = f"the strategy {strategy} is planned for the least mean error"
    if ceilings is not None:
        raise ArgumentError(f"{planned}, without ceilings of errors (--max-error); leave out one of the two")
    if objective != "mean":
        raise ArgumentError(f"{planned}, not for the objective {objective}; leave out one of the two")
    if strategy == "correlated" and measure.name == "pure":
        raise ArgumentError("a correlated strategy has Gaussian noise: plan under zcdp or gdp, or take atoms")


def check_kinds(workload: Workload, measure: Measure) -> None:
    """Costs are replaced, but costs of another measure show that the wrong measure was asked for."""
    wrong = [kind for kind in workload.cost_kinds if kind not in ("weight", measure.parameter)]
    if wrong:
        raise WorkloadError(
            f"the queries state their costs in {' and '.join(wrong)}; "
            f"a plan under {measure.name} is in {measure.parameter}"
        )


def _per_query(workload: Workload, given: PerQuery, what: str) -> list[float | None]:
    """One entry for each query, None where nothing was given."""
    entries: list[float | None] = entries_for(workload, given, what)
    for entry in entries:
        if entry is None:
            continue
        number = isinstance(entry, (int, float, np.integer, np.floating)) and not isinstance(entry, bool)
        if not number or not 0 < entry < math.inf:
            raise ArgumentError(f"{what} must be a positive number, not {shown(entry)}")
    return entries


def weights_of(workload: Workload, importance: PerQuery) -> Floats:
    """How much the error of each query matters."""
    weights = np.array([1.0 if one is None else float(one) for one in _per_query(workload, importance, "importance")])
    if len(weights) and weights.max() > _MOST_IMPORTANT * weights.min():
        raise WorkloadError(f"queries may differ in importance by a factor of {_MOST_IMPORTANT:,} at most")
    return weights


def least_units_of(workload: Workload, ceilings: PerQuery, measure: Measure) -> Units:
    """What each query must cost so that its expected error keeps its ceiling; 0 without one."""
    errors = np.array([np.inf if one is None else float(one) for one in _per_query(workload, ceilings, "a ceiling")])
    distinct, which = np.unique(errors, return_inverse=True)
    bounded = np.isfinite(distinct)
    least = np.zeros(len(distinct), np.int64)
    least[bounded] = costs_for_errors(measure, distinct[bounded])
    return least[which]
