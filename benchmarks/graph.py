"""Query graph, clique number and coloring, against the paper's method, networkx and igraph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import igraph
import networkx as nx
import numpy as np

from benchmarks.harness import Goal, Ratio, Row, Settings, benchmark, limited, repeated, timed
from parcomp import Workload
from parcomp.experiments import paper_method
from parcomp.experiments.workloads import census_sample, uniform_workload
from parcomp.graph import QueryGraph, build_query_graph, dsatur, search_cliques, weighted_coloring
from parcomp.model.compile import compile_workload

__all__ = ["census_clique", "census_coloring", "random_cliques", "uniform_query_graph"]

_PEER_LIMIT = 60.0
"""Seconds that another tool may take before it is cut off: the paper's own limit (§7)."""


@benchmark("census-clique")
def census_clique(settings: Settings) -> Iterator[Row]:
    """Exact clique number of census samples (paper §7.2), Algorithm 1 of the paper against ours."""
    _warm_up()
    t, seeds = (400, 2) if settings.quick else (1_000, 3)
    # The baseline needs half a minute to a minute and a half here; the limit leaves room for a slow machine.
    limit = 60.0 if settings.quick else 240.0
    for seed in range(seeds):
        workload = census_sample(t, seed)
        graph = _graph_of(workload)
        ours, our_time = repeated(search_cliques, graph)
        theirs, their_time = timed(paper_method.maximum_clique, graph.to_networkx(), limit)
        their_time = replace(their_time, finished=theirs.finished)
        ratio = Ratio.between(their_time, our_time)
        figures = {
            "clique number": ours.lower,
            "exact": ours.exact,
            "agree": _agree(ours.lower, theirs),
            "ours": our_time,
            "paper's": their_time,
            "ratio": ratio,
        }
        yield Row(f"t={t} seed {seed}", figures, settings.at_full_size(Goal.at_least(ratio, 1_000)))


@benchmark("census-coloring")
def census_coloring(settings: Settings) -> Iterator[Row]:
    """DSatur on census samples (paper §7.2), networkx's as used in the paper against ours."""
    _warm_up()
    t, seeds = (400, 3) if settings.quick else (1_000, 5)
    for seed in range(seeds):
        graph = _graph_of(census_sample(t, seed))
        ours, our_time = repeated(dsatur, graph)
        theirs, their_time = timed(paper_method.color, graph.to_networkx())
        their_colors = max(theirs.values()) + 1
        improved, improved_time = timed(weighted_coloring, graph)
        ratio = Ratio.between(their_time, our_time)
        speed = Goal.at_least(ratio, 100)
        goal = Goal(f"{speed.text}, no more colors", speed.met if ours.class_count <= their_colors else False)
        figures = {
            "our colors": ours.class_count,
            "theirs": their_colors,
            "ours": our_time,
            "networkx": their_time,
            "ratio": ratio,
            "improved": improved.class_count,
            "in": improved_time,
        }
        yield Row(f"t={t} seed {seed}", figures, settings.at_full_size(goal))


@benchmark("uniform-graph")
def uniform_query_graph(settings: Settings) -> Iterator[Row]:
    """Query graph of uniform queries (paper §7.1), values 10 … 10^4, against a loop over Python sets."""
    _warm_up()
    m, kmax = 50, 4
    for t in (250, 500) if settings.quick else (500, 1_000, 2_000):
        workload = uniform_workload(t, m, kmax, seed=0)
        compilation, compile_time = timed(compile_workload, workload)
        graph, our_time = repeated(build_query_graph, compilation.compiled, times=3)
        queries, sets_time = timed(paper_method.query_sets, workload)
        theirs, their_time = timed(paper_method.query_graph, queries, None, 120.0)
        their_time = replace(their_time, finished=theirs is not None)
        del queries  # gigabytes of sets
        ratio = Ratio.between(their_time, our_time)
        figures = {
            "edges": graph.edge_count,
            "agree": "cut off" if theirs is None else "yes" if theirs.number_of_edges() == graph.edge_count else "NO",
            "ours": our_time,
            "sets": their_time,
            "ratio": ratio,
            "our masks": compile_time,
            "their sets": sets_time,
        }
        yield Row(f"t={t} m={m}", figures, settings.at_full_size(Goal.at_least(ratio, 100)))


@benchmark("random-clique")
def random_cliques(settings: Settings) -> Iterator[Row]:
    """Exact clique number of dense random graphs, networkx's and igraph's solvers against ours."""
    _warm_up()
    limit = 10.0 if settings.quick else _PEER_LIMIT
    shapes = [(60, 0.9), (100, 0.9)] if settings.quick else [(100, 0.9), (150, 0.9), (200, 0.9)]
    for n, density in shapes:
        for weighted in (False, True):
            graph = _random_graph(n, density, weighted, seed=n)
            exported = graph.to_networkx()
            ours, our_time = timed(search_cliques, graph, limit)
            peers = {"networkx": limited(networkx_clique, [exported, weighted], limit)}
            if not weighted:
                peers["igraph"] = limited(igraph_clique, [igraph.Graph(n, list(exported.edges))], limit)
            found = [value for value, _ in peers.values() if value is not None]
            figures: dict[str, Any] = {
                "clique number": ours.lower if ours.exact else f"{ours.lower} … {ours.upper}",
                "agree": "cut off" if not found else "yes" if ours.exact and set(found) == {ours.lower} else "NO",
                "ours": replace(our_time, finished=ours.exact),
            }
            for name, (_, timing) in peers.items():
                figures |= {name: timing, f"to {name}": Ratio.between(timing, our_time) if ours.exact else None}
            yield Row(f"n={n} density {density}{' weighted' if weighted else ''}", figures)


def networkx_clique(graph: nx.Graph, weighted: bool) -> int:
    """The clique number by networkx's branch and bound."""
    _, weight = nx.max_weight_clique(graph, weight="weight" if weighted else None)
    return int(weight)


def igraph_clique(graph: igraph.Graph) -> int:
    """The clique number by igraph."""
    return int(graph.clique_number())


@cache
def _warm_up() -> None:
    """Have every kernel compiled or loaded for the types it is called with; sizes do not matter for that."""
    for weighted in (False, True):
        # Denser graphs take kernels that others do not.
        search_cliques(_random_graph(100, 0.9, weighted, seed=1), 5.0)
        graph = _random_graph(80, 0.8, weighted, seed=0)
        search_cliques(graph, 5.0)
        dsatur(graph)
        weighted_coloring(graph)
    for workload in (census_sample(80, 0), uniform_workload(80, 20, 4, 0), uniform_workload(200, 5, 2, 0)):
        graph = _graph_of(workload)
        search_cliques(graph, 5.0)
        dsatur(graph)


def _graph_of(workload: Workload) -> QueryGraph:
    return build_query_graph(compile_workload(workload).compiled)


def _random_graph(n: int, density: float, weighted: bool, seed: int) -> QueryGraph:
    rng = np.random.default_rng(seed)
    rows, columns = np.triu_indices(n, 1)
    kept = rng.random(len(rows)) < density
    edges = zip(rows[kept].tolist(), columns[kept].tolist(), strict=True)
    return QueryGraph.from_edges(n, edges, rng.integers(1, 201, n) if weighted else None)


def _agree(weight: int, theirs: paper_method.PaperResult) -> str:
    if not theirs.finished:
        return "cut off"
    return "yes" if weight == theirs.weight else "NO"
