"""What one item of a statement asks for, and the numbers that are measured for it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from parcomp.errors import WorkloadError

__all__ = ["FINEST_PLACE", "Aggregate", "AggregateKind", "Item", "Kind"]

Kind: TypeAlias = Literal["count", "sum", "average", "variance", "deviation", "distinct", "quantile"]
"""What an item asks for; a deviation is a standard deviation, distinct how many values some row has."""

AggregateKind: TypeAlias = Literal["rows", "sum", "squares", "distinct", "ranks"]

FINEST_PLACE = 10**6
"""Quantiles are told apart to this fraction of the rows."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is asked for in each group.

    ``attribute`` is what it is about: None for the number of all rows; of others only rows with a value there matter.
    ``at`` says which quantile, from 0 to 1.  A variance or deviation is that of a ``sample``, or else of the rows.
    """

    kind: Kind
    attribute: str | None = None
    at: Fraction | None = None
    sample: bool = True

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise WorkloadError(f"an item is one of {', '.join(get_args(Kind))}, not {self.kind!r}")
        if self.attribute is None and self.kind != "count":
            raise WorkloadError(f"a {self.kind} is taken of an attribute")
        if (self.at is not None) != (self.kind == "quantile") or not 0 <= (self.at or 0) <= 1:
            raise WorkloadError("a quantile, and nothing else, has a place from 0 to 1")
        if self.at is not None and self.at.denominator > FINEST_PLACE:
            raise WorkloadError(f"the place of a quantile is a fraction of at most {FINEST_PLACE:,} parts, not of more")
        if not self.sample and self.kind not in ("variance", "deviation"):
            raise WorkloadError(f"a {self.kind} is not told by whether it is of a sample")

    def __str__(self) -> str:
        """The item in words, as messages have it."""
        what = (
            "median" if self.at == Fraction(1, 2) else f"{self.kind} at {self.at}" if self.at is not None else self.kind
        )
        return what if self.attribute is None else f"{what} of {self.attribute}"

    @property
    def text(self) -> dict[str, object]:
        """The item in the canonical notation."""
        fields: dict[str, object] = {"kind": self.kind}
        if self.attribute is not None:
            fields["attribute"] = self.attribute
        if self.at is not None:
            fields["at"] = str(self.at)
        if not self.sample:
            fields["of"] = "rows"
        return fields


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A number that is measured in each group, over the rows of the condition that have a value of ``attribute``.

    - *rows*: how many there are; of all rows of the condition where ``attribute`` is None;
    - *sum*: the sum of their values less ``center``, in whole steps, of which a value is from ``low`` to ``high``;
    - *squares*: the sum of the squares of these differences, each less ``offset``, half of the largest;
    - *distinct*: how many different values they have;
    - *ranks*: not one number but one for each value v from ``low`` to ``high``, of which a search asks for some.  With
      ``at`` = p/q it is (q − p) times the rows with a value up to v, less p times the rows above v.  The quantile is
      the least v at which it is not negative, or at 0 the least at which it is positive.
    """

    kind: AggregateKind = "rows"
    attribute: str | None = None
    low: int = 0
    high: int = 1
    center: int = 0
    at: Fraction | None = None

    @property
    def offset(self) -> int:
        """What the square of each difference is lessened by, so that it is about as far from 0 either way."""
        return self._furthest**2 // 2 if self.kind == "squares" else 0

    @property
    def sensitivity(self) -> int:
        """The most by which one row more or less changes the number; of ranks, each number that is asked for."""
        match self.kind:
            case "sum":
                return self._furthest
            case "squares":
                return max(self._furthest**2 - self.offset, self.offset)
            case "ranks":
                below, above = self.weights
                return max(below, above)
        return 1

    @property
    def spread(self) -> int:
        """The most by which it changes if one row takes the place of another in the same group."""
        match self.kind:
            case "rows":
                return 0
            case "sum":
                return self.high - self.low
            case "squares":
                return self._furthest**2
            case "ranks":
                # A row from above v to one up to v moves both counts.
                return sum(self.weights)
        return 1

    @property
    def weights(self) -> tuple[int, int]:
        """What a row counts in ranks that has a value up to v, and what one above counts against it."""
        place = self.at or Fraction(0)
        return place.denominator - place.numerator, place.numerator

    @property
    def _furthest(self) -> int:
        """The most by which a value is off the center."""
        return max(abs(self.low - self.center), abs(self.high - self.center), 1)
