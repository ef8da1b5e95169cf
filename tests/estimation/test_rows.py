"""Rows by pricing: what is said of them is so, and what is proven is no less than the best."""

from __future__ import annotations

import time

import numpy as np
import pytest

from parcomp.estimation.rows import ClimbedRows, ListedRows, compiled_rows, with_outside
from parcomp.model.compile import compile_workload
from tests.workloads import cell_matrix, check_invariants, compile_values, random_judged


def compiled_of(judged):
    """The compiled queries that are no contradictions, and their places."""
    compilation = compile_workload(judged.workload)
    return compilation.compiled, compilation.queries


def later():
    return time.monotonic() + 60


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("kind", [ListedRows, ClimbedRows])
def test_rows_have_their_gains_and_bounds_hold(kind, outside):
    """What a source says of a row is so; the best of listed rows is the best of all; what is proven is no less."""
    draw = np.random.default_rng([6, outside])
    for number in range(60):
        judged = random_judged(draw, wide=number % 5 == 0, most_queries=20)
        compiled, queries = compiled_of(judged)
        if not len(queries):
            continue
        cells = cell_matrix(judged, outside=outside, columns=True)[queries]
        gains = draw.normal(0, 10, len(queries)).round(int(draw.integers(0, 3)))
        best = float((gains @ cells).max())
        source = kind(with_outside(compiled) if outside else compiled)
        priced = source.price(gains)
        assert np.allclose(priced.flags @ gains, priced.gains, atol=1e-9)
        kinds = {bytes(column) for column in cells.astype(np.bool_).T}
        assert all(bytes(row) in kinds for row in priced.flags)
        assert len({bytes(row) for row in priced.flags}) == len(priced.flags)
        if kind is ListedRows:
            assert priced.gains.max() == pytest.approx(best, abs=1e-9)
            assert best <= priced.bound <= best + 1e-9
        proven = source.prove(gains, later(), -np.inf if kind is ListedRows else best + 1)
        assert proven.bound >= best
        assert np.allclose(proven.flags @ gains, proven.gains, atol=1e-9)


@pytest.mark.parametrize("size", [2, 63, 64, 65, 127, 128, 129])
def test_a_value_outside_satisfies_no_predicate(size):
    """The wider workload is well formed at the ends of words, too."""
    draw = np.random.default_rng([7, size])
    sets = [frozenset(draw.permutation(size)[: draw.integers(1, size)].tolist()) for _ in range(70)]
    queries = [{0: values} if draw.random() < 0.8 else {} for values in sets]
    wider = with_outside(compile_values([size], queries, [1] * len(queries)))
    check_invariants(wider)
    assert wider.sizes.tolist() == [size + 1]
    assert wider.members(np.array([size], np.int32)).tolist() == [q for q, query in enumerate(queries) if not query]
    assert wider.members(np.array([0], np.int32)).tolist() == [
        q for q, query in enumerate(queries) if 0 in query.get(0, {0})
    ]


def test_few_rows_are_listed_and_many_are_climbed_for():
    """By how much work it takes to look at all."""
    draw = np.random.default_rng(8)
    assert isinstance(compiled_rows(compiled_of(random_judged(draw))[0]), ListedRows)
    queries = [{a: frozenset(draw.permutation(300)[:150].tolist()) for a in range(4)} for _ in range(70)]
    assert isinstance(compiled_rows(compile_values([300] * 4, queries, [1] * 70)), ClimbedRows)
