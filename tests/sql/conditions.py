"""Random WHERE clauses over a small domain with nulls, and the domain's rows in a real database."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import duckdb

from parcomp.model.attribute import Binned, Categorical, Integer, Value
from parcomp.model.domain import Domain

__all__ = ["DOMAIN", "random_condition", "table_of_all_rows", "truth_in"]

DOMAIN = Domain(
    {
        "a": Integer(-1, 1, nullable=True),
        "b": Categorical(["y", "x", "é"], nullable=True),
        "c": Categorical([True, False], nullable=True),
        "d": Categorical([7, -3], nullable=False),
        "e": Binned(0, 30, bins=2, nullable=True),
    },
    name="t",
)

_OPERATORS = ("=", "<>", "!=", "<", "<=", ">", ">=")
_CONSTANTS = {
    "a": ("-2", "-1", "0", "1", "2", "0.5", "-0.5", "1.0", "1e0", "NULL"),
    "b": ("'x'", "'y'", "'é'", "'Y'", "''", "'xx'", "'~'", "NULL"),
    "c": ("TRUE", "FALSE", "NULL"),
    "d": ("7", "-3", "0", "-4", "8", "6.5", "NULL"),
}
_DECLARED = {**_CONSTANTS, "b": ("'x'", "'y'", "'é'", "NULL"), "d": ("7", "-3", "-3.0", "NULL")}
"""What may be equal: a category that is not declared is an error there."""

_EDGES = ("-5", "0", "15", "15.0", "30", "31", "NULL")


def table_of_all_rows() -> tuple[duckdb.DuckDBPyConnection, list[dict[str, Value]]]:
    """A table ``t`` of all rows of the domain, and the rows by their ``id``.

    A bin is there twice, by its lower edge and by a number within it, which no condition may tell apart.
    """
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (id INTEGER, a INTEGER, b VARCHAR, c BOOLEAN, d INTEGER, e DOUBLE)")
    rows: list[dict[str, Value]] = []
    written = []
    for values in product(*([a.value(code) for code in range(a.size)] for a in DOMAIN.attributes.values())):
        for shift in (0, 14.9):
            *others, income = values
            written.append((len(rows), *others, None if income is None else income + shift))
            rows.append(dict(zip(DOMAIN.names, values, strict=True)))
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", written)
    return connection, rows


def truth_in(connection: duckdb.DuckDBPyConnection, condition: str) -> set[int]:
    """The ids of the rows that the database finds."""
    return {number for (number,) in connection.execute(f"SELECT id FROM t WHERE {condition}").fetchall()}


def random_condition(draw: random.Random, depth: int = 3) -> str:
    """A condition, with and without parentheses, so that precedence counts."""
    if depth == 0 or draw.random() < 0.2:
        return _leaf(draw)
    kind = draw.choice(("AND", "OR", "NOT", "(", "and", "or"))
    if kind == "NOT":
        return f"NOT {random_condition(draw, depth - 1)}"
    if kind == "(":
        return f"({random_condition(draw, depth)})" if draw.random() < 0.5 else f"NOT ({random_condition(draw, depth)})"
    return f" {kind} ".join(random_condition(draw, depth - 1) for _ in range(draw.choice((2, 2, 3))))


def _leaf(draw: random.Random) -> str:
    if draw.random() < 0.05:
        return draw.choice(("TRUE", "FALSE", "NULL"))
    name = draw.choice(DOMAIN.names)
    if name == "e":
        return draw.choice(list(_binned(draw)))
    return draw.choice(list(_leaves(draw, name)))


def _leaves(draw: random.Random, name: str) -> Iterator[str]:
    """One condition of each form."""
    column = draw.choice((name, f'"{name}"', f"t.{name}", name.upper(), f"({name})"))
    one, other = (draw.choice(_CONSTANTS[name]) for _ in range(2))
    known = draw.choice(_DECLARED[name])
    several = ", ".join(draw.choice(_DECLARED[name]) for _ in range(draw.randint(1, 4)))
    negation = draw.choice(("", "NOT "))
    operator = draw.choice(_OPERATORS)
    compared = one if operator[0] in "<>" and operator != "<>" else known
    yield f"{column} {operator} {compared}"
    yield f"{column} {operator} ({compared})"
    yield f"{compared} {operator} {column}"
    yield f"{column} {negation}IN ({several})"
    yield f"{column} {negation}BETWEEN {one} AND {other}"
    yield f"{column} IS {negation}NULL"
    yield f"{column} IS {negation}DISTINCT FROM {known}"
    if name == "c":
        yield column
        yield f"{column} IS {negation}{draw.choice(('TRUE', 'FALSE'))}"


def _binned(draw: random.Random) -> Iterator[str]:
    edge, outside = draw.choice(_EDGES), draw.choice(("-5", "30", "99", "-0.001", "NULL"))
    negation = draw.choice(("", "NOT "))
    yield f"e {draw.choice(('>=', '<'))} {edge}"
    yield f"{edge} {draw.choice(('<=', '>'))} e"
    yield f"e {draw.choice(_OPERATORS)} {outside}"
    yield f"e {negation}IN ({outside}, -1)"
    yield f"e {negation}BETWEEN {edge} AND {outside}"
    yield f"e IS {negation}NULL"
    yield f"e IS {negation}DISTINCT FROM {outside}"
