"""The counts of the nearest answers, by Newton steps and from within, against a solver that knows all rows."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import sparse

import parcomp as pc
from parcomp.estimation import interior, newton, pool
from parcomp.estimation.distance import Distance
from parcomp.estimation.pool import Pool
from tests.estimation.test_estimates import random_answers, root_mean_square
from tests.nearest import nearest_possible
from tests.workloads import cell_matrix, random_judged

_METHODS = {"newton": newton.nearest, "interior": interior.nearest}
_GAP = 1e-8


def drawn_problem(draw, columns, rows):
    """A matrix of rows, of which some are alike and some depend on others, weights and a target."""
    cells = (draw.random((columns, rows)) < draw.uniform(0.1, 0.7)).astype(float)
    cells[draw.integers(0, columns, rows), np.arange(rows)] = 1.0
    cells = np.hstack((cells, cells[:, : rows // 3], np.minimum(cells + np.roll(cells, 1, axis=1), 1.0)))
    weight = draw.choice([1.0, 0.01], columns) if draw.random() < 0.5 else np.ones(columns)
    target = cells @ draw.poisson(draw.choice([0.1, 5.0]), cells.shape[1]) + draw.normal(0, 3, columns)
    return cells, weight, target


@pytest.mark.parametrize("name", _METHODS)
def test_counts_are_those_of_the_nearest_answers(name):
    """From wherever they begin: from nothing, from what is near, and from far off."""
    draw = np.random.default_rng([15, 3])
    through = 0
    for _ in range(200):
        cells, weight, target = drawn_problem(draw, int(draw.integers(1, 25)), int(draw.integers(1, 30)))
        distance = Distance.to(target, weight, sparse.csc_array(cells))
        expected = nearest_possible(cells, target, np.sqrt(weight))
        begun = draw.choice([0.0, 1.0, 100.0]) * draw.random(cells.shape[1])
        found = _METHODS[name](distance, begun, 1e-4, _GAP)
        if found is not None:
            through += 1
            assert (found >= 0).all()
            assert np.abs(np.sqrt(weight) * (cells @ found - expected)).max() <= 1e-4 * (1 + np.abs(target).max())
    # Where a table has just these answers, nothing is left that floats could tell the end by.
    assert through >= {"newton": 150, "interior": 200}[name]


def test_newton_steps_are_few_where_a_row_joins_settled_ones(monkeypatch):
    """One row more seldom changes which others occur: that is what they are for."""
    draw = np.random.default_rng(5)
    cells, weight, target = drawn_problem(draw, 100, 30)
    settled = newton.nearest(Distance.to(target, weight, sparse.csc_array(cells)), np.zeros(cells.shape[1]), 1e-6, _GAP)
    assert settled is not None
    monkeypatch.setattr(newton, "_ITERATIONS", 12)
    for _ in range(20):
        more = np.column_stack((cells, draw.random(100) < 0.3))
        found = newton.nearest(Distance.to(target, weight, sparse.csc_array(more)), np.append(settled, 0.0), 1e-6, _GAP)
        assert found is not None
        assert np.abs(more @ found - nearest_possible(more, target, np.sqrt(weight))).max() <= 1e-4


def test_newton_steps_say_so_where_they_do_not_lead_there(monkeypatch):
    """Nothing that has not settled is handed out."""
    draw = np.random.default_rng(6)
    cells, weight, target = drawn_problem(draw, 30, 40)
    distance = Distance.to(target, weight, sparse.csc_array(cells))
    monkeypatch.setattr(newton, "_ITERATIONS", 1)
    assert newton.nearest(distance, np.zeros(cells.shape[1]), 1e-9, _GAP) is None


@pytest.mark.parametrize("failing", ["newton", "both"])
def test_estimates_stay_numbers_where_floats_fail(failing, monkeypatch):
    """Steps that lead to no number are not taken; what is found in another way is as good as proven."""
    monkeypatch.setattr(newton, "nearest", lambda *_: None)
    if failing == "both":
        monkeypatch.setattr(interior, "nearest", lambda distance, *_: np.full(len(distance.gram), np.nan))
    draw = np.random.default_rng(17)
    for _ in range(20):
        judged = random_judged(draw)
        cells = cell_matrix(judged)
        if len(cells):
            truth, scales, answers = random_answers(draw, cells)
            found = pc.estimate(judged.workload, answers, scales, interval=None)
            assert np.isfinite(found.values).all()
            assert root_mean_square(found.values - truth) <= root_mean_square(answers - truth) * (1 + 1e-9)


@pytest.mark.parametrize(("step", "ends"), [(-2.0, 0.995), (-4.0, 0.4975), (-1.0, 1.0), (1.0, 1.0)])
def test_interior_steps_stop_short_of_where_a_row_would_not_occur(step, ends):
    """Also where a whole step would end just there: the next one divides by what is left."""
    assert interior._step(np.array([2.0, 5.0]), np.array([step, 1.0])) == pytest.approx(ends)


def test_systems_of_many_rows_are_solved_by_way_of_the_columns():
    """As those of few rows are, also where answers depend on each other."""
    draw = np.random.default_rng(23)
    for _ in range(40):
        cells, weight, target = drawn_problem(draw, int(draw.integers(2, 12)), 30)
        cells, weight, target = np.vstack((cells, cells[:1])), np.append(weight, 1.0), np.append(target, 3.0)
        distance = Distance.to(target, weight, sparse.csc_array(cells))
        counts = 10 * draw.random(cells.shape[1])
        moved = counts + distance.step(counts, np.arange(cells.shape[1]), 1e-11)
        # With signs left free, all slopes vanish.
        assert np.abs(distance.slopes(moved)).max() <= 1e-6 * np.abs(distance.slopes(counts)).max()
        diagonal, right = 10.0 ** draw.uniform(-6, 3, len(counts)), draw.normal(size=len(counts))
        found = distance.solver(diagonal)(right)
        assert np.abs(diagonal * found + distance.gram @ found - right).max() <= 1e-6


def test_many_rows_are_settled_a_few_at_a_time(monkeypatch):
    """To the same answers as all at once, without those that do not occur; and no longer than there is time."""
    draw = np.random.default_rng(24)
    monkeypatch.setattr(pool, "_FEW", 10)
    monkeypatch.setattr(pool, "_LARGEST", 60)
    monkeypatch.setattr(pool, "_MORE", 7)
    for _ in range(10):
        cells, weight, target = drawn_problem(draw, 20, 200)
        rows = Pool(20)
        assert rows.join(cells.T > 0) > 60
        assert rows.settle(target, weight, 0.2, 1e-5, _GAP)
        expected = nearest_possible(cells, target, np.sqrt(weight))
        assert np.abs(np.sqrt(weight) * (rows.answers() - expected)).max() <= 1e-3 * (1 + np.abs(target).max())
        few = rows.cut(target, weight)
        assert len(few) == 60 < len(rows)
        assert few.answers() == pytest.approx(rows.answers())
        late = Pool(20)
        late.join(cells.T > 0)
        assert late.settle(target, weight, 0.2, 1e-5, _GAP, time.monotonic())
        assert (late.counts == 0).all()
        late.descend_until(target, weight, 0.0, 10**9, time.monotonic())
        assert (late.counts >= 0).all()


def test_a_projection_of_many_rows_ends_about_when_the_time_is_up(monkeypatch):
    """No phase of it is as long as it likes: not even descent where settling fails."""
    monkeypatch.setattr(Pool, "settle", lambda *_: False)
    monkeypatch.setattr(Pool, "descend", lambda *_: time.sleep(0.05) or np.inf)
    workload = pc.samples.census_sample(50, 3)
    began = time.monotonic()
    found = pc.estimate(workload, np.random.default_rng(3).normal(20, 40, 50), 40.0, time_limit=0.5)
    assert time.monotonic() - began < 3
    assert set(found.methods) == {"partial projection"}
    assert found.notes


def test_descent_looks_at_the_clock(monkeypatch):
    """After a few rounds, and not after all of them."""
    rounds = []
    monkeypatch.setattr(Pool, "descend", lambda *given: rounds.append(given[-1]) or np.inf)
    Pool(1).descend_until(np.ones(1), np.ones(1), 0.0, 1_000, time.monotonic())
    assert rounds == [10]
