"""Predicates are sets: every operation is held against Python's sets or against arrays of booleans."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import PredicateError
from parcomp.model.predicate import Predicate
from tests.property.strategies import few, many

SMALL_SIZES = (1, 2, 5, 63, 64, 65, 130, 600, 1100)
LARGE_SIZES = (10_000, 1_000_000)


@st.composite
def two_sets(draw: st.DrawFn) -> tuple[int, frozenset[int], frozenset[int]]:
    size = draw(st.sampled_from(SMALL_SIZES))
    codes = st.frozensets(st.integers(0, size - 1), max_size=40)
    runs = st.builds(lambda a, b: frozenset(range(min(a, b), max(a, b))), st.integers(0, size), st.integers(0, size))
    scattered = st.builds(lambda start, step: frozenset(range(start, size, step)), st.integers(0, 3), st.integers(1, 7))
    sets = st.one_of(codes, runs, scattered, st.builds(frozenset.union, runs, codes), st.just(frozenset(range(size))))
    return size, draw(sets), draw(sets)


def codes_of(predicate: Predicate) -> frozenset[int]:
    return frozenset(code for start, stop in predicate.runs() for code in range(start, stop))


@many
@given(two_sets())
def test_algebra_is_that_of_sets(case: tuple[int, frozenset[int], frozenset[int]]) -> None:
    size, a, b = case
    p, q = Predicate.from_codes(size, a), Predicate.from_codes(size, b)
    assert codes_of(p) == a
    assert codes_of(p & q) == a & b
    assert codes_of(p | q) == a | b
    assert codes_of(~p) == frozenset(range(size)) - a
    assert p.isdisjoint(q) == a.isdisjoint(b)
    assert (p <= q) == (a <= b)
    assert (p == q) == (a == b)
    assert p.count == len(a)
    assert p.is_contradiction == (not a)
    assert p.is_tautology == (len(a) == size)
    assert [code in p for code in range(-1, size + 1)] == [code in a for code in range(-1, size + 1)]
    assert frozenset(np.flatnonzero(p.flags()).tolist()) == a
    if a:
        assert p.first() == min(a)


@many
@given(two_sets(), st.randoms())
def test_equal_sets_are_equal_objects_however_they_were_made(
    case: tuple[int, frozenset[int], frozenset[int]], random: object
) -> None:
    size, a, b = case
    p, q = Predicate.from_codes(size, a), Predicate.from_codes(size, b)
    shuffled = sorted(a, key=lambda _: random.random())  # type: ignore[attr-defined]
    ways = [
        Predicate.from_codes(size, np.array(shuffled, np.int64)),
        Predicate.from_runs(size, [(code, code + 1) for code in shuffled]),
        ~~p,
        (p & q) | (p & ~q),
        ~(~p | ~q) | (p & ~q),
        p & Predicate.tautology(size),
        p | Predicate.contradiction(size),
    ]
    assert all(way == p and hash(way) == hash(p) for way in ways)


@many
@given(two_sets())
def test_runs_are_maximal_and_ascend(case: tuple[int, frozenset[int], frozenset[int]]) -> None:
    size, a, _ = case
    runs = list(Predicate.from_codes(size, a).runs())
    assert all(start < stop for start, stop in runs)
    assert all(stop < start for (_, stop), (start, _) in pairwise(runs))


def large_flags(size: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """A point, a range, a short list, thousands of runs or a scattered subset, or the complement of one."""
    flags = np.zeros(size, np.bool_)
    match rng.integers(5):
        case 0:
            flags[rng.integers(size)] = True
        case 1:
            start, stop = np.sort(rng.integers(size, size=2))
            flags[start:stop] = True
        case 2:
            flags[rng.integers(size, size=10)] = True
        case 3:
            flags[rng.integers(size, size=size // 300)] = True
        case _:
            flags = rng.random(size) < 0.3
    return ~flags if rng.integers(2) else flags


@pytest.mark.parametrize("size", LARGE_SIZES)
@pytest.mark.parametrize("seed", range(12))
def test_algebra_on_large_attributes(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = large_flags(size, rng), large_flags(size, rng)
    p, q = Predicate.from_codes(size, np.flatnonzero(a)), Predicate.from_codes(size, np.flatnonzero(b))
    for predicate, flags in ((p, a), (p & q, a & b), (p | q, a | b), (~p, ~a)):
        assert predicate == Predicate.from_codes(size, np.flatnonzero(flags))
        assert np.array_equal(predicate.flags(), flags)
        assert predicate.count == flags.sum()
    assert p.isdisjoint(q) == (not (a & b).any())
    assert (p <= q) == (not (a & ~b).any())


def memory_of(predicate: Predicate) -> int:
    parts = sys.getsizeof(predicate) + sys.getsizeof(predicate.edges) + sys.getsizeof(predicate.bits)
    return parts + sum(sys.getsizeof(edge) for edge in predicate.edges or ())


@pytest.mark.parametrize("size", [10**6, 10**9, 2 * 10**9])
def test_ordinary_predicates_take_no_more_on_a_large_attribute(size: int) -> None:
    span = Predicate.from_runs(size, [(size // 4, size // 2)])
    listed = Predicate.from_codes(size, range(0, size, size // 9))
    scattered = Predicate.from_runs(size, [(code, code + 1) for code in range(5, 10**6, 10**5)])
    for predicate in (span, listed, scattered, span & ~listed, span | listed):
        assert memory_of(predicate) < 2_000
        assert memory_of(~predicate) < 2_000
    assert listed.count == 10
    assert (~listed).count == size - 10
    assert listed.isdisjoint(~listed)


def test_a_scattered_subset_takes_one_bit_a_value() -> None:
    scattered = Predicate.from_codes(10**6, range(0, 10**6, 2))
    assert memory_of(scattered) < 10**6 // 7


@few
@given(st.integers(1, 100), st.lists(st.tuples(st.integers(-20, 120), st.integers(-20, 120)), max_size=6))
def test_runs_are_cut_to_the_attribute(size: int, runs: list[tuple[int, int]]) -> None:
    expected = {code for start, stop in runs for code in range(start, stop) if 0 <= code < size}
    assert codes_of(Predicate.from_runs(size, runs)) == expected


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint64])
def test_codes_may_be_integers_of_any_width(dtype: type[np.integer]) -> None:
    codes = np.array([0, 1, 126, 127], dtype)
    assert list(Predicate.from_codes(1000, codes).runs()) == [(0, 2), (126, 128)]


@pytest.mark.parametrize("codes", [[-1], [10], [0, 10], np.array([255], np.uint8)])
def test_codes_outside_the_attribute_are_an_error(codes: list[int]) -> None:
    with pytest.raises(PredicateError, match="0 … 9"):
        Predicate.from_codes(10, codes)


def test_same_codes_of_attributes_of_different_size_differ() -> None:
    assert Predicate.from_codes(10, [1]) != Predicate.from_codes(11, [1])


def test_predicates_of_long_runs_meet_as_sets_do() -> None:
    """All pairs of unions of six stretches, of which each is much longer than a word."""
    blocks = [range(start, start + 500) for start in range(0, 3000, 500)]
    unions = [[block for bit, block in enumerate(blocks) if chosen >> bit & 1] for chosen in range(64)]
    predicates = [Predicate.from_runs(3000, [(one.start, one.stop) for one in union]) for union in unions]
    assert all(predicate.edges is not None for predicate in predicates)
    for one, first in zip(predicates, unions, strict=True):
        for other, second in zip(predicates, unions, strict=True):
            shared = [block for block in first if block in second]
            assert [range(*run) for run in (one & other).runs()] == [
                range(*run) for run in Predicate.from_runs(3000, [(b.start, b.stop) for b in shared]).runs()
            ]
            assert (one & other).count == 500 * len(shared)
            assert one.isdisjoint(other) == (not shared)
