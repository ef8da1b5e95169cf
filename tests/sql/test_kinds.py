"""Comparisons with decimals, dates and levels, against brute force over all values, and what is refused."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from parcomp.errors import SqlError
from parcomp.model import Attribute, Categorical, Dated, Domain, Integer, Stepped
from parcomp.sql import parse_statement

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def accepted(attribute: Attribute, condition: str) -> list[object]:
    """The values of ``x`` that satisfy a condition."""
    where = parse_statement(Domain({"x": attribute}, name="t"), f"SELECT COUNT(*) FROM t WHERE {condition}").where
    values = [attribute.value(code) for code in range(attribute.size)]
    return [value for value in values if where.covers({"x": value})]


@pytest.mark.parametrize("step", ["0.01", "0.25", "5", "0.3"])
@pytest.mark.parametrize("nullable", [False, True])
def test_decimals_compare_with_any_literal(step: str, nullable: bool) -> None:
    draw = random.Random(step)
    size = Decimal(step)
    attribute = Stepped(-7 * size, 9 * size, size, nullable)
    values = [size * number for number in range(-7, 10)]
    literals = [*(size * Decimal(draw.randint(-45, 55)) / 5 for _ in range(40)), size * -7, size * 9, Decimal("1e40")]
    literals += [Decimal("-7.00000000000000000000000000000000000001") * size, Decimal("1e-400"), Decimal("-1e-400")]
    for literal in literals:
        for sign, compare in OPERATORS.items():
            wanted = [value for value in values if compare(value, literal)]
            found = accepted(attribute, f"x {sign} {literal}")
            assert [Decimal(repr(value)) for value in found] == wanted, (sign, literal)


def test_decimals_compare_as_numbers_do() -> None:
    kappa = Stepped("0.00", "20.00", "0.01")
    assert len(accepted(kappa, "x > 2")) == 1_800
    assert len(accepted(kappa, "x >= 2 AND x < 2.5")) == 50
    assert accepted(kappa, "x = 1.435") == []
    assert len(accepted(kappa, "x <> 1.435")) == 2_001
    assert accepted(kappa, "x IN (1.43, 1.435, 1.440)") == [1.43, 1.44]
    assert len(accepted(kappa, "x BETWEEN 0.995 AND 1.005")) == 1


def starts(attribute: Dated) -> dict[str, datetime]:
    """When each value begins."""
    return {
        text: datetime.fromisoformat((text + "-01-01")[:10] if len(text) < 13 else text + ":00")
        for text in (str(attribute.value(code)) for code in range(attribute.null))
    }


@pytest.mark.parametrize("unit", ["day", "hour", "month", "year"])
@pytest.mark.parametrize("nullable", [False, True])
def test_dates_compare_by_the_beginning_of_their_unit(unit: Any, nullable: bool) -> None:
    """What is answered is right; what is refused would cut through a declared unit, and all that does is refused."""
    draw = random.Random(f"{unit}{nullable}")
    ends = {"day": "2020-03-20", "hour": "2020-02-27", "month": "2020-12-31", "year": "2029-12-31"}
    attribute = Dated("2020-02-25", ends[unit], unit, nullable)
    begins = starts(attribute)
    moments = list(begins.values())
    refused = answered = 0
    for _ in range(40):
        moment = draw.choice(moments) + timedelta(days=draw.choice((-400, -31, -1, 0, 0, 0, 1, 30, 400, 9_000)))
        moment += timedelta(minutes=draw.choice((0, 0, 0, 60, 630)))
        day = moment.replace(hour=0, minute=0)
        own = draw.choice(list(begins))
        for literal, start, is_date in (
            (f"TIMESTAMP '{moment}'", moment, False),
            (f"'{moment:%Y-%m-%dT%H:%M}'", moment, False),
            (f"DATE '{day:%Y-%m-%d}'", day, True),
            (f"'{day:%Y-%m-%d}'", day, True),
            (f"'{own}'", begins[own], False),
        ):
            inside = moments[0] <= start and any(_same(unit, one, start) for one in moments)
            last_day = is_date and unit in {"month", "year"} and not _same(unit, start, start + timedelta(days=1))
            for sign, compare in OPERATORS.items():
                cut = inside and start not in moments and not (last_day and sign in {"<=", ">"})
                if cut:
                    refused += 1
                    with pytest.raises(SqlError, match="cannot be told"):
                        accepted(attribute, f"x {sign} {literal}")
                else:
                    answered += 1
                    wanted = [text for text, one in begins.items() if compare(one, start)]
                    assert accepted(attribute, f"x {sign} {literal}") == wanted, (sign, literal)
    assert answered > 300
    assert refused > 20


def _same(unit: str, one: datetime, other: datetime) -> bool:
    """Whether two moments are in one unit."""
    length = {"year": 4, "month": 7, "day": 10, "hour": 13}[unit]
    return one.isoformat()[:length] == other.isoformat()[:length]


MONTHS = Dated("2019-11", "2020-04", "month", nullable=True)


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("x BETWEEN DATE '2020-01-01' AND DATE '2020-03-31'", ["2020-01", "2020-02", "2020-03"]),
        ("x >= '2020-03'", ["2020-03", "2020-04"]),
        ("x < DATE '2020-01-01'", ["2019-11", "2019-12"]),
        ("x > DATE '2020-02-29'", ["2020-03", "2020-04"]),
        ("x IN ('2020-01', DATE '2020-02-01', '1999-05-17')", ["2020-01", "2020-02"]),
        ("NOT x >= '2019-12'", ["2019-11"]),
        ("x IS NULL OR x = '2019-11'", ["2019-11", None]),
        ("x <> DATE '1999-05-17'", ["2019-11", "2019-12", "2020-01", "2020-02", "2020-03", "2020-04"]),
        ("x < TIMESTAMP '1999-05-17 10:30:00'", []),
    ],
)
def test_months_compare_with_dates(condition: str, values: list[str | None]) -> None:
    assert accepted(MONTHS, condition) == values


def test_years_compare_with_numbers() -> None:
    years = Dated(2018, 2022, "year")
    assert accepted(years, "x >= 2020") == accepted(years, "x >= '2020'") == ["2020", "2021", "2022"]
    assert accepted(years, "x IN (1999, 2020)") == ["2020"]


@pytest.mark.parametrize(
    ("unit", "condition", "says"),
    [
        ("month", "x = DATE '2020-01-15'", "whole months only, so = '2020-01-15' cannot be told; .* here '2020-01'"),
        ("month", "x < DATE '2020-01-15'", "whole months only"),
        ("month", "x >= DATE '2020-01-31'", "whole months only"),
        ("month", "x < DATE '2020-01-31'", "whole months only"),
        ("month", "x = DATE '2020-01-31'", "whole months only"),
        ("month", "x IN (DATE '2020-01-02')", "IN '2020-01-02'"),
        ("month", "x <= TIMESTAMP '2020-01-31 23:59:59'", "TIMESTAMP '2020-01-31 23:59:59' cannot be told"),
        ("month", "x = '2020'", "compare with one of its months, such as '2020-01' or '2020-12', or compare EXTRACT"),
        ("month", "x = 2020", "is a number; a month is written 2020-12"),
        ("month", "x = TRUE", "TRUE is a boolean"),
        ("month", "x = 'May'", "a month is written 2020-12"),
        ("day", "x = TIMESTAMP '2020-01-15 10:30:00'", "here '2020-01-15'"),
        ("day", "x < '2020-01'", "compare with one of its days, such as '2020-01-01' or '2020-01-31'"),
        ("day", "x < '15.01.2020'", "a day is written 2020-12-31"),
        ("hour", "x > TIMESTAMP '2020-01-15 10:30:00'", "here '2020-01-15T10'"),
        ("hour", "x > '2020-01'", "is a whole month; compare with one of its hours"),
        ("year", "x > '2020-06'", "here '2020'"),
        ("year", "x > 2020.5", "is a number"),
        ("year", f"x > {'9' * 4_500}", "not a year|is a number"),
    ],
)
def test_a_refusal_says_what_to_write(unit: Any, condition: str, says: str) -> None:
    with pytest.raises(SqlError, match=says):
        accepted(Dated("2019-11-01", "2021-04-30", unit), condition)


ICD = Domain(
    {
        "age": Integer(0, 9),
        "icd": Categorical(
            ["C00", "C01", "I10"],
            True,
            {"chapter": {"Neoplasms": ["C00", "C01"], "Other": "rest"}, "Limit": {"x": "rest"}},
        ),
    },
    name="t",
)


@pytest.mark.parametrize(
    ("condition", "same"),
    [
        ("chapter = 'Neoplasms'", "icd IN ('C00', 'C01')"),
        ("chapter <> 'Neoplasms'", "icd = 'I10'"),
        ("NOT chapter = 'Neoplasms'", "icd = 'I10'"),
        ("chapter IN ('Other')", "icd = 'I10'"),
        ("chapter NOT IN ('Other')", "icd IN ('C00', 'C01')"),
        ("chapter NOT IN ('Other', NULL)", "FALSE"),
        ("chapter IS NULL", "icd IS NULL"),
        ("CHAPTER IS NOT NULL", "icd IS NOT NULL"),
        ("t.chapter < 'O'", "icd IN ('C00', 'C01')"),
        ("chapter BETWEEN 'A' AND 'Z'", "icd IS NOT NULL"),
        ("chapter = 'Neoplasms' AND icd <> 'C00'", "icd = 'C01'"),
        ("chapter IS DISTINCT FROM 'Other'", "icd IN ('C00', 'C01') OR icd IS NULL"),
        ("chapter = 'Neoplasms' OR chapter = 'Other'", "icd IS NOT NULL"),
        ("\"Limit\" = 'x' AND 'Other' = chapter", "icd = 'I10'"),
    ],
)
def test_a_level_says_the_same_as_its_values(condition: str, same: str) -> None:
    texts = {parse_statement(ICD, f"SELECT COUNT(*) FROM t WHERE {one}").text for one in (condition, same)}
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT ‸icd, COUNT(*) FROM t GROUP BY chapter", "differs within a group"),
        ("SELECT ‸chapter, COUNT(*) FROM t GROUP BY age", "chapter is selected without GROUP BY"),
        ("SELECT COUNT(*) FROM t WHERE ‸chapter = 'other'", "no value 'other'; did you mean 'Other'"),
        ("SELECT COUNT(DISTINCT ‸chapter) FROM t", "GROUP BY chapter works"),
        ("SELECT SUM(‸chapter) FROM t", "GROUP BY chapter works"),
        ("SELECT COUNT(*) FROM t WHERE ‸chapter = 3", "chapter has strings for values; 3 is a number"),
        ("SELECT COUNT(*) FROM t WHERE ‸chapter", "is no condition by itself"),
        ("SELECT COUNT(*) FROM t WHERE icd = ‸chapter", "two attributes"),
        ("SELECT COUNT(*) FROM t WHERE ‸chapters = 'x'", "there are age, icd, chapter, Limit"),
        ("SELECT COUNT(*) FROM t WHERE ‸\"Chapter\" = 'x'", 'written "chapter"'),
        ("SELECT COUNT(*) FROM t WHERE ‸LIMIT = 'x'", 'written "Limit"'),
    ],
)
def test_what_a_level_cannot_do_is_refused(text: str, says: str) -> None:
    place = text.index("‸")
    with pytest.raises(SqlError, match=says) as caught:
        parse_statement(ICD, text.replace("‸", ""))
    assert caught.value.column == place + 1
