"""Dominated values of a level: whatever is dropped, a value that stays accepts at least as much."""

from __future__ import annotations

import numpy as np
import pytest

from parcomp.overlap.value._dominance_kernels import drop_dominated
from parcomp.overlap.value.splitting import load_levels, make_scratch
from tests.workloads import compile_values


def accepting(size, queries):
    """For each value the queries that accept it, as the bits of an integer."""
    columns = [0] * size
    for number, accepted in enumerate(queries):
        for value in accepted:
            columns[value] |= 1 << number
    return columns


def kept_values(size, queries):
    """The values that stay of an attribute on which each query accepts some values."""
    levels = load_levels(compile_values([size], [{0: accepted} for accepted in queries]), 0)
    levels.sifted[:] = levels.slots + 1
    dropped, _ = drop_dominated(levels, 0, make_scratch(levels))
    kept = levels.value[: levels.live[0, 0]].tolist()
    assert len(kept) == size - dropped
    return kept


def assert_dominated(size, queries):
    """Every value is covered by one that stays."""
    columns = accepting(size, queries)
    tops = {columns[value] for value in kept_values(size, queries)}
    for column in set(columns) - tops:
        assert any(column & ~top == 0 for top in tops)
    return len(tops)


@pytest.mark.parametrize("count", [7, 20, 70, 150, 300])
def test_random_subsets(count):
    """Few queries leave few values, many leave nearly all; more than 256 values that stay fill a block of the front."""
    draw = np.random.default_rng(count)
    for size in (24, 100, 700):
        for density in (0.03, 0.3, 0.9):
            queries = [np.flatnonzero(draw.random(size) < density) for _ in range(count)]
            assert_dominated(size, [accepted for accepted in queries if 0 < len(accepted) < size])


@pytest.mark.parametrize("size", [7_000, 20_000])
def test_more_values_than_are_tried_for_the_front(size):
    """Beyond some thousand values most are compared with the front by tables of bytes."""
    draw = np.random.default_rng(size)
    for count, density in ((12, 0.5), (70, 0.1), (70, 0.97)):
        queries = [np.flatnonzero(draw.random(size) < density) for _ in range(count)]
        assert_dominated(size, queries)


@pytest.mark.parametrize("ring", [40, 130, 260])
def test_a_ring_and_what_it_dominates(ring):
    """Value k is accepted by the queries k and k + 1; of the others, accepted by one query each, none needs to stay."""
    draw = np.random.default_rng(ring)
    size = 6_000
    place = draw.permutation(size).tolist()
    queries = [{place[k], place[k - 1]} for k in range(ring)]
    for other in range(ring, size):
        queries[draw.integers(ring)].add(place[other])
    assert assert_dominated(size, [sorted(accepted) for accepted in queries]) == ring
