"""The integers between two ends."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from parcomp.errors import DomainError, PredicateError, shown
from parcomp.model.attribute.base import Attribute, Numeric, Scale, Value
from parcomp.model.attribute.exact import as_integer, is_integer

__all__ = ["Integer"]


@dataclass(frozen=True, slots=True)
class Integer(Numeric):
    """The integers from ``low`` to ``high``, both included.

    >>> Integer(0, 119).size
    120
    """

    low: int
    high: int
    nullable: bool = False
    clip: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if not is_integer(getattr(self, name)):
                raise DomainError(
                    f"{name} must be an integer, not {shown(getattr(self, name))}; decimals have a step, or bins",
                    field=name,
                )
        if self.low > self.high:
            raise DomainError(f"low {shown(self.low)} is above high {shown(self.high)}")
        self._check()

    @property
    def null(self) -> int:
        """The number of integers."""
        return self.high - self.low + 1

    @property
    def scale(self) -> Scale:
        """Steps of 1 from ``low``."""
        return Scale(self.low, Decimal(1))

    def extends(self, older: Attribute) -> bool:
        """Whether it goes on where ``older`` ends."""
        return isinstance(older, Integer) and self.low == older.low and self._goes_on(older)

    def _code(self, value: object) -> int | None:
        number = as_integer(value)
        return number - self.low if self.low <= number <= self.high else None

    def run(self, low: object, high: object) -> tuple[int, int]:
        """The integers from ``low`` to ``high``, both included, as far as the attribute has them."""
        first, last = as_integer(low), as_integer(high)
        if first > last:
            raise PredicateError(f"the range is reversed: {shown(first)} is above {shown(last)}")
        start = max(first, self.low) - self.low
        return start, max(min(last, self.high) + 1 - self.low, start)

    def edge(self, code: int) -> Value:
        """The last integer before ``code``."""
        return self.low + code - 1

    def _value(self, code: int) -> Value:
        return self.low + code

    def _fields(self) -> dict[str, object]:
        return {"low": self.low, "high": self.high}
