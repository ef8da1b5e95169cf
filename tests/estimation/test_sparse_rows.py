"""Rows without compiling, on workloads that could be compiled, and estimates on domains that cannot."""

from __future__ import annotations

import time

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import ArgumentError
from parcomp.estimation import problem
from parcomp.estimation.sparse_rows import SparseRows
from parcomp.experiments.huge import huge_uniform_workload
from parcomp.overlap import Bracket, WorkloadOverlap, whole_gains_up
from tests.workloads import cell_matrix, random_judged


def test_rows_have_their_gains_and_bounds_hold():
    """What is said to satisfy queries is a row of the domain, and no row gains more than is proven."""
    draw = np.random.default_rng(9)
    for _ in range(40):
        judged = random_judged(draw, most_queries=12)
        queries = np.flatnonzero(~judged.workload.contradictory())
        if not len(queries):
            continue
        cells = cell_matrix(judged)[queries]
        gains = draw.normal(0, 10, len(queries))
        source = SparseRows(judged.workload, queries)
        priced = source.price(gains)
        kinds = {bytes(column) for column in cells.astype(np.bool_).T}
        assert all(bytes(row) in kinds for row in priced.flags)
        assert np.allclose(priced.flags @ gains, priced.gains)
        assert len(priced.flags) == (gains > 0).sum()
        best = float((gains @ cells).max(initial=0.0))
        for deadline in (0.0, time.monotonic() + 10):
            assert source.prove(gains, deadline, 0.0).bound >= best


def test_a_search_that_is_cut_short_proves_its_upper_end(monkeypatch):
    """Not what it has found."""
    judged = random_judged(np.random.default_rng(12), most_queries=12)
    queries = np.flatnonzero(~judged.workload.contradictory())
    source = SparseRows(judged.workload, queries)
    gains = np.full(len(queries), 2.0**-3)
    unit = whole_gains_up(gains)[1]
    monkeypatch.setattr(WorkloadOverlap, "within_time", lambda *_: Bracket(3, 7))
    assert source.prove(gains, 0.0, 0.0).bound == 7 * unit


@pytest.mark.parametrize("rows", ["_", "parcomp.estimation.rows._LISTED_WORK"])
def test_before_anything_is_proven_answers_are_cut_at_0(rows, monkeypatch):
    """Whether rows are grown from queries or climbed for."""
    if rows == "_":
        monkeypatch.setattr(problem, "compilable", lambda _: False)
    else:
        monkeypatch.setattr(rows, 0)
    workload = random_judged(np.random.default_rng(13), most_queries=12).workload
    answers = np.random.default_rng(14).normal(20, 30, len(workload))
    found = pc.estimate(workload, answers, 5.0, time_limit=1e-9)
    possible = ~workload.contradictory()
    assert found.values[possible].tolist() == np.maximum(answers, 0.0)[possible].tolist()
    assert found.lower == 0


def test_where_nothing_is_proven_it_is_said(monkeypatch):
    """Found rows alone prove nothing; contradictions and facts are what they are."""
    monkeypatch.setattr(problem, "compilable", lambda _: False)
    draw = np.random.default_rng(10)
    methods = set()
    for _ in range(15):
        judged = random_judged(draw, most_queries=12)
        cells = cell_matrix(judged)
        if not len(cells):
            continue
        truth = cells @ draw.poisson(2.0, cells.shape[1])
        answers = truth + draw.normal(0, 3, len(truth))
        found = pc.estimate(judged.workload, answers, 3.0, interval=None, time_limit=5.0)
        methods |= set(found.methods)
        if found.proven:
            assert np.linalg.norm(found.values - truth) <= np.linalg.norm(answers - truth) * (1 + 1e-9)
    assert methods <= {"projection", "searched projection", "partial projection", "contradiction"}
    assert "searched projection" in methods


def test_a_domain_that_cannot_be_listed():
    """10^300 rows, whose predicates are made when they are looked at: cut at 0 at least, and nearer where it can be."""
    workload = huge_uniform_workload(40, 300, 0)
    draw = np.random.default_rng(11)
    truth = draw.poisson(2.0, 40).astype(np.float64)
    answers = truth + draw.normal(0, 10, 40)
    found = pc.estimate(workload, answers, 10.0, interval=None, time_limit=3.0)
    assert (found.values >= -1e-9).all()
    assert np.linalg.norm(found.values - truth) <= np.linalg.norm(answers - truth)
    assert np.linalg.norm(found.values - truth) <= 1.01 * np.linalg.norm(np.maximum(answers, 0) - truth)
    with pytest.raises(ArgumentError, match="outside the domain"):
        pc.estimate(workload, answers, 10.0, outside=True)
