"""Every method against the judge, on thousands of random tiny workloads."""

import numpy as np
import pytest

import parcomp as pc
from parcomp.graph.numbers import chromatic_number, clique_number
from tests.soak import shared_with_soak
from tests.workloads import random_judged

CHUNKS, PER_CHUNK = 20, 500
SOAKED = 12
"""How many of the chunks are left to ``make soak``."""


@pytest.mark.parametrize("chunk", shared_with_soak(CHUNKS, SOAKED))
def test_exact_methods_equal_the_truth_and_no_upper_end_is_below_it(chunk):
    """10,000 workloads: exact is exact, every upper ≥ γ, and each witness satisfies exactly its members."""
    draw = np.random.default_rng(chunk)
    for _ in range(PER_CHUNK):
        judged = random_judged(draw)
        truth = judged.truth()
        for method in ("auto", "brute-force", "clique", "chromatic"):
            answer = pc.max_overlap(judged.workload, method=method)
            assert answer.upper >= truth
            if method in {"auto", "brute-force"}:
                assert answer.exact
                assert answer.upper == truth
            members = judged.members(answer.witness)
            assert answer.members == [position + 1 for position in members]
            assert answer.lower == sum(judged.weights[position] for position in members) <= truth
            assert answer.exact == (answer.lower == answer.upper)


@pytest.mark.parametrize("chunk", range(4))
def test_gamma_omega_chi_and_total_are_in_order(chunk):
    """The chain γ ≤ ω ≤ χ̃ ≤ total (paper, Eq. "approx"), and cliques and classes are what they say."""
    draw = np.random.default_rng(1_000 + chunk)
    for _ in range(150):
        judged = random_judged(draw)
        workload = judged.workload
        omega, chi = clique_number(workload), chromatic_number(workload)
        assert omega.exact
        assert judged.truth() <= omega.upper <= chi.upper <= max(workload.total, 0)
        clique = [workload[position - 1] for position in omega.members]
        assert all(a.overlaps(b) for i, a in enumerate(clique) for b in clique[:i])
        for members in chi.classes:
            queries = [workload[position - 1] for position in members]
            assert all(a.isdisjoint(b) for i, a in enumerate(queries) for b in queries[:i])
