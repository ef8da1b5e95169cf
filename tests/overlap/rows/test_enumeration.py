"""Looking at every row."""

import numpy as np

from parcomp.overlap.rows.enumeration import enumeration_work, heaviest_row
from tests import workloads


def test_equals_the_judge():
    """3,000 random workloads, some with attributes of more than 64 values."""
    for seed in range(3_000):
        compiled = workloads.random_workload(seed, wide=seed % 10 == 0)
        truth, _ = workloads.heaviest_row(compiled)
        weight, row = heaviest_row(compiled)
        assert weight == truth == workloads.row_weight(compiled, row)


def test_more_queries_than_a_word_holds():
    """130 queries over one attribute: each value is accepted by its own, and one by all of the second half."""
    sizes = [130]
    queries = [{0: [value] if value < 65 else [7, value]} for value in range(130)]
    compiled = workloads.compile_values(sizes, queries)
    assert heaviest_row(compiled)[0] == 66
    assert heaviest_row(compiled)[1] == np.array([7])


def test_work_grows_with_the_rows():
    """The estimate is at least the number of rows, so that a limit on it limits the rows."""
    compiled = workloads.compile_values([6, 5, 4], [{0: [1], 2: [0, 3]}])
    assert enumeration_work(compiled) >= 120


def test_work_of_a_domain_beyond_floating_point():
    """The number of rows is exact, however large: no warning about overflow reaches a user."""
    compiled = workloads.compile_values([10] * 400, [{0: [1], 399: [0, 3]}])
    assert 10**400 <= enumeration_work(compiled) < 10**401
