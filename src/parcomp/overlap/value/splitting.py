"""The splitting bound: share out each query's weight over its attributes.

For multipliers λ[q, a] ≥ 0 with Σ_a λ[q, a] = w_q (over the attributes that q constrains), a row x that satisfies the
queries S has

    Σ_{q ∈ S} w_q = Σ_{q ∈ S} Σ_a λ[q, a] ≤ Σ_a Σ_{q accepts x_a} λ[q, a] ≤ Σ_a max_v Σ_{q accepts v} λ[q, a],

because each q in S accepts x_a on every attribute it constrains and the other terms are not negative.  So *any* λ
gives an upper bound of the maximum overlap.  The best one is the value of the linear relaxation (choose a
distribution over each attribute's values, a query counts by its least accepted attribute), by linear programming
duality.

Multipliers are integers in units of ``2**-shift``.  The scaled sum on the right is an integer B with overlap·2**shift
≤ B; the overlap is itself an integer, hence overlap ≤ floor(B / 2**shift).  The sum of all multipliers is
total·2**shift < 2**62, so no sum of them overflows.  Queries that constrain nothing have no multiplier and add their
weight as a constant.

The multipliers are found by accelerated gradient steps on a smoothed bound with falling temperature (Nesterov, "Smooth
minimization of non-smooth functions", 2005), on the best few values of each attribute, rescored exactly in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.value import layout
from parcomp.overlap.value._level_kernels import fill_attribute, index_slots
from parcomp.overlap.value._splitting_kernels import improve, load_point, pick_pools, score_values
from parcomp.slices import SLICE, Slices, sliced

__all__ = [
    "Splitter",
    "Splitting",
    "choose_shift",
    "load_levels",
    "make_scratch",
    "split",
    "typical_weight",
]

_MAX_SHIFT = 24

# A pass is so many float rounds and an exact scoring; fewer rounds where they would take more than this much work.
# With many attributes other values become the best ones within a few rounds: on fifty, 200 rounds end 5 % above the
# linear relaxation by tens and 1 % above it by fives.
_ROUNDS_PER_PASS = 5
_PASS_WORK = 1 << 24

# So many bytes of accepted values are read between two pauses.
_BATCH = 1 << 23

# Temperatures in units of the typical weight: where a cold and a warm start begin, and where both end.
_HOT, _WARM, _COLD = 0.2, 0.04, 0.005


@dataclass(frozen=True, slots=True, eq=False)
class Splitting:
    """Multipliers and the bound they prove.

    ``multipliers[k]`` belongs to ``compiled.term[k]`` in units of ``2**-shift``; those of query q sum to ``weights[q]
    << shift``.  ``constant`` is the weight of the queries without terms.  ``bound`` is at least the maximum overlap.
    """

    multipliers: npt.NDArray[np.int64]
    shift: int
    constant: int
    bound: int


def choose_shift(total: int) -> int:
    """The scale of the multipliers: the largest shift up to 24 with ``total << shift`` below 2**62."""
    return max(0, min(_MAX_SHIFT, 62 - max(1, total).bit_length()))


def typical_weight(compiled: CompiledWorkload) -> float:
    """The weight of the query that a unit of weight belongs to, on average: the scale of temperatures."""
    weights = compiled.weights.astype(np.float64)
    return float((weights * weights).sum() / weights.sum()) if len(weights) else 1.0


@sliced
def load_levels(
    compiled: CompiledWorkload, shift: int, start: npt.NDArray[np.int64] | None = None
) -> Slices[layout.Levels]:
    """A stack of one level that holds the whole workload, with even multipliers or those of ``start``."""
    attributes = compiled.attribute_count
    term_count = np.diff(compiled.start)
    attribute_of_term = compiled.mask_attribute[compiled.term]
    query_of_term = np.repeat(np.arange(compiled.query_count), term_count)
    constrained = np.flatnonzero(term_count)
    local = np.full(compiled.query_count, -1, np.int32)
    local[constrained] = np.arange(len(constrained), dtype=np.int32)

    order = np.argsort(attribute_of_term, kind="stable")
    slots = np.bincount(attribute_of_term, minlength=attributes).astype(np.int64)
    count = np.where(slots > 0, compiled.sizes, 0).astype(np.int64)
    size_of_bits = count * ((slots + 7) >> 3)

    def offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.concatenate(([0], np.cumsum(lengths)))[:-1].astype(np.int64)

    value_at, slot_at, bits_at = offsets(count), offsets(slots), offsets(size_of_bits)
    bits = np.zeros(int(size_of_bits.sum()), np.uint8)
    yield 8 * len(order) + (len(bits) >> 3)
    for a in np.flatnonzero(slots):
        masks = compiled.term[order[slot_at[a] : slot_at[a] + slots[a]]]
        done = 0
        while done < len(masks):
            done, work = fill_attribute(
                compiled.mask_words, compiled.mask_offset, masks, count[a], bits[bits_at[a] :], done, SLICE
            )
            yield int(work)
    values = np.concatenate([np.arange(n, dtype=np.int32) for n in count] or [np.zeros(0, np.int32)])

    multipliers = _even(compiled, shift) if start is None else start
    head = np.zeros((1, layout.HEAD), np.int64)
    head[0, layout.COMMITTED] = compiled.weights[term_count == 0].sum()
    head[0, layout.QUERIES] = len(constrained)
    head[0, layout.BITS_END] = len(bits)
    head[0, layout.VALUE_END] = len(values)
    head[0, layout.SLOT_END] = len(order)
    head[0, layout.QUERY_END] = len(constrained) + 1
    head[0, layout.BRANCH] = -1
    head[0, layout.VECTOR] = layout.UNWRITTEN
    levels = layout.Levels(
        live=count[None].copy(),
        stride=count[None].copy(),
        bits_at=bits_at[None].copy(),
        value_at=value_at[None].copy(),
        slots=slots[None].copy(),
        slot_at=slot_at[None].copy(),
        row=np.zeros((1, attributes), np.int32),
        head=head,
        bits=bits,
        value=values,
        score=np.zeros(len(values), np.int64),
        slot_query=local[query_of_term[order]],
        slot_term=order.astype(np.int32),
        multiplier=multipliers[order],
        slot_of=np.zeros(len(order), np.int32),
        query=constrained.astype(np.int32),
        weight=compiled.weights[constrained],
        first=np.zeros(len(constrained) + 1, np.int64),
        sifted=slots[None].copy(),
        counted=np.full((1, compiled.query_count), layout.COUNTED),
        aside=np.zeros((1, attributes, layout.ASIDE), np.int64),
    )
    index_slots(levels, 0)
    return levels


def _even(compiled: CompiledWorkload, shift: int) -> npt.NDArray[np.int64]:
    """Multipliers that share out each query's weight evenly, the remainder with its first term."""
    term_count = np.diff(compiled.start)
    scaled = compiled.weights << shift
    share = scaled // np.maximum(term_count, 1)
    multipliers = np.repeat(share, term_count)
    constrained = term_count > 0
    multipliers[compiled.start[:-1][constrained]] += (scaled - share * term_count)[constrained]
    return multipliers


def make_scratch(levels: layout.Levels) -> layout.Scratch:
    """Work space for any level of the stack."""
    attributes = levels.live.shape[1]
    # Slots of an attribute that is brought back have a place of their own.
    slots, queries, widest = 2 * len(levels.slot_of), len(levels.query), int(levels.live.max(initial=1))
    return layout.Scratch(
        best=np.zeros(attributes, np.int64),
        argmax=np.zeros(attributes, np.int64),
        pool=np.zeros((attributes, layout.POOL), np.int64),
        pooled=np.zeros(attributes, np.int64),
        pool_score=np.zeros((attributes, layout.POOL), np.int64),
        floor=np.zeros(attributes, np.int64),
        pool_accepts=np.zeros((slots, layout.POOL), np.uint8),
        point=np.zeros(slots, np.float32),
        previous=np.zeros(slots, np.float32),
        step=np.zeros(slots, np.float32),
        best_point=np.zeros(slots, np.float32),
        table=np.zeros(512, np.int64),
        kept=np.zeros(max(slots, widest), np.int64),
        query_flag=np.zeros(queries + 1, np.uint8),
        slot_flag=np.zeros(slots + 1, np.uint8),
    )


class Splitter:
    """Improves the multipliers of the first level of a stack, a pass of float rounds at a time.

    ``scaled`` is the lowest exact scaled bound so far, without the weight of unconstrained queries; at the end of its
    course the level holds its multipliers, and their scores.
    """

    def __init__(
        self, levels: layout.Levels, scratch: layout.Scratch, shift: int, unit: float, rounds: int, *, warm: bool
    ) -> None:
        self.levels = levels
        self._scratch = scratch
        self._shift = shift
        each_round = len(levels.slot_of) * (4 + layout.POOL // 4)
        self._rounds = max(1, min(_ROUNDS_PER_PASS, _PASS_WORK // max(1, each_round)))
        self._passes = -(-rounds // self._rounds)
        self._hot = (_WARM if warm else _HOT) * unit
        self._cool = (_COLD * unit / self._hot) ** (1.0 / max(1, self._passes))
        # Each query counts at most once, so their whole weight is a bound.
        self.scaled = int(levels.weight[: levels.head[0, layout.QUERIES]].sum()) << shift

    def course(self) -> Slices[None]:
        """All passes; each pause is at most one pass after the last."""
        levels, scratch = self.levels, self._scratch
        self.scaled = yield from self._score()
        best = levels.multiplier.copy()
        load_point(levels, 0, scratch, self._shift)
        momentum = 1.0
        for _ in range(self._passes):
            for begin, end in self.batches():
                pick_pools(levels, 0, scratch, begin, end)
                yield int(levels.live[0, begin:end].sum())
            colder = self._hot * self._cool
            momentum, work = improve(levels, 0, scratch, self._shift, self._rounds, self._hot, colder, momentum)
            self._hot = colder
            yield int(work)
            scaled = yield from self._score()
            if scaled < self.scaled:
                self.scaled = scaled
                best[:] = levels.multiplier
        levels.multiplier[:] = best
        yield from self._score()

    def _score(self) -> Slices[int]:
        """The exact scaled bound of the present multipliers."""
        total = 0
        for begin, end in self.batches():
            scaled, work = score_values(self.levels, 0, self._scratch, begin, end)
            total += int(scaled)
            yield int(work)
        return total

    def batches(self) -> Iterator[tuple[int, int]]:
        """Attributes that are taken in one step: all of them, or as many as have a limited number of bits."""
        size = self.levels.live[0] * (1 + (self.levels.slots[0] >> 3))
        begin, sum_of_sizes = 0, 0
        for a in range(len(size)):
            if sum_of_sizes > 0 and sum_of_sizes + int(size[a]) > _BATCH:
                yield begin, a
                begin, sum_of_sizes = a, 0
            sum_of_sizes += int(size[a])
        if begin < len(size):
            yield begin, len(size)


@sliced
def split(compiled: CompiledWorkload, rounds: int = 200, start: Splitting | None = None) -> Slices[Splitting]:
    """The splitting bound after ``rounds`` rounds of optimization, from even multipliers or from ``start``.

    The bound is never above that of ``start``; a warm start begins at a low temperature, to stay near it.
    """
    shift = choose_shift(compiled.total)
    warm = start is not None and start.shift == shift
    begin = start.multipliers if start is not None and warm else None
    levels = yield from load_levels.slices(compiled, shift, begin)
    splitter = Splitter(levels, make_scratch(levels), shift, typical_weight(compiled), rounds, warm=warm)
    yield from splitter.course()
    multipliers = np.zeros(len(compiled.term), np.int64)
    multipliers[levels.slot_term] = levels.multiplier
    constant = int(levels.head[0, layout.COMMITTED])
    return Splitting(multipliers, shift, constant, constant + (splitter.scaled >> shift))
