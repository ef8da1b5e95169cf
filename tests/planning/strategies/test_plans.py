"""Plans with a strategy: as good as they claim, chosen by what they predict, and said to be what they are."""

import math

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import ArgumentError
from parcomp.experiments.workloads import marginals, uniform_workload
from parcomp.planning import expected_errors, plan
from parcomp.planning.strategies import atoms, correlated
from parcomp.privacy.measures import GDP, MEASURES, PURE
from parcomp.samples import census_sample, paper_example
from tests.workloads import random_judged


def judged(count, seed=6):
    draw = np.random.default_rng(seed)
    while count:
        one = random_judged(draw, most_queries=10)
        if any(not query.is_contradiction for query in one.workload):
            count -= 1
            yield draw, one


@pytest.mark.parametrize("measure", list(MEASURES))
def test_auto_takes_what_has_the_least_error(measure):
    """Whatever is asked for by name has no less; without a strategy there is no less either."""
    chosen = set()
    for draw, one in judged(25):
        budget = str(round(float(10 ** draw.uniform(-1.5, 0.5)), 9))
        options = ["independent", "atoms"] + (["correlated"] if measure != "pure" else [])
        means = {name: plan(one.workload, measure, budget, strategy=name).mean_error for name in options}
        answer = plan(one.workload, measure, budget, strategy="auto")
        assert answer.mean_error <= min(means.values()) * (1 + 1e-9)
        assert answer.loss_units <= answer.budget_units
        assert answer.lower_bound is None or answer.lower_bound <= answer.mean_error
        chosen.add(answer.strategy)
    assert chosen >= {"atoms" if measure == "pure" else "correlated"}


def test_expected_errors_are_those_of_the_covariance():
    """√(2/π)·σ times the norm of each row of the pseudoinverse, rounded up; equal queries get equal answers."""
    for _, one in judged(30, seed=8):
        answer = plan(one.workload, "gdp", 1, strategy="correlated")
        norms = np.linalg.norm(np.linalg.pinv(answer.matrix.astype(float)), axis=1)
        exact = math.sqrt(2 / math.pi) * answer.sigma * norms
        asked = ~np.array([query.is_contradiction for query in one.workload])
        assert answer.expected_errors[asked] == pytest.approx(exact[asked], rel=1e-7)
        assert (answer.expected_errors[asked] >= exact[asked] * (1 - 1e-9)).all()
        assert (answer.expected_errors[~asked] == 0).all()
        assert not answer.matrix[:, ~asked].any()


def test_costs_are_those_of_noise_with_the_same_error():
    """What a query of a strategy is said to cost buys independent noise of the same expected error."""
    for measure in MEASURES.values():
        answer = plan(paper_example(), measure.name, 1, strategy="auto")
        assert answer.strategy != "independent"
        assert expected_errors(measure, answer.units) == pytest.approx(answer.expected_errors, rel=1e-5)
        with pytest.raises(ArgumentError, match="charged as a whole"):
            answer.priced()


def test_importance_is_what_errors_are_weighed_by():
    """A query that matters more gets less error, and the mean is the weighted one."""
    for measure in ("zcdp", "gdp"):
        plain = plan(paper_example(), measure, 1, strategy="correlated")
        weighed = plan(paper_example(), measure, 1, strategy="correlated", importance=[20, 1, 1, 1, 1, 1])
        assert weighed.expected_errors[0] < 0.95 * plain.expected_errors[0]
        assert weighed.mean_error == pytest.approx(np.average(weighed.expected_errors, weights=[20, 1, 1, 1, 1, 1]))
        assert weighed.lower_bound <= weighed.mean_error <= 1.01 * weighed.lower_bound


@pytest.mark.parametrize(("measure", "strategy", "goal"), [("gdp", "correlated", 0.8), ("pure", "atoms", 0.8)])
def test_census_samples_gain(measure, strategy, goal):
    """Against independent noise in the same run; the bound is within a hundredth where there is one."""
    for seed in range(3):
        workload = census_sample(200, 100 + seed)
        answer = plan(workload, measure, 1, strategy=strategy)
        assert answer.mean_error <= goal * plan(workload, measure, 1).mean_error
        assert answer.strategy == strategy
        if measure == "gdp":
            assert answer.lower_bound <= answer.mean_error <= 1.01 * answer.lower_bound


@pytest.mark.parametrize("strategy", ["correlated", "atoms", "auto"])
def test_where_rows_cannot_be_listed_noise_is_independent_and_the_plan_says_so(strategy):
    answer = plan(uniform_workload(40, 12, 2, 1), "gdp", 1, strategy=strategy, time_limit=4.0)
    assert answer.strategy == "independent"
    assert answer.matrix is None
    assert not answer.histograms


@pytest.mark.parametrize("measure", ["pure", "gdp"])
def test_parts_are_planned_one_by_one(measure, monkeypatch):
    """One attribute's cells are listed; subsets on twelve others are too many to list, and get noise of their own."""
    monkeypatch.setattr(atoms, "ATOM_LIMIT", 50)
    hard = uniform_workload(25, 12, 2, 3)
    domain = pc.Domain({"z": pc.Integer(0, 9), **hard.domain.attributes})
    easy = [domain.query(z=pc.between(0, high)) for high in range(10)]
    # The last of them is everything.
    rest = [pc.Query(domain, tuple((attribute + 1, predicate) for attribute, predicate in q.terms)) for q in hard]
    workload = pc.Workload(domain, easy + rest)
    answer = plan(workload, measure, 1, strategy="auto", time_limit=20.0)
    assert answer.strategy == ("atoms+independent" if measure == "pure" else "correlated+independent")
    assert answer.mean_error < plan(workload, measure, 1, time_limit=20.0).mean_error
    assert answer.loss_units <= answer.budget_units
    if measure == "pure":
        assert [histogram.queries.tolist() for histogram in answer.histograms] == [list(range(9)), [9]]
        overlap = pc.max_overlap(workload[np.arange(10, 35)].with_costs(answer.units[10:], "weight"), time_limit=5.0)
        assert sum(histogram.units for histogram in answer.histograms) + overlap.lower * 10**9 <= answer.budget_units


def test_marginals_that_share_no_attribute_share_the_budget():
    """Three one-way marginals: counted together, or each with a share; whichever is better."""
    few = plan(marginals(3, 2, 1), "pure", 1, strategy="atoms")
    many = plan(marginals(3, 30, 1), "pure", 1, strategy="atoms")
    assert [histogram.units for histogram in few.histograms] == [333333333, 333333333, 333333334] or len(
        few.histograms
    ) == 1
    assert sorted(histogram.units for histogram in many.histograms) == [333333333, 333333333, 333333334]
    assert many.expected_errors[0] == pytest.approx(expected_errors(PURE, np.array([333333333]))[0], rel=1e-6)


def test_too_many_queries_for_a_matrix_fall_back(monkeypatch):
    monkeypatch.setattr(correlated, "CORRELATED_QUERIES", 30)
    assert plan(census_sample(40, 1), "gdp", 1, strategy="correlated").strategy == "independent"


@pytest.mark.parametrize("budget", ["0.0001", "300", "30000"])
def test_budgets_of_all_sizes(budget):
    """Noise from a millionth of a row to thousands of rows; σ stays where μ* is known."""
    answer = plan(paper_example(), "gdp", budget, strategy="correlated")
    assert answer.strategy == "correlated"
    assert answer.loss_units <= answer.budget_units == GDP.budget_down(budget)
    assert 2.0**9 < answer.sigma < 1e9


def test_what_does_not_go_together_is_refused():
    workload = paper_example()
    with pytest.raises(ArgumentError, match="unknown strategy"):
        plan(workload, "gdp", 1, strategy="best")
    with pytest.raises(ArgumentError, match="zcdp or gdp"):
        plan(workload, "pure", 1, strategy="correlated")
    with pytest.raises(ArgumentError, match="least mean error"):
        plan(workload, "gdp", 1, "max", strategy="auto")
    with pytest.raises(ArgumentError, match="ceilings"):
        plan(workload, "gdp", 1, strategy="auto", ceilings=10)


@pytest.mark.parametrize(
    ("where", "limit", "says"),
    [
        (atoms, {"ATOM_LIMIT": 50}, "more than 50 classes of rows"),
        (atoms, {"_CANDIDATES": 500}, "more than 500 kinds of rows to look through"),
        (atoms, {"WORD_LIMIT": 50}, "classes of rows, which take too much memory"),
        (correlated, {"CORRELATED_QUERIES": 20}, "25 different queries, and 20 at most are taken"),
        (correlated, {"CORRELATED_ENTRIES": 30}, "a matrix for 25 queries takes too much memory"),
    ],
)
def test_a_plan_says_why_a_strategy_was_left_out(monkeypatch, where, limit, says):
    """By name where it was asked for, and beside what was chosen."""
    for name, value in limit.items():
        monkeypatch.setattr(where, name, value)
    workload = uniform_workload(25, 12, 2, 3)
    answer = plan(workload, "gdp", 1, strategy="auto", time_limit=2.0)
    left_out = dict(answer.left_out)
    assert says in left_out["correlated"]
    if where is atoms:
        assert set(left_out) == {"correlated", "atoms"}
        assert answer.strategy == "independent"
    [(name, reason)] = plan(workload, "gdp", 1, strategy="correlated", time_limit=2.0).left_out
    assert name == "correlated"
    assert says in reason


def test_time_is_told_from_size():
    """A plan that had no time says so, and no number of rows."""
    answer = plan(census_sample(60, 1), "gdp", 1, strategy="atoms", time_limit=1e-6)
    assert answer.left_out == (("atoms", "the time to plan it was up"),)


def test_a_plan_has_the_error_of_independent_noise_where_it_was_compared():
    """What ``auto`` worked out anyway; one strategy alone was compared with nothing."""
    chosen = plan(census_sample(60, 1), "gdp", 1, strategy="auto")
    assert chosen.strategy == "correlated"
    assert not chosen.left_out
    assert chosen.independent_mean_error == pytest.approx(plan(census_sample(60, 1), "gdp", 1).mean_error, rel=1e-3)
    assert plan(census_sample(60, 1), "gdp", 1, strategy="atoms").independent_mean_error is None
