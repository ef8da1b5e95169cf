"""Overlaps written out: the same sets overlap as in the workload, and what stands on them works on huge domains."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import parcomp as pc
from parcomp.experiments.huge import huge_uniform_workload
from parcomp.overlap import units
from parcomp.overlap.sparse import listed_overlaps, listing
from tests.workloads import random_judged


@pytest.mark.parametrize("chunk", range(3))
def test_the_same_sets_overlap(chunk):
    """75 tiny workloads, every set of their queries: it overlaps where it is listed, and only there."""
    draw = np.random.default_rng(chunk)
    for _ in range(25):
        workload = random_judged(draw, most_queries=7).workload
        queries = np.flatnonzero(~workload.contradictory())
        compiled, same = listed_overlaps(workload, queries)
        assert same
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


@pytest.mark.parametrize("limit", [1 << 12, 3])
def test_plans_without_compiling_keep_the_budget(monkeypatch, limit):
    """With overlaps listed or only bounded, no row costs more than the budget, and no plan is worse than uniform."""
    monkeypatch.setattr(listing, "_OVERLAP_LIMIT", limit)
    monkeypatch.setattr(units, "compilable", lambda _: False)
    draw = np.random.default_rng(8)
    for _ in range(25):
        judged = random_judged(draw, most_queries=8)
        if judged.workload.contradictory().all():
            continue
        for objective in ("mean", "max", "uniform"):
            plan = pc.plan(judged.workload, "pure", 1, objective, time_limit=5.0)
            priced = replace(judged, weights=plan.units.tolist())
            assert priced.truth() <= plan.loss_units <= 10**9
            assert plan.mean_error <= plan.uniform_mean_error * (1 + 1e-6) or objective != "mean"


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


def test_plans_with_too_many_overlaps_to_list():
    """250 queries on 10^1000 rows: costs fit the budget, and the mean error is below that of equal costs."""
    workload = huge_uniform_workload(250, 1_000, 0)
    _, same = listed_overlaps(workload, np.arange(250))
    assert not same
    plan = pc.plan(workload, "pure", 1, time_limit=6.0)
    priced = pc.max_overlap(plan.priced())
    assert priced.upper <= plan.loss <= 1
    assert plan.mean_error < plan.uniform_mean_error
