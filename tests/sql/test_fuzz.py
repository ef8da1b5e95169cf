"""Whatever is sent, the answer is a statement or an error on one line that names a place in the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcomp.errors import SqlError
from parcomp.model.statement import Statement
from parcomp.sql import parse_statement, parse_statements
from tests.sql.conditions import DOMAIN

# Words, symbols, constants, and what only looks like them.
WORDS = """SELECT COUNT SUM AVG FROM t WHERE GROUP BY a b c d e x AND OR NOT IN BETWEEN IS NULL TRUE FALSE AS DISTINCT
    JOIN LIKE LIMIT DATE INTERVAL CASE WHEN END EXISTS ANY ALL OVER FILTER UNION WITH HAVING VALUES LATERAL ISNULL
    NOTNULL ROW ARRAY CAST COLLATE INTO FOR ON USING SYMMETRIC COUNT(*) SUM(a) (SELECT NOT( a=1 b='x' "a" "A" t.a é
    HAVING LIMIT OFFSET FETCH FIRST ROWS ONLY ASC DESC NULLS LAST THEN ELSE ILIKE ESCAPE WITHIN GROUP( ROUND( FLOOR(
    MOD( CASE( COALESCE( NULLIF( EXTRACT( DATE_TRUNC( LEFT( LOWER( GREATEST( STDDEV(a) MEDIAN(a) COUNT(DISTINCT
    PERCENTILE_CONT( INTEGER NUMERIC YEAR a/2 a%2 a::int AVG(a) COUNT(*)>3
    TOP COUNT(ALL CHOOSE( CONCAT( POSITION( DAYNAME( LOG2( ATANH( TRUNCATE( CURRENT_DATE WEEKDAY b||'x' main.t"""
SYMBOLS = """( ) * , = <> != < <= > >= ; + - / % || :: [ ] { } ? $1 :p @v -- /* */ /*+
    ' " ~ ! & | ^ # . ((( ))) {{ {% $$ $a$"""
CONSTANTS = """1 -1 0.5 .5 1e9 1e999999999 1e 'x' 'y''z' '' DATE'2020-01-01' E'x' U&'x' X'1' B'1' N'x' 0x1 1_0"""
PIECES = [*WORDS.split(), *SYMBOLS.split(), *CONSTANTS.split(), "\\", "\x00", "\ud800", "\u2028", "\n", "\r\n"]
GOOD = [
    "SELECT",
    "COUNT(*)",
    "FROM",
    "t",
    "WHERE",
    "a = 1",
    "AND",
    "b = 'x'",
    "GROUP BY",
    "c",
    "ORDER BY",
    "1",
    "LIMIT",
    "3",
]

texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=15).map(lambda more: "SELECT COUNT(*) FROM t WHERE " + " ".join(more)),
    st.lists(st.sampled_from(PIECES), max_size=8).map(lambda more: f"SELECT {' '.join(more)} FROM t GROUP BY a"),
    st.text(max_size=40),
    st.text(max_size=20).map(lambda more: "SELECT COUNT(*) FROM t WHERE " + more),
    # A good statement with a few pieces put in, left out or in another's place.
    st.lists(st.tuples(st.integers(0, len(GOOD)), st.sampled_from(PIECES), st.booleans()), max_size=3).map(
        lambda edits: " ".join(_edited(edits))
    ),
)


def _edited(edits: list[tuple[int, str, bool]]) -> list[str]:
    pieces = list(GOOD)
    for position, piece, replaces in edits:
        pieces[position : position + replaces] = [piece]
    return pieces


def outcome(text: str) -> Statement | SqlError:
    try:
        return parse_statement(DOMAIN, text)
    except SqlError as error:
        return error


def check(text: str) -> None:
    found = outcome(text)
    if isinstance(found, Statement):
        assert parse_statements(DOMAIN, text) == [(text.count("\n", 0, text.upper().index("SELECT")) + 1, found)]
        return
    message = str(found)
    assert message.isprintable()
    assert len(message) < 600
    lines = text.split("\n")
    assert 1 <= found.line <= len(lines)
    assert 1 <= found.column <= len(lines[found.line - 1]) + 1


@settings(max_examples=600, deadline=2_000)
@given(texts)
def test_any_text_is_a_statement_or_an_error_with_its_place(text: str) -> None:
    check(text)


DEEP = ["(", "NOT ", "NOT (", "- ", "DATE(", "f(", "COUNT(", "a IN (", "CASE WHEN ", "ARRAY[", "{", "a < ", "((SELECT "]
DEEP += [
    "FLOOR(",
    "COALESCE(",
    "CAST(",
    "EXTRACT(YEAR FROM ",
    "DATE_TRUNC('month', ",
    "SUBSTRING(",
    "1 + ",
    "a - ",
    "a LIKE ",
]
DEEP += ["CASE a WHEN 1 THEN ", "a IS ", "a::int + (", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("opening", DEEP)
@pytest.mark.parametrize("depth", [10, 23, 3000])
def test_nesting_of_any_depth_is_read_or_refused_at_once(opening: str, depth: int) -> None:
    closing = ")" * opening.count("(")
    for prefix in ("SELECT COUNT(*) FROM t WHERE ", "SELECT COUNT(*), "):
        check(prefix + opening * depth + "a = 1" + closing * depth)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "condition",
    [
        "a = " + "9" * 100_000,
        "a < 0." + "9" * 100_000,
        "a > 1e-999999999",
        "a = 1e999999",
        "e >= 0." + "1" * 10_000,
        "e >= 1e-999999",
        "b = '" + "x" * 100_000 + "'",
        "x" * 100_000 + " = 1",
        '"' + "x" * 100_000 + '" = 1',
        " OR ".join(["a = 1"] * 3_000),
        "a IN (" + ", ".join(["1"] * 20_000) + ")",
        " AND ".join(f"(a < {i % 3} OR b > '{i}' OR d = 7)" for i in range(300)),
        " OR ".join(f"a = {i % 3} AND b = '{i % 7}' AND e >= 15" for i in range(300)),
        ";" * 10_000,
        "/*" * 5_000,
        "'" * 10_001,
    ],
    ids=lambda condition: condition[:20],
)
def test_a_long_text_is_read_or_refused_at_once(condition: str) -> None:
    check("SELECT COUNT(*) FROM t WHERE " + condition)
