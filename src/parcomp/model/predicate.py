"""A predicate: a set of values of one attribute (paper §3.1).

The values of an attribute are coded ``0 … size-1``.  A set of codes is held in whichever of two forms is small: as runs
of consecutive codes, which serves points, ranges, short lists and the complements of all these whatever the size of the
attribute, or as the bits of one integer, which serves scattered subsets.  The choice depends on the set
alone, so equal sets are equal objects.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from parcomp.errors import PredicateError

__all__ = ["Predicate"]

_VALUES_PER_RUN = 512
"""One run costs about as much memory as the bits of this many values."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A set of codes out of ``0 … size-1``; make one with the class methods.

    ``edges`` are the boundaries of its runs, ``start, stop, start, stop, …`` with ``stop`` excluded; ``bits`` has bit
    ``c`` set for each code ``c``.  Exactly one of the two is held.

    >>> low = Predicate.from_runs(100, [(0, 10)])
    >>> low.count, (~low).count, low.isdisjoint(~low), (low | ~low).is_tautology
    (10, 90, True, True)
    """

    size: int
    edges: tuple[int, ...] | None
    bits: int | None

    @classmethod
    def from_runs(cls, size: int, runs: Iterable[tuple[int, int]]) -> Predicate:
        """The union of the runs ``start … stop-1``, in any order; parts outside ``0 … size-1`` are cut off."""
        edges: list[int] = []
        for start, stop in sorted((max(start, 0), min(stop, size)) for start, stop in runs):
            if start >= stop:
                continue
            if edges and start <= edges[-1]:
                edges[-1] = max(edges[-1], stop)
            else:
                edges += (start, stop)
        return cls._from_edges(size, tuple(edges))

    @classmethod
    def from_codes(cls, size: int, codes: Iterable[int] | npt.NDArray[np.integer]) -> Predicate:
        """The given codes; each must be one of ``0 … size-1``."""
        # Narrow integers would wrap around at the code after the last.  Sorting is many times faster than np.unique
        # where most codes are distinct.
        array = np.sort(codes.astype(np.int64) if isinstance(codes, np.ndarray) else np.fromiter(codes, np.int64))
        array = array[np.diff(array, prepend=-1) != 0] if len(array) and array[0] >= 0 else array
        if len(array) and (array[0] < 0 or array[-1] >= size):
            raise PredicateError(f"codes must lie in 0 … {size - 1}")
        breaks = np.flatnonzero(np.diff(array) != 1)
        if _holds_runs(size, len(breaks) + 1):
            starts = array[np.concatenate(([0], breaks + 1))] if len(array) else array
            stops = array[np.concatenate((breaks, [-1]))] + 1 if len(array) else array
            return cls(size, tuple(np.column_stack((starts, stops)).ravel().tolist()), None)
        flags = np.zeros(size, np.bool_)
        flags[array] = True
        return cls(size, None, int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little"))

    @classmethod
    def tautology(cls, size: int) -> Predicate:
        """All values."""
        return cls(size, (0, size), None)

    @classmethod
    def contradiction(cls, size: int) -> Predicate:
        """No value."""
        return cls(size, (), None)

    @classmethod
    def _from_edges(cls, size: int, edges: tuple[int, ...]) -> Predicate:
        if _holds_runs(size, len(edges) // 2):
            return cls(size, edges, None)
        return cls(size, None, _bits_of(edges))

    @classmethod
    def _from_bits(cls, size: int, bits: int) -> Predicate:
        # The number of runs is the number of codes whose predecessor is absent.
        if _holds_runs(size, (bits & ~(bits << 1)).bit_count()):
            return cls(size, tuple(_edges_of(bits)), None)
        return cls(size, None, bits)

    def __repr__(self) -> str:
        return f"<Predicate: {self.count:,} of {self.size:,} values>"

    @property
    def is_tautology(self) -> bool:
        """Whether every value satisfies it."""
        return self.edges == (0, self.size)

    @property
    def is_contradiction(self) -> bool:
        """Whether no value satisfies it."""
        return self.edges == ()

    @property
    def count(self) -> int:
        """How many values satisfy it."""
        if self.edges is not None:
            return sum(self.edges[1::2]) - sum(self.edges[::2])
        return self._as_bits().bit_count()

    def __contains__(self, code: int) -> bool:
        if self.edges is not None:
            # Runs are ascending, so within one the number of edges up to the code is odd.
            return bisect_right(self.edges, code) % 2 == 1
        return code >= 0 and bool(self._as_bits() >> code & 1)

    def runs(self) -> Iterator[tuple[int, int]]:
        """The maximal runs ``(start, stop)``, ascending, ``stop`` excluded."""
        edges = self.edges if self.edges is not None else tuple(_edges_of(self._as_bits()))
        return zip(edges[::2], edges[1::2], strict=True)

    def first(self) -> int:
        """The lowest code; the predicate must not be a contradiction."""
        if self.edges is not None:
            return self.edges[0]
        bits = self._as_bits()
        return (bits & -bits).bit_length() - 1

    def flags(self) -> npt.NDArray[np.bool_]:
        """One boolean for each value of the attribute."""
        if self.bits is not None:
            raw = np.frombuffer(self.bits.to_bytes((self.size + 7) // 8, "little"), np.uint8)
            return np.unpackbits(raw, bitorder="little", count=self.size).view(np.bool_)
        flags = np.zeros(self.size, np.bool_)
        for start, stop in self.runs():
            flags[start:stop] = True
        return flags

    def flags_at(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """One boolean for each of the given codes."""
        if self.edges is None:
            return self.flags()[codes]
        inside: npt.NDArray[np.bool_] = np.searchsorted(np.array(self.edges), codes, side="right") % 2 == 1
        return inside

    def isdisjoint(self, other: Predicate) -> bool:
        """Whether no value satisfies both."""
        if self.edges is None or other.edges is None:
            return not self._as_bits() & other._as_bits()
        return (self & other).is_contradiction

    def __and__(self, other: Predicate) -> Predicate:
        if self.edges is None or other.edges is None:
            return self._from_bits(self.size, self._as_bits() & other._as_bits())
        runs, mine, theirs = [], list(self.runs()), list(other.runs())
        i = j = 0
        while i < len(mine) and j < len(theirs):
            start, stop = max(mine[i][0], theirs[j][0]), min(mine[i][1], theirs[j][1])
            if start < stop:
                runs.append((start, stop))
            if mine[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return self.from_runs(self.size, runs)

    def __or__(self, other: Predicate) -> Predicate:
        if self.edges is None or other.edges is None:
            return self._from_bits(self.size, self._as_bits() | other._as_bits())
        return self.from_runs(self.size, [*self.runs(), *other.runs()])

    def __invert__(self) -> Predicate:
        if self.edges is None:
            return self._from_bits(self.size, ~self._as_bits() & ((1 << self.size) - 1))
        gaps = pairwise((0, *self.edges, self.size))
        return self.from_runs(self.size, [gap for index, gap in enumerate(gaps) if index % 2 == 0])

    def __le__(self, other: Predicate) -> bool:
        """Whether every value that satisfies this one satisfies the other too."""
        return self & other == self

    def _as_bits(self) -> int:
        return self.bits if self.bits is not None else _bits_of(self.edges or ())


def _holds_runs(size: int, run_count: int) -> bool:
    return run_count <= max(2, size // _VALUES_PER_RUN)


def _bits_of(edges: tuple[int, ...]) -> int:
    bits = 0
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        bits |= ((1 << (stop - start)) - 1) << start
    return bits


def _edges_of(bits: int) -> Iterator[int]:
    raw = np.frombuffer(bits.to_bytes((bits.bit_length() + 7) // 8 + 1, "little"), np.uint8)
    flags = np.unpackbits(raw, bitorder="little").astype(np.int8)
    yield from np.flatnonzero(np.diff(flags, prepend=np.int8(0))).tolist()
