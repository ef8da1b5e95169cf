"""Plans: what each query should cost so that a given budget buys the least noise.

The paper spends the same on every query, B/γ.  Most rows are then covered by less than the budget.  A plan lets every
query cost as much as the rows that it covers can bear, balanced so that the mean or the worst expected error is
least.  Whatever the objective, the costs are whole units that add up to no more than the budget on any possible row,
which is proven in exact arithmetic.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from parcomp.costs import UNITS_PER_ONE, Amount, amount_down, amount_up, square_up
from parcomp.errors import ArgumentError, CostError, WorkloadError, shown
from parcomp.model import QueryId, Workload, book_each
from parcomp.overlap import Bracket
from parcomp.planning.accuracy import costs_for_errors, error_exponent, expected_errors, parameter_units
from parcomp.planning.cutting_planes import Fitted, PoolSolver, best_allocation
from parcomp.planning.filling import least_worst_error, same_for_all
from parcomp.planning.fit import weigh
from parcomp.planning.interior_point import least_total_error
from parcomp.planning.problem import AllocationProblem, Floats, Units, allocation_problem
from parcomp.planning.rows import EveryRow, RowSource, row_source
from parcomp.planning.slack import raise_costs
from parcomp.planning.views import plan_html, plot_plan
from parcomp.privacy import Measure, MeasureName, find_measure
from parcomp.tabular import Columns, Tabular

__all__ = ["Objective", "PerQuery", "Plan", "Progress", "plan", "required_budget"]

Objective: TypeAlias = Literal["mean", "max", "uniform"]
PerQuery: TypeAlias = float | Sequence[float | None] | Mapping[QueryId, float]
"""One number for all queries, one for each in order (None: none), or some by id."""
Progress: TypeAlias = Callable[[int, float], None]
"""Told the number of each round and by how much of the budget its heaviest row is covered."""

_SOLVERS: Final[dict[Objective, PoolSolver]] = {
    "mean": least_total_error,
    "max": least_worst_error,
    "uniform": same_for_all,
}
_MOST_IMPORTANT: Final = 10**12
"""By how much queries may differ in importance; beyond it, floating point leaves nothing to the others."""

_SLACK_SHARE = 0.15
"""The part of the time that is kept for raising costs where the proof leaves slack."""

_BASELINE_SHARE = 0.2
"""The part of the time that may go into γ, of which only the uniform plan's error depends."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan(Tabular):
    """What each query costs and how large its error will be.

    ``units`` are in the measure's additive unit, 0 for contradictions: their answer is 0 without noise.  No row costs
    more than ``loss_units``, which is proven and at most ``budget_units``.  Mean errors are weighted by importance
    where it was given; ``uniform_mean_error`` is that of one cost for all, budget/γ (paper §3), and
    ``sequential_mean_error`` that of budget/t.  ``gap`` bounds how far the objective is from the optimum, as a
    fraction, for errors that fall as a power of the cost; None where no bound was found.
    """

    workload: Workload
    measure: Measure
    objective: Objective
    budget_units: int
    units: Units
    expected_errors: Floats
    mean_error: float
    uniform_mean_error: float
    sequential_mean_error: float
    loss_units: int
    gap: float | None
    rounds: int
    seconds: float

    def __repr__(self) -> str:
        return (
            f"<Plan of {len(self.workload):,} queries, {self.objective}: {self.measure.symbol} = {self.loss:,.6g}, "
            f"mean error {self.mean_error:,.4g} (uniform {self.uniform_mean_error:,.4g}, "
            f"sequential {self.sequential_mean_error:,.4g})>"
        )

    @property
    def costs(self) -> list[int | float]:
        """What each query costs, in the measure's parameter: ε, ρ or μ."""
        return [amount_down(units) for units in self._parameter_units().tolist()]

    @property
    def loss(self) -> int | float:
        """What the whole workload spends, in the measure's parameter."""
        if self.measure.power == 1:
            return amount_up(self.loss_units)
        # Rounded up; as budget_units is at most the squared budget, this is at most the budget.
        square = self.loss_units * UNITS_PER_ONE
        return amount_up(math.isqrt(square - 1) + 1 if square else 0)

    @property
    def worst_error(self) -> float:
        """The largest expected error."""
        return float(self.expected_errors.max(initial=0.0))

    def priced(self) -> Workload:
        """The workload with the plan's costs; a contradiction costs one unit, which no row ever pays."""
        return self.workload.with_costs(np.maximum(self._parameter_units(), 1), self.measure.parameter)

    def plot(self, path: str | Path | None = None, *, axes: Any = None) -> Any:
        """Draw how the expected errors are distributed, to a PNG file if a path is given; returns matplotlib's axes."""
        return plot_plan(self, path, axes)

    def _repr_html_(self) -> str:
        return plan_html(self)

    def _columns(self) -> Columns:
        costs = {"id": list(self.workload.ids), "cost": self.costs, "expected_error": self.expected_errors.tolist()}
        return Columns(costs, frozenset({"cost", "expected_error"}), self._about())

    def _about(self) -> dict[str, Any]:
        """What the last line of ``parcomp plan --json`` says."""
        means = ("mean_error", "uniform_mean_error", "sequential_mean_error", "loss")
        return {"measure": self.measure.name, **{name: getattr(self, name) for name in means}}

    def _parameter_units(self) -> Units:
        return parameter_units(self.measure, self.units)


def plan(
    workload: Workload,
    measure: MeasureName = "pure",
    budget: Amount | None = None,
    objective: Objective = "mean",
    *,
    budget_units: int | None = None,
    importance: PerQuery | None = None,
    ceilings: PerQuery | None = None,
    time_limit: float = 60.0,
    progress: Progress | None = None,
) -> Plan:
    """Share a budget among the queries of a workload; the costs that they have play no part.

    ``mean`` has the least mean expected absolute error, ``max`` the least worst one (then the least second worst, and
    so on), ``uniform`` the same cost for all.  ``importance`` weighs the errors; ``ceilings`` are expected errors that
    must not be exceeded.  Without a budget, the plan takes the least one that keeps the ceilings; ``budget_units`` is
    one in additive units.  When the time is up, the plan fits the budget as well, but may be further from the optimum.

    >>> import parcomp as pc
    >>> domain = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 119)})
    >>> queries = [domain.query(sex="F"), domain.query(sex="M"), domain.query(sex="F", age=pc.between(20, 39))]
    >>> result = plan(pc.Workload(domain, queries), budget=1)
    >>> [round(cost, 4) for cost in result.costs]
    [0.5, 1.0, 0.5]
    """
    began = time.monotonic()
    kind = find_measure(measure)
    if budget is not None and budget_units is not None:
        raise ArgumentError("a plan has one budget: give it as budget or as budget_units")
    units = budget_units if budget is None else kind.budget_down(budget)
    if units is None and ceilings is None:
        raise CostError("a plan needs a budget, or ceilings of the expected error from which a budget follows")
    if objective not in get_args(Objective):
        raise ArgumentError(f"unknown objective {shown(objective)}; there are {', '.join(get_args(Objective))}")
    if not (isinstance(time_limit, (int, float)) and 0 < time_limit < math.inf):
        raise ArgumentError(f"a time limit must be a positive number of seconds, not {shown(time_limit)}")
    if importance is not None and objective == "uniform":
        raise ArgumentError("the uniform plan takes no importance: all queries cost the same")
    _check_kinds(workload, kind)
    weights = np.ones(len(workload)) if importance is None else _weights(workload, importance)
    least = np.zeros(len(workload), np.int64) if ceilings is None else _least_units(workload, ceilings, kind)
    problem = allocation_problem(workload, weights, least, units or 1)
    source = row_source(problem.reduced)
    deadline = began + time_limit
    needed = _needed(problem, source, began + _BASELINE_SHARE * time_limit)
    if units is not None and needed > units:
        raise CostError(
            f"a budget of {kind.symbol} = {kind.parameter_up(units)} does not keep the ceilings; "
            f"{kind.symbol} = {kind.parameter_up(needed)} would do"
        )
    problem = replace(problem, budget=needed if units is None else units)
    if not len(problem.queries):
        return _finished(workload, problem, kind, objective, None, 1, began, weights)
    exponent = error_exponent(kind)
    tell = progress if progress is not None else lambda _rounds, _heaviest: None
    baseline = time.monotonic()
    gamma = _weighed(problem, source, np.ones(len(problem.count), np.int64), baseline + _BASELINE_SHARE * time_limit)
    proof = time.monotonic() - baseline if gamma.lower == gamma.upper else math.inf
    if objective == "uniform" and not needed:
        same = problem.budget // gamma.upper
        fitted = Fitted(np.full(len(problem.count), same), gamma.upper * same, math.inf, 0, close=True)
    else:
        search = deadline - _SLACK_SHARE * (deadline - time.monotonic())
        # On few or busy cores the threads of a linear algebra library wait for each other longer than they compute.
        with threadpool_limits(1, "blas"):
            fitted = best_allocation(problem, source, _SOLVERS[objective], exponent, needed, proof, search, tell)
        if problem.truth is not None:
            fitted = _raised_to_the_truth(problem, source, fitted, deadline)
        fitted = _no_worse_than_uniform(problem, objective, fitted, gamma.upper, exponent)
        if problem.truth is None and not isinstance(source, EveryRow) and not fitted.close and objective != "uniform":
            raised = raise_costs(problem, fitted.units, deadline)
            fitted = replace(fitted, units=raised, upper=problem.budget)
    if int(fitted.units.min()) < 1:
        raise CostError(
            f"the budget is too small for {len(workload):,} queries: one of them would cost less than a unit of 1e-9"
            if not needed
            else "the ceilings take the whole budget where a query without one is; give it a ceiling, or more budget"
        )
    return _finished(workload, problem, kind, objective, fitted, gamma.upper, began, weights)


def required_budget(
    workload: Workload, ceilings: PerQuery, measure: MeasureName = "pure", *, time_limit: float = 60.0
) -> int | float:
    """The least budget, in the measure's parameter, within which no expected error exceeds its ceiling.

    Each query must cost at least what its ceiling asks for, and that is enough: the budget is the maximum overlap of
    these costs (its proven upper bound where time runs out).

    >>> import parcomp as pc
    >>> domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    >>> required_budget(pc.Workload(domain, [domain.query(sex="F"), domain.query(sex="M")]), ceilings=20)
    0.049979191
    """
    kind = find_measure(measure)
    _check_kinds(workload, kind)
    least = _least_units(workload, ceilings, kind)
    problem = allocation_problem(workload, np.ones(len(workload)), least, 1)
    needed = _needed(problem, row_source(problem.reduced), time.monotonic() + time_limit)
    return kind.parameter_up(needed)


def _needed(problem: AllocationProblem, source: RowSource, deadline: float) -> int:
    """What the least costs spend together."""
    if not problem.least_units.any():
        return 0
    return _weighed(problem, source, problem.least_units, deadline).upper


def _weighed(problem: AllocationProblem, source: RowSource, units: Units, deadline: float) -> Bracket:
    """What the heaviest row costs, of the rows that there are."""
    if problem.truth is None:
        return weigh(problem, source, units, deadline)
    paid = np.zeros(int(problem.queries[-1]) + 1, np.int64)
    paid[problem.queries] = units[problem.class_of]
    return problem.truth.within_time(paid, deadline)


def _raised_to_the_truth(problem: AllocationProblem, source: RowSource, fitted: Fitted, deadline: float) -> Fitted:
    """Costs that fit more rows than there are, raised alike until they take the budget on those that there are.

    With U a proven bound of what the heaviest row costs, B/U times the costs are at most B on every row.
    """
    upper = _weighed(problem, source, fitted.units, deadline).upper
    raised = [units * problem.budget // upper for units in fitted.units.tolist()]
    return replace(fitted, units=np.array(raised, np.int64), upper=problem.budget, bound=0.0)


def _finished(
    workload: Workload,
    problem: AllocationProblem,
    measure: Measure,
    objective: Objective,
    fitted: Fitted | None,
    gamma: int,
    began: float,
    weights: Floats,
) -> Plan:
    """The plan of fitted costs, None where all queries are contradictions, beside the errors of the simpler plans."""
    units = np.zeros(len(workload), np.int64)
    errors = np.zeros(len(workload))
    means = [0.0, 0.0, 0.0]
    gap = None
    if fitted is not None:
        units[problem.queries] = _booked(measure, fitted.units)[problem.class_of]
        errors[problem.queries] = expected_errors(measure, units[problem.queries])
        covered = float(weights[problem.queries].sum() / weights.sum())
        same = expected_errors(
            measure, np.maximum(1, np.array([problem.budget // gamma, problem.budget // len(problem.queries)]))
        )
        means = [float(weights @ errors / weights.sum()), *(same * covered).tolist()]
        gap = _gap(problem, objective, fitted, error_exponent(measure))
    return Plan(
        workload=workload,
        measure=measure,
        objective=objective,
        budget_units=problem.budget,
        units=units,
        expected_errors=errors,
        mean_error=means[0],
        uniform_mean_error=means[1],
        sequential_mean_error=means[2],
        loss_units=0 if fitted is None else fitted.upper,
        gap=gap,
        rounds=0 if fitted is None else fitted.rounds,
        seconds=time.monotonic() - began,
    )


def _value(problem: AllocationProblem, objective: Objective, units: Units, exponent: float) -> float:
    """The objective, for errors that fall as a power of the cost."""
    each = problem.importance * (np.maximum(units, 1e-9) / problem.budget) ** -exponent
    return float(problem.count @ each) if objective == "mean" else float(each.max())


def _no_worse_than_uniform(
    problem: AllocationProblem, objective: Objective, fitted: Fitted, gamma: int, exponent: float
) -> Fitted:
    """The uniform plan if it is better: where time ran out, more may be known of its heaviest row."""
    same = np.full(len(problem.count), problem.budget // gamma)
    if (problem.least_units > same).any():
        return fitted
    # Where the search came to its end, a worst error that is larger by its tolerance is no reason to give the rest up.
    allowance = 1.01 if fitted.close else 1.0
    if _value(problem, objective, fitted.units, exponent) <= allowance * _value(problem, objective, same, exponent):
        return fitted
    return replace(fitted, units=same, upper=gamma * (problem.budget // gamma), close=False)


def _gap(problem: AllocationProblem, objective: Objective, fitted: Fitted, exponent: float) -> float | None:
    if objective == "uniform" or not 0 < fitted.bound < math.inf:
        return None
    return max(0.0, _value(problem, objective, fitted.units, exponent) / fitted.bound - 1)


def _check_kinds(workload: Workload, measure: Measure) -> None:
    """Costs are replaced, but costs of another measure show that the wrong measure was asked for."""
    wrong = [kind for kind in workload.cost_kinds if kind not in ("weight", measure.parameter)]
    if wrong:
        raise WorkloadError(
            f"the queries state their costs in {' and '.join(wrong)}; "
            f"a plan under {measure.name} is in {measure.parameter}"
        )


def _per_query(workload: Workload, given: PerQuery, what: str) -> list[float | None]:
    """One entry for each query, None where nothing was given."""
    if isinstance(given, Mapping):
        unknown = [query_id for query_id in given if query_id not in set(workload.ids)]
        if unknown:
            raise WorkloadError(f"{what} is given for {shown(unknown[0])}, which is the id of no query")
        entries: list[float | None] = [given.get(query_id) for query_id in workload.ids]
    elif isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str):
        entries = list(given)
        if len(entries) != len(workload):
            raise WorkloadError(f"{what} is given for {len(entries):,} queries, but there are {len(workload):,}")
    else:
        entries = [given] * len(workload)
    for entry in entries:
        if entry is None:
            continue
        number = isinstance(entry, (int, float, np.integer, np.floating)) and not isinstance(entry, bool)
        if not number or not 0 < entry < math.inf:
            raise ArgumentError(f"{what} must be a positive number, not {shown(entry)}")
    return entries


def _weights(workload: Workload, importance: PerQuery) -> Floats:
    weights = np.array([1.0 if one is None else float(one) for one in _per_query(workload, importance, "importance")])
    if len(weights) and weights.max() > _MOST_IMPORTANT * weights.min():
        raise WorkloadError(f"queries may differ in importance by a factor of {_MOST_IMPORTANT:,} at most")
    return weights


def _least_units(workload: Workload, ceilings: PerQuery, measure: Measure) -> Units:
    errors = np.array([np.inf if one is None else float(one) for one in _per_query(workload, ceilings, "a ceiling")])
    distinct, which = np.unique(errors, return_inverse=True)
    bounded = np.isfinite(distinct)
    least = np.zeros(len(distinct), np.int64)
    least[bounded] = costs_for_errors(measure, distinct[bounded])
    return least[which]


def _booked(measure: Measure, units: Units) -> Units:
    """The additive units that are left after the parameter was rounded down to whole units: no more than before."""
    if measure.power == 1:
        return units
    return book_each(parameter_units(measure, units), square_up, "the square of the largest mu")
