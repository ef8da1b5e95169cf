"""Sets of values for the paper's method that take no memory: Python's sets of these instances would take terabytes.

A set is a predicate's number in a table of generated predicates.  What the method asks of a Python set, this answers by
the same walk, value by value through the smaller set until one is found in the other, in compiled code; a question
takes about a microsecond, as it does of Python's sets.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from parcomp import Workload
from parcomp.experiments import _subset_kernels as kernels
from parcomp.experiments.huge import GeneratedPredicates
from parcomp.experiments.paper_method import Coverage

__all__ = ["GeneratedSet", "generated_queries"]


class GeneratedSet:
    """The values of one predicate."""

    __slots__ = ("count", "number", "size", "table")

    def __init__(self, table: GeneratedPredicates, number: int, count: int, size: int) -> None:
        self.table, self.number, self.count, self.size = table, number, count, size

    def isdisjoint(self, other: GeneratedSet) -> bool:
        """Whether no value is in both."""
        # Two sets that hold more values together than there are share one; a walk would find it at its first steps.
        if self.count + other.count > self.size:
            return False
        if self.count <= other.count:
            return not kernels.meet(self.table.seed, self.number, self.count, other.number, other.count, self.size)
        return not kernels.meet(self.table.seed, other.number, other.count, self.number, self.count, self.size)

    def __and__(self, other: GeneratedSet) -> _Shared:
        return _Shared(self.table, (self.number, other.number))

    def __len__(self) -> int:
        return self.count


class _Shared:
    """The values that several predicates share."""

    __slots__ = ("_numbers", "_table")

    def __init__(self, table: GeneratedPredicates, numbers: tuple[int, ...]) -> None:
        self._table, self._numbers = table, numbers

    def isdisjoint(self, other: GeneratedSet) -> bool:
        """Whether no value is in both."""
        return not self & other

    def __and__(self, other: GeneratedSet) -> _Shared:
        return _Shared(self._table, (*self._numbers, other.number))

    def __len__(self) -> int:
        """1 if there is a value and else 0: the method only asks whether there is one."""
        numbers = np.array(self._numbers, np.int64)
        return int(self._table.shared_codes(numbers, np.array([0, len(numbers)]))[0] >= 0)


def generated_queries(workload: Workload) -> list[Coverage]:
    """The queries of a workload of generated predicates."""
    table = workload.table
    assert isinstance(table, GeneratedPredicates)
    attributes, counts, sizes = table.attributes.tolist(), table.counts.tolist(), table.sizes.tolist()
    numbers, bounds = workload.term.tolist(), workload.start.tolist()
    return [
        {
            attributes[number]: GeneratedSet(table, number, counts[number], sizes[number])
            for number in numbers[begin:end]
        }
        for begin, end in pairwise(bounds)
    ]
