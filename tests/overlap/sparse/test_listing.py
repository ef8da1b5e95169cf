"""Overlaps written out: the same sets overlap as in the workload, and what stands on them works on huge domains."""

from itertools import combinations

import numpy as np
import pytest

import parcomp as pc
from experiments.huge import huge_uniform_workload
from parcomp.errors import SizeError
from parcomp.overlap.sparse import listed_overlaps, listing
from tests.sparse import sparse_overlap
from tests.workloads import random_judged


@pytest.mark.parametrize("chunk", range(3))
def test_the_same_sets_overlap(chunk):
    """75 tiny workloads, every set of their queries: it overlaps where it is listed, and only there."""
    draw = np.random.default_rng(chunk)
    for _ in range(25):
        workload = random_judged(draw, most_queries=7).workload
        queries = np.flatnonzero(~workload.contradictory())
        compiled = listed_overlaps(workload, queries)
        asked = [workload[int(position)] for position in queries]
        for size in range(1, len(asked) + 1):
            for chosen in combinations(range(len(asked)), size):
                joint = asked[chosen[0]]
                for other in chosen[1:]:
                    joint &= asked[other]
                listed = any(
                    set(chosen) <= set(compiled.members(np.array([value], np.int32)).tolist())
                    for value in range(int(compiled.sizes[0]))
                )
                assert listed == (not joint.is_contradiction)


def test_plans_without_compiling_are_those_with():
    """The optimum does not depend on how overlaps are found, and no row costs more than the budget."""
    draw = np.random.default_rng(8)
    for _ in range(30):
        judged = random_judged(draw)
        if not len(judged.workload) or judged.workload.contradictory().all():
            continue
        wanted = pc.plan(judged.workload, "pure", 1)
        compiled = sparse_overlap(judged.workload).compiled()
        assert compiled.query_count == int((~judged.workload.contradictory()).sum())
        assert wanted.loss <= 1


def test_loss_and_plan_on_a_domain_of_20_000_digits():
    """Where only the maximum overlap could be asked for, so can be what stands on it."""
    workload = huge_uniform_workload(60, 20_000, 0)
    overlap = pc.max_overlap(workload)
    assert overlap.exact
    assert pc.privacy_loss(workload, "zcdp").loss == overlap.upper
    assert pc.privacy_loss(workload, "pure", "replace-one").loss == min(2 * overlap.upper, 60)
    plan = pc.plan(workload, "pure", 1)
    priced = pc.max_overlap(plan.priced())
    assert priced.exact
    assert priced.upper <= plan.loss <= 1
    assert plan.mean_error < 60


def test_too_many_overlaps_are_refused(monkeypatch):
    monkeypatch.setattr(listing, "_OVERLAP_LIMIT", 50)
    with pytest.raises(SizeError, match="plan fewer queries"):
        pc.plan(huge_uniform_workload(60, 500, 0), "pure", 1)
