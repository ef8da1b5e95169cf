"""Queries as plain sets of values, from which everything else about them can be worked out by definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parcomp.model.compiled import CompiledWorkload
from tests.workloads.compiled import compile_values

__all__ = ["SetQueries"]


@dataclass(frozen=True)
class SetQueries:
    """Queries as attribute → accepted values; a missing attribute accepts all, an empty set none."""

    sizes: list[int]
    queries: list[dict[int, frozenset[int]]]
    weights: list[int]

    def members(self, row: Sequence[int]) -> list[int]:
        """The queries that a row of values satisfies."""
        return [q for q, query in enumerate(self.queries) if all(row[a] in accepted for a, accepted in query.items())]

    def weigh(self, row: Sequence[int]) -> int:
        """What the queries that a row satisfies weigh."""
        return sum(self.weights[query] for query in self.members(row))

    def compiled(self) -> CompiledWorkload:
        """The workload in array form; none of its queries may be a contradiction."""
        return compile_values(self.sizes, self.queries, self.weights)
