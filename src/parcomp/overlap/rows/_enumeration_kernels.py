"""Kernels that walk all rows of a small workload, attribute by attribute."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import lowest_bit
from parcomp.jit import kernel

__all__ = ["fill_accepting", "heaviest_row"]


@kernel
def fill_accepting(start, term, mask_attribute, mask_offset, mask_words, sizes, first, accepting):
    """Set ``accepting[first[a] + v]`` to the queries that accept value ``v`` of attribute ``a``, packed.

    ``accepting`` comes with all bits of existing queries set; a query loses its bit where it has a mask without ``v``.
    """
    for query in range(len(start) - 1):
        word, bit = query >> 6, np.uint64(1) << np.uint64(query & 63)
        for k in range(start[query], start[query + 1]):
            mask = term[k]
            attribute = mask_attribute[mask]
            offset = mask_offset[mask]
            for value in range(sizes[attribute]):
                if not (mask_words[offset + (value >> 6)] >> np.uint64(value & 63)) & np.uint64(1):
                    accepting[first[attribute] + value, word] &= ~bit


@kernel
def _weigh(alive, weights):
    total = np.int64(0)
    for word in range(len(alive)):
        rest = alive[word]
        while rest:
            total += weights[(word << 6) + lowest_bit(rest)]
            rest &= rest - np.uint64(1)
    return total


@kernel
def heaviest_row(accepting, first, weights, row):
    """The largest weight of queries alive in one row, which is put into ``row``.

    A branch is left as soon as the queries alive in it weigh no more than the best row: going on only removes queries.
    """
    depth_count = len(row)
    words = accepting.shape[1]
    alive = np.zeros((depth_count + 1, words), np.uint64)
    alive[0] = ~np.uint64(0)
    if len(weights) & 63:
        alive[0, words - 1] = (np.uint64(1) << np.uint64(len(weights) & 63)) - np.uint64(1)
    value = np.zeros(depth_count + 1, np.int64)
    best = np.int64(-1)
    depth = 0
    while depth >= 0:
        if depth == depth_count:
            weight = _weigh(alive[depth], weights)
            if weight > best:
                best = weight
                for attribute in range(depth_count):
                    row[attribute] = value[attribute] - 1
            depth -= 1
            continue
        if first[depth] + value[depth] == first[depth + 1]:
            depth -= 1
            continue
        line = first[depth] + value[depth]
        value[depth] += 1
        for word in range(words):
            alive[depth + 1, word] = alive[depth, word] & accepting[line, word]
        if _weigh(alive[depth + 1], weights) > best:
            depth += 1
            value[depth] = 0
    return best
