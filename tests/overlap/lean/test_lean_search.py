"""The lean search against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from parcomp.overlap.lean import LeanSearch, lean_search, suits
from parcomp.overlap.tree import tree_search
from tests.workloads import (
    SHAPES,
    Wide,
    compile_values,
    deep_workload,
    heaviest_row,
    random_compiled,
    random_wide,
    row_weight,
)


def check_solve(search: LeanSearch, truth: int, draw: np.random.Generator, most: int) -> None:
    """Run a search to its end with pauses at random, checking the bracket at each."""
    lower, upper = search.lower, search.upper
    for _ in range(10**6):
        assert lower <= search.lower <= truth <= search.upper <= upper
        assert row_weight(search.compiled, search.row) == search.lower
        lower, upper = search.lower, search.upper
        if search.done:
            break
        search.advance(int(draw.integers(1, most)))
    assert search.lower == search.upper == truth


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers meet after a few problems, on threads, and attempts are soon given up for easier ones."""
    for name, work in {"_FIRST_TURN": 100, "_TURN": 300, "_PIECE": 100, "_THREADED": 2_000}.items():
        monkeypatch.setattr(tree_search, name, work)
    monkeypatch.setattr(LeanSearch, "first_budget", 600)


@pytest.mark.parametrize("block", range(4))
def test_small_workloads_are_solved_exactly(block: int) -> None:
    draw = np.random.default_rng(block)
    for _ in range(400):
        compiled = random_compiled(draw, density=0.6)
        check_solve(LeanSearch(compiled), heaviest_row(compiled)[0], draw, 3_000)


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("block", range(3))
def test_workers_hand_over_and_lose_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they meet often, all of them have worked in most searches, and each pause brackets the truth."""
    handed = 0
    hand_over = lean_search.hand_over

    def count(*given: object) -> None:
        nonlocal handed
        handed += 1
        hand_over(*given)

    monkeypatch.setattr(lean_search, "hand_over", count)
    draw = np.random.default_rng(100 + block)
    for _ in range(60):
        compiled = deep_workload(draw)
        check_solve(LeanSearch(compiled), heaviest_row(compiled)[0], draw, 5_000)
    assert handed > 1_000


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("shape", SHAPES)
def test_more_values_and_queries_than_a_word_holds(shape: str) -> None:
    draw = np.random.default_rng(SHAPES.index(shape))
    for _ in range(12):
        wide = random_wide(draw, shape, most_queries=140)
        check_solve(LeanSearch(wide.compiled()), wide.truth(), draw, 1_000_000)


@pytest.mark.usefixtures("short_turns")
def test_what_is_learned_at_any_time_leaves_the_bracket_sound() -> None:
    """A search that is ended since another has proven as much proves nothing of its own."""
    draw = np.random.default_rng(7)
    for _ in range(120):
        compiled = deep_workload(draw, 50)
        truth, row = heaviest_row(compiled)
        search = LeanSearch(compiled)
        for _ in range(2_000):
            search.advance(int(draw.integers(1, 2_000)))
            if draw.random() < 0.1:
                search.learn(search.lower, search.row, int(draw.integers(truth, search.upper + 1)))
            if draw.random() < 0.02:
                search.learn(truth, row, search.upper)
            # A row that is heavier than the best so far, and need not be the heaviest.
            other = draw.integers(0, compiled.sizes).astype(np.int32)
            search.learn(row_weight(compiled, other), other, search.upper)
            assert search.lower == row_weight(compiled, search.row) <= truth <= search.upper
            if search.done:
                break
        assert search.done


@pytest.mark.parametrize(
    ("sizes", "queries", "weights", "truth"),
    [
        ([3], [{0: [1]}], [7], 7),
        ([3], [{0: [0]}, {0: [1, 2]}, {0: [2]}], [3, 2, 2], 4),
        ([1, 1], [{}, {}], [5, 6], 11),
        ([], [{}], [2], 2),
        ([2, 2], [{0: [0]}, {0: [1]}, {}], [1, 1, 1], 2),
        ([4], [{0: [0]}, {0: [1]}], [10**6, 2**60], 2**60),
        ([2, 2], [{0: [0], 1: [0]}, {0: [1], 1: [1]}], [2**61, 2**61 - 1], 2**61),
    ],
)
def test_degenerate_workloads(
    sizes: list[int], queries: list[dict[int, list[int]]], weights: list[int], truth: int
) -> None:
    """One attribute, one query, nothing constrained, no attribute, the largest weights."""
    check_solve(LeanSearch(compile_values(sizes, queries, weights)), truth, np.random.default_rng(0), 10)


@pytest.mark.usefixtures("short_turns")
def test_the_course_does_not_depend_on_the_slices() -> None:
    """However the work is cut, and on however many threads, the same problems are bounded by the same workers."""
    draw = np.random.default_rng(5)
    for _ in range(10):
        compiled = deep_workload(draw, 120)
        courses = set()
        for work, processors in ((100, 1), (3_000, 2), (10**9, 1), (10**9, 2), (10**9, 5)):
            search = LeanSearch(compiled, processors=processors)
            while not search.done:
                search.advance(work)
            courses.add((search.nodes, search.lower, *(worker.done for worker in search._workers)))
        assert len(courses) == 1


def test_what_suits() -> None:
    """Few values do; many values do not, and neither do so many attributes that the stack would take too much room."""
    assert suits(compile_values([12] * 4, [{0: [1], 3: [2]}]))
    assert not suits(compile_values([1 << 19], [{0: [1]}]))
    assert not suits(compile_values([2] * 4_000, [{a: [0] for a in range(4_000)}]))
    assert suits(Wide([300], [{0: frozenset([7])}], [1]).compiled())
