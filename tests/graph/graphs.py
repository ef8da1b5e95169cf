"""Small graphs and workloads for the tests of ``parcomp.graph``, and judges that share no code with it."""

from __future__ import annotations

import numpy as np

from parcomp.bits import pack_bits
from parcomp.graph.query_graph import QueryGraph
from parcomp.model.compiled import CompiledWorkload

__all__ = [
    "accepted_sets",
    "assert_clique",
    "assert_cover",
    "assert_proper",
    "compile_sets",
    "edges_by_sets",
    "edges_of",
    "heaviest_clique",
    "random_graph",
    "random_sets",
]


def compile_sets(sizes, queries, weights=None):
    """Compile queries given as ``{attribute: set of values}``, none of them empty."""
    interned = [{} for _ in sizes]
    chosen = []
    for query in queries:
        row = []
        for attribute in sorted(query):
            values = frozenset(query[attribute])
            if len(values) < sizes[attribute]:
                row.append((attribute, interned[attribute].setdefault(values, len(interned[attribute]))))
        chosen.append(row)
    first = np.concatenate(([0], np.cumsum([len(masks) for masks in interned])))
    owner, offset, words = [], [0], []
    for attribute, masks in enumerate(interned):
        for values in masks:
            bits = np.zeros((1, sizes[attribute]), np.bool_)
            bits[0, list(values)] = True
            words.extend(pack_bits(bits[0]))
            offset.append(len(words))
            owner.append(attribute)
    return CompiledWorkload(
        np.array(sizes, np.int32),
        np.ones(len(queries), np.int64) if weights is None else np.array(weights, np.int64),
        np.concatenate(([0], np.cumsum([len(row) for row in chosen]))).astype(np.int64),
        np.array([first[attribute] + index for row in chosen for attribute, index in row], np.int32),
        np.array(owner, np.int32),
        np.array(offset, np.int64),
        np.array(words, np.uint64),
    )


def random_sets(draw, sizes, count, shape="subset"):
    """``count`` random queries on attributes of these sizes: ``subset``, ``interval`` or ``point`` predicates."""
    queries = []
    for _ in range(count):
        query = {}
        for attribute, size in enumerate(sizes):
            if draw.random() < 0.3:
                continue
            if shape == "subset":
                values = np.flatnonzero(draw.random(size) < draw.random() ** 2)
            elif shape == "interval":
                low, high = sorted(draw.integers(0, size, 2))
                values = np.arange(low, high + 1)
            else:
                values = draw.integers(0, size, 1)
            if len(values):
                query[attribute] = set(values.tolist())
        queries.append(query)
    return queries


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
