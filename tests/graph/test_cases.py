"""Proofs by cases against cliques found by looking at all sets of vertices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from parcomp.bits import pack_bits
from parcomp.graph import Case, QueryGraph, prove_cliques
from parcomp.graph.cases import _Prover


def random_graph(draw):
    """A small graph with its edges as flags."""
    size = int(draw.integers(1, 25))
    flags = np.triu(draw.random((size, size)) < draw.uniform(0.2, 0.7), 1)
    flags |= flags.T
    heaviest = int(draw.choice([1, 3, 10**6]))
    return flags, QueryGraph(pack_bits(flags), draw.integers(1, heaviest + 1, size))


def heaviest_clique(flags, weights, vertices):
    """The weight of the heaviest clique among some vertices."""
    if not vertices:
        return 0
    first, *others = vertices
    near = [v for v in others if flags[first, v]]
    with_it = int(weights[first]) + heaviest_clique(flags, weights, near)
    return max(with_it, heaviest_clique(flags, weights, others))


def bound_of(cases, flags, weights, number, vertices):
    """What a case proves of the cliques of some vertices, by the definitions."""
    one = cases[number]
    if isinstance(one, Case):
        short = {v: int(weights[v]) for v in vertices}
        for weight, members in one.sets:
            assert not any(flags[u, v] for u, v in combinations(members.tolist(), 2))
            for v in members.tolist():
                if v in short:
                    short[v] -= weight
        return sum(weight for weight, _ in one.sets) + sum(max(0, rest) for rest in short.values())
    assert number < one.inside < one.rest < len(cases)
    near = [v for v in vertices if flags[one.vertex, v]]
    inside = bound_of(cases, flags, weights, one.inside, near) + int(weights[one.vertex])
    return max(inside, bound_of(cases, flags, weights, one.rest, [v for v in vertices if v != one.vertex]))


@pytest.mark.parametrize("chunk", range(2))
def test_the_clique_number_is_provable_and_nothing_less(chunk):
    draw = np.random.default_rng(chunk)
    branched = 0
    for _ in range(150):
        flags, graph = random_graph(draw)
        vertices = list(range(graph.vertex_count))
        truth = heaviest_clique(flags, graph.weights, vertices)
        cases = prove_cliques(graph, truth)
        assert cases is not None
        assert bound_of(cases, flags, graph.weights, 0, vertices) <= truth
        branched += len(cases) > 1
        assert prove_cliques(graph, truth - 1) is None
    assert branched > 20


def test_peeling_proves_the_clique_number_and_nothing_less():
    """Sparse and dense graphs: what is peeled off is as good a proof as what is branched on."""
    draw = np.random.default_rng(5)
    peeled = 0
    for _ in range(300):
        flags, graph = random_graph(draw)
        vertices = list(range(graph.vertex_count))
        truth = heaviest_clique(flags, graph.weights, vertices)
        prover = _Prover(graph, flags, 10**6, 1 << 30, peel=True)
        assert prover.close(np.array(vertices), truth, 0)
        assert bound_of(prover.cases, flags, graph.weights, 0, vertices) <= truth
        assert not _Prover(graph, flags, 10**6, 1 << 30, peel=True).close(np.array(vertices), truth - 1, 0)
        peeled += len(prover.cases) > 1
    assert peeled > 40


def test_limits_of_length_and_of_work_are_kept():
    flags = np.ones((40, 40), np.bool_) & ~np.eye(40, dtype=np.bool_)
    flags[np.arange(40), np.arange(40)[::-1]] = False
    graph = QueryGraph(pack_bits(flags), np.ones(40, np.int64))
    assert prove_cliques(graph, 20) is not None
    assert prove_cliques(graph, 19) is None
    assert prove_cliques(graph, 20, size_limit=10) is None
    assert prove_cliques(graph, 20, work_limit=10) is None
