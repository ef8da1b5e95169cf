"""Plans for the census workload of paper §7.2: every cell checked, the stated gains, and a general convex solver."""

from functools import cache
from itertools import product
from statistics import mean

import cvxpy
import numpy as np
import pytest
from scipy import optimize

from parcomp.experiments.workloads import boxes, census_sample, points, uniform_workload
from parcomp.overlap.maximum import max_overlap
from parcomp.planning import cutting_planes, plan

SEEDS = range(30)


@cache
def cells(workload):
    """Which queries cover each of the 280 cells, at the lowest income, which every query asks for."""
    sizes = [attribute.size for attribute in workload.domain.attributes.values()][1:]
    grid = np.array(list(product(*map(range, sizes))))
    covered = np.ones((len(grid), len(workload)), np.int64)
    for position, query in enumerate(workload):
        for attribute, predicate in query.terms:
            flags = predicate.flags_at(np.arange(predicate.size if attribute else 1))
            if attribute == 0:
                assert flags[0]
            else:
                covered[:, position] &= flags[grid[:, attribute - 1]]
    assert len(covered) == 280
    return covered


@cache
def sample(t, seed):
    """A sample, once."""
    return census_sample(t, seed)


@pytest.mark.parametrize(("measure", "goal"), [("pure", 0.5), ("zcdp", 0.66)])
def test_thirty_samples_of_a_thousand(measure, goal):
    """No cell is over budget, and the mean scale of the noise is at most so much of the uniform plan's."""
    ratios = []
    for seed in SEEDS:
        workload = sample(1_000, seed)
        answer = plan(workload, measure, 1)
        covered = cells(workload)
        assert (covered @ answer.units).max() <= answer.loss_units <= answer.budget_units
        gamma = covered.sum(axis=1).max()
        # Laplace noise of scale 1/ε, Gaussian noise of σ = 1/√(2ρ).
        power = -1.0 if measure == "pure" else -0.5
        ratios.append(float(np.mean((answer.units * 1e-9) ** power)) / gamma**-power)
        assert answer.gap < 1e-4
    assert mean(ratios) <= goal


@pytest.mark.parametrize(("t", "measure"), [(200, "pure"), (200, "zcdp"), (1_000, "pure"), (1_000, "gdp")])
def test_within_a_hundredth_of_a_general_convex_solver(t, measure):
    """CVXPY with all cells written out and a variable for each query finds nothing better by more than 1 %."""
    workload = sample(t, 1)
    covered = cells(workload)
    cost = cvxpy.Variable(t)
    error = cvxpy.inv_pos(cost) if measure == "pure" else cvxpy.power(cost, -0.5)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(error) / t), [covered @ cost <= 1])
    optimum = problem.solve(solver="CLARABEL")
    answer = plan(workload, measure, 1)
    power = -1.0 if measure == "pure" else -0.5
    assert float(np.mean((answer.units / answer.budget_units) ** power)) <= 1.0005 * optimum


def test_max_plan_against_linear_programs():
    """Each level of progressive filling, by a linear program: the least cost of all that are not yet settled."""
    workload = sample(60, 5)
    covered = cells(workload).astype(float)
    answer = plan(workload, "pure", 1, "max")
    settled = np.full(60, np.nan)
    while np.isnan(settled).any():
        rising = np.isnan(settled)
        load = covered[:, ~rising] @ settled[~rising]
        count = covered[:, rising].sum(axis=1)
        used = count > 0
        level = optimize.linprog([-1.0], A_ub=count[used, None], b_ub=1 - load[used]).x[0]
        full = load + level * count > 1 - 1e-9
        settled[rising & covered[full & used].any(axis=0).astype(bool)] = level
    assert answer.units * 1e-9 == pytest.approx(settled, rel=1e-5)


def test_two_thousand_queries():
    """A larger sample is no problem."""
    workload = sample(2_000, 0)
    answer = plan(workload, "gdp", "0.5")
    assert (cells(workload) @ answer.units).max() <= answer.loss_units <= 250_000_000
    assert answer.seconds < 10


def test_rows_join_the_pool_where_they_are_many(monkeypatch):
    """With a small pool at first, rows are found as they are needed, and the optimum is the same."""
    whole = plan(sample(500, 2), budget=1)
    monkeypatch.setattr(cutting_planes, "_SMALL_POOL", 0)
    grown = plan(sample(500, 2), budget=1)
    assert grown.rounds > 1
    assert grown.mean_error == pytest.approx(whole.mean_error, rel=1e-3)
    monkeypatch.setattr(cutting_planes, "_LARGE_POOL", 150)
    assert plan(sample(500, 2), budget=1).mean_error == pytest.approx(whole.mean_error, rel=2e-3)


@pytest.mark.parametrize(
    "workload",
    [boxes(80, 3, 1_000, 0), points(80, 10, 5, 0), uniform_workload(40, 10, 2, 0), uniform_workload(100, 10, 2, 0)],
    ids=["boxes", "points", "uniform t=40", "uniform t=100"],
)
def test_workloads_with_too_many_rows_to_write_out(workload):
    """The plan fits by an independent overlap, and is no worse than the uniform one."""
    answer = plan(workload, "zcdp", 1, time_limit=4.0)
    overlap = max_overlap(answer.priced(), time_limit=2.0)
    assert overlap.lower * 1e9 <= answer.loss_units + 0.5
    assert answer.loss <= 1
    assert answer.mean_error <= answer.uniform_mean_error * (1 + 1e-9)
