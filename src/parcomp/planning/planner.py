"""Plans: what each query should cost so that a given budget buys the least noise.

The paper spends the same on every query, B/γ.  Most rows are then covered by less than the budget.  A plan lets every
query cost as much as the rows that it covers can bear, balanced so that the mean or the worst expected error is
least.  Whatever the objective, the costs are whole units that add up to no more than the budget on any possible row,
which is proven in exact arithmetic.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from parcomp.costs import UNITS_PER_ONE, Amount, square_up
from parcomp.errors import ArgumentError, CostError, shown
from parcomp.model import Workload, book_each
from parcomp.overlap import Bracket
from parcomp.planning.accuracy import equivalent_units, error_exponent, expected_errors, parameter_units
from parcomp.planning.arguments import (
    PerQuery,
    StrategyName,
    check_kinds,
    check_strategy,
    least_units_of,
    weights_of,
)
from parcomp.planning.cutting_planes import Fitted, PoolSolver, best_allocation
from parcomp.planning.filling import least_worst_error, same_for_all
from parcomp.planning.fit import shrink, weigh
from parcomp.planning.interior_point import least_total_error
from parcomp.planning.problem import AllocationProblem, Floats, Units, allocation_problem
from parcomp.planning.result import Objective, Plan
from parcomp.planning.robust import harden
from parcomp.planning.rows import EveryRow, RowSource, row_source
from parcomp.planning.slack import raise_costs
from parcomp.planning.strategies.atoms import Indices
from parcomp.planning.strategies.correlated import correlated_strategy
from parcomp.planning.strategies.counted import counted_strategy
from parcomp.planning.strategies.found import NOT_BETTER, Found, group_workload
from parcomp.privacy import Measure, MeasureName, find_measure

__all__ = ["Progress", "plan", "required_budget"]

Progress: TypeAlias = Callable[[int, float], None]
"""Told the number of each round and by how much of the budget its heaviest row is covered."""

_SOLVERS: Final[dict[Objective, PoolSolver]] = {
    "mean": least_total_error,
    "max": least_worst_error,
    "uniform": same_for_all,
}
_SLACK_SHARE = 0.15
"""The part of the time that is kept for raising costs where the proof leaves slack."""

_STRATEGY_SHARE = {"auto": 0.5, "correlated": 0.85, "atoms": 0.85}
"""The most of the time that goes into a strategy; the rest is for independent noise, which auto compares it with."""

_PARTS_GRACE = 1.0
"""Seconds by which the plans of a strategy's parts may be late, each of which is quick then."""

_ROBUST_SHARE = 0.65
"""The same and what is kept for plans that are easier to prove, if the best one is not proven by then."""

_BASELINE_SHARE = 0.2
"""The part of the time that may go into γ, of which only the uniform plan's error depends."""


def plan(
    workload: Workload,
    measure: MeasureName = "pure",
    budget: Amount | None = None,
    objective: Objective = "mean",
    *,
    strategy: StrategyName = "independent",
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

    ``strategy`` says what is measured: ``independent``, each query by itself; ``correlated`` (zcdp, gdp), integer
    combinations of the queries, whose noise is then shared by many; ``atoms``, the classes of rows that no query tells
    apart; ``auto``, whatever has the least mean error, in each part of the workload.  Where rows are too many to be
    listed, queries get independent noise, and the plan's ``strategy`` says so.

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
    check_strategy(strategy, kind, objective, ceilings)
    check_kinds(workload, kind)
    weights = np.ones(len(workload)) if importance is None else weights_of(workload, importance)
    least = np.zeros(len(workload), np.int64) if ceilings is None else least_units_of(workload, ceilings, kind)
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
    found = None
    left_out: dict[str, str] = {}
    # Where no two queries meet, the whole budget for each is the best there is, with whatever noise.
    apart = gamma.upper == 1
    if strategy != "independent" and not (apart and strategy == "auto"):
        until = time.monotonic() + _STRATEGY_SHARE[strategy] * (deadline - time.monotonic())
        found, left_out = _found(workload, kind, problem.budget, weights, strategy, until, tell)
        if found is not None and strategy != "auto":
            return _with_strategy(workload, problem, kind, found, gamma.upper, began, weights)
    if apart and (objective != "uniform" or needed):
        fitted = _all_for_each(problem, objective, exponent)
    elif objective == "uniform" and not needed:
        same = problem.budget // gamma.upper
        fitted = Fitted(np.full(len(problem.count), same), gamma.upper * same, math.inf, 0, close=True)
    else:
        left = deadline - time.monotonic()
        robust = objective == "mean" and not needed and problem.truth is None and not isinstance(source, EveryRow)
        search = deadline - (_ROBUST_SHARE if robust else _SLACK_SHARE) * left
        # On few or busy cores the threads of a linear algebra library wait for each other longer than they compute.
        with threadpool_limits(1, "blas"):
            best = best_allocation(problem, source, _SOLVERS[objective], exponent, needed, proof, search, tell)
            fitted = _same_for_each(problem, source, gamma.upper, needed, search) if best is None else best
            if robust and not fitted.close:
                fitted = harden(problem, source, fitted, exponent, deadline - _SLACK_SHARE * left, tell)
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
    answer = _finished(workload, problem, kind, objective, fitted, gamma.upper, began, weights)
    alone = answer.mean_error
    if found is not None and float(weights @ found.errors / weights.sum()) < alone:
        answer = _with_strategy(workload, problem, kind, found, gamma.upper, began, weights)
    return replace(answer, left_out=tuple(left_out.items()), independent_mean_error=alone)


def _all_for_each(problem: AllocationProblem, objective: Objective, exponent: float) -> Fitted:
    """The whole budget for each query, of which no two meet; no query can cost more.

    The price of a unit is what the error of each query falls by there, so it proves that this is the optimum.
    """
    weight = problem.count * problem.importance
    everything = np.full(len(problem.count), problem.budget)
    # The engine adds costs up in 64 bits.
    problem.spread_units(everything)
    bound = float(weight.sum() if objective == "mean" else problem.importance.max())
    return Fitted(everything, problem.budget, bound, 1, close=True, price=exponent * weight)


def _same_for_each(problem: AllocationProblem, source: RowSource, gamma: int, needed: int, deadline: float) -> Fitted:
    """Costs that fit the budget where nothing better could be looked for: one for all, but for the least costs."""
    units = np.maximum(problem.least_units, problem.budget // gamma)
    if not needed:
        return Fitted(units, gamma * (problem.budget // gamma), math.inf, 0, close=False)
    upper = _weighed(problem, source, units, deadline).upper
    units = shrink(problem, units, upper, needed)
    return Fitted(units, min(problem.budget, upper), math.inf, 0, close=False)


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
    check_kinds(workload, kind)
    least = least_units_of(workload, ceilings, kind)
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
    gap = lower = None
    if fitted is not None:
        units[problem.queries] = _booked(measure, fitted.units)[problem.class_of]
        errors[problem.queries] = expected_errors(measure, units[problem.queries])
        means = [float(weights @ errors / weights.sum()), *_simple_means(problem, measure, gamma, weights)]
        gap = _gap(problem, objective, fitted, error_exponent(measure))
        lower = _lower_bound(problem, measure, objective, fitted, float(weights.sum()))
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
        lower_bound=lower,
    )


def _found(
    workload: Workload,
    measure: Measure,
    units: int,
    weights: Floats,
    strategy: StrategyName,
    deadline: float,
    tell: Progress,
) -> tuple[Found | None, dict[str, str]]:
    """The strategy of this name, or of ``auto`` the one with the least mean error; None where there is none.

    Beside it, why others were not compared, by their names.
    """
    names = ["correlated", "atoms"] if strategy == "auto" else [strategy]
    if measure.name == "pure":
        names = ["atoms"]
    grouped = group_workload(workload, weights, measure, units)
    if grouped is None:
        return None, dict.fromkeys(names, "the queries are too large to be compared by the values that they accept")

    def independent(positions: Indices) -> tuple[Units, Floats] | None:
        if time.monotonic() >= deadline + _PARTS_GRACE:
            return None
        alone = plan(
            workload[positions],
            measure.name,
            budget_units=units,
            importance=weights[positions].tolist(),
            time_limit=max(0.1, deadline - time.monotonic()),
        )
        return alone.units, alone.expected_errors

    found, left_out = [], {}
    for name in names:
        if name == "correlated":
            option = correlated_strategy(grouped, independent, deadline, tell)
        else:
            # Under Gaussian noise, a correlated strategy has compared with independent noise already.
            compare = strategy == "auto" and measure.name == "pure"
            option = counted_strategy(grouped, independent, compare=compare, deadline=deadline)
        if not isinstance(option, str):
            found.append(option)
        elif strategy != "auto" or option != NOT_BETTER:
            left_out[name] = option
    return min(found, key=lambda one: float(weights @ one.errors), default=None), left_out


def _with_strategy(
    workload: Workload,
    problem: AllocationProblem,
    measure: Measure,
    found: Found,
    gamma: int,
    began: float,
    weights: Floats,
) -> Plan:
    """The plan of a strategy."""
    simple = _simple_means(problem, measure, gamma, weights)
    asked = problem.queries
    units = np.zeros(len(workload), np.int64)
    units[asked] = equivalent_units(measure, found.errors[asked])
    if found.units is not None:
        units = np.where(found.units > 0, found.units, units)
    return Plan(
        workload=workload,
        measure=measure,
        objective="mean",
        budget_units=problem.budget,
        units=units,
        expected_errors=found.errors,
        mean_error=float(weights @ found.errors / weights.sum()),
        uniform_mean_error=simple[0],
        sequential_mean_error=simple[1],
        loss_units=found.loss_units,
        gap=None,
        rounds=found.rounds,
        seconds=time.monotonic() - began,
        strategy=found.name,
        lower_bound=found.lower_bound,
        matrix=found.matrix,
        sigma=found.sigma,
        histograms=found.histograms,
    )


def _simple_means(problem: AllocationProblem, measure: Measure, gamma: int, weights: Floats) -> list[float]:
    """The mean errors of the uniform and of the sequential plan."""
    covered = float(weights[problem.queries].sum() / weights.sum())
    costs = np.maximum(1, np.array([problem.budget // gamma, problem.budget // len(problem.queries)]))
    means: list[float] = (expected_errors(measure, costs) * covered).tolist()
    return means


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


def _lower_bound(
    problem: AllocationProblem, measure: Measure, objective: Objective, fitted: Fitted, total: float
) -> float | None:
    """A mean error that no noise gets below which is drawn for each query by itself.

    The bound of the search is for errors w·x^(−p) at x of the budget, those of noise on real numbers: with prices π
    that some rows charge, Σ_k min_x (w_k·x^(−p) + π_k·x) less what the budget is worth.  A minimum is at x_k and worth
    L_k = (1 + p)·w_k·x_k^(−p) = π_k·y_k for y_k = x_k·(1 + p)/p.  Discrete noise has r(x) of that error, where r falls
    with the cost.  Up to y_k it is at least r(y_k), so that the minimum is at least r(y_k)^(1/(1 + p))·L_k; beyond, the
    price alone is L_k.
    """
    if objective != "mean" or fitted.price is None or not 0 < fitted.bound < math.inf:
        return None
    p = error_exponent(measure)
    weight = problem.count * problem.importance
    least = (p * weight / fitted.price) ** (1 / (1 + p))
    most = np.minimum(least * (1 + p) / p * problem.budget, 2.0**61)
    budget = problem.budget / UNITS_PER_ONE
    whole = {"pure": 1 / budget, "zcdp": 1 / math.sqrt(math.pi * budget), "gdp": math.sqrt(2 / math.pi / budget)}
    smooth = whole[measure.name] * (most / problem.budget) ** -p
    part = np.minimum(1.0, expected_errors(measure, np.maximum(1, np.ceil(most).astype(np.int64))) / smooth)
    given = (1 + p) * weight * least**-p @ (1 - part ** (1 / (1 + p)))
    bound = whole[measure.name] * (fitted.bound - float(given)) / total * (1 - 1e-6)
    return bound if bound > 0 else None


def _booked(measure: Measure, units: Units) -> Units:
    """The additive units that are left after the parameter was rounded down to whole units: no more than before."""
    if measure.power == 1:
        return units
    return book_each(parameter_units(measure, units), square_up, "the square of the largest mu")
