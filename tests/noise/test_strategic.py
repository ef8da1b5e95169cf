"""Answers of a strategy: exact without noise, and noise where it belongs."""

import numpy as np
import pytest

from parcomp.errors import ArgumentError
from parcomp.noise import Mechanism, mechanism_for, release, solve_back
from parcomp.planning import plan
from tests.workloads import random_judged


def tables(count, seed=5):
    """Random tiny workloads, and for each the queries that each row of a random table satisfies."""
    draw = np.random.default_rng(seed)
    while count:
        one = random_judged(draw, most_queries=10)
        if any(not query.is_contradiction for query in one.workload):
            count -= 1
            kinds = one.satisfied()
            yield one, kinds[draw.integers(0, len(kinds), 40)]


def silent(mechanism, values):
    """No noise."""
    return list(values)


@pytest.mark.parametrize(
    ("measure", "strategy"), [("zcdp", "correlated"), ("pure", "atoms"), ("zcdp", "atoms"), ("pure", "independent")]
)
def test_without_noise_answers_are_the_counts(measure, strategy):
    """Equal queries, contradictions and tautologies among them; each row is in the atom that its queries name."""
    for one, rows in tables(40):
        answer = plan(one.workload, measure, 1, strategy=strategy)
        counts = rows.sum(axis=0)
        atoms = []
        for histogram in answer.histograms:
            where = histogram.locate(rows[:, histogram.queries])
            assert ((where >= 0) == rows[:, histogram.queries].any(axis=1)).all()
            atoms.append(np.bincount(where[where >= 0], minlength=len(histogram.atoms)).tolist())
        assert release(answer, counts.tolist(), atoms, draw=silent) == pytest.approx(counts, abs=1e-6)


def test_noise_is_drawn_once_for_each_coordinate_of_exact_integers():
    """The sampler sees H·counts to the last digit, also where 64 bits would not hold it, and the plan's σ."""
    for one, _ in tables(10, seed=8):
        answer = plan(one.workload, "gdp", "0.5", strategy="correlated")
        counts = [2**61 - position for position in range(len(one.workload))]
        seen = []
        release(answer, counts, draw=lambda mechanism, values, seen=seen: seen.append((mechanism, values)) or values)
        exact = [sum(h * c for h, c in zip(row, counts, strict=True)) for row in answer.matrix.tolist()]
        assert seen == [(Mechanism("discrete-gaussian", answer.sigma), exact)]


def test_atoms_get_the_noise_of_the_whole_budget():
    """Each atom of a histogram once, with the mechanism that its units buy; a query hears of nothing but its atoms."""
    for one, _ in tables(10, seed=9):
        answer = plan(one.workload, "pure", "0.5", strategy="atoms")
        seen = []

        def shifted(mechanism, values, seen=seen):
            seen.append(mechanism)
            return [value + 1 for value in values]

        zeros = [[0] * len(histogram.atoms) for histogram in answer.histograms]
        answers = release(answer, [0] * len(one.workload), zeros, draw=shifted)
        assert seen == [mechanism_for(answer.measure, histogram.units) for histogram in answer.histograms]
        for histogram in answer.histograms:
            assert [answers[query] for query in histogram.queries] == histogram.atoms.sizes().tolist()


def test_equal_columns_share_and_empty_columns_get_nothing():
    """As the pseudoinverse has it."""
    draw = np.random.default_rng(1)
    matrix = draw.integers(-50, 50, (6, 4))[:, [0, 1, 1, 2, 3]]
    matrix = np.insert(matrix, 2, 0, axis=1)
    values = draw.integers(-1_000, 1_000, 6).tolist()
    assert solve_back(matrix, values) == pytest.approx(np.linalg.pinv(matrix.astype(float)) @ values, abs=1e-9)


def test_counts_must_fit_the_plan():
    one, rows = next(tables(1))
    answer = plan(one.workload, "pure", 1, strategy="atoms")
    counts = rows.sum(axis=0).tolist()
    with pytest.raises(ArgumentError, match="as many counts"):
        release(answer, counts[:-1], [[0] * len(histogram.atoms) for histogram in answer.histograms])
    with pytest.raises(ArgumentError, match="atoms"):
        release(answer, counts, [])
