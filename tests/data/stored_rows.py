"""A table of nasty values, written to every kind of source, and a judge in plain Python of what it holds."""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from hypothesis import strategies as st

from parcomp.model.attribute import Attribute, Binned, Categorical, Integer
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query
from parcomp.model.statement import Statement
from tests.property.strategies import wheres

__all__ = [
    "ATTRIBUTES",
    "COLUMNS",
    "domains_of_table",
    "expected",
    "rows_inside",
    "rows_outside",
    "statements_about",
    "tables",
    "write_csv",
    "write_duckdb",
    "write_parquet",
    "write_postgres",
]

STRINGS = ["F", "f", "F ", "", "O'Brien", 'a"b', "back\\slash\\", "${user}", "😀", "é", "e\u0301", "x\ny", "--;", "%s"]
MANY = [f"v{number:02}" for number in range(50)]

COLUMNS: dict[str, str] = {
    "sex": "VARCHAR",
    'odd "name" ${x} `é': "VARCHAR",
    "many": "VARCHAR",
    "day": "DATE",
    "flag": "BOOLEAN",
    "age": "SMALLINT",
    "number": "BIGINT",
    "beyond_64": "DECIMAL(20, 0)",
    "huge": "DECIMAL(38, 0)",
    "income": "DOUBLE",
    "rate": "DOUBLE",
    "real": "REAL",
    "amount": "DECIMAL(12, 2)",
    "third": "DECIMAL(10, 4)",
    "count": "INTEGER",
}
"""The columns of the table, with types that DuckDB and PostgreSQL call the same but for DOUBLE."""

ATTRIBUTES: dict[str, Attribute] = {
    "sex": Categorical(STRINGS[:7], nullable=True),
    'odd "name" ${x} `é': Categorical(STRINGS[4:]),
    "many": Categorical(MANY, nullable=True),
    "day": Categorical(["2020-02-29", "1969-12-31", "not a day"], nullable=True),
    "flag": Categorical([True, False]),
    "age": Integer(-3, 6, nullable=True),
    "number": Categorical([3, -7, 2**62, 10**30]),
    "beyond_64": Integer(2**63 - 3, 2**63 + 3),
    "huge": Integer(2**70, 2**70 + 4, nullable=True),
    "income": Binned(-100, 100, bins=8, nullable=True),
    "rate": Binned(0, 1, bins=10),
    "real": Binned(0.5, 4.5, bins=3),
    "amount": Binned(-10, 10, bins=20),
    "third": Binned(-1, 1, bins=3),
    "count": Binned(0, 10, bins=4),
}

_EDGES = [index / 10 for index in range(11)]
_DOUBLES = [math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, -5e-324, 1e308, -1e308, 2.0**53, 0.1 + 0.2]
_AROUND_EDGES = [math.nextafter(edge, toward) for edge in _EDGES for toward in (-9, 9)]

_INSIDE: dict[str, list[Any]] = {
    "sex": STRINGS[:7],
    'odd "name" ${x} `é': STRINGS[4:],
    "many": [*MANY[:4], None],
    "day": [datetime.date(2020, 2, 29), datetime.date(1969, 12, 31), None],
    "flag": [True, False],
    "age": [*range(-3, 7), None],
    "number": [3, -7, 2**62],
    "beyond_64": list(range(2**63 - 3, 2**63 + 4)),
    "huge": [*range(2**70, 2**70 + 5), None],
    "income": [-100.0, -75.5, -0.0, 25.0, math.nextafter(25, 0), 99.99, math.nextafter(100, 0), -1e-9, 5e-324],
    "rate": [*_EDGES[:10], *(edge for edge in _AROUND_EDGES if 0 <= edge < 1), -0.0, 5e-324, 0.1 + 0.2],
    "real": [0.5, 1.5, 2.25, 4.4, 0.7, 3.1666667],
    "amount": [Decimal(text) for text in ("-10.00", "-9.99", "-0.01", "0.00", "9.99", "3.50")],
    "third": [Decimal(text) for text in ("-1.0000", "-0.3334", "-0.3333", "0.3333", "0.3334", "0.9999", "0")],
    "count": list(range(10)),
}

_OUTSIDE: dict[str, list[Any]] = {
    "sex": ["M", "F  ", "\u017f", "E\u0301"],
    'odd "name" ${x} `é': [None, "F", "😀😀", "O'Brien'"],
    "many": ["v50", "V01", "v01 "],
    "day": [datetime.date(2020, 3, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    "flag": [None],
    "age": [-4, 7, -32768, 32767],
    "number": [None, 4, -(2**63), 2**63 - 1],
    "beyond_64": [None, 2**63 + 4, 2**63 - 4, -1, 10**20 - 1],
    "huge": [2**70 - 1, 2**70 + 5, 10**38 - 1, 1 - 10**38, 0],
    "income": [*_DOUBLES[:3], 100.0, math.nextafter(-100, -200), 1e308, -1e308, 2.0**63],
    "rate": [None, *_DOUBLES[:3], -5e-324, 1.0, 2.0**53, 1e308, -1e308],
    "real": [None, math.nan, math.inf, -math.inf, 4.5, 0.25, -0.0],
    "amount": [None, Decimal("10.00"), Decimal("-10.01"), Decimal("9999999999.99"), Decimal("-9999999999.99")],
    "third": [None, Decimal("1.0000"), Decimal("-1.0001"), Decimal("999999.9999")],
    "count": [None, -1, 10, 2**31 - 1, -(2**31)],
}


def tables(max_rows: int = 40) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Rows, most of whose values are within the domain."""
    cells = [
        st.integers(0, 9).flatmap(lambda n, c=c: st.sampled_from(_INSIDE[c] if n else _OUTSIDE[c])) for c in COLUMNS
    ]
    return st.lists(st.tuples(*cells), max_size=max_rows).map(lambda rows: [_stored(row) for row in rows])


def rows_inside(count: int) -> list[tuple[Any, ...]]:
    """Rows within the domain of all attributes, each value of each column among them if there are enough."""
    values = list(_INSIDE.values())
    return [_stored([column[number % len(column)] for column in values]) for number in range(count)]


def rows_outside() -> list[tuple[Any, ...]]:
    """For every value that an attribute does not have, a row with it and with nothing else amiss."""
    inside = [values[0] for values in _INSIDE.values()]
    return [
        _stored([*inside[:place], value, *inside[place + 1 :]])
        for place, values in enumerate(_OUTSIDE.values())
        for value in values
    ]


def _stored(row: Sequence[Any]) -> tuple[Any, ...]:
    """The row as the columns hold it: a REAL has 24 bits."""
    return tuple(
        struct.unpack("f", struct.pack("f", cell))[0] if name == "real" and cell is not None else cell
        for name, cell in zip(COLUMNS, row, strict=True)
    )


@st.composite
def domains_of_table(draw: st.DrawFn) -> Domain:
    """Some of the attributes, in any order."""
    names = draw(st.lists(st.sampled_from(list(ATTRIBUTES)), min_size=1, max_size=4, unique=True))
    return Domain({name: ATTRIBUTES[name] for name in names})


@st.composite
def statements_about(draw: st.DrawFn, domain: Domain) -> Statement:
    """Counts, sums and averages, of unions of conjunctions, with groups."""
    condition = Condition(domain, ())
    for where in draw(st.lists(wheres(domain), min_size=1, max_size=3)):
        condition |= Condition.of(domain.query(where))
    groups = draw(st.lists(st.integers(0, len(domain.names) - 1), max_size=2))
    summable = [name for name, a in domain.attributes.items() if isinstance(a, Integer) or name in ("income", "amount")]
    summable += [name for name in ("real", "count") if name in domain.names]
    kind = draw(st.sampled_from(["count", "sum", "average"] if summable else ["count"]))
    attribute = None if kind == "count" else draw(st.sampled_from(summable))
    return Statement(kind, condition, attribute, tuple(groups))


def _code(attribute: Attribute, cell: Any) -> int | None:
    """The code of what is stored, by the definitions and in exact arithmetic."""
    if cell is None:
        return attribute.size - 1 if attribute.nullable else None
    if isinstance(attribute, Categorical):
        return attribute.code(cell.isoformat() if isinstance(cell, datetime.date) else cell)
    if isinstance(attribute, Integer):
        return attribute.code(cell)
    assert isinstance(attribute, Binned)
    if math.isnan(cell):
        return None
    edges = [attribute.edge(position) for position in range(attribute.bins + 1)]
    if not all(isinstance(edge, int) for edge in edges):
        cell, edges = float(cell), [float(edge) for edge in edges]  # type: ignore[arg-type]
    passed = sum(edge <= cell for edge in edges)  # type: ignore[operator]
    return passed - 1 if 1 <= passed <= attribute.bins else None


def expected(domain: Domain, rows: Sequence[tuple[Any, ...]], statements: Sequence[Statement]) -> list[list[list[int]]]:
    """What must be measured, row by row."""
    places = [list(COLUMNS).index(name) for name in domain.names]
    attributes = list(domain.attributes.values())
    coded = []
    for row in rows:
        codes = [_code(attribute, row[place]) for attribute, place in zip(attributes, places, strict=True)]
        if None not in codes:
            coded.append((row, codes))
    return [_measured(domain, coded, statement) for statement in statements]


def _measured(domain: Domain, coded: list[tuple[tuple[Any, ...], list[Any]]], statement: Statement) -> list[list[int]]:
    answer = []
    for aggregate in statement.aggregates:
        totals = dict.fromkeys(statement.group_codes(), 0)
        for row, codes in coded:
            if not any(_satisfies(codes, query) for query in statement.where.alternatives):
                continue
            amount = 1
            if aggregate.attribute is not None:
                whole = math.floor(row[list(COLUMNS).index(aggregate.attribute)])
                amount = min(max(whole, aggregate.low), aggregate.high) - aggregate.center
            totals[tuple(codes[index] for index in statement.groups)] += amount
        answer.append(list(totals.values()))
    return answer


def _satisfies(codes: Sequence[int], query: Query) -> bool:
    terms: Sequence[tuple[int, Predicate]] = query.terms
    return all(codes[index] in predicate for index, predicate in terms)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _create(connection: Any, rows: Sequence[tuple[Any, ...]], *, double: str, mark: str) -> None:
    columns = ", ".join(f"{_quoted(name)} {double if kind == 'DOUBLE' else kind}" for name, kind in COLUMNS.items())
    connection.execute(f"CREATE TABLE people ({columns})")
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO people VALUES ({', '.join([mark] * len(COLUMNS))})", rows)


def write_duckdb(path: Path, rows: Sequence[tuple[Any, ...]]) -> str:
    """A DuckDB file with the table ``people``."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        _create(connection, rows, double="DOUBLE", mark="?")
    return str(path)


def write_parquet(path: Path, rows: Sequence[tuple[Any, ...]]) -> str:
    """A Parquet file."""
    with duckdb.connect() as connection:
        _create(connection, rows, double="DOUBLE", mark="?")
        connection.execute(f"COPY people TO '{path}' (FORMAT PARQUET)")
    return str(path)


def write_csv(path: Path, rows: Sequence[tuple[Any, ...]]) -> str:
    """A CSV file in which every field but a null is quoted."""
    lines = [",".join(_quoted(name) for name in COLUMNS)]
    lines += [",".join("" if cell is None else _quoted(str(cell)) for cell in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    return str(path)


def write_postgres(url: str, rows: Sequence[tuple[Any, ...]]) -> str:
    """The table ``people`` in a database."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS people")
        _create(connection, rows, double="DOUBLE PRECISION", mark="%s")
    return url
