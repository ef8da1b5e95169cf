"""The overlap engine: reduce, then close the bracket of each part that is left.

The reductions leave a tree of parts.  A loop picks the part that holds the whole bracket open, lets its searches
advance by a slice of work, and stops when the bracket is closed, the deadline has come or the user interrupts.
Reducing is done in slices too: before it is through, the bracket reaches from the weight of a row to the total.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.part import ALL as ALL_STRATEGIES
from parcomp.overlap.part import PartSearch
from parcomp.overlap.reduce.pipeline import ALL as ALL_RULES
from parcomp.overlap.reduce.pipeline import Leaf, Max, Node, ReducedProblem, Rule, reduce_slices
from parcomp.overlap.reduce.values import WORK_LIMIT
from parcomp.overlap.result import Bracket
from parcomp.overlap.search import Strategy

__all__ = ["Engine", "run", "solve", "solve_within"]

_TELL_EVERY = 0.1
"""Seconds between two reports of progress."""

_FIRST_SLICE = 1 << 18
_LAST_SLICE = 1 << 24
"""Work of a slice, in word operations: it doubles from the first to the last, which takes some 60 ms."""

_LEAST_SLICE = 1 << 16
"""Slices get shorter as the deadline comes near, but no shorter than this."""

_GRACE = 0.05
"""Seconds for a bracket where compiling has left none."""

_REDUCTION_RATE = 1 << 23
"""Work on equal and on dominated values for each second there is, up to the usual limit."""


class Engine:
    """A compiled workload being solved: its reduction, and the search of each part that is left."""

    def __init__(
        self,
        compiled: CompiledWorkload,
        rules: Iterable[Rule] = ALL_RULES,
        strategies: Iterable[Strategy] = ALL_STRATEGIES,
        reduction_work: int = WORK_LIMIT,
    ) -> None:
        self._compiled = compiled
        self._strategies = frozenset(strategies)
        self._problem: ReducedProblem | None = None
        self._parts: list[PartSearch] = []
        self._reducing = reduce_slices(compiled, rules, reduction_work)
        self._slice = _FIRST_SLICE

    def advance(self, most: int = _LAST_SLICE) -> int:
        """Do a slice of work, at most ``most``, where it is needed; return how much, 0 if nothing is left."""
        part = None
        if self._problem is not None:
            part = _open_part(self._problem.root, self._parts)
            if part is None:
                return 0
        work = min(self._slice, most)
        self._slice = min(2 * self._slice, _LAST_SLICE)
        if part is None:
            self._reduce(work)
        else:
            part.advance(work)
        return work

    def reduce(self) -> None:
        """Do what is left of the reductions in one go."""
        while self._problem is None:
            self._reduce(_LAST_SLICE)

    def _reduce(self, work: int) -> None:
        try:
            while work > 0:
                work -= next(self._reducing)
        except StopIteration as end:
            problem: ReducedProblem = end.value
            self._problem = problem
            self._parts = [PartSearch(leaf.compiled, self._strategies) for leaf in problem.leaves]
            self._slice = _FIRST_SLICE

    def bracket(self) -> Bracket:
        """The bracket so far."""
        compiled, problem = self._compiled, self._problem
        if problem is None:
            row, upper = np.zeros(compiled.attribute_count, np.int32), compiled.total
        else:
            row = problem.lift([part.row for part in self._parts])
            upper = problem.combine([part.upper for part in self._parts])
        # A lifted row may satisfy more than its part promised, so it is weighed afresh.
        lower = compiled.weigh(row)
        return Bracket(lower, upper, row, self._explain())

    def _explain(self) -> tuple[str, ...]:
        """Which reductions bit, and what the upper end of each part comes from."""
        if self._problem is None:
            return ("the time was up before the workload was reduced: the upper end is the total",)
        closers = Counter(part.closed_by for part in self._parts if part.closed_by is not None)
        lines = [str(step) for step in self._problem.log]
        for closer, count in closers.most_common():
            lines.append(f"upper end: {closer}" + (f" ({count:,} parts)" if count > 1 else ""))
        return tuple(lines)


def solve(compiled: CompiledWorkload, deadline: float, tell: Callable[[Bracket], None] | None = None) -> Bracket:
    """The maximum overlap, exactly or as a proven bracket at ``deadline`` (of ``time.monotonic``) or on Ctrl-C."""
    now = time.monotonic()
    deadline = max(deadline, now + _GRACE)
    reduction_work = int(min(WORK_LIMIT, _REDUCTION_RATE * (deadline - now)))
    return run(Engine(compiled, reduction_work=reduction_work), deadline, tell)


def solve_within(compiled: CompiledWorkload, work: int) -> Bracket:
    """The same within about ``work`` word operations: equal workloads and equal work give equal brackets.

    Reducing is not counted.
    """
    engine = Engine(compiled)
    engine.reduce()
    while work > 0 and (done := engine.advance()):
        work -= done
    return engine.bracket()


def run(engine: Engine, deadline: float, tell: Callable[[Bracket], None] | None = None) -> Bracket:
    """Let an engine work until its bracket is closed, the deadline has come, or Ctrl-C is pressed."""
    told = pace = 0.0
    most = _FIRST_SLICE
    try:
        while (now := time.monotonic()) < deadline and (work := engine.advance(most)):
            if tell is not None and now - told > _TELL_EVERY:
                told = now
                tell(engine.bracket())
            # As much as half of the time left allows at the slowest pace of late.
            later = time.monotonic()
            pace = max((later - now) / work, 0.8 * pace)
            most = int(max(_LEAST_SLICE, min(_LAST_SLICE, (deadline - later) / (2 * pace + 1e-15))))
    except KeyboardInterrupt:
        pass
    return engine.bracket()


def _open_part(node: Node, parts: Sequence[PartSearch]) -> PartSearch | None:
    """The part to work on: it alone can lower the upper end (under a maximum) or has the widest gap (under a sum)."""
    if isinstance(node, Leaf):
        part = parts[node.number]
        return None if part.done else part
    if isinstance(node, Max):
        lower = max(_bounds(below, parts)[0] for below in node.nodes)
        widest = max(node.nodes, key=lambda below: _bounds(below, parts)[1])
        return None if _bounds(widest, parts)[1] <= lower else _open_part(widest, parts)
    for below in sorted(node.nodes, key=lambda below: -_gap(below, parts)):
        found = _open_part(below, parts) if _gap(below, parts) else None
        if found is not None:
            return found
    return None


def _gap(node: Node, parts: Sequence[PartSearch]) -> int:
    lower, upper = _bounds(node, parts)
    return upper - lower


def _bounds(node: Node, parts: Sequence[PartSearch]) -> tuple[int, int]:
    if isinstance(node, Leaf):
        part = parts[node.number]
        lower, upper = part.lower, part.upper
    else:
        below = [_bounds(child, parts) for child in node.nodes]
        combine = max if isinstance(node, Max) else sum
        lower, upper = combine(low for low, _ in below), combine(high for _, high in below)
    return node.reduction.base + lower, node.reduction.base + upper
