"""Kernels that walk all rows of a small workload, attribute by attribute."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, fill_ones, has_bit, weigh_bits
from parcomp.jit import kernel

__all__ = ["fill_accepting", "heaviest_row"]


@kernel
def fill_accepting(start, term, mask_attribute, mask_offset, mask_words, sizes, first, accepting):
    """Set ``accepting[first[a] + v]`` to the queries that accept value ``v`` of attribute ``a``, packed.

    ``accepting`` comes with all bits of existing queries set; a query loses its bit where it has a mask without ``v``.
    """
    for query in range(len(start) - 1):
        word, bit = query >> 6, bit_of(query)
        for k in range(start[query], start[query + 1]):
            mask = term[k]
            attribute = mask_attribute[mask]
            offset = mask_offset[mask]
            for value in range(sizes[attribute]):
                if not has_bit(mask_words[offset + (value >> 6)], value):
                    accepting[first[attribute] + value, word] &= ~bit


@kernel
def heaviest_row(accepting, first, weights, row):
    """The largest weight of queries alive in one row, which is put into ``row``.

    A branch is left as soon as the queries alive in it weigh no more than the best row: going on only removes queries.
    """
    depth_count = len(row)
    words = accepting.shape[1]
    alive = np.zeros((depth_count + 1, words), np.uint64)
    fill_ones(alive[0], len(weights))
    value = np.zeros(depth_count + 1, np.int64)
    best = np.int64(-1)
    depth = 0
    while depth >= 0:
        if depth == depth_count:
            weight = weigh_bits(alive[depth], weights)
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
        if weigh_bits(alive[depth + 1], weights) > best:
            depth += 1
            value[depth] = 0
    return best
