"""Costs that are moved to fit a budget, unit by unit, against brute force."""

from dataclasses import replace

import numpy as np

from parcomp.planning.fit import shrink, shrink_rows
from parcomp.planning.problem import allocation_problem
from parcomp.planning.rows import EveryRow
from tests.workloads import random_judged


def heaviest(one, problem, per_class):
    """What the heaviest row costs, by looking at every row."""
    units = np.zeros(len(one.workload), np.int64)
    units[problem.queries] = per_class[problem.class_of]
    return replace(one, weights=units.tolist()).truth()


def test_shrunk_costs_fit_to_the_unit():
    """Few units, so that rounding one cost up instead of down would show; least costs are kept."""
    draw = np.random.default_rng(5)
    shrunk = 0
    for number in range(200):
        one = random_judged(draw)
        size = len(one.workload)
        least = draw.integers(0, 4, size) if number % 2 else np.zeros(size, np.int64)
        problem = allocation_problem(one.workload, np.ones(size), least, 1)
        if not len(problem.queries):
            continue
        units = problem.least_units + draw.integers(1, 30, len(problem.count))
        upper, least_upper = heaviest(one, problem, units), heaviest(one, problem, problem.least_units)
        problem = replace(problem, budget=int(draw.integers(max(1, least_upper), upper + 1)))
        shrunk += problem.budget < upper
        for fitted in (
            shrink(problem, units, upper, least_upper),
            shrink_rows(problem, EveryRow(problem.reduced), units),
        ):
            assert heaviest(one, problem, fitted) <= problem.budget
            assert (fitted >= problem.least_units).all()
            assert (fitted <= units).all()
    assert shrunk > 100
