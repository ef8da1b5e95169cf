"""What strategies cost, against every row in exact arithmetic; and the noise that a cost buys."""

import math
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import ArgumentError, CostError, SizeError
from parcomp.experiments.workloads import uniform_workload
from parcomp.planning import plan, strategy_charge
from parcomp.planning.strategies import atoms, charge
from parcomp.planning.strategies.charge import charge_up, group_queries, largest_form, sigma_for
from parcomp.privacy.measures import GDP, PURE, ZCDP
from tests.soak import shared_with_soak
from tests.workloads import random_judged

LARGEST = [1, 3, 1_000, 2**20, 2**40, 2**61]
"""Sizes of entries: the last two do not fit 64 bits when they are squared."""


def heaviest(one, matrix):
    """The largest ‖H·w‖² over all rows, in Python's integers."""
    rows = [np.flatnonzero(row).tolist() for row in one.satisfied()]
    entries = matrix.tolist()
    return max((sum(sum(line[q] for q in row) ** 2 for line in entries) for row in rows), default=0)


def workloads(seed, count):
    """Random tiny workloads with at least one query."""
    draw = np.random.default_rng(seed)
    while count:
        one = random_judged(draw, most_queries=12)
        if len(one.workload):
            count -= 1
            yield draw, one


@pytest.mark.parametrize("chunk", shared_with_soak(60, 56))
def test_a_strategy_costs_what_the_dearest_of_all_rows_does(chunk):
    """To the unit, for entries of any size and sign, and a coordinate for each query or many.

    Some of 15,000 are refused, as their entries are too large; well over 10,000 are charged.
    σ is also set where the exact cost is a whole number of units, or a little more than one.
    """
    for draw, one in workloads(chunk, 50):
        for shape in range(5):
            count = len(one.workload)
            largest = LARGEST[draw.integers(len(LARGEST))]
            matrix = draw.integers(-largest, largest, (int(draw.integers(1, 5)), count), endpoint=True)
            if shape == 0:
                matrix = np.diag(matrix[0])
            form = heaviest(one, matrix)
            sigma = float(10 ** draw.uniform(-1, 6))
            if shape == 1 and form:
                # The cost is form·10⁹/(2σ²) units: with σ = √(form·10⁹/2u), that is u or next to it.
                sigma = math.sqrt(form * 10**9 / (2 * int(draw.integers(1, 10**9))))
            if shape == 2 and form:
                # A power of two, of which form·10⁹/(2σ²) is exact.
                sigma = math.ldexp(1.0, int(draw.integers(-2, 12)))
            try:
                units = strategy_charge(one.workload, matrix, sigma, ZCDP)
            except (CostError, SizeError):
                assert largest >= 2**40
                continue
            exact = Fraction(form) * 10**9 / (2 * Fraction(sigma) ** 2)
            assert units - 1 < exact <= units


def test_gaussian_differential_privacy_composes_shifts_of_integers():
    """μ² = Σ (d_j·μ*(σ))², with μ* worked out to 30 digits: never below, and hardly above."""
    mpmath.mp.dps = 30
    for draw, one in workloads(99, 40):
        matrix = draw.integers(-9, 10, (3, len(one.workload)))
        sigma = float(10 ** draw.uniform(-0.3, 1.3))
        total = 1 + 2 * mpmath.fsum(mpmath.exp(-(k**2) / (2 * mpmath.mpf(sigma) ** 2)) for k in range(1, 300))
        mu = 2 * mpmath.sqrt(2) * mpmath.erfinv(1 / total)
        exact = heaviest(one, matrix) * mu**2 * 10**9
        assert exact <= strategy_charge(one.workload, matrix, sigma, GDP) <= exact * (1 + 1e-9) + 1


@pytest.mark.parametrize("measure", [ZCDP, GDP], ids=["zcdp", "gdp"])
def test_planned_strategies_never_cost_more_than_their_budget(measure):
    """The matrix and σ of a plan, on every row: at most what it says, which is at most the budget, and hardly less."""
    for number, (draw, one) in enumerate(workloads(7, 60 if measure is ZCDP else 20)):
        budget = str(round(float(10 ** draw.uniform(-2, 1.5)), 9))
        importance = (10.0 ** draw.uniform(-1, 1, len(one.workload))).tolist() if number % 2 else None
        answer = plan(one.workload, measure.name, budget, strategy="correlated", importance=importance)
        if all(query.is_contradiction for query in one.workload):
            assert answer.matrix is None
            continue
        assert answer.strategy == "correlated"
        assert answer.matrix.dtype == np.int64
        cost = charge_up(measure, heaviest(one, answer.matrix), answer.sigma)
        assert 0.999 * answer.budget_units <= cost <= answer.loss_units <= answer.budget_units
        assert answer.budget_units == measure.budget_down(budget)
        assert Fraction(repr(answer.loss)) <= Fraction(budget)


def test_parts_add_up_or_take_the_maximum_where_rows_are_too_many(monkeypatch):
    """With few atoms to be listed, blocks are charged part by part: never less than on any row."""
    settled = 0
    for draw, one in workloads(3, 150):
        part, queries, group_of = group_queries(one.workload)
        if not len(queries):
            continue
        matrix = np.zeros((0, len(part.queries)), np.int64)
        for below in part.parts or (part,):
            block = np.zeros((2, len(part.queries)), np.int64)
            block[:, below.queries] = draw.integers(-9, 10, (2, len(below.queries)))
            matrix = np.concatenate((matrix, block))
        whole = np.zeros((len(matrix), len(one.workload)), np.int64)
        # One query of each group carries its column.
        first = np.unique(group_of, return_index=True)[1]
        whole[:, queries[first]] = matrix
        exact = heaviest(one, whole)
        assert largest_form(part, matrix, time.monotonic() + 1) == exact
        monkeypatch.setattr(atoms, "ATOM_LIMIT", 6)
        bound = largest_form(part, matrix, time.monotonic() + 1)
        monkeypatch.undo()
        assert bound is None or bound == exact
        settled += bound is not None and bool(part.parts)
    assert settled > 5


def test_a_coordinate_that_reads_two_parts_is_charged_on_their_common_rows():
    """Two attributes apart: the sum of both counts moves by 2 where a row has both."""
    domain = pc.Domain({"a": pc.Integer(0, 3), "b": pc.Integer(0, 3)})
    workload = pc.Workload(domain, [domain.query(a=0), domain.query(b=0)])
    assert strategy_charge(workload, np.array([[1, 1]]), 1.0, ZCDP) == 2 * 10**9
    assert strategy_charge(workload, np.array([[1, 0], [0, 1]]), 1.0, ZCDP) == 10**9
    assert strategy_charge(workload, np.array([[1, -1]]), 1.0, ZCDP) == 5 * 10**8


def test_separate_coordinates_are_charged_by_a_proven_bound_of_the_overlap(monkeypatch):
    """Where rows cannot be listed and time is short, a row that is found later costs no more."""
    workload = uniform_workload(60, 10, 2, seed=2)
    entries = np.random.default_rng(1).integers(1, 100, 60)
    units = strategy_charge(workload, np.diag(entries), 100.0, ZCDP, time_limit=1e-3)
    later = pc.max_overlap(workload.with_costs(entries**2, "weight"), time_limit=2.0)
    # Weights are in units of 10⁻⁹.
    assert units >= Fraction(repr(later.lower)) * 10**9 * 10**9 / (2 * 100**2)
    monkeypatch.setattr(charge, "list_atoms", lambda compiled, deadline: None)
    with pytest.raises(SizeError, match="too many"):
        strategy_charge(workload, np.ones((1, 60), np.int64), 1.0, ZCDP)


def test_sigma_is_the_least_that_fits():
    """At σ the cost fits; at a σ that is smaller by 10⁻⁹ it does not."""
    draw = np.random.default_rng(4)
    for number in range(300):
        measure = (ZCDP, GDP)[number % 2]
        form, units = int(10 ** draw.uniform(4, 14)), int(10 ** draw.uniform(6, 10))
        sigma = sigma_for(measure, form, units)
        assert charge_up(measure, form, sigma) <= units < charge_up(measure, form, sigma * (1 - 1e-8)) + 2


def test_bad_strategies_are_refused():
    """A measure without Gaussian noise, a matrix of another shape or type, a σ that is none."""
    domain = pc.Domain({"a": pc.Integer(0, 3)})
    workload = pc.Workload(domain, [domain.query(a=0), domain.query(a=1)])
    with pytest.raises(ArgumentError, match="not ε-differentially private"):
        strategy_charge(workload, np.eye(2, dtype=np.int64), 1.0, PURE)
    for wrong in (np.eye(3, dtype=np.int64), np.eye(2), np.ones(2, np.int64)):
        with pytest.raises(ArgumentError, match="column"):
            strategy_charge(workload, wrong, 1.0, ZCDP)
    for wrong in (0.0, -1.0, math.nan, math.inf, 1):
        with pytest.raises(ArgumentError, match="sigma"):
            strategy_charge(workload, np.eye(2, dtype=np.int64), wrong, ZCDP)
    with pytest.raises(CostError, match="too large"):
        strategy_charge(workload, np.full((2, 2), -(2**63)), 1.0, ZCDP)


@pytest.mark.parametrize("largest", [1, 2**40])
def test_a_strategy_is_not_charged_by_what_was_looked_at_when_the_time_was_up(monkeypatch, largest):
    """In 64 bits or beyond, what is not looked at to the end is not known."""
    workload = uniform_workload(12, 4, 2, seed=1)
    matrix = np.full((2, 12), largest)
    whole, queries, group_of = charge.group_queries(workload)
    listed = charge.list_atoms(whole.compiled)
    own = matrix[:, queries][:, np.unique(group_of, return_index=True)[1]]
    exact = charge.largest_of_atoms(own, listed)
    monkeypatch.setattr(charge, "_STEPS", 1)
    assert charge.largest_of_atoms(own, listed) == exact
    assert charge.largest_of_atoms(own, listed, time.monotonic() - 1) is None
    with pytest.raises(SizeError):
        strategy_charge(workload, matrix, 1.0, ZCDP, time_limit=-1.0)
