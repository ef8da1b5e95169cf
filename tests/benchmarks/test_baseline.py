"""The paper's method, as the benchmarks run it, against enumeration and networkx."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest

from benchmarks import baseline
from parcomp import Domain, Integer, Query, Workload
from parcomp.model.predicate import Predicate


def _random_workload(seed: int) -> Workload:
    """A few queries with weights over at most 4 attributes of at most 5 values; some are contradictions."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, rng.integers(1, 5)).tolist()
    domain = Domain({f"a{number}": Integer(0, size - 1) for number, size in enumerate(sizes)})
    queries = []
    for _ in range(int(rng.integers(1, 13))):
        chosen = [a for a in range(len(sizes)) if rng.random() < 0.7]
        subsets = [np.flatnonzero(rng.random(sizes[a]) < 0.6) for a in chosen]
        queries.append(
            Query(domain, tuple((a, Predicate.from_codes(sizes[a], s)) for a, s in zip(chosen, subsets, strict=True)))
        )
    return Workload(domain, queries, rng.integers(1, 50, len(queries)).tolist())


def _weights(workload: Workload) -> list[int]:
    return [int(workload.cost_of(position).amount) for position in range(len(workload))]


def _heaviest_row(workload: Workload) -> int:
    """The maximum overlap by looking at every row."""
    names = workload.domain.names
    queries, weights = list(workload), _weights(workload)
    rows = product(*(range(attribute.size) for attribute in workload.domain.attributes.values()))
    return max(
        sum(
            weight
            for query, weight in zip(queries, weights, strict=True)
            if query.covers(dict(zip(names, row, strict=True)))
        )
        for row in rows
    )


@pytest.mark.parametrize("block", range(4))
def test_maximum_overlap_is_that_of_the_heaviest_row(block: int) -> None:
    """The overlap variant of Algorithm 1 finds what enumeration finds, and names members of that weight."""
    for seed in range(50 * block, 50 * block + 50):
        workload = _random_workload(seed)
        queries, weights = baseline.query_sets(workload), _weights(workload)
        result = baseline.maximum_overlap(baseline.query_graph(queries, weights), queries)
        assert result.finished
        assert result.weight == _heaviest_row(workload), seed
        assert result.weight == sum(weights[member] for member in result.members)


def test_query_graph_joins_overlapping_queries() -> None:
    """Two queries are adjacent iff their joint coverage is not empty; contradictions are left out."""
    for seed in range(100):
        workload = _random_workload(seed)
        graph = baseline.query_graph(baseline.query_sets(workload))
        kept = [i for i, query in enumerate(workload) if not query.is_contradiction]
        edges = {(i, j) for i in kept for j in kept if i < j and (workload[i] & workload[j]).coverage_size > 0}
        assert sorted(graph) == kept
        assert {tuple(sorted(edge)) for edge in graph.edges} == edges


@pytest.mark.parametrize("density", [0.2, 0.5, 0.8])
def test_maximum_clique_agrees_with_networkx(density: float) -> None:
    """The mended Algorithm 1 finds a clique, as heavy as the one that networkx finds."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        graph = nx.gnp_random_graph(14, density, seed=seed)
        nx.set_node_attributes(graph, {v: int(rng.integers(1, 20)) for v in graph}, "weight")
        result = baseline.maximum_clique(graph)
        assert result.weight == nx.max_weight_clique(graph)[1]
        assert result.weight == sum(graph.nodes[v]["weight"] for v in result.members)
        assert all(graph.has_edge(u, v) for u in result.members for v in result.members if u < v)


def test_coloring_is_proper_and_bounds_the_clique() -> None:
    """No edge joins two vertices of one color, and the class maxima add up to at least the heaviest clique."""
    graph = nx.gnp_random_graph(30, 0.5, seed=1)
    nx.set_node_attributes(graph, {v: v + 1 for v in graph}, "weight")
    colors = baseline.color(graph)
    assert all(colors[u] != colors[v] for u, v in graph.edges)
    assert baseline.coloring_weight(graph, colors) >= nx.max_weight_clique(graph)[1]


def test_an_elapsed_time_limit_is_reported() -> None:
    """A search or a graph that is cut off says so."""
    graph = nx.gnp_random_graph(60, 0.9, seed=0)
    nx.set_node_attributes(graph, 1, "weight")
    assert not baseline.maximum_clique(graph, time_limit=0.0).finished
    workload = _random_workload(0)
    assert baseline.query_graph(baseline.query_sets(workload), time_limit=-1.0) is None
