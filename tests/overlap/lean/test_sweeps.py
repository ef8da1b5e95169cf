"""What a sweep of lean search does to one level, step by step against the definition."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest

from parcomp.bits import unpack_bits
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.lean import LeanSearch, layout, lean_search
from parcomp.overlap.lean import _level_kernels as kernels
from parcomp.overlap.tree import layout as tree
from parcomp.slices import Slices, sliced
from tests.workloads import compile_values, random_compiled, row_weight


@pytest.fixture(scope="module")
def sweep():
    """A sweep of level 0, which only kernels call otherwise."""
    inner = getattr(kernels.sweep, "compiled", kernels.sweep)

    @numba.njit
    def call(lanes, stack, bound, need):
        return inner(lanes, stack, 0, bound, need)

    return call


@pytest.fixture(scope="module")
def drop_values():
    """The same for dropping values."""
    inner = getattr(kernels.drop_values, "compiled", kernels.drop_values)

    @numba.njit
    def call(lanes, stack, slack):
        return inner(lanes, stack, 0, slack)

    return call


@sliced
def as_they_are(compiled: CompiledWorkload) -> Slices[CompiledWorkload]:
    """No siblings are united."""
    yield 1
    return compiled


def root(compiled: CompiledWorkload) -> LeanSearch:
    """A search whose root is laid down with the queries as they are, scored and swept a little."""
    search = LeanSearch(compiled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lean_search, "unite_siblings", as_they_are)
        setting_up = search._set_up()
        while not search._workers:
            next(setting_up)
        next(setting_up)
    return search


def shift_of(search: LeanSearch) -> int:
    """The scale of its multipliers."""
    return int(search._workers[0].state[tree.SHIFT])


def some_need(draw: np.random.Generator, search: LeanSearch, bound: int) -> int:
    """What rows must score: any amount, or just what one of them weighs."""
    row = draw.integers(0, search.compiled.sizes).astype(np.int32)
    return int(
        draw.choice([int(bound * draw.uniform(0.4, 1.02)), row_weight(search.compiled, row) << shift_of(search)])
    )


def check_level(search: LeanSearch, stack: layout.Stack, bound: int, need: int) -> None:
    """Shares add up, scores are sums of shares, the bound is theirs, and no row that matters is lost."""
    compiled, lanes = search.compiled, search._workers[0].lanes
    live = [
        unpack_bits(stack.live[0, lanes.live_at[a] : lanes.live_at[a + 1]], int(size))
        for a, size in enumerate(compiled.sizes)
    ]
    constrained = np.flatnonzero(np.diff(compiled.start)).tolist()
    score = [np.zeros(int(size), np.int64) for size in compiled.sizes]
    for i, q in enumerate(constrained):
        slots = range(stack.first[0, i], stack.first[0, i + 1])
        assert all(stack.share[0, k] >= 0 for k in slots)
        weight = 0 if stack.flag[i] else int(compiled.weights[q]) << shift_of(search)
        assert sum(int(stack.share[0, k]) for k in slots) == weight
        for k in slots:
            mask = int(stack.mask[0, k])
            score[compiled.mask_attribute[mask]] += stack.share[0, k] * compiled.mask_bits(mask)
    best = 0
    for a, (values, scores) in enumerate(zip(live, score, strict=True)):
        held = stack.score[0, lanes.value_at[a] : lanes.value_at[a + 1]]
        assert np.array_equal(held[values], scores[values])
        assert (held[~values] < 0).all()
        best += int(scores[values].max())
    assert bound == int(stack.head[0, layout.COMMITTED]) + best
    given_up = {q for i, q in enumerate(constrained) if stack.flag[i]}
    for row in itertools.product(*(range(size) for size in compiled.sizes)):
        codes = np.array(row, np.int32)
        if row_weight(compiled, codes) << shift_of(search) >= need:
            assert all(values[code] for values, code in zip(live, row, strict=True))
            assert not given_up & set(compiled.members(codes).tolist())


@pytest.mark.parametrize("block", range(3))
def test_a_sweep_keeps_its_books_and_loses_no_row(block: int, sweep) -> None:
    """At every need from far below the heaviest row to above it, several sweeps in a row."""
    draw = np.random.default_rng(block)
    settled_queries = settled_values = 0
    for _ in range(500):
        compiled = random_compiled(draw, 5, 3, 14, density=0.8)
        search = root(compiled)
        stack = search._workers[0].stack
        bound = int(stack.head[0, layout.BOUND])
        need = some_need(draw, search, bound)
        for _ in range(3):
            after, _, _ = sweep(search._workers[0].lanes, stack, bound, need)
            assert after <= bound
            bound = int(after)
            if bound < need:
                break
            check_level(search, stack, bound, need)
        settled_queries += int(stack.flag.sum())
        settled_values += sum(unpack_bits(stack.live[0], 64 * stack.live.shape[1])) < compiled.sizes.sum()
    assert settled_queries > 100
    assert settled_values > 50


def test_no_row_that_matters_loses_a_value(drop_values) -> None:
    """Values are dropped by their scores at every need."""
    draw = np.random.default_rng(9)
    dropped = 0
    for _ in range(150):
        compiled = random_compiled(draw, 5, 3, 14, density=0.8)
        search = root(compiled)
        stack = search._workers[0].stack
        bound = int(stack.head[0, layout.BOUND])
        need = min(bound, some_need(draw, search, bound))
        dropped += bool(drop_values(search._workers[0].lanes, stack, bound - need))
        for a, size in enumerate(compiled.sizes.tolist()):
            live = unpack_bits(
                stack.live[0, search._workers[0].lanes.live_at[a] : search._workers[0].lanes.live_at[a + 1]], size
            )
            at = int(search._workers[0].lanes.value_at[a])
            stack.score[0, at : at + size][~live] = layout.LOWEST
        check_level(search, stack, bound, need)
    assert dropped > 30


def test_a_query_that_a_demanded_one_excludes_is_taken_back_from_live_values_alone(sweep) -> None:
    """The first query is demanded, which leaves the second no value; what it had on a dropped value is not counted."""
    search = root(compile_values([2, 2], [{0: [0], 1: [0]}, {0: [1], 1: [0]}], [20, 9]))
    stack, one = search._workers[0].stack, 1 << shift_of(search)
    stack.share[0] = np.array([0, 20, 9, 0]) * one
    stack.score[0] = np.array([0, 9, 20, 0]) * one
    bound, _, settled = sweep(search._workers[0].lanes, stack, 29 * one, 20 * one)
    assert settled
    assert stack.flag.tolist() == [0, layout.DEAD]
    assert bound == 20 * one
    check_level(search, stack, int(bound), 20 * one)
