"""Predicates that take no memory, and the workloads made of them."""

import numpy as np
import pytest

from parcomp.experiments import _subset_kernels as kernels
from parcomp.experiments.huge import GeneratedPredicates, huge_uniform_workload


@pytest.mark.parametrize("size", [1, 2, 3, 10, 99, 100, 101, 1_000, 4_097])
def test_the_permutation_is_a_bijection_and_its_inverse_undoes_it(size):
    base = np.uint64(int(np.ceil(np.sqrt(size))))
    for key in range(20):
        arguments = np.uint64(key * 0x9E3779B97F4A7C15 % 2**64), np.uint64(size), base
        images = [int(kernels.permute(np.uint64(value), *arguments)) for value in range(size)]
        assert sorted(images) == list(range(size))
        assert [int(kernels.unpermute(np.uint64(image), *arguments)) for image in images] == list(range(size))


def test_a_predicate_has_exactly_the_size_that_was_drawn():
    for seed in range(5):
        table = huge_uniform_workload(20, 30, seed, kmax=4).table
        assert [predicate.count for predicate in table.predicates] == table.counts.tolist()
        assert len(table.predicates) == len(table.counts)
        assert table.predicates[-1] == table.predicates[len(table.counts) - 1] == table.predicates[-1:][0]


@pytest.mark.parametrize(("size", "count"), [(10, 3), (10, 5), (100, 40)])
def test_values_and_pairs_of_values_are_evenly_spread(size, count):
    """Each value is in count/size of the sets and each pair in its share, within five standard deviations."""
    draws = 20_000
    sizes = np.full(draws, size)
    table = GeneratedPredicates(np.zeros(draws, np.int32), sizes, np.full(draws, count), 3)
    flags = table.flags(np.arange(draws)).astype(np.int64)
    together = flags.T @ flags
    for held, share in (
        (np.diag(together), count / size),
        (together[~np.eye(size, dtype=bool)], count * (count - 1) / (size * (size - 1))),
    ):
        deviation = np.sqrt(draws * share * (1 - share))
        assert np.abs(held - draws * share).max() < 5 * deviation


def test_the_workload_is_the_one_described():
    workload = huge_uniform_workload(100, 500, 7)
    assert workload.domain.size == 10**500
    assert len(workload) == workload.total == 100
    lengths = np.diff(workload.start)
    assert 1 <= lengths.min() < lengths.max() <= len(workload.domain.attributes)
    for query in range(100):
        numbers = workload.term[workload.start[query] : workload.start[query + 1]]
        assert (np.diff(workload.table.attributes[numbers]) > 0).all()
    again = huge_uniform_workload(100, 500, 7)
    assert np.array_equal(again.table.counts, workload.table.counts)
    assert again.table.predicates[17] == workload.table.predicates[17]
