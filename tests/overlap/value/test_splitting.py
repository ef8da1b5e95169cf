"""The splitting bound: any multipliers are safe, and good ones come near the linear relaxation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.value.splitting import Splitting, choose_shift, split
from tests.workloads import compile_values, heaviest_row, random_subsets


def scaled_bound(compiled: CompiledWorkload, multipliers: npt.NDArray[np.int64]) -> int:
    """The sum of the attributes' highest scores, in Python integers."""
    scores = [[0] * int(size) for size in compiled.sizes]
    for k, mask in enumerate(compiled.term):
        for v in np.flatnonzero(compiled.mask_bits(int(mask))):
            scores[compiled.mask_attribute[mask]][v] += int(multipliers[k])
    return sum(max(of_values) for of_values in scores)


def check(compiled: CompiledWorkload, splitting: Splitting) -> None:
    """The multipliers share out each weight exactly and prove the bound."""
    assert splitting.multipliers.min(initial=0) >= 0
    constant = 0
    for q in range(compiled.query_count):
        shares = splitting.multipliers[compiled.start[q] : compiled.start[q + 1]]
        if len(shares):
            assert int(shares.sum()) == int(compiled.weights[q]) << splitting.shift
        else:
            constant += int(compiled.weights[q])
    assert splitting.constant == constant
    assert splitting.bound == constant + (scaled_bound(compiled, splitting.multipliers) >> splitting.shift)


@pytest.mark.parametrize("rounds", [0, 7, 60])
def test_the_bound_is_safe_and_its_multipliers_prove_it(rounds: int) -> None:
    """However many rounds are spent, the multipliers are valid and the bound is at least the truth."""
    for seed in range(150):
        compiled = random_subsets(seed)
        splitting = split(compiled, rounds)
        check(compiled, splitting)
        assert splitting.bound >= heaviest_row(compiled)[0]


def test_a_warm_start_never_loses() -> None:
    """Starting from a splitting, the bound is at most its bound."""
    for seed in range(50):
        compiled = random_subsets(seed, attributes=4, values=20, queries=60)
        first = split(compiled, 20)
        second = split(compiled, 40, start=first)
        check(compiled, second)
        assert second.bound <= first.bound


def test_scores_of_long_lists_are_exact() -> None:
    """Lists that are scored by bytes, with an even and an odd number of them, are scored as value by value."""
    for seed in range(60):
        draw = np.random.default_rng(seed)
        sizes = [int(draw.integers(400, 700)), 5]
        queries = []
        for _ in range(draw.integers(1, 40)):
            query = {0: np.flatnonzero(draw.random(sizes[0]) < draw.random())}
            query[0] = query[0] if len(query[0]) else np.array([7])
            if draw.random() < 0.7:
                query[1] = draw.choice(5, draw.integers(1, 5), replace=False)
            queries.append(query)
        compiled = compile_values(sizes, queries, draw.integers(1, 100, len(queries)).tolist())
        check(compiled, split(compiled, 7))


def test_the_bound_comes_near_the_linear_relaxation() -> None:
    """After the default rounds the exact bound is within 1 % of the relaxation's value, and not below it."""
    for seed in range(5):
        compiled = random_subsets(seed, attributes=8, values=40, queries=100)
        offset = np.concatenate(([0], np.cumsum(compiled.sizes)))
        values = int(offset[-1])
        attribute_of_mask = compiled.mask_attribute
        inequalities = np.zeros((len(compiled.term), values + compiled.query_count))
        for q in range(compiled.query_count):
            for k in range(compiled.start[q], compiled.start[q + 1]):
                mask = int(compiled.term[k])
                accepted = offset[attribute_of_mask[mask]] + np.flatnonzero(compiled.mask_bits(mask))
                inequalities[k, accepted] = -1
                inequalities[k, values + q] = 1
        equalities = np.zeros((compiled.attribute_count, values + compiled.query_count))
        for a in range(compiled.attribute_count):
            equalities[a, offset[a] : offset[a + 1]] = 1
        gain = np.concatenate((np.zeros(values), compiled.weights.astype(float)))
        solution = optimize.linprog(
            -gain, inequalities, np.zeros(len(inequalities)), equalities, np.ones(len(equalities)), bounds=(0, 1)
        )
        splitting = split(compiled)
        scaled = splitting.constant + scaled_bound(compiled, splitting.multipliers) / 2**splitting.shift
        assert -solution.fun * (1 - 1e-6) <= scaled <= -solution.fun * 1.01


def test_sums_of_multipliers_do_not_overflow() -> None:
    """The scale leaves room for the sum of all weights below 2**62."""
    for total in (1, 2, 1000, 2**38 - 1, 2**38, 2**61 - 1, 2**61, 2**62 - 1):
        assert total << choose_shift(total) < 2**62
