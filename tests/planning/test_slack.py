"""Raising costs by the admission lemma, against brute force."""

import time
from dataclasses import replace

import numpy as np
import pytest

import parcomp as pc
from parcomp.experiments.workloads import uniform_workload
from parcomp.overlap.rows.every_row import brute_force
from parcomp.planning import slack
from parcomp.planning.problem import allocation_problem
from parcomp.planning.slack import raise_costs, within_coverage
from tests.workloads import random_judged


def problems(count, budget):
    """Random tiny problems without least costs, each with the workload that it came from."""
    draw = np.random.default_rng(11)
    for _ in range(count):
        one = random_judged(draw)
        size = len(one.workload)
        problem = allocation_problem(one.workload, np.ones(size), np.zeros(size, np.int64), budget)
        if len(problem.queries):
            yield draw, one, problem


def test_within_coverage_weighs_the_rows_that_a_query_covers():
    """Restricting to a query's coverage gives what making that query overwhelmingly heavy gives."""
    for draw, _, problem in problems(60, 1):
        weights = draw.integers(1, 100, problem.group_count)
        compiled = replace(problem.reduced, weights=weights)
        for query in range(problem.group_count):
            heavy = weights.copy()
            heavy[query] += 10**6
            assert (
                brute_force(within_coverage(compiled, query))[0] + 10**6
                == brute_force(replace(compiled, weights=heavy))[0]
            )


def test_raised_costs_fit_and_leave_little():
    """From a tenth of the uniform plan, no row ends above the budget, and no query could be raised by a hundredth."""
    budget = 10**9
    for _, one, problem in problems(40, budget):
        units = np.full(len(problem.count), budget // (10 * len(one.workload)))
        raised = raise_costs(problem, units, time.monotonic() + 60)
        assert (raised >= units).all()
        costs = np.zeros(len(one.workload), np.int64)
        costs[problem.queries] = raised[problem.class_of]
        assert replace(one, weights=costs.tolist()).truth() <= budget
        for position in problem.queries.tolist():
            more = costs.copy()
            more[position] += max(int(0.1 * costs[position]), 10**6)
            assert replace(one, weights=more.tolist()).truth() > budget


def test_no_time_changes_nothing():
    """At the deadline the costs are returned as they are."""
    for _, _, problem in problems(3, 10**9):
        units = np.full(len(problem.count), 1_000)
        assert (raise_costs(problem, units, time.monotonic() - 1) == units).all()


def test_raised_costs_never_wrap_around():
    """Disjoint queries may each cost nearly the budget; beside a query that meets them all, their sum must fit."""
    domain = pc.Domain({"a": pc.Integer(0, 19)})
    queries = [domain.query(), *(domain.query(a=value) for value in range(20))]
    budget = 2**61
    problem = allocation_problem(pc.Workload(domain, queries), np.ones(21), np.zeros(21, np.int64), budget)
    for first in (2**50, 2**57):
        raised = raise_costs(problem, np.full(len(problem.count), first), time.monotonic() + 60)
        units = raised[problem.class_of].tolist()
        assert min(units) >= first
        assert units[0] + max(units[1:]) <= budget
        assert sum(units) < 2**62


@pytest.mark.parametrize("work", [0, 1 << 12])
def test_slack_is_what_is_proven_not_what_was_found(monkeypatch, work):
    """With hardly any work the bound within a coverage is open: a row found later is still within the budget."""
    monkeypatch.setattr(slack, "_WORK", work)
    workload = uniform_workload(90, 10, 2, seed=1)
    budget = 10**9
    problem = allocation_problem(workload, np.ones(90), np.zeros(90, np.int64), budget)
    first = np.full(len(problem.count), budget // 90)
    raised = raise_costs(problem, first, time.monotonic() + 2)
    units = np.ones(90, np.int64)
    units[problem.queries] = raised[problem.class_of]
    assert (raised > first).any()
    assert pc.max_overlap(workload.with_costs(units, "weight"), time_limit=1.0).lower <= 1
