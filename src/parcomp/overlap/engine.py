"""The overlap engine: reduce, then close the bracket of each part that is left.

The reductions leave a tree of parts.  A loop picks the part that holds the whole bracket open, lets its searches
advance by a slice of work, and stops when the bracket is closed, the deadline has come or the user interrupts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.part import ALL as ALL_STRATEGIES
from parcomp.overlap.part import PartSearch, Strategy
from parcomp.overlap.reduce.pipeline import ALL as ALL_RULES
from parcomp.overlap.reduce.pipeline import Leaf, Max, Node, Rule, reduce
from parcomp.overlap.result import Bracket

__all__ = ["Engine", "run", "solve", "solve_within"]

_TELL_EVERY = 0.1
"""Seconds between two reports of progress."""

_FIRST_SLICE = 1 << 18
_LAST_SLICE = 1 << 24
"""Work of a slice, in word operations: it doubles from the first to the last, which takes some 60 ms."""


class Engine:
    """A compiled workload being solved: its reduction, and the search of each part that is left."""

    def __init__(
        self,
        compiled: CompiledWorkload,
        rules: Iterable[Rule] = ALL_RULES,
        strategies: Iterable[Strategy] = ALL_STRATEGIES,
    ) -> None:
        self._compiled = compiled
        self.problem = reduce(compiled, rules)
        self.parts = [PartSearch(leaf.compiled, strategies) for leaf in self.problem.leaves]
        self._slice = _FIRST_SLICE

    def advance(self) -> int:
        """Do a slice of work on the part that holds the bracket open; return how much, 0 if nothing is left."""
        part = _open_part(self.problem.root, self.parts)
        if part is None:
            return 0
        work, self._slice = self._slice, min(2 * self._slice, _LAST_SLICE)
        part.advance(work)
        return work

    def bracket(self) -> Bracket:
        """The bracket so far."""
        row = self.problem.lift([part.row for part in self.parts])
        # A lifted row may satisfy more than its part promised, so it is weighed afresh.
        lower = int(self._compiled.weights[self._compiled.members(row)].sum())
        upper = self.problem.combine([part.upper for part in self.parts])
        return Bracket(lower, upper, row, self._explain())

    def _explain(self) -> tuple[str, ...]:
        """Which reductions bit, and what the upper end of each part comes from."""
        closers = Counter(part.closed_by for part in self.parts if part.closed_by is not None)
        lines = [str(step) for step in self.problem.log]
        for closer, count in closers.most_common():
            lines.append(f"upper end: {closer}" + (f" ({count:,} parts)" if count > 1 else ""))
        return tuple(lines)


def solve(compiled: CompiledWorkload, deadline: float, tell: Callable[[Bracket], None] | None = None) -> Bracket:
    """The maximum overlap, exactly or as a proven bracket at ``deadline`` (of ``time.monotonic``) or on Ctrl-C."""
    return run(Engine(compiled), deadline, tell)


def solve_within(compiled: CompiledWorkload, work: int) -> Bracket:
    """The same within about ``work`` word operations: equal workloads and equal work give equal brackets."""
    engine = Engine(compiled)
    while work > 0 and (done := engine.advance()):
        work -= done
    return engine.bracket()


def run(engine: Engine, deadline: float, tell: Callable[[Bracket], None] | None = None) -> Bracket:
    """Let an engine work until its bracket is closed, the deadline has come, or Ctrl-C is pressed."""
    told = 0.0
    try:
        while (now := time.monotonic()) < deadline and engine.advance():
            if tell is not None and now - told > _TELL_EVERY:
                told = now
                tell(engine.bracket())
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
