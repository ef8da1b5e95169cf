from __future__ import annotations

import numpy as np
import pytest

from parcomp.overlap.rows.every_row import brute_force
from parcomp.overlap.rows.row_search import RowSearch, find_row
from tests.workloads import compile_values, random_compiled, row_weight


def test_lower_is_the_weight_of_the_row_and_below_the_truth():
    """At every pause the row attains the bound, which never falls and never passes the truth."""
    for seed in range(300):
        compiled = random_compiled(np.random.default_rng(seed))
        truth, _ = brute_force(compiled)
        search, last = RowSearch(compiled, seed=seed), 0
        for _ in range(10):
            search.advance(100)
            assert last <= search.lower == row_weight(compiled, search.row) <= truth
            last = search.lower


def test_finds_the_maximum_of_nearly_all_tiny_workloads():
    """A heuristic may miss, but on rows this short it should not."""
    missed = 0
    for seed in range(300):
        compiled = random_compiled(np.random.default_rng(seed))
        missed += find_row(compiled, 100_000)[0] < brute_force(compiled)[0]
    assert missed <= 3


def test_equal_seed_and_work_give_the_same_row():
    """The search is a function of its arguments; other seeds go elsewhere."""
    compiled = random_compiled(np.random.default_rng(5), largest_size=40, most_attributes=12, most_queries=60)
    first, second = find_row(compiled, 20_000, seed=3), find_row(compiled, 20_000, seed=3)
    assert first[0] == second[0]
    assert first[1].tolist() == second[1].tolist()
    rows = {tuple(find_row(compiled, 500, seed)[1].tolist()) for seed in range(10)}
    assert len(rows) > 1


def test_starts_from_the_row_it_is_given():
    """With no work at all the start is the answer, and more work never loses it."""
    compiled = compile_values([50] * 6, [{a: [49] for a in range(6)}], [1000])
    start = np.full(6, 49, np.int32)
    assert find_row(compiled, 0, start=start)[0] == 1000
    assert find_row(compiled, 10_000, start=start)[0] == 1000


@pytest.mark.parametrize("size", [64, 65, 1000, 300_000])
def test_finds_the_one_common_value_of_wide_masks(size):
    """All masks meet in one value only, which filtering by whole words must not lose."""
    draw = np.random.default_rng(size)
    needle = int(draw.integers(size))
    queries = []
    for _ in range(12):
        accepted = draw.random(size) < 0.3
        accepted[needle] = True
        queries.append({0: np.flatnonzero(accepted)})
    compiled = compile_values([size], queries)
    weight, row = find_row(compiled, 5_000_000)
    assert weight == 12
    assert row_weight(compiled, row) == 12


def test_thousands_of_attributes():
    """Queries on two of many attributes: disjoint attribute pairs are all satisfied together."""
    compiled = compile_values([2] * 4000, [{2 * i: [1], 2 * i + 1: [0]} for i in range(2000)])
    assert find_row(compiled, 2_000_000)[0] == 2000


def test_degenerate_workloads():
    """No queries, no attributes, no terms, one value."""
    assert find_row(compile_values([3, 4], []), 1000)[0] == 0
    assert find_row(compile_values([], [{}], [9]), 1000)[0] == 9
    assert find_row(compile_values([3], [{}, {}], [2, 3]), 1000)[0] == 5
    assert find_row(compile_values([1, 2], [{1: [1]}]), 1000)[0] == 1
