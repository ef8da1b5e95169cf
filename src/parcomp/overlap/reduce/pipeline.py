"""Apply the exact reductions until none bites, and put the answer back together.

``reduce`` turns a workload into a tree.  A *leaf* holds a workload that is left to be solved; a *sum* and a *max* say
how the maximum overlaps of their parts combine.  Before it is split or left, the workload of each node went through the
rules on values, queries and attributes, which gives the node a base weight and the way to lift a row.  Each rule may be
left out; the result is exact whichever are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.reduce import queries, split, values
from parcomp.overlap.reduce.reduction import Reduction, unchanged
from parcomp.slices import Slices, sliced

__all__ = ["ALL", "Leaf", "Max", "Node", "ReducedProblem", "Rule", "Step", "Sum", "reduce"]

Row = npt.NDArray[np.int32]

LEAF_LIMIT = 1_000
"""Parts are not split further once there are this many."""


class Rule(StrEnum):
    """The exact reductions, in the order in which they are tried."""

    MERGE_VALUES = "merge equal values"
    DROP_DOMINATED_VALUES = "drop dominated values"
    MERGE_QUERIES = "merge equal queries"
    ABSORB_QUERIES = "absorb unconstrained queries"
    DROP_ATTRIBUTES = "drop unconstrained attributes"
    SETTLE_ATTRIBUTES = "settle attributes constrained alone"
    SPLIT_BY_ATTRIBUTES = "split into parts that share no attribute"
    SPLIT_BY_OVERLAP = "split into parts that do not overlap"


ALL = frozenset(Rule)


def _at_once(rule: Callable[[CompiledWorkload], Reduction]) -> Callable[[CompiledWorkload, int], Slices[Reduction]]:
    """A rule that reads its input once or twice and takes no longer, as slices."""

    def slices(compiled: CompiledWorkload, work_limit: int) -> Slices[Reduction]:  # noqa: ARG001  (all rules are called alike)
        reduction = rule(compiled)
        yield 2 * (len(compiled.term) + len(compiled.start))
        return reduction

    return slices


_LOCAL: dict[Rule, Callable[[CompiledWorkload, int], Slices[Reduction]]] = {
    Rule.MERGE_VALUES: values.merge_values.slices,
    Rule.DROP_DOMINATED_VALUES: values.drop_dominated_values.slices,
    Rule.MERGE_QUERIES: lambda compiled, _: queries.merge_queries.slices(compiled),
    Rule.ABSORB_QUERIES: _at_once(queries.absorb_queries),
    Rule.DROP_ATTRIBUTES: _at_once(queries.drop_attributes),
    Rule.SETTLE_ATTRIBUTES: _at_once(queries.settle_attributes),
}


@dataclass(frozen=True, slots=True)
class Step:
    """What one rule did: counts before and after, summed over the parts for a split."""

    rule: Rule
    depth: int
    queries: tuple[int, int]
    values: tuple[int, int]
    attributes: tuple[int, int]
    base: int
    parts: int

    def __str__(self) -> str:
        changes = [
            f"{name} {before:,} → {after:,}"
            for name, (before, after) in (
                ("queries", self.queries),
                ("values", self.values),
                ("attributes", self.attributes),
            )
            if before != after
        ]
        if self.parts > 1:
            changes.append(f"{self.parts:,} parts")
        if self.base:
            changes.append(f"weight {self.base:,} settled")
        return f"{'  ' * self.depth}{self.rule}: {', '.join(changes) or 'masks simplified'}"


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A workload left to be solved; ``number`` counts the leaves of the tree."""

    reduction: Reduction
    number: int

    @property
    def compiled(self) -> CompiledWorkload:
        """The workload to solve."""
        return self.reduction.compiled


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """Parts that share no attribute: maximum overlaps add."""

    reduction: Reduction
    parts: tuple[split.Part, ...]
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Max:
    """Parts that do not overlap: the largest maximum overlap counts."""

    reduction: Reduction
    parts: tuple[split.Part, ...]
    nodes: tuple[Node, ...]


Node = Leaf | Sum | Max


@dataclass(frozen=True, slots=True, eq=False)
class ReducedProblem:
    """A workload as a tree of smaller ones, with what was done to get there."""

    root: Node
    leaves: tuple[Leaf, ...]
    log: tuple[Step, ...]

    def combine(self, weights: Sequence[int]) -> int:
        """The whole's weight from one weight for each leaf.

        Both a sum and a maximum are monotone, so lower bounds of the leaves give a lower bound, upper bounds an upper
        bound, and maximum overlaps the maximum overlap.
        """
        return _combine(self.root, weights)

    def bracket(self, brackets: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The whole's ``(lower, upper)`` from those of the leaves."""
        return self.combine([lower for lower, _ in brackets]), self.combine([upper for _, upper in brackets])

    def lift(self, rows: Sequence[Row]) -> Row:
        """The whole's row from one row for each leaf.

        It weighs at least what :meth:`combine` makes of the weights of the rows, exactly that where they are heaviest
        rows of their leaves.
        """
        weights = [leaf.compiled.weigh(row) for leaf, row in zip(self.leaves, rows, strict=True)]
        return _lift(self.root, rows, weights)

    def push(self, row: Row) -> list[Row]:
        """A row for each leaf, to start a search from a known row of the whole.

        Where no split by overlap is above a leaf, nothing is lost: the rows combine to at least the weight of ``row``.
        """
        return list(_push(self.root, row))

    def explain(self) -> str:
        """What was done, a line for each step."""
        return "\n".join(str(step) for step in self.log)


@sliced
def reduce(
    compiled: CompiledWorkload, rules: Iterable[Rule] = ALL, work_limit: int = values.WORK_LIMIT
) -> Slices[ReducedProblem]:
    """Reduce a workload exactly, by the given rules, to a tree of smaller ones.

    ``work_limit`` is what one pass over all attributes may spend on values.
    """
    builder = _Builder(frozenset(rules), work_limit)
    root = yield from builder.build(compiled, 0, True)
    return ReducedProblem(root, tuple(builder.leaves), tuple(builder.log))


class _Builder:
    """Collects the leaves and the log of a tree that grows depth first."""

    def __init__(self, rules: frozenset[Rule], work_limit: int) -> None:
        self.rules = rules
        self.work_limit = work_limit
        self.leaves: list[Leaf] = []
        self.log: list[Step] = []
        self.pending = 1

    def build(self, compiled: CompiledWorkload, depth: int, may_split: bool) -> Slices[Node]:
        """The tree of a workload; ``may_split`` tells whether a split by overlap is worth trying."""
        reduction = yield from self._reduce_locally(compiled, depth)
        smaller = reduction.compiled
        if Rule.SPLIT_BY_ATTRIBUTES in self.rules:
            parts = yield from split.split_by_attributes.slices(smaller)
            if parts:
                nodes = yield from self._build_parts(Rule.SPLIT_BY_ATTRIBUTES, smaller, parts, depth)
                return Sum(reduction, parts, nodes)
        if Rule.SPLIT_BY_OVERLAP in self.rules and may_split and self.pending < LEAF_LIMIT:
            parts = yield from split.split_by_overlap.slices(smaller)
            if parts:
                nodes = yield from self._build_parts(Rule.SPLIT_BY_OVERLAP, smaller, parts, depth)
                return Max(reduction, parts, nodes)
        leaf = Leaf(reduction, len(self.leaves))
        self.leaves.append(leaf)
        return leaf

    def _build_parts(
        self, rule: Rule, compiled: CompiledWorkload, parts: tuple[split.Part, ...], depth: int
    ) -> Slices[tuple[Node, ...]]:
        self.pending += len(parts) - 1
        self._note(rule, depth, compiled, [part.compiled for part in parts], 0)
        nodes: list[Node] = []
        for part in parts:
            node = yield from self.build(part.compiled, depth + 1, part.whole)
            nodes.append(node)
        return tuple(nodes)

    def _reduce_locally(self, compiled: CompiledWorkload, depth: int) -> Slices[Reduction]:
        """All rules but the splits, each once, in the order of :class:`Rule`.

        That is a fixed point, unless the search for dominated values hit its limit.  Values that are kept are pairwise
        incomparable by the masks in use, and stay so, since later rules only take out full masks, copies of masks and
        whole attributes.  Only the rules on values shorten queries, so queries become equal or unconstrained there or
        never.
        """
        reduction = unchanged(compiled)
        for rule, apply in _LOCAL.items():
            if rule not in self.rules:
                continue
            step = yield from apply(reduction.compiled, self.work_limit)
            if step.changed:
                self._note(rule, depth, reduction.compiled, [step.compiled], step.base)
                reduction = reduction.then(step)
                yield int(compiled.sizes.sum(dtype=np.int64))
        return reduction

    def _note(self, rule: Rule, depth: int, before: CompiledWorkload, after: list[CompiledWorkload], base: int) -> None:
        self.log.append(
            Step(
                rule,
                depth,
                (before.query_count, sum(part.query_count for part in after)),
                (int(before.sizes.sum(dtype=np.int64)), sum(int(part.sizes.sum(dtype=np.int64)) for part in after)),
                (before.attribute_count, sum(part.attribute_count for part in after)),
                base,
                len(after),
            )
        )


def _combine(node: Node, weights: Sequence[int]) -> int:
    if isinstance(node, Leaf):
        return node.reduction.base + int(weights[node.number])
    below = [_combine(part, weights) for part in node.nodes]
    return node.reduction.base + (sum(below) if isinstance(node, Sum) else max(below))


def _lift(node: Node, rows: Sequence[Row], weights: Sequence[int]) -> Row:
    if isinstance(node, Leaf):
        return node.reduction.lift(rows[node.number])
    row = np.zeros(node.reduction.compiled.attribute_count, np.int32)
    chosen = range(len(node.nodes))
    if isinstance(node, Max):
        below = [_combine(part, weights) for part in node.nodes]
        best = below.index(max(below))
        chosen = range(best, best + 1)
    for index in chosen:
        row[node.parts[index].attributes] = _lift(node.nodes[index], rows, weights)
    return node.reduction.lift(row)


def _push(node: Node, row: Row) -> Iterator[Row]:
    pushed = node.reduction.push(row)
    if isinstance(node, Leaf):
        yield pushed
        return
    for part, below in zip(node.parts, node.nodes, strict=True):
        yield from _push(below, pushed[part.attributes])
