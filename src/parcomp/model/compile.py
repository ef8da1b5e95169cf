"""From a workload to the arrays that kernels read, and back from rows of codes to rows of values.

Compiling drops contradictions (they cover nothing), merges the values of an attribute that every predicate in use
treats alike (a row keeps its overlap when such values are exchanged), divides all weights by their greatest common
divisor, and turns predicates into bit masks over the merged values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits, unpack_bits, word_count
from parcomp.errors import CostError, SizeError
from parcomp.model.compiled import CompiledWorkload
from parcomp.model.predicate import Predicate
from parcomp.model.predicate_table import InternedPredicates
from parcomp.model.workload import Workload

__all__ = ["Compilation", "compilable", "compile_workload", "whole_weights"]

_MERGE_LIMIT = 2**22
"""Values are merged where predicates times values stay below this; merging is optional, so skipping it is sound.

Beyond it the values of scattered subsets are left to solvers that merge values again, faster and with an eye on the
clock.
"""

_FEW = 64
"""Up to so many values each is looked at."""

_WORD_LIMIT = 2**29
"""The most 64-bit words that all masks together may take: 4 GiB."""


@dataclass(frozen=True, slots=True, eq=False)
class Compilation:
    """A compiled workload and what is needed to read its answers.

    ``queries[i]`` is the position in the workload of compiled query ``i``; ``codes[a][v]`` is a code of attribute ``a``
    that stands for its merged value ``v``; one compiled unit of weight is ``unit`` units of cost.
    """

    workload: Workload
    compiled: CompiledWorkload
    queries: npt.NDArray[np.int64]
    codes: tuple[npt.NDArray[np.int64], ...]
    unit: int

    def row_codes(self, row: npt.NDArray[np.int32]) -> list[int]:
        """The codes of a row of merged values."""
        return [int(codes[value]) for codes, value in zip(self.codes, row.tolist(), strict=True)]


def compilable(workload: Workload) -> bool:
    """Whether the predicates are held in memory and all of them fit there as bit masks."""
    if not isinstance(workload.table, InternedPredicates):
        return False
    sizes = [attribute.size for attribute in workload.domain.attributes.values()]
    used: dict[int, list[Predicate]] = {}
    for number in np.flatnonzero(np.bincount(_satisfiable(workload)[2], minlength=1)).tolist():
        used.setdefault(workload.table.attributes[number], []).append(workload.table.predicates[number])

    def fit(segments: Callable[[int, list[Predicate]], int]) -> bool:
        count = sum(len(those) * word_count(segments(sizes[attribute], those)) for attribute, those in used.items())
        return count <= _WORD_LIMIT

    # Few edges cannot make many segments, so these are counted only where they might be too many.
    return fit(_most_segments) or fit(lambda size, predicates: len(_segments(size, predicates)))


def compile_workload(workload: Workload) -> Compilation:
    """Compile a workload whose costs are all of one kind."""
    sizes = [attribute.size for attribute in workload.domain.attributes.values()]
    queries, start, term = _satisfiable(workload)
    used = np.flatnonzero(np.bincount(term, minlength=1))
    attributes = np.asarray(workload.table.attributes, np.int32)[used]
    order = np.argsort(attributes, kind="stable")
    used, attributes = used[order], attributes[order]

    codes: list[npt.NDArray[np.int64]] = []
    words: list[npt.NDArray[np.uint64]] = []
    bounds = np.searchsorted(attributes, np.arange(len(sizes) + 1))
    word_total = 0
    for attribute, size in enumerate(sizes):
        numbers = used[bounds[attribute] : bounds[attribute + 1]].tolist()
        kept, masks = _merge_values(size, [workload.table.predicates[number] for number in numbers])
        word_total += masks.size
        _check_words(word_total)
        codes.append(kept)
        words.append(masks)

    mask_of = np.zeros(max(len(workload.table.predicates), 1), np.int32)
    mask_of[used] = np.arange(len(used), dtype=np.int32)
    lengths = np.repeat([block.shape[1] for block in words], [block.shape[0] for block in words])
    weights, unit = whole_weights(workload.additive_units()[queries])
    compiled = CompiledWorkload(
        sizes=np.array([len(kept) for kept in codes], np.int32),
        weights=weights,
        start=start,
        term=mask_of[term],
        mask_attribute=attributes,
        mask_offset=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        mask_words=np.concatenate([block.ravel() for block in words]) if words else np.zeros(0, np.uint64),
    )
    return Compilation(workload, compiled, queries, tuple(codes), unit)


def _satisfiable(workload: Workload) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The queries that are no contradictions, as positions and columns."""
    empty = workload.contradictory()
    if not empty.any():
        return np.arange(len(workload)), workload.start, workload.term
    queries = np.flatnonzero(~empty)
    kept = workload[queries]
    return queries, kept.start, kept.term


def _merge_values(size: int, predicates: list[Predicate]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """A code for each class of values that the predicates tell apart, ascending, and the masks over the classes."""
    if not predicates:
        return np.zeros(1, np.int64), np.zeros((0, 1), np.uint64)
    count, segments = len(predicates), _segments(size, predicates)
    _check_words(count * word_count(len(segments)))
    if all(predicate.edges is not None for predicate in predicates):
        if count * len(segments) > _MERGE_LIMIT:
            return segments, np.vstack([pack_bits(p.flags_at(segments)) for p in predicates])
        flags = np.empty((count, len(segments)), np.bool_)
        for position, predicate in enumerate(predicates):
            flags[position] = predicate.flags_at(segments)
    else:
        masks = _packed(size, predicates)
        if count * size > _MERGE_LIMIT:
            return segments, masks
        flags = unpack_bits(masks, size)
    first = _first_of_equal_columns(flags)
    return segments[first], pack_bits(np.ascontiguousarray(flags[:, first]))


def _segments(size: int, predicates: list[Predicate]) -> npt.NDArray[np.int64]:
    """Where one of the predicates may begin or end: between two neighboring edges nothing changes."""
    if size <= _FEW or any(predicate.edges is None for predicate in predicates):
        # A predicate held as bits may change anywhere; few values are looked at one by one in less time than edges.
        return np.arange(size, dtype=np.int64)
    cuts = np.unique(np.concatenate([[0], *(np.array(p.edges or (0,), np.int64) for p in predicates)]))
    return cuts[cuts < size]


def _most_segments(size: int, predicates: list[Predicate]) -> int:
    """An upper bound of their number."""
    if any(predicate.edges is None for predicate in predicates):
        return size
    return min(size, 1 + sum(len(predicate.edges or ()) for predicate in predicates))


def _packed(size: int, predicates: list[Predicate]) -> npt.NDArray[np.uint64]:
    """The predicates as masks over all values."""
    width = word_count(size)
    rows = (
        predicate.bits.to_bytes(8 * width, "little")
        if predicate.bits is not None
        else np.packbits(predicate.flags(), bitorder="little").tobytes().ljust(8 * width, b"\0")
        for predicate in predicates
    )
    return np.frombuffer(b"".join(rows), np.uint64).reshape(len(predicates), width)


def _first_of_equal_columns(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The first of each class of equal columns, ascending.

    Ascending codes keep intervals intervals: if two merged values lie in one, so does all between them.
    """
    columns = np.zeros((flags.shape[1], (flags.shape[0] + 63) // 64 * 8), np.uint8)
    columns[:, : (flags.shape[0] + 7) // 8] = np.packbits(flags, axis=0).T
    words = columns.view(np.uint64)
    # Numbers sort many times faster than bytes.
    keys = words[:, 0] if words.shape[1] == 1 else columns.view(np.dtype((np.void, columns.shape[1]))).ravel()
    _, first = np.unique(keys, return_index=True)
    return np.sort(first)


def _check_words(count: int) -> None:
    if count > _WORD_LIMIT:
        raise SizeError(
            "the predicates take more than 4 GiB as bit masks over the values they tell apart; "
            "split the workload or use coarser predicates"
        )


def whole_weights(units: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    """Units of cost as the smallest weights in the same proportions, and how many units one of weight is."""
    unit = int(np.gcd.reduce(units)) if len(units) else 1
    weights = units // unit
    total = int(weights.max(initial=0)) * len(weights)
    if total >= 2**62 and sum(weights.tolist()) >= 2**62:
        raise CostError("the costs add up to more than 64 bits hold; state them with fewer digits or in larger units")
    return weights, unit
