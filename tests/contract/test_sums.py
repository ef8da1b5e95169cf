"""No row adds more to a sum than the declared range allows, whatever is stored and in whichever type."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import duckdb
import psycopg
import pytest

from parcomp.errors import ParcompError
from parcomp.model import Condition, Domain, Statement
from parcomp.model.attribute import Attribute, Binned, Integer, Stepped
from tests.data.coded_sources import coded
from tests.data.plain_reading import Narrow, Reader, narrowed

ATTRIBUTES: dict[str, Attribute] = {
    "integers": Integer(-3, 6),
    "clipped integers": Integer(-3, 6, clip=True),
    "halves": Stepped("-1.5", "4.5", "0.5"),
    "sevenths of a tenth": Stepped("-0.7", "0.63", "0.07", nullable=True, clip=True),
    "thousands": Stepped(-3_000, 6_000, 1_000),
}
EDGES = sorted(
    {
        Fraction(k * step)
        for step in (1, Fraction(1, 4), Fraction(7, 200), 500)
        for k in (-9, -3, -2, -1, 0, 1, 5, 6, 9, 13)
    }
)
TINY = [Decimal(10) ** -places for places in (1, 6, 12, 17, 30, 300)]
with localcontext(prec=1_000):
    DECIMALS = [Decimal(float(edge)) + sign * tiny for edge in EDGES for tiny in TINY for sign in (-1, 1)]
DOUBLES = [
    *(float(edge) for edge in EDGES),
    *(math.nextafter(edge, toward) for edge in EDGES for toward in (-math.inf, math.inf)),
    *(-0.0, 5e-324, -5e-324, 1e308, -1e308, 2.0**63, -(2.0**63), math.inf, -math.inf, math.nan),
]
WHOLE = [*range(-6, 9), 500, 1_500, 2_500, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)]
HUGE = [*WHOLE, 2**64, -(2**64), 10**37, -(10**37)]


def scaled(places: int, digits: int) -> list[Decimal]:
    """Decimals with so many places, next to the edges, and the largest ones."""
    with localcontext(prec=1_000):
        step = Decimal(10) ** -places
        near = [Decimal(round(edge * 10**places)) * step for edge in EDGES]
        largest = Decimal(10) ** (digits - places) - step
        return [*near, *(one + step for one in near), *(one - step for one in near), largest, -largest]


OPEN = [
    *DECIMALS,
    *(Decimal(number) for number in HUGE),
    *(Decimal(text) for text in ("1e-400", "-1e-400", "1e400", "-1e400", "NaN", "Infinity", "-Infinity")),
]
"""What a numeric of PostgreSQL without a scale can hold."""


def check(source: str, table: str | None, cells: list[Any]) -> None:
    """The sum of each row by itself, and of all, are what the row's value adds, for every attribute."""
    for name, attribute in ATTRIBUTES.items():
        domain = Domain({"a": attribute, "id": Integer(0, len(cells))})
        everything = Condition.of(domain.query())
        statements = [Statement.one("sum", everything, "a", groups=(1,)), Statement.one("average", everything, "a")]
        with coded(source, table, domain) as (opened, _):
            [each], [centered, [rows]] = opened.measure(statements)
        codes = [Reader(attribute).code(cell) for cell in cells]
        inside = [code for code in codes if code < attribute.null]
        scale = attribute.scale
        assert scale is not None
        truth = [scale.base + code if code < attribute.null else 0 for code in codes]
        assert each[: len(cells)] == truth, name
        assert rows == len(inside)
        [aggregate, _] = statements[1].aggregates
        assert centered == [sum(truth) - aggregate.center * rows]


NARROW = [narrowed(number) for number in DOUBLES]
DUCKDB_COLUMNS: dict[str, list[Any]] = {
    "BIGINT": WHOLE,
    "HUGEINT": HUGE,
    "DOUBLE": DOUBLES,
    "REAL": NARROW,
    "DECIMAL(18, 12)": scaled(12, 18),
    "DECIMAL(38, 30)": scaled(30, 38),
    "DECIMAL(38, 0)": [Decimal(number) for number in HUGE],
}


@pytest.mark.parametrize("kind", DUCKDB_COLUMNS)
@pytest.mark.parametrize("file", ["parquet", "duckdb"])
def test_sums_in_duckdb(tmp_path, kind, file):
    cells = DUCKDB_COLUMNS[kind]
    write(tmp_path, kind, cells)
    # A Parquet file has no integers of 128 bits: they are stored as doubles.
    check(
        str(tmp_path / f"t.{file}"), "t", list(map(float, cells)) if (file, kind) == ("parquet", "HUGEINT") else cells
    )


def write(directory, kind, cells):
    """The same table in a DuckDB file and in a Parquet file."""
    with duckdb.connect(str(directory / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER, a {kind})")
        connection.executemany(f"INSERT INTO t VALUES (?, CAST(CAST(? AS VARCHAR) AS {kind}))", _numbered(cells))
        connection.execute(f"COPY t TO '{directory / 't.parquet'}'")


def test_sums_in_a_csv_file(tmp_path):
    """A number is read with all its digits."""
    path = tmp_path / "t.csv"
    cells = [str(cell) for cell in [*DECIMALS, *HUGE, *DOUBLES]]
    path.write_text("id,a\n" + "".join(f"{number},{cell}\n" for number, cell in _numbered(cells)))
    check(str(path), None, cells)


POSTGRES_COLUMNS: dict[str, list[Any]] = {
    "bigint": WHOLE,
    "numeric": OPEN,
    "numeric(38, 0)": [Decimal(number) for number in HUGE],
    "numeric(38, 30)": scaled(30, 38),
    "double precision": DOUBLES,
    "real": NARROW,
}


@pytest.mark.parametrize("kind", POSTGRES_COLUMNS)
def test_sums_in_postgresql(postgres_url, kind):
    cells = POSTGRES_COLUMNS[kind]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS sums; CREATE TABLE sums (id integer, a {kind})")
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO sums VALUES (%s, %s::text::{kind})", _numbered(cells))
    check(postgres_url, "sums", cells)


def test_sums_in_spark(spark_master, tmp_path, monkeypatch):
    """Of one attribute, since each table takes Spark a while."""
    monkeypatch.setattr(f"{__name__}.ATTRIBUTES", {"halves": ATTRIBUTES["halves"]})
    write(tmp_path, "DOUBLE", DOUBLES)
    check(f"{spark_master}{tmp_path / 't.parquet'}", None, DOUBLES)


def test_bins_have_no_sum():
    """What lies in a bin is not known: a sum over bins would be wrong with confidence."""
    domain = Domain({"a": Binned(0, 10, bins=5)})
    for kind in ("sum", "average"):
        with pytest.raises(ParcompError, match="bins"):
            str(Statement.one(kind, Condition.of(domain.query()), "a").aggregates)


def _numbered(cells: list[Any]) -> list[tuple[int, str]]:
    return [(number, cell.shortest if isinstance(cell, Narrow) else str(cell)) for number, cell in enumerate(cells)]
