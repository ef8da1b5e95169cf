"""Levels: what a look at a few values says of all of them."""

from __future__ import annotations

import numpy as np

from parcomp.overlap.value._level_kernels import common_bits
from parcomp.overlap.value.value_search import ValueSearch
from tests.workloads import compile_values, heaviest_row


def test_bits_that_all_bytes_have_and_that_some_have() -> None:
    """As by looking at every byte, wherever the one that makes the difference is."""
    draw = np.random.default_rng(0)
    late = 0
    for _ in range(5000):
        width = int(draw.integers(1, 9))
        size = int(draw.integers(0, 300))
        whole = (1 << width) - 1
        column = np.full(size, draw.integers(0, whole + 1), np.uint8)
        for _ in range(draw.integers(0, 4) if size else 0):
            column[draw.integers(0, size)] = draw.integers(0, whole + 1)
        every, some, read = common_bits(column, width)
        assert every == np.bitwise_and.reduce(column, initial=whole)
        assert some == np.bitwise_or.reduce(column, initial=0)
        late += 64 < read < size
    assert late > 100


def test_wide_attributes_with_values_that_differ_late() -> None:
    """Queries that reject or accept few of many values, at either end, count as they should."""
    for seed in range(150):
        draw = np.random.default_rng(seed)
        sizes = draw.integers(65, 301, 2).tolist()
        queries = []
        for _ in range(draw.integers(2, 14)):
            query = {}
            for a, size in enumerate(sizes):
                few = draw.integers(0, size, draw.integers(1, 6))
                few = np.unique(np.where(draw.random() < 0.5, size - 1 - few // 8, few))
                if draw.random() < 0.8:
                    query[a] = few if draw.random() < 0.4 else np.setdiff1d(np.arange(size), few)
            queries.append(query)
        compiled = compile_values(sizes, queries, draw.integers(1, 9, len(queries)).tolist())
        search = ValueSearch(compiled)
        while search.advance(1 << 20):
            pass
        assert search.lower == search.upper == heaviest_row(compiled)[0]
