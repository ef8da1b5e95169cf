"""The overlap engine: reduce, then close the bracket of each part that is left.

The reductions leave a tree of parts.  The engine picks the part that holds the whole bracket open and lets its searches
advance by a slice of work, until the bracket is closed or no part can be closed further.  Reducing is done in slices
too: before it is through, the bracket reaches from the weight of a row to the total.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.bracket import Bracket, bounded
from parcomp.overlap.part import ALL as ALL_STRATEGIES
from parcomp.overlap.part import PartSearch
from parcomp.overlap.plain import coloring_bound, heaviest_overlap
from parcomp.overlap.reduce import ALL as ALL_RULES
from parcomp.overlap.reduce import WORK_LIMIT, Leaf, Max, Node, ReducedProblem, Rule, reduce
from parcomp.overlap.search import Strategy
from parcomp.slices import LARGEST_SLICE, Course, Slices, run

__all__ = ["Engine", "solve", "solve_within"]

_TELL_EVERY = 0.1
"""Seconds between two reports of progress."""

_FIRST_SLICE = 1 << 18
"""The work of the first slice on parts; it doubles up to the largest."""

_GRACE = 0.05
"""Seconds for a bracket where compiling has left none."""

_REDUCTION_RATE = 1 << 23
"""Work on equal and on dominated values for each second there is, up to the usual limit."""


class Engine(Course):
    """A compiled workload being solved: its reduction, and the search of each part that is left."""

    def __init__(
        self,
        compiled: CompiledWorkload,
        rules: Iterable[Rule] = ALL_RULES,
        strategies: Iterable[Strategy] = ALL_STRATEGIES,
        reduction_work: int = WORK_LIMIT,
        problem: ReducedProblem | None = None,
    ) -> None:
        """Solve ``compiled``; ``problem`` is what it reduces to, if that was done before."""
        super().__init__()
        self._compiled = compiled
        self._rules, self._strategies, self._reduction_work = rules, frozenset(strategies), reduction_work
        self._problem = problem
        self._parts: list[PartSearch] = []

    def course(self) -> Slices[None]:
        """Reduce, then work where it is needed."""
        if self._problem is None:
            self._problem = yield from reduce.slices(self._compiled, self._rules, self._reduction_work)
        self._parts = [PartSearch(leaf.compiled, self._strategies) for leaf in self._problem.leaves]
        work = _FIRST_SLICE
        while (part := _open_part(self._problem.root, self._parts)) is not None:
            yield part.advance(min(self.left, work))
            work = min(2 * work, LARGEST_SLICE)

    def bracket(self) -> Bracket:
        """The bracket so far."""
        compiled, problem = self._compiled, self._problem
        if problem is None or not self._parts:
            row, upper = np.zeros(compiled.attribute_count, np.int32), compiled.total
        else:
            row = problem.lift([part.row for part in self._parts])
            upper = problem.combine([part.upper for part in self._parts])
        # A lifted row may satisfy more than its part promised, so it is weighed afresh.
        weight = compiled.weigh(row)
        return Bracket(weight, upper, row, self._explain(exact=weight == upper))

    def _explain(self, *, exact: bool) -> tuple[str, ...]:
        """How the workload was made smaller, and why no row can weigh more than the upper end."""
        problem = self._problem
        if problem is None:
            return ("nothing but the sum of all costs was proven",)
        lines = []
        if problem.log:
            left = [leaf.compiled for leaf in problem.leaves]
            before, after = _size([self._compiled]), _size(left)
            parts = f", in {len(left):,} parts to solve one by one" if len(left) > 1 else ""
            lines.append(f"made smaller with the same answer: from {before} to {after}{parts}")
        closed = [exact or part.lower == part.upper for part in self._parts]
        pairs = zip(self._parts, closed, strict=True)
        reasons = Counter(_reason(part, closed=shut) for part, shut in pairs if part.strategy is not None or not shut)
        for reason, count in reasons.most_common():
            lines.append(bounded(reason, exact=exact) + (f" (in {count:,} parts)" if count > 1 else ""))
        return tuple(lines)


def _reason(part: PartSearch, *, closed: bool) -> str:
    """Why no row of a part weighs more than its upper end."""
    if part.strategy is None:
        return "it is the sum of all costs"
    return part.strategy.value if closed else part.strategy.so_far


def _size(compiled: Sequence[CompiledWorkload]) -> str:
    """How large workloads are, in words."""
    queries, attributes = sum(one.query_count for one in compiled), sum(one.attribute_count for one in compiled)
    values = sum(int(one.sizes.sum(dtype=np.int64)) for one in compiled)
    if not queries:
        return "nothing: all that is left is settled"
    counts = ((queries, "query", "queries"), (values, "value", "values"), (attributes, "attribute", "attributes"))
    some, of, them = (f"{count:,} {one if count == 1 else many}" for count, one, many in counts)
    return f"{some} on {of} of {them}"


def solve(
    compiled: CompiledWorkload,
    deadline: float,
    tell: Callable[[Bracket], None] | None = None,
    *,
    until_interrupted: bool = False,
) -> Bracket:
    """The maximum overlap, exactly or as a proven bracket at ``deadline`` (of ``time.monotonic``).

    With ``until_interrupted`` Ctrl-C ends the search too, and the answer is the bracket by then.
    """
    if (small := heaviest_overlap(compiled)) is not None:
        return small
    now = time.monotonic()
    deadline = max(deadline, now + _GRACE)
    engine = Engine(compiled, reduction_work=int(min(WORK_LIMIT, _REDUCTION_RATE * (deadline - now))))
    told = 0.0

    def watch() -> None:
        nonlocal told
        if tell is not None and time.monotonic() - told > _TELL_EVERY:
            told = time.monotonic()
            tell(engine.bracket())

    run(engine, deadline, watch, until_interrupted=until_interrupted)
    bracket = engine.bracket()
    return bracket if bracket.exact else coloring_bound(compiled, bracket)


def solve_within(compiled: CompiledWorkload, work: int) -> Bracket:
    """The same within about ``work`` word operations: equal workloads and equal work give equal brackets.

    Reducing is not counted.
    """
    if (small := heaviest_overlap(compiled)) is not None:
        return small
    engine = Engine(compiled, problem=reduce(compiled))
    engine.advance(work)
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
