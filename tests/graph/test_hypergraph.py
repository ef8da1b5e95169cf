"""The overlap hypergraph against enumeration of rows, and the paper's example."""

from itertools import combinations, product

import numpy as np
import pytest

from parcomp.errors import SizeError
from parcomp.graph import search_cliques
from parcomp.graph.hypergraph import MAX_HYPERGRAPH_QUERIES, overlap_hypergraph
from parcomp.graph.query_graph import build_query_graph
from tests.graph.test_query_graph import PAPER_QUERIES
from tests.workloads import compile_values, random_sets


def satisfied(queries, row):
    """The queries that a row satisfies."""
    return tuple(q for q, query in enumerate(queries) if all(row[a] in values for a, values in query.items()))


def test_appendix_example():
    """The six queries of the paper's appendix have rank 3, by the hyperedge {q1, q2, q4}."""
    hypergraph = overlap_hypergraph(compile_values([3, 2], PAPER_QUERIES))
    assert hypergraph.rank == 3
    assert hypergraph.maximal == ((0, 1, 3), (1, 2), (1, 5), (2, 4), (3, 4))
    assert len(list(hypergraph.hyperedges())) == 6 + 7 + 1


def test_hyperedges_are_the_sets_that_rows_satisfy():
    """On random workloads the hyperedges are the non-empty sets of queries that some row satisfies, each once."""
    draw = np.random.default_rng(4)
    for _ in range(300):
        sizes = draw.integers(2, 6, draw.integers(1, 4)).tolist()
        queries = random_sets(draw, sizes, int(draw.integers(1, 8)))
        rows = {satisfied(queries, row) for row in product(*map(range, sizes))}
        expected = {part for row in rows for size in range(1, len(row) + 1) for part in combinations(row, size)}
        hypergraph = overlap_hypergraph(compile_values(sizes, queries))
        found = list(hypergraph.hyperedges())
        assert set(found) == expected
        assert len(found) == len(expected)
        assert hypergraph.rank == max(map(len, rows))


def test_rank_is_at_most_the_clique_number():
    """γ ≤ ω, with equality for points (Helly) and a gap for three pairwise overlapping sets."""
    draw = np.random.default_rng(6)
    for _ in range(100):
        compiled = compile_values([4, 5], random_sets(draw, [4, 5], 12, "point"))
        assert overlap_hypergraph(compiled).rank == search_cliques(build_query_graph(compiled)).lower
    gap = compile_values([3], [{0: {1, 2}}, {0: {0, 2}}, {0: {0, 1}}])
    assert (overlap_hypergraph(gap).rank, search_cliques(build_query_graph(gap)).lower) == (2, 3)


def test_size_is_limited():
    """One query beyond the stated size is refused; none at all has rank 0."""
    with pytest.raises(SizeError, match="hypergraph"):
        overlap_hypergraph(compile_values([2], [{}] * (MAX_HYPERGRAPH_QUERIES + 1)))
    assert overlap_hypergraph(compile_values([2], [])).rank == 0
