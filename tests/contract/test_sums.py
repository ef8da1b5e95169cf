"""No row adds more to a sum than the declared range allows, whatever is stored and in whichever type."""

from __future__ import annotations

import math
import struct
from decimal import Decimal, localcontext
from fractions import Fraction

import duckdb
import psycopg
import pytest

from parcomp.data import open_table
from parcomp.errors import DataError
from parcomp.model.attribute import Attribute, Binned, Integer
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.statement import Statement

ATTRIBUTES: dict[str, Attribute] = {
    "integers": Integer(-3, 6),
    "bins of one": Binned(-3, 6, bins=9),
    "whole edges": Binned(-4, 6, bins=5, nullable=True),
    "half edges": Binned(-1, 4, bins=2),
    "half bounds": Binned(Decimal("-1.5"), Decimal("4.5"), bins=3, nullable=True),
    "thirds": Binned(-1, 4, bins=3),
}

EDGES = sorted(
    {-4, -3, 6, 7, 0, *(edge for a in ATTRIBUTES.values() if isinstance(a, Binned) for edge in map(a.edge, range(4)))}
)
TINY = [Decimal(10) ** -places for places in (1, 6, 12, 17, 30, 300)]
with localcontext(prec=1_000):
    DECIMALS = [Decimal(float(edge)) + sign * tiny for edge in EDGES for tiny in TINY for sign in (-1, 1)]
DOUBLES = [
    *(float(edge) for edge in EDGES),
    *(math.nextafter(edge, toward) for edge in EDGES for toward in (-math.inf, math.inf)),
    *(-0.0, 5e-324, -5e-324, 1e308, -1e308, 2.0**63, -(2.0**63), math.inf, -math.inf, math.nan),
]
WHOLE = [*range(-6, 9), 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)]
HUGE = [*WHOLE, 2**64, -(2**64), 10**37, -(10**37)]


def scaled(places: int, digits: int) -> list[Decimal]:
    """Decimals with so many places, next to the edges, and the largest ones."""
    with localcontext(prec=1_000):
        step = Decimal(10) ** -places
        near = [Decimal(round(Fraction(str(edge)) * 10**places)) * step for edge in EDGES]
        largest = Decimal(10) ** (digits - places) - step
        return [*near, *(one + step for one in near), *(one - step for one in near), largest, -largest]


OPEN = [
    *DECIMALS,
    *(Decimal(number) for number in HUGE),
    *(Decimal(text) for text in ("1e-400", "-1e-400", "1e400", "-1e400", "NaN", "Infinity", "-Infinity")),
]
"""What a numeric of PostgreSQL without a scale can hold."""


def amount(attribute: Attribute, cell: object) -> int:
    """What a value adds, by the definitions and in exact arithmetic; 0 if it is outside."""
    if isinstance(cell, (float, Decimal)) and not math.isfinite(cell):
        return 0
    exact = Fraction(cell)  # type: ignore[arg-type]
    if isinstance(attribute, Integer):
        return int(exact) if exact.denominator == 1 and attribute.low <= exact <= attribute.high else 0
    assert isinstance(attribute, Binned)
    low, high = Fraction(str(attribute.low)), Fraction(str(attribute.high))
    place: Fraction | float = exact
    if not all(isinstance(attribute.edge(position), int) for position in range(attribute.bins + 1)):
        if abs(exact) >= 10**308:
            return 0
        place, low, high = float(exact), float(low), float(high)  # type: ignore[assignment]
    if not low <= place < high:
        return 0
    return min(max(math.floor(exact), math.floor(attribute.low)), math.ceil(attribute.high) - 1)


def check(source: str, table: str | None, column: str, attribute: Attribute, cells: list[object]) -> None:
    """The sum of each row by itself, and of all, are what the row's value adds."""
    domain = Domain({column: attribute, "id": Integer(0, len(cells))})
    try:
        opened = open_table(source, table, domain)
    except DataError as error:
        # The only reason not to open it, and one of types alone.
        if "too fine" in str(error):
            return
        raise
    everything = Condition.of(domain.query())
    statements = [Statement("sum", everything, column, groups=(1,)), Statement("average", everything, column)]
    [each], [centered, [rows]] = opened.measure(statements)
    opened.close()
    truth = [amount(attribute, cell) for cell in cells]
    assert each[: len(cells)] == truth, (column, attribute)
    [aggregate, _] = statements[1].aggregates
    assert centered == [sum(truth) - aggregate.center * rows]


def single(number: float) -> float:
    """The number in 24 bits, if it can be."""
    return struct.unpack("f", struct.pack("f", number))[0] if abs(number) < 1e38 or not math.isfinite(number) else 1e38


DUCKDB_COLUMNS: dict[str, list] = {
    "BIGINT": WHOLE,
    "HUGEINT": HUGE,
    "DOUBLE": DOUBLES,
    "REAL": [single(single(number)) for number in DOUBLES if abs(number) < 1e38],
    "DECIMAL(18, 12)": scaled(12, 18),
    "DECIMAL(38, 30)": scaled(30, 38),
    "DECIMAL(38, 0)": [Decimal(number) for number in HUGE],
}


@pytest.mark.parametrize("kind", DUCKDB_COLUMNS)
@pytest.mark.parametrize("file", ["parquet", "duckdb"])
def test_sums_in_duckdb(tmp_path, kind, file):
    cells = DUCKDB_COLUMNS[kind]
    path = tmp_path / f"t.{file}"
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER, a {kind})")
        connection.executemany(f"INSERT INTO t VALUES (?, CAST(CAST(? AS VARCHAR) AS {kind}))", _numbered(cells))
        if file == "parquet":
            connection.execute(f"COPY t TO '{path}'")
    for attribute in _fitting(kind):
        # A Parquet file has no integers of 128 bits: they are stored as doubles.
        if file == "parquet" and kind == "HUGEINT":
            cells = [float(cell) for cell in cells]
            if isinstance(attribute, Integer):
                continue
        check(str(path), "t", "a", attribute, cells)


def test_sums_in_a_csv_file(tmp_path):
    """A number in bins is read as the nearest double, with all its digits."""
    path = tmp_path / "t.csv"
    cells = [str(cell) for cell in [*DECIMALS, *HUGE, *DOUBLES]]
    path.write_text("id,a\n" + "".join(f"{number},{cell}\n" for number, cell in _numbered(cells)))
    for attribute in ATTRIBUTES.values():
        exact = [float(cell) if isinstance(attribute, Binned) else _whole(cell) for cell in cells]
        check(str(path), None, "a", attribute, exact)


POSTGRES_COLUMNS: dict[str, list] = {
    "bigint": WHOLE,
    "numeric": OPEN,
    "numeric(38, 0)": [Decimal(number) for number in HUGE],
    "numeric(18, 12)": scaled(12, 18),
    "numeric(38, 30)": scaled(30, 38),
    "double precision": DOUBLES,
    "real": [single(single(number)) for number in DOUBLES if abs(number) < 1e38],
}


@pytest.mark.parametrize("kind", POSTGRES_COLUMNS)
def test_sums_in_postgresql(postgres_url, kind):
    cells = POSTGRES_COLUMNS[kind]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS sums; CREATE TABLE sums (id integer, a {kind})")
        with connection.cursor() as cursor:
            texts = [(number, str(cell)) for number, cell in _numbered(cells)]
            cursor.executemany(f"INSERT INTO sums VALUES (%s, %s::text::{kind})", texts)
    for attribute in _fitting(kind):
        check(postgres_url, "sums", "a", attribute, cells)


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [
        ("DECIMAL(18, 12)", "half edges"),
        ("DECIMAL(18, 12)", "whole edges"),
        ("DOUBLE", "half bounds"),
        ("DECIMAL(38, 0)", "thirds"),
        ("BIGINT", "integers"),
    ],
)
def test_sums_in_spark(spark_master, tmp_path, kind, attribute):
    cells = DUCKDB_COLUMNS[kind]
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER, a {kind})")
        connection.executemany(f"INSERT INTO t VALUES (?, CAST(CAST(? AS VARCHAR) AS {kind}))", _numbered(cells))
        connection.execute(f"COPY t TO '{path}'")
    check(f"{spark_master}{path}", None, "a", ATTRIBUTES[attribute], cells)


def _numbered(cells: list) -> list[tuple[int, str]]:
    return [(number, str(cell)) for number, cell in enumerate(cells)]


def _fitting(kind: str) -> list[Attribute]:
    """The attributes that a column of this type can hold."""
    whole = kind.lower() in ("bigint", "hugeint") or kind.endswith(", 0)")
    return [a for a in ATTRIBUTES.values() if whole or not isinstance(a, Integer)]


def _whole(text: str) -> int | float:
    """The integer that a text writes; NaN if it writes none."""
    return int(text) if text.lstrip("+-").isdigit() else math.nan
