"""Plans against brute force: never over budget on any row, whatever is asked for, and as good as they claim to be."""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import ArgumentError, CostError, WorkloadError
from parcomp.experiments.workloads import uniform_workload
from parcomp.planning import costs_for_errors, expected_errors, plan, required_budget, rows
from parcomp.privacy.loss import privacy_loss
from parcomp.privacy.measures import GDP, MEASURES, PURE
from parcomp.samples import census_sample, paper_example
from tests.workloads import random_judged

OBJECTIVES = ["mean", "max", "uniform"]


@pytest.fixture(params=["rows written out", "rows searched"])
def source(request, monkeypatch):
    """Both ways to find rows."""
    if request.param == "rows searched":
        monkeypatch.setattr(rows, "_WRITTEN_OUT", 0)


def judged(count, least=1):
    """Random tiny workloads with at least so many queries that are no contradictions."""
    draw = np.random.default_rng(7)
    found = 0
    while found < count:
        one = random_judged(draw)
        if sum(not query.is_contradiction for query in one.workload) >= least:
            found += 1
            yield draw, one


def spent(one, answer):
    """What the heaviest row costs, in additive units, by looking at every row."""
    return replace(one, weights=answer.units.tolist()).truth()


def test_never_over_budget_on_any_row(source):
    """All measures and objectives, odd budgets, importance: brute force finds no row above the budget or the loss."""
    for number, (draw, one) in enumerate(judged(90)):
        measure = list(MEASURES)[number % 3]
        objective = OBJECTIVES[number // 3 % 3]
        importance = None
        if objective != "uniform" and draw.random() < 0.5:
            importance = (10.0 ** draw.uniform(-2, 2, len(one.workload))).tolist()
        budget = str(round(float(10 ** draw.uniform(-2, 1.5)), 9))
        answer = plan(one.workload, measure, budget, objective, importance=importance)
        heaviest = spent(one, answer)
        assert heaviest <= answer.loss_units <= answer.budget_units
        assert answer.loss <= float(budget)
        # Nothing is wasted: the heaviest row takes the budget, but for the tolerance of the search.
        assert heaviest >= 0.99 * answer.budget_units or objective == "uniform"
        empty = [query.is_contradiction for query in one.workload]
        assert (answer.units[empty] == 0).all()
        assert (answer.expected_errors[empty] == 0).all()
        assert (answer.units >= 1).sum() == len(one.workload) - sum(empty)
        assert answer.mean_error <= 1.01 * answer.uniform_mean_error or importance is not None


def test_never_over_budget_on_wide_attributes(source):
    """An attribute of 65 to 300 values, budgets of all sizes: brute force over all rows finds none above the budget."""
    draw = np.random.default_rng(19)
    for number in range(18):
        one = random_judged(draw, wide=True)
        measure = list(MEASURES)[number % 3]
        largest = 4.0 if measure == "gdp" else 7.5
        budget = str(round(float(10 ** draw.uniform(-3, largest)), 9))
        answer = plan(one.workload, measure, budget, OBJECTIVES[number // 3 % 3])
        assert spent(one, answer) <= answer.loss_units <= answer.budget_units == MEASURES[measure].budget_down(budget)
        power = 2 if measure == "gdp" else 1
        assert Fraction(answer.loss_units, 10**9) <= Fraction(repr(answer.loss)) ** power


def test_a_plan_may_be_made_for_a_budget_in_units(source):
    """Every unit counts: few of them are shared out on every row, or the error says that they are too few."""
    refused = 0
    for number, (draw, one) in enumerate(judged(40)):
        measure = list(MEASURES.values())[number % 3]
        units = int(draw.integers(1, 60))
        try:
            answer = plan(one.workload, measure.name, budget_units=units)
        except CostError:
            refused += 1
            continue
        assert spent(one, answer) <= answer.loss_units <= units
        assert (answer.units >= 1).sum() == sum(not query.is_contradiction for query in one.workload)
    assert 0 < refused < 40


@pytest.mark.parametrize(("objective", "seconds"), list(product(OBJECTIVES, [1e-3, 0.1])))
def test_at_a_time_out_a_plan_rests_on_proven_bounds(objective, seconds):
    """Where the heaviest row is only bracketed, a row found later is still within the loss that the plan states."""
    for seed in range(2):
        workload = uniform_workload(90, 10, 2, seed=seed)
        answer = plan(workload, budget=1, objective=objective, time_limit=seconds)
        assert answer.loss_units <= answer.budget_units
        later = pc.max_overlap(answer.priced(), time_limit=1.0)
        assert Fraction(repr(later.lower)) * 10**9 <= answer.loss_units
        # The test would be idle if the bracket were closed in so little time.
        assert seconds > 1e-3 or later.lower < 0.9


def test_ceilings_at_a_time_out_rest_on_proven_bounds():
    """The budget that ceilings are said to need holds for a row that is found later."""
    for seed in range(3):
        workload = uniform_workload(90, 10, 2, seed=seed)
        one = int(costs_for_errors(PURE, np.array([20.0]))[0])
        needed = required_budget(workload, 20, time_limit=1e-3)
        gamma = pc.max_overlap(workload, time_limit=1.0).lower
        assert Fraction(repr(needed)) * 10**9 >= gamma * one


def test_costs_that_would_overflow_are_refused():
    """Many disjoint queries may each cost the whole of a large budget: their sum must not wrap around."""
    domain = pc.Domain({"a": pc.Integer(0, 9)})
    workload = pc.Workload(domain, [domain.query(a=value) for value in range(10)])
    assert plan(workload, budget=4 * 10**8).loss <= 4 * 10**8
    for objective in OBJECTIVES:
        if objective != "uniform":
            with pytest.raises(CostError, match="more than 64 bits hold"):
                plan(workload, budget=4 * 10**9, objective=objective)


def test_the_loss_is_what_privacy_loss_says(source):
    """The plan's costs, written into the workload, are charged no more than the plan promises."""
    for number, (_, one) in enumerate(judged(9)):
        measure = list(MEASURES)[number % 3]
        answer = plan(one.workload, measure, "0.7")
        assert privacy_loss(answer.priced(), measure).loss <= answer.loss * (1 + 1e-12) <= 0.7 * (1 + 1e-12)


def test_searched_and_written_out_rows_agree(monkeypatch):
    """Looking for rows leads to the same objective as writing all of them out."""
    for number, (_, one) in enumerate(judged(30, least=5)):
        objective = OBJECTIVES[number % 2]
        measure = list(MEASURES)[number % 3]
        monkeypatch.setattr(rows, "_WRITTEN_OUT", 1 << 24)
        written = plan(one.workload, measure, 1, objective)
        monkeypatch.setattr(rows, "_WRITTEN_OUT", 0)
        searched = plan(one.workload, measure, 1, objective)
        assert searched.mean_error == pytest.approx(written.mean_error, rel=5e-3)
        assert searched.worst_error == pytest.approx(written.worst_error, rel=5e-3) or objective == "mean"


def test_max_has_the_worst_error_of_uniform_and_leaves_nothing_to_raise(source):
    """The worst error is that of one cost for all; beyond it, every query is held by a row that is full."""
    for _, one in judged(15):
        answer = plan(one.workload, "pure", 1, "max")
        uniform = plan(one.workload, "pure", 1, "uniform")
        assert answer.worst_error <= 1.002 * uniform.worst_error
        assert answer.mean_error <= 1.002 * uniform.mean_error
        for position, query in enumerate(one.workload):
            if query.is_contradiction:
                continue
            raised = answer.units.copy()
            raised[position] += int(0.005 * answer.budget_units)
            assert replace(one, weights=raised.tolist()).truth() > answer.budget_units


def test_importance_beyond_what_floating_point_tells_apart_is_an_error():
    """Up to a factor of 10¹² the plan is made; beyond, the error says so."""
    domain = pc.Domain({"a": pc.Integer(0, 9)})
    workload = pc.Workload(domain, [domain.query(a=[0, 1]), domain.query(a=[1, 2]), domain.query(a=5)])
    assert plan(workload, budget=1, importance=[1e-6, 1, 1e6]).loss <= 1
    for importance in ([1e-7, 1, 1e6], [1e-300, 1, 1e300]):
        with pytest.raises(WorkloadError, match="differ in importance by a factor of 1,000,000,000,000 at most"):
            plan(workload, budget=1, importance=importance)


def test_importance_moves_budget_to_what_matters():
    """Two equal queries share by the root of their importance under Laplace noise."""
    domain = pc.Domain({"a": pc.Categorical(["x", "y"])})
    workload = pc.Workload(domain, [domain.query(), domain.query(), domain.query(a="x")], ids=["p", "q", "r"])
    answer = plan(workload[[0, 1]], budget=1, importance=[1, 4])
    assert answer.costs == pytest.approx([1 / 3, 2 / 3], rel=1e-5)
    assert plan(workload, budget=1, importance={"p": 9}).costs[0] > plan(workload, budget=1).costs[0]
    worst = plan(workload[[0, 1]], "zcdp", 1, "max", importance=[1, 2])
    assert worst.costs == pytest.approx([1 / 5, 4 / 5], rel=1e-6)


def test_required_budget_is_the_overlap_of_the_costs_that_ceilings_ask_for(source):
    """Brute force agrees; a plan within it keeps the ceilings, and one below it is refused."""
    for number, (draw, one) in enumerate(judged(24)):
        measure = MEASURES[list(MEASURES)[number % 3]]
        ceilings = [float(error) for error in draw.choice([2.0, 5.0, 20.0], len(one.workload))]
        if number % 2:
            ceilings[0] = None
        if measure is GDP and number > 9:
            continue  # inverting its errors takes half a second each time
        bounded = np.array([20.0 if error is None else error for error in ceilings])
        least = costs_for_errors(measure, bounded) * np.array([error is not None for error in ceilings])
        needed = replace(one, weights=least.tolist()).truth()
        if needed == 0:
            continue
        assert required_budget(one.workload, ceilings, measure.name) == measure.parameter_up(needed)
        objective = OBJECTIVES[number // 2 % 2]
        enough = float(measure.parameter_up(needed))
        results = [plan(one.workload, measure.name, str(1.5 * enough), objective, ceilings=ceilings)]
        if number % 2 == 0:
            results.append(plan(one.workload, measure.name, None, objective, ceilings=ceilings))
            assert results[1].budget_units == needed
            # More budget is worth having: the rows that were full are not any more.
            assert results[0].mean_error < results[1].mean_error
        for result in results:
            assert spent(one, result) <= result.loss_units <= result.budget_units
            for error, ceiling in zip(result.expected_errors, ceilings, strict=True):
                assert ceiling is None or error <= ceiling
        with pytest.raises(CostError, match="does not keep the ceilings"):
            plan(one.workload, measure.name, str(0.9 * enough), ceilings=ceilings)


def test_ceilings_that_leave_nothing_for_others():
    """Of two queries on the same rows, one has a ceiling that takes the whole of the budget."""
    domain = pc.Domain({"a": pc.Categorical(["x", "y"])})
    workload = pc.Workload(domain, [domain.query(), domain.query()])
    for objective in ("mean", "max"):
        with pytest.raises(CostError, match="query without one"):
            plan(workload, budget=None, objective=objective, ceilings=[20, None])


def test_what_budget_for_plus_minus_twenty():
    """One ceiling for all on a census sample: the budget is γ times what one query needs."""
    workload = census_sample(300, 3)
    gamma = pc.max_overlap(workload).upper
    one = int(costs_for_errors(PURE, np.array([20.0]))[0])
    assert required_budget(workload, 20) == pytest.approx(gamma * one * 1e-9)
    answer = plan(workload, budget=None, ceilings=20)
    assert answer.worst_error <= 20
    assert answer.mean_error < 0.7 * 20


@pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
def test_costs_for_errors_are_the_least(measure):
    """One unit less would miss the ceiling."""
    for error in (0.001, 0.4, 1.0, 3.7, 20.0, 1234.5):
        cost = costs_for_errors(measure, np.array([error]))
        assert expected_errors(measure, cost)[0] <= error
        assert expected_errors(measure, cost - 1)[0] > error


def test_gdp_costs_are_roots_rounded_down():
    """μ is a whole number of units whose square is within the additive cost."""
    answer = plan(census_sample(100, 2), "gdp", "0.3")
    assert answer.budget_units == 90_000_000
    squares = np.array([round(cost * 1e9) ** 2 for cost in answer.costs])
    assert (squares <= answer.units * 10**9).all()
    assert (answer.priced().additive_units() == answer.units).all()
    assert answer.loss <= 0.3


def test_workloads_of_nothing():
    """No query at all, or contradictions only, costs nothing and is answered without error."""
    domain = pc.Domain({"a": pc.Categorical(["x", "y"])})
    for queries in ([], [domain.query(a=[]), domain.query(a="z")]):
        answer = plan(pc.Workload(domain, queries), budget=1)
        assert answer.costs == [0] * len(queries)
        assert (answer.loss, answer.mean_error, answer.worst_error) == (0, 0.0, 0.0)


def test_queries_without_constraints_share_evenly(source):
    """Every row covers all of them: nothing is gained over sequential composition."""
    domain = pc.Domain({"a": pc.Categorical(["x", "y"])})
    answer = plan(pc.Workload(domain, [domain.query()] * 4), budget=1)
    assert answer.costs == pytest.approx([0.25] * 4, rel=1e-5)
    assert answer.mean_error == pytest.approx(answer.sequential_mean_error, rel=1e-5)


def test_bad_input_is_refused():
    """The message says what is wrong; nothing is computed."""
    workload = paper_example()
    for budget in (-1, 0, float("nan"), "many", float("inf")):
        with pytest.raises(CostError):
            plan(workload, budget=budget)
    with pytest.raises(ArgumentError, match="unknown measure 'renyi'"):
        plan(workload, "renyi", 1)
    with pytest.raises(ArgumentError, match="unknown objective 'best'"):
        plan(workload, budget=1, objective="best")
    with pytest.raises(ArgumentError, match="time limit"):
        plan(workload, budget=1, time_limit=float("nan"))
    with pytest.raises(CostError, match="needs a budget"):
        plan(workload, budget=None)
    priced = workload.with_costs(np.full(6, 10**9), "rho")
    with pytest.raises(WorkloadError, match="costs in rho; a plan under pure is in epsilon"):
        plan(priced, budget=1)
    with pytest.raises(WorkloadError, match="rho"):
        required_budget(priced, 20, "gdp")
    assert plan(priced, "zcdp", 1).loss <= 1
    with pytest.raises(WorkloadError, match="5 queries, but there are 6"):
        plan(workload, budget=1, importance=[1] * 5)
    with pytest.raises(WorkloadError, match="the id of no query"):
        plan(workload, budget=1, importance={"q9": 2})
    for wrong in (0, -1, float("nan"), True, "much"):
        with pytest.raises(ArgumentError, match="must be a positive number"):
            plan(workload, budget=1, importance=[wrong] * 6)
        with pytest.raises(ArgumentError, match="must be a positive number"):
            plan(workload, budget=1, ceilings=wrong)
    with pytest.raises(ArgumentError, match="takes no importance"):
        plan(workload, budget=1, objective="uniform", importance=[1] * 6)
    with pytest.raises(CostError, match="too small"):
        plan(workload, budget="0.000000002")
    with pytest.raises(CostError, match="no cost"):
        plan(workload, budget=1, ceilings=1e-310)


@pytest.mark.parametrize("measure", list(MEASURES))
def test_no_costs_have_a_mean_error_below_the_bound(measure, source):
    """Random costs and those of the plan, moved a little, scaled to the budget on the heaviest of all rows."""
    bounded = 0
    for draw, one in judged(12, least=2):
        importance = 10.0 ** draw.uniform(-1, 1, len(one.workload))
        budget = str(round(float(10 ** draw.uniform(-1, 0.3)), 9))
        answer = plan(one.workload, measure, budget, importance=importance.tolist())
        if answer.lower_bound is None:
            continue
        bounded += 1
        assert answer.lower_bound <= answer.mean_error
        for spread in (0.01, 0.1, 1.0):
            costs = answer.units * np.exp(draw.normal(0, spread, len(answer.units)))
            units = np.where(answer.units > 0, np.ceil(costs), 0).astype(np.int64)
            # Rounded up, so that these costs spend the budget or a little more.
            top = replace(one, weights=units.tolist()).truth()
            units = np.array([-(-unit * answer.budget_units // top) for unit in units.tolist()], np.int64)
            errors = np.zeros(len(units))
            errors[units > 0] = expected_errors(MEASURES[measure], units[units > 0])
            assert importance @ errors / importance.sum() >= answer.lower_bound
    assert bounded > 6


def test_progress_hears_of_every_round(source):
    """Rounds are counted from 1, and the last heaviest row is within the budget."""
    heard = []
    answer = plan(census_sample(60, 0), budget=1, progress=lambda rounds, heaviest: heard.append((rounds, heaviest)))
    assert [rounds for rounds, _ in heard] == list(range(1, answer.rounds + 1))
    assert heard[-1][1] <= 1.001 + 1e-9


def test_a_time_limit_leaves_a_plan_that_fits():
    """With hardly any time, the plan is worse but still proven."""
    workload = census_sample(80, 4)
    answer = plan(workload, "gdp", 1, time_limit=1e-3)
    assert pc.max_overlap(answer.priced()).upper <= answer.loss_units * 1e-9 <= GDP.budget_down(1) * 1e-9


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_queries_that_do_not_meet_have_the_whole_budget_each_however_many_they_are(objective):
    domain = pc.Domain({"a": pc.Integer(0, 99), "b": pc.Integer(0, 119)})
    workload = pc.Workload.product(domain, {"a": list(range(100)), "b": list(range(120))})
    began = time.process_time()
    answer = plan(workload, "gdp", "0.1", objective, importance=None if objective == "uniform" else 2.0)
    assert time.process_time() - began < 15
    assert answer.loss_units == answer.budget_units == 10**7
    assert (answer.units == 10**7).all()
    assert answer.gap == (None if objective == "uniform" else 0)
    assert objective != "mean" or answer.lower_bound == pytest.approx(answer.mean_error, rel=1e-3)


def test_cells_with_their_margins_keep_the_time_limit_and_fit():
    """9,221 queries whose rows can neither be written out nor held: no row costs more than the budget."""
    domain = pc.Domain({"a": pc.Integer(0, 99), "b": pc.Integer(0, 89)})
    ages, regions = list(range(100)), list(range(90))
    cells = list(pc.Workload.product(domain, {"a": ages, "b": regions}))
    margins = [domain.query(a=value) for value in ages] + [domain.query(b=value) for value in regions]
    began = time.monotonic()
    answer = plan(pc.Workload(domain, [*cells, *margins, domain.query()]), "gdp", "0.1", time_limit=4.0)
    assert time.monotonic() - began < 40
    cell, margin = answer.units[:9000].reshape(100, 90), answer.units[9000:]
    rows = cell + margin[:100, np.newaxis] + margin[100:190] + margin[190]
    assert rows.max() <= answer.loss_units <= answer.budget_units
    assert answer.mean_error < answer.uniform_mean_error


@pytest.mark.parametrize("ceiling", [None, 1.3])
def test_where_rows_cannot_be_held_costs_fit_all_the_same(monkeypatch, ceiling):
    """One query of the row that most queries share takes most of the budget; the others have to make room."""
    monkeypatch.setattr(rows, "_WRITTEN_OUT", 0)
    monkeypatch.setattr(rows, "_HELD", 0)
    workload = census_sample(60, 1)
    dear = pc.max_overlap(workload).members[0]
    ceilings = None if ceiling is None else {dear: ceiling}
    answer = plan(workload, budget=1, ceilings=ceilings, time_limit=5.0)
    overlap = pc.max_overlap(workload.with_costs(answer.units, "weight"), time_limit=10.0)
    assert round(overlap.lower * 10**9) <= answer.loss_units <= answer.budget_units == 10**9
    if ceiling is not None:
        assert answer.expected_errors[workload.ids.index(dear)] <= ceiling
