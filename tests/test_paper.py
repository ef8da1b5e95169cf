"""The paper's own examples and propositions."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import parcomp as pc
from parcomp.graph.hypergraph import overlap_hypergraph
from parcomp.graph.query_graph import build_query_graph
from parcomp.model.compile import compile_workload
from parcomp.samples import paper_example


def graph_of(workload):
    """The query graph of a workload."""
    return build_query_graph(compile_workload(workload).compiled)


def test_three_queries_of_section_3():
    """q1 and q3 are disjoint, q2 overlaps both: γ = 2."""
    domain = pc.Domain({"postcode": pc.Categorical(["A", "B"]), "native": pc.Categorical(["Y", "N"])})
    q1, q2, q3 = (
        domain.query(postcode="A", native="Y"),
        domain.query(postcode=["A", "B"]),
        domain.query(postcode="B", native="N"),
    )
    assert q1.overlaps(q2)
    assert q2.overlaps(q3)
    assert q1.isdisjoint(q3)
    answer = pc.max_overlap(pc.Workload(domain, [q1, q2, q3]))
    assert (answer.upper, answer.exact) == (2, True)


def test_six_queries_of_the_appendix():
    """The query graph has the 7 edges of the paper's figure, and the overlap hypergraph has rank 3."""
    workload = paper_example()
    graph = graph_of(workload)
    edges = {(u + 1, v + 1) for u, v in graph.to_networkx().edges}
    assert edges == {(1, 2), (1, 4), (2, 3), (2, 4), (2, 6), (4, 5), (3, 5)}
    assert overlap_hypergraph(compile_workload(workload).compiled).rank == 3
    answer = pc.max_overlap(workload)
    assert (answer.upper, answer.exact, answer.members) == (3, True, ["q1", "q2", "q4"])


def test_pairwise_overlap_is_not_overlap():
    """Prop. "pairwise", part 2: three pairwise overlapping queries that no row satisfies together (ω = 3, γ = 2)."""
    domain = pc.Domain({"x": pc.Categorical([1, 2, 3])})
    workload = pc.Workload(domain, [domain.query(x=pair) for pair in ([2, 3], [1, 3], [1, 2])])
    assert pc.clique_number(workload).upper == 3
    assert pc.max_overlap(workload).upper == 2


@pytest.mark.parametrize("seed", range(12))
def test_max_cut_reduction(seed):
    """§4: the maximum overlap of the reduction equals the maximum cut of the graph."""
    graph = nx.gnp_random_graph(7, 0.6, seed=seed)
    domain = pc.Domain({f"x{v}": pc.Categorical([False, True]) for v in graph})
    queries = []
    for u, v in graph.edges:
        queries += [domain.query({f"x{u}": side, f"x{v}": not side}) for side in (False, True)]
    cuts = (
        sum((u in side) != (v in side) for u, v in graph.edges)
        for size in range(graph.number_of_nodes() + 1)
        for side in map(set, combinations(graph, size))
    )
    answer = pc.max_overlap(pc.Workload(domain, queries))
    assert answer.exact
    assert answer.upper == max(cuts)


def test_contradictions_cost_nothing():
    """A predicate outside the domain covers nothing (the paper's dinosaur), so it adds nothing to the overlap."""
    domain = pc.Domain({"who": pc.Categorical(["child", "adult"])})
    workload = pc.Workload(domain, [domain.query(who="dinosaur"), domain.query(who="child")], costs=[100, 1])
    answer = pc.max_overlap(workload)
    assert (answer.upper, answer.members, answer.total) == (1, [2], 101)


def test_equal_weights_scale_the_overlap():
    """Prop. "max-w-overlap" for additive units: γ_w = w·γ; for μ the squares add up."""
    queries = list(paper_example())
    domain = queries[0].domain
    half = pc.Workload(domain, queries, costs=[0.5] * 6)
    assert pc.max_overlap(half).upper == 1.5
    mu = pc.Workload(domain, queries, costs=[pc.Cost.of("mu", "0.5")] * 6)
    assert pc.max_overlap(mu).upper == pytest.approx(3 * 0.25)


def test_whole_domain_queries_add_up():
    """If no queries are disjoint the overlap is the sequential cost."""
    domain = pc.Domain({"x": pc.Integer(0, 9)})
    workload = pc.Workload(domain, [domain.query() for _ in range(5)], costs=np.arange(1, 6))
    assert pc.max_overlap(workload).upper == workload.total == 15
