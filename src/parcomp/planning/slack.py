"""Raise costs where a proof leaves slack, query by query.

Where the heaviest row of a whole plan is only bracketed, costs were scaled down by its upper bound.  Within the
coverage of a single query most other queries are settled or gone, so more can be proven there.  By the admission
lemma, with γ(T|q) what the heaviest row that q covers costs,

    γ(T with q raised by s) = max(γ(T), s + γ(T|q)),

so a query may be raised by the budget less any proven upper bound of γ(T|q), whatever is known about other rows.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap import MaskBlocks, keep_queries, keep_values, solve_within
from parcomp.planning.problem import AllocationProblem, Units

__all__ = ["raise_costs", "within_coverage"]

_WORK = 1 << 24
"""Word operations for the bound within one query's coverage: some 20 ms."""

_WORTH = 1e-3
"""The part of its cost by which raising a query is worth the while."""


def raise_costs(problem: AllocationProblem, units: Units, deadline: float) -> Units:
    """Costs of which none is lower, and which fit the budget if the given ones do.

    The cheapest groups come first.  A cost is at most doubled in a pass, so that slack that several queries could use
    is shared.
    """
    units = units.copy()
    weights = problem.spread_units(units)
    size = np.bincount(problem.group, problem.count, problem.group_count).astype(np.int64)
    rising = np.ones(problem.group_count, np.bool_)
    counts = problem.count.astype(np.int64)
    # The engine adds costs up in 64 bits.
    total = sum(weights.tolist())
    while rising.any():
        for group in np.flatnonzero(rising)[np.argsort((weights / size)[rising], kind="stable")].tolist():
            if time.monotonic() >= deadline:
                return units
            region = within_coverage(replace(problem.reduced, weights=weights), group)
            slack = problem.budget - solve_within(region, _WORK).upper
            classes = problem.group == group
            step = np.minimum(units[classes], slack // int(size[group]))
            added = sum(count * one for count, one in zip(counts[classes].tolist(), step.tolist(), strict=True))
            rising[group] = slack > 0 and bool((step > _WORTH * units[classes]).all()) and total + added < 2**62
            if rising[group]:
                units[classes] += step
                weights[group] += added
                total += added
    return units


def within_coverage(compiled: CompiledWorkload, query: int) -> CompiledWorkload:
    """The queries that overlap a query, itself among them, on the values that it accepts."""
    blocks = MaskBlocks(compiled)
    meets = np.ones(len(compiled.mask_attribute), np.bool_)
    kept: list[npt.NDArray[np.int32] | None] = [None] * compiled.attribute_count
    for mask in compiled.term[compiled.start[query] : compiled.start[query + 1]].tolist():
        attribute = int(compiled.mask_attribute[mask])
        masks = blocks.masks(attribute)
        words = compiled.mask_words[compiled.mask_offset[mask] : compiled.mask_offset[mask + 1]]
        meets[masks] = np.any(blocks.block(attribute, masks) & words, axis=1)
        kept[attribute] = np.flatnonzero(compiled.mask_bits(mask)).astype(np.int32)
    misses = np.concatenate(([0], np.cumsum(~meets[compiled.term])))
    overlapping = np.flatnonzero(misses[compiled.start[1:]] == misses[compiled.start[:-1]])
    return keep_values(keep_queries(compiled, overlapping), kept)
