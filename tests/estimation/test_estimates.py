"""Estimates against plain least squares over every cell of small domains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

import parcomp as pc
from parcomp.errors import ArgumentError, WorkloadError
from parcomp.estimation import estimator
from parcomp.samples import census_sample, paper_example
from tests.soak import shared_with_soak
from tests.workloads import cell_matrix, random_judged

CHUNKS, CASES = 40, 50
"""With five draws each, 10,000 draws in all, of which ``make test`` takes a part."""


@pytest.fixture
def few_draws(monkeypatch):
    """Intervals are not looked at here."""
    monkeypatch.setattr(estimator, "_DRAWS", (1, 1))
    monkeypatch.setattr(estimator, "_LEAST_DRAWS", 1)


def nearest(cells, answers, facts=None):
    """The projection onto what tables can answer, by a solver that knows every cell; facts weigh much more."""
    weight = np.ones(len(answers)) if facts is None else np.where(facts, 1e4, 1.0)
    counts, _ = nnls(weight[:, None] * cells, weight * answers, maxiter=100 * cells.shape[1] + 1_000)
    return cells @ counts


def random_answers(draw, cells):
    """True answers of a random table, scales, and noisy answers."""
    counts = draw.poisson(draw.choice([0.05, 1.0, 50.0]), cells.shape[1])
    scales = draw.uniform(0.1, draw.choice([1.0, 30.0]), len(cells))
    truth = cells @ counts
    return truth, scales, truth + draw.normal(0, scales)


def root_mean_square(errors):
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize("chunk", shared_with_soak(CHUNKS, CHUNKS - 2))
def test_estimates_are_the_projection_and_never_worse_than_raw(chunk, few_draws):
    """On every draw: the nearest of all that tables can answer, and no further from the truth than the answers were."""
    draw = np.random.default_rng([15, chunk])
    for _ in range(CASES):
        judged = random_judged(draw, wide=bool(draw.random() < 0.1))
        cells = cell_matrix(judged)
        possible = ~judged.workload.contradictory()
        for number in range(5 * bool(len(cells))):
            truth, scales, answers = random_answers(draw, cells)
            found = pc.estimate(judged.workload, answers, scales)
            assert set(found.methods) <= {"projection", "contradiction"}
            assert root_mean_square(found.values - truth) <= root_mean_square(answers - truth) * (1 + 1e-9)
            assert (found.values >= 0).all()
            assert (found.values[~possible] == 0).all()
            if number == 0:
                expected = nearest(cells, answers)
                unit = root_mean_square(scales)
                assert root_mean_square(found.values - expected) <= 0.02 * unit + 1e-7 * np.abs(answers).max()
                moved = np.linalg.norm((expected - answers)[possible])
                assert found.lower - 1e-6 * unit <= moved <= found.upper + 1e-6 * unit


@pytest.mark.parametrize("chunk", shared_with_soak(CHUNKS, CHUNKS - 1))
def test_facts_hold_and_never_worsen(chunk, few_draws):
    """Answers of scale 0 and counts of other queries are met, and the rest is nearest under them."""
    draw = np.random.default_rng([16, chunk])
    for _ in range(CASES):
        judged = random_judged(draw, most_queries=12)
        cells = cell_matrix(judged)
        if not len(cells):
            continue
        truth, scales, answers = random_answers(draw, cells)
        exact = draw.random(len(truth)) < 0.3
        scales[exact], answers[exact] = 0.0, truth[exact]
        found = pc.estimate(judged.workload, answers, scales)
        assert (found.values[exact] == truth[exact]).all()
        assert root_mean_square(found.values - truth) <= root_mean_square(answers - truth) * (1 + 1e-9)
        if found.proven and not exact.all():
            expected = nearest(cells, answers, exact)
            unit = root_mean_square(scales[~exact])
            assert root_mean_square(found.values - expected) <= 0.05 * unit + 1e-5 * np.abs(answers).max()
