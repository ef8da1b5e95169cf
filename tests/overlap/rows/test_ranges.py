"""Ranges over one and two attributes."""

from __future__ import annotations

import numpy as np
import pytest

from parcomp.errors import SizeError
from parcomp.overlap.rows.ranges import heaviest_point, interval_ends, sweep
from tests.workloads import compile_values, heaviest_row, random_workload, row_weight


@pytest.mark.parametrize("dimensions", [1, 2])
def test_heaviest_point_agrees_with_all_corners(dimensions: int) -> None:
    """The weight is the largest over all combinations of low ends, and the point attains it."""
    for seed in range(500):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 30))
        top = int(10 ** rng.integers(1, 10))
        ends = np.sort(rng.integers(-top, top, (count, dimensions, 2)), axis=2)
        low, high = np.ascontiguousarray(ends[:, :, 0]), np.ascontiguousarray(ends[:, :, 1])
        weights = rng.integers(1, 10**6, count)
        weight, point = heaviest_point(low, high, weights)
        assert weights[((low <= point) & (point <= high)).all(axis=1)].sum() == weight
        corners = np.array(np.meshgrid(*low.T)).reshape(dimensions, -1).T
        inside = ((low[None] <= corners[:, None]) & (corners[:, None] <= high[None])).all(axis=2)
        assert (inside * weights).sum(axis=1).max() == weight


def test_ranges_that_only_touch_overlap() -> None:
    """Ends are included: a range that starts where another ends overlaps it."""
    low, high = np.array([[0], [5], [6]]), np.array([[5], [9], [9]])
    assert heaviest_point(low, high, np.array([1, 1, 1]))[0] == 2
    assert heaviest_point(low, high, np.array([5, 1, 1]))[0] == 6


def test_sweep_agrees_with_enumeration() -> None:
    """On workloads of intervals over at most two attributes the sweep is exact; elsewhere it declines."""
    swept = declined = 0
    for seed in range(800):
        compiled = random_workload(seed, "interval" if seed % 4 else None, wide=seed % 5 == 0)
        result = sweep(compiled)
        if result is None:
            assert compiled.attribute_count > 2 or interval_ends(compiled) is None
            declined += 1
            continue
        weight, row = result
        swept += 1
        assert weight == heaviest_row(compiled)[0] == row_weight(compiled, row)
    assert swept > 200
    assert declined > 100


def test_rectangles_over_wide_attributes() -> None:
    """Thousands of rectangles: a grid of all depths, made by differences, agrees with the sweep."""
    rng = np.random.default_rng(3)
    ends = np.sort(rng.integers(0, 300, (4000, 2, 2)), axis=2)
    weights = rng.integers(1, 1000, 4000)
    grid = np.zeros((301, 301), np.int64)
    for sign, x, y in ((1, 0, 0), (-1, 1, 0), (-1, 0, 1), (1, 1, 1)):
        np.add.at(grid, (ends[:, 0, x] + x, ends[:, 1, y] + y), sign * weights)
    weight, point = heaviest_point(ends[:, :, 0], ends[:, :, 1], weights)
    depth = grid.cumsum(axis=0).cumsum(axis=1)
    assert weight == depth.max() == depth[tuple(point)]


def test_no_ranges_and_no_attributes() -> None:
    """Nothing weighs nothing; without attributes every query is satisfied."""
    assert heaviest_point(np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64), np.zeros(0, np.int64))[0] == 0
    result = sweep(compile_values([], [{}, {}], [2, 3]))
    assert result is not None
    assert result[0] == 5


def test_three_attributes_are_refused() -> None:
    """The sweep says what it can do."""
    with pytest.raises(SizeError, match="1 or 2 attributes, not 3"):
        heaviest_point(np.zeros((1, 3), np.int64), np.ones((1, 3), np.int64), np.ones(1, np.int64))
