"""Dates: the units of the calendar, one after another."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp.errors import DomainError, PredicateError
from parcomp.model import Dated
from parcomp.model.notation import between, read_predicate, write_predicate
from tests.property.strategies import dated, many

FORMATS = {"day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H", "month": "%Y-%m", "year": "%Y"}


def walk(low: datetime, high: datetime, unit: str) -> list[str]:
    """The notation of every unit from one moment to another, found by going through all hours or days between."""
    step = timedelta(hours=1) if unit == "hour" else timedelta(days=1)
    found: dict[str, None] = {}
    while low <= high:
        # strftime does not pad years, everywhere.
        found[f"{low.year:04}" + low.strftime(FORMATS[unit])[len(str(low.year)) :]] = None
        low += step
    return list(found)


@many
@given(
    st.datetimes(datetime(1, 1, 1), datetime(9998, 1, 1)), st.integers(0, 60), st.sampled_from(["day", "hour", "month"])
)
def test_the_values_are_the_units_of_a_walk_through_the_calendar(start: datetime, days: int, unit: str) -> None:
    stop = start + (timedelta(hours=days) if unit == "hour" else timedelta(days=days))
    wanted = walk(start, stop, unit)
    attribute = Dated(wanted[0], wanted[-1], unit)  # type: ignore[arg-type]
    assert [attribute.value(code) for code in range(attribute.size)] == wanted
    assert [attribute.code(text) for text in wanted] == list(range(len(wanted)))


@many
@given(dated(max_size=12))
def test_values_are_read_back_as_text_and_as_dates(attribute: Dated) -> None:
    for code in range(attribute.null):
        text = str(attribute.value(code))
        assert attribute.code(json.loads(json.dumps(text))) == code
        start = datetime.fromisoformat(text.ljust(10, "-")[:4] + "-01-01" if len(text) == 4 else (text + "-01")[:10])
        if attribute.unit == "hour":
            assert attribute.code(start.replace(hour=int(text[-2:]))) == code
        else:
            assert attribute.code(start) == attribute.code(start.date()) == attribute.code(start.isoformat()) == code
    assert pickle.loads(pickle.dumps(attribute)) == attribute


@pytest.mark.parametrize(
    ("unit", "ends", "low", "high", "size"),
    [
        ("day", ("1990-01-01", "2029-12-31"), "1990-01-01", "2029-12-31", 14_610),
        ("day", (date(2020, 2, 28), datetime(2020, 3, 1)), "2020-02-28", "2020-03-01", 3),
        ("hour", ("2020-01-31", "2020-02-01"), "2020-01-31T00", "2020-02-01T23", 48),
        ("hour", ("2020-01-31T05", "2020-01-31 07:00"), "2020-01-31T05", "2020-01-31T07", 3),
        ("hour", (datetime(2020, 1, 1, 5), date(2020, 1, 1)), "2020-01-01T05", "2020-01-01T23", 19),
        ("month", ("1990-01-01", "2029-12-31"), "1990-01", "2029-12", 480),
        ("month", ("2020-01-17", "2020-02"), "2020-01", "2020-02", 2),
        ("year", ("1990-05-05", date(2029, 1, 1)), "1990", "2029", 40),
        ("year", (1, 9999), "0001", "9999", 9_999),
        ("year", ("0001", "9999-12-31"), "0001", "9999", 9_999),
        ("day", ("0001-01-01", "9999-12-31"), "0001-01-01", "9999-12-31", 3_652_059),
        ("hour", ("0001-01-01", "9999-12-31"), "0001-01-01T00", "9999-12-31T23", 3_652_059 * 24),
    ],
)
def test_ends_may_be_dates(unit: Any, ends: Any, low: str, high: str, size: int) -> None:
    attribute = Dated(*ends, unit=unit)
    assert (attribute.low, attribute.high, attribute.size) == (low, high, size)
    assert attribute.describe() == {"low": low, "high": high, "unit": unit}
    assert (attribute.value(0), attribute.edge(size)) == (low, high)
    assert attribute == Dated(low, high, unit)
    assert hash(attribute) == hash(Dated(low, high, unit))


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("2020-01-02", "2020-01-01"), "low"),
        (("2020-01-01", "2020-01-02", "week"), "unit"),
        (("2020-01-01", "2020-01-02", None), "unit"),
        (("2020-01-01", "2020-01-02", ["day"]), "unit"),
        (("2020-02-30", "2020-03-01"), "low"),
        (("2020-01-01", "2020-13-01"), "high"),
        (("2020-01-01", datetime(2020, 1, 2, 10, 30)), "high"),
        (("2020-01-01", datetime(2020, 1, 2, tzinfo=UTC)), "high"),
        (("2020-01-01", time(5)), "high"),
        (("2020-01-01", 20200102), "high"),
        (("2020-01-01T24", "2020-01-02", "hour"), "low"),
        (("2020-01-01T05:00:00.5", "2020-01-02", "hour"), "low"),
        ((True, 2020, "year"), "low"),
        ((0, 2020, "year"), "low"),
        ((2020, 10**5_000, "year"), "high"),
        (("\uff12\uff10\uff12\uff10-01-01", "2021-01-01"), "low"),
        ((" 2020-01-01", "2021-01-01"), "low"),
        (("2020-01-01", "2021-01-01\n"), "high"),
        (("2020-01-01", "2020-01-02", "day", 1), "nullable"),
    ],
)
def test_an_ill_formed_declaration_names_the_field(arguments: tuple[Any, ...], field: str) -> None:
    with pytest.raises(DomainError) as caught:
        Dated(*arguments)
    assert caught.value.field == field
    assert len(str(caught.value)) < 200


MONTHS = Dated("2019-11", "2020-04", "month", nullable=True)


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("2020-01", ["2020-01"]),
        (date(2020, 1, 1), ["2020-01"]),
        ("2020-01-01", ["2020-01"]),
        (datetime(2020, 1, 1), ["2020-01"]),
        ("1999-01", []),
        ({"from": "2020-02", "to": "9999-12"}, ["2020-02", "2020-03", "2020-04"]),
        ({"from": "0001-01-01", "to": "2019-12-01"}, ["2019-11", "2019-12"]),
        (between("2021-01", "2022-01"), []),
        (between("2018-01", "2019-10"), []),
        (between(date(2020, 1, 1), date(2020, 2, 1)), ["2020-01", "2020-02"]),
        ({"not": between("2019-12", "2020-04")}, ["2019-11", None]),
        ([None, "2020-04"], ["2020-04", None]),
    ],
)
def test_a_predicate_names_units(written: Any, values: list[str | None]) -> None:
    predicate = read_predicate(MONTHS, written)
    assert [MONTHS.value(code) for code in range(MONTHS.size) if code in predicate] == values
    assert read_predicate(MONTHS, json.loads(json.dumps(write_predicate(MONTHS, predicate)))) == predicate


@pytest.mark.parametrize(
    ("unit", "written", "says"),
    [
        ("month", "2020-01-15", "write 2020-01$"),
        ("month", date(2020, 1, 31), "write 2020-01$"),
        ("month", "2020", "a month is written 2020-12"),
        ("month", 2020, "not a date; a month is written 2020-12"),
        ("month", {"from": "2020-01", "to": "2020-03-31"}, "write 2020-03"),
        ("month", {"from": "2020-03", "to": "2020-01"}, "reversed"),
        ("month", {"from": None, "to": "2020-01"}, "not a date"),
        ("month", "January", "a month is written 2020-12"),
        ("day", "2020-01", "a day is written 2020-12-31"),
        ("day", "2020-01-31T10:30", "write 2020-01-31$"),
        ("day", datetime(2020, 1, 31, 10), "write 2020-01-31$"),
        ("day", "2020-01-31T10", "an? day"),
        ("hour", "2020-01-31", "write 2020-01-31T00$"),
        ("hour", date(2020, 1, 31), "write 2020-01-31T00$"),
        ("hour", "2020-01-31T05:30", "write 2020-01-31T05$"),
        ("year", "2020-02-01", "write 2020$"),
        ("year", "2020-02", "a year is written 2020"),
        ("year", True, "not a date"),
        ("year", 20.5, "not a date"),
        ("year", 123_456, "calendar"),
    ],
)
def test_what_is_no_unit_is_an_error_that_says_how_to_write_one(unit: Any, written: Any, says: str) -> None:
    attribute = Dated("2019-01-01", "2021-12-31", unit)
    with pytest.raises(PredicateError, match=says):
        read_predicate(attribute, written)


def test_a_year_may_be_a_number() -> None:
    assert read_predicate(Dated(1990, 2029, "year"), [1991, between(2000, 2009)]).count == 11
