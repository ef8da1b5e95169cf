"""The maximum of signed sums against every row, and rows by pricing."""

from __future__ import annotations

import time

import numpy as np
import pytest

from parcomp.estimation.rows import ClimbedRows, ListedRows, compiled_rows, with_outside
from parcomp.estimation.signed import _positive, signed_overlap, whole_gains_up
from parcomp.model.compile import compile_workload
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
        cells = cell_matrix(judged, outside=outside)[queries]
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
