"""A plain reading of stored values, one by one: the judge of what encoding must find.

It is written from the rules alone, in exact arithmetic and with the calendar of Python, and shares nothing with the
code that it judges but the declarations.  A cell is what a column holds, as a value of Python: None, text, a boolean,
an integer, a decimal, a float (of 64 bits), a :class:`Narrow` float, a date or a moment, or a :class:`Beyond`.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from parcomp.model.attribute import Attribute, Binned, Categorical, Dated, Integer, Stepped

__all__ = ["Beyond", "Narrow", "Reader", "exact_number", "narrowed"]

NULL, UNKNOWN, OUT_OF_RANGE, WRONG_TYPE = "null", "unknown", "out_of_range", "wrong_type"
ROUNDED = "rounded"
"""Values between two steps, seen to nine digits."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """A date that the calendar of Python does not have, as it is written."""

    text: str = "10000-01-01"


@dataclass(frozen=True, slots=True)
class Narrow:
    """A float of 32 bits (``form`` is ``f``) or 16 (``e``)."""

    number: float
    form: str = "f"

    @property
    def shortest(self) -> str:
        """The decimal with the fewest digits that reads back as it."""
        if not math.isfinite(self.number):
            return str(self.number)
        return next(
            text for digits in range(1, 18) if narrowed(float(text := f"{self.number:.{digits}g}"), self.form) == self
        )


def narrowed(number: float, form: str = "f") -> Narrow:
    """The narrow float nearest to a number; infinite where it has none."""
    try:
        return Narrow(struct.unpack(form, struct.pack(form, number))[0], form)
    except OverflowError:
        return Narrow(math.copysign(math.inf, number), form)


class Reader:
    """Reads the cells of one attribute; null tokens stand for null in text only."""

    def __init__(self, attribute: Attribute, nulls: Sequence[str] = (), timezone: str = "UTC") -> None:
        self.attribute = attribute
        self.tally: Counter[str] = Counter()
        self._nulls = nulls
        self._zone = ZoneInfo(timezone)

    def code(self, cell: Any) -> int:
        """The code of a cell; where it has none, the size of the attribute, and the reason is tallied."""
        found = self._null() if cell is None or (isinstance(cell, str) and cell in self._nulls) else self._found(cell)
        if isinstance(found, str):
            self.tally[found] += 1
            return self.attribute.size
        return found

    def _null(self) -> int | str:
        return self.attribute.size - 1 if self.attribute.nullable else NULL

    def _found(self, cell: Any) -> int | str:
        attribute = self.attribute
        if isinstance(attribute, Dated):
            return _placed_moment(attribute, cell, self._zone)
        if isinstance(attribute, Categorical):
            return _named(attribute, cell)
        number = exact_number(cell)
        if number is None:
            return WRONG_TYPE
        if isinstance(attribute, Integer):
            if isinstance(number, Fraction) and number.denominator != 1:
                return WRONG_TYPE
            return _bounded(number - attribute.low, attribute.high - attribute.low, clip=attribute.clip)
        if isinstance(attribute, Stepped):
            step = Fraction(str(attribute.step))
            first, last = Fraction(str(attribute.low)) / step, Fraction(str(attribute.high)) / step
            place = number if isinstance(number, float) else _half_even(number / step)
            if first <= place <= last:
                steps = number / step
                self.tally[ROUNDED] += abs(steps - place) > max(abs(steps), 1) / 10**9
            return _bounded(place - first, int(last - first), clip=attribute.clip)
        assert isinstance(attribute, Binned)
        return _bounded(_bin(attribute, number), attribute.bins - 1, clip=attribute.clip)


def _bounded(place: Fraction | float, last: int, *, clip: bool) -> int | str:
    if 0 <= place <= last:
        return int(place)
    return OUT_OF_RANGE if not clip else 0 if place < 0 else last


def _half_even(number: Fraction) -> Fraction:
    below = math.floor(number)
    rest = number - below
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1)
    return Fraction(below + up)


def _bin(attribute: Binned, number: Fraction | float) -> int:
    low, high = Fraction(str(attribute.low)), Fraction(str(attribute.high))
    edges = [low + (high - low) * place / attribute.bins for place in range(attribute.bins + 1)]
    if isinstance(number, float):
        return -1 if number < 0 else attribute.bins
    if all(edge.denominator == 1 for edge in edges):
        return bisect_right(edges, math.floor(number)) - 1
    return bisect_right([_double(edge) for edge in edges], _double(number)) - 1


def _double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _named(attribute: Categorical, cell: Any) -> int | str:
    values = list(attribute.values)
    kind = type(values[0])
    if kind is str:
        text = cell.isoformat() if isinstance(cell, date) else cell.text if isinstance(cell, Beyond) else cell
        return values.index(text) if text in values else UNKNOWN
    if kind is bool and isinstance(cell, str) and cell.isascii() and cell.lower() in ("true", "false"):
        cell = cell.lower() == "true"
    if kind is bool and isinstance(cell, bool):
        return values.index(cell) if cell in values else UNKNOWN
    number = exact_number(cell)
    if number is None or (kind is bool and number not in (0, 1)):
        return WRONG_TYPE
    if isinstance(number, Fraction) and number.denominator != 1:
        return WRONG_TYPE
    return values.index(number) if number in values else UNKNOWN


def exact_number(cell: Any) -> Fraction | float | None:
    """The number that a cell is, an infinity as a float; None if it is none."""
    if isinstance(cell, bool):
        return None
    if isinstance(cell, int):
        return Fraction(cell)
    if isinstance(cell, Decimal) and cell.is_finite():
        return Fraction(cell)
    text = cell.shortest if isinstance(cell, Narrow) else repr(cell) if isinstance(cell, float) else str(cell)
    if text.isascii() and text.lower().lstrip("+-") in ("inf", "infinity") and len(text) - len(text.lstrip("+-")) < 2:
        return -math.inf if text.startswith("-") else math.inf
    if not text or not set(text) <= set("0123456789+-.eE"):
        return None
    digits, _, exponent = text.lower().partition("e")
    try:
        mantissa = Decimal(digits)
        power = int(exponent) if "e" in text.lower() else 0
    except (InvalidOperation, ValueError):
        return None
    if not mantissa or abs(power) < 10**4:
        return Fraction(mantissa) * Fraction(10) ** (power if mantissa else 0)
    return math.copysign(math.inf, mantissa) if power > 0 else Fraction(mantissa) / 10**10_000


def _placed_moment(attribute: Dated, cell: Any, zone: ZoneInfo) -> int | str:
    moment = _read_moment(cell, attribute.unit) if isinstance(cell, str) else cell
    if isinstance(moment, str):
        return moment
    if isinstance(moment, Beyond):
        return OUT_OF_RANGE
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        try:
            moment = moment.astimezone(zone)
        except OverflowError:
            return OUT_OF_RANGE
    low, high = (_unit_number(_end(end), attribute.unit) for end in (attribute.low, attribute.high))
    return _bounded(_unit_number(moment, attribute.unit) - low, high - low, clip=False)


def _end(written: Any) -> datetime:
    """An end, which an attribute holds in the notation of its unit."""
    full = "0001-01-01T00"
    return datetime.strptime(written + full[len(written) :], "%Y-%m-%dT%H")


def _unit_number(moment: date, unit: str) -> int:
    hour = moment.hour if isinstance(moment, datetime) else 0
    numbers = {"year": moment.year, "month": 12 * moment.year + moment.month}
    return numbers.get(unit, moment.toordinal() if unit == "day" else 24 * moment.toordinal() + hour)


def _read_moment(text: str, unit: str) -> Any:
    """The moment that a text writes as in ISO, or why there is none."""
    if text.isascii() and text.lower() in ("infinity", "-infinity", "+infinity"):
        return OUT_OF_RANGE
    year = text.partition("-")[0].removesuffix(" BC")
    if _is_digits(year) and (len(year) > 4 or (len(year) == 4 and text.endswith(" BC"))):
        # Whether it is a date is seen as if it were in another year.
        near = _read_moment("2000" + text.removesuffix(" BC")[len(year) :], unit)
        return OUT_OF_RANGE if isinstance(near, date) else WRONG_TYPE
    if unit == "year" and len(text) == 4 and _is_digits(text):
        text += "-01-01"
    if unit == "month" and len(text) == 7 and text[4] == "-" and _is_digits(text[:4] + text[5:]):
        text += "-01"
    shaped = len(text) >= 10 and text[4] == text[7] == "-" and _is_digits(text[:4] + text[5:7] + text[8:10])
    if not shaped:
        return WRONG_TYPE
    try:
        day = datetime(int(text[:4]), int(text[5:7]), int(text[8:10]))
        moment = day if len(text) == 10 else _with_time(day, text[10:])
    except ValueError:
        return WRONG_TYPE
    return moment


def _with_time(day: datetime, text: str) -> datetime:
    if text[0] not in "T ":
        raise ValueError
    time, offset = text[1:], None
    for sign in "Z+-":
        if sign in time:
            time, _, rest = time.partition(sign)
            offset = sign + rest
            break
    parts = time.split(":")
    seconds, point, fraction = (parts.pop() if len(parts) == 3 else "00").partition(".")
    if point and not _is_digits(fraction):
        raise ValueError
    numbers = [_two_digits(part) for part in parts] + [0] * (2 - len(parts))
    zone = None if offset is None else timezone(_offset(offset))
    microseconds = int((fraction + "000000")[:6])
    return day.replace(
        hour=numbers[0], minute=numbers[1], second=_two_digits(seconds), microsecond=microseconds, tzinfo=zone
    )


def _offset(text: str) -> timedelta:
    if text == "Z":
        return timedelta(0)
    rest = text[1:]
    parts = rest.split(":") if ":" in rest else [rest[start : start + 2] for start in range(0, len(rest), 2)]
    hours, minutes, seconds = ([_two_digits(part) for part in parts] + [0, 0])[:3]
    if len(parts) > 3 or max(minutes, seconds) > 59:
        raise ValueError
    size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -size if text[0] == "-" else size


def _two_digits(text: str) -> int:
    if len(text) != 2 or not _is_digits(text):
        raise ValueError
    return int(text)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
