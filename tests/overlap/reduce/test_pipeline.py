"""The whole reduction: exact under every choice of rules, and quick where it must be."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.cover.groups import group_bound
from parcomp.overlap.reduce import ALL, Leaf, Max, ReducedProblem, Rule, Sum, reduce
from tests.workloads import (
    check_invariants,
    compile_values,
    full_census,
    heaviest_row,
    marginals,
    random_workload,
    row_weight,
)


def check_exact(compiled: CompiledWorkload, problem: ReducedProblem) -> None:
    """Solve the leaves by enumeration and compare with the whole."""
    weight, _ = heaviest_row(compiled)
    solved = [heaviest_row(leaf.compiled) for leaf in problem.leaves]
    row = problem.lift([row for _, row in solved])
    assert problem.combine([weight for weight, _ in solved]) == weight
    assert row_weight(compiled, row) == weight


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", [None, "point", "interval", "nested", "subset"])
def test_reduction_is_exact(shape: str | None, wide: bool) -> None:
    """With all rules, γ of the leaves combines to γ of the whole, and heaviest rows lift to a heaviest row."""
    for seed in range(60 if wide else 300):
        compiled = random_workload(1000 + seed, shape, wide)
        problem = reduce(compiled)
        check_exact(compiled, problem)
        for leaf in problem.leaves:
            check_invariants(leaf.compiled)


def test_every_choice_of_rules_is_exact() -> None:
    """All 256 subsets of the rules, on a few workloads each."""
    subsets = [frozenset(chosen) for k in range(len(ALL) + 1) for chosen in itertools.combinations(sorted(ALL), k)]
    assert len(subsets) == 256
    for number, rules in enumerate(subsets):
        for repeat in range(6):
            compiled = random_workload(6 * number + repeat, wide=repeat == 0)
            problem = reduce(compiled, rules)
            check_exact(compiled, problem)
            assert {step.rule for step in problem.log} <= rules


@pytest.mark.parametrize("count", [2, 3, 5])
def test_several_parts_that_share_no_attribute_add_up(count: int) -> None:
    """Each part is a workload on two attributes of its own, judged alone."""
    rng = np.random.default_rng(count)
    for _ in range(20):
        sizes: list[int] = []
        queries: list[dict[int, list[int]]] = []
        weights: list[int] = []
        truth = 0
        for _ in range(count):
            # Subsets of half of the values on both attributes: nothing settles or drops an attribute.
            part = [
                {a: rng.choice(5, int(rng.integers(1, 4)), replace=False).tolist() for a in (0, 1)} for _ in range(6)
            ]
            cost = rng.integers(1, 9, 6).tolist()
            truth += heaviest_row(compile_values([5, 5], part, cost))[0]
            queries += [{len(sizes) + a: accepted for a, accepted in query.items()} for query in part]
            weights += cost
            sizes += [5, 5]
        compiled = compile_values(sizes, queries, weights)
        problem = reduce(compiled, {Rule.SPLIT_BY_ATTRIBUTES})
        assert isinstance(problem.root, Sum)
        assert len(problem.root.nodes) == count
        solved = [heaviest_row(leaf.compiled) for leaf in problem.leaves]
        assert problem.combine([weight for weight, _ in solved]) == truth
        assert row_weight(compiled, problem.lift([row for _, row in solved])) == truth


def test_no_rules_change_nothing() -> None:
    """Without rules the only leaf is the workload itself."""
    compiled = random_workload(3)
    problem = reduce(compiled, ())
    assert [leaf.compiled for leaf in problem.leaves] == [compiled]
    assert problem.explain() == ""


def test_one_pass_is_a_fixed_point() -> None:
    """A leaf that is reduced again stays as it is."""
    for seed in range(300):
        for leaf in reduce(random_workload(seed)).leaves:
            assert reduce(leaf.compiled).log == ()


def test_bounds_of_leaves_combine_to_bounds() -> None:
    """A bracket of each leaf gives a bracket of the whole."""
    rng = np.random.default_rng(8)
    for seed in range(300):
        compiled = random_workload(seed)
        problem = reduce(compiled)
        exact = [heaviest_row(leaf.compiled)[0] for leaf in problem.leaves]
        brackets = [(max(0, w - int(rng.integers(0, 5))), w + int(rng.integers(0, 5))) for w in exact]
        lower, upper = problem.bracket(brackets)
        assert lower <= heaviest_row(compiled)[0] <= upper


def test_any_rows_of_leaves_lift_to_what_they_promise() -> None:
    """A row lifted from rows that are not optimal weighs at least their combined weight."""
    rng = np.random.default_rng(9)
    for seed in range(300):
        compiled = random_workload(seed)
        problem = reduce(compiled)
        rows = [rng.integers(0, leaf.compiled.sizes).astype(np.int32) for leaf in problem.leaves]
        promised = problem.combine(
            [row_weight(leaf.compiled, row) for leaf, row in zip(problem.leaves, rows, strict=True)]
        )
        assert row_weight(compiled, problem.lift(rows)) >= promised


def test_pushed_rows_lose_nothing_without_a_split_by_overlap() -> None:
    """A known row starts every leaf, and the pushed rows combine to at least its weight."""
    rng = np.random.default_rng(10)
    for seed in range(300):
        compiled = random_workload(seed)
        row = rng.integers(0, compiled.sizes).astype(np.int32)
        problem = reduce(compiled, ALL - {Rule.SPLIT_BY_OVERLAP})
        weights = [
            row_weight(leaf.compiled, pushed) for leaf, pushed in zip(problem.leaves, problem.push(row), strict=True)
        ]
        assert problem.combine(weights) >= row_weight(compiled, row)
        assert len(reduce(compiled).push(row)) == len(reduce(compiled).leaves)


def test_sum_of_maxima() -> None:
    """Independent attributes, each pair of which falls apart, make a sum of maxima, and the log says so."""
    queries = []
    for a in (0, 2):
        queries += [{a: [v], a + 1: [w]} for v in (0, 1) for w in (0, 1)]
        queries += [{a: [v, 2], a + 1: [0, 1]} for v in (0, 1)]
    queries += [{0: [3], 1: [2]}, {0: [3], 1: [2, 3]}, {0: [3], 1: [1, 3]}]
    compiled = compile_values([4, 4, 4, 4], queries, [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 7, 9, 7])
    problem = reduce(compiled)
    check_exact(compiled, problem)
    assert isinstance(problem.root, Sum)
    assert any(isinstance(node, Max) for node in problem.root.nodes) or len(problem.leaves) == 2
    assert "split into parts that share no attribute" in problem.explain()


def test_log_counts_before_and_after() -> None:
    """The log of a single reduction names the rule and what became fewer."""
    compiled = compile_values([3, 2], [{0: [0], 1: [0]}, {0: [0], 1: [0]}, {0: [1]}, {0: [2]}, {1: [1]}])
    problem = reduce(compiled, {Rule.MERGE_QUERIES})
    assert [step.queries for step in problem.log] == [(5, 4)]
    assert str(problem.log[0]) == "merge equal queries: queries 5 → 4"
    assert isinstance(problem.root, Leaf)


@pytest.mark.parametrize(
    ("sizes", "queries"),
    [([], []), ([], [{}, {}]), ([1], [{}]), ([5, 5], []), ([2], [{0: [1]}]), ([3], [{}, {0: [0]}, {0: [1, 2]}])],
)
def test_degenerate_workloads(sizes: list[int], queries: list[dict[int, list[int]]]) -> None:
    """No attributes, no queries, one value, one query, tautologies."""
    compiled = compile_values(sizes, queries)
    check_exact(compiled, reduce(compiled))
    check_exact(compiled, reduce(compiled, ()))


def test_whole_census_is_settled() -> None:
    """3,600,000 queries shrink to 719 on 18 values; groups prove γ = 80,000 and any lifted row attains it."""
    compiled = full_census()
    assert compiled.query_count == 3_600_000
    reduce(random_workload(0))
    began = time.perf_counter()
    problem = reduce(compiled)
    seconds = time.perf_counter() - began
    (leaf,) = problem.leaves
    assert (leaf.compiled.query_count, int(leaf.compiled.sizes.sum())) == (719, 18)
    upper, _ = group_bound(leaf.compiled)
    row = problem.lift([np.zeros(leaf.compiled.attribute_count, np.int32)])
    assert problem.combine([upper]) == 80_000
    assert compiled.weigh(row) == 80_000
    assert seconds < 20


def test_all_small_marginals_are_proved_by_groups() -> None:
    """All marginals of up to three of 12 attributes: one group for each set of attributes, attained by any row."""
    compiled = marginals(12, 10, 3)
    (leaf,) = reduce(compiled).leaves
    assert leaf.compiled.query_count == compiled.query_count == 226_720
    upper, groups = group_bound(compiled)
    assert upper == len(groups) == 12 + 66 + 220
    assert compiled.weigh(np.full(12, 7, np.int32)) == upper
