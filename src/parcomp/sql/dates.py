"""Dates in expressions: when a unit begins, and what EXTRACT and DATE_TRUNC make of it.

Weeks begin on Monday, as in ISO 8601; among the days of the week Sunday is 0 for DOW and WEEKDAY, and 7 for ISODOW.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from parcomp.model import Dated, Unit

__all__ = ["FINER_PARTS", "PARTS", "TRUNCATIONS", "begins_with", "known_by", "name_of_day", "part_of", "truncated"]

_RANK: dict[str, int] = {"year": 0, "month": 1, "day": 2, "hour": 3}

TRUNCATIONS: dict[str, Unit] = {
    "century": "year",
    "decade": "year",
    "year": "year",
    "quarter": "month",
    "month": "month",
    "week": "day",
    "day": "day",
    "hour": "hour",
}
"""What DATE_TRUNC takes, and the coarsest unit of an attribute that tells it."""

PARTS: dict[str, tuple[Unit, str | None]] = {
    "century": ("year", None),
    "decade": ("year", None),
    "year": ("year", None),
    "quarter": ("month", "year"),
    "month": ("month", "year"),
    "doy": ("day", "year"),
    "day": ("day", "month"),
    "week": ("day", "week"),
    "isodow": ("day", "week"),
    "dow": ("day", "day"),
    "weekday": ("day", "day"),
    "hour": ("hour", "day"),
}
"""What EXTRACT takes: the coarsest unit that tells it, and what it grows within; None if it grows throughout."""

FINER_PARTS = ("minute", "second", "millisecond", "microsecond")
"""What EXTRACT takes elsewhere, and no unit of an attribute tells."""

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_PART: dict[str, Callable[[datetime], int]] = {
    "century": lambda moment: (moment.year + 99) // 100,
    "decade": lambda moment: moment.year // 10,
    "year": lambda moment: moment.year,
    "quarter": lambda moment: (moment.month + 2) // 3,
    "month": lambda moment: moment.month,
    "doy": lambda moment: moment.timetuple().tm_yday,
    "day": lambda moment: moment.day,
    "week": lambda moment: moment.isocalendar().week,
    "isodow": lambda moment: moment.isoweekday(),
    "dow": lambda moment: moment.isoweekday() % 7,
    "weekday": lambda moment: moment.isoweekday() % 7,
    "hour": lambda moment: moment.hour,
}


def known_by(attribute: Dated, unit: Unit) -> bool:
    """Whether the values of an attribute are known by a unit, or by a finer one."""
    return _RANK[attribute.unit] >= _RANK[unit]


def begins_with(attribute: Dated) -> Callable[[int], datetime]:
    """When the value of a code begins."""
    first = attribute.moment(attribute.low).start
    if attribute.unit == "day":
        return lambda code: first + timedelta(days=code)
    if attribute.unit == "hour":
        return lambda code: first + timedelta(hours=code)
    if attribute.unit == "year":
        return lambda code: datetime(first.year + code, 1, 1)

    def month(code: int) -> datetime:
        years, months = divmod(first.month - 1 + code, 12)
        return datetime(first.year + years, months + 1, 1)

    return month


def part_of(part: str, moment: datetime) -> int:
    """What EXTRACT gives."""
    return _PART[part](moment)


def name_of_day(moment: datetime) -> str:
    """What DAYNAME gives: the English name, whatever the language of the machine."""
    return _DAYS[moment.weekday()]


def truncated(unit: str, moment: datetime) -> datetime:
    """When the century, year, quarter, … that holds a moment begins."""
    if unit == "hour":
        return moment.replace(minute=0)
    day = moment.replace(hour=0, minute=0)
    match unit:
        case "week":
            # The first days of the calendar are in a week that it does not have.
            return day - timedelta(days=min(day.weekday(), day.toordinal() - 1))
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)
        case "decade":
            return day.replace(year=max(day.year // 10 * 10, 1), month=1, day=1)
        case "century":
            return day.replace(year=(day.year - 1) // 100 * 100 + 1, month=1, day=1)
    return day
