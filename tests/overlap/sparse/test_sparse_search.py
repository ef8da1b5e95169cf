"""Maximum overlap without compiling: against the judge, against the compiled engine, and on a huge domain."""

import time

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import CertificateError, SizeError
from parcomp.experiments.huge import huge_uniform_workload
from parcomp.model import compile as compiling
from tests.sparse import solve_sparse
from tests.workloads import random_judged


def assert_row_is_judged(judged, found, unit):
    members = judged.members(judged.workload.domain.row(found.codes))
    assert found.members == members
    assert found.lower == unit * sum(judged.weights[position] for position in members)


@pytest.mark.parametrize("chunk", range(6))
def test_the_search_equals_the_truth(chunk):
    """1,500 tiny workloads: exact, and the row satisfies exactly its members."""
    draw = np.random.default_rng(chunk)
    for _ in range(250):
        judged = random_judged(draw)
        unit = pc.Cost.of("weight", 1).units
        found = solve_sparse(judged.workload, time.monotonic() + 60)
        assert found.lower == found.upper == unit * judged.truth()
        assert_row_is_judged(judged, found, unit)


@pytest.mark.parametrize("method", ["auto", "clique", "chromatic"])
def test_bounds_are_never_too_low(method):
    """Other methods, and no time at all: 300 brackets that hold the truth."""
    draw = np.random.default_rng(77)
    unit = pc.Cost.of("weight", 1).units
    for _ in range(300):
        judged = random_judged(draw)
        found = solve_sparse(judged.workload, time.monotonic() + (60 if method != "auto" else 0), method)
        assert found.lower <= unit * judged.truth() <= found.upper
        assert_row_is_judged(judged, found, unit)


@pytest.mark.parametrize(("t", "log10_size", "kmax"), [(25, 8, 1), (40, 15, 2), (40, 40, 2), (30, 25, 3)])
def test_generated_predicates_give_the_answer_of_their_interned_copy(t, log10_size, kmax):
    for seed in range(5):
        workload = huge_uniform_workload(t, log10_size, seed, kmax)
        copy = pc.Workload(workload.domain, list(workload))
        found, wanted = pc.max_overlap(workload), pc.max_overlap(copy)
        assert found.exact
        assert wanted.exact
        assert found.upper == wanted.upper
        for method in ("clique", "chromatic"):
            bound = pc.max_overlap(workload, method=method)
            assert bound.upper >= wanted.upper >= bound.lower
        omega = pc.clique_number(copy)
        assert pc.max_overlap(workload, method="clique").upper == omega.upper


def accepts(workload, query, witness):
    numbers = workload.term[workload.start[query] : workload.start[query + 1]]
    # The values of these attributes are their own codes.
    codes = np.array(list(witness.values()))[workload.table.attributes[numbers]]
    return workload.table.accepting(numbers, codes).all()


def test_a_huge_domain_is_solved():
    """200 queries on 10^2000 rows: exact, with a row that satisfies exactly its members, told on the way."""
    workload = huge_uniform_workload(200, 2_000, 0)
    told = []
    answer = pc.max_overlap(workload, progress=lambda lower, upper: told.append((lower, upper)))
    assert answer.exact
    assert len(answer.members) == answer.lower
    assert told[-1][0] == answer.lower
    assert all(lower <= answer.upper <= upper for lower, upper in told)
    assert [query + 1 for query in range(200) if accepts(workload, query, answer.witness)] == answer.members


def test_a_deadline_is_kept():
    workload = huge_uniform_workload(200, 2_000, 0)
    pc.max_overlap(workload)
    began = time.monotonic()
    answer = pc.max_overlap(workload, time_limit=0)
    assert time.monotonic() - began < 5
    assert 0 < answer.lower <= 18 <= answer.upper


def test_masks_that_take_too_much_memory_are_done_without(monkeypatch):
    """Where compiling is refused for its size, the answer is the same, and its certificate rests on search."""
    draw = np.random.default_rng(9)
    judged = [random_judged(draw) for _ in range(50)]
    wanted = [pc.max_overlap(one.workload) for one in judged]
    monkeypatch.setattr(compiling, "_WORD_LIMIT", -1)
    for one, answer in zip(judged, wanted, strict=True):
        found = pc.max_overlap(one.workload)
        assert (found.lower, found.upper, found.exact) == (answer.lower, answer.upper, True)
        assert found.certificate["proof"] == [{"search": True}]
        with pytest.raises(CertificateError, match="search"):
            pc.verify(one.workload, found.certificate)


def test_brute_force_is_refused():
    with pytest.raises(SizeError, match="brute-force"):
        pc.max_overlap(huge_uniform_workload(5, 100, 0), method="brute-force")


def test_no_queries():
    answer = pc.max_overlap(huge_uniform_workload(0, 100, 0))
    assert (answer.lower, answer.upper, answer.exact, answer.members) == (0, 0, True, [])
