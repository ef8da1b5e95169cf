"""Clique and chromatic number of workloads, at every pause."""

import numpy as np
import pytest

from parcomp.graph import GraphNumber
from parcomp.graph.query_graph import build_query_graph
from tests.graph.graphs import heaviest_clique
from tests.workloads import random_workload


@pytest.mark.parametrize("kind", ["clique", "chromatic"])
def test_a_number_cut_short_is_no_lower_than_the_truth(kind):
    """The upper end holds the clique number, each coloring is one, and a clique weighs what it is said to."""
    for seed in range(20):
        compiled = random_workload(seed)
        graph = build_query_graph(compiled)
        omega = heaviest_clique(graph)
        number = GraphNumber(compiled, kind)
        while True:
            assert number.upper >= omega >= number.lower == int(compiled.weights[number.vertices].sum())
            classes = number.coloring.classes
            for vertex in range(graph.vertex_count):
                assert not np.any(classes[graph.neighbors(vertex)] == classes[vertex])
            if not number.advance(1):
                break
        if kind == "clique":
            assert number.lower == number.upper == omega
