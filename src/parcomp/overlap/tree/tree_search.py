"""A destructive search by a tree of problems, divided among workers.

Upper bounds are found in the steps of :mod:`parcomp.overlap.targets`: an attempt that ends without a row heavier than
its target proves the target.  A worker holds a stack of problems, from the root of what it was given down to the one it
is at.  There is one incumbent and one target for all.  Whoever has nothing left takes over a part of the largest
problem that another has still to branch on, so that each problem is some worker's to solve, and the attempt ends when
none has any left.

What a worker does between two meetings depends on nothing but its own stack and state, and workers meet after counted
work.  So neither the number of processors nor how fast each of them is makes a difference to what is found: there are
more workers than processors, and each turn is cut into pieces that any idle processor takes up.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.search import Row, Search
from parcomp.overlap.targets import Targets
from parcomp.overlap.tree import layout
from parcomp.slices import Slices

__all__ = ["PROCESSORS", "TreeSearch", "Worker"]

PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""How many threads can run at once."""

_COUNTED_PROCESSORS = 2
"""The work of all workers is divided by this to be that of the search: what counts must not depend on the machine."""

_FIRST_TURN, _TURN = 1 << 19, 1 << 22
"""Workers first meet after so much work each, which doubles up to the second amount, some milliseconds."""

_PIECE, _THREADED = 1 << 20, 1 << 20
"""A thread does so much work on one stack before it looks for another, and is worth starting for the second amount."""


class Worker(ABC):
    """A stack of problems, and how far its search is: ``state`` has the entries of :mod:`.layout`."""

    def __init__(self, shift: int, entries: int = layout.STATE) -> None:
        """With a state of so many entries, those of :mod:`.layout` first."""
        self.state: npt.NDArray[np.int64] = np.zeros(entries, np.int64)
        self.state[layout.SHIFT] = shift

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do."""
        return int(self.state[layout.DEPTH]) == 0

    @property
    def done(self) -> int:
        """The work done so far."""
        return int(self.state[layout.WORK])

    @property
    @abstractmethod
    def best_row(self) -> Row:
        """A row that weighs at least ``state[BEST]``, if this worker has raised that."""

    @abstractmethod
    def begin(self) -> None:
        """Start an attempt at the whole workload."""

    @abstractmethod
    def run(self, end: int) -> None:
        """Go on until nothing is left to do or the work reaches ``end``, without the interpreter's lock."""

    @abstractmethod
    def to_share(self) -> int:
        """How large a problem is of which a part could be handed over; 0 if there is none."""

    @abstractmethod
    def hand_over(self, other: Worker) -> None:
        """Give a part of that problem to a worker with nothing to do: what is left to do is with one of the two."""


class TreeSearch(Search):
    """A search that workers share; its first steps load the workload and bound it as a whole."""

    first_budget: ClassVar[int]
    """The work after which the first attempt, at the exact value, is given up for easier ones."""

    def __init__(
        self, compiled: CompiledWorkload, lower: int = 0, row: Row | None = None, *, processors: int = PROCESSORS
    ) -> None:
        """Start from ``row`` if there is one; it must weigh at least ``lower``."""
        super().__init__(compiled, lower, row)
        self._processors = processors
        self._targets = Targets(self.first_budget)
        self._target = self._began = self._turn_work = self._step = 0
        self._workers: Sequence[Worker] = ()

    @abstractmethod
    def _set_up(self) -> Slices[None]:
        """Load the workload, make the workers, of which the first is to begin, and bound the workload as a whole."""

    @property
    def nodes(self) -> int:
        """How many problems have been bounded."""
        return sum(int(worker.state[layout.NODES]) for worker in self._workers)

    @property
    def work(self) -> int:
        """The work of all workers."""
        return sum(worker.done for worker in self._workers)

    @property
    def _over(self) -> bool:
        return all(worker.idle for worker in self._workers)

    def learn(self, lower: int, row: Row, upper: int) -> None:
        """Take over what another search has found.

        What was left out so far cannot beat the old target, hence not a larger one either, so a search under way goes
        on with its target raised.  One whose target the upper bound has passed is not worth finishing.
        """
        if lower > self.lower:
            # Whoever has found a row in the turn under way has gone on with its weight as target.
            self._collect_rows()
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
                self._began, self._target = self.work, self._targets.begin(self.lower, self.upper)
                self._turn_work = _FIRST_TURN
                self._tell_workers()
                self._workers[0].begin()
            yield from self._turn()

    def _turn(self) -> Slices[None]:
        """Let all workers do an equal amount of work, then see what they have found and what is left.

        Where the turn is cut into slices makes no difference: workers learn of each other at its end alone.
        """
        ends = {worker: worker.done + self._turn_work for worker in self._workers}
        self._turn_work = min(2 * self._turn_work, _TURN)
        while busy := [one for one, end in ends.items() if not one.idle and one.done < end]:
            # Each worker ends its part of a slice with a whole step, so few of them go on where steps are long.
            busy.sort(key=lambda worker: worker.done - ends[worker])
            work = _COUNTED_PROCESSORS * self.left
            del busy[max(_COUNTED_PROCESSORS, work // max(1, self._step)) :]
            each, before = -(-work // len(busy)), self.work
            parts = {worker: min(ends[worker], worker.done + each) for worker in busy}
            self._run(parts)
            self._step = max(self._step - (self._step >> 3), *(worker.done - end for worker, end in parts.items()))
            yield max(1, (self.work - before) // min(_COUNTED_PROCESSORS, len(busy)))
        self._collect_rows()
        self._tell_workers()
        if self._over:
            # Unless it was ended since another search has proven as much.
            if self.upper > self._target:
                self.upper = self._target
                self._targets.completed(self._target, self.work - self._began)
        elif self.upper - self._target > 1 and self.work - self._began >= self._targets.budget:
            # With no target left between this one and the upper bound there would be nothing easier to turn to.
            self._targets.given_up(self.lower, self.upper, self._target)
            self._stop()
        else:
            self._share()

    def _run(self, ends: dict[Worker, int]) -> None:
        """Let workers go on until their work reaches its end, on threads if it takes long.

        The threads end here: a search may be abandoned at any pause.
        """
        threads = min(len(ends), self._processors)
        if threads < 2 or sum(end - worker.done for worker, end in ends.items()) < _THREADED:
            for worker, end in ends.items():
                worker.run(end)
            return
        waiting = deque(ends.items())

        def work() -> None:
            while True:
                try:
                    worker, end = waiting.popleft()
                except IndexError:
                    return
                worker.run(min(end, worker.done + _PIECE))
                if not worker.idle and worker.done < end:
                    waiting.append((worker, end))

        with ThreadPoolExecutor(max_workers=threads - 1) as pool:
            running = [pool.submit(work) for _ in range(threads - 1)]
            work()
        for one in running:
            one.result()

    def _collect_rows(self) -> None:
        for worker in self._workers:
            if worker.state[layout.BEST] > self.lower:
                # Queries that the search stopped counting may be satisfied too, so the row may weigh more.
                self.row = worker.best_row.copy()
                self.lower = self.compiled.weigh(self.row)

    def _tell_workers(self) -> None:
        self._target = max(self._target, self.lower)
        for worker in self._workers:
            worker.state[layout.BEST] = self.lower
            worker.state[layout.TARGET] = self._target

    def _share(self) -> None:
        """Let whoever is idle take over a part of the largest problem that another has to do."""
        idle = [worker for worker in self._workers if worker.idle]
        sizes = {worker: worker.to_share() for worker in self._workers if not worker.idle} if idle else {}
        for worker in idle:
            other = max(sizes, key=sizes.__getitem__)
            if not sizes[other]:
                break
            other.hand_over(worker)
            sizes[other], sizes[worker] = other.to_share(), worker.to_share()

    def _stop(self) -> None:
        for worker in self._workers:
            worker.state[layout.DEPTH] = 0
