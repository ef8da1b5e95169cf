"""Families of workloads: the paper's own (§7.1, §7.2, the appendix), and shapes that are hard or easy in other ways.

Every random family takes a ``seed`` and draws from :func:`numpy.random.default_rng`, so an instance is named by its
arguments.  All weights are 1 unless a family says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

import numpy as np

from parcomp import Domain, Integer, Query, Workload
from parcomp.model import Predicate
from parcomp.samples import census_choices, census_domain, census_sample, paper_example

__all__ = [
    "binary",
    "boxes",
    "census_domain",
    "census_sample",
    "census_workload",
    "dense_subsets",
    "from_graph",
    "marginals",
    "max_cut",
    "mycielski",
    "paper_example",
    "points",
    "uniform_domain",
    "uniform_workload",
]


def census_workload() -> Workload:
    """All 3,600,000 census queries of paper §7.2: an income prefix, and of the rest a single element or all."""
    return Workload.product(census_domain(), census_choices())


def uniform_domain(m: int, kmax: int, seed: int) -> Domain:
    """``m`` attributes of 10^k values, k uniform in 1 … ``kmax`` (paper §7.1, where kmax is 6)."""
    sizes = 10 ** np.random.default_rng([seed, m, kmax]).integers(1, kmax + 1, m)
    return _integer_domain(sizes.tolist(), "uniform")


def uniform_workload(t: int, m: int, kmax: int, seed: int) -> Workload:
    """``t`` queries over :func:`uniform_domain`, drawn as in paper §7.1.

    A query constrains U(1, m) attributes, chosen at random, each by a random subset of U(1, |A|) values.
    """
    rng = np.random.default_rng(seed)
    domain = uniform_domain(m, kmax, seed)
    wanted = rng.integers(1, m + 1, t)
    constrained = rng.random((t, m)).argsort(axis=1).argsort(axis=1) < wanted[:, None]
    terms: list[list[tuple[int, Predicate]]] = [[] for _ in range(t)]
    for a, attribute in enumerate(domain.attributes.values()):
        queries = np.flatnonzero(constrained[:, a])
        counts = rng.integers(1, attribute.size + 1, len(queries))
        for query, count in zip(queries.tolist(), counts.tolist(), strict=True):
            terms[query].append((a, _random_subset(rng, attribute.size, count)))
    return Workload(domain, (Query(domain, tuple(query)) for query in terms))


def marginals(attributes: int, values: int, ways: int) -> Workload:
    """Every cell of all 1-way to ``ways``-way marginals: point queries, as statistics offices publish them.

    Each marginal partitions the domain, so γ is the number of marginals, Σ_w C(attributes, w).
    """
    domain = _integer_domain([values] * attributes, "marginals")
    cells = [_point(values, value) for value in range(values)]
    queries = (
        Query(domain, tuple(zip(chosen, cell, strict=True)))
        for way in range(1, ways + 1)
        for chosen in combinations(range(attributes), way)
        for cell in product(cells, repeat=way)
    )
    return Workload(domain, queries)


def points(t: int, m: int, size: int, seed: int, constraints: int | None = None) -> Workload:
    """Conjunctions of single values; of ``constraints`` attributes each, or of U(1, m) where none is given."""
    rng = np.random.default_rng(seed)
    domain = _integer_domain([size] * m, "points")
    cells = [_point(size, value) for value in range(size)]
    queries = []
    for _ in range(t):
        count = constraints if constraints is not None else int(rng.integers(1, m + 1))
        chosen = np.sort(rng.choice(m, count, replace=False)).tolist()
        drawn = rng.integers(0, size, count).tolist()
        queries.append(Query(domain, tuple((a, cells[value]) for a, value in zip(chosen, drawn, strict=True))))
    return Workload(domain, queries)


def boxes(t: int, m: int, size: int, seed: int, constraints: int | None = None, heaviest: int = 1) -> Workload:
    """A range between two uniform ends on every attribute: the range queries of relational data.

    With ``constraints`` a query has ranges on so many attributes only, as those of a dashboard do; weights are uniform
    up to ``heaviest``.
    """
    rng = np.random.default_rng(seed)
    domain = _integer_domain([size] * m, "boxes")
    ends = np.sort(rng.integers(0, size, (t, m, 2)), axis=2).tolist()
    ranges = ([Predicate.from_runs(size, [(low, high + 1)]) for low, high in query] for query in ends)
    chosen = _attributes(rng, t, m, constraints)
    queries = [Query(domain, tuple((a, query[a]) for a in of)) for of, query in zip(chosen, ranges, strict=True)]
    return Workload(domain, queries, _weights(rng, t, heaviest))


def binary(t: int, m: int, seed: int, constraints: int = 2) -> Workload:
    """Points over ``m`` two-valued attributes; with two constraints a query, this is Max-2-Sat (paper §4)."""
    return points(t, m, 2, seed, constraints)


def max_cut(vertices: int, edges: Iterable[tuple[int, int]]) -> Workload:
    """The reduction from Max Cut in paper §4: γ is the number of edges of the largest cut.

    Each vertex is an attribute (on which side it lies), and each edge two queries (cut in this or in that direction).
    """
    domain = _integer_domain([2] * vertices, "max cut")
    here, there = _point(2, 0), _point(2, 1)
    queries = []
    for edge in edges:
        u, v = sorted(edge)
        queries += [Query(domain, ((u, here), (v, there))), Query(domain, ((u, there), (v, here)))]
    return Workload(domain, queries)


def from_graph(vertices: int, edges: Iterable[tuple[int, int]]) -> Workload:
    """Queries whose query graph (paper §5) is the given graph; their predicates are single values, so that γ = ω.

    Each vertex v has a two-valued attribute on which v asks for one value, and the vertices after it that are not
    adjacent to v for the other.
    """
    adjacent = {frozenset(edge) for edge in edges}
    domain = _integer_domain([2] * vertices, "graph")
    mine, others = _point(2, 0), _point(2, 1)
    return Workload(
        domain,
        (
            Query(
                domain,
                (*((v, others) for v in range(u) if frozenset((u, v)) not in adjacent), (u, mine)),
            )
            for u in range(vertices)
        ),
    )


def mycielski(chromatic_number: int) -> Workload:
    """Mycielski's triangle-free graphs (cited in paper §5): γ = ω = 2, but colorings need ``chromatic_number``."""
    vertices, edges = 2, [(0, 1)]
    for _ in range(chromatic_number - 2):
        # A copy u' of each vertex u is joined to the neighbors of u, and one more vertex to all copies.
        copies = [(u + vertices, v) for u, v in edges] + [(u, v + vertices) for u, v in edges]
        edges = edges + copies + [(u + vertices, 2 * vertices) for u in range(vertices)]
        vertices = 2 * vertices + 1
    return from_graph(vertices, edges)


def dense_subsets(
    t: int,
    values: int,
    seed: int,
    *,
    attributes: int = 10,
    density: float = 0.75,
    constraints: int | None = None,
    heaviest: int = 1,
) -> Workload:
    """Scattered subsets on every attribute, so dense that nearly all pairs overlap: cliques say nothing about γ.

    With ``constraints`` a query has subsets on so many attributes only; weights are uniform up to ``heaviest``.
    """
    rng = np.random.default_rng(seed)
    domain = _integer_domain([values] * attributes, "dense subsets")
    count = max(1, round(density * values))
    queries = [
        Query(domain, tuple((a, _random_subset(rng, values, count)) for a in chosen))
        for chosen in _attributes(rng, t, attributes, constraints)
    ]
    return Workload(domain, queries, _weights(rng, t, heaviest))


def _attributes(rng: np.random.Generator, t: int, m: int, constraints: int | None) -> Iterator[list[int]]:
    """For each query the attributes that it constrains, ascending: all, or so many at random."""
    for _ in range(t):
        yield list(range(m)) if constraints is None else np.sort(rng.choice(m, constraints, replace=False)).tolist()


def _weights(rng: np.random.Generator, t: int, heaviest: int) -> list[int] | None:
    """Uniform weights up to the heaviest, or all 1."""
    return None if heaviest == 1 else rng.integers(1, heaviest + 1, t).tolist()


def _integer_domain(sizes: Sequence[int], name: str) -> Domain:
    return Domain({f"a{number}": Integer(0, size - 1) for number, size in enumerate(sizes, 1)}, name=name)


def _point(size: int, value: int) -> Predicate:
    return Predicate.from_runs(size, [(value, value + 1)])


def _random_subset(rng: np.random.Generator, size: int, count: int) -> Predicate:
    """A uniformly random set of ``count`` out of ``size`` values."""
    inverse = count > size // 2
    flags = np.full(size, inverse, np.bool_)
    flags[rng.choice(size, size - count if inverse else count, replace=False, shuffle=False)] = not inverse
    bits = int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
    # The union leaves the set as it is and settles on the smaller of its two forms.
    return Predicate(size, None, bits) | Predicate.contradiction(size)
