"""Exact maximum overlap of small parts by walking all their rows.

What the reductions leave of most practical workloads has few values on few attributes: then nothing beats looking at
every row, with the queries still alive as bits and a branch left as soon as they weigh too little.
"""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from parcomp.bits import word_count
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.rows import _enumeration_kernels as kernels

__all__ = ["accepting_queries", "enumeration_work", "heaviest_row"]


def enumeration_work(compiled: CompiledWorkload) -> int:
    """An upper bound of the word operations that :func:`heaviest_row` takes."""
    sizes: list[int] = compiled.sizes.tolist()
    return prod(sizes) * compiled.query_count + sum(sizes) * word_count(compiled.query_count)


def accepting_queries(compiled: CompiledWorkload) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Which queries accept each value: those of attribute ``a`` are the rows ``first[a]:first[a + 1]`` of bits.

    Bits beyond the last query are ones.
    """
    first = np.concatenate(([0], np.cumsum(compiled.sizes, dtype=np.int64)))
    accepting = np.full((int(first[-1]), word_count(compiled.query_count)), ~np.uint64(0))
    kernels.fill_accepting(
        compiled.start,
        compiled.term,
        compiled.mask_attribute,
        compiled.mask_offset,
        compiled.mask_words,
        compiled.sizes,
        first,
        accepting,
    )
    return first, accepting


def heaviest_row(compiled: CompiledWorkload) -> tuple[int, npt.NDArray[np.int32]]:
    """The maximum overlap and a row that attains it."""
    first, accepting = accepting_queries(compiled)
    row = np.zeros(compiled.attribute_count, np.int32)
    weight = int(kernels.heaviest_row(accepting, first, compiled.weights, row))
    return weight, row
