"""What rows of codes are tested and grouped by: in SQL, which is the same for every engine, and here.

The key of a group is the position of a row's code among those of an attribute.  Either each code has a position of its
own, or each band of codes shares one.  A code without a position has no group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.data.layout import column
from parcomp.model import Predicate

__all__ = ["Key", "Terms", "condition_sql", "run_count"]

Terms: TypeAlias = tuple[tuple[int, Predicate], ...]
"""A conjunction: position and predicate of the attributes that it tests."""

_NO_BAND = -1
"""What SQL calls the band of a code that is in none."""


@dataclass(frozen=True, slots=True)
class Key:
    """The codes of the attribute at ``index`` that have groups: each by itself, or by the ``members`` of bands."""

    index: int
    values: Predicate
    members: tuple[Predicate, ...] | None = None

    @property
    def count(self) -> int:
        """How many positions there are."""
        return self.values.count if self.members is None else len(self.members)

    @property
    def rises(self) -> int:
        """By how much the position grows from one code of a run to the next."""
        return int(self.members is None)

    @property
    def run_count(self) -> int:
        """How many comparisons the key takes in SQL."""
        return 0 if self.members is None else sum(1 for _ in self.runs())

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """The runs of codes, ascending: the first code, the one after the last, and the position of the first."""
        if self.members is not None:
            runs = ((*run, band) for band, member in enumerate(self.members) for run in member.runs())
            yield from sorted(runs)
            return
        passed = 0
        for start, stop in self.values.runs():
            yield start, stop, passed
            passed += stop - start

    @property
    def sql(self) -> str:
        """The key in SQL: the code itself, or the number of its band."""
        code = column(self.index)
        if self.members is None:
            return code
        cases = (f"WHEN {_predicate_sql(code, member)} THEN {band}" for band, member in enumerate(self.members))
        return f"CASE {' '.join(cases)} ELSE {_NO_BAND} END"

    @property
    def found(self) -> Sequence[int]:
        """What SQL finds for each position."""
        if self.members is not None:
            return range(len(self.members))
        return [code for start, stop in self.values.runs() for code in range(start, stop)]

    def positions(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The position of each code, -1 where it has none."""
        runs = np.array(list(self.runs()), np.int64).reshape(-1, 3)
        at = np.searchsorted(runs[:, 0], codes, side="right") - 1
        if not len(runs):
            return at
        start, stop, first = runs[at].T
        return np.where((at >= 0) & (codes < stop), first + self.rises * (codes - start), -1)


def run_count(terms: Terms) -> int:
    """How many comparisons a conjunction takes."""
    return sum(1 + sum(1 for _ in predicate.runs()) for _, predicate in terms)


def condition_sql(condition: Sequence[Terms]) -> str:
    """Whether a row satisfies one of the conjunctions, of which there is one at least."""
    alternatives = [_terms_sql(terms) for terms in condition]
    return alternatives[0] if len(alternatives) == 1 else f"({' OR '.join(alternatives)})"


def _terms_sql(terms: Terms) -> str:
    return f"({' AND '.join(_predicate_sql(column(i), predicate) for i, predicate in terms)})" if terms else "TRUE"


def _predicate_sql(code: str, predicate: Predicate) -> str:
    """Whether a code, which is never null, belongs to the predicate, which is no contradiction."""
    runs = list(predicate.runs())
    singles = [str(start) for start, stop in runs if stop == start + 1]
    parts = [f"{code} BETWEEN {start} AND {stop - 1}" for start, stop in runs if stop > start + 1]
    if singles:
        parts.append(f"{code} = {singles[0]}" if len(singles) == 1 else f"{code} IN ({', '.join(singles)})")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"
