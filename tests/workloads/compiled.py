"""Workloads in array form: written out, drawn at random, and two large ones.

The random ones differ in what they draw: :func:`random_compiled` subsets on some of a few attributes,
:func:`random_subsets` the same with a fixed number of attributes and queries, :func:`random_workload` sets of every
shape in workloads that may fall apart, and :func:`random_sets` queries alone, to be compiled or not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload

__all__ = [
    "compile_values",
    "deep_workload",
    "demanding_workload",
    "full_census",
    "marginals",
    "random_compiled",
    "random_set",
    "random_sets",
    "random_subsets",
    "random_workload",
]


def compile_values(
    sizes: Sequence[int] | npt.NDArray[np.integer],
    queries: Iterable[Mapping[int, Iterable[int]]],
    weights: npt.ArrayLike | None = None,
) -> CompiledWorkload:
    """Queries as attribute → accepted values; a full set is left out, an empty one is an error of the test."""
    masks: list[dict[bytes, int]] = [{} for _ in sizes]
    terms: list[list[tuple[int, int]]] = []
    for query in queries:
        row = []
        for attribute in sorted(query):
            bits = np.zeros((sizes[attribute] + 63) // 64 * 64, np.bool_)
            bits[np.fromiter(query[attribute], np.int64)] = True
            assert bits.any()
            if bits.sum() < sizes[attribute]:
                key = np.packbits(bits, bitorder="little").tobytes()
                row.append((attribute, masks[attribute].setdefault(key, len(masks[attribute]))))
        terms.append(row)
    base = np.concatenate(([0], np.cumsum([len(known) for known in masks])))
    words = [np.frombuffer(key, np.uint64) for known in masks for key in known]
    return CompiledWorkload(
        sizes=np.asarray(sizes, np.int32),
        weights=np.ones(len(terms), np.int64) if weights is None else np.asarray(weights, np.int64),
        start=np.concatenate(([0], np.cumsum([len(row) for row in terms]))).astype(np.int64),
        term=np.array([base[attribute] + mask for row in terms for attribute, mask in row], np.int32),
        mask_attribute=np.array([attribute for attribute, known in enumerate(masks) for _ in known], np.int32),
        mask_offset=np.concatenate(([0], np.cumsum([len(mask) for mask in words]))).astype(np.int64),
        mask_words=np.concatenate(words) if words else np.zeros(0, np.uint64),
    )


def random_set(draw: np.random.Generator, size: int, shape: str) -> npt.NDArray[np.int64]:
    """A non-empty set of values: a point, an interval, a power-of-two block or a subset.

    The size of a ``subset`` is uniform; of a ``share`` each value is a member with one probability for all.
    """
    if shape == "point":
        return draw.integers(0, size, 1)
    if shape == "interval":
        low, high = np.sort(draw.integers(0, size, 2))
        return np.arange(low, high + 1)
    if shape == "nested":
        length = 1 << int(draw.integers(0, size.bit_length()))
        low = int(draw.integers(0, size)) // length * length
        return np.arange(low, min(low + length, size))
    if shape == "share":
        accepted = np.flatnonzero(draw.random(size) < draw.uniform(0.05, 0.9))
        return accepted if len(accepted) else draw.integers(0, size, 1)
    return draw.choice(size, draw.integers(1, size + 1), replace=False)


def random_compiled(
    draw: np.random.Generator,
    largest_size: int = 6,
    most_attributes: int = 4,
    most_queries: int = 30,
    *,
    density: float = 0.7,
    weighted: bool = True,
) -> CompiledWorkload:
    """Random subsets on random attributes; weights up to a random power of ten, at most a million."""
    sizes = draw.integers(1, largest_size + 1, draw.integers(1, most_attributes + 1))
    queries = []
    for _ in range(draw.integers(1, most_queries + 1)):
        query = {}
        for attribute, size in enumerate(sizes):
            accepted = np.flatnonzero(draw.random(size) < draw.random())
            if draw.random() < density and len(accepted):
                query[attribute] = accepted
        queries.append(query)
    weights = draw.integers(1, 10 ** draw.integers(1, 7), len(queries)) if weighted else None
    return compile_values(sizes, queries, weights)


def random_subsets(seed: int, *, attributes: int = 3, values: int = 5, queries: int = 25) -> CompiledWorkload:
    """So many queries on so many attributes of at most so many values; some queries constrain nothing."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(2, values + 1, attributes)
    drawn = []
    for _ in range(queries):
        query = {}
        for attribute, size in enumerate(sizes):
            accepted = np.flatnonzero(draw.random(size) < draw.uniform(0.2, 0.8))
            if draw.random() < 0.7 and len(accepted):
                query[attribute] = accepted
        drawn.append(query)
    return compile_values(sizes, drawn, draw.integers(1, 10 ** draw.integers(1, 7), queries))


def deep_workload(draw: np.random.Generator, queries: int = 80) -> CompiledWorkload:
    """A workload on which branching runs deep; weights are 1, small, or as large as they may be."""
    attributes, values = [(8, 2), (5, 4), (4, 6)][draw.integers(3)]
    drawn = [
        {int(a): np.flatnonzero(draw.random(values) < 0.5) for a in draw.choice(attributes, 3, replace=False)}
        for _ in range(queries)
    ]
    drawn = [{a: accepted for a, accepted in query.items() if len(accepted)} for query in drawn]
    heaviest = [1, 10, (2**62 - 1) // queries][draw.integers(3)]
    return compile_values([values] * attributes, drawn, draw.integers(1, heaviest + 1, queries))


def demanding_workload(draw: np.random.Generator) -> CompiledWorkload:
    """A workload of queries that constrain nearly all of many attributes, each a little."""
    queries = [
        {a: draw.choice(3, 2 if draw.random() < 0.9 else 1, replace=False) for a in range(11) if draw.random() < 0.98}
        for _ in range(int(draw.integers(40, 80)))
    ]
    return compile_values([3] * 11, queries, draw.integers(1, int(draw.choice([2, 4, 1_000])), len(queries)))


def random_sets(
    draw: np.random.Generator, sizes: Sequence[int], count: int, shape: str = "subset"
) -> list[dict[int, set[int]]]:
    """``count`` queries on attributes of these sizes: ``subset`` (often a small one), ``interval`` or ``point``."""
    queries = []
    for _ in range(count):
        query = {}
        for attribute, size in enumerate(sizes):
            if draw.random() < 0.3:
                continue
            small = shape == "subset"
            values = np.flatnonzero(draw.random(size) < draw.random() ** 2) if small else random_set(draw, size, shape)
            if len(values):
                query[attribute] = set(values.tolist())
        queries.append(query)
    return queries


def random_workload(seed: int, shape: str | None = None, wide: bool = False) -> CompiledWorkload:
    """A workload of sets of one shape or of all, small enough for enumeration.

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
    return compile_values(sizes, queries, weights)


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
