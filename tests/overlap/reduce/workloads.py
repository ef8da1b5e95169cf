"""Small random workloads of many shapes, a few large ones, and enumeration of all rows as the judge."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload

Row = npt.NDArray[np.int32]


def compile_workload(
    sizes: Sequence[int], queries: Sequence[Mapping[int, Sequence[int]]], weights: Sequence[int] | None = None
) -> CompiledWorkload:
    """Queries as attribute → accepted values; a full set is left out, an empty one is an error of the test."""
    interned: list[dict[frozenset[int], int]] = [{} for _ in sizes]
    proper = []
    for query in queries:
        sets = {a: frozenset(map(int, accepted)) for a, accepted in sorted(query.items())}
        assert all(sets.values())
        proper.append({a: accepted for a, accepted in sets.items() if len(accepted) < sizes[a]})
        for a, accepted in proper[-1].items():
            interned[a].setdefault(accepted, len(interned[a]))
    base = np.cumsum([0] + [len(masks) for masks in interned])
    words, offset, attribute = [], [0], []
    for a, masks in enumerate(interned):
        width = (sizes[a] + 63) // 64
        for accepted in masks:
            number = sum(1 << value for value in accepted)
            words += [(number >> (64 * i)) & (2**64 - 1) for i in range(width)]
            offset.append(offset[-1] + width)
            attribute.append(a)
    term = [base[a] + interned[a][accepted] for query in proper for a, accepted in query.items()]
    start = np.cumsum([0] + [len(query) for query in proper])
    return CompiledWorkload(
        np.array(sizes, np.int32),
        np.ones(len(queries), np.int64) if weights is None else np.array(weights, np.int64),
        start.astype(np.int64),
        np.array(term, np.int32),
        np.array(attribute, np.int32),
        np.array(offset, np.int64),
        np.array(words, np.uint64),
    )


def row_weight(compiled: CompiledWorkload, row: Row) -> int:
    """The weight of the queries that a row satisfies, by the plain definition."""
    accepts = [
        bool(compiled.mask_bits(mask)[row[attribute]])
        for mask, attribute in enumerate(compiled.mask_attribute.tolist())
    ]
    term, start = compiled.term.tolist(), compiled.start.tolist()
    return sum(
        weight
        for query, weight in enumerate(compiled.weights.tolist())
        if all(accepts[mask] for mask in term[start[query] : start[query + 1]])
    )


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


def random_set(rng: np.random.Generator, size: int, shape: str) -> npt.NDArray[np.int64]:
    """A non-empty set of values: a point, an interval, a power-of-two block or any subset."""
    if shape == "point":
        return rng.integers(0, size, 1)
    if shape == "interval":
        low, high = np.sort(rng.integers(0, size, 2))
        return np.arange(low, high + 1)
    if shape == "nested":
        length = 1 << int(rng.integers(0, size.bit_length()))
        low = int(rng.integers(0, size)) // length * length
        return np.arange(low, min(low + length, size))
    return rng.choice(size, rng.integers(1, size + 1), replace=False)


def random_workload(seed: int, shape: str | None = None, wide: bool = False) -> CompiledWorkload:
    """A workload small enough for enumeration.

    ``wide`` gives one attribute more than 64 values.  Half of the workloads fall apart: their attributes are parted,
    and a query keeps to one part; or the values of the first attribute are, and every query constrains it within one
    part.
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 3 if wide else 5))
    sizes = rng.integers(1, 7, count).tolist()
    if wide:
        sizes[int(rng.integers(count))] = int(rng.integers(65, 200))
    structure = rng.choice(["none", "none", "attributes", "values"])
    queries: list[dict[int, npt.NDArray[np.int64]]] = []
    density = rng.uniform(0.2, 0.9)
    for _ in range(int(rng.integers(1, 25))):
        query = {}
        allowed = set(range(count))
        if structure == "attributes":
            side = rng.random() < 0.5
            allowed = {a for a in allowed if (a % 2 == 0) == side}
        for a in sorted(allowed):
            if rng.random() < density:
                kind = shape or str(rng.choice(["point", "interval", "nested", "subset"]))
                query[a] = random_set(rng, sizes[a], kind)
        if structure == "values" and sizes[0] > 3:
            side = int(rng.random() < 0.5)
            half = sizes[0] // 2
            kind = shape or "subset"
            query[0] = random_set(rng, half if side else sizes[0] - half, kind) + (0 if side else half)
        queries.append(query)
    top = 10 ** int(rng.integers(0, 7))
    weights = rng.integers(1, top + 1, len(queries)).tolist()
    return compile_workload(sizes, queries, weights)


def full_census() -> CompiledWorkload:
    """All 3,600,000 combinations of 5,000 income prefixes with age, marital status, race and gender or any."""
    sizes = np.array([5000, 5, 4, 7, 2], np.int32)
    widths = (sizes + 63) // 64
    incomes = np.zeros((4999, int(widths[0]) * 64), np.bool_)
    incomes[:, :4999] = np.tri(4999, dtype=np.bool_)
    words = [np.packbits(incomes, axis=1, bitorder="little").view(np.uint64).ravel()]
    words += [np.uint64(1) << np.arange(size, dtype=np.uint64) for size in sizes[1:]]
    mask_count = np.array([4999, 5, 4, 7, 2])
    first_mask = np.concatenate(([0], np.cumsum(mask_count)[:-1]))
    choice = np.indices(mask_count + 1).reshape(5, -1).T
    constrained = choice < mask_count
    mask_attribute = np.repeat(np.arange(5, dtype=np.int32), mask_count)
    return CompiledWorkload(
        sizes,
        np.ones(len(choice), np.int64),
        np.concatenate(([0], np.cumsum(constrained.sum(axis=1)))),
        (choice + first_mask)[constrained].astype(np.int32),
        mask_attribute,
        np.concatenate(([0], np.cumsum(widths[mask_attribute]))).astype(np.int64),
        np.concatenate(words),
    )


def marginals(attributes: int, size: int, ways: int) -> CompiledWorkload:
    """All queries that give a value to each of at most ``ways`` attributes."""
    terms, lengths = [], [0]
    for k in range(1, ways + 1):
        for chosen in itertools.combinations(range(attributes), k):
            cells = np.indices([size] * k).reshape(k, -1).T + np.array(chosen) * size
            terms.append(cells.ravel())
            lengths += [k] * len(cells)
    masks = attributes * size
    return CompiledWorkload(
        np.full(attributes, size, np.int32),
        np.ones(len(lengths) - 1, np.int64),
        np.cumsum(lengths),
        np.concatenate(terms).astype(np.int32),
        np.repeat(np.arange(attributes, dtype=np.int32), size),
        np.arange(masks + 1),
        np.tile(np.uint64(1) << np.arange(size, dtype=np.uint64), attributes),
    )
