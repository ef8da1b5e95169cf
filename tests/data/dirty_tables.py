"""Random tables as they come: declarations, and cells at and around everything that they tell apart.

A table is drawn from a seed, so that a failure is told by its number.  Cells are values of Python; which of them a
column can hold is up to its source (:mod:`tests.data.dirty_sources`).
"""

from __future__ import annotations

# ruff: noqa: RUF001  characters that look like others are wanted here
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random
from typing import Any

from parcomp.model.attribute import Attribute, Binned, Categorical, Dated, Integer, Stepped

__all__ = ["NULL_TOKENS", "ZONES", "DirtyColumn", "Draw", "random_attribute"]

ZONES = ["UTC", "Europe/Vienna", "America/St_Johns", "Pacific/Apia", "Asia/Kathmandu"]
NULL_TOKENS = [(), ("NA",), ("NA", ""), ("nan", "NaN", "NULL"), ("0", "-1", "1.5"), ("true", "2020-02-29"), ("null",)]

STRINGS = ["F", "f", "F ", "", "O'Brien", 'a"b', "back\\", "😀", "é", "e\u0301", "x\ny", "x\r\ny", "a,b;c\td|e", "%s"]
ODD_TEXTS = [
    *STRINGS,
    *("NA", "N/A", "nan", "NaN", "null", "NULL", "-", "?", " ", "inf", "-Infinity", "+INF", "+-inf", "infinity"),
    *(
        "0x1",
        "1_000",
        "١",
        "1,5",
        " 1",
        "1 ",
        "1\n",
        "\n1",
        "1e",
        "e1",
        ".",
        "+",
        "-",
        "--1",
        "1-",
        "1.2.3",
        "+.5",
        "5.",
    ),
    *("1e400", "-1e400", "1e-400", "-1e-400", "1e99999999999999999999", "-1e-99999999999999999999", "0e999999999999"),
    *("true", "TRUE", "False", "fALSE", "t", "f", "yes", "no", "1", "0", "1.0", "0.0", "-0", "00", "01", "+1", "1e0"),
    *("0e5", "-0.0e-9", "9" * 60, "0." + "0" * 60 + "1", "1" + "0" * 30 + ".0", "2" * 16, "12345678901234.5"),
    *("true ", "ｔｒｕｅ", "falſe", "2020-02-30", "2020-2-3", "20200203", "2020-W05-1", "03/02/2020", "0000-01-01"),
    *("10000-01-01", "12345-foo", "0044-03-15 BC", "nonsense BC", "2020", "2020-02", "2020-02-", "2020-02-29T"),
]
NOT_NUMBERS = [math.nan, math.inf, -math.inf]
ODD_DOUBLES = [
    *NOT_NUMBERS,
    -0.0,
    5e-324,
    -5e-324,
    1.7e308,
    -1.7e308,
    2.0**53,
    2.0**53 + 2,
    2.0**63,
    1e22,
    1e20,
    0.1 + 0.2,
]

_ENDS = [(0, 9), (-3, 6), (1, 1), (2**31 - 2, 2**31 + 2), (2**53 - 3, 2**53 + 4), (2**63 - 3, 2**63 + 3)]
_ENDS += [
    (-(2**63) - 2, -(2**63) + 2),
    (10**20 - 2, 10**20 + 2),
    (2**64 - 2, 2**64 + 2),
    (0, 10**8),
    (16777214, 16777220),
]
_STEPS = ["0.1", "0.01", "0.25", "0.07", "0.3", "3", "2.5", "1000", "0.0000001", "0.001", "1", "1e15", "7e-9", "0.5"]
_BINS = [
    (0, 1, 10),
    (-100, 100, 8),
    (-1, 4, 3),
    (0.5, 4.5, 3),
    (0, 2**60, 2),
    (-1.5, 4.5, 3),
    (0, 7500, 50),
    (0.1, 0.7, 3),
]
_BINS += [(-(2**63), 2**63, 4), (0, 2.5, 7), (2**53 - 4, 2**53 + 4, 8), (-3, 6, 9), (1e-9, 5e-9, 4)]
_DAYS = [
    ("2020-02-20", "2020-03-05"),
    ("1969-12-20", "1970-01-10"),
    ("0001-01-01", "0001-01-09"),
    ("9999-12-20", "9999-12-31"),
]
_DAYS += [
    ("2021-03-20", "2021-04-05"),
    ("1582-10-01", "1582-10-20"),
    ("2011-12-25", "2012-01-03"),
    ("2262-04-01", "2262-04-20"),
]
_DAYS += [("1677-09-15", "1677-09-30"), ("1890-01-01", "1895-12-31"), ("1900-01-01", "2100-12-31")]


@dataclass(frozen=True, slots=True)
class DirtyColumn:
    """A column of a source: its attribute, the type in the source's own words, and its cells."""

    name: str
    attribute: Attribute
    kind: Any
    cells: Sequence[Any]


def random_attribute(draw: Random, kind: str) -> Attribute:
    """An attribute of a kind: strings, integers, names, booleans, steps, bins or dates."""
    nullable, clip = draw.random() < 0.4, draw.random() < 0.3
    match kind:
        case "strings":
            values = [*STRINGS, "2020-02-29", "1969-12-31", "NA", "1", "10000-01-01"]
            return Categorical(draw.sample(values, draw.randrange(1, 8)), nullable)
        case "names":
            values = [0, 1, 2, -7, 2**53 + 1, 2**62, 2**63, 10**20, 10**30, 16777217, 16777216, 65500, 65504, 9]
            return Categorical(draw.sample(values, draw.randrange(1, 8)), nullable)
        case "booleans":
            return Categorical(draw.choice([[True, False], [False, True], [True], [False]]), nullable)
        case "integers":
            return Integer(*draw.choice(_ENDS), nullable, clip)
        case "steps":
            step = Decimal(draw.choice(_STEPS))
            low = draw.choice([0, 0, 1, -10, -3])
            return Stepped(low * step, (low + draw.choice([0, 1, 20, 2_000])) * step, step, nullable, clip)
        case "bins":
            return Binned(*draw.choice(_BINS), nullable, clip)
        case _:
            low, high = draw.choice(_DAYS)
            return Dated(low, high, draw.choice(["day", "day", "hour", "month", "year"]), nullable)


class Draw:
    """Draws the cells of an attribute's column."""

    def __init__(self, draw: Random, attribute: Attribute) -> None:
        self.random = draw
        self.attribute = attribute

    def number(self) -> Decimal:
        """A number near something that the attribute tells apart."""
        draw, attribute = self.random, self.attribute
        with localcontext(prec=80):
            if isinstance(attribute, Stepped):
                first, last = (
                    int(Decimal(str(end)) / Decimal(str(attribute.step))) for end in (attribute.low, attribute.high)
                )
                place = draw.choice(
                    [first, last, first - 1, last + 1, draw.randint(first, last), draw.randint(first, last)]
                )
                number = (place + Decimal(draw.choice(["0", "0", "0.5", "-0.5", "0.4", "0.25"]))) * Decimal(
                    str(attribute.step)
                )
            elif isinstance(attribute, Binned):
                low, high = Fraction(str(attribute.low)), Fraction(str(attribute.high))
                place = draw.choice([0, attribute.bins, draw.randint(-1, attribute.bins + 1)])
                edge = low + (high - low) * place / attribute.bins
                number = Decimal(edge.numerator) / Decimal(edge.denominator)
            elif isinstance(attribute, Integer):
                number = Decimal(
                    draw.choice([attribute.low, attribute.high, draw.randint(attribute.low - 2, attribute.high + 2)])
                )
                number += Decimal(draw.choice(["0"] * 9 + ["0.5", "0.001"]))
            elif isinstance(attribute, Categorical) and isinstance(attribute.values[0], int):
                number = Decimal(int(draw.choice(attribute.values))) + draw.choice([0, 0, 0, 1])
            else:
                number = Decimal(draw.randint(-3, 10))
            places = draw.choice([6, 15, 17, 30]) - number.adjusted()
            return number + draw.choice([0] * 6 + [1, -1]) * Decimal(1).scaleb(-min(max(places, -20), 60))

    def double(self) -> float:
        """A double at, next to or near such a number, or an odd one."""
        if self.random.random() < 0.15:
            return self.random.choice(ODD_DOUBLES)
        number = float(self.number())
        return self.random.choice([number, number, math.nextafter(number, -math.inf), math.nextafter(number, math.inf)])

    def integer(self, low: int, high: int) -> int:
        """An integer of a type with these ends."""
        if self.random.random() < 0.1:
            return self.random.choice([low, high, 0, max(low, -1)])
        return min(max(int(self.number()), low), high)

    def decimal(self, digits: int, places: int) -> Decimal:
        """A decimal of a type with so many digits, of which so many come after the point."""
        with localcontext(prec=120):
            largest = Decimal(10) ** (digits - places) - Decimal(1).scaleb(-places)
            if self.random.random() < 0.05:
                return self.random.choice([largest, -largest])
            rounded = self.number().quantize(Decimal(1).scaleb(-places))
            return min(max(rounded, -largest), largest)

    def moment(self) -> datetime:
        """A moment, without a zone, near an end of the attribute or anywhere."""
        draw, attribute = self.random, self.attribute
        ends = (
            "0001-01-01",
            "9999-12-31",
            "2021-03-28",
            "2011-12-30",
            "1970-01-01",
            "1893-04-01",
            "2262-04-11",
            "1677-09-21",
        )
        near = [draw.choice(ends)]
        if isinstance(attribute, Dated):
            near = [str(attribute.low), str(attribute.high)] * 3 + near
        start = datetime.fromisoformat((draw.choice(near) + "-01-01" * 2)[:10])
        hours = draw.choice([0, 0, draw.randint(-72, 72), draw.randint(-400, 400)])
        seconds = draw.choice([0, 0, -1, 1799, 3599, 86399, draw.randint(0, 86400)])
        try:
            return start + timedelta(hours=hours, seconds=seconds, microseconds=draw.choice([0, 0, -1, 1, 999_999]))
        except OverflowError:
            return start

    def aware(self) -> datetime:
        """A point in time."""
        if self.random.random() < 0.7:
            return self.moment().replace(tzinfo=UTC)
        offset = timedelta(minutes=15 * self.random.randint(-48, 56))
        return self.moment().replace(tzinfo=timezone(offset))

    def day(self) -> date:
        """A date."""
        return self.moment().date()

    def text(self) -> str:
        """Text: a value as someone would write it, or odd."""
        draw, attribute = self.random, self.attribute
        if draw.random() < 0.3:
            return draw.choice(ODD_TEXTS)
        if isinstance(attribute, Dated):
            return self._written_moment()
        if isinstance(attribute, Categorical) and isinstance(attribute.values[0], str):
            chosen = str(draw.choice(attribute.values))
            return draw.choice([chosen] * 6 + [chosen + " ", chosen.upper(), chosen.lower()])
        if isinstance(attribute, Categorical) and isinstance(attribute.values[0], bool):
            return draw.choice(["true", "false", "True", "FALSE", "1", "0", "1.0", "2", "0.5"])
        return self._written_number()

    def _written_number(self) -> str:
        draw = self.random
        if draw.random() < 0.4:
            return repr(self.double())
        number = self.number()
        text = draw.choice(
            [format(number, "f"), format(number, "f"), str(number), format(number, "e"), format(number, "E")]
        )
        if "." in text and "e" not in text.lower():
            text += draw.choice(["", "0", "000"])
        return draw.choice(["", "", "", "+", "0"]) + text if number >= 0 else text

    def _written_moment(self) -> str:
        draw, moment = self.random, self.moment()
        form = draw.randrange(8)
        if form < 2:
            return moment.date().isoformat()
        if form == 2:
            return moment.isoformat(
                sep=draw.choice("T "), timespec=draw.choice(["hours", "minutes", "seconds", "milliseconds"])
            )
        if form == 3:
            offsets = [
                "Z",
                "+00",
                "+00:00",
                "+0530",
                "-03:30",
                "+14:00",
                "-12",
                "+24:00",
                "+01:75",
                "+00:00:30",
                "+5",
                "z",
                "+",
            ]
            return moment.isoformat(sep=draw.choice("T "), timespec="seconds") + draw.choice(offsets)
        if form == 4:
            return moment.isoformat()[: draw.choice([4, 7, 10, 13, 16])]
        if form == 5:
            return moment.date().isoformat() + draw.choice(
                ["T24:00", " 12:60", "T12:30:60", "T1", "T12:3", "x", " ", "T12:30:30.", "T00:00Z"]
            )
        if form == 6:
            return moment.isoformat() + draw.choice(["123456789", "000", " BC", "+01:00 BC"])
        return self.aware().isoformat(sep=draw.choice("T "))
