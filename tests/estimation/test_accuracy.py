"""Answers of different accuracy against weighted least squares over every cell of small domains."""

from __future__ import annotations

import numpy as np
import pytest

import parcomp as pc
from parcomp.estimation import estimate_weighted, means_of, problem, projection
from parcomp.estimation.noises import Separate
from parcomp.noise import Mechanism, beside_each_other, own_noise
from tests.estimation.test_estimates import Clock
from tests.nearest import nearest_possible
from tests.soak import shared_with_soak
from tests.workloads import cell_matrix, random_judged


@pytest.fixture
def few_draws(monkeypatch):
    """Intervals are not looked at here."""
    monkeypatch.setattr(problem, "_DRAWS", (1, 1))
    monkeypatch.setattr(problem, "_LEAST_DRAWS", 1)


def norm(errors, scales):
    """The root mean square of errors in units of their noise."""
    return float(np.sqrt(np.mean(np.square(errors / scales))))


def random_case(draw, judged):
    """Queries, some several times, with scales up to three orders of magnitude apart, a truth and noisy answers."""
    cells = cell_matrix(judged)
    places = np.concatenate((np.arange(len(cells)), draw.integers(0, len(cells), draw.integers(0, 6))))
    truth = cells[places] @ draw.poisson(draw.choice([0.05, 1.0, 50.0]), cells.shape[1])
    scales = draw.choice([0.3, 30.0]) * 10.0 ** draw.uniform(0, draw.choice([0.0, 1.0, 3.0]), len(places))
    return cells[places], places, truth, scales, truth + draw.normal(0, scales)


def estimated(workload, places, answers, scales, **named):
    """The estimate of each answer, and the distances that are proven."""
    noise = Separate("gaussian", scales)
    means = means_of([workload[int(place)] for place in places], noise)
    distinct = pc.Workload(workload.domain, [workload[int(places[first])] for first in means.first])
    found = estimate_weighted(distinct, means.of(answers), means.noise, means.weights, kind="gaussian", **named)
    return found, np.where(means.column >= 0, found.values[means.column], np.maximum(answers, 0.0))


@pytest.mark.parametrize("chunk", shared_with_soak(40, 37))
def test_weighted_estimates_are_the_projection_and_never_worse_than_raw(chunk, few_draws):
    """On every draw, in units of each answer's noise, and all answers to one query have one estimate."""
    draw = np.random.default_rng([31, chunk])
    for _ in range(50):
        judged = random_judged(draw, wide=bool(draw.random() < 0.2))
        if not len(judged.workload):
            continue
        cells, places, truth, scales, answers = random_case(draw, judged)
        found, values = estimated(judged.workload, places, answers, scales)
        assert set(found.methods) <= {"projection", "contradiction"}
        assert norm(values - truth, scales) <= norm(answers - truth, scales) * (1 + 1e-9)
        assert (values >= 0).all()
        nearest = nearest_possible(cells, answers, 1 / scales)
        assert norm(values - nearest, scales) <= 0.02 + 1e-7 * float(np.abs(answers / scales).max())


@pytest.mark.parametrize("chunk", shared_with_soak(10, 9))
def test_whatever_is_proven_is_never_worse_than_raw(chunk, monkeypatch):
    """However early the search for rows ends."""
    draw = np.random.default_rng([32, chunk])
    methods = set()
    for _ in range(80):
        judged = random_judged(draw)
        if not len(judged.workload):
            continue
        _, places, truth, scales, answers = random_case(draw, judged)
        monkeypatch.setattr(projection, "time", Clock(int(draw.integers(1, 6))))
        found, values = estimated(judged.workload, places, answers, scales, interval=None)
        assert found.proven
        assert norm(values - truth, scales) <= norm(answers - truth, scales) * (1 + 1e-9)
        methods |= set(found.methods)
    assert {"projection", "partial projection"} <= methods


def test_the_distance_is_bracketed_in_the_weighted_norm(few_draws):
    """``lower`` and ``upper`` hold the distance of the nearest answers, for the weights whose largest is 1."""
    draw = np.random.default_rng(33)
    for _ in range(40):
        judged = random_judged(draw)
        cells = cell_matrix(judged)
        if not len(cells):
            continue
        weights = draw.uniform(0.01, 1, len(cells))
        answers = draw.normal(3, 5, len(cells))
        found = estimate_weighted(
            judged.workload, answers, Separate("gaussian", np.full(len(cells), 5.0)), weights, kind="gaussian"
        )
        roots = np.sqrt(weights)
        moved = np.linalg.norm(
            (roots * (nearest_possible(cells, answers, roots) - answers))[~judged.workload.contradictory()]
        )
        assert found.lower - 1e-6 <= moved <= found.upper + 1e-6


def test_answers_of_any_accuracy_are_never_worse_than_raw(few_draws):
    """Scales up to twelve orders of magnitude apart, of which those beyond the first four are left as they are."""
    draw, left = np.random.default_rng(35), 0
    for _ in range(150):
        judged = random_judged(draw)
        if not len(judged.workload):
            continue
        _, places, truth, scales, _ = random_case(draw, judged)
        scales = scales * 10.0 ** draw.choice([0, 0, 4, 9], len(scales))
        answers = truth + draw.normal(0, scales)
        found, values = estimated(judged.workload, places, answers, scales)
        left += len(found.values) < len(set(places.tolist()))
        assert "searched projection" not in found.methods
        assert norm(values - truth, scales) <= norm(answers - truth, scales) * (1 + 1e-9)
        assert (values >= 0).all()
    assert left > 30


def test_answers_to_one_query_are_averaged_by_their_accuracy():
    """As a mean weighed by 1/σ² is: 10 at σ = 1 and 20 at σ = 3 are 11."""
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    workload = pc.Workload(domain, [domain.query(), domain.query(sex="F")])
    answers, scales = np.array([10.0, 20.0, 4.0]), np.array([1.0, 3.0, 1.0])
    found, values = estimated(workload, [0, 0, 1], answers, scales)
    assert values == pytest.approx([11.0, 11.0, 4.0])
    half = found.intervals[:, 1] - found.values
    assert half == pytest.approx([1.96 * np.sqrt(0.9), 1.96], rel=0.15)


def test_noise_that_is_next_to_none_is_no_weight_without_bounds():
    """Weights differ by eight orders of magnitude at most, and noise below a thousandth of a row counts as that."""
    means = means_of("abcd", Separate("gaussian", np.array([1e-9, 1.0, 9.9, 1e9])))
    assert means.weights == pytest.approx([1, 1e-6, 1e-6 / 9.9**2])
    assert (means.column.tolist(), means.first.tolist()) == ([0, 1, 2, -1], [0, 1, 2])
    means = means_of("abac", Separate("gaussian", np.array([1e9, 1.0, 1.0, 1.0])))
    assert (means.column.tolist(), means.first.tolist()) == ([-1, 0, 1, 2], [1, 2, 3])
    assert means.of(np.array([1e12, 5.0, 6.0, 7.0])).tolist() == [5.0, 6.0, 7.0]
    means = means_of("ab", Separate("gaussian", np.array([0.0, 1e-2])))
    assert means.weights == pytest.approx([1, 1e-2])
    assert (means.noise.deviations > 0).all()


def test_noise_of_several_charges_stands_one_after_the_other():
    """Widths are those of each mechanism, and draws have its variance."""
    mechanisms = [Mechanism("discrete-laplace", 4.0), Mechanism("discrete-gaussian", 9.0)]
    noise = beside_each_other([own_noise(one, 3) for one in mechanisms])
    assert noise.half_widths_up(0.9).tolist() == [float(one.half_width(0.9)) for one in mechanisms for _ in range(3)]
    draw = np.random.default_rng(34)
    drawn = np.array([noise.drawn(draw) for _ in range(4_000)])
    assert drawn.std(axis=0) == pytest.approx(noise.deviations, rel=0.08)
    assert np.abs(np.corrcoef(drawn.T) - np.eye(6)).max() < 0.08
