"""The query graph built from predicates equals the one built from masks."""

import numpy as np
import pytest

from parcomp import Workload
from parcomp.errors import SizeError
from parcomp.experiments.huge import huge_uniform_workload
from parcomp.graph import workload_graph
from parcomp.graph.query_graph import build_query_graph
from parcomp.graph.workload_graph import WorkloadGraph
from parcomp.model.compile import compile_workload
from tests.graph.graphs import edges_of
from tests.workloads import SHAPES, random_judged, random_wide


def begun(workload, **options):
    queries = np.flatnonzero(~workload.contradictory())
    return WorkloadGraph(workload, queries, np.ones(len(queries), np.int64), **options)


def built(workload, **options):
    building = begun(workload, **options)
    while building.advance(1 << 20):
        pass
    return building.graph


def assert_same_graph(workload, expected):
    wanted = build_query_graph(compile_workload(expected).compiled).adjacency
    for mask_values in (0, 3, 10**6):
        assert np.array_equal(built(workload, mask_values=mask_values).adjacency, wanted)


@pytest.mark.parametrize("chunk", range(4))
def test_interned_predicates_give_the_same_graph(chunk):
    """1,000 tiny workloads, by masks, by pairs and by both."""
    draw = np.random.default_rng(chunk)
    for _ in range(250):
        workload = random_judged(draw).workload
        assert_same_graph(workload, workload)


@pytest.mark.parametrize("shape", SHAPES)
def test_wide_workloads_give_the_graph_of_set_intersection(shape):
    """65 to 300 queries on attributes of 65 to 300 values, by masks, by pairs and by both."""
    draw = np.random.default_rng(SHAPES.index(shape))
    for _ in range(3):
        wide = random_wide(draw, shape, most_queries=150, contradictions=True)
        satisfiable = [query for query, terms in enumerate(wide.queries) if all(terms.values())]
        number = {query: position for position, query in enumerate(satisfiable)}
        edges = {(number[p], number[q]) for p, q in wide.edges() if p in number and q in number}
        for mask_values in (0, 100, 10**6):
            assert edges_of(built(wide.workload(), mask_values=mask_values)) == edges


@pytest.mark.parametrize("kmax", [1, 2, 3])
def test_generated_predicates_give_the_graph_of_their_interned_copy(kmax):
    for seed in range(30):
        workload = huge_uniform_workload(40, 12, seed, kmax)
        assert_same_graph(workload, Workload(workload.domain, list(workload)))


def test_pairs_in_many_small_portions(monkeypatch):
    """Portions of pairs and of attributes change nothing, however they are cut."""
    monkeypatch.setattr(workload_graph, "_PAIRS", 7)
    monkeypatch.setattr(workload_graph, "_QUESTIONS", 5)
    for seed in range(5):
        workload = huge_uniform_workload(130, 20, seed, 2)
        assert_same_graph(workload, Workload(workload.domain, list(workload)))


def test_a_graph_cut_short_leaves_pairs_in():
    """At every pause it has every edge of the true one, and to begin with all edges."""
    workload = huge_uniform_workload(130, 20, 0, 2)
    full, building = built(workload), begun(workload)
    assert building.graph.edge_count == 130 * 129 // 2 > full.edge_count
    pauses = 0
    while building.advance(1):
        pauses += 1
        assert not (full.adjacency & ~building.graph.adjacency).any()
    assert pauses > 5
    assert building.graph.edge_count == full.edge_count


def test_too_many_queries_are_refused(monkeypatch):
    monkeypatch.setattr(workload_graph, "MAX_VERTICES", 5)
    with pytest.raises(SizeError, match="6 queries"):
        built(huge_uniform_workload(6, 5, 0))
