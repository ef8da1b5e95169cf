"""The value search and its proofs against enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.value import layout
from parcomp.overlap.value.proof import prove_upper
from parcomp.overlap.value.value_search import ValueSearch
from tests.workloads import compile_values, demanding_workload, heaviest_row, random_compiled, row_weight


def random_workload(seed: int, most_values: int = 6) -> CompiledWorkload:
    """A small random workload, with weights of up to a million."""
    return random_compiled(np.random.default_rng(seed), most_values, density=0.6)


def heaviest(compiled: CompiledWorkload) -> int:
    """The maximum overlap by enumeration."""
    return heaviest_row(compiled)[0]


Terms = list[list[tuple[int, int, set[int]]]]
"""Of each query the terms: number, attribute and accepted values."""


def live(terms: Terms, box: list[set[int]], counted: frozenset[int]) -> list[int]:
    """The counted queries that some row of a box satisfies, if it has any."""
    return [q for q in counted if all(accepted & box[a] for _, a, accepted in terms[q])]


def bound(
    compiled: CompiledWorkload,
    terms: Terms,
    box: list[set[int]],
    counted: frozenset[int],
    shares: dict[int, int],
    shift: int,
) -> int:
    """The scaled bound of a box by multipliers."""
    total = 0
    scores = [dict.fromkeys(values, 0) for values in box]
    for q in live(terms, box, counted):
        total += max(0, (int(compiled.weights[q]) << shift) - sum(shares.get(k, 0) for k, _, _ in terms[q]))
        for k, a, accepted in terms[q]:
            for v in accepted & box[a]:
                scores[a][v] += shares.get(k, 0)
    return total + sum(max(of_values.values(), default=0) for of_values in scores)


def check_proof(compiled: CompiledWorkload, proof: dict[str, Any]) -> None:
    """Check a proof tree by the rules of the module that documents it, in plain Python."""
    shift, upper = proof["shift"], proof["upper"]
    terms: Terms = []
    for q in range(compiled.query_count):
        of_query = []
        for k in range(compiled.start[q], compiled.start[q + 1]):
            mask = int(compiled.term[k])
            accepted = set(np.flatnonzero(compiled.mask_bits(mask)).tolist())
            of_query.append((k, int(compiled.mask_attribute[mask]), accepted))
        terms.append(of_query)
    everything = frozenset(range(compiled.query_count))
    stack = [(0, [set(range(size)) for size in compiled.sizes], everything)]
    while stack:
        index, box, counted = stack.pop()
        node = proof["nodes"][index]
        if "query" in node:
            q = node["query"]
            inside = [set(values) for values in box]
            for _, a, accepted in terms[q]:
                inside[a] &= accepted
            stack.append((node["in"], inside, counted))
            stack.append((node["rest"], box, counted - {q}))
        elif "attribute" in node:
            a, v = node["attribute"], node["like"]
            others = {
                u
                for q in live(terms, box, counted)
                for _, b, accepted in terms[q]
                if a == b and v not in accepted
                for u in accepted & box[a]
            }
            stack.append((node["in"], [*box[:a], box[a] - others, *box[a + 1 :]], counted))
            stack.append((node["rest"], [*box[:a], others, *box[a + 1 :]], counted))
        elif "thin" in node:
            stack.append((node["rest"], box, counted))
        elif "fix" in node:
            shares = dict(proof["multipliers"][node["fix"]].tolist())

            def low(box: list[set[int]], counted: frozenset[int], shares: dict[int, int] = shares) -> bool:
                return bound(compiled, terms, box, counted, shares, shift) < (upper + 1) << shift

            inside, missed = [set(values) for values in box], set()
            for a, values in enumerate(box):
                for v in values:
                    if low([*box[:a], {v}, *box[a + 1 :]], counted):
                        inside[a].remove(v)
            for q in live(terms, box, counted):
                within = [set(values) for values in box]
                for _, a, accepted in terms[q]:
                    within[a] &= accepted
                if low(within, counted):
                    missed.add(q)
                if low(box, counted - {q}):
                    for _, a, accepted in terms[q]:
                        inside[a] &= accepted
            stack.append((node["rest"], inside, counted - missed))
        elif node["leaf"] < 0:
            assert not all(box)
        elif all(box):
            shares = dict(proof["multipliers"][node["leaf"]].tolist())
            assert min(shares.values(), default=0) >= 0
            assert bound(compiled, terms, box, counted, shares, shift) < (upper + 1) << shift


def check_solve(compiled: CompiledWorkload, work: int, truth: int, root_rounds: int = 20) -> ValueSearch:
    """Run a search to its end, checking the bracket at each pause."""
    search = ValueSearch(compiled, root_rounds=root_rounds)
    lower, upper = search.lower, search.upper
    assert lower <= truth <= upper
    for _ in range(10**6):
        if search.done:
            break
        search.advance(work)
        assert lower <= search.lower <= truth <= search.upper <= upper
        assert row_weight(compiled, search.row) == search.lower
        lower, upper = search.lower, search.upper
    assert search.lower == search.upper == truth
    return search


@pytest.mark.parametrize("block", range(10))
def test_small_workloads_are_solved_exactly(block: int) -> None:
    """On random small workloads every pause brackets the truth and the end meets it."""
    for seed in range(300 * block, 300 * block + 300):
        compiled = random_workload(seed)
        check_solve(compiled, 1 if seed % 3 else 2000, heaviest(compiled), root_rounds=20 * (seed % 2))


def test_masks_wider_than_a_word() -> None:
    """Attributes of more values than a word, a pool or a scoring table's threshold."""
    for seed in range(60):
        g = np.random.default_rng(seed)
        sizes = [int(g.integers(65, 700)), int(g.integers(2, 5))]
        queries = [
            {a: np.flatnonzero(g.random(n) < g.uniform(0.2, 0.8)) for a, n in enumerate(sizes) if g.random() < 0.8}
            for _ in range(40)
        ]
        queries = [{a: accepted for a, accepted in query.items() if len(accepted)} for query in queries]
        compiled = compile_values(sizes, queries, g.integers(1, 50, 40))
        check_solve(compiled, 10**5, heaviest(compiled))


def test_larger_workloads_agree_with_the_pairwise_product() -> None:
    """Where branching runs deep, the result is still that of enumeration."""
    for seed in range(12):
        g = np.random.default_rng(seed)
        queries = [
            {int(a): np.flatnonzero(g.random(5) < 0.5) for a in g.choice(5, g.integers(2, 6), replace=False)}
            for _ in range(120)
        ]
        queries = [{a: accepted for a, accepted in query.items() if len(accepted)} for query in queries]
        compiled = compile_values([5] * 5, queries, g.integers(1, 4, 120))
        search = check_solve(compiled, 3000, heaviest(compiled))
        assert search.nodes > 1


def test_queries_that_constrain_many_attributes() -> None:
    """Where the most demanding query is branched on, pauses and proofs hold, and so does the end."""
    for seed in range(24):
        compiled = demanding_workload(np.random.default_rng(seed))
        truth = heaviest(compiled)
        check_solve(compiled, 20_000, truth)
        proof = prove_upper(compiled, truth)
        assert proof is not None
        assert sum("query" in node for node in proof["nodes"]) > 10
        check_proof(compiled, proof)
        assert prove_upper(compiled, truth - 1) is None


def most_common(sizes: Sequence[int], queries: Sequence[Mapping[int, npt.ArrayLike]]) -> int:
    """The maximum overlap of up to 64 queries, by the queries that each value accepts."""
    accepted = [np.zeros(size, np.uint64) for size in sizes]
    for a, size in enumerate(sizes):
        for q, query in enumerate(queries):
            accepted[a][np.asarray(query.get(a, range(size)), np.int64)] |= np.uint64(1 << q)
    best = 0
    for values in itertools.product(*accepted[:-2]):
        pair = np.unique(np.bitwise_and.reduce(values) & accepted[-2])
        counts = np.bitwise_count(pair)
        for common in pair[np.argsort(-counts.astype(int))]:
            if np.bitwise_count(common) <= best:
                break
            best = max(best, int(np.bitwise_count(common & accepted[-1]).max()))
    return best


def test_large_attributes_that_bound_little() -> None:
    """Where they are set aside and brought back, every pause brackets the truth and the end meets it."""
    set_aside = 0
    for seed in range(60):
        g = np.random.default_rng(seed)
        sizes = [8, 7, 6, 5000, 4000]
        queries = []
        for _ in range(60):
            query = {}
            for a, size in enumerate(sizes):
                accepted = np.flatnonzero(g.random(size) < (g.uniform(0.5, 1) if size > 8 else g.uniform(0.2, 0.6)))
                if g.random() < 0.7 and len(accepted):
                    query[a] = accepted
            queries.append(query)
        truth = most_common(sizes, queries)
        search = ValueSearch(compile_values(sizes, queries, [1] * len(queries)))
        for _ in range(20_000):
            if search.done:
                break
            search.advance(1)
            assert search.lower <= truth <= search.upper
            set_aside += any(worker.levels.aside[:, :, layout.OUT].any() for worker in search._workers)
        assert search.lower == truth == search.upper
    assert set_aside > 1000


@pytest.mark.parametrize(
    ("sizes", "queries", "weights", "truth"),
    [
        ([3], [{0: [1]}], [7], 7),
        ([3], [{0: [0]}, {0: [1, 2]}, {0: [2]}], [3, 2, 2], 4),
        ([1, 1], [{}, {}], [5, 6], 11),
        ([], [{}], [2], 2),
        ([2, 2], [{0: [0]}, {0: [1]}, {}], [1, 1, 1], 2),
        ([4], [{0: [0]}, {0: [1]}], [10**6, 2**60], 2**60),
    ],
)
def test_degenerate_workloads(
    sizes: list[int], queries: list[dict[int, list[int]]], weights: list[int], truth: int
) -> None:
    """One attribute, one query, nothing constrained, no attribute, huge weights."""
    compiled = compile_values(sizes, queries, weights)
    check_solve(compiled, 1, truth)
    proof = prove_upper(compiled, truth)
    assert proof is not None
    check_proof(compiled, proof)


def test_a_given_row_is_kept() -> None:
    """A search that starts from an optimal row reports that row or one as heavy."""
    compiled = random_workload(11)
    first = check_solve(compiled, 10**6, heaviest(compiled))
    again = ValueSearch(compiled, first.lower, first.row)
    assert again.lower == first.lower
    with pytest.raises(ValueError, match="pass its row"):
        ValueSearch(compiled, first.lower + 1, first.row)


def test_the_course_does_not_depend_on_the_slices() -> None:
    """However the work is cut, the same problems are bounded."""
    g = np.random.default_rng(5)
    queries = [{a: np.flatnonzero(g.random(8) < 0.5).tolist() or [0] for a in range(6)} for _ in range(80)]
    compiled = compile_values([8] * 6, queries, [1] * 80)
    nodes = set()
    for work in (500, 10**5, 10**9):
        search = ValueSearch(compiled)
        while not search.done:
            search.advance(work)
        nodes.add((search.nodes, search.lower))
    assert len(nodes) == 1


@pytest.mark.parametrize("block", range(4))
def test_proofs_of_small_workloads_check(block: int) -> None:
    """The exact bound is provable, and a checker that shares no code accepts the proof."""
    for seed in range(5000 + 100 * block, 5100 + 100 * block):
        compiled = random_workload(seed)
        truth = heaviest(compiled)
        proof = prove_upper(compiled, truth, root_rounds=20 * (seed % 2))
        assert proof is not None
        check_proof(compiled, proof)
        assert prove_upper(compiled, truth - 1) is None


def test_a_deep_proof_checks() -> None:
    """A proof with branchings on values and queries checks, and too small a limit yields none."""
    g = np.random.default_rng(3)
    sizes = [5, 6, 7, 90, 80]
    queries = [
        {a: np.flatnonzero(g.random(n) < 0.5).tolist() or [0] for a, n in enumerate(sizes) if g.random() < 0.7}
        for _ in range(60)
    ]
    compiled = compile_values(sizes, queries, g.integers(1, 3, 60))
    search = ValueSearch(compiled)
    search.advance(10**10)
    proof = prove_upper(compiled, search.upper)
    assert proof is not None
    assert any("attribute" in node for node in proof["nodes"])
    check_proof(compiled, proof)
    assert prove_upper(compiled, search.upper, size_limit=50) is None
