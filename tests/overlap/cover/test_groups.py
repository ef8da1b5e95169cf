"""Groups of pairwise disjoint queries as an upper bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.cover.groups import group_bound
from tests.workloads import compile_values, heaviest_row, marginals, random_workload


def disjoint(compiled: CompiledWorkload, first: int, second: int) -> bool:
    """Whether two queries have disjoint masks at some attribute, by the plain definition."""
    masks = [compiled.term[compiled.start[q] : compiled.start[q + 1]] for q in (first, second)]
    return any(
        compiled.mask_attribute[p] == compiled.mask_attribute[r]
        and not np.any(compiled.mask_bits(int(p)) & compiled.mask_bits(int(r)))
        for p in masks[0]
        for r in masks[1]
    )


@pytest.mark.parametrize("shape", [None, "point", "interval", "nested", "subset"])
def test_groups_prove_an_upper_bound(shape: str | None) -> None:
    """Groups are pairwise disjoint, hold each query once, and their heaviest weights add up to at least γ."""
    for seed in range(200):
        compiled = random_workload(seed, shape)
        bound, groups = group_bound(compiled)
        assert sorted(np.concatenate([*groups, []]).tolist()) == list(range(compiled.query_count))
        for group, multiplier in zip(groups, groups.multiplier, strict=True):
            assert compiled.weights[group].max() == compiled.weights[group[0]] == multiplier
            assert all(disjoint(compiled, p, q) for p, q in itertools.combinations(group.tolist(), 2))
        assert bound == groups.multiplier.sum()
        assert heaviest_row(compiled)[0] <= bound <= compiled.total


def test_copies_are_not_disjoint() -> None:
    """Equal queries never share a group; heavy ones are grouped with heavy ones."""
    compiled = compile_values([2], [{0: [0]}, {0: [0]}, {0: [1]}, {0: [1]}], [10, 1, 2, 20])
    bound, groups = group_bound(compiled)
    assert bound == 22
    assert sorted(sorted(group.tolist()) for group in groups) == [[0, 3], [1, 2]]


def test_attribute_that_does_not_help_is_left_out() -> None:
    """Queries told apart by one attribute form one group though they overlap at another."""
    queries = [{0: [v], 1: [v, (v + 1) % 5, (v + 2) % 5]} for v in range(5)]
    bound, groups = group_bound(compile_values([5, 5], queries))
    assert bound == len(groups) == 1


def test_unconstrained_and_missing_queries() -> None:
    """Queries without a constraint overlap each other; no queries have the bound 0."""
    assert group_bound(compile_values([2], [{}, {}], [3, 4]))[0] == 7
    bound, groups = group_bound(compile_values([2], []))
    assert (bound, len(groups)) == (0, 0)


def test_groups_are_a_sequence() -> None:
    """Groups can be counted, indexed from both ends, sliced and iterated."""
    _, groups = group_bound(marginals(3, 4, 2))
    assert len(groups) == 6
    assert len(groups[-1]) == len(groups[5])
    assert len(groups[1:3]) == 2
    assert sum(len(group) for group in groups) == 3 * 4 + 3 * 16
    with pytest.raises(IndexError):
        groups[6]
