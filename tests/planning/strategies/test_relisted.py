"""What counting atoms costs, from what is kept of it, against every row."""

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import ArgumentError
from parcomp.planning import atoms_charge
from tests.soak import shared_with_soak
from tests.workloads import random_judged


def dearest(one, histograms):
    """The most that any row costs: the units of all histograms with a query that it satisfies."""
    return max(
        (sum(units for queries, units in histograms if row[queries].any()) for row in one.satisfied()),
        default=0,
    )


@pytest.mark.parametrize("chunk", shared_with_soak(100, 95))
def test_histograms_of_any_queries_cost_no_less_than_the_dearest_row(chunk):
    """However the queries are shared out; and just as much where each of them is counted by itself."""
    draw, alone, below_the_sum = np.random.default_rng(chunk), 0, 0
    for number in range(100):
        one = random_judged(draw, most_queries=12)
        count = len(one.workload)
        if not count:
            continue
        owner = np.arange(count) if number % 2 else draw.integers(0, draw.integers(1, count + 1), count)
        histograms = [
            (np.flatnonzero(owner == name), int(draw.integers(1, 10 ** draw.integers(1, 10))))
            for name in np.unique(owner)
        ]
        cost, exact = atoms_charge(one.workload, histograms), dearest(one, histograms)
        assert exact <= cost <= sum(units for _, units in histograms)
        below_the_sum += cost < sum(units for _, units in histograms)
        if number % 2:
            alone += 1
            assert cost == exact
    assert alone > 30
    assert below_the_sum > 30


def test_units_beyond_what_a_search_takes_are_added_up():
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 9)})
    workload = pc.Workload(domain, [domain.query(sex="F"), domain.query(age=3), domain.query(sex="M", age=3)])
    histograms = [(np.array([place]), 2**61) for place in range(3)]
    assert atoms_charge(workload, histograms) == 3 * 2**61
    assert atoms_charge(workload, [(queries, 2**59) for queries, _ in histograms]) == 2**60


def test_a_query_that_is_not_counted_is_refused():
    domain = pc.Domain({"age": pc.Integer(0, 9)})
    workload = pc.Workload(domain, [domain.query(age=3), domain.query(age=4)])
    with pytest.raises(ArgumentError, match="in none of its histograms"):
        atoms_charge(workload, [(np.array([0]), 5)])
