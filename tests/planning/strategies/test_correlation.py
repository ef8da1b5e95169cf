"""The best covariance, and the bound below which no Gaussian noise gets."""

import time

import cvxpy
import numpy as np
import pytest

from parcomp.planning.strategies import correlation
from parcomp.planning.strategies.atoms import list_atoms
from parcomp.planning.strategies.charge import group_queries
from parcomp.planning.strategies.correlation import correlate
from parcomp.samples import census_sample
from tests.workloads import random_judged


def members(atoms):
    """A 0/1 row for each atom."""
    found = np.zeros((len(atoms), atoms.query_count))
    found[np.repeat(np.arange(len(atoms)), np.diff(atoms.start)), atoms.index] = 1
    return found


def cases(count, seed=1):
    draw = np.random.default_rng(seed)
    while count:
        part, queries, _ = group_queries(random_judged(draw, most_queries=8).workload)
        if len(queries):
            count -= 1
            yield draw, list_atoms(part.compiled)


def covariance(found, count):
    """Σ of the blocks."""
    whole = np.zeros((count, count))
    for queries, root in found.blocks:
        whole[np.ix_(queries, queries)] = np.linalg.inv(root.T @ root)
    return whole


def test_noise_keeps_its_cost_and_has_the_stated_value():
    for draw, atoms in cases(60):
        importance = 10.0 ** draw.uniform(-1, 1, atoms.query_count)
        found = correlate(atoms, importance, time.monotonic() + 60)
        sigma = covariance(found, atoms.query_count)
        rows = members(atoms)
        cost = np.einsum("xq,qr,xr->x", rows, np.linalg.inv(sigma), rows)
        assert cost.max() == pytest.approx(1, rel=1e-6)
        assert importance @ np.sqrt(np.diagonal(sigma)) == pytest.approx(found.value, rel=1e-6)
        assert found.bound <= found.value <= 1.006 * found.bound


def test_no_noise_gets_below_the_bound():
    """Random covariances, diagonal ones and those near the best, scaled to the same cost: all have at least the bound.

    The bound is also tried after a single round, where it is far from tight.
    """
    for number, (draw, atoms) in enumerate(cases(60, seed=2)):
        count = atoms.query_count
        importance = 10.0 ** draw.uniform(-1, 1, count)
        found = correlate(atoms, importance, time.monotonic() + (60 if number % 2 else -1))
        best = covariance(correlate(atoms, importance, time.monotonic() + 60), count)
        rows = members(atoms)
        for _ in range(20):
            noise = draw.normal(size=(count, count)) * 10.0 ** draw.uniform(-3, 0)
            sigma = [noise @ noise.T + 1e-6 * np.eye(count), np.diag(10.0 ** draw.uniform(-2, 2, count))][
                int(draw.integers(2))
            ] + (best if draw.random() < 0.7 else 0)
            cost = np.einsum("xq,qr,xr->x", rows, np.linalg.inv(sigma), rows).max()
            assert importance @ np.sqrt(np.diagonal(sigma) * cost) >= found.bound * (1 - 1e-9)


def test_as_good_as_a_general_convex_solver():
    """CVXPY on min Σ a/√s_q: with X the inverse covariance, s_q is the Schur complement, s_q·e_q·e_qᵀ ⪯ X."""
    for draw, atoms in cases(8, seed=3):
        count = atoms.query_count
        importance = 10.0 ** draw.uniform(-0.5, 0.5, count)
        precision = cvxpy.Variable((count, count), PSD=True)
        schur = cvxpy.Variable(count)
        rows = members(atoms)
        limits = [row @ precision @ row <= 1 for row in rows]
        limits += [precision - schur[q] * np.outer(np.eye(count)[q], np.eye(count)[q]) >> 0 for q in range(count)]
        objective = cvxpy.Minimize(importance @ cvxpy.power(schur, -0.5))
        optimum = cvxpy.Problem(objective, limits).solve(solver="CLARABEL")
        found = correlate(atoms, importance, time.monotonic() + 60)
        assert found.bound <= optimum * (1 + 1e-5)
        assert found.value >= optimum * (1 - 1e-3)


def test_blocks_have_noise_of_their_own_and_a_bound_that_holds(monkeypatch):
    """Cut in four, the value is between that of the whole and that of independent noise."""
    atoms = list_atoms(group_queries(census_sample(60, 2))[0].compiled)
    whole = correlate(atoms, np.ones(60), time.monotonic() + 60)
    monkeypatch.setattr(correlation, "BLOCK", 15)
    cut = correlate(atoms, np.ones(60), time.monotonic() + 60)
    assert len(cut.blocks) == 4
    assert cut.bound <= whole.value <= cut.value
    rows = members(atoms)
    assert np.einsum("xq,qr,xr->x", rows, np.linalg.inv(covariance(cut, 60)), rows).max() <= 1 + 1e-6
    monkeypatch.setattr(correlation, "BLOCK", 1)
    assert cut.value < correlate(atoms, np.ones(60), time.monotonic() + 60).value


def test_every_round_is_told_and_the_deadline_ends_them():
    atoms = list_atoms(group_queries(census_sample(60, 2))[0].compiled)
    heard = []
    found = correlate(atoms, np.ones(60), time.monotonic() + 60, lambda rounds, cost: heard.append((rounds, cost)))
    assert [rounds for rounds, _ in heard] == list(range(1, found.rounds + 1))
    assert 1 <= heard[-1][1] < 1.1
    assert correlate(atoms, np.ones(60), time.monotonic() - 1).rounds == 1
