"""Each rule alone: γ is kept up to the base, rows lift and push as promised, and what should bite does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.reduce.queries import absorb_queries, drop_attributes, merge_queries, settle_attributes
from parcomp.overlap.reduce.reduction import Reduction
from parcomp.overlap.reduce.split import split_by_attributes, split_by_overlap
from parcomp.overlap.reduce.values import drop_dominated_values, merge_values
from tests.workloads import (
    check_invariants,
    compile_values,
    heaviest_row,
    random_workload,
    row_weight,
)

RULES = [
    merge_values,
    drop_dominated_values,
    absorb_queries,
    drop_attributes,
    merge_queries,
    settle_attributes,
]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_rule_is_exact(rule: Callable[[CompiledWorkload], Reduction], wide: bool) -> None:
    """On random workloads γ = base + γ(reduced), and every row lifts to one that weighs base more."""
    rng = np.random.default_rng(1)
    bitten = 0
    for seed in range(80 if wide else 250):
        compiled = random_workload(seed, wide=wide)
        reduction = rule(compiled)
        bitten += reduction.changed
        if not reduction.changed:
            assert reduction.compiled is compiled
            continue
        smaller = reduction.compiled
        check_invariants(smaller)
        weight, row = heaviest_row(compiled)
        reduced_weight, reduced_row = heaviest_row(smaller)
        assert reduction.base + reduced_weight == weight
        assert row_weight(compiled, reduction.lift(reduced_row)) == weight
        assert reduction.base + row_weight(smaller, reduction.push(row)) == weight
        some = rng.integers(0, smaller.sizes).astype(np.int32)
        assert row_weight(compiled, reduction.lift(some)) == reduction.base + row_weight(smaller, some)
        other = rng.integers(0, compiled.sizes).astype(np.int32)
        assert reduction.base + row_weight(smaller, reduction.push(other)) >= row_weight(compiled, other)
    assert bitten > 10


@pytest.mark.parametrize("rule", RULES)
def test_rule_tells_what_became_of_each_query(rule: Callable[[CompiledWorkload], Reduction]) -> None:
    """A lifted row satisfies a query that is left if and only if the reduced row satisfies what stands for it."""
    rng = np.random.default_rng(2)
    for seed in range(100):
        compiled = random_workload(seed)
        reduction = rule(compiled)
        smaller = reduction.compiled
        query_of = np.arange(compiled.query_count) if reduction.query_of is None else reduction.query_of
        assert len(query_of) == compiled.query_count
        row = rng.integers(0, smaller.sizes).astype(np.int32)
        reduced_members = set(smaller.members(row).tolist())
        members = set(compiled.members(reduction.lift(row)).tolist())
        for query in np.flatnonzero(query_of >= 0).tolist():
            assert (query in members) == (int(query_of[query]) in reduced_members)


@pytest.mark.parametrize("rule", RULES)
def test_rule_does_nothing_twice(rule: Callable[[CompiledWorkload], Reduction]) -> None:
    """A rule applied to its own result changes nothing."""
    for seed in range(200):
        assert not rule(rule(random_workload(seed)).compiled).changed


def test_composed_reductions_lift_and_push() -> None:
    """A chain of rules is a reduction: bases add, rows lift and push through, queries are followed."""
    for seed in range(300):
        compiled = random_workload(seed)
        rng = np.random.default_rng(seed)
        chain = merge_values(compiled)
        for index in rng.integers(0, len(RULES), 5):
            chain = chain.then(RULES[index](chain.compiled))
        weight, row = heaviest_row(compiled)
        reduced_weight, reduced_row = heaviest_row(chain.compiled)
        assert chain.base + reduced_weight == weight
        assert row_weight(compiled, chain.lift(reduced_row)) == weight
        assert chain.base + row_weight(chain.compiled, chain.push(row)) == weight
        if chain.query_of is not None:
            assert len(chain.query_of) == compiled.query_count
            assert chain.query_of.max(initial=-1) < chain.compiled.query_count


def test_equal_values_merge_across_words() -> None:
    """Values far apart that the same masks accept become one, the first of them, and order is kept."""
    compiled = compile_values([200], [{0: [3, 70, 150]}, {0: [3, 150, 199]}])
    reduction = merge_values(compiled)
    assert reduction.compiled.sizes.tolist() == [4]
    kept = reduction.values.lifted[0]
    assert kept is not None
    assert kept.tolist() == [0, 3, 70, 199]


def test_prefixes_collapse_to_one_value() -> None:
    """The value that all prefixes accept dominates every other; the attribute loses its masks."""
    compiled = compile_values([100], [{0: range(1 + i)} for i in range(100)])
    reduction = drop_dominated_values(compiled)
    assert reduction.compiled.sizes.tolist() == [1]
    assert len(reduction.compiled.term) == 0


def test_intervals_leave_no_more_values_than_masks() -> None:
    """Of interval masks at most as many values stay as there are masks, and they stay intervals."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        count = int(rng.integers(2, 30))
        ends = np.sort(rng.integers(0, 500, (count, 2)), axis=1)
        compiled = compile_values([500], [{0: range(low, high + 1)} for low, high in ends])
        smaller = drop_dominated_values(compiled).compiled
        assert smaller.sizes[0] <= len(compiled.mask_attribute)
        for mask in range(len(smaller.mask_attribute)):
            accepted = np.flatnonzero(smaller.mask_bits(mask))
            assert accepted[-1] - accepted[0] + 1 == len(accepted)


def test_dominated_values_are_all_found() -> None:
    """Without a limit the kept values are pairwise incomparable, also for more than 256 of them."""
    rng = np.random.default_rng(6)
    for size, masks, density in ((700, 13, 0.5), (900, 40, 0.2), (400, 70, 0.05)):
        sets = [np.flatnonzero(rng.random(size) < density) for _ in range(masks)]
        compiled = compile_values([size], [{0: accepted} for accepted in sets if len(accepted)])
        smaller = drop_dominated_values(compiled).compiled
        bits = np.array([smaller.mask_bits(mask) for mask in range(len(smaller.mask_attribute))]).T
        # Value u contains value v where no mask accepts v and not u.
        contains = ~(bits[None, :, :] & ~bits[:, None, :]).any(axis=2)
        assert np.array_equal(contains, np.eye(len(bits), dtype=np.bool_))


def test_values_with_masks_of_their_own_stay_and_no_others() -> None:
    """Small attributes: a mask that no query uses says nothing, and one that accepts two values speaks for neither."""
    rng = np.random.default_rng(8)
    settled = 0
    for _ in range(300):
        size = int(rng.integers(1, 66))
        sets = [{int(value)} for value in rng.permutation(size)[: size if rng.random() < 0.5 else size - 1]]
        sets += [set(rng.choice(size, int(rng.integers(1, size + 1)), replace=False).tolist()) for _ in range(2)]
        order = rng.permutation(len(sets)).tolist()
        compiled = compile_values([size, 2], [{0: sorted(sets[i])} for i in order if sets[i]])
        start = compiled.start
        if rng.random() < 0.5:
            # Without its last query, a workload keeps its mask.
            compiled = replace(
                compiled, start=start[:-1], term=compiled.term[: start[-2]], weights=compiled.weights[:-1]
            )
        used = [compiled.mask_bits(mask) for mask in np.unique(compiled.term) if compiled.mask_attribute[mask] == 0]
        own = {int(np.flatnonzero(bits)[0]) for bits in used if bits.sum() == 1}
        seen_by = [tuple(bits[value] for bits in used) for value in range(size)]
        different = len(set(seen_by))
        merged = merge_values(compiled).compiled.sizes[0]
        kept = drop_dominated_values(compiled).compiled.sizes[0]
        assert merged == different
        assert kept >= len(own)
        if len(own) == size:
            settled += 1
            assert merged == kept == size
        for value in set(range(size)) - own:
            if any(
                all(b >= a for a, b in zip(seen_by[value], seen_by[other], strict=True))
                for other in range(size)
                if other != value
            ):
                assert kept < size
                break
    assert settled > 50


def test_limited_search_for_dominators_stays_exact() -> None:
    """With next to no work allowed fewer values are dropped, but never a wrong one."""
    rng = np.random.default_rng(7)
    sets = [rng.choice(3000, 1500, replace=False) for _ in range(14)]
    compiled = compile_values([3000], [{0: accepted} for accepted in sets], rng.integers(1, 1000, 14).tolist())
    full, limited = drop_dominated_values(compiled), drop_dominated_values(compiled, work_limit=1)
    assert full.compiled.sizes[0] <= limited.compiled.sizes[0] < 3000
    assert heaviest_row(full.compiled)[0] == heaviest_row(limited.compiled)[0] == heaviest_row(compiled)[0]


def test_equal_queries_merge_by_masks_not_by_hash() -> None:
    """Weights of equal queries add up; queries that differ in one mask stay apart."""
    compiled = compile_values([3, 3], [{0: [0]}, {0: [0], 1: [1]}, {0: [0]}, {1: [1]}], [5, 7, 11, 13])
    smaller = merge_queries(compiled).compiled
    assert smaller.weights.tolist() == [16, 7, 13]


def test_settled_attribute_takes_its_heaviest_value() -> None:
    """An attribute constrained alone is decided on the spot, the rest is left."""
    compiled = compile_values(
        [4, 2, 2], [{0: [0, 1]}, {0: [1, 2]}, {0: [3]}, {1: [0], 2: [0]}, {2: [1]}], [5, 6, 10, 3, 2]
    )
    reduction = settle_attributes(compiled)
    assert reduction.base == 11
    assert reduction.compiled.attribute_count == 2
    assert reduction.lift(np.zeros(2, np.int32)).tolist() == [1, 0, 0]


def test_split_by_attributes_adds() -> None:
    """Parts that share no attribute: their maximum overlaps add up to the whole's."""
    split = 0
    for seed in range(400):
        compiled = absorb_queries(random_workload(seed)).compiled
        parts = split_by_attributes(compiled)
        if not parts:
            continue
        split += 1
        assert len(parts) > 1
        assert sorted(np.concatenate([part.queries for part in parts]).tolist()) == list(range(compiled.query_count))
        row = np.zeros(compiled.attribute_count, np.int32)
        total = 0
        for part in parts:
            check_invariants(part.compiled)
            weight, row[part.attributes] = heaviest_row(part.compiled)
            total += weight
        assert total == heaviest_row(compiled)[0] == row_weight(compiled, row)
    assert split > 20


@pytest.mark.parametrize("part_limit", [1, 2, 64])
def test_split_by_overlap_takes_the_largest(part_limit: int) -> None:
    """Parts that do not overlap: the largest maximum overlap is the whole's, however few parts are allowed."""
    split = 0
    for seed in range(400):
        compiled = random_workload(seed, shape="point" if seed % 2 else None)
        parts = split_by_overlap(compiled, part_limit=part_limit)
        if not parts:
            continue
        split += 1
        assert len(parts) <= part_limit
        for part in parts:
            check_invariants(part.compiled)
        best = max(parts, key=lambda part: heaviest_row(part.compiled)[0])
        weight, row = heaviest_row(best.compiled)
        assert weight == heaviest_row(compiled)[0] == row_weight(compiled, row)
    assert split > 20


def test_split_by_overlap_gives_up_quietly() -> None:
    """Without work allowed there is no split by pairs, though one exists."""
    queries = [{0: [0]}, {0: [1], 1: [0]}, {1: [1], 0: [1]}]
    compiled = compile_values([3, 2], [*queries, {1: [1], 0: [2]}], [3, 2, 2, 9])
    assert len(split_by_overlap(compiled)) == 1
    chain = compile_values([2, 2, 2], [{0: [0], 1: [0]}, {1: [0], 2: [0]}, {0: [1], 2: [1]}], [2, 2, 5])
    assert len(split_by_overlap(chain)) == 1
    assert split_by_overlap(chain, work_limit=0) == ()
