"""Attributes: the finite sets whose product is the domain (paper §2.1).

Each kind of attribute turns its values into codes ``0 … size-1`` and back, and the three ways in which a
predicate names values (a scalar, a range, null) into codes.  Null, where an attribute has it, is the last code.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, TypeAlias

import numpy as np

from parcomp.errors import DomainError, PredicateError, shown
from parcomp.model.text_file import is_unicode

__all__ = ["Attribute", "Binned", "Categorical", "Integer", "Number", "Value"]

Value: TypeAlias = str | int | bool | float | None
"""A value as people write it; a bin is written as its lower edge."""

Number: TypeAlias = int | float | Decimal


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

    def describe(self) -> dict[str, object]:
        """The attribute as it stands in a domain file."""
        return self._fields() | ({"nullable": True} if self.nullable else {})

    def _check(self) -> None:
        if not isinstance(self.nullable, bool):
            raise DomainError(f"nullable must be true or false, not {shown(self.nullable)}", field="nullable")
        if self.null > _MAX_SIZE:
            raise DomainError(
                f"an attribute may have at most {_MAX_SIZE} values, not {shown(self.null)}; use fewer, wider bins"
            )


@dataclass(frozen=True, slots=True)
class Categorical(Attribute):
    """Named values in a fixed order: strings, integers or booleans.

    >>> Categorical(["F", "M"]).code("M")
    1
    """

    values: Sequence[str | int | bool]
    nullable: bool = False
    # Compared, since the values alone do not tell 1 from true.
    _codes: Mapping[tuple[type, object], int] = field(init=False, repr=False)
    _types: frozenset[type] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.values, (str, bytes)) or not isinstance(self.values, Sequence):
            raise DomainError(f"values must be a list, not {shown(self.values)}", field="values")
        values = tuple(_plain(value) for value in self.values)
        codes: dict[tuple[type, object], int] = {}
        for position, value in enumerate(values):
            if type(value) not in _TYPE_NAMES:
                message = f"values must be strings, integers or booleans, not {shown(value)}"
                raise DomainError(message, field="values")
            if isinstance(value, str) and not is_unicode(value):
                raise DomainError(f"value {shown(value)} is not valid Unicode", field="values")
            if codes.setdefault((type(value), value), position) != position:
                raise DomainError(f"value {shown(value)} occurs twice", field="values")
        if not codes:
            raise DomainError("values must not be empty", field="values")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "_codes", codes)
        object.__setattr__(self, "_types", frozenset(kind for kind, _ in codes))
        self._check()

    def __hash__(self) -> int:
        return hash((self.values, self.nullable))

    def __repr__(self) -> str:
        listed = ", ".join(map(shown, self.values[:_SHOWN]))
        more = f", … {len(self.values):,} in all" if len(self.values) > _SHOWN else ""
        return f"Categorical([{listed}{more}]{', nullable=True' if self.nullable else ''})"

    @property
    def null(self) -> int:
        """The number of named values."""
        return len(self.values)

    def _code(self, value: object) -> int | None:
        plain = _plain(value)
        if type(plain) not in self._types:
            wanted = " or ".join(sorted(_TYPE_NAMES[kind] for kind in self._types))
            raise PredicateError(f"{shown(value)} is not {wanted}")
        return self._codes.get((type(plain), plain))

    def run(self, low: object, high: object) -> tuple[int, int]:
        """The values from ``low`` to ``high``, both included, in the declared order."""
        start, last = self.code(low), self.code(high)
        for end, code in ((low, start), (high, last)):
            if code is None or end is None:
                raise PredicateError(f"a range of named values runs between two of them; {shown(end)} is none")
        assert start is not None
        assert last is not None
        if start > last:
            raise PredicateError(f"the range is reversed: {shown(low)} comes after {shown(high)}")
        return start, last + 1

    def edge(self, code: int) -> Value:
        """The last value before ``code``."""
        return self.values[code - 1]

    def _value(self, code: int) -> Value:
        return self.values[code]

    def _fields(self) -> dict[str, object]:
        return {"values": list(self.values)}


@dataclass(frozen=True, slots=True)
class Integer(Attribute):
    """The integers from ``low`` to ``high``, both included.

    >>> Integer(0, 119).size
    120
    """

    low: int
    high: int
    nullable: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if not _is_integer(getattr(self, name)):
                raise DomainError(f"{name} must be an integer, not {shown(getattr(self, name))}", field=name)
        if self.low > self.high:
            raise DomainError(f"low {shown(self.low)} is above high {shown(self.high)}")
        self._check()

    @property
    def null(self) -> int:
        """The number of integers."""
        return self.high - self.low + 1

    def _code(self, value: object) -> int | None:
        number = _integer(value)
        return number - self.low if self.low <= number <= self.high else None

    def run(self, low: object, high: object) -> tuple[int, int]:
        """The integers from ``low`` to ``high``, both included, as far as the attribute has them."""
        first, last = _integer(low), _integer(high)
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


@dataclass(frozen=True, slots=True)
class Binned(Attribute):
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
    # The ends and the width of a bin as exact fractions, which every value is compared with.
    _ends: tuple[Fraction, Fraction] = field(init=False, repr=False, compare=False)
    _width: Fraction = field(init=False, repr=False, compare=False)
    range_end: ClassVar[str] = "below"

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            try:
                exact = _exact(getattr(self, name))
            except PredicateError as error:
                raise DomainError(f"{name}: {error}", field=name) from None
            # One form for one number, so that equal attributes are equal whichever file they come from.
            number = _number(exact)
            if _exact(number) != exact:
                raise DomainError(f"{name} has more digits than a float holds", field=name)
            object.__setattr__(self, name, number)
        if not _is_integer(self.bins) or self.bins < 1:
            raise DomainError(f"bins must be a positive integer, not {shown(self.bins)}", field="bins")
        if _exact(self.low) >= _exact(self.high):
            raise DomainError(f"low {shown(self.low)} is not below high {shown(self.high)}")
        self._check()
        low, high = _exact(self.low), _exact(self.high)
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

    def _code(self, value: object) -> int | None:
        position = self._position(value)
        return position if 0 <= position < self.bins else None

    def run(self, low: object, high: object) -> tuple[int, int]:
        """The bins from the edge ``low`` up to the edge ``high``, as far as the attribute has them."""
        first, last = self._position(low), self._position(high)
        if _exact(low) >= _exact(high):
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
        exact, (low, high) = _exact(value), self._ends
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


_TYPE_NAMES = {str: "a string", int: "an integer", bool: "a boolean"}
_MAX_SIZE = 2**31 - 1
_SHOWN = 8
"""How many values stand in the ``repr``."""


def _plain(value: object) -> object:
    """The built-in string, integer or boolean that a scalar of numpy or of an enumeration stands for."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    return str.__str__(value) if isinstance(value, str) else value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise PredicateError(f"{shown(value)} is not an integer")
    return int(value)


def _exact(value: object) -> Fraction:
    if type(value) is int and abs(value) < 10**300:
        return Fraction(value)
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise PredicateError(f"{shown(value)} is not a number")
    if isinstance(value, numbers.Integral):
        decimal = Decimal(int(value))
    else:
        decimal = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    # Beyond this no bin edge lies, and an exponent of a million must not be expanded to digits.
    if not decimal.is_finite() or abs(decimal.adjusted()) > 300:
        raise PredicateError(f"{shown(value)} is not a number of ordinary size")
    return Fraction(decimal)


def _number(exact: Fraction) -> int | float:
    return int(exact) if exact.denominator == 1 else float(exact)
