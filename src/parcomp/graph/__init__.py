"""The query graph and what it tells: cliques, colorings, and the overlap hypergraph."""

from parcomp.graph.cases import Case, VertexCase, prove_cliques
from parcomp.graph.clique import CliqueSearch, search_cliques
from parcomp.graph.coloring import Coloring, ColoringSearch, Cover, dsatur, fractional_cover, weighted_coloring
from parcomp.graph.hypergraph import OverlapHypergraph, overlap_hypergraph
from parcomp.graph.numbers import ChromaticNumber, CliqueNumber, GraphNumber, chromatic_number, clique_number
from parcomp.graph.order import degeneracy_order, renumber
from parcomp.graph.query_graph import QueryGraph, build_query_graph
from parcomp.graph.workload_graph import WorkloadGraph

__all__ = [
    "Case",
    "ChromaticNumber",
    "CliqueNumber",
    "CliqueSearch",
    "Coloring",
    "ColoringSearch",
    "Cover",
    "GraphNumber",
    "OverlapHypergraph",
    "QueryGraph",
    "VertexCase",
    "WorkloadGraph",
    "build_query_graph",
    "chromatic_number",
    "clique_number",
    "degeneracy_order",
    "dsatur",
    "fractional_cover",
    "overlap_hypergraph",
    "prove_cliques",
    "renumber",
    "search_cliques",
    "weighted_coloring",
]
