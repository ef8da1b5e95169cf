"""Expressions over one attribute: what they make of each value, against a database and against plain enumeration."""

from __future__ import annotations

import random
import re
import time
from contextlib import suppress

import duckdb
import pytest

from parcomp.errors import SqlError
from parcomp.model import Dated, Domain, Integer, Item, Predicate, Stepped, Unit
from parcomp.sql import parse_selection, parse_statement

DOMAIN = Domain({"x": Integer(-30, 30, nullable=True)}, name="t")
VALUES = [*range(-30, 31), None]


def table() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (code INTEGER, x INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(VALUES)))
    return connection


def random_number(draw: random.Random, depth: int) -> str:
    """An expression that is a number; without parentheses where precedence allows, so that it counts."""
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(("x", "x", "x", str(draw.randint(0, 9)), f"-{draw.randint(1, 9)}"))
    one, other = random_number(draw, depth - 1), random_number(draw, depth - 1)
    constant = draw.choice((2, 3, 5, 7))
    return draw.choice(
        [
            f"{one} + {other}",
            f"{one} - ({other})",
            f"({one}) * {constant}",
            f"{one} - x % {constant}",
            f"x % {constant} * {constant}",
            f"({one}) % {constant}",
            f"x - x % {constant}",
            f"FLOOR(({one}) / {constant}.0)",
            f"CEIL(({one}) / 4.0)",
            "FLOOR(x / 2.5) * 2",
            f"TRUNC(({one}) / 8.0)",
            f"ABS({one})",
            f"SIGN({one})",
            f"-({one})",
            f"COALESCE({one}, {constant})",
            f"NULLIF({one}, {constant})",
            f"GREATEST({one}, {constant})",
            f"LEAST({one}, {other})",
            f"CASE WHEN {random_condition(draw, depth - 1)} THEN {one} ELSE {other} END",
            f"CASE WHEN x > {constant} THEN {one} WHEN x < -{constant} THEN {other} END",
            f"CASE x % {constant} WHEN 1 THEN {constant} WHEN -1 THEN {one} ELSE x END",
        ]
    )


def random_condition(draw: random.Random, depth: int) -> str:
    constant = draw.randint(-12, 12)
    number = random_number(draw, max(depth, 0))
    if "x" not in number:
        number = f"{number} + x"
    return draw.choice(
        [
            f"{number} {draw.choice(('=', '<>', '<', '<=', '>', '>='))} {constant}",
            f"{constant} {draw.choice(('=', '<', '>='))} {number}",
            f"{number} BETWEEN {constant} AND {constant + 7}",
            f"{number} NOT IN ({constant}, 0, 3)",
            f"({number}) IS NULL",
            f"({number}) IS DISTINCT FROM {constant}",
            f"NOT ({number} > {constant} OR x = 3)",
        ]
    )


@pytest.mark.parametrize("seed", range(3))
def test_an_expression_gives_what_the_database_computes(seed: int) -> None:
    """As labels of groups, and compared in WHERE."""
    draw, connection = random.Random(seed), table()
    kinds = 0
    for _ in range(120):
        number = random_number(draw, 3)
        if "x" not in number:
            continue
        truth = [value for (value,) in connection.execute(f"SELECT {number} FROM t ORDER BY code").fetchall()]
        grouping = parse_statement(DOMAIN, f"SELECT COUNT(*) FROM t GROUP BY {number}").groups[0]
        bands = grouping.bands
        if bands is None:
            assert truth == VALUES
            continue
        labels = {
            code: label for label, member in zip(bands.labels, bands.members, strict=True) for code in _in(member)
        }
        assert [labels[code] for code in range(len(VALUES))] == truth, number
        known = [label for label in bands.labels if label is not None]
        assert known == sorted(known)
        kinds += len(bands.labels) > 2
    assert kinds > 40


@pytest.mark.parametrize("seed", range(3))
def test_a_comparison_of_an_expression_finds_the_rows_that_the_database_finds(seed: int) -> None:
    draw, connection = random.Random(seed + 100), table()
    decided = 0
    for _ in range(150):
        condition = random_condition(draw, 2)
        sql = f"SELECT code FROM t WHERE {condition}"
        truth = {code for (code,) in connection.execute(sql).fetchall()}
        where = parse_statement(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {condition}").where
        assert {code for code, value in enumerate(VALUES) if where.covers({"x": value})} == truth, condition
        decided += 0 < len(truth) < len(VALUES)
    assert decided > 60


def _in(member: Predicate) -> list[int]:
    return [code for start, stop in member.runs() for code in range(start, stop)]


PARTS = ["CENTURY", "DECADE", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW"]
UNITS = ["decade", "year", "quarter", "month", "week", "day"]
DAYS = Domain({"x": Dated("1999-12-20", "2005-01-20", nullable=True)}, name="t")


@pytest.mark.parametrize(
    "key", [*(f"EXTRACT({part} FROM x)" for part in PARTS), *(f"DATE_TRUNC('{unit}', x)" for unit in UNITS)]
)
def test_the_calendar_is_that_of_the_database(key: str) -> None:
    """Over five years of days: labels, and where each label is found again by a comparison."""
    days = [DAYS.attributes["x"].value(code) for code in range(DAYS.attributes["x"].size)]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (code INTEGER, x DATE)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(days)))
    truth = [value for (value,) in connection.execute(f"SELECT {key} FROM t ORDER BY code").fetchall()]
    truth = [value if value is None or isinstance(value, int) else f"{value:%Y-%m-%d}" for value in truth]
    bands = parse_statement(DAYS, f"SELECT COUNT(*) FROM t GROUP BY {key}").groups[0].bands
    if bands is None:
        assert truth == days
        return
    labels = {code: label for label, member in zip(bands.labels, bands.members, strict=True) for code in _in(member)}
    assert [labels[code] for code in range(len(days))] == truth
    for label in [one for one in bands.labels if one is not None][:8]:
        where = parse_statement(DAYS, f"SELECT COUNT(*) FROM t WHERE {key} = {label!r}").where
        ((_, found),) = where.alternatives[0].terms
        assert _in(found) == [code for code, one in enumerate(truth) if one == label]


def test_centuries_begin_with_their_year_one() -> None:
    """As in PostgreSQL; the database of the other tests begins them a year earlier."""
    statement = parse_statement(DAYS, "SELECT COUNT(*) FROM t GROUP BY DATE_TRUNC('century', x)")
    assert list(statement.group_labels()) == [("1901-01-01",), ("2001-01-01",), (None,)]


def test_a_constant_divided_by_an_attribute_has_a_pole() -> None:
    """Null at zero, and on both sides of it as the database has it."""
    rows = table().execute("SELECT code, x FROM t").fetchall()
    for condition, holds in {
        "20 / x > 3": lambda x: 20 / x > 3,
        "20 // x > 3": lambda x: int(20 / x) > 3,
        "20.0 / x < -3": lambda x: 20 / x < -3,
        "(20 / x) IS NULL": lambda x: False,
    }.items():
        where = parse_statement(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {condition}").where
        wanted = {code for code, x in rows if (x is None or x == 0) == ("NULL" in condition) and (not x or holds(x))}
        assert {code for code, x in rows if where.covers({"x": x})} == wanted, condition


WIDE = Domain(
    {
        "big": Integer(-50_000_000, 50_000_000, nullable=True),
        "cents": Stepped("0.00", "1000000.00", "0.01"),
        "day": Dated("1900-01-01", "2099-12-31"),
        "hour": Dated("1970-01-01", "2069-12-31", unit="hour"),
    },
    name="t",
)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("key", "groups", "first", "last"),
    [
        ("FLOOR(big / 1000000)", 102, -50, None),
        ("big // 1000000", 102, -50, None),
        ("big / 1000000", None, None, None),
        ("FLOOR(big / 1000000.0) * 1000000", 102, -50_000_000, None),
        ("big - big % 10000000", 12, -50_000_000, None),
        ("ABS(big) // 10000000", 7, 0, None),
        ("ABS(big - 7) // 10000000", 7, 0, None),
        ("CASE WHEN big < 0 THEN 'negative' WHEN big > 1000 THEN 'many' END", 3, "negative", None),
        ("ROUND(cents / 100000)", 11, 0, 10),
        ("FLOOR(cents)", None, None, None),
        ("EXTRACT(YEAR FROM day)", 200, 1900, 2099),
        ("EXTRACT(MONTH FROM day)", 12, 1, 12),
        ("EXTRACT(DOW FROM day)", None, None, None),
        ("EXTRACT(WEEK FROM day)", 53, 1, 53),
        ("DATE_TRUNC('quarter', day)", 800, "1900-01-01", "2099-10-01"),
        ("DATE_TRUNC('month', hour)", 1_200, "1970-01-01", "2069-12-01"),
        ("EXTRACT(MONTH FROM hour)", 12, 1, 12),
        ("EXTRACT(HOUR FROM hour)", None, None, None),
        ("big % 3", None, None, None),
        ("big * big", None, None, None),
    ],
)
def test_many_values_are_cut_into_few_pieces_or_refused(key: str, groups: int, first: object, last: object) -> None:
    """None: the expression changes too often, and is refused."""
    begun = time.perf_counter()
    sql = f"SELECT COUNT(*) FROM t GROUP BY {key}"
    if groups is None:
        with pytest.raises(
            SqlError, match="changes more than 50,000 times over the attribute's values; use wider bands"
        ):
            parse_statement(WIDE, sql)
    else:
        labels = [label for (label,) in parse_statement(WIDE, sql).group_labels()]
        assert (len(labels), labels[0], labels[-1]) == (groups, first, last)
    assert time.perf_counter() - begun < 10


def test_comparisons_on_many_values_are_found_by_bisection() -> None:
    for condition, count in {
        "big * 2 + 1 > 99": 50_000_000 - 49,
        "FLOOR(big / 10) = 3": 10,
        "-big BETWEEN 5 AND 7": 3,
        "ABS(big) < 3": 5,
        "big / 10 = 0": 1,
        "big // 10 = 0": 19,
        "cents * 100 = 250": 1,
        "EXTRACT(YEAR FROM hour) = 2000": 366 * 24,
    }.items():
        where = parse_statement(WIDE, f"SELECT COUNT(*) FROM t WHERE {condition}").where
        ((_, predicate),) = where.alternatives[0].terms
        assert (len(where.alternatives), predicate.count) == (1, count), condition


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "SELECT COUNT(*) FROM t GROUP BY x / 10",
            "SELECT x / 10 AS d, COUNT(*) FROM t GROUP BY d ORDER BY 2 DESC LIMIT 3",
        ),
        ("SELECT COUNT(*) FROM t GROUP BY x // 10", "SELECT COUNT(*) FROM t GROUP BY TRUNC(x / 10)"),
        ("SELECT COUNT(*) FROM t GROUP BY x", "SELECT x + 0, COUNT(1) FROM t GROUP BY 1"),
        ("SELECT COUNT(*) FROM t GROUP BY x % 2 = 1", ""),
        (
            "SELECT CASE WHEN x < 5 THEN 'low' ELSE 'high' END, COUNT(*) FROM t GROUP BY 1",
            "SELECT COUNT(*) FROM t GROUP BY CASE WHEN NOT x < 5 OR x IS NULL THEN 'high' ELSE 'low' END",
        ),
        ("SELECT AVG(x), COUNT(*) FROM t", "SELECT ROUND(COUNT(*) / 2), AVG(x) AS m FROM t ORDER BY m"),
        ("SELECT COUNT(x) FROM t", "SELECT COUNT(*) FROM t WHERE x IS NOT NULL"),
        ("SELECT MEDIAN(x) FROM t", "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) FROM t"),
        ("SELECT STDDEV(x) FROM t", "SELECT STDDEV_SAMP(x) / 2 AS s FROM t"),
        ("SELECT COUNT(*) FROM t WHERE 1 = 1", "SELECT COUNT('a') FROM t WHERE TRUE"),
    ],
)
def test_wordings_of_the_same_share_what_was_bought(one: str, other: str) -> None:
    if not other:
        with pytest.raises(SqlError):
            parse_statement(DOMAIN, one)
        return
    assert parse_statement(DOMAIN, one).text == parse_statement(DOMAIN, other).text


def test_names_of_columns_are_as_written_and_told_apart() -> None:
    text = "SELECT COUNT( * ), AVG(x)  AS m, COUNT(*), x/10, m + 1 AS m FROM t GROUP BY x / 10"
    with pytest.raises(SqlError, match="unknown attribute 'm'"):
        parse_selection(DOMAIN, text)
    found = parse_selection(DOMAIN, "SELECT COUNT( * ), AVG(x)  AS m, COUNT( *\n), x/10, 2 AS m FROM t GROUP BY x / 10")
    assert [column.name for column in found.columns] == ["COUNT( * )", "m", "COUNT( * )_2", "x/10", "m_2"]
    assert set(found.statement.items) == {Item("count"), Item("average", "x")}


def test_keys_that_are_not_listed_come_last() -> None:
    """Each under what it is written as."""
    found = parse_selection(DOMAIN, "SELECT AVG(x) AS m FROM t GROUP BY x // 10, x  % 2 HAVING m > 3 ORDER BY 1")
    assert [column.name for column in found.columns] == ["m", "x // 10", "x % 2"]
    text = "SELECT AVG(x) FROM t GROUP BY CASE WHEN x IN (1, 2) THEN 'a' ELSE 'b' END, x"
    found = parse_selection(DOMAIN, text)
    assert [column.name for column in found.columns] == ["AVG(x)", "CASE WHEN x IN (1, 2) THEN 'a' ELSE 'b' END", "x"]


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("SQUARE(", ")"),
        ("CASE ", " WHEN 1 THEN 2 WHEN 2 THEN 3 WHEN 3 THEN 4 END"),
        ("CHOOSE(", ", 2, 3, 4)"),
        ("CONCAT(", ", 'a', 'b')"),
        ("COALESCE(", ", 1, 2, 3)"),
        ("POWER(", ", 60)"),
        ("(1e300 * ", ")"),
    ],
)
@pytest.mark.parametrize("inner", ["x", "COUNT(*)"])
def test_a_short_statement_is_read_or_refused_at_once(begin: str, end: str, inner: str) -> None:
    """However often its parts are nested, which doubles or trebles what some of them stand for."""
    nested = begin * 22 + inner + end * 22
    for text in (f"SELECT {nested} AS k, COUNT(*) FROM t GROUP BY x", f"SELECT COUNT(*) FROM t WHERE {nested} = 3"):
        with suppress(SqlError):
            assert parse_selection(DOMAIN, text).columns


@pytest.mark.parametrize("unit", ["hour", "day", "month"])
def test_what_is_finer_than_any_unit_is_refused_by_the_unit(unit: Unit) -> None:
    low, high = {"hour": ("2020-01-01T00", "2020-01-02T00"), "day": ("2020-01-01", "2020-01-09")}.get(
        unit, ("2020-01", "2020-02")
    )
    domain = Domain({"d": Dated(low, high, unit=unit)}, name="t")
    for part in ("MINUTE", "SECOND"):
        with pytest.raises(SqlError, match=rf"d is known by whole {unit}s only, so EXTRACT\({part}\)"):
            parse_selection(domain, f"SELECT COUNT(*) FROM t GROUP BY EXTRACT({part} FROM d)")
    if unit == "month":
        with pytest.raises(SqlError, match="d is known by whole months only, so DAYNAME"):
            parse_selection(domain, "SELECT COUNT(*) FROM t GROUP BY DAYNAME(d)")


def test_top_limits_and_a_column_of_this_name_stays_one() -> None:
    domain = Domain({"top": Integer(0, 3)}, name="t")
    found = parse_selection(domain, "SELECT TOP 2 COUNT(*), top FROM t GROUP BY top")
    assert found.limit == 2
    assert [column.name for column in found.columns] == ["COUNT(*)", "top"]
    assert parse_selection(domain, "SELECT top, COUNT(*) FROM t GROUP BY top").limit is None


def test_what_is_computed_in_all_groups_has_a_limit_before_anything_is_charged() -> None:
    """It is computed after the charge, so whoever would wait for minutes is told what to do instead."""
    domain = Domain({"day": Integer(0, 95_999)}, name="t")
    for operations, fits in ((10, True), (11, False)):
        text = f"SELECT day, COUNT(*){' * 2' * operations} FROM t GROUP BY day"
        if fits:
            assert parse_selection(domain, text).statement.group_count == 96_000
            continue
        with pytest.raises(SqlError, match=r"11 operations in each of 96,000 groups .* ask for the aggregates alone"):
            parse_selection(domain, text)


def test_expressions_have_a_limit_of_parts() -> None:
    """Names stand for what they were given to, each time."""
    many = " + ".join(["1"] * 90)
    text = f"SELECT COUNT(*) + {many} AS a FROM t ORDER BY {', '.join([' + '.join(['a'] * 10)] * 6)}"
    with pytest.raises(SqlError, match="more than 5,000 parts"):
        parse_selection(DOMAIN, text)


@pytest.mark.parametrize(
    "shown",
    ["SELECT {} FROM t", "SELECT COUNT(*) FROM t ORDER BY {}", "SELECT x, COUNT(*) FROM t GROUP BY x HAVING {} > 0"],
)
def test_what_is_parsed_is_not_too_deep_for_what_comes_after(shown) -> None:
    """A selection is written, compared and hashed however little stack is left, as in a notebook or a server."""
    deep = " + ".join(["SIN(COUNT(*))"] * 98)
    found = parse_selection(DOMAIN, shown.format(deep))
    assert len(with_little_stack(lambda: repr(found))) > 1_000
    assert with_little_stack(lambda: found == parse_selection(DOMAIN, shown.format(deep)))
    with pytest.raises(SqlError, match="nested too deeply"):
        parse_selection(DOMAIN, shown.format(deep + " + 1 + 1 + 1 + 1"))


def with_little_stack(call, frames=300):
    """What a function gives that is called from within so many others."""
    return call() if not frames else with_little_stack(call, frames - 1)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT POWER(x, 1000), COUNT(*) FROM t GROUP BY 1",
        "SELECT POWER(x, 1000), COUNT(*) FROM t GROUP BY x",
        "SELECT CASE WHEN x > 3 THEN POWER(10.0, 400) ELSE 1 END AS b, COUNT(*) FROM t GROUP BY b",
        "SELECT COUNT(*), 9 * POWER(10.0, 308) AS big FROM t",
    ],
)
def test_what_cannot_be_shown_is_refused_before_it_is_paid_for(text) -> None:
    with pytest.raises(SqlError, match="no answer can show"):
        parse_selection(DOMAIN, text)


@pytest.mark.parametrize(
    "text", ["SELECT COUNT(*) + x FROM t GROUP BY 1", "SELECT LEAST(COUNT(*), x), x FROM t GROUP BY 1, x"]
)
def test_a_position_of_an_aggregate_is_nothing_to_group_by(text) -> None:
    with pytest.raises(SqlError, match="not an aggregate"):
        parse_selection(DOMAIN, text)


def test_a_statement_has_a_limit_of_length_and_depth() -> None:
    begun = "SELECT COUNT(*) FROM t WHERE x IN ("
    with pytest.raises(SqlError, match=re.escape("has 20,001 characters, at most 20,000 are taken")):
        parse_statement(DOMAIN, begun + "1," * 9_982 + "1)")
    assert parse_statement(DOMAIN, begun + "1," * 9_981 + " 1)")
    with pytest.raises(SqlError, match="parentheses and CASE are nested deeper than 24"):
        parse_statement(DOMAIN, "SELECT COUNT(*) FROM t WHERE " + "CASE WHEN " * 25 + "x = 1" + " THEN TRUE END" * 25)
