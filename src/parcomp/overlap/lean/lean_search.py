"""The lean search: branch and bound over few values, in levels that take microseconds.

A problem is a set of live values for each attribute and the queries that these leave open, bounded by splitting: each
query's weight is shared out over the attributes that it constrains, and no row scores more than the best value of each
attribute together.  For multipliers λ[q, a] ≥ 0 with Σ_a λ[q, a] = w_q, a row x that satisfies the queries S has

    Σ_{q ∈ S} w_q = Σ_{q ∈ S} Σ_a λ[q, a] ≤ Σ_a Σ_{q accepts x_a} λ[q, a] ≤ Σ_a max_v Σ_{q accepts v} λ[q, a],

because each q in S accepts x_a wherever it constrains a.  The multipliers are integers in units of ``2**-shift``, so
that nothing is rounded, and the scaled total stays below 2**62.

Queries that differ on one attribute alone are first united where that weighs every row the same
(:mod:`parcomp.overlap.lean.siblings`): fewer queries, and a lower bound.

Where values are few, a good bound found in a thousand microseconds is worth less than a fair one found in ten.  So a
problem takes over the multipliers of the one it came from, and one or two sweeps (:func:`~._level_kernels.sweep`)
share out the weight of each query anew, best for it alone: block coordinate descent on the dual of the linear
relaxation, as in max-product linear programming (Globerson and Jaakkola, "Fixing max-product", 2007) and in the soft
arc consistency of weighted constraint satisfaction (Cooper et al., "Soft arc consistency revisited", 2010).  The same
sweep tells which queries no row that matters satisfies, and which all of them do.  What is left is branched on by the
values of one attribute.

Workers share the tree (:mod:`parcomp.overlap.tree`): one with nothing left takes over every other value that another
has still to branch on at its first such level.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.lean import layout
from parcomp.overlap.lean._level_kernels import fill_lanes
from parcomp.overlap.lean._search_kernels import begin, hand_over, improve_root, search_slice, size_to_share
from parcomp.overlap.lean.siblings import unite_siblings
from parcomp.overlap.search import Row, Strategy
from parcomp.overlap.tree import TreeSearch, Worker
from parcomp.slices import Slices

__all__ = ["LeanSearch", "lay_root", "load_lanes", "make_stack", "suits"]

# There are as many workers as these bytes have room for, within these limits.
_FEWEST_WORKERS, _MOST_WORKERS, _MOST_BYTES = 2, 8, 1 << 28

# The root's weights are shared out so many times, in steps.
_ROOT_SWEEPS, _ROOT_STEP = 60, 4

# A step that gains less than the bound halved so many times is the last.
_LITTLE = 12

# What suits has at most so many values of slots.
_MOST_LANES = 1 << 18


def suits(compiled: CompiledWorkload) -> bool:
    """Whether the values are so few that a level is bounded in little time and space."""
    attribute = compiled.mask_attribute
    lanes = int(compiled.sizes[attribute[compiled.term]].sum(dtype=np.int64))
    return (
        max(lanes, int(compiled.sizes[attribute].sum(dtype=np.int64))) <= _MOST_LANES
        and _stack_bytes(compiled) * _FEWEST_WORKERS <= _MOST_BYTES
    )


def _stack_bytes(compiled: CompiledWorkload) -> int:
    level = 12 * len(compiled.term) + 4 * compiled.query_count + 9 * int(compiled.sizes.sum(dtype=np.int64))
    return (compiled.attribute_count + 2) * max(1, level)


class _LeanWorker(Worker):
    """A stack of levels, made when there is something to do."""

    def __init__(self, compiled: CompiledWorkload, lanes: layout.Lanes, shift: int) -> None:
        super().__init__(shift)
        self._compiled, self.lanes = compiled, lanes

    @cached_property
    def stack(self) -> layout.Stack:
        """The stack."""
        return make_stack(self._compiled, self.lanes)

    @property
    def best_row(self) -> Row:
        return self.stack.best_row

    def begin(self) -> None:
        begin(self.lanes, self.stack, self.state)

    def run(self, end: int) -> None:
        search_slice(self.lanes, self.stack, self.state, end)

    def to_share(self) -> int:
        return int(size_to_share(self.lanes, self.stack, self.state))

    def hand_over(self, other: Worker) -> None:
        assert isinstance(other, _LeanWorker)
        hand_over(self.lanes, self.stack, self.state, other.stack, other.state)


class LeanSearch(TreeSearch):
    """Lean search by slices."""

    strategy = Strategy.LEAN_SEARCH
    first_budget = 1 << 26

    def _set_up(self) -> Slices[None]:
        """Load the workload, and bound it by the multipliers that some sweeps find."""
        compiled = yield from unite_siblings.slices(self.compiled)
        shift = max(0, min(24, 62 - max(1, compiled.total).bit_length()))
        lanes = load_lanes(compiled)
        count = max(_FEWEST_WORKERS, min(_MOST_WORKERS, _MOST_BYTES // _stack_bytes(compiled)))
        workers = [_LeanWorker(compiled, lanes, shift) for _ in range(count)]
        self._workers = workers
        yield len(lanes.lanes) + 8 * len(compiled.term)
        root = workers[0].stack
        lay_root(compiled, root, lanes, shift)
        bound = compiled.total << shift
        for _ in range(_ROOT_SWEEPS // _ROOT_STEP):
            yield int(improve_root(lanes, root, _ROOT_STEP))
            before, bound = bound, int(root.head[0, layout.BOUND])
            self.upper = min(self.upper, bound >> shift)
            if before - bound <= before >> _LITTLE:
                break


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each of some pieces begins, and the end of the last."""
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def load_lanes(compiled: CompiledWorkload) -> layout.Lanes:
    """The workload as a lean search reads it."""
    sizes = compiled.sizes.astype(np.int64)
    words = (sizes + 63) >> 6
    value_at, live_at = _offsets(sizes), _offsets(words)
    attribute = compiled.mask_attribute
    masks = np.zeros((len(attribute), layout.MASK), np.int32)
    lane_at = _offsets(sizes[attribute])
    masks[:, layout.LANE_AT] = lane_at[:-1]
    masks[:, layout.VALUE_AT] = value_at[attribute]
    masks[:, layout.SIZE] = sizes[attribute]
    masks[:, layout.ATTRIBUTE] = attribute
    masks[:, layout.WORD_AT] = compiled.mask_offset[:-1]
    masks[:, layout.LIVE_AT] = live_at[attribute]
    masks[:, layout.WORDS] = words[attribute]
    lanes = np.zeros(int(lane_at[-1]), np.int64)
    fill_lanes(masks, compiled.mask_words, lanes)
    return layout.Lanes(masks, lanes, compiled.mask_words, value_at, live_at)


def make_stack(compiled: CompiledWorkload, lanes: layout.Lanes) -> layout.Stack:
    """Room for the root, a copy of it, and a level for each attribute that is branched on: none is twice."""
    attributes, queries, slots = compiled.attribute_count, compiled.query_count, len(compiled.term)
    levels, values, words = attributes + 2, int(lanes.value_at[-1]), int(lanes.live_at[-1])
    return layout.Stack(
        head=np.zeros((levels, layout.HEAD), np.int64),
        live=np.zeros((levels, words), np.uint64),
        todo=np.zeros((levels, words), np.uint64),
        score=np.zeros((levels, values), np.int64),
        first=np.zeros((levels, queries + 1), np.int32),
        mask=np.zeros((levels, slots), np.int32),
        share=np.zeros((levels, slots), np.int64),
        flag=np.zeros(queries, np.uint8),
        room=np.zeros(attributes, np.int64),
        lost=np.zeros(values),
        all_lost=np.zeros(attributes),
        best_row=np.zeros(attributes, np.int32),
    )


def lay_root(compiled: CompiledWorkload, stack: layout.Stack, lanes: layout.Lanes, shift: int) -> None:
    """Make level 0 the whole workload: all values are live, and each weight is shared out evenly."""
    for a, size in enumerate(compiled.sizes.tolist()):
        stack.live[0, lanes.live_at[a] : lanes.live_at[a + 1]] = pack_bits(np.ones(size, np.bool_))
    count = np.diff(compiled.start)
    constrained = count > 0
    slots, scaled = count[constrained], compiled.weights[constrained] << shift
    first = _offsets(slots)
    share = np.repeat(scaled // slots, slots)
    share[first[:-1]] += scaled % slots
    stack.first[0, : len(first)] = first
    stack.mask[0] = compiled.term
    stack.share[0] = share
    stack.head[0, layout.COMMITTED] = int(compiled.weights[~constrained].sum()) << shift
    stack.head[0, layout.QUERIES] = len(slots)
