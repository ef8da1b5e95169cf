"""Judges of compiled workloads that use nothing of the code under test but the arrays themselves."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload

__all__ = ["Row", "check_invariants", "heaviest_row", "row_weight"]

Row = npt.NDArray[np.int32]


def row_weight(compiled: CompiledWorkload, row: Row) -> int:
    """The weight of the queries that a row satisfies: those of which no mask lacks the row's value."""
    value = row[compiled.mask_attribute].astype(np.int64)
    words = compiled.mask_words[compiled.mask_offset[:-1] + (value >> 6)]
    lacking = (words >> (value & 63).astype(np.uint64)) & np.uint64(1) == 0
    missed = np.concatenate(([0], np.cumsum(lacking[compiled.term])))
    return int(compiled.weights[missed[compiled.start[1:]] == missed[compiled.start[:-1]]].sum())


def heaviest_row(compiled: CompiledWorkload) -> tuple[int, Row]:
    """The maximum overlap and a row that attains it, by looking at all rows."""
    sizes = compiled.sizes.tolist()
    rows = np.array(list(itertools.product(*(range(size) for size in sizes))), np.int32)
    weight = np.zeros(len(rows), np.int64)
    bits = [compiled.mask_bits(mask) for mask in range(len(compiled.mask_attribute))]
    accepts = [bits[p][rows[:, compiled.mask_attribute[p]]] for p in range(len(bits))]
    for query in range(compiled.query_count):
        satisfied = np.ones(len(rows), np.bool_)
        for mask in compiled.term[compiled.start[query] : compiled.start[query + 1]]:
            satisfied &= accepts[mask]
        weight[satisfied] += compiled.weights[query]
    best = int(weight.argmax())
    return int(weight[best]), rows[best]


def check_invariants(compiled: CompiledWorkload) -> None:
    """What every compiled workload promises, and that every mask is used."""
    assert compiled.start[0] == 0
    assert compiled.start[-1] == len(compiled.term)
    assert np.all(np.diff(compiled.start) >= 0)
    assert np.all(compiled.weights > 0)
    assert np.all(np.diff(compiled.mask_attribute) >= 0)
    widths = (compiled.sizes[compiled.mask_attribute].astype(np.int64) + 63) // 64
    assert np.array_equal(np.diff(compiled.mask_offset), widths)
    assert compiled.mask_offset[-1] == len(compiled.mask_words)
    assert set(compiled.term.tolist()) == set(range(len(compiled.mask_attribute)))
    seen = set()
    for mask in range(len(compiled.mask_attribute)):
        bits = compiled.mask_bits(mask)
        assert bits.any()
        assert not bits.all()
        begin, end = compiled.mask_offset[mask], compiled.mask_offset[mask + 1]
        words = compiled.mask_words[begin:end]
        assert sum(int(word).bit_count() for word in words) == bits.sum()
        key = (int(compiled.mask_attribute[mask]), bits.tobytes())
        assert key not in seen
        seen.add(key)
    for query in range(compiled.query_count):
        attributes = compiled.mask_attribute[compiled.term[compiled.start[query] : compiled.start[query + 1]]]
        assert np.all(np.diff(attributes) > 0)
    for array, dtype in (
        (compiled.sizes, np.int32),
        (compiled.weights, np.int64),
        (compiled.start, np.int64),
        (compiled.term, np.int32),
        (compiled.mask_attribute, np.int32),
        (compiled.mask_offset, np.int64),
        (compiled.mask_words, np.uint64),
    ):
        assert array.dtype == dtype
