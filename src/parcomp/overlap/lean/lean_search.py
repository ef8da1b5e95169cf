"""The lean search: branch and bound over few values, in levels that take microseconds.

A problem is a set of live values for each attribute and the queries that these leave open, bounded by splitting: each
query's weight is shared out over the attributes that it constrains, and no row scores more than the best value of each
attribute together.  For multipliers λ[q, a] ≥ 0 with Σ_a λ[q, a] = w_q, a row x that satisfies the queries S has

    Σ_{q ∈ S} w_q = Σ_{q ∈ S} Σ_a λ[q, a] ≤ Σ_a Σ_{q accepts x_a} λ[q, a] ≤ Σ_a max_v Σ_{q accepts v} λ[q, a],

because each q in S accepts x_a wherever it constrains a.  The multipliers are integers in units of ``2**-shift``, so
that nothing is rounded, and the scaled total stays below 2**62.

Where values are few, a good bound found in a thousand microseconds is worth less than a fair one found in ten.  So a
problem takes over the multipliers of the one it came from, and one or two sweeps (:func:`~._level_kernels.sweep`)
share out the weight of each query anew, best for it alone: block coordinate descent on the dual of the linear
relaxation, as in max-product linear programming (Globerson and Jaakkola, "Fixing max-product", 2007) and in the soft
arc consistency of weighted constraint satisfaction (Cooper et al., "Soft arc consistency revisited", 2010).  The same
sweep tells which queries no row that matters satisfies, and which all of them do.  What is left is branched on by the
values of one attribute.

Upper bounds are found destructively, in the steps of :mod:`parcomp.overlap.targets`.  Two workers share one search:
whoever has nothing left takes over every other value that the other has still to branch on at its first such level.
That, and telling each other of heavier rows, happens after an amount of counted work, so that the course does not
depend on which of them is faster.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import pack_bits
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.lean import layout
from parcomp.overlap.lean._level_kernels import fill_lanes
from parcomp.overlap.lean._search_kernels import begin, hand_over, improve_root, search_slice
from parcomp.overlap.search import Row, Search, Strategy
from parcomp.overlap.targets import Targets
from parcomp.slices import Slices

__all__ = ["LeanSearch", "suits"]

_WORKERS = 2

# Workers meet after so much work each, some milliseconds; from the second amount on they run on threads.
_TURN, _THREADED = 1 << 22, 1 << 20

# The first attempt is at the exact value, and lasts so long.
_FIRST_BUDGET = 1 << 26

# The root's weights are shared out so many times, in steps.
_ROOT_SWEEPS, _ROOT_STEP = 60, 4

# What suits: so many values of slots, and so many bytes of stack.
_MOST_LANES, _MOST_BYTES = 1 << 18, 1 << 28


def suits(compiled: CompiledWorkload) -> bool:
    """Whether the values are so few that a level is bounded in little time and space."""
    attribute = compiled.mask_attribute
    lanes = int(compiled.sizes[attribute[compiled.term]].sum(dtype=np.int64))
    level = 12 * len(compiled.term) + 4 * compiled.query_count + 9 * int(compiled.sizes.sum(dtype=np.int64))
    return (
        max(lanes, int(compiled.sizes[attribute].sum(dtype=np.int64))) <= _MOST_LANES
        and (compiled.attribute_count + 2) * level * _WORKERS <= _MOST_BYTES
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Worker:
    """A stack of problems, and how far its search is."""

    stack: layout.Stack
    state: npt.NDArray[np.int64]

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do."""
        return int(self.state[layout.DEPTH]) == 0

    @property
    def done(self) -> int:
        """The work done so far."""
        return int(self.state[layout.WORK])


class LeanSearch(Search):
    """Lean search by slices; its first steps load the workload."""

    strategy = Strategy.LEAN_SEARCH

    def __init__(self, compiled: CompiledWorkload, lower: int = 0, row: Row | None = None) -> None:
        """Start from ``row`` if there is one; it must weigh at least ``lower``."""
        super().__init__(compiled, lower, row)
        self._shift = max(0, min(24, 62 - max(1, compiled.total).bit_length()))
        self._targets = Targets(_FIRST_BUDGET)
        self._target = self._began = 0
        self._workers: list[_Worker] = []

    @property
    def nodes(self) -> int:
        """How many problems have been bounded."""
        return sum(int(worker.state[layout.NODES]) for worker in self._workers)

    @property
    def _work(self) -> int:
        return sum(worker.done for worker in self._workers)

    @property
    def _over(self) -> bool:
        return all(worker.idle for worker in self._workers)

    def learn(self, lower: int, row: Row, upper: int) -> None:
        """Take over what another search has found.

        What was left out so far cannot beat the old target, hence not a larger one either, so a search under way goes
        on with its target raised.  One whose target the upper bound has passed is not worth finishing.
        """
        heavier = lower > self.lower
        super().learn(lower, row, upper)
        if heavier:
            self._tell_workers()
        if self.upper <= self._target:
            self._stop()

    def course(self) -> Slices[None]:
        """Bound the workload as a whole, then prove ever smaller targets."""
        yield from self._set_up()
        while self.lower < self.upper:
            if self._over:
                self._began, self._target = self._work, self._targets.begin(self.lower, self.upper)
                self._tell_workers()
                begin(self._lanes, self._workers[0].stack, self._workers[0].state)
            yield from self._turn()

    def _turn(self) -> Slices[None]:
        """Let all workers do an equal amount of work, then see what they have found and what is left.

        Where the turn is cut into slices makes no difference: workers learn of each other at its end alone.
        """
        ends = {worker: worker.done + _TURN for worker in self._workers}
        while busy := [one for one, end in ends.items() if not one.idle and one.done < end]:
            work = self._run({worker: min(ends[worker], worker.done + self.left) for worker in busy})
            for worker in busy:
                if worker.state[layout.BEST] > self.lower:
                    # Queries that the search stopped counting may be satisfied too, so the row may weigh more.
                    self.row = worker.stack.best_row.copy()
                    self.lower = self.compiled.weigh(self.row)
            yield work
        self._tell_workers()
        if self._over:
            # Unless it was ended since another search has proven as much.
            if self.upper > self._target:
                self.upper = self._target
                self._targets.completed(self._target, self._work - self._began)
        elif self.upper - self._target > 1 and self._work - self._began >= self._targets.budget:
            # With no target left between this one and the upper bound there would be nothing easier to turn to.
            self._targets.given_up(self.lower, self.upper, self._target)
            self._stop()
        else:
            self._hand_over()

    def _run(self, ends: dict[_Worker, int]) -> int:
        """Let workers go on until their work reaches its end, on threads if it takes long; the most that one did.

        The threads end here: a search may be abandoned at any pause.
        """
        before = [worker.done for worker in ends]
        tasks = [(self._lanes, worker.stack, worker.state, end) for worker, end in ends.items()]
        if len(tasks) < 2 or self.left < _THREADED:
            for task in tasks:
                search_slice(*task)
        else:
            with ThreadPoolExecutor(max_workers=len(tasks)) as pool:
                running = [pool.submit(search_slice, *task) for task in tasks]
            for one in running:
                one.result()
        return max(1, *(worker.done - begun for worker, begun in zip(ends, before, strict=True)))

    def _tell_workers(self) -> None:
        self._target = max(self._target, self.lower)
        for worker in self._workers:
            worker.state[layout.BEST] = self.lower
            worker.state[layout.TARGET] = self._target

    def _hand_over(self) -> None:
        """Let whoever is idle take over a part of what another has to do."""
        for worker in self._workers:
            for other in self._workers:
                if worker.idle and not other.idle:
                    hand_over(self._lanes, other.stack, other.state, worker.stack, worker.state)

    def _stop(self) -> None:
        for worker in self._workers:
            worker.state[layout.DEPTH] = 0

    def _set_up(self) -> Slices[None]:
        """Load the workload, and bound it by the multipliers that some sweeps find."""
        compiled = self.compiled
        self._lanes = _load_lanes(compiled)
        self._workers = [_make_worker(compiled, self._lanes, self._shift) for _ in range(_WORKERS)]
        yield len(self._lanes.lanes) + 8 * len(compiled.term)
        root = self._workers[0].stack
        _lay_root(compiled, root, self._lanes, self._shift)
        for _ in range(_ROOT_SWEEPS // _ROOT_STEP):
            yield int(improve_root(self._lanes, root, _ROOT_STEP))
            self.upper = min(self.upper, int(root.head[0, layout.BOUND]) >> self._shift)
        self._tell_workers()


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each of some pieces begins, and the end of the last."""
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def _load_lanes(compiled: CompiledWorkload) -> layout.Lanes:
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


def _make_worker(compiled: CompiledWorkload, lanes: layout.Lanes, shift: int) -> _Worker:
    """Room for the root, a copy of it, and a level for each attribute that is branched on: none is twice."""
    attributes, queries, slots = compiled.attribute_count, compiled.query_count, len(compiled.term)
    levels, values, words = attributes + 2, int(lanes.value_at[-1]), int(lanes.live_at[-1])
    stack = layout.Stack(
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
    state = np.zeros(layout.STATE, np.int64)
    state[layout.SHIFT] = shift
    return _Worker(stack, state)


def _lay_root(compiled: CompiledWorkload, stack: layout.Stack, lanes: layout.Lanes, shift: int) -> None:
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
