"""What every table of predicates answers, whether it holds its predicates or makes them."""

import numpy as np
import pytest

from parcomp.experiments.huge import GeneratedPredicates
from parcomp.model.predicate import Predicate
from parcomp.model.predicate_table import InternedPredicates

SIZES = (1, 2, 7, 64, 100, 3_000)


def interned(draw):
    """Points, ranges, scattered sets, complements and contradictions."""
    table = InternedPredicates()
    for attribute, size in enumerate(SIZES):
        for _ in range(12):
            start, stop = sorted(draw.integers(0, size + 1, 2).tolist())
            scattered = Predicate.from_codes(size, np.flatnonzero(draw.random(size) < draw.random()))
            run = Predicate.from_runs(size, [(start, stop)])
            table.number(attribute, [run, scattered, ~run, ~scattered & run][draw.integers(4)])
    return table


def generated(draw):
    """Sets of every size from none to all values."""
    attributes = np.repeat(np.arange(len(SIZES), dtype=np.int32), 12)
    sizes = np.array(SIZES)[attributes]
    counts = np.minimum(draw.integers(0, sizes + 1), draw.integers(1, 10_000, len(sizes)))
    return GeneratedPredicates(attributes, sizes, counts, int(draw.integers(1 << 30)))


@pytest.fixture(params=[interned, generated])
def table(request):
    return request.param(np.random.default_rng(5))


@pytest.fixture
def sets(table):
    return [set(np.flatnonzero(predicate.flags()).tolist()) for predicate in table.predicates]


def same_attribute(table, draw, count, at_most):
    """Groups of predicates of one attribute each."""
    attributes = np.asarray(table.attributes)
    for _ in range(count):
        numbers = np.flatnonzero(attributes == draw.choice(attributes))
        yield draw.choice(numbers, int(draw.integers(1, at_most + 1)))


def test_contradictions_and_flags(table, sets):
    assert table.contradictory().tolist() == [not accepted for accepted in sets]
    for attribute, size in enumerate(SIZES):
        numbers = np.flatnonzero(np.asarray(table.attributes) == attribute)[::-1]
        flags = table.flags(numbers)
        assert flags.shape == (len(numbers), size)
        assert [set(np.flatnonzero(row).tolist()) for row in flags] == [sets[number] for number in numbers]


def test_overlapping_pairs(table, sets):
    attributes = np.asarray(table.attributes)
    first, second = np.nonzero(attributes[:, None] == attributes)
    answer = table.overlapping(first, second)
    assert answer.tolist() == [bool(sets[i] & sets[j]) for i, j in zip(first, second, strict=True)]
    assert answer.any()
    assert not answer.all()
    assert table.overlapping(first[:0], second[:0]).tolist() == []


def test_accepted_codes(table, sets):
    draw = np.random.default_rng(1)
    numbers = draw.integers(0, len(sets), 2_000)
    codes = draw.integers(0, np.array(SIZES)[np.asarray(table.attributes)[numbers]])
    assert table.accepting(numbers, codes).tolist() == [c in sets[n] for n, c in zip(numbers, codes, strict=True)]
    assert table.accepting(numbers[:0], codes[:0]).tolist() == []


def test_shared_codes(table, sets):
    groups = list(same_attribute(table, np.random.default_rng(2), 500, 5))
    start = np.concatenate(([0], np.cumsum([len(group) for group in groups])))
    codes = table.shared_codes(np.concatenate(groups), start).tolist()
    assert -1 in codes
    for group, code in zip(groups, codes, strict=True):
        common = set.intersection(*(sets[number] for number in group))
        assert code in common if common else code == -1
    assert table.shared_codes(groups[0][:0], start[:1]).tolist() == []
