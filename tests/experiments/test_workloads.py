"""Families of workloads have the shapes that their definitions state."""

from __future__ import annotations

from math import comb

import networkx as nx
import numpy as np
import pytest

from parcomp import Query, Workload
from parcomp.experiments import paper_method, workloads


def _graph(workload: Workload) -> nx.Graph:
    return paper_method.query_graph(paper_method.query_sets(workload))


def _overlap(workload: Workload) -> int:
    return paper_method.maximum_overlap(_graph(workload), paper_method.query_sets(workload)).weight


def _size(workload: Workload, attribute: int) -> int:
    return list(workload.domain.attributes.values())[attribute].size


def _terms(query: Query) -> list[tuple[int, int]]:
    return [(attribute, predicate.count) for attribute, predicate in query.terms]


def test_census_domain_and_workload() -> None:
    """Paper §7.2: 1.4 million rows and 3,600,000 queries; the longest income prefix is all of it, so no constraint."""
    assert workloads.census_domain().size == 1_400_000
    workload = workloads.census_workload()
    assert len(workload) == 3_600_000
    assert workload[0].where() == {"income": 0}
    assert workload[3_600_000 - 720].terms == ()
    last = workload[3_600_000 - 1]
    assert list(last.where()) == ["income", "age", "marital", "race", "gender"]
    assert len(last.terms) == 4
    assert last.coverage_size == 5_000


@pytest.mark.parametrize("t", [1, 25, 400])
def test_census_samples(t: int) -> None:
    """A sample has t queries: an income prefix, and of every other attribute one element or all."""
    workload = workloads.census_sample(t, seed=3)
    assert len(workload) == t
    for query in workload:
        for attribute, predicate in query.terms:
            assert predicate.edges == (0, predicate.count) if attribute == 0 else predicate.count == 1


def test_census_samples_are_uniform_over_elements_and_all() -> None:
    """Each of the seven races and "all" comes up in about an eighth of the queries."""
    workload = workloads.census_sample(4_000, seed=0)
    races = [dict(query.terms).get(3) for query in workload]
    counts = [races.count(race) for race in dict.fromkeys(races)]
    assert len(counts) == 8
    assert all(abs(count - 500) < 5 * np.sqrt(4_000 * 7 / 64) for count in counts)


def test_families_are_named_by_their_arguments() -> None:
    """The same seed gives the same workload, and another seed another one."""
    for build in (
        lambda seed: workloads.census_sample(30, seed),
        lambda seed: workloads.uniform_workload(10, 5, 3, seed),
        lambda seed: workloads.points(30, 5, 4, seed),
        lambda seed: workloads.boxes(30, 3, 20, seed),
        lambda seed: workloads.binary(30, 8, seed),
        lambda seed: workloads.dense_subsets(30, 12, seed),
    ):
        assert list(build(1)) == list(build(1))
        assert list(build(1)) != list(build(2))


def test_uniform_domain_and_workload() -> None:
    """Paper §7.1: sizes 10^k; the numbers of attributes and of values are uniform over all they may be."""
    domain = workloads.uniform_domain(60, 3, seed=0)
    assert {attribute.size for attribute in domain.attributes.values()} == {10, 100, 1_000}
    workload = workloads.uniform_workload(600, 8, 2, seed=0)
    assert len(workload) == 600
    # A tautology, drawn with probability 1/|A|, is no term; so a query with all 8 attributes may have fewer.
    assert max(len(query.terms) for query in workload) == 8
    shares = [count / 100 for query in workload for a, count in _terms(query) if _size(workload, a) == 100]
    assert abs(np.mean(shares) - 0.5) < 0.05
    assert min(shares) <= 0.03
    assert max(shares) >= 0.97


def test_random_subsets_reach_every_value_alike() -> None:
    """In scattered subsets of three quarters of the values, each value occurs in three quarters of them."""
    workload = workloads.dense_subsets(2_000, 12, seed=0, attributes=1)
    assert {query.terms[0][1].count for query in workload} == {9}
    hits = sum(query.terms[0][1].flags().astype(int) for query in workload)
    assert all(abs(hits - 1_500) < 5 * np.sqrt(2_000 * 3 / 16))


def test_paper_example() -> None:
    """The appendix: six queries, seven overlapping pairs, and three queries that one row satisfies."""
    workload = workloads.paper_example()
    assert len(workload) == 6
    assert workload.ids == ["q1", "q2", "q3", "q4", "q5", "q6"]
    edges = {(0, 1), (0, 3), (1, 2), (1, 3), (1, 5), (3, 4), (2, 4)}
    assert {tuple(sorted(edge)) for edge in _graph(workload).edges} == edges
    assert _overlap(workload) == 3


@pytest.mark.parametrize(("attributes", "values", "ways"), [(3, 2, 2), (4, 3, 3), (5, 2, 1)])
def test_marginals(attributes: int, values: int, ways: int) -> None:
    """There is a query for every cell, and a row lies in one cell of each marginal."""
    workload = workloads.marginals(attributes, values, ways)
    assert len(workload) == sum(comb(attributes, way) * values**way for way in range(1, ways + 1))
    assert len(set(workload)) == len(workload)
    assert _overlap(workload) == sum(comb(attributes, way) for way in range(1, ways + 1))


def test_points_boxes_and_binary() -> None:
    """Points ask for single values, boxes for a range on every attribute, and binary queries for two values."""
    assert all(count == 1 for query in workloads.points(50, 6, 5, 0) for _, count in _terms(query))
    assert {len(query.terms) for query in workloads.points(50, 6, 5, 0, constraints=3)} == {3}
    for query in workloads.boxes(50, 4, 30, 0):
        assert all(len(list(predicate.runs())) == 1 for _, predicate in query.terms)
    assert {len(query.terms) for query in workloads.binary(50, 10, 0)} == {2}


def test_max_cut_reduction() -> None:
    """Paper §4: the overlap of the queries of a graph is its largest cut; an odd cycle loses one edge."""
    assert _overlap(workloads.max_cut(5, nx.cycle_graph(5).edges)) == 4
    assert _overlap(workloads.max_cut(4, nx.complete_graph(4).edges)) == 4
    assert _overlap(workloads.max_cut(6, nx.complete_bipartite_graph(3, 3).edges)) == 9


def test_from_graph_has_that_query_graph() -> None:
    """The query graph of the queries of a graph is the graph, and their overlap is its clique number."""
    for seed in range(20):
        graph = nx.gnp_random_graph(9, 0.6, seed=seed)
        workload = workloads.from_graph(9, graph.edges)
        assert {frozenset(edge) for edge in _graph(workload).edges} == {frozenset(edge) for edge in graph.edges}
        assert _overlap(workload) == max(map(len, nx.find_cliques(graph)))


@pytest.mark.parametrize(("chromatic_number", "vertices", "edges"), [(2, 2, 1), (3, 5, 5), (4, 11, 20), (5, 23, 71)])
def test_mycielski(chromatic_number: int, vertices: int, edges: int) -> None:
    """The graphs are networkx's Mycielski graphs: no triangle, yet many colors."""
    graph = _graph(workloads.mycielski(chromatic_number))
    assert (len(graph), graph.number_of_edges()) == (vertices, edges)
    assert nx.is_isomorphic(graph, nx.mycielski_graph(chromatic_number))
