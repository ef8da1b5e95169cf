"""The uniform workload of paper §7.1 on domains of up to 10^80000 rows, whose predicates take no memory.

At 10^20000 rows, 2,000 queries have 5.7 million predicates; held as bits they would take some 120 GB.  Here a
predicate is a number: its values are told by a keyed permutation (see :mod:`parcomp.experiments._subset_kernels`).  The
subsets are pseudorandom, and of exactly the size that was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import overload

import numpy as np
import numpy.typing as npt

from parcomp import Cost, Domain, Integer, Query, Workload
from parcomp.costs import COST_KINDS
from parcomp.experiments import _subset_kernels as kernels
from parcomp.model import Predicate, PredicateTable

__all__ = ["GeneratedPredicates", "held_in_memory", "huge_uniform_workload", "uniform_queries"]


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedPredicates(PredicateTable):
    """A predicate table: number ``n`` is a random set of ``counts[n]`` of the ``sizes[n]`` values of its attribute."""

    attributes: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    seed: int

    predicates: Sequence[Predicate] = field(init=False, repr=False)
    """Each made when it is looked at."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicates", _OnDemand(self))

    def contradictory(self) -> npt.NDArray[np.bool_]:
        """Which of the predicates are contradictions."""
        empty: npt.NDArray[np.bool_] = self.counts == 0
        return empty

    def flags(self, numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """For each of some predicates of one attribute, one boolean for each value."""
        found: npt.NDArray[np.bool_] = kernels.flags(self.seed, numbers, self.counts, int(self.sizes[numbers[0]]))
        return found

    def overlapping(self, first: npt.NDArray[np.integer], second: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Whether ``first[i]`` and ``second[i]``, predicates of one attribute, share a value."""
        found: npt.NDArray[np.bool_] = kernels.overlapping(self.seed, first, second, self.counts, self.sizes)
        return found

    def accepting(self, numbers: npt.NDArray[np.integer], codes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether predicate ``numbers[i]`` accepts ``codes[i]``."""
        found: npt.NDArray[np.bool_] = kernels.accepting(self.seed, numbers, codes, self.counts, self.sizes)
        return found

    def shared_codes(self, numbers: npt.NDArray[np.integer], start: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """A code that all of ``numbers[start[i]:start[i + 1]]``, predicates of one attribute, accept; -1 if none."""
        codes: npt.NDArray[np.int64] = kernels.shared_codes(self.seed, numbers, start, self.counts, self.sizes)
        return codes


class _OnDemand(Sequence[Predicate]):
    def __init__(self, table: GeneratedPredicates) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table.counts)

    @overload
    def __getitem__(self, number: int) -> Predicate: ...
    @overload
    def __getitem__(self, number: slice) -> list[Predicate]: ...
    def __getitem__(self, number: int | slice) -> Predicate | list[Predicate]:
        if isinstance(number, slice):
            return [self[position] for position in range(*number.indices(len(self)))]
        position = range(len(self))[number]
        return _as_bits(self._table, position)


def huge_uniform_workload(t: int, log10_size: int, seed: int, kmax: int = 6) -> Workload:
    """``t`` uniform queries over attributes of 10^k values, k uniform in 1 … ``kmax``, that multiply to 10^log10_size.

    As in paper §7.1, a query constrains U(1, m) of the m attributes, each by a random subset of U(1, |A|) values.
    """
    draw = np.random.default_rng(seed)
    exponents: list[int] = []
    left = log10_size
    while left > 0:
        exponents.append(min(int(draw.integers(1, kmax + 1)), left))
        left -= exponents[-1]
    return uniform_queries(t, exponents, seed, draw)


def uniform_queries(t: int, exponents: Sequence[int], seed: int, draw: np.random.Generator | None = None) -> Workload:
    """``t`` queries drawn as in paper §7.1, over attributes of 10^k values for each k of ``exponents``."""
    draw = np.random.default_rng(seed) if draw is None else draw
    sizes = 10 ** np.array(exponents, np.int64)
    domain = Domain(
        {f"a{number}": Integer(0, size - 1) for number, size in enumerate(sizes.tolist(), 1)}, name="uniform"
    )
    lengths = draw.integers(1, len(sizes) + 1, t)
    chosen = [np.sort(draw.choice(len(sizes), length, replace=False)) for length in lengths.tolist()]
    attributes = np.concatenate(chosen).astype(np.int32) if chosen else np.zeros(0, np.int32)
    table = GeneratedPredicates(attributes, sizes[attributes], draw.integers(1, sizes[attributes] + 1), seed)
    cost = Cost.of("weight", 1)
    return Workload.from_columns(
        domain,
        table,
        np.concatenate(([0], np.cumsum(lengths))),
        np.arange(len(attributes), dtype=np.int32),
        (np.full(t, cost.units, np.int64), np.full(t, COST_KINDS.index(cost.kind), np.int8)),
        None,
    )


def held_in_memory(workload: Workload) -> Workload:
    """The same workload with each predicate as bits, for the searches that need them."""
    table = workload.table
    assert isinstance(table, GeneratedPredicates)
    bounds, terms = workload.start.tolist(), workload.term.tolist()
    attributes = table.attributes.tolist()
    return Workload(
        workload.domain,
        (
            Query(
                workload.domain,
                # A tautology is no term of a query.
                tuple(
                    (attributes[number], _as_bits(table, number))
                    for number in terms[begin:end]
                    if table.counts[number] < table.sizes[number]
                ),
            )
            for begin, end in pairwise(bounds)
        ),
    )


def _as_bits(table: GeneratedPredicates, number: int) -> Predicate:
    (flags,) = table.flags(np.array([number]))
    bits = int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
    # The union leaves the set as it is and settles on the smaller of its two forms.
    return Predicate(len(flags), None, bits) | Predicate.contradiction(len(flags))
