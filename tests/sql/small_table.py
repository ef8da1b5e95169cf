"""A small table with everything in it, in a real database and as plain rows, and items computed on the plain rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb

from parcomp.custodian.presentation import present
from parcomp.figures import Figure
from parcomp.model import Binned, Categorical, Dated, Domain, Integer, Item, Selection, Statement, Stepped, Value

__all__ = [
    "DOMAIN",
    "answer_of",
    "assert_alike",
    "database",
    "exact_figures",
    "groups_without_rows",
    "plain_rows",
    "truth_of",
]

LEVELS = {"chapter": {"Neoplasms": ["C00", "C01", "C50.9"], "Heart": ["I10", "I21"], "Rest": "rest"}}

DOMAIN = Domain(
    {
        "sex": Categorical(["F", "M"]),
        "age": Integer(0, 99),
        "visits": Integer(-20, 20, nullable=True),
        "pay": Stepped("-5.00", "20.00", "0.25", nullable=True),
        "code": Categorical(["C00", "C01", "C50.9", "I10", "I21", "100%"], nullable=True, levels=LEVELS),
        "married": Categorical([True, False], nullable=True),
        "born": Dated("2019-12-28", "2021-03-05", nullable=True),
        "seen": Dated("2020-02-28", "2020-03-02", unit="hour"),
        "quarter_of": Dated("2019-11", "2021-02", unit="month"),
        "grade": Categorical([3, 1, 2]),
        "income": Binned(0, 400, bins=4, nullable=True),
    },
    name="t",
)

_BORN = ["2019-12-28", "2019-12-31", "2020-01-01", "2020-02-29", "2020-06-30", "2020-07-01", "2021-01-03", "2021-03-05"]
_SEEN = ["02-28", "02-29", "03-01", "03-02"]


def plain_rows() -> list[dict[str, Value]]:
    """147 rows, an odd number, with nulls and without any pattern that would make averages equal."""
    codes = ["C00", "I10", "C01", None, "I21", "C50.9", "100%"]
    rows: list[dict[str, Value]] = []
    for number in range(147):
        mixed = number * 7919 % 1009
        month = mixed % 16
        rows.append(
            {
                "sex": "F" if mixed % 5 < 3 else "M",
                "age": mixed * 13 % 100,
                "visits": None if number % 11 == 3 else mixed % 41 - 20,
                "pay": None if number % 13 == 5 else (mixed % 101 - 20) / 4,
                "code": codes[mixed % 7],
                "married": (True, False, None)[mixed % 3],
                "born": None if number % 9 == 4 else _BORN[mixed % 8],
                "seen": f"2020-{_SEEN[mixed % 4]}T{mixed % 24:02}",
                "quarter_of": f"{2019 + (month + 10) // 12}-{(month + 10) % 12 + 1:02}",
                "grade": mixed % 3 + 1,
                "income": None if number % 10 == 7 else mixed % 4 * 100,
            }
        )
    return rows


def database(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """The rows as a table ``t``; a level is a column there, a month its first day."""
    connection = duckdb.connect(path)
    connection.execute(
        "CREATE TABLE t (sex VARCHAR, age INTEGER, visits INTEGER, pay DECIMAL(8, 2), code VARCHAR, married BOOLEAN, "
        "born DATE, seen TIMESTAMP, quarter_of DATE, grade INTEGER, income INTEGER, chapter VARCHAR)"
    )
    code = DOMAIN.attributes["code"]
    assert isinstance(code, Categorical)
    groups = {value: group for group, values in code.levels["chapter"].items() for value in values}
    written = []
    for row in plain_rows():
        stored = {**row, "seen": f"{row['seen']}:00:00", "quarter_of": f"{row['quarter_of']}-01"}
        written.append((*stored.values(), groups.get(row["code"])))
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * 12)})", written)
    return connection


def exact_figures(statement: Statement) -> dict[Item, list[Figure]]:
    """Each item of a statement in each group, without noise."""
    groups: dict[tuple[Value, ...], list[dict[str, Value]]] = {labels: [] for labels in statement.group_labels()}
    for row in plain_rows():
        if statement.where.covers(row):
            groups[tuple(_labels(statement, row))].append(row)
    return {item: [_figure(_measured(item, rows)) for rows in groups.values()] for item in statement.items}


def answer_of(selection: Selection) -> tuple[list[str], list[tuple[Value, ...]], int]:
    """Names, rows, and how many groups have no rows at all."""
    columns = present(selection, exact_figures(selection.statement))
    rows = list(zip(*(column.values for column in columns), strict=True))
    return [column.name for column in columns], rows, groups_without_rows(selection)


def groups_without_rows(selection: Selection) -> int:
    """How many groups a statement has of which the plain rows have none."""
    counted = Statement(selection.statement.where, (Item("count"),), selection.statement.groups)
    return sum(not one.value for one in exact_figures(counted)[Item("count")])


def truth_of(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    """What the database answers, dates in ISO notation."""
    return [tuple(map(_plain, row)) for row in connection.execute(sql).fetchall()]


def assert_alike(
    selection: Selection, rows: Sequence[Sequence[Any]], truth: Sequence[Sequence[Any]], empty: int, tolerance: float
) -> None:
    """Rows of an answer are what a database says, but for ``empty`` groups without rows, which are answered too."""
    if selection.having is not None or selection.limit is not None or selection.offset:
        empty = 0
    if not selection.order:
        rows, truth = sorted(rows, key=_key), sorted(truth, key=_key)
    left = iter(rows)
    assert len(rows) == len(truth) + empty
    for wanted in truth:
        # What there is beside groups without rows comes in the same order.
        assert any(_same(found, wanted, tolerance) for found in left), (wanted, rows)


def _key(row: Sequence[Any]) -> list[tuple[str, Any]]:
    return [
        ("", 0)
        if value is None
        else ("n", round(float(value), 9))
        if _is_number(value)
        else (type(value).__name__, value)
        for value in row
    ]


def _same(found: Sequence[Any], wanted: Sequence[Any], tolerance: float) -> bool:
    return len(found) == len(wanted) and all(
        math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-9)
        if _is_number(one) and _is_number(other)
        else (type(one), one) == (type(other), other)
        for one, other in zip(found, wanted, strict=True)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.date().isoformat() if value.hour == 0 else f"{value:%Y-%m-%dT%H}"
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def _labels(statement: Statement, row: dict[str, Value]) -> Iterator[Value]:
    for grouping in statement.groups:
        name = statement.domain.names[grouping.index]
        if grouping.bands is None:
            yield row[name]
            continue
        code = statement.domain.attributes[name].code(row[name])
        assert code is not None
        yield next(
            label for label, member in zip(grouping.bands.labels, grouping.bands.members, strict=True) if code in member
        )


def _measured(item: Item, rows: Sequence[dict[str, Value]]) -> int | float | None:
    if item.attribute is None:
        return len(rows)
    values = [row[item.attribute] for row in rows if row[item.attribute] is not None]
    if item.kind == "count":
        return len(values)
    if item.kind == "distinct":
        return len(set(values))
    numbers = sorted(Fraction(value) for value in values)  # type: ignore[arg-type]
    if not numbers:
        return None
    if item.at is not None:
        place = max(math.ceil(item.at * len(numbers)), 1)
        return _number(numbers[place - 1])
    total = sum(numbers)
    if item.kind == "sum":
        return _number(Fraction(total))
    mean = Fraction(total, len(numbers))
    if item.kind == "average":
        return float(mean)
    divisor = len(numbers) - item.sample
    if not divisor:
        return None
    variance = sum((number - mean) ** 2 for number in numbers) / divisor
    return float(variance) if item.kind == "variance" else math.sqrt(variance)


def _number(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _figure(value: int | float | None) -> Figure:
    return Figure(value, value, value, 0.0)
