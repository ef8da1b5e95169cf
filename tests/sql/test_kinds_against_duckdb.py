"""A database is the judge of conditions on decimals, days and levels, too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import product

import duckdb
import pytest

from parcomp.model import Categorical, Dated, Domain, Stepped
from parcomp.sql import parse_statement

CONDITIONS = 400

CHAPTERS = {"N": ["C00", "C01"], "é": ["E10"], "Other": "rest"}
DOMAIN = Domain(
    {
        "kappa": Stepped("-0.02", "0.03", "0.01", nullable=True),
        "day": Dated("2020-02-27", "2020-03-02", nullable=True),
        "icd": Categorical(["I10", "C00", "E10", "C01"], True, {"chapter": CHAPTERS, "Kind": {"x": "rest"}}),
    },
    name="t",
)
_GROUPS = {"C00": "N", "C01": "N", "E10": "é", "I10": "Other", None: None}

_OPERATORS = ("=", "<>", "!=", "<", "<=", ">", ">=")
_CONSTANTS = {
    "kappa": ("0", "-0.02", "-0.021", "0.0", "0.005", "0.01", "0.010", "0.025", "0.03", "0.031", "2", "-1", "NULL"),
    "day": (
        *(f"DATE '2020-02-{number}'" for number in (26, 27, 28, 29)),
        *("DATE '2020-03-01'", "'2020-03-02'", "DATE '2020-03-03'", "'1999-01-01'", "DATE '9999-12-31'", "NULL"),
        *("TIMESTAMP '2020-02-28'", "TIMESTAMP '2020-02-29 00:00:00'", "TIMESTAMP '2020-02-26 10:30:00'"),
        *("TIMESTAMP '2020-03-03 00:00:00.5'", "TIMESTAMP '2020-03-01 00:00'"),
    ),
    "icd": ("'C00'", "'C01'", "'D'", "'I10'", "NULL"),
    "chapter": ("'N'", "'é'", "'Other'", "'O'", "''", "'other'", "NULL"),
    "Kind": ("'x'", "'y'", "''", "NULL"),
}
_DECLARED = {**_CONSTANTS, "icd": ("'C00'", "'C01'", "'I10'", "NULL"), "chapter": ("'N'", "'é'", "'Other'", "NULL")}
_DECLARED["Kind"] = ("'x'", "NULL")


def table() -> tuple[duckdb.DuckDBPyConnection, list[tuple[int, ...]]]:
    """A table of all rows, with a column for each level, and the codes of the rows by their id."""
    connection = duckdb.connect()
    connection.execute(
        'CREATE TABLE t (id INTEGER, kappa DECIMAL(6, 2), day DATE, icd VARCHAR, chapter VARCHAR, "Kind" VARCHAR)'
    )
    rows = list(product(*(range(attribute.size) for attribute in DOMAIN.attributes.values())))
    for number, codes in enumerate(rows):
        kappa, day, icd = (one.value(code) for one, code in zip(DOMAIN.attributes.values(), codes, strict=True))
        connection.execute(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)",
            [
                number,
                None if kappa is None else Decimal(repr(kappa)),
                None if day is None else date.fromisoformat(str(day)),
                icd,
                _GROUPS[icd],  # type: ignore[index]
                None if icd is None else "x",
            ],
        )
    return connection, rows


def random_condition(draw: random.Random, depth: int = 2) -> str:
    if depth == 0 or draw.random() < 0.3:
        return draw.choice(list(_leaves(draw, draw.choice(list(_CONSTANTS)))))
    kind = draw.choice((" AND ", " OR ", "NOT"))
    if kind == "NOT":
        return f"NOT ({random_condition(draw, depth - 1)})"
    return kind.join(f"({random_condition(draw, depth - 1)})" for _ in range(2))


def _leaves(draw: random.Random, name: str) -> Iterator[str]:
    column = draw.choice((name, f'"{name}"', f"t.{name}", name.upper()))
    one, other = (draw.choice(_CONSTANTS[name]) for _ in range(2))
    known = draw.choice(_DECLARED[name])
    several = ", ".join(draw.choice(_DECLARED[name]) for _ in range(draw.randint(1, 4)))
    negation = draw.choice(("", "NOT "))
    yield from (f"{column} {operator} {known}" for operator in _OPERATORS[:3])
    yield from (f"{column} {operator} {one}" for operator in _OPERATORS[3:])
    yield f"{one} {draw.choice(_OPERATORS[3:])} {column}"
    yield f"{column} {negation}IN ({several})"
    yield f"{column} {negation}BETWEEN {one} AND {other}"
    yield f"{column} IS {negation}NULL"
    yield f"{column} IS {negation}DISTINCT FROM {known}"


@pytest.mark.parametrize("seed", range(2))
def test_a_condition_finds_the_rows_that_the_database_finds(seed: int) -> None:
    draw = random.Random(seed)
    connection, rows = table()
    found_some = 0
    for _ in range(CONDITIONS):
        condition = random_condition(draw)
        truth = {number for (number,) in connection.execute(f"SELECT id FROM t WHERE {condition}").fetchall()}
        where = parse_statement(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {condition}").where
        alternatives = [query.terms for query in where.alternatives]
        mine = {
            number
            for number, row in enumerate(rows)
            if any(all(row[index] in predicate for index, predicate in terms) for terms in alternatives)
        }
        assert mine == truth, condition
        found_some += 0 < len(truth) < len(rows)
    assert found_some > CONDITIONS * 0.5
