"""Random tiny workloads together with what they mean, kept apart from the code under test.

Each query is made twice: in the notation of workload files, and as plain sets of values from which the judge computes
the maximum overlap by looking at every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from parcomp import Binned, Categorical, Domain, Integer, Workload

__all__ = ["Judged", "random_judged"]


@dataclass(frozen=True)
class Judged:
    """A workload, and for each query the set of accepted values of each attribute."""

    workload: Workload
    values: dict[str, list[object]]
    accepted: list[dict[str, set[object]]]
    weights: list[int]

    def truth(self) -> int:
        """The largest total weight over all rows."""
        return int(self._weight_of_rows().max())

    def members(self, row: dict[str, object]) -> list[int]:
        """The positions of the queries that a row satisfies."""
        return [
            position
            for position, accepted in enumerate(self.accepted)
            if all(row[name] in values for name, values in accepted.items())
        ]

    def satisfied(self) -> np.ndarray:
        """Which queries each row satisfies, a line for each set of them that there is."""
        rows = [self._flags(accepted).ravel() for accepted in self.accepted]
        return np.unique(np.array(rows, np.bool_).reshape(len(rows), -1).T, axis=0)

    def _weight_of_rows(self) -> np.ndarray:
        total = np.zeros([len(values) for values in self.values.values()], np.int64)
        for accepted, weight in zip(self.accepted, self.weights, strict=True):
            total += weight * self._flags(accepted)
        return total

    def _flags(self, accepted: dict[str, set[object]]) -> np.ndarray:
        """1 for each row that a query accepts."""
        flags = [
            np.array([name not in accepted or value in accepted[name] for value in values], np.int64)
            for name, values in self.values.items()
        ]
        return reduce(np.multiply.outer, flags)


def random_judged(draw: np.random.Generator, *, wide: bool = False, most_queries: int = 30) -> Judged:
    """A few queries on up to four small attributes: points, sets, ranges, complements and contradictions.

    With ``wide``, the first attribute has 65 to 300 values, more than a word of bits holds.
    """
    attributes, values = {}, {}
    for index in range(int(draw.integers(1, 5))):
        name = f"a{index}"
        size = int(draw.integers(65, 301)) if wide and index == 0 else int(draw.integers(1, 8))
        nullable = bool(draw.random() < 0.2)
        kind = draw.integers(3)
        if kind == 0:
            attributes[name] = Categorical([f"v{code}" for code in range(size)], nullable)
            values[name] = [f"v{code}" for code in range(size)]
        elif kind == 1:
            low = int(draw.integers(-5, 5))
            attributes[name] = Integer(low, low + size - 1, nullable)
            values[name] = list(range(low, low + size))
        else:
            attributes[name] = Binned(0, 10 * size, size, nullable)
            values[name] = [10 * code for code in range(size)]
        values[name] += [None] * nullable
    domain = Domain(attributes)
    largest = 10 ** int(draw.integers(0, 7))
    queries, accepted, weights = [], [], []
    for _ in range(int(draw.integers(0, most_queries + 1))):
        where, sets = {}, {}
        for name, attribute in attributes.items():
            if draw.random() < 0.7:
                where[name], sets[name] = _random_predicate(draw, attribute, values[name])
        queries.append(domain.query(where))
        accepted.append(sets)
        weights.append(int(draw.integers(1, largest + 1)))
    return Judged(Workload(domain, queries, costs=weights), values, accepted, weights)


def _random_predicate(draw, attribute, values):
    known = [value for value in values if value is not None]
    match draw.integers(6):
        case 0:
            value = values[draw.integers(len(values))]
            return value, {value}
        case 1 | 2:
            first, last = sorted(draw.integers(len(known), size=2).tolist())
            if isinstance(attribute, Binned):
                return {"from": known[first], "below": known[last] + 10}, set(known[first : last + 1])
            return [{"from": known[first], "to": known[last]}], set(known[first : last + 1])
        case 3:
            chosen = {value for value in values if draw.random() < 0.5}
            return list(chosen), chosen
        case 4:
            chosen = {value for value in values if draw.random() < 0.4}
            return {"not": list(chosen)}, set(values) - chosen
        case _:
            outside = {Categorical: "elsewhere", Integer: 10**6, Binned: 10**6}[type(attribute)]
            return outside, set()
