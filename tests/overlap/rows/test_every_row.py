from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from parcomp.errors import SizeError
from parcomp.overlap.rows import every_row as module
from parcomp.overlap.rows.every_row import brute_force
from tests.workloads import compile_values, random_compiled


def test_agrees_with_a_loop_over_rows_in_plain_python():
    """The weight is the largest of all rows', and the row is the first to attain it."""
    for seed in range(150):
        compiled = random_compiled(np.random.default_rng(seed), largest_size=4, most_attributes=3)
        rows = [np.array(row, np.int32) for row in product(*[range(size) for size in compiled.sizes])]
        weights = [compiled.weigh(row) for row in rows]
        weight, row = brute_force(compiled)
        assert weight == max(weights)
        assert row.tolist() == rows[weights.index(weight)].tolist()
        assert row.dtype == np.int32


def test_looks_at_rows_beyond_the_first_block(monkeypatch):
    """The only row that satisfies both queries is the last of many blocks."""
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)
    compiled = compile_values([10, 10], [{0: [9]}, {1: [9]}])
    assert brute_force(compiled)[0] == 2
    assert brute_force(compiled)[1].tolist() == [9, 9]


def test_queries_without_terms_are_satisfied_by_every_row():
    """A tautology counts in full, and so does nothing at all in an empty workload."""
    assert brute_force(compile_values([3], [{}, {}], [5, 7]))[0] == 12
    assert brute_force(compile_values([3], []))[0] == 0
    assert brute_force(compile_values([], [{}], [4]))[0] == 4


def test_refuses_domains_beyond_the_limit():
    """The message names what was asked and what is allowed."""
    compiled = compile_values([100, 100], [{0: [1]}])
    assert brute_force(compiled, row_limit=10_000)[0] == 1
    with pytest.raises(SizeError, match=r"10000 rows .* 9999"):
        brute_force(compiled, row_limit=9_999)
