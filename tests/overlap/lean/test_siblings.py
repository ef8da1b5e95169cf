"""Workloads with fewer queries, held to the weight of every row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.lean.siblings import unite_siblings
from tests.workloads import compile_values, random_compiled, random_wide


def check_form(compiled: CompiledWorkload) -> None:
    """What kernels rely on, by the docstring of :class:`CompiledWorkload`."""
    masks = [tuple(compiled.mask_bits(mask).tolist()) for mask in range(len(compiled.mask_attribute))]
    assert all(any(mask) and not all(mask) for mask in masks)
    assert len(set(zip(compiled.mask_attribute.tolist(), masks, strict=True))) == len(masks)
    assert (np.diff(compiled.mask_attribute) >= 0).all()
    assert set(compiled.term.tolist()) == set(range(len(masks)))
    assert (compiled.weights > 0).all()
    for begin, end in itertools.pairwise(compiled.start):
        assert (np.diff(compiled.mask_attribute[compiled.term[begin:end]]) > 0).all()


def check_same(compiled: CompiledWorkload, rows: np.ndarray) -> CompiledWorkload:
    united = unite_siblings(compiled)
    check_form(united)
    assert united.query_count <= compiled.query_count
    assert (united.sizes == compiled.sizes).all()
    for row in rows.astype(np.int32):
        assert united.weigh(row) == compiled.weigh(row)
    return united


def every_row(compiled: CompiledWorkload) -> np.ndarray:
    return np.array(list(itertools.product(*map(range, compiled.sizes.tolist()))))


@pytest.mark.parametrize("block", range(4))
def test_every_row_weighs_the_same(block: int) -> None:
    draw, united = np.random.default_rng(block), 0
    for _ in range(250):
        compiled = random_compiled(draw, density=0.4)
        united += check_same(compiled, every_row(compiled)).query_count < compiled.query_count
    assert united > 20


@pytest.mark.parametrize("heaviest", [1, 3, (2**62 - 1) // 40])
def test_points_on_two_values_unite_by_their_weights(heaviest: int) -> None:
    """Many siblings, and siblings of unions, with whatever is left of the heavier one."""
    draw = np.random.default_rng(heaviest % 97)
    for _ in range(60):
        queries = [
            {int(a): [int(draw.integers(2))] for a in draw.choice(5, draw.integers(1, 4), replace=False)}
            for _ in range(40)
        ]
        compiled = compile_values([2] * 5, queries, draw.integers(1, heaviest + 1, 40))
        assert check_same(compiled, every_row(compiled)).query_count < compiled.query_count


def test_wide_attributes_unite_too() -> None:
    """Rows at random: there are too many to look at all."""
    draw = np.random.default_rng(5)
    for _ in range(30):
        wide = random_wide(draw)
        compiled = compile_values(wide.sizes, wide.queries, wide.weights)
        check_same(compiled, np.array([draw.integers(compiled.sizes) for _ in range(100)]))


def test_all_cells_of_a_table_are_one_query_that_constrains_nothing() -> None:
    cells = [{0: [i], 1: [j], 2: [k]} for i in range(3) for j in range(70) for k in range(2)]
    compiled = compile_values([3, 70, 2], cells, np.full(len(cells), 7))
    united = check_same(compiled, every_row(compiled))
    assert (united.query_count, len(united.term), united.total) == (1, 0, 7)


def test_queries_that_differ_on_two_attributes_or_meet_stay() -> None:
    compiled = compile_values([3, 3], [{0: [0], 1: [0]}, {0: [1], 1: [1]}, {0: [0, 2], 1: [0]}], np.array([1, 1, 1]))
    assert check_same(compiled, every_row(compiled)).query_count == 3
