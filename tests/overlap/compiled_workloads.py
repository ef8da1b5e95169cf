"""Small workloads in array form, made at random, and plain helpers to make others."""

from __future__ import annotations

import numpy as np

from parcomp.model.compiled import CompiledWorkload

__all__ = ["compile_values", "random_compiled"]


def compile_values(sizes, queries, weights=None) -> CompiledWorkload:
    """Queries as dictionaries from attribute to the accepted values; a predicate that accepts all is left out."""
    sizes = np.asarray(sizes, np.int32)
    masks = [{} for _ in sizes]
    terms = []
    for query in queries:
        row = []
        for attribute in sorted(query):
            bits = np.zeros(sizes[attribute], np.bool_)
            bits[query[attribute]] = True
            assert bits.any()
            if not bits.all():
                key = np.packbits(bits, bitorder="little").tobytes()
                row.append((attribute, masks[attribute].setdefault(key, len(masks[attribute]))))
        terms.append(row)
    base = np.concatenate(([0], np.cumsum([len(known) for known in masks])))
    words, offset, mask_attribute = [], [0], []
    for attribute, known in enumerate(masks):
        width = (int(sizes[attribute]) + 63) // 64
        for key in known:
            words.append(np.frombuffer(key.ljust(8 * width, b"\0"), np.uint64))
            offset.append(offset[-1] + width)
            mask_attribute.append(attribute)
    return CompiledWorkload(
        sizes=sizes,
        weights=np.ones(len(terms), np.int64) if weights is None else np.asarray(weights, np.int64),
        start=np.concatenate(([0], np.cumsum([len(row) for row in terms]))).astype(np.int64),
        term=np.array([base[attribute] + mask for row in terms for attribute, mask in row], np.int32),
        mask_attribute=np.array(mask_attribute, np.int32),
        mask_offset=np.array(offset, np.int64),
        mask_words=np.concatenate(words) if words else np.zeros(0, np.uint64),
    )


def random_compiled(draw: np.random.Generator, largest_size=6, most_attributes=4, most_queries=30, weighted=True):
    """Random subsets on random attributes; weights up to a random power of ten, at most a million."""
    sizes = draw.integers(1, largest_size + 1, draw.integers(1, most_attributes + 1))
    queries = []
    for _ in range(draw.integers(1, most_queries + 1)):
        query = {}
        for attribute, size in enumerate(sizes):
            accepted = np.flatnonzero(draw.random(size) < draw.random())
            if draw.random() < 0.7 and len(accepted):
                query[attribute] = accepted
        queries.append(query)
    weights = draw.integers(1, 10 ** draw.integers(1, 7), len(queries)) if weighted else None
    return compile_values(sizes, queries, weights)
