"""Dates: the days, hours, months or years between two ends.

A value is written as its unit is (``2020-01-31``, ``2020-01-31T05``, ``2020-01``, ``2020``), and codes count units from
``low``.  In a predicate it may also be given by the date on which it begins.  A date within a month or a year names no
value, since what is stored is only known by the whole of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime

from parcomp.errors import DomainError, PredicateError, shown
from parcomp.model.attribute.base import Attribute, Value
from parcomp.model.attribute.exact import is_integer
from parcomp.model.attribute.time_units import (
    EXAMPLES,
    Moment,
    Unit,
    is_unit,
    notation_of,
    number_of,
    read_moment,
    read_year,
)

__all__ = ["Dated"]


@dataclass(frozen=True, slots=True)
class Dated(Attribute):
    """The days, hours, months or years from ``low`` to ``high``, both included.

    The ends are ISO dates, as strings or as dates of Python.  Those of months and years may be any date in them; those
    of hours may be dates, which stand for the first hour of ``low`` and the last of ``high``.

    >>> born = Dated("1990-01-01", "2029-12-31", unit="month")
    >>> born.size, born.value(1), born.code("1990-02"), born.low
    (480, '1990-02', 1, '1990-01')
    """

    low: str | date
    high: str | date
    unit: Unit = "day"
    nullable: bool = False
    # The numbers of the first and of the last unit.
    _ends: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_unit(self.unit):
            known = ", ".join(EXAMPLES)
            raise DomainError(f"unit must be one of {known}, not {shown(self.unit)}", field="unit")
        ends = (self._end("low"), self._end("high"))
        for name, number in zip(("low", "high"), ends, strict=True):
            # One form for one unit, so that equal attributes are equal whichever file they come from.
            object.__setattr__(self, name, notation_of(number, self.unit))
        if ends[0] > ends[1]:
            raise DomainError(f"low {self.low} is after high {self.high}", field="low")
        object.__setattr__(self, "_ends", ends)
        self._check()

    @property
    def null(self) -> int:
        """The number of units."""
        return self._ends[1] - self._ends[0] + 1

    def extends(self, older: Attribute) -> bool:
        """Whether it goes on in the same unit where ``older`` ends."""
        return (
            isinstance(older, Dated)
            and (self.low, self.unit, self.nullable) == (older.low, older.unit, older.nullable)
            and self.null >= older.null
        )

    def position(self, moment: datetime) -> int:
        """How many units after ``low`` the one is that holds a moment; the attribute may not have it."""
        return number_of(moment, self.unit) - self._ends[0]

    def moment(self, written: object) -> Moment:
        """The stretch of time that was written, in whatever unit; an error that shows how to write it if it is none."""
        try:
            # YAML and TOML read a year as a number, and people write it as one.
            if self.unit == "year" and isinstance(written, int) and is_integer(written):
                return read_year(written)
            return read_moment(written)
        except PredicateError as error:
            raise PredicateError(f"{error}; {self.shape}") from None

    @property
    def shape(self) -> str:
        """How values are written, in words."""
        return f"{'an' if self.unit == 'hour' else 'a'} {self.unit} is written {EXAMPLES[self.unit]}"

    def _code(self, value: object) -> int | None:
        position = self._position(value)
        return position if 0 <= position < self.null else None

    def run(self, low: object, high: object) -> tuple[int, int]:
        """The units from ``low`` to ``high``, both included, as far as the attribute has them."""
        first, last = self._position(low), self._position(high)
        if first > last:
            raise PredicateError(f"the range is reversed: {shown(low)} is after {shown(high)}")
        start = min(max(first, 0), self.null)
        return start, max(min(last + 1, self.null), start)

    def edge(self, code: int) -> Value:
        """The last unit before ``code``."""
        return self._value(code - 1)

    def _value(self, code: int) -> Value:
        return notation_of(self._ends[0] + code, self.unit)

    def _fields(self) -> dict[str, object]:
        return {"low": self.low, "high": self.high, "unit": self.unit}

    def _position(self, value: object) -> int:
        moment = self.moment(value)
        if moment.unit == self.unit:
            return self.position(moment.start)
        if moment.unit not in {None, "day"}:
            raise PredicateError(f"{shown(value)} is no {self.unit}; {self.shape}")
        # A date among hours could be meant as the whole day.
        if not moment.begins(self.unit) or (self.unit == "hour" and moment.unit == "day"):
            near = notation_of(number_of(moment.start, self.unit), self.unit)
            raise PredicateError(f"{shown(value)} is no {self.unit}; write {near}")
        return self.position(moment.start)

    def _end(self, name: str) -> int:
        written = getattr(self, name)
        try:
            moment = self.moment(written)
        except PredicateError as error:
            raise DomainError(f"{name}: {error}", field=name) from None
        number = number_of(moment.start, self.unit)
        if moment.unit == "day" and self.unit == "hour":
            return number + 23 if name == "high" else number
        if moment.unit in {self.unit, "day"} or (moment.unit is None and moment.begins(self.unit)):
            return number
        raise DomainError(f"{name}: {shown(written)} is no {self.unit}; {self.shape}", field=name)
