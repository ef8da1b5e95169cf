from __future__ import annotations

import numpy as np
import pytest

from parcomp.graph.query_graph import build_query_graph
from parcomp.overlap import targets
from parcomp.overlap.box import box_search as module
from parcomp.overlap.box.box_search import BoxSearch
from parcomp.overlap.rows.every_row import brute_force
from tests.workloads import compile_values, random_compiled, row_weight


def start(compiled, *known):
    return BoxSearch(compiled, build_query_graph(compiled), *known)


def finish(search, slice_=10**7):
    while not search.done:
        search.advance(slice_)
    return search


def check_every_pause(compiled, truth, search, slice_):
    lower, upper = search.lower, search.upper
    while True:
        assert lower <= search.lower <= truth <= search.upper <= upper
        assert row_weight(compiled, search.row) == search.lower
        lower, upper = search.lower, search.upper
        if search.done:
            break
        search.advance(slice_)
    assert search.lower == truth == search.upper


def test_brackets_the_truth_at_every_pause():
    """Small slices, weights to a million: the bracket is sound throughout and closes on the truth."""
    for seed in range(1500):
        draw = np.random.default_rng(seed)
        compiled = random_compiled(draw, weighted=bool(seed % 3))
        truth, _ = brute_force(compiled)
        check_every_pause(compiled, truth, start(compiled), int(draw.integers(1, 200)))


def test_destructive_targets_are_sound(monkeypatch):
    """With next to no patience for the first attempt, bounds come from targets above the incumbent."""
    monkeypatch.setattr(module, "FIRST_BUDGET", 50)
    monkeypatch.setattr(targets, "GROWTH_ALLOWED", 1)
    for seed in range(1000):
        draw = np.random.default_rng(seed)
        compiled = random_compiled(draw, most_queries=60, weighted=bool(seed % 2))
        truth, _ = brute_force(compiled)
        check_every_pause(compiled, truth, start(compiled), 300)


@pytest.mark.parametrize("size", [63, 64, 65, 130, 700])
def test_wide_masks(size):
    """Boxes that shrink from many words to few values, beside attributes that are small from the start."""
    for seed in range(40):
        draw = np.random.default_rng(1000 * size + seed)
        queries = []
        for _ in range(20):
            query = {0: np.flatnonzero(draw.random(size) < draw.choice([0.05, 0.5, 0.9]))}
            if draw.random() < 0.7:
                query[1] = np.flatnonzero(draw.random(5) < 0.5)
            queries.append({attribute: values for attribute, values in query.items() if len(values)})
        compiled = compile_values([size, 5], queries, draw.integers(1, 50, 20))
        truth, _ = brute_force(compiled)
        check_every_pause(compiled, truth, start(compiled), 500)


def test_renumbers_large_frames():
    """More than 512 queries, so that children work on shorter words."""
    for seed in range(6):
        draw = np.random.default_rng(seed)
        queries = [
            {attribute: np.flatnonzero(draw.random(size) < 0.25) for attribute, size in enumerate((12, 9, 70))}
            for _ in range(700)
        ]
        queries = [{a: values for a, values in query.items() if len(values)} for query in queries]
        compiled = compile_values([12, 9, 70], queries, draw.integers(1, 9, 700) if seed % 2 else None)
        truth, _ = brute_force(compiled)
        check_every_pause(compiled, truth, start(compiled), 2_000_000)


def test_pairwise_overlap_is_not_enough():
    """Three queries meet pairwise and never all at once (the paper's proposition on pairs)."""
    compiled = compile_values([3], [{0: [0, 1]}, {0: [1, 2]}, {0: [0, 2]}])
    search = finish(start(compiled))
    assert (search.lower, search.upper) == (2, 2)


def test_many_attributes_of_random_subsets():
    """The same answer from slices of any size, and with the incumbent known beforehand."""
    draw = np.random.default_rng(7)
    sizes = 10 ** draw.integers(1, 4, 12)
    queries = []
    for _ in range(60):
        attributes = draw.choice(12, draw.integers(1, 13), replace=False)
        queries.append({a: draw.choice(sizes[a], draw.integers(1, sizes[a] + 1), replace=False) for a in attributes})
    compiled = compile_values(sizes, queries)
    whole, sliced = finish(start(compiled)), finish(start(compiled), 1000)
    assert whole.lower == sliced.lower == row_weight(compiled, whole.row)
    told = finish(start(compiled, whole.lower, whole.row))
    assert told.upper == whole.lower
    assert told.row.tolist() == whole.row.tolist()


def test_equal_work_gives_equal_brackets():
    """The search is a function of its arguments and the work it was given."""
    compiled = random_compiled(np.random.default_rng(3), largest_size=30, most_attributes=8, most_queries=120)

    def trace():
        search = start(compiled)
        for _ in range(30):
            search.advance(2000)
            yield search.lower, search.upper, search.nodes, search.row.tolist()

    assert list(trace()) == list(trace())


def test_learns_rows_and_bounds_from_elsewhere():
    """A heavier row and a smaller bound are taken over, a lighter and a larger are not."""
    for seed in range(200):
        draw = np.random.default_rng(seed)
        compiled = random_compiled(draw, most_queries=60)
        truth, row = brute_force(compiled)
        search = start(compiled)
        search.advance(int(draw.integers(1, 3000)))
        lower, upper = search.lower, search.upper
        search.learn(lower - 1, np.zeros_like(row), upper + 1)
        assert (search.lower, search.upper) == (lower, upper)
        search.learn(0, np.zeros_like(row), int(draw.integers(truth, upper + 1)))
        if draw.random() < 0.5:
            search.learn(truth, row, upper)
        check_every_pause(compiled, truth, search, 500)


def test_degenerate_workloads():
    """No queries, no attributes, no terms, one query, all queries equal."""
    for compiled, truth in [
        (compile_values([3, 4], []), 0),
        (compile_values([], [{}], [9]), 9),
        (compile_values([3], [{}, {}], [2, 3]), 5),
        (compile_values([3], [{0: [1]}], [10**6]), 10**6),
        (compile_values([3, 70], [{0: [1, 2], 1: [69]}] * 5), 5),
        (compile_values([2], [{0: [0]}, {0: [1]}, {}], [4, 6, 1]), 7),
    ]:
        search = finish(start(compiled))
        assert (search.lower, search.upper) == (truth, truth)
        assert row_weight(compiled, search.row) == truth


def test_weights_near_the_largest_total():
    """Sums stay exact where floats would not."""
    compiled = compile_values([2, 2], [{0: [0]}, {1: [1]}, {0: [1]}], [2**60, 2**60 + 1, 2**60 + 3])
    assert finish(start(compiled)).lower == 2**61 + 4
