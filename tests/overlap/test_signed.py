"""The maximum of signed sums against every row."""

from __future__ import annotations

import time

import numpy as np
import pytest

from parcomp.model.compile import compile_workload
from parcomp.overlap import signed_overlap, whole_gains_up
from parcomp.overlap.signed import _positive
from tests.soak import shared_with_soak
from tests.workloads import cell_matrix, check_invariants, compile_values, random_judged, random_wide

CHUNKS, CASES = 10, 60


def compiled_of(judged):
    """The compiled queries that are no contradictions, and their places."""
    compilation = compile_workload(judged.workload)
    return compilation.compiled, compilation.queries


def later():
    return time.monotonic() + 60


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("chunk", shared_with_soak(CHUNKS, CHUNKS - 1))
def test_signed_maxima_are_those_of_every_row(chunk, wide):
    """Exact, with a row that has the sum; weights of both signs and of none, and queries without constraints."""
    draw = np.random.default_rng([3, chunk, wide])
    for _ in range(CASES // (3 if wide else 1)):
        judged = random_judged(draw, wide=wide, most_queries=15)
        compiled, queries = compiled_of(judged)
        weights = draw.integers(-(10 ** int(draw.integers(1, 9))), 10 ** int(draw.integers(1, 9)), len(queries))
        weights[draw.random(len(weights)) < 0.1] = 0
        cells = cell_matrix(judged)[queries].astype(np.int64)
        truth = int((weights @ cells).max()) if len(queries) else 0
        found = signed_overlap(compiled, weights, later())
        assert found.lower == found.upper == truth
        assert int(weights[compiled.members(found.row)].sum()) == truth


@pytest.mark.parametrize("chunk", shared_with_soak(CHUNKS, CHUNKS - 1))
def test_a_bracket_holds_the_maximum_whenever_it_is_asked_for(chunk):
    """Also on attributes of many words, and where nothing but whether it exceeds a number is to be found out."""
    draw = np.random.default_rng([4, chunk])
    for _ in range(4):
        wide = random_wide(draw, most_queries=70)
        compiled = wide.compiled()
        weights = draw.integers(-1_000, 1_000, compiled.query_count)
        truth = max(int(weights[wide.members(row)].sum()) for row in distinct_rows(wide))
        early = signed_overlap(compiled, weights, 0.0)
        assert early.lower <= truth <= early.upper
        assert int(weights[wide.members(early.row.tolist())].sum()) == early.lower
        found = signed_overlap(compiled, weights, later())
        assert found.lower == found.upper == truth
        for enough in (truth - 1, truth):
            decided = signed_overlap(compiled, weights, later(), enough)
            assert decided.lower <= truth <= decided.upper
            assert (decided.upper <= enough) == (truth <= enough)


def distinct_rows(wide):
    """A row for each combination of values that some query tells apart."""
    first = []
    for attribute, size in enumerate(wide.sizes):
        columns = {}
        for value in range(size):
            columns.setdefault(tuple(value in query.get(attribute, {value}) for query in wide.queries), value)
        first.append(list(columns.values()))
    grid = np.meshgrid(*first, indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1).tolist()


def test_what_stands_in_for_negative_weights_is_well_formed():
    """Masks at the ends of words, each once, and none full or empty."""
    draw = np.random.default_rng(24)
    for size in (2, 63, 64, 65, 128, 129):
        sets = [frozenset(draw.permutation(size)[: draw.integers(1, size)].tolist()) for _ in range(40)]
        queries = [{0: values, 1: frozenset({1})} if draw.random() < 0.5 else {0: values} for values in sets]
        positive, below = _positive(compile_values([size, 3], queries, [2] * 40), draw.random(40) < 0.5)
        check_invariants(positive)
        assert below % 2 == 0


def test_whole_gains_are_never_below_the_gains():
    """Each is rounded up, to a unit that is a power of two."""
    draw = np.random.default_rng(5)
    for _ in range(200):
        gains = draw.normal(0, 10.0 ** draw.integers(-12, 12), int(draw.integers(1, 50)))
        whole, unit = whole_gains_up(gains)
        assert np.frexp(unit)[0] == 0.5
        assert (whole * unit >= gains).all()
        assert (whole * unit - gains < unit).all()
        assert abs(int(np.abs(whole).sum())) < 2**50
    assert whole_gains_up(np.zeros(3))[0].tolist() == [0, 0, 0]
