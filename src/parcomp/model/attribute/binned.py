"""Numbers that are told apart only by equal bins."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from parcomp.errors import DomainError, PredicateError, shown
from parcomp.model.attribute.base import Attribute, Numeric, Value
from parcomp.model.attribute.exact import Number, as_fraction, is_integer

__all__ = ["Binned"]


@dataclass(frozen=True, slots=True)
class Binned(Numeric):
    """Numbers in ``[low, high)``, told apart only by which of ``bins`` equal half-open bins they fall into.

    A bin is named by its lower edge.

    >>> income = Binned(0, 750_000, bins=5_000)
    >>> income.code(150), income.value(1), income.run(0, 300)
    (1, 150, (0, 2))
    """

    low: Number
    high: Number
    bins: int
    nullable: bool = False
    clip: bool = False
    # The ends and the width of a bin as exact fractions, which every value is compared with.
    _ends: tuple[Fraction, Fraction] = field(init=False, repr=False, compare=False)
    _width: Fraction = field(init=False, repr=False, compare=False)
    range_end: ClassVar[str] = "below"

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            try:
                exact = as_fraction(getattr(self, name))
            except PredicateError as error:
                raise DomainError(f"{name}: {error}", field=name) from None
            # One form for one number, so that equal attributes are equal whichever file they come from.
            number = _number(exact)
            if as_fraction(number) != exact:
                raise DomainError(f"{name} has more digits than a float holds", field=name)
            object.__setattr__(self, name, number)
        if not is_integer(self.bins) or self.bins < 1:
            raise DomainError(f"bins must be a positive integer, not {shown(self.bins)}", field="bins")
        if as_fraction(self.low) >= as_fraction(self.high):
            raise DomainError(f"low {shown(self.low)} is not below high {shown(self.high)}")
        self._check()
        low, high = as_fraction(self.low), as_fraction(self.high)
        object.__setattr__(self, "_ends", (low, high))
        object.__setattr__(self, "_width", (high - low) / self.bins)
        # Edges are written as floats where they are not whole; this far apart, each is read back as itself.
        whole = low.denominator == self._width.denominator == 1
        if not whole and self._width <= 2 * Fraction(math.ulp(max(abs(float(self.low)), abs(float(self.high))))):
            raise DomainError("the bins are too narrow for floats to tell their edges apart", field="bins")

    @property
    def null(self) -> int:
        """The number of bins."""
        return self.bins

    def extends(self, older: Attribute) -> bool:
        """Whether it has more bins of the same width after those of ``older``."""
        return (
            isinstance(older, Binned) and (self.low, self._width) == (older.low, older._width) and self._goes_on(older)
        )

    def _code(self, value: object) -> int | None:
        position = self._position(value)
        return position if 0 <= position < self.bins else None

    def run(self, low: object, high: object) -> tuple[int, int]:
        """The bins from the edge ``low`` up to the edge ``high``, as far as the attribute has them."""
        first, last = self._position(low), self._position(high)
        if as_fraction(low) >= as_fraction(high):
            raise PredicateError(f"the range is empty or reversed: {shown(low)} is not below {shown(high)}")
        start = min(max(first, 0), self.bins)
        return start, max(min(last, self.bins), start)

    def edge(self, code: int) -> Value:
        """The upper edge of the bin before ``code``."""
        return _number(self._ends[0] + code * self._width)

    def _value(self, code: int) -> Value:
        return self.edge(code)

    def _fields(self) -> dict[str, object]:
        return {"low": self.low, "high": self.high, "bins": self.bins}

    def _position(self, value: object) -> int:
        """The number of the edge at ``value``; -1 for any number below ``low``, ``bins + 1`` for any above ``high``."""
        exact, (low, high) = as_fraction(value), self._ends
        if not low <= exact <= high:
            return -1 if exact < low else self.bins + 1
        position = round((exact - low) / self._width)
        edge = low + position * self._width
        # An edge such as 100/3 has no finite decimal: the nearest float stands for it.  A whole one stands for itself.
        if exact != edge and (edge.denominator == 1 or float(exact) != float(edge)):
            raise PredicateError(
                f"{shown(value)} is not a bin edge; edges start at {shown(self.low)} and are "
                f"{shown(_number(self._width))} apart"
            )
        return position


def _number(exact: Fraction) -> int | float:
    return int(exact) if exact.denominator == 1 else float(exact)
