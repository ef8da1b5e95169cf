"""What a reduction returns: a smaller workload, and the way back.

A rule replaces a workload W by a smaller one W' and a constant ``base`` such that the maximum overlaps satisfy
γ(W) = base + γ(W').  It keeps what leads back: every row r of W' lifts to a row of W that weighs exactly ``base`` more
than r does, so a heaviest row of W' lifts to a heaviest row of W, and an upper bound of γ(W') plus ``base`` is an upper
bound of γ(W).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload

__all__ = ["Reduction", "ValueMap", "kept_values", "unchanged"]

Row = npt.NDArray[np.int32]
Table = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class ValueMap:
    """How the values of the input's attributes correspond to those of the reduced workload.

    Attribute ``a`` of the input is attribute ``source[a]`` of the reduced workload, or -1 if it vanished.
    ``lifted[a]`` gives the input's value for each reduced value (a single entry where ``a`` vanished) and ``pushed[a]``
    the reduced value for each of the input's values; None stands for the identity.  ``pushed[a]`` is never read where
    ``a`` vanished. ``pushed_size`` is the number of attributes of the reduced workload.
    """

    source: npt.NDArray[np.int32]
    lifted: tuple[Table | None, ...]
    pushed: tuple[Table | None, ...]
    pushed_size: int

    @staticmethod
    def identity(attribute_count: int) -> ValueMap:
        """The map that leaves every row as it is."""
        nothing = (None,) * attribute_count
        return ValueMap(np.arange(attribute_count, dtype=np.int32), nothing, nothing, attribute_count)

    def lift(self, row: Row) -> Row:
        """The input's row for a row of the reduced workload."""
        result = np.empty(len(self.source), np.int32)
        for attribute, source in enumerate(self.source.tolist()):
            table = self.lifted[attribute]
            value = 0 if source < 0 else int(row[source])
            result[attribute] = value if table is None else table[value]
        return result

    def push(self, row: Row) -> Row:
        """A row of the reduced workload that, with the base, weighs at least what the input's ``row`` does."""
        result = np.zeros(self.pushed_size, np.int32)
        for attribute, source in enumerate(self.source.tolist()):
            if source >= 0:
                table = self.pushed[attribute]
                result[source] = row[attribute] if table is None else table[row[attribute]]
        return result

    def then(self, other: ValueMap) -> ValueMap:
        """The map of this reduction followed by ``other``."""
        source = np.full(len(self.source), -1, np.int32)
        lifted: list[Table | None] = []
        pushed: list[Table | None] = []
        for attribute, middle in enumerate(self.source.tolist()):
            if middle < 0:
                lifted.append(self.lifted[attribute])
                pushed.append(None)
                continue
            source[attribute] = other.source[middle]
            # A vanished attribute has one entry, even where it vanished as an identity.
            table = other.lifted[middle]
            if table is None and source[attribute] < 0:
                table = np.zeros(1, np.int32)
            lifted.append(_after(self.lifted[attribute], table))
            pushed.append(None if source[attribute] < 0 else _after(other.pushed[middle], self.pushed[attribute]))
        return ValueMap(source, tuple(lifted), tuple(pushed), other.pushed_size)


def _after(outer: Table | None, inner: Table | None) -> Table | None:
    """The table x → outer[inner[x]]."""
    if inner is None:
        return outer
    return inner if outer is None else outer[inner]


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A smaller workload with the same maximum overlap, up to the constant ``base``.

    ``query_of`` names, for each query of the input, the query of ``compiled`` that stands for it, or -1 if it is
    settled: of such queries, every lifted row satisfies a weight of exactly ``base``.  None is the identity.
    ``changed`` tells whether the rule did anything.
    """

    compiled: CompiledWorkload
    base: int
    values: ValueMap
    query_of: npt.NDArray[np.int32] | None
    changed: bool

    def lift(self, row: Row) -> Row:
        """The input's row for a row of the reduced workload; it weighs ``base`` more."""
        return self.values.lift(row)

    def push(self, row: Row) -> Row:
        """A row of the reduced workload that, with ``base``, weighs at least what the input's ``row`` does."""
        return self.values.push(row)

    def then(self, other: Reduction) -> Reduction:
        """This reduction followed by ``other``, which must be one of ``self.compiled``.

        If γ = base₁ + γ₁ and γ₁ = base₂ + γ₂ then γ = (base₁ + base₂) + γ₂, and lifting twice adds both bases.
        """
        if not other.changed:
            return self
        if not self.changed:
            return other
        query_of = _after_queries(self.query_of, other.query_of)
        return Reduction(other.compiled, self.base + other.base, self.values.then(other.values), query_of, True)


def _after_queries(
    inner: npt.NDArray[np.int32] | None, outer: npt.NDArray[np.int32] | None
) -> npt.NDArray[np.int32] | None:
    """Where each query goes by ``inner`` and then ``outer``; -1 stays -1."""
    if outer is None:
        return inner
    if inner is None:
        return outer
    if not len(outer):
        return inner
    return np.where(inner < 0, np.int32(-1), outer[inner])


def unchanged(compiled: CompiledWorkload) -> Reduction:
    """The reduction that does nothing."""
    return Reduction(compiled, 0, ValueMap.identity(compiled.attribute_count), None, False)


def kept_values(
    compiled: CompiledWorkload, reduced: CompiledWorkload, kept: Sequence[Table | None], target: Sequence[Table | None]
) -> Reduction:
    """The reduction that keeps the values ``kept[a]`` and sends each value ``v`` of ``a`` to ``target[a][v]``."""
    count = compiled.attribute_count
    values = ValueMap(np.arange(count, dtype=np.int32), tuple(kept), tuple(target), count)
    return Reduction(reduced, 0, values, None, True)
