"""The clique search against brute force, networkx and known graphs; its bracket is sound whenever it is interrupted."""

import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcomp.bits import pack_bits
from parcomp.graph import _clique_kernels as kernels
from parcomp.graph import clique
from parcomp.graph.clique import CliqueSearch, search_cliques
from parcomp.graph.query_graph import QueryGraph, build_query_graph
from parcomp.slices import sliced
from tests.graph.graphs import assert_clique, heaviest_clique, random_graph
from tests.workloads import random_wide


def without_local_search(monkeypatch):
    """Let the first incumbent be the heaviest vertex alone, so that branching has all the work to do."""

    def heaviest_vertex(adjacency, weights, steps, stop_at, seed):
        return np.arange(len(weights)) == np.argmax(weights)

    monkeypatch.setattr(clique.start_kernels, "local_search", heaviest_vertex)


def without_root_bounds(monkeypatch):
    """Let the bound of the start be the sum of all weights, so that no search ends before branching."""

    class Loose:
        def __init__(self, graph):
            self.weight = self.bound = graph.total
            self.class_count = graph.vertex_count

    @sliced
    def loose(graph, rounds=0):
        yield 1
        return Loose(graph)

    for name in ("dsatur", "weighted_coloring", "fractional_cover"):
        monkeypatch.setattr(clique, name, loose)


def with_branching_alone(monkeypatch):
    """Without a good start from either side."""
    without_local_search(monkeypatch)
    without_root_bounds(monkeypatch)


@pytest.mark.parametrize("heaviest", [1, 3, 1000])
@pytest.mark.parametrize("helped", [True, False])
def test_thousands_of_small_graphs(heaviest, helped, monkeypatch):
    """On random graphs the weight is that of brute force, with and without a good start."""
    if not helped:
        with_branching_alone(monkeypatch)
    draw = np.random.default_rng(heaviest)
    for _ in range(700):
        graph = random_graph(draw, int(draw.integers(1, 11)), draw.random(), heaviest)
        result = search_cliques(graph)
        assert result.done
        assert result.lower == result.upper == heaviest_clique(graph)
        assert_clique(graph, result)


@pytest.mark.parametrize("heaviest", [1, 2, 50])
def test_branching_alone_against_networkx(heaviest, monkeypatch):
    """On graphs of several words, dense and sparse, branching from the poorest start agrees with networkx."""
    with_branching_alone(monkeypatch)
    draw = np.random.default_rng(17 + heaviest)
    for _ in range(60):
        graph = random_graph(draw, int(draw.integers(20, 100)), draw.choice([0.1, 0.3, 0.5, 0.7]), heaviest)
        _, truth = nx.max_weight_clique(graph.to_networkx(), "weight")
        result = search_cliques(graph)
        assert (result.lower, result.upper, result.done) == (truth, truth, True)
        assert_clique(graph, result)


@pytest.mark.parametrize("shape", ["point", "interval", "nested"])
@pytest.mark.parametrize("helped", [True, False])
def test_wide_workloads_where_cliques_overlap(shape, helped, monkeypatch):
    """65 to 300 queries, weights up to 2**62 in all: by the Helly property ω is the maximum overlap, which is known."""
    if not helped:
        with_branching_alone(monkeypatch)
    draw = np.random.default_rng(len(shape))
    for _ in range(6):
        wide = random_wide(draw, shape)
        graph = build_query_graph(wide.compiled())
        result = search_cliques(graph)
        assert result.lower == result.upper == wide.truth()
        assert_clique(graph, result)


@pytest.mark.parametrize("heaviest", [1, 30])
def test_several_words_against_networkx(heaviest, monkeypatch):
    """Sparse graphs of 129 to 300 vertices, by branching from the poorest start."""
    with_branching_alone(monkeypatch)
    draw = np.random.default_rng(heaviest)
    for _ in range(6):
        graph = random_graph(draw, int(draw.integers(129, 301)), draw.choice([0.05, 0.15, 0.25]), heaviest)
        _, truth = nx.max_weight_clique(graph.to_networkx(), "weight")
        result = search_cliques(graph)
        assert (result.lower, result.upper, result.done) == (truth, truth, True)
        assert_clique(graph, result)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 13), st.floats(0, 1), st.sampled_from([1, 5, 2**57]))
def test_any_weights(seed, size, density, heaviest):
    """Whatever the graph, and with weights that nearly fill 62 bits, the search agrees with brute force."""
    graph = random_graph(np.random.default_rng(seed), size, density, heaviest)
    result = search_cliques(graph)
    assert (result.lower, result.done) == (heaviest_clique(graph), True)


@pytest.mark.parametrize("heaviest", [1, 100])
def test_interrupted_brackets_are_sound(heaviest, monkeypatch):
    """After every slice of work the bracket holds the truth, its clique is real, and both ends only improve."""
    without_local_search(monkeypatch)
    draw = np.random.default_rng(heaviest)
    slices = 0
    for _ in range(15):
        graph = random_graph(draw, 70, 0.75, heaviest)
        truth = search_cliques(graph).lower
        search = CliqueSearch(graph)
        lower, upper = search.lower, search.upper
        while not search.done:
            search.advance(200)
            assert_clique(graph, search)
            assert lower <= search.lower <= truth <= search.upper <= upper
            assert search.done == (search.lower == search.upper)
            lower, upper = search.lower, search.upper
            slices += 1
        assert search.lower == truth
    assert slices > 100


@pytest.mark.parametrize("heaviest", [1, 9])
def test_tails_bound_the_branches_to_come(heaviest, monkeypatch):
    """What a stopped search adds for its open branches is at least the heaviest clique among them."""
    with_branching_alone(monkeypatch)
    draw = np.random.default_rng(heaviest)
    looked_at = 0
    for _ in range(60):
        search = CliqueSearch(random_graph(draw, 14, draw.uniform(0.3, 0.9), heaviest))
        while search._tail is None and search.advance(1):
            pass
        for position in range(0, len(search._branches), 3):
            inner = QueryGraph(search._adjacency, search._weights).subgraph(search._branches[position:])
            assert search._tail[position] >= heaviest_clique(inner)
            looked_at += 1
    assert looked_at > 50


def test_unfinished_upper_bound_is_not_the_incumbent():
    """A search that is stopped at once on a hard graph says so, and its upper bound is above the clique it has."""
    graph = random_graph(np.random.default_rng(0), 300, 0.9)
    began = time.monotonic()
    result = search_cliques(graph, 0.05)
    assert time.monotonic() - began < 20
    assert not result.done
    assert result.upper > result.lower
    assert_clique(graph, result)


@pytest.mark.parametrize(
    ("graph", "number"),
    [
        (nx.mycielski_graph(3), 2),
        (nx.mycielski_graph(5), 2),
        (nx.mycielski_graph(7), 2),
        (nx.cycle_graph(3), 3),
        (nx.cycle_graph(101), 2),
        (nx.petersen_graph(), 2),
        (nx.complement(nx.petersen_graph()), 4),
        (nx.complete_multipartite_graph(*[3] * 30), 30),
        (nx.complete_graph(130), 130),
        (nx.empty_graph(130), 1),
        (nx.ring_of_cliques(20, 7), 7),
        (nx.paley_graph(37).to_undirected(), 4),
    ],
)
def test_known_clique_numbers(graph, number):
    """The clique number is right on graphs where it is known, also where coloring bounds are far off."""
    result = search_cliques(QueryGraph.from_networkx(graph))
    assert (result.lower, result.upper, result.done) == (number, number, True)


def test_weights_decide():
    """A heavy vertex outweighs a larger clique, and a heavy clique a larger one."""
    triangle_and_edge = QueryGraph.from_edges(5, [(0, 1), (1, 2), (0, 2), (3, 4)], [2, 2, 2, 4, 3])
    assert search_cliques(triangle_and_edge).vertices.tolist() == [3, 4]
    assert search_cliques(QueryGraph.from_edges(4, [(0, 1), (1, 2), (0, 2)], [2, 2, 2, 9])).vertices.tolist() == [3]


def test_weighted_multipartite():
    """In a complete multipartite graph the heaviest clique takes the heaviest vertex of each part."""
    draw = np.random.default_rng(2)
    parts = [5, 9, 1, 14, 7, 30, 22]
    graph = nx.complete_multipartite_graph(*parts)
    weights = draw.integers(1, 1000, sum(parts))
    expected = sum(int(part.max()) for part in np.split(weights, np.cumsum(parts)[:-1]))
    found = search_cliques(QueryGraph.from_edges(sum(parts), graph.edges, weights))
    assert (found.lower, found.done) == (expected, True)


@pytest.mark.parametrize("helped", [True, False])
@pytest.mark.parametrize("heaviest", [1, 1000])
def test_multipartite_graphs_of_several_words(heaviest, helped, monkeypatch):
    """Parts that are strewn over 260 to 300 vertices: dense graphs, of which branching has to look at every word."""
    if not helped:
        with_branching_alone(monkeypatch)
    draw = np.random.default_rng(heaviest)
    for _ in range(5):
        part = draw.integers(0, 120, int(draw.integers(260, 301)))
        weights = draw.integers(1, heaviest + 1, len(part))
        graph = QueryGraph(pack_bits(part[:, None] != part[None, :]), weights)
        result = search_cliques(graph)
        assert result.lower == result.upper == sum(int(weights[part == p].max()) for p in np.unique(part))
        assert_clique(graph, result)


def test_same_seed_same_clique():
    """The search is deterministic."""
    graph = random_graph(np.random.default_rng(8), 120, 0.6, 10)
    assert search_cliques(graph, seed=3).vertices.tolist() == search_cliques(graph, seed=3).vertices.tolist()


def test_no_vertices():
    """A graph without vertices has clique number 0."""
    result = search_cliques(QueryGraph.from_edges(0, []))
    assert (result.lower, result.upper, result.done, len(result.vertices)) == (0, 0, True, 0)


@pytest.mark.parametrize("count", [65, 129, 193, 300])
def test_what_is_peeled_off_is_independent_over_all_words(count):
    """A clique has at most one vertex of a set only if no two vertices of it are adjacent, however far apart."""
    draw = np.random.default_rng(count)
    for density in (0.02, 0.1, 0.5):
        graph = random_graph(draw, count, density, 9)
        adjacent = np.unpackbits(graph.adjacency.view(np.uint8), axis=1, bitorder="little", count=count).astype(bool)
        residual, taken = graph.weights.copy(), np.zeros(count, np.int64)
        rest = pack_bits(np.ones(count, np.bool_))
        while rest.any():
            left = np.unpackbits(rest.view(np.uint8), bitorder="little", count=count).astype(bool)
            before = residual.copy()
            chosen, peeled = kernels._peel_once(graph.adjacency, rest, np.zeros_like(rest), residual, taken, 10)
            members = taken[:chosen]
            assert not adjacent[np.ix_(members, members)].any()
            assert left[members].all()
            assert (adjacent[members].any(axis=0) | np.isin(np.arange(count), members))[left].all()
            assert (before - residual)[members].tolist() == [peeled] * chosen
