"""The Helly property of the masks of an attribute."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.cover.helly import Structure, attribute_structures, overlap_is_clique
from parcomp.overlap.reduce import Rule, reduce
from tests.workloads import compile_values, heaviest_row, random_workload


def is_helly(compiled: CompiledWorkload, attribute: int) -> bool:
    """Whether every pairwise intersecting family of the attribute's masks has a common value, by enumeration."""
    masks = [
        set(np.flatnonzero(compiled.mask_bits(p)).tolist())
        for p in np.flatnonzero(compiled.mask_attribute == attribute)
    ]
    for k in range(3, len(masks) + 1):
        for family in itertools.combinations(masks, k):
            if all(p & q for p, q in itertools.combinations(family, 2)) and not set.intersection(*family):
                return False
    return True


def clique_number(compiled: CompiledWorkload) -> int:
    """The heaviest set of pairwise overlapping queries, by plain search."""
    count = compiled.query_count
    overlap = np.ones((count, count), np.bool_)
    bits = [compiled.mask_bits(p) for p in range(len(compiled.mask_attribute))]
    for p, q in itertools.combinations(range(count), 2):
        for a in compiled.term[compiled.start[p] : compiled.start[p + 1]]:
            for b in compiled.term[compiled.start[q] : compiled.start[q + 1]]:
                same = compiled.mask_attribute[a] == compiled.mask_attribute[b]
                if same and not np.any(bits[a] & bits[b]):
                    overlap[p, q] = overlap[q, p] = False

    def extend(candidates: list[int]) -> int:
        return max(
            (
                int(compiled.weights[p]) + extend([q for q in candidates[i + 1 :] if overlap[p, q]])
                for i, p in enumerate(candidates)
            ),
            default=0,
        )

    return extend(list(range(count)))


def arcs(size: int, length: int) -> CompiledWorkload:
    """All arcs of one length of a circle of values."""
    return compile_values([size], [{0: [(low + i) % size for i in range(length)]} for low in range(size)])


@pytest.mark.parametrize(
    ("size", "sets", "structure"),
    [
        (5, [[0], [3]], Structure.POINTS),
        (5, [[0, 1], [1, 2, 3]], Structure.INTERVALS),
        (100, [list(range(60, 70)), list(range(63, 99))], Structure.INTERVALS),
        (6, [[0, 2, 4], [2, 4], [1, 3]], Structure.NESTED),
        (200, [list(range(0, 200, 2)), list(range(0, 200, 4)), [1, 199]], Structure.NESTED),
        (3, [[0, 1], [1, 2], [0, 2]], None),
        (4, [[0, 1, 3], [1, 2, 3], [0, 2, 3]], Structure.HELLY),
    ],
)
def test_structure_is_recognized(size: int, sets: list[list[int]], structure: Structure | None) -> None:
    """Each kind of family gets its reason; three sets that meet only in pairs get none."""
    compiled = compile_values([size], [{0: accepted} for accepted in sets])
    assert attribute_structures(compiled) == (structure,)


@pytest.mark.parametrize(
    ("size", "length", "structure"),
    [
        (4, 2, Structure.ARCS),
        (7, 3, Structure.ARCS),
        (100, 34, Structure.ARCS),
        (6, 3, None),
        (3, 2, None),
        (70, 25, None),
    ],
)
def test_arcs_are_helly_only_if_three_cannot_close_the_circle(
    size: int, length: int, structure: Structure | None
) -> None:
    """Arcs of up to a third of the circle have the property, longer ones need not."""
    assert attribute_structures(arcs(size, length)) == (structure,)


def test_answer_is_right_on_small_families() -> None:
    """On random families of few sets and values the answer agrees with the definition."""
    helly = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(2, 8))
        count = int(rng.integers(1, 7))
        sets = [{0: rng.choice(size, int(rng.integers(1, max(2, size - 1))), replace=False)} for _ in range(count)]
        compiled = compile_values([size], sets)
        known = attribute_structures(compiled)[0] is not None
        assert known == is_helly(compiled, 0)
        helly += known
    assert 50 < helly < 550


def test_helly_attributes_make_cliques_overlap() -> None:
    """Where all attributes have the property, γ = ω; elsewhere only γ ≤ ω."""
    equal = above = 0
    for seed in range(250):
        compiled = random_workload(seed, "subset" if seed % 2 else None)
        if compiled.query_count > 12:
            continue
        gamma, omega = heaviest_row(compiled)[0], clique_number(compiled)
        assert gamma <= omega
        if overlap_is_clique(compiled):
            assert gamma == omega
            equal += 1
        above += gamma < omega
    assert equal > 20
    assert above > 0


@pytest.mark.parametrize("shape", ["point", "interval", "nested"])
def test_value_rules_keep_the_structure(shape: str) -> None:
    """Points, intervals and nested families stay Helly when values are merged and dropped."""
    for seed in range(200):
        compiled = random_workload(seed, shape, wide=seed % 3 == 0)
        assert overlap_is_clique(compiled)
        for rules in ({Rule.MERGE_VALUES}, {Rule.MERGE_VALUES, Rule.DROP_DOMINATED_VALUES}):
            (leaf,) = reduce(compiled, rules).leaves
            if shape == "interval":
                kinds = attribute_structures(leaf.compiled)
                assert set(kinds) <= {Structure.POINTS, Structure.INTERVALS}
            assert overlap_is_clique(leaf.compiled)


def test_no_attributes() -> None:
    """Queries without constraints form a clique that every row satisfies."""
    assert overlap_is_clique(compile_values([], [{}, {}]))
    assert attribute_structures(compile_values([3], [{}])) == (Structure.POINTS,)
