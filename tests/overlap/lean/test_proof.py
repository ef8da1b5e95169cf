"""Proofs by listing: the checker gets through each case, the claim is the truth, and limits are kept."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import CertificateError
from parcomp.experiments.workloads import binary, dense_subsets
from parcomp.model.compile import compile_workload
from parcomp.overlap import certify
from parcomp.overlap.lean import prove_by_listing
from tests.workloads import heaviest_row, random_judged, random_workload

ROOM = {"size_limit": 10**7, "work_limit": 1 << 40}


@pytest.mark.parametrize("chunk", range(4))
def test_listings_prove_the_truth_and_not_a_unit_less(chunk, monkeypatch):
    """In the checker's hands: with so few rows to a case that cases are divided down to a single row, and with more."""
    draw = np.random.default_rng([41, chunk])
    seen = set()
    for number in range(150):
        workload = random_judged(draw, wide=number % 15 == 0).workload
        monkeypatch.setattr(certify, "prove_by_listing", partial(prove_by_listing, most_rows=int(draw.integers(1, 20))))
        answer = pc.max_overlap(workload)
        certificate = json.loads(json.dumps(answer.certificate))
        seen |= {next(iter(node)) for node in certificate["proof"]}
        assert pc.verify(workload, certificate).upper == answer.upper
        if certificate["upper"]:
            with pytest.raises(CertificateError):
                pc.verify(workload, certificate | {"upper": certificate["upper"] - 1})
    assert {"listing", "attribute", "splitting"} <= seen


def test_there_is_no_proof_of_less_than_the_truth():
    """Nor is there one of more numbers, or for more work, than it may have."""
    proven = 0
    for seed in range(150):
        compiled = random_workload(seed)
        truth, _ = heaviest_row(compiled)
        most_rows = 1 + seed % 7
        proof = prove_by_listing(compiled, truth, **ROOM, most_rows=most_rows)
        if truth:
            assert prove_by_listing(compiled, truth - 1, **ROOM, most_rows=most_rows) is None
        # A case whose rows are all alike and still too many to list has nothing to be divided by.
        proven += proof is not None
    assert proven > 140


def test_limits_are_kept():
    """None is returned where the numbers or the checker's work would be more."""
    compiled = compile_workload(dense_subsets(120, 12, 0, density=0.4, constraints=4, heaviest=10)).compiled
    upper = pc.max_overlap(dense_subsets(120, 12, 0, density=0.4, constraints=4, heaviest=10)).upper
    proof = prove_by_listing(compiled, upper, **ROOM, most_rows=2_000)
    assert len(proof["nodes"]) > 10
    numbers = sum(vector.size for vector in proof["multipliers"])
    for room in (ROOM | {"size_limit": numbers // 2}, ROOM | {"work_limit": 1 << 20}):
        assert prove_by_listing(compiled, upper, **room, most_rows=2_000) is None


@pytest.mark.parametrize(
    "workload",
    [dense_subsets(200, 12, 0, density=0.4, constraints=4, heaviest=10), binary(200, 30, 1)],
    ids=["dense subsets", "two-valued"],
)
def test_proofs_of_many_problems_are_short(workload):
    """A search of thousands of problems takes a few thousand numbers."""
    answer = pc.max_overlap(workload)
    certificate = answer.certificate
    assert answer.exact
    assert pc.verify(workload, certificate).exact
    assert len(json.dumps(certificate)) < 100_000
