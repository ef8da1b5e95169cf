"""Colorings and covers: proper, never below the clique number, and no worse than networkx."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcomp.graph.coloring import dsatur, fractional_cover, weighted_coloring
from parcomp.graph.query_graph import QueryGraph, build_query_graph
from tests.graph.graphs import assert_cover, assert_proper, heaviest_clique, random_graph
from tests.workloads import SHAPES, compile_values, random_wide


def census_like(draw, count):
    """Prefixes of a large attribute and points of four small ones, like the paper's census workload."""
    sizes = [600, 5, 4, 7, 2]
    queries = []
    for _ in range(count):
        query = {0: set(range(int(draw.integers(1, 601))))}
        for attribute in range(1, 5):
            value = int(draw.integers(0, sizes[attribute] + 1))
            if value < sizes[attribute]:
                query[attribute] = {value}
        queries.append(query)
    return build_query_graph(compile_values(sizes, queries))


def test_thousands_of_small_graphs():
    """On random weighted graphs every bound is proven by its own sets and is at least the clique number."""
    draw = np.random.default_rng(1)
    for _ in range(1500):
        graph = random_graph(draw, int(draw.integers(1, 10)), draw.random(), int(draw.choice([1, 3, 1000])))
        truth = heaviest_clique(graph)
        first, best, cover = dsatur(graph), weighted_coloring(graph, rounds=2), fractional_cover(graph, rounds=3)
        assert_proper(graph, first)
        assert_proper(graph, best)
        assert_cover(graph, cover)
        assert truth <= best.weight <= first.weight
        assert truth <= cover.bound <= first.weight


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 140), st.floats(0, 1), st.sampled_from([1, 2, 10**15]))
def test_large_weights_and_several_words(seed, size, density, heaviest):
    """Beyond one word of vertices, and with weights near 2**50, colorings are proper and covers exact."""
    graph = random_graph(np.random.default_rng(seed), size, density, heaviest)
    coloring = weighted_coloring(graph, rounds=1)
    assert_proper(graph, coloring)
    assert coloring.weight <= dsatur(graph).weight
    assert_cover(graph, fractional_cover(graph, rounds=2))


@pytest.mark.parametrize("shape", SHAPES)
def test_wide_workloads_are_bounded(shape):
    """65 to 300 queries, more than 64 and 128 classes among them: proper, exact covers, never below the truth."""
    draw = np.random.default_rng(SHAPES.index(shape))
    most = 0
    for _ in range(4):
        wide = random_wide(draw, shape)
        graph, truth = build_query_graph(wide.compiled()), wide.truth()
        for coloring in (dsatur(graph), weighted_coloring(graph, rounds=1)):
            assert_proper(graph, coloring)
            assert coloring.weight >= truth
            most = max(most, coloring.class_count)
        cover = fractional_cover(graph, rounds=2)
        assert_cover(graph, cover)
        assert cover.bound >= truth
    assert most > 64


@pytest.mark.parametrize("seed", range(30))
def test_no_more_colors_than_networkx(seed):
    """DSatur uses no more colors than networkx's on census-like and on random graphs."""
    draw = np.random.default_rng(seed)
    for graph in (census_like(draw, 150), random_graph(draw, 90, 0.2 + 0.02 * seed)):
        theirs = nx.greedy_color(graph.to_networkx(), "saturation_largest_first")
        coloring = dsatur(graph)
        assert_proper(graph, coloring)
        assert coloring.class_count <= max(theirs.values()) + 1


def test_bipartite_graphs_take_two_colors():
    """DSatur is exact on bipartite graphs (Brélaz 1979)."""
    for seed in range(20):
        graph = QueryGraph.from_networkx(nx.bipartite.random_graph(40, 50, 0.1, seed=seed))
        assert dsatur(graph).class_count == 2


@pytest.mark.parametrize(
    ("graph", "colors"),
    [
        (nx.petersen_graph(), 3),
        (nx.cycle_graph(9), 3),
        (nx.cycle_graph(10), 2),
        (nx.complete_graph(70), 70),
        (nx.complete_multipartite_graph(3, 4, 5, 1), 4),
        (nx.mycielski_graph(4), 4),
        (nx.mycielski_graph(5), 5),
        (nx.empty_graph(80), 1),
    ],
)
def test_known_chromatic_numbers(graph, colors):
    """The chromatic number is met on graphs where it is known."""
    coloring = weighted_coloring(QueryGraph.from_networkx(graph))
    assert coloring.class_count == coloring.weight == colors


def test_weighted_classes_group_heavy_with_heavy():
    """Where two colors of weights 10 + 1 are possible, saturation alone may pay 10 + 10 but the best is found."""
    # Two disjoint edges, each with a heavy and a light end, written so that saturation puts a heavy end in each class.
    graph = QueryGraph.from_edges(4, [(0, 1), (2, 3)], [10, 1, 1, 10])
    assert dsatur(graph).weight == 20
    assert weighted_coloring(graph).weight == 11


def test_cover_beats_every_coloring():
    """On a weighted 5-cycle the cover is below the lightest of all colorings, and meets the clique number."""
    weights = [4, 3, 5, 2, 6]
    edges = [(i, (i + 1) % 5) for i in range(5)]
    graph = QueryGraph.from_edges(5, edges, weights)
    lightest = min(
        sum(max(w for w, c in zip(weights, classes, strict=True) if c == number) for number in set(classes))
        for classes in product(range(5), repeat=5)
        if all(classes[u] != classes[v] for u, v in edges)
    )
    cover = fractional_cover(graph)
    assert_cover(graph, cover)
    assert weighted_coloring(graph).weight >= lightest
    assert heaviest_clique(graph) == cover.bound < lightest


def test_checker_of_covers_can_fail():
    """The check used here rejects a cover that is one short, and one whose sets are not independent."""
    graph = QueryGraph.from_edges(3, [(0, 1)], [2, 3, 1])
    cover = fractional_cover(graph)
    short = type(cover)(cover.sets, cover.multipliers - np.eye(len(cover.sets), dtype=np.int64)[0], cover.bound - 1)
    with pytest.raises(AssertionError):
        assert_cover(graph, short)
    with pytest.raises(AssertionError):
        assert_cover(graph, type(cover)((np.arange(3),), np.array([3]), 3))


def test_no_vertices():
    """A graph without vertices needs no color."""
    graph = QueryGraph.from_edges(0, [])
    assert dsatur(graph).weight == weighted_coloring(graph).weight == fractional_cover(graph).bound == 0
