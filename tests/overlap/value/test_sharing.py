"""Workers that share the tree of a value search, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.tree import layout as tree
from parcomp.overlap.tree import tree_search
from parcomp.overlap.value import ValueSearch, layout, value_search
from parcomp.overlap.value._sharing_kernels import hand_over, level_to_share
from tests.workloads import (
    SHAPES,
    Wide,
    compile_values,
    deep_workload,
    demanding_workload,
    heaviest_row,
    random_compiled,
    random_wide,
    row_weight,
)


def meet_after(monkeypatch: pytest.MonkeyPatch, work: int, threaded: int) -> None:
    """Let workers meet after so much work each, and use threads from the second amount on."""
    for name, amount in {"_FIRST_TURN": work, "_TURN": work, "_PIECE": work, "_THREADED": threaded}.items():
        monkeypatch.setattr(tree_search, name, amount)
    monkeypatch.setattr(ValueSearch, "first_budget", 10_000)


@pytest.fixture
def after_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers meet after each step, so that a part is handed over at every opportunity."""
    meet_after(monkeypatch, 1, 1 << 60)


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, bool]]:
    """What is handed over: whether after a branching on values, and whether the level leaves an attribute out."""
    seen = []

    def watch(levels: layout.Levels, level: int, *others: object) -> None:
        seen.append((levels.head[level, layout.BRANCH] >= 0, bool(levels.aside[level, :, layout.OUT].any())))
        hand_over(levels, level, *others)

    monkeypatch.setattr(value_search, "hand_over", watch)
    return seen


def check_solve(search: ValueSearch, truth: int, draw: np.random.Generator, most: int) -> None:
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


def branching(draw: np.random.Generator) -> CompiledWorkload:
    """A workload on which value search branches on values and on queries."""
    values = int(draw.integers(3, 9))
    queries = [
        {int(a): np.flatnonzero(draw.random(values) < 0.5) for a in draw.choice(5, draw.integers(2, 6), replace=False)}
        for _ in range(int(draw.integers(30, 90)))
    ]
    queries = [{a: accepted for a, accepted in query.items() if len(accepted)} for query in queries]
    return compile_values([values] * 5, queries, draw.integers(1, int(draw.choice([2, 4, 1000])), len(queries)))


@pytest.mark.usefixtures("after_each_step")
@pytest.mark.parametrize("block", range(4))
def test_what_is_handed_over_at_every_opportunity_is_not_lost(block: int, handed: list[tuple[bool, bool]]) -> None:
    draw = np.random.default_rng(block)
    for number in range(150):
        compiled = [deep_workload, branching, random_compiled][number % 3](draw)
        search = ValueSearch(compiled, root_rounds=20 * int(draw.integers(2)))
        check_solve(search, heaviest_row(compiled)[0], draw, 3_000)
    assert sum(by_value for by_value, _ in handed) > 400
    assert sum(not by_value for by_value, _ in handed) > 20


@pytest.mark.parametrize("block", range(2))
def test_on_threads_nothing_is_lost_either(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that go on for some steps find rows at the same time; the heaviest one counts."""
    meet_after(monkeypatch, 20_000, 1_000)
    draw = np.random.default_rng(10 + block)
    for number in range(40):
        compiled = [deep_workload, branching, demanding_workload][number % 3](draw)
        search = ValueSearch(compiled, root_rounds=0, processors=1 + number % 3)
        check_solve(search, heaviest_row(compiled)[0], draw, 100_000)


@pytest.mark.usefixtures("after_each_step")
@pytest.mark.parametrize("shape", SHAPES)
def test_more_values_and_queries_than_a_word_holds(shape: str) -> None:
    draw = np.random.default_rng(SHAPES.index(shape))
    for _ in range(10):
        wide = random_wide(draw, shape, most_queries=140)
        check_solve(ValueSearch(wide.compiled(), root_rounds=0), wide.truth(), draw, 200_000)


def with_a_large_attribute(draw: np.random.Generator) -> Wide:
    """A workload whose last attribute has nearly all bits and bounds little."""
    sizes, queries = [7, 6, 6, 5, 6_000], []
    for _ in range(80):
        query = {}
        for a, size in enumerate(sizes):
            density = draw.uniform(0.5, 1) if size > 8 else draw.uniform(0.2, 0.6)
            accepted = np.flatnonzero(draw.random(size) < density)
            if draw.random() < 0.7 and len(accepted):
                query[a] = frozenset(accepted.tolist())
        queries.append(query)
    return Wide(sizes, queries, draw.integers(1, 4, len(queries)).tolist())


@pytest.mark.usefixtures("after_each_step")
def test_what_a_level_leaves_out_is_handed_over_with_it(
    handed: list[tuple[bool, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large attributes that bound little are set aside by one worker and brought back by another."""
    monkeypatch.setattr(ValueSearch, "first_budget", 1 << 24)
    draw = np.random.default_rng(1)
    for _ in range(12):
        wide = with_a_large_attribute(draw)
        check_solve(ValueSearch(wide.compiled(), root_rounds=20), wide.truth(), draw, 1_000_000)
    assert sum(aside for _, aside in handed) > 100


def live_values(levels: layout.Levels, level: int, a: int) -> list[int]:
    at = levels.value_at[level, a]
    return levels.value[at : at + levels.live[level, a]].tolist()


def heaviest_of_level(levels: layout.Levels, level: int) -> int:
    """The weight of the heaviest row of a level, as the level counts, by all combinations of live values; -1: none."""
    queries, at = int(levels.head[level, layout.QUERIES]), int(levels.head[level, layout.QUERY_AT])
    satisfied = np.ones((1, queries), np.bool_)
    for a in np.flatnonzero(levels.slots[level]):
        live, slots = int(levels.live[level, a]), int(levels.slots[level, a])
        accepts = np.ones((live, queries), np.bool_)
        for k in range(slots):
            begin = levels.bits_at[level, a] + (k >> 3) * levels.stride[level, a]
            query = levels.slot_query[levels.slot_at[level, a] + k]
            accepts[:, query] = levels.bits[begin : begin + live] >> np.uint8(k & 7) & np.uint8(1)
        satisfied = (satisfied[:, None] & accepts).reshape(-1, queries)
    weights = levels.head[level, layout.COMMITTED] + satisfied @ levels.weight[at : at + queries]
    return int(weights.max(initial=-1))


def test_each_value_is_with_one_of_the_two_and_both_bounds_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(3)
    checked = []

    def check(worker: value_search._ValueWorker, other: value_search._ValueWorker) -> None:
        levels, shift = worker.levels, int(worker.state[tree.SHIFT])
        level = int(level_to_share(levels, worker.state))
        a, heaviest = int(levels.head[level, layout.BRANCH]), heaviest_of_level(levels, level)
        values = sorted(live_values(levels, level, a))
        hand_over_one(worker, other)
        if a >= 0:
            assert sorted(live_values(levels, level, a) + live_values(other.levels, 1, a)) == values
        parts = [(levels, level), (other.levels, 1)]
        assert max(heaviest_of_level(*part) for part in parts) == heaviest
        for stack, at in parts:
            assert int(stack.head[at, layout.BOUND]) >> shift >= heaviest_of_level(stack, at)
        checked.append(a >= 0)

    meet_after(monkeypatch, 1, 1 << 60)
    hand_over_one = value_search._ValueWorker.hand_over
    monkeypatch.setattr(value_search._ValueWorker, "hand_over", check)
    for _ in range(30):
        search = ValueSearch(branching(draw), root_rounds=0)
        while not search.done:
            search.advance(1 << 20)
    assert sum(checked) > 100
    assert len(checked) - sum(checked) > 5


@pytest.mark.parametrize("turn", [1, 200_000])
def test_what_is_learned_at_any_time_leaves_the_bracket_sound(turn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that is ended since another has proven as much proves nothing; rows of a turn under way are not lost."""
    meet_after(monkeypatch, turn, 1 << 60)
    draw = np.random.default_rng(7)
    for _ in range(100):
        compiled = branching(draw)
        truth, row = heaviest_row(compiled)
        search = ValueSearch(compiled, root_rounds=0)
        for _ in range(10_000):
            search.advance(int(draw.integers(1, 10_000)))
            if draw.random() < 0.02:
                search.learn(search.lower, search.row, int(draw.integers(truth, search.upper + 1)))
            if draw.random() < 0.005:
                search.learn(truth, row, search.upper)
            # A row that is heavier than the best so far, and need not be the heaviest.
            other = draw.integers(0, compiled.sizes).astype(np.int32)
            search.learn(row_weight(compiled, other), other, search.upper)
            assert search.lower == row_weight(compiled, search.row) <= truth <= search.upper
            if search.done:
                break
        assert search.done


def test_the_course_depends_on_neither_slices_nor_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the work is cut, and on however many threads, the same problems are bounded by the same workers."""
    meet_after(monkeypatch, 50_000, 10_000)
    draw = np.random.default_rng(5)
    shared = 0
    for _ in range(8):
        compiled = branching(draw)
        courses = set()
        for work, processors in ((100, 1), (30_000, 2), (10**9, 1), (10**9, 2), (10**9, 5)):
            search = ValueSearch(compiled, processors=processors)
            while not search.done:
                search.advance(work)
            courses.add((search.nodes, search.upper, *search.row.tolist(), *(one.done for one in search._workers)))
            shared += sum(worker.done > 0 for worker in search._workers) > 1
        assert len(courses) == 1
    assert shared >= 20
