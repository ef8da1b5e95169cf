"""The query graph against Python sets."""

import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcomp.bits import pack_bits
from parcomp.errors import ParcompError, SizeError
from parcomp.graph import _query_graph_kernels as kernels
from parcomp.graph import query_graph
from parcomp.graph.query_graph import AttributeMasks, QueryGraph, attribute_masks, build_from_masks, build_query_graph
from tests.graph.graphs import accepted_sets, edges_by_sets, edges_of, random_graph
from tests.workloads import SHAPES, compile_values, random_sets, random_wide

PAPER_QUERIES = [
    {0: {0}, 1: {0}},
    {0: {0, 1}},
    {0: {0, 2}, 1: {1}},
    {1: {0}},
    {0: {2}},
    {0: {1}, 1: {1}},
]


def test_appendix_example():
    """The six queries of the paper's appendix have the seven edges of its figure."""
    graph = build_query_graph(compile_values([3, 2], PAPER_QUERIES))
    assert edges_of(graph) == {(0, 1), (0, 3), (1, 2), (1, 3), (1, 5), (2, 4), (3, 4)}
    assert graph.edge_count == 7
    assert graph.density == pytest.approx(7 / 15)


@pytest.mark.parametrize("shape", ["subset", "interval", "point"])
def test_adjacency_is_set_intersection(shape):
    """On random workloads, with masks of one word and of many, adjacency is what Python sets say."""
    draw = np.random.default_rng(7)
    for _ in range(250):
        sizes = draw.choice([2, 3, 5, 10, 63, 64, 65, 130, 300], draw.integers(1, 5)).tolist()
        queries = random_sets(draw, sizes, int(draw.integers(1, 40)), shape)
        graph = build_query_graph(compile_values(sizes, queries))
        assert edges_of(graph) == edges_by_sets(queries)


@pytest.mark.parametrize("shape", SHAPES)
def test_adjacency_beyond_one_word_of_queries(shape):
    """65 to 300 queries on attributes of 65 to 300 values."""
    draw = np.random.default_rng(SHAPES.index(shape))
    for _ in range(8):
        wide = random_wide(draw, shape)
        graph = build_query_graph(wide.compiled())
        assert edges_of(graph) == wide.edges()
        assert graph.weights.tolist() == wide.weights


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 2), st.sets(st.integers(0, 69), min_size=1, max_size=6)), max_size=12))
def test_any_workload(queries):
    """Whatever the queries are, the graph is that of set intersection, symmetric and without loops."""
    graph = build_query_graph(compile_values([70, 70, 70], queries))
    assert edges_of(graph) == edges_by_sets(queries)
    assert all(v not in graph.neighbors(v) for v in range(graph.vertex_count))
    assert all(v in graph.neighbors(int(u)) for v in range(graph.vertex_count) for u in graph.neighbors(v))


@pytest.mark.parametrize("slice_", [1, 1 << 22])
@pytest.mark.parametrize("way", ["strike_by_pair", "strike_by_mask", "strike_by_value"])
def test_each_way_of_striking_agrees(way, slice_, monkeypatch):
    """Each of the three ways, used alone on more than 64 queries, gives the graph of set intersection, however cut."""
    monkeypatch.setattr(query_graph, "SLICE", slice_)
    draw = np.random.default_rng(11)
    for size, shape in ((4, "interval"), (64, "interval"), (200, "interval"), (130, "point"), (300, "subset")):
        queries = random_sets(draw, [size], 150, shape)
        for query in queries:
            query.setdefault(0, {0})
        # Tautologies would be compiled away, and this test speaks of masks.
        queries = [query if len(query[0]) < size else {0: {0}} for query in queries]
        compiled = compile_values([size], queries)
        (attribute,) = attribute_masks(compiled)
        adjacency = kernels.complete(150, 3)
        masks = attribute.fetch(np.arange(attribute.mask_count))
        everyone = pack_bits(np.ones(150, np.bool_))
        concerned, _ = query_graph.concern(attribute.queries, everyone, attribute.masks, masks)
        if way == "strike_by_value":
            slices = query_graph.strike_by_value(adjacency, concerned, size)
        else:
            slices = getattr(query_graph, way)(adjacency, concerned)
        assert len(list(slices)) > (50 if slice_ == 1 and len(masks) > 50 else 0)
        assert edges_of(QueryGraph(adjacency, compiled.weights)) == edges_by_sets(queries)


def test_masks_of_parted_pairs_are_never_fetched():
    """An attribute whose pairs are all apart is skipped, and of another only the masks still needed are fetched."""
    fetched = []

    def attribute(size, queries, words):
        def fetch(ids):
            fetched.append((size, ids.tolist()))
            return np.array(words, np.uint64)[ids]

        return AttributeMasks(size, np.array(queries), np.arange(len(queries)), len(queries), fetch)

    blocks = [
        attribute(2, [0, 1], [[1], [2]]),
        attribute(3, [0, 1], [[1], [1]]),
        attribute(4, [0, 1, 2], [[1], [3], [4]]),
        attribute(5, [2], [[1]]),
    ]
    graph = build_from_masks(np.ones(4, np.int64), blocks)
    assert [size for size, _ in fetched] == [2, 4]
    assert edges_of(graph) == {(0, 3), (1, 3), (2, 3)}


def test_attributes_come_by_size():
    """Attributes are handed over in ascending size, and those that nobody constrains are left out."""
    compiled = compile_values([9, 4, 6, 3], [{0: {1}, 1: {1}}, {0: {2}, 3: {0}}])
    assert [attribute.size for attribute in attribute_masks(compiled)] == [3, 4, 9]


def test_compiled_queries_round_trip():
    """The helper that compiles queries for these tests loses nothing."""
    queries = [{0: {1, 70}}, {}, {0: {69}, 1: {0}}]
    assert accepted_sets(compile_values([80, 2], queries)) == queries


def test_subgraph_keeps_edges_and_order():
    """An induced subgraph has the same edges, renumbered in the order given, and the same weights."""
    graph = random_graph(np.random.default_rng(3), 150, 0.5, 9)
    chosen = [149, 3, 70, 64, 63, 0]
    inner = graph.subgraph(chosen)
    edges = edges_of(graph)
    expected = {
        (i, j) for j, v in enumerate(chosen) for i, u in enumerate(chosen[:j]) if (min(u, v), max(u, v)) in edges
    }
    assert edges_of(inner) == expected
    assert inner.weights.tolist() == graph.weights[chosen].tolist()
    with pytest.raises(ValueError, match="distinct"):
        graph.subgraph([1, 1])


def test_networkx_round_trip():
    """Exporting to networkx and back keeps vertices, edges and weights."""
    graph = random_graph(np.random.default_rng(5), 70, 0.4, 50)
    exported = graph.to_networkx()
    assert {(min(e), max(e)) for e in exported.edges} == edges_of(graph)
    back = QueryGraph.from_networkx(exported)
    assert np.array_equal(back.adjacency, graph.adjacency)
    assert np.array_equal(back.weights, graph.weights)
    assert QueryGraph.from_networkx(nx.path_graph(3)).weights.tolist() == [1, 1, 1]


def test_missing_networkx_is_explained(monkeypatch):
    """Without networkx the export says what to install."""
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ParcompError, match="networkx"):
        QueryGraph.from_edges(2, [(0, 1)]).to_networkx()


def test_malformed_graphs_are_rejected():
    """Weights that do not fit the adjacency, or are not positive, or of another type, are errors."""
    adjacency = np.zeros((2, 1), np.uint64)
    with pytest.raises(ValueError, match="does not fit"):
        QueryGraph(adjacency, np.ones(3, np.int64))
    with pytest.raises(ValueError, match="positive"):
        QueryGraph(adjacency, np.array([1, 0]))
    with pytest.raises(TypeError, match="int64"):
        QueryGraph(adjacency, np.ones(2))


def test_too_many_queries_are_refused(monkeypatch):
    """A graph beyond the stated size is refused before any memory is taken."""
    monkeypatch.setattr(query_graph, "MAX_VERTICES", 5)
    with pytest.raises(SizeError, match="6 queries"):
        build_query_graph(compile_values([2], [{}] * 6))


def test_small_cases():
    """No query, one query, and queries without constraints."""
    assert build_query_graph(compile_values([2], [])).vertex_count == 0
    assert build_query_graph(compile_values([2], [{0: {1}}])).density == 0
    assert build_query_graph(compile_values([2], [{}] * 65)).edge_count == 65 * 64 // 2
