"""Small graphs for the tests of ``parcomp.graph``, and judges that share no code with it."""

from __future__ import annotations

import numpy as np

from parcomp.bits import pack_bits
from parcomp.graph.query_graph import QueryGraph

__all__ = [
    "accepted_sets",
    "assert_clique",
    "assert_cover",
    "assert_proper",
    "edges_by_sets",
    "edges_of",
    "heaviest_clique",
    "random_graph",
]


def accepted_sets(compiled):
    """Each query of a compiled workload as ``{attribute: set of values}``."""
    return [
        {
            int(compiled.mask_attribute[p]): set(np.flatnonzero(compiled.mask_bits(p)).tolist())
            for p in compiled.term[compiled.start[q] : compiled.start[q + 1]]
        }
        for q in range(compiled.query_count)
    ]


def edges_by_sets(queries):
    """Overlapping pairs by intersecting Python sets."""
    return {
        (i, j)
        for j in range(len(queries))
        for i in range(j)
        if all(queries[i][a] & queries[j][a] for a in queries[i].keys() & queries[j].keys())
    }


def edges_of(graph):
    """The edges of a query graph as pairs in ascending order."""
    return {(int(u), v) for v in range(graph.vertex_count) for u in graph.neighbors(v) if u < v}


def random_graph(draw, size, density, heaviest=1):
    """A random graph whose weights are uniform in ``1 … heaviest``."""
    upper = np.triu(draw.random((size, size)) < density, 1)
    return QueryGraph(pack_bits(upper | upper.T), draw.integers(1, heaviest + 1, size))


def heaviest_clique(graph):
    """The weighted clique number by looking at every set of vertices."""
    size = graph.vertex_count
    near = [sum(1 << int(u) for u in graph.neighbors(v)) for v in range(size)]
    weight, clique = [0] * (1 << size), [True] * (1 << size)
    for chosen in range(1, 1 << size):
        v = chosen.bit_length() - 1
        rest = chosen ^ (1 << v)
        clique[chosen] = clique[rest] and rest & ~near[v] == 0
        weight[chosen] = weight[rest] + int(graph.weights[v])
    return max(w for w, c in zip(weight, clique, strict=True) if c)


def assert_clique(graph, result):
    """The vertices of a clique result are a clique of weight ``lower``."""
    near = [set(graph.neighbors(v).tolist()) for v in range(graph.vertex_count)]
    chosen = result.vertices.tolist()
    assert len(set(chosen)) == len(chosen)
    assert all(u in near[v] for u in chosen for v in chosen if u != v)
    assert sum(int(graph.weights[v]) for v in chosen) == result.lower


def assert_proper(graph, coloring):
    """No edge lies within a class, classes are numbered without gaps, and the weight is the sum of the maxima."""
    assert all(coloring.classes[u] != coloring.classes[v] for u, v in edges_of(graph))
    groups = {}
    for v, number in enumerate(coloring.classes.tolist()):
        groups.setdefault(number, []).append(int(graph.weights[v]))
    assert sorted(groups) == list(range(coloring.class_count))
    assert coloring.weight == sum(max(group) for group in groups.values())


def assert_cover(graph, cover):
    """The sets are independent, and every vertex is covered by its weight or more, in exact arithmetic."""
    edges = edges_of(graph)
    covered = [0] * graph.vertex_count
    for members, multiplier in zip(cover.sets, cover.multipliers.tolist(), strict=True):
        assert multiplier > 0
        chosen = members.tolist()
        assert len(set(chosen)) == len(chosen)
        assert not any((u, v) in edges for u in chosen for v in chosen)
        for v in chosen:
            covered[v] += multiplier
    assert all(c >= w for c, w in zip(covered, graph.weights.tolist(), strict=True))
    assert cover.bound == sum(cover.multipliers.tolist())
