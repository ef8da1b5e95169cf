"""The paper's method as its authors describe it (§5, §6): Python sets, networkx, DSatur and Algorithm 1.

This is what Parcomp is measured against, so it is written to be read and to cost what the paper's does: a query graph
by a loop over pairs in O(m t²), and a branch and bound on copied networkx graphs with a coloring at every node.  It is
kept from losing by accident: sets are compared by ``isdisjoint``, which stops at the first common value, and the joint
coverage of the chosen queries is carried along rather than recomputed.

Algorithm 1 is mended in one respect: as typeset it may return a lighter clique than it has found, since it hands on
and returns the stale ``B``.  Here the heaviest clique found is kept in one place and only replaced by a heavier one.

Time limits are in processor seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import Any, Protocol

import networkx as nx

from parcomp import Workload
from parcomp.experiments.clock import processor_seconds

__all__ = [
    "Coverage",
    "PaperResult",
    "TimeUpError",
    "Values",
    "color",
    "coloring_weight",
    "maximum_clique",
    "maximum_overlap",
    "query_graph",
    "query_sets",
]

_PAIRS = 16
"""Pairs of queries that are compared between two looks at the clock."""


class Values(Protocol):
    """A set of values, as far as the method asks: a Python set, or one that is generated as it is looked at."""

    def isdisjoint(self, other: Any, /) -> bool:
        """Whether no value is in both."""
        ...

    def __and__(self, other: Any, /) -> Any: ...

    def __len__(self) -> int: ...


Coverage = dict[int, Values]
"""The values that each constrained attribute may take; a missing attribute may take any."""


class TimeUpError(Exception):
    """The time limit of a coloring is over."""


@dataclass(frozen=True, slots=True)
class PaperResult:
    """The heaviest set found; a maximum if the search was ``finished`` before its time limit."""

    weight: int
    members: frozenset[int]
    finished: bool


def query_sets(workload: Workload) -> list[Coverage]:
    """The queries as dictionaries of Python sets."""
    # One integer object for each value, and one set for each predicate, however many queries hold it.
    values = list(range(max(attribute.size for attribute in workload.domain.attributes.values())))
    sets = [set(compress(values, predicate.flags().tolist())) for predicate in workload.table.predicates]
    bounds, term = workload.start.tolist(), workload.term.tolist()
    return [
        {workload.table.attributes[number]: sets[number] for number in term[begin:end]}
        for begin, end in pairwise(bounds)
    ]


def query_graph(
    queries: Sequence[Coverage], weights: Sequence[int] | None = None, time_limit: float | None = None
) -> nx.Graph | None:
    """The query graph (paper §5) by a loop over all pairs; None if the time limit ends it.

    A contradiction covers nothing, so it is no vertex.
    """
    deadline = _deadline(time_limit)
    graph = nx.Graph()
    for number, query in enumerate(queries):
        if all(query.values()):
            graph.add_node(number, weight=1 if weights is None else weights[number])
    vertices = list(graph)
    for position, first in enumerate(vertices):
        mine = queries[first]
        for number, second in enumerate(vertices[position + 1 :]):
            # With ten thousand attributes a pair takes milliseconds, and a row of pairs many seconds; with five a look
            # at the clock takes as long as a pair.
            if number % _PAIRS == 0 and processor_seconds() > deadline:
                return None
            if _overlap(mine, queries[second]):
                graph.add_edge(first, second)
    return graph


def color(graph: nx.Graph, time_limit: float | None = None) -> dict[int, int]:
    """A color for each vertex, by networkx's DSatur (paper §6, Algorithm 2); an error if the time limit ends it."""
    return _color(graph, _deadline(time_limit))


def _color(graph: nx.Graph, deadline: float) -> dict[int, int]:
    def order(graph: nx.Graph, colors: dict[int, int]) -> Iterator[int]:
        for vertex in nx.coloring.strategy_saturation_largest_first(graph, colors):
            if processor_seconds() > deadline:
                raise TimeUpError
            yield vertex

    colors: dict[int, int] = nx.greedy_color(graph, strategy=order)
    return colors


def coloring_weight(graph: nx.Graph, colors: Mapping[int, int]) -> int:
    """The sum over the color classes of the largest weight in each (paper §5)."""
    heaviest: dict[int, int] = {}
    for vertex, number in colors.items():
        heaviest[number] = max(heaviest.get(number, 0), graph.nodes[vertex]["weight"])
    return sum(heaviest.values())


def maximum_clique(graph: nx.Graph, time_limit: float | None = None) -> PaperResult:
    """The heaviest clique, by Algorithm 1."""
    return _branch_and_bound(graph, None, time_limit)


def maximum_overlap(graph: nx.Graph, queries: Sequence[Coverage], time_limit: float | None = None) -> PaperResult:
    """The heaviest set of queries that one row satisfies: Algorithm 1 with the test that the coverage is not empty."""
    return _branch_and_bound(graph, queries, time_limit)


def _branch_and_bound(graph: nx.Graph, queries: Sequence[Coverage] | None, time_limit: float | None) -> PaperResult:
    """Algorithm 1 on a stack of open nodes: the candidates, what is chosen, its weight and coverage, and a bound."""
    deadline = _deadline(time_limit)
    best: frozenset[int] = frozenset()
    best_weight = 0
    total = sum(weight for _, weight in graph.nodes(data="weight"))
    nodes: list[tuple[nx.Graph, frozenset[int], int, Coverage, int]] = [(graph, frozenset(), 0, {}, total)]
    while nodes:
        if processor_seconds() > deadline:
            return PaperResult(best_weight, best, finished=False)
        candidates, chosen, weight, coverage, upper = nodes.pop()
        if weight > best_weight:
            best, best_weight = chosen, weight
        if not candidates or upper <= best_weight:
            continue
        try:
            upper = min(upper, weight + coloring_weight(candidates, _color(candidates, deadline)))
        except TimeUpError:
            return PaperResult(best_weight, best, finished=False)
        if upper <= best_weight:
            continue
        query = max(candidates, key=candidates.degree)
        without = candidates.copy()
        without.remove_node(query)
        # The stack is last in, first out: all that includes the query is searched before what excludes it.
        nodes.append((without, chosen, weight, coverage, upper))
        smaller = coverage if queries is None else _restrict(coverage, queries[query])
        if all(smaller.values()):
            neighbors = candidates.subgraph(candidates.neighbors(query)).copy()
            heavier = weight + candidates.nodes[query]["weight"]
            nodes.append((neighbors, chosen | {query}, heavier, smaller, upper))
    return PaperResult(best_weight, best, finished=True)


def _overlap(first: Coverage, second: Coverage) -> bool:
    return not any(first[attribute].isdisjoint(second[attribute]) for attribute in first.keys() & second.keys())


def _restrict(coverage: Coverage, query: Coverage) -> Coverage:
    return coverage | {a: coverage[a] & values if a in coverage else values for a, values in query.items()}


def _deadline(time_limit: float | None) -> float:
    return float("inf") if time_limit is None else processor_seconds() + time_limit
