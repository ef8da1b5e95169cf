"""What the paper's method is told of generated predicates is what it would find in sets of their values."""

from __future__ import annotations

import numpy as np
import pytest

from parcomp import max_overlap
from parcomp.experiments import paper_method
from parcomp.experiments.distributions import QUANTITIES, drawn_workload
from parcomp.experiments.generated_sets import generated_queries
from parcomp.experiments.huge import held_in_memory, huge_uniform_workload, uniform_queries


@pytest.mark.parametrize("seed", range(6))
def test_generated_sets_answer_as_sets_do(seed):
    workload = uniform_queries(16, [1, 1, 1, 2, 1, 2], seed)
    generated, held = generated_queries(workload), paper_method.query_sets(workload)
    for one, other in zip(generated, held, strict=True):
        assert list(one) == list(other)
        assert [len(values) for values in one.values()] == [len(values) for values in other.values()]
    graph, same = paper_method.query_graph(generated), paper_method.query_graph(held)
    assert set(map(frozenset, graph.edges)) == set(map(frozenset, same.edges))
    assert 0 < graph.number_of_edges() < 16 * 15 // 2
    found, truth = paper_method.maximum_overlap(graph, generated), paper_method.maximum_overlap(same, held)
    assert (found.weight, found.finished) == (truth.weight, truth.finished)
    assert max_overlap(workload).upper == max_overlap(held_in_memory(workload)).upper == truth.weight


def test_a_workload_held_in_memory_has_the_same_queries():
    workload = huge_uniform_workload(12, 20, 3)
    held = held_in_memory(workload)
    for position in range(12):
        terms = dict(held[position].terms)
        numbers = workload.term[workload.start[position] : workload.start[position + 1]].tolist()
        for number in numbers:
            predicate = workload.table.predicates[number]
            assert terms.pop(int(workload.table.attributes[number]), predicate) == predicate
        assert not terms


def counts_of(workload):
    return [predicate.count for query in workload for _, predicate in query.terms]


def test_each_distribution_differs_from_uniform_in_its_own_quantity():
    """Fewer predicates, attributes of the middle, fewer values, values of the middle."""
    drawn = {quantity: drawn_workload(300, quantity, 0.1, 0) for quantity in QUANTITIES}
    uniform = drawn_workload(300, "uniform", 0.0, 0)
    assert all(one.domain.size == 10**48 for one in (uniform, *drawn.values()))
    terms = {name: len(one.term) for name, one in {**drawn, "uniform": uniform}.items()}
    assert terms["predicates"] < 0.4 * terms["uniform"]
    assert 0.9 < terms["attributes"] / terms["uniform"] < 1.1

    def share(workload):
        pairs = [(predicate.count, predicate.size) for query in workload for _, predicate in query.terms]
        return np.mean([count / size for count, size in pairs if size >= 100])

    assert share(uniform) == pytest.approx(0.5, abs=0.05)
    assert share(drawn["counts"]) == pytest.approx(0.1, abs=0.03)

    def away(workload):
        middle = (len(workload.domain.attributes) - 1) / 2
        return np.mean([abs(a - middle) / middle for query in workload for a, _ in query.terms if len(query.terms) < 5])

    assert away(drawn["attributes"]) < 0.6 * away(uniform)

    def value_spread(workload):
        rows = [p for query in workload for _, p in query.terms if p.size == 10_000 and p.count < 2_000]
        return np.mean([np.abs(np.flatnonzero(p.flags()) / 10_000 - 0.5).mean() for p in rows])

    assert value_spread(drawn["values"]) < 0.5 * value_spread(uniform)
