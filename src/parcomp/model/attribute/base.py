"""What all attributes have in common: codes, values, runs and a line in a domain file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, TypeAlias

from parcomp.errors import DomainError, PredicateError, shown

__all__ = ["Attribute", "Numeric", "Scale", "Value"]

Value: TypeAlias = str | int | bool | float | None
"""A value as people write it; a bin is written as its lower edge, a date in ISO notation."""

_MAX_SIZE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Scale:
    """Evenly spaced numbers: the value of code ``c`` is exactly ``(base + c) * step``."""

    base: int
    step: Decimal


class Attribute(ABC):
    """A finite set of values, and null where the attribute is ``nullable``."""

    __slots__ = ()
    nullable: bool
    range_end: ClassVar[str] = "to"
    """The key of a range's upper end in files: ``to`` (included) or ``below`` (not included)."""

    @property
    @abstractmethod
    def null(self) -> int:
        """The number of values without null, and so the code of null."""

    @property
    def scale(self) -> Scale | None:
        """How values follow from codes where that is exact arithmetic, so that values can be summed; None if not."""
        return None

    @abstractmethod
    def run(self, low: object, high: object) -> tuple[int, int]:
        """The codes ``start … stop-1`` of the values from ``low`` to ``high``."""

    @abstractmethod
    def edge(self, code: int) -> Value:
        """What a range in a file calls the upper end of a run that stops before ``code``."""

    @abstractmethod
    def _code(self, value: object) -> int | None: ...

    @abstractmethod
    def _value(self, code: int) -> Value: ...

    @abstractmethod
    def _fields(self) -> dict[str, object]: ...

    @property
    def size(self) -> int:
        """The number of values, null included."""
        return self.null + self.nullable

    def code(self, value: object) -> int | None:
        """The code of a value; None for one of the right type that the attribute does not have."""
        if value is not None:
            return self._code(value)
        if not self.nullable:
            raise PredicateError("null is not a value of this attribute; it would be with nullable = true")
        return self.null

    def value(self, code: int) -> Value:
        """The value with this code; a bin is named by its lower edge."""
        return None if code == self.null else self._value(code)

    def extends(self, older: Attribute) -> bool:
        """Whether it has the values of ``older`` under the same codes, and perhaps more after them; null stays last.

        What a stored value is coded as must be the same too, if ``older`` has a code for it.
        """
        return self == older

    def describe(self) -> dict[str, object]:
        """The attribute as it stands in a domain file."""
        return self._fields() | ({"nullable": True} if self.nullable else {})

    def _check(self) -> None:
        _check_flag("nullable", self.nullable)
        if self.null > _MAX_SIZE:
            message = f"an attribute may have at most {_MAX_SIZE} values, not {shown(self.null)}"
            raise DomainError(f"{message}; use wider bins or a larger step")


class Numeric(Attribute):
    """Numbers between declared ends; with ``clip`` a stored number beyond them is taken to the nearest end."""

    __slots__ = ()
    clip: bool

    def describe(self) -> dict[str, object]:
        """The attribute as it stands in a domain file."""
        return Attribute.describe(self) | ({"clip": True} if self.clip else {})

    def _goes_on(self, older: Numeric) -> bool:
        """Whether more values may follow those of ``older``; where numbers are clipped, its last one holds others."""
        return (self.nullable, self.clip) == (older.nullable, older.clip) and (
            self.null == older.null or (self.null > older.null and not self.clip)
        )

    def _check(self) -> None:
        _check_flag("clip", self.clip)
        Attribute._check(self)


def _check_flag(name: str, flag: object) -> None:
    if not isinstance(flag, bool):
        raise DomainError(f"{name} must be true or false, not {shown(flag)}", field=name)
