"""Random workloads beyond one word of bits, with a judge that shares no code with the engine.

Attributes have 65–300 values and workloads 65–300 queries, so that masks over values and sets of queries take two to
five words; weights reach the largest whose sum 62 bits hold.  Looking at every row stays possible since values that the
same queries accept are interchangeable: only the distinct *columns* of an attribute, one boolean for each query, are
combined.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from parcomp import Categorical, Domain, Integer, Workload
from parcomp.costs import Cost
from tests.workloads.compiled import random_set
from tests.workloads.sets import SetQueries

__all__ = ["SHAPES", "Wide", "random_wide"]

SHAPES = ("point", "interval", "nested", "subset", "mixed")


@dataclass(frozen=True)
class Wide(SetQueries):
    """Such queries, many or on large attributes, with a judge that combines the columns of attributes."""

    def truth(self) -> int:
        """The largest total weight over all rows."""
        if not self.queries:
            return 0
        # Sums of some of the weights are below 2**62, so 64 bits are exact.
        weights = np.array(self.weights, np.int64)
        columns = [np.ones((1, len(weights)), np.bool_)] * 2
        columns += [np.unique(self._accepts(attribute).T, axis=0) for attribute in range(len(self.sizes))]
        *few, second, last = sorted(columns, key=len)
        best = 0
        for chosen in product(*few):
            alive = np.logical_and.reduce(chosen) if chosen else np.ones(len(weights), np.bool_)
            if weights[alive].sum() > best:
                sums = (second[:, alive] * weights[alive]) @ last[:, alive].T.astype(np.int64)
                best = max(best, int(sums.max()))
        return best

    def edges(self) -> set[tuple[int, int]]:
        """The pairs of queries that overlap, by intersecting sets that are held as the bits of integers."""
        bits = [{a: sum(1 << value for value in accepted) for a, accepted in query.items()} for query in self.queries]
        return {
            (first, second)
            for first, second in combinations(range(len(bits)), 2)
            if all(bits[first][a] & bits[second][a] for a in bits[first].keys() & bits[second].keys())
        }

    def workload(self) -> Workload:
        """The same over a domain of names and of numbers, each weight being so many units of cost."""
        domain = Domain(
            {
                f"a{index}": Integer(-7, size - 8) if index % 2 else Categorical([f"v{code}" for code in range(size)])
                for index, size in enumerate(self.sizes)
            }
        )
        queries = [
            domain.query({f"a{a}": self._written(a, accepted) for a, accepted in q.items()}) for q in self.queries
        ]
        return Workload(domain, queries, [Cost("weight", units) for units in self.weights])

    def codes(self, row: dict[str, object]) -> list[int]:
        """The values of a row of that domain."""
        return [row[f"a{a}"] + 7 if a % 2 else int(row[f"a{a}"][1:]) for a in range(len(self.sizes))]

    def _written(self, attribute: int, accepted: frozenset[int]) -> list[object]:
        return [code - 7 if attribute % 2 else f"v{code}" for code in sorted(accepted)]

    def _accepts(self, attribute: int) -> np.ndarray:
        """``[q, v]``: whether query q accepts value v."""
        flags = np.ones((len(self.queries), self.sizes[attribute]), np.bool_)
        for position, query in enumerate(self.queries):
            if attribute in query:
                flags[position] = False
                flags[position, list(query[attribute])] = True
        return flags


def random_wide(
    draw: np.random.Generator, shape: str | None = None, *, most_queries: int = 300, contradictions: bool = False
) -> Wide:
    """One or two wide attributes, up to two small ones, and predicates of one shape or of all."""
    sizes = draw.integers(65, 301, draw.integers(1, 3)).tolist() + draw.integers(1, 5, draw.integers(0, 3)).tolist()
    draw.shuffle(sizes)
    shape = shape or str(draw.choice(SHAPES))
    density = draw.uniform(0.3, 0.9)
    queries = []
    for _ in range(int(draw.integers(65, most_queries + 1))):
        query = {}
        for attribute, size in enumerate(sizes):
            if draw.random() < density:
                kind = SHAPES[draw.integers(4)] if shape == "mixed" else shape
                values = random_set(draw, size, "share" if kind == "subset" else kind)
                query[attribute] = frozenset(values.tolist())
        if contradictions and query and draw.random() < 0.05:
            query[next(iter(query))] = frozenset()
        queries.append(query)
    heaviest = int(draw.choice([1, 3, 1000, (2**62 - 1) // len(queries)]))
    return Wide(sizes, queries, draw.integers(1, heaviest + 1, len(queries)).tolist())
