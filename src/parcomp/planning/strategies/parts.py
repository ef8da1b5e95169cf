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
    """The tree of parts of a compiled workload, whatever it weighs."""
    even = replace(compiled, weights=np.ones(compiled.query_count, np.int64))
    return _part(even, np.arange(compiled.query_count), reduce(even, _RULES).root)


def _part(compiled: CompiledWorkload, queries: Indices, node: Node) -> Part:
    if isinstance(node, Leaf):
        return Part(compiled, queries, "leaf")
    parts = [
        _part(part.compiled, queries[part.queries], below) for part, below in zip(node.parts, node.nodes, strict=True)
    ]
    if isinstance(node, Sum):
        return Part(compiled, queries, "sum", tuple(parts))
    # Of equal weights, the search for the heaviest row leaves out what meets nothing else; here it counts too.
    kept = np.concatenate([part.queries for part in node.parts])
    lonely = np.setdiff1d(np.arange(len(queries)), kept)
    if len(lonely):
        parts.append(Part(keep_queries(compiled, lonely), queries[lonely], "leaf"))
    return Part(compiled, queries, "max", tuple(parts))
