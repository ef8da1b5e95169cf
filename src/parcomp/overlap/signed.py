"""The maximum over all rows of a sum of *signed* weights, as a maximum overlap of positive ones.

A query is a conjunction p₁ ∧ … ∧ p_k, and what it leaves out are k disjoint conjunctions,

    ¬(p₁ ∧ … ∧ p_k) = ¬p₁ ∨ (p₁ ∧ ¬p₂) ∨ … ∨ (p₁ ∧ … ∧ p_{k−1} ∧ ¬p_k).

A row satisfies the query or exactly one of these.  So to satisfy a query of weight −w is to gain −w, and then w by one
of the k if it does not:  −w·[q] = −w + w·Σ_j [j-th conjunction].  With these k in place of each query of negative
weight, the maximum of the signed sum is the maximum overlap of the positive weights less Σ w, exactly, and whatever the
overlap engine proves of the one holds of the other.  A query without a constraint is satisfied by every row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import word_count
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.engine import Engine
from parcomp.overlap.masks import MaskBlocks, keep_queries
from parcomp.slices import run

__all__ = ["SignedOverlap", "signed_overlap", "whole_gains_up"]

_SUM = 2.0**44
"""About what whole weights add up to: fine enough for any float's use, and far from the end of 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class SignedOverlap:
    """Bounds of a largest signed sum: ``row``, the number of a value for each attribute, has ``lower``."""

    lower: int
    upper: int
    row: npt.NDArray[np.int32]


def signed_overlap(
    compiled: CompiledWorkload, weights: npt.NDArray[np.int64], deadline: float, enough: int | None = None
) -> SignedOverlap:
    """Bracket the largest sum of signed weights of the queries that a row satisfies, until ``deadline``.

    The weights of ``compiled`` play no part.  With ``enough`` it need only be found out whether the sum can exceed it.
    """
    free = np.diff(compiled.start) == 0
    every_row = int(weights[free].sum())
    paid = np.flatnonzero((weights != 0) & ~free)
    if not len(paid):
        return SignedOverlap(every_row, every_row, np.zeros(compiled.attribute_count, np.int32))
    positive, below = _positive(keep_queries(_weighted(compiled, np.abs(weights)), paid), weights[paid] < 0)
    shift = every_row - below
    engine = Engine(positive)

    def decided() -> bool:
        bracket = engine.bracket()
        return enough is not None and not bracket.lower + shift <= enough < bracket.upper + shift

    if not decided():
        run(engine, deadline, decided)
    bracket = engine.bracket()
    assert bracket.row is not None
    return SignedOverlap(bracket.lower + shift, bracket.upper + shift, bracket.row)


def whole_gains_up(gains: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], float]:
    """Signed numbers as whole multiples of a unit, each rounded up, and the unit, a power of two."""
    total = float(np.abs(gains).sum())
    # A power of two divides and multiplies without rounding.
    unit = math.ldexp(1.0, math.frexp(total / _SUM)[1]) if total else 1.0
    return np.ceil(gains / unit).astype(np.int64), unit


def _weighted(compiled: CompiledWorkload, weights: npt.NDArray[np.int64]) -> CompiledWorkload:
    return CompiledWorkload(
        compiled.sizes,
        weights,
        compiled.start,
        compiled.term,
        compiled.mask_attribute,
        compiled.mask_offset,
        compiled.mask_words,
    )


def _positive(compiled: CompiledWorkload, negative: npt.NDArray[np.bool_]) -> tuple[CompiledWorkload, int]:
    """The workload with what each negative query leaves out in its place, and the sum of the negative weights."""
    masks = _Complemented(compiled)
    start, term, weights = [0], [], []
    for query, is_negative in enumerate(negative.tolist()):
        own = compiled.term[compiled.start[query] : compiled.start[query + 1]]
        weight = int(compiled.weights[query])
        pieces = (
            [masks.own[own]]
            if not is_negative
            else [np.append(masks.own[own[:j]], masks.complement[own[j]]) for j in range(len(own))]
        )
        for piece in pieces:
            term.append(piece)
            start.append(start[-1] + len(piece))
            weights.append(weight)
    whole = CompiledWorkload(
        compiled.sizes,
        np.array(weights, np.int64),
        np.array(start, np.int64),
        np.concatenate(term).astype(np.int32),
        masks.attribute,
        masks.offset,
        masks.words,
    )
    return keep_queries(whole, np.arange(len(weights))), int(compiled.weights[negative].sum())


class _Complemented:
    """The masks of a workload and their complements, each once: the numbers of both for each mask there was."""

    def __init__(self, compiled: CompiledWorkload) -> None:
        blocks = MaskBlocks(compiled)
        count = len(compiled.mask_attribute)
        self.own, self.complement = np.zeros(count, np.int32), np.zeros(count, np.int32)
        attribute, words, lengths = [], [], []
        number = 0
        for a in range(compiled.attribute_count):
            masks = blocks.masks(a)
            if not len(masks):
                continue
            block = blocks.block(a, masks)
            beyond = np.zeros(block.shape[1], np.uint64)
            if rest := int(compiled.sizes[a]) & 63:
                beyond[word_count(int(compiled.sizes[a])) - 1] = ~np.uint64((1 << rest) - 1)
            both, place = np.unique(np.vstack([block, ~block & ~beyond]), axis=0, return_inverse=True)
            place = place.reshape(-1) + number
            self.own[masks], self.complement[masks] = place[: len(masks)], place[len(masks) :]
            number += len(both)
            attribute.append(np.full(len(both), a, np.int32))
            lengths += [both.shape[1]] * len(both)
            words.append(both.ravel())
        self.attribute = np.concatenate(attribute)
        self.offset = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self.words = np.concatenate(words)
