"""The paper's method, as the benchmarks run it, against enumeration and networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from parcomp.experiments import paper_method
from tests.workloads import random_judged


@pytest.mark.parametrize("block", range(4))
def test_maximum_overlap_is_that_of_the_heaviest_row(block: int) -> None:
    """The overlap variant of Algorithm 1 finds what enumeration finds, and names members of that weight."""
    for seed in range(50 * block, 50 * block + 50):
        judged = random_judged(np.random.default_rng(seed), most_queries=12)
        queries, weights = paper_method.query_sets(judged.workload), judged.weights
        result = paper_method.maximum_overlap(paper_method.query_graph(queries, weights), queries)
        assert result.finished
        assert result.weight == judged.truth(), seed
        assert result.weight == sum(weights[member] for member in result.members)


def test_query_graph_joins_overlapping_queries() -> None:
    """Two queries are adjacent iff their joint coverage is not empty; contradictions are left out."""
    for seed in range(100):
        workload = random_judged(np.random.default_rng(seed), most_queries=12).workload
        graph = paper_method.query_graph(paper_method.query_sets(workload))
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
        result = paper_method.maximum_clique(graph)
        assert result.weight == nx.max_weight_clique(graph)[1]
        assert result.weight == sum(graph.nodes[v]["weight"] for v in result.members)
        assert all(graph.has_edge(u, v) for u in result.members for v in result.members if u < v)


def test_coloring_is_proper_and_bounds_the_clique() -> None:
    """No edge joins two vertices of one color, and the class maxima add up to at least the heaviest clique."""
    graph = nx.gnp_random_graph(30, 0.5, seed=1)
    nx.set_node_attributes(graph, {v: v + 1 for v in graph}, "weight")
    colors = paper_method.color(graph)
    assert all(colors[u] != colors[v] for u, v in graph.edges)
    assert paper_method.coloring_weight(graph, colors) >= nx.max_weight_clique(graph)[1]


def test_an_elapsed_time_limit_is_reported() -> None:
    """A search or a graph that is cut off says so."""
    graph = nx.gnp_random_graph(60, 0.9, seed=0)
    nx.set_node_attributes(graph, 1, "weight")
    assert not paper_method.maximum_clique(graph, time_limit=0.0).finished
    workload = random_judged(np.random.default_rng(0)).workload
    assert paper_method.query_graph(paper_method.query_sets(workload), time_limit=-1.0) is None
