"""Small workloads in plain Python: a handful of queries are solved before compiled code could be loaded.

Most questions that a person asks by hand are about few queries.  And where the time is up before the engine has come to
a coloring, since loading its kernels took all of it, a coloring of a small query graph is made here.  Sets of values
and of queries are Python's integers; nothing is shared with the kernels, which are tested against this, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.bracket import Bracket, bounded

__all__ = ["coloring_bound", "heaviest_overlap"]

_QUERIES, _WORDS, _NODES = 24, 1 << 12, 256
"""Up to so many queries on so many words of masks are tried, and given up after so many overlaps."""

_COLORING_WORK = 1 << 24
"""Queries are colored if telling their pairs apart takes no more work than this."""

Box = dict[int, int]
"""For each attribute that something constrains the values still possible, as bits."""


def heaviest_overlap(
    compiled: CompiledWorkload, within: Mapping[int, npt.NDArray[np.uint64]] | None = None
) -> Bracket | None:
    """The maximum overlap of a few queries, by looking through overlapping sets; None where that takes too long.

    With ``within`` only the rows that have one of these values, as words of bits by attribute, are looked at.
    A set is left as soon as it, with all queries that could still join it, weighs no more than the best.  Which of them
    could is known exactly: those that share a value with the set on each attribute.
    """
    if compiled.query_count > _QUERIES or len(compiled.mask_words) > _WORDS:
        return None
    weights, masks = compiled.weights.tolist(), _masks(compiled)
    order = sorted(range(len(weights)), key=lambda query: -weights[query])
    best, best_box, nodes = -1, Box(), 0
    box = {attribute: int.from_bytes(words.tobytes(), "little") for attribute, words in (within or {}).items()}
    pending = [(0, box, [query for query in order if _meets(box, masks[query])])]
    while pending:
        weight, box, candidates = pending.pop()
        nodes += 1
        if nodes > _NODES:
            return None
        if weight > best:
            best, best_box = weight, box
        rest = sum(weights[query] for query in candidates)
        children = []
        for place, query in enumerate(candidates):
            if weight + rest <= best:
                break
            # Sets that hold this query; those that do not are left to the queries after it.
            rest -= weights[query]
            smaller = _within(box, masks[query])
            joining = [other for other in candidates[place + 1 :] if _meets(smaller, masks[other])]
            children.append((weight + weights[query], smaller, joining))
        pending += reversed(children)
    row = np.zeros(compiled.attribute_count, np.int32)
    for attribute, values in best_box.items():
        row[attribute] = (values & -values).bit_length() - 1
    return Bracket(best, best, row, ("every overlap that could be heavier was looked at",))


def coloring_bound(compiled: CompiledWorkload, bracket: Bracket) -> Bracket:
    """The bracket with its upper end lowered to the weight of a coloring, if the workload is small and that is less.

    Queries of one color are pairwise disjoint, so a row satisfies at most one of them (paper, Eq. "approx").  The color
    of a query is chosen as by :func:`parcomp.graph.coloring.dsatur`.
    """
    count = compiled.query_count
    if count * (32 * count * compiled.attribute_count + len(compiled.mask_words)) > _COLORING_WORK:
        return bracket
    weights, masks = compiled.weights.tolist(), _masks(compiled)
    adjacent: list[list[int]] = [[] for _ in range(count)]
    for one in range(count):
        for other in range(one):
            if _meets(masks[one], masks[other]):
                adjacent[one].append(other)
                adjacent[other].append(one)
    heaviest: list[int] = []
    seen: list[set[int]] = [set() for _ in range(count)]
    uncolored = set(range(count))
    while uncolored:
        query = max(uncolored, key=lambda query: (len(seen[query]), len(adjacent[query]), -query))
        uncolored.remove(query)
        color = next(color for color in range(count) if color not in seen[query])
        if color == len(heaviest):
            heaviest.append(0)
        heaviest[color] = max(heaviest[color], weights[query])
        for other in adjacent[query]:
            seen[other].add(color)
    bound = sum(heaviest)
    if bound >= bracket.upper:
        return bracket
    return replace(
        bracket,
        upper=bound,
        explanation=(
            # What proved the higher upper end does not prove this one.
            *(line for line in bracket.explanation if not line.startswith("no row weighs more")),
            bounded("queries were colored so that no two of a color meet", exact=bound == bracket.lower),
        ),
    )


def _masks(compiled: CompiledWorkload) -> list[Box]:
    """For each query its masks by attribute."""
    numbers = [
        int.from_bytes(compiled.mask_words[begin:end].tobytes(), "little")
        for begin, end in zip(compiled.mask_offset[:-1].tolist(), compiled.mask_offset[1:].tolist(), strict=True)
    ]
    attributes, term, start = compiled.mask_attribute.tolist(), compiled.term.tolist(), compiled.start.tolist()
    return [
        {attributes[mask]: numbers[mask] for mask in term[start[query] : start[query + 1]]}
        for query in range(compiled.query_count)
    ]


def _within(box: Box, masks: Box) -> Box:
    return {**box, **{attribute: box.get(attribute, mask) & mask for attribute, mask in masks.items()}}


def _meets(box: Box, masks: Box) -> bool:
    return all(attribute not in box or box[attribute] & mask for attribute, mask in masks.items())
