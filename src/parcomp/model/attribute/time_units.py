"""Units of time: the days, hours, months and years of the calendar, numbered one after another.

What people write is read by one strict grammar, ISO 8601 with dashes and colons: ``2020``, ``2020-01``,
``2020-01-31``, ``2020-01-31T05`` or a time ``2020-01-31T05:30:00``, with a space in place of the T if they like.
Each names a stretch of time.  There are no time zones here: the source of a table says which one its clocks show.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta
from typing import Literal, TypeAlias, get_args

from parcomp.errors import PredicateError, shown

__all__ = ["EXAMPLES", "Moment", "Unit", "is_unit", "notation_of", "number_of", "read_moment", "read_year"]

Unit: TypeAlias = Literal["day", "hour", "month", "year"]

EXAMPLES: dict[Unit, str] = {"day": "2020-12-31", "hour": "2020-12-31T05", "month": "2020-12", "year": "2020"}
"""How one of each unit is written."""

_ISO = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2})(?P<time>:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?)?)?)?)?"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """What was written: a stretch of time as long as ``unit``, or a time of day (None), that begins at ``start``.

    ``start`` is cut to its hour; ``within`` says that something was cut off.
    """

    start: datetime
    unit: Unit | None
    within: bool = False

    @property
    def last(self) -> datetime:
        """The last hour of it."""
        match self.unit:
            case "year":
                return self.start.replace(month=12, day=31, hour=23)
            case "month":
                return self.start.replace(day=monthrange(self.start.year, self.start.month)[1], hour=23)
            case "day":
                return self.start.replace(hour=23)
        return self.start

    def begins(self, unit: Unit) -> bool:
        """Whether it begins when a day, hour, month or year does."""
        start = self.start
        if self.within or (unit != "hour" and start.hour):
            return False
        return unit in {"hour", "day"} or (start.day == 1 and (unit == "month" or start.month == 1))

    def is_last_day(self, unit: Unit) -> bool:
        """Whether it is a day with which a month or a year ends."""
        if self.unit != "day" or self.start.date() == date.max:
            return self.unit == "day"
        return Moment(self.start + timedelta(days=1), "day").begins(unit)


def is_unit(value: object) -> bool:
    """Whether a value is the name of a unit."""
    return isinstance(value, str) and value in get_args(Unit)


def read_moment(written: object) -> Moment:
    """The stretch of time that a text, a date or a datetime names."""
    text = written.isoformat() if isinstance(written, date) else written
    if not isinstance(text, str):
        raise PredicateError(f"{shown(written)} is not a date")
    found = _ISO.fullmatch(text)
    if found is None:
        raise PredicateError(f"{shown(text)} is not a date in ISO notation")
    try:
        start = datetime(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1), int(found["hour"] or 0))
    except ValueError:
        raise PredicateError(f"{shown(text)} is not a date that the calendar has") from None
    if found["time"]:
        return Moment(start, None, any(digit in "123456789" for digit in found["time"]))
    names: tuple[Unit, ...] = ("hour", "day", "month")
    return Moment(start, next((name for name in names if found[name]), "year"))


def read_year(number: int) -> Moment:
    """The year of this number."""
    if not MINYEAR <= number <= MAXYEAR:
        raise PredicateError(f"{shown(number)} is not a year that the calendar has")
    return Moment(datetime(number, 1, 1), "year")


def number_of(moment: datetime, unit: Unit) -> int:
    """The number of the unit that holds a moment; consecutive ones have consecutive numbers."""
    if unit == "year":
        return moment.year
    if unit == "month":
        return moment.year * 12 + moment.month - 1
    return moment.toordinal() if unit == "day" else moment.toordinal() * 24 + moment.hour


def notation_of(number: int, unit: Unit) -> str:
    """How the unit with this number is written."""
    if unit == "year":
        return f"{number:04}"
    if unit == "month":
        return f"{number // 12:04}-{number % 12 + 1:02}"
    if unit == "day":
        return date.fromordinal(number).isoformat()
    return f"{date.fromordinal(number // 24).isoformat()}T{number % 24:02}"
