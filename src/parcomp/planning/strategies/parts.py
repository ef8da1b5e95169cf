"""The independent parts of a workload, as a tree.

Parts that share no attribute are a *sum*: a row of the whole is any row of the one with any row of the other, so what
they cost adds up.  Parts that do not overlap are a *max*: no row satisfies queries of two of them, so each may take the
whole budget.  This holds for any costs, and for noise that is drawn for each part by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap import Leaf, Node, Rule, Sum, keep_queries, reduce
from parcomp.planning.strategies.atoms import Indices

__all__ = ["Part", "split"]

_RULES = (Rule.SPLIT_BY_ATTRIBUTES, Rule.SPLIT_BY_OVERLAP)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some queries of a whole, ``compiled`` by themselves; ``parts`` make them up unless it is a leaf."""

    compiled: CompiledWorkload
    queries: Indices
    kind: Literal["leaf", "sum", "max"]
    parts: tuple[Part, ...] = ()


def split(compiled: CompiledWorkload) -> Part:
    """The tree of parts of a compiled workload, whatever it weighs.

    Queries that every row satisfies share no attribute with others.  They are a part of their own where the others
    have parts.
    """
    even = replace(compiled, weights=np.ones(compiled.query_count, np.int64))
    everything = np.diff(compiled.start) == 0
    if everything.any() and not everything.all():
        constrained, free = np.flatnonzero(~everything), np.flatnonzero(everything)
        rest = _part(keep_queries(even, constrained), constrained)
        if rest.kind != "leaf":
            return Part(even, np.arange(len(everything)), "sum", (rest, Part(keep_queries(even, free), free, "leaf")))
    return _part(even, np.arange(len(everything)))


def _part(compiled: CompiledWorkload, queries: Indices) -> Part:
    return _tree(compiled, queries, reduce(compiled, _RULES).root)


def _tree(compiled: CompiledWorkload, queries: Indices, node: Node) -> Part:
    if isinstance(node, Leaf):
        return Part(compiled, queries, "leaf")
    below = [
        (part.queries, _tree(part.compiled, queries[part.queries], node))
        for part, node in zip(node.parts, node.nodes, strict=True)
    ]
    if isinstance(node, Sum):
        return Part(compiled, queries, "sum", tuple(part for _, part in below))
    # Of equal weights, the search for the heaviest row leaves out most of what meets nothing else.  Here it counts too,
    # and is one leaf: none of these queries meets another.
    met = [(own, part) for own, part in below if len(own) > 1]
    lonely = np.setdiff1d(np.arange(len(queries)), np.concatenate([np.zeros(0, np.int64), *(own for own, _ in met)]))
    parts = [part for _, part in met]
    if len(lonely):
        parts.append(Part(keep_queries(compiled, lonely), queries[lonely], "leaf"))
    return parts[0] if len(parts) == 1 else Part(compiled, queries, "max", tuple(parts))
