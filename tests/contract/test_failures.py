"""Whether a table fails says nothing about its rows: it is refused when it is opened, or it answers everything."""

from __future__ import annotations

import random
import uuid

import duckdb
import psycopg
import pytest

from parcomp.data import open_table
from parcomp.errors import DataError
from parcomp.model.attribute import Attribute, Binned, Categorical, Integer
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.statement import Statement

PREDICATES = 40
NUMBERS: Attribute = Binned(0, 5, bins=10)
DAYS: Attribute = Categorical([f"2020-02-0{1 + number}" for number in range(5)])
REFUSED = None

ROWS = [(number % 10, number % 5) for number in range(30)]
"""The part of the row, by which it is asked for, and its number; the odd row comes on top."""


def outcome(source: str, table: str | None, attribute: Attribute, *, batch: int = 1) -> int | None:
    """How many rows there are, after 40 random predicates of which all were answered; None if opening was refused."""
    domain = Domain({"part": Integer(0, 9), "a": attribute})
    try:
        opened = open_table(source, table, domain)
    except DataError:
        return REFUSED
    draw = random.Random(5)
    statements = []
    for _ in range(PREDICATES):
        where = {"part": draw.sample(range(10), draw.randrange(1, 10))}
        if draw.random() < 0.5:
            listed = draw.sample(range(attribute.size), draw.randrange(1, attribute.size))
            where["a"] = [attribute.value(code) for code in listed]
        statements.append(Statement("count", Condition.of(domain.query(where))))
    try:
        for start in range(0, PREDICATES, batch):
            opened.measure(statements[start : start + batch])
        return opened.measure([Statement("count", Condition.of(domain.query()))])[0][0][0]
    finally:
        opened.close()


@pytest.mark.parametrize(
    ("attribute", "odd", "rows"),
    [
        (NUMBERS, "1e-400", 31),
        (NUMBERS, "1e400", 30),
        (NUMBERS, "nan", 30),
        (NUMBERS, "-Infinity", 30),
        (NUMBERS, "odd", 30),
        (Integer(0, 4), "9" * 60, 30),
        (Integer(0, 4), "4.0", 30),
        (DAYS, "2020-02-30", 30),
    ],
)
def test_text_in_a_csv_file(tmp_path, attribute, odd, rows):
    path = tmp_path / "t.csv"
    cells = [(part, f"2020-02-0{1 + number}" if attribute is DAYS else number) for part, number in ROWS]
    path.write_text("part,a\n" + "".join(f"{part},{cell}\n" for part, cell in [*cells, (7, odd)]))
    assert outcome(str(path), None, attribute) == rows


@pytest.mark.parametrize(
    ("kind", "odd", "rows"),
    [
        ("DOUBLE", "'nan'", 30),
        ("DOUBLE", "'-inf'", 30),
        ("DOUBLE", "1e308", 30),
        ("DOUBLE", "5e-324", 31),
        ("DECIMAL(38, 0)", "9" * 38, 30),
        ("DECIMAL(38, 15)", "-" + "9" * 23 + "." + "9" * 15, 30),
        ("REAL", "1e-45", 31),
        ("UBIGINT", str(2**64 - 1), 30),
    ],
)
def test_numbers_in_a_parquet_file(tmp_path, kind, odd, rows):
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (part INTEGER, a {kind})")
        connection.executemany("INSERT INTO t VALUES (?, ?)", ROWS)
        connection.execute(f"INSERT INTO t VALUES (7, CAST({odd} AS {kind}))")
        connection.execute(f"COPY t TO '{path}'")
    assert outcome(str(path), None, NUMBERS) == rows


VIEWS = {
    "a cast of text to integers": ("CAST(t AS INTEGER)", Integer(0, 4), "odd"),
    "a cast of text to dates": ("CAST('2020-02-0' || CAST(1 + CAST(t AS INTEGER) AS VARCHAR) AS DATE)", DAYS, "70"),
    "a cast that overflows": ("CAST(CAST(t AS INTEGER) AS SMALLINT)", Integer(0, 4), "70000"),
}
"""What a view makes of the text ``t``, and a text on which it fails."""


@pytest.mark.parametrize(
    ("column", "attribute", "odd"),
    [*VIEWS.values(), ("CASE WHEN t = '9' THEN error('odd') ELSE CAST(t AS INTEGER) END", Integer(0, 4), "9")],
    ids=[*VIEWS, "an error of the view's own"],
)
def test_views_in_a_duckdb_file(tmp_path, column, attribute, odd):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (part INTEGER, t VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", ROWS)
        connection.execute(f"CREATE VIEW v AS SELECT part, {column} AS a FROM t")
    assert outcome(str(path), "v", attribute) == 30
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO t VALUES (7, ?)", [odd])
    assert outcome(str(path), "v", attribute) is REFUSED


@pytest.mark.parametrize(
    ("kind", "odd", "rows"),
    [
        ("numeric", "1e-400", 31),
        ("numeric", "-1e-400", 31),
        ("numeric", "-1e-320", 30),
        ("numeric", "1e400", 30),
        ("numeric", "-1e16000", 30),
        ("numeric", "NaN", 30),
        ("numeric", "-Infinity", 30),
        ("numeric(1000, 0)", "9" * 900, 30),
        ("double precision", "NaN", 30),
        ("double precision", "Infinity", 30),
        ("double precision", "1.7e308", 30),
        ("double precision", "5e-324", 31),
        ("real", "1e-45", 31),
    ],
)
def test_numbers_in_postgresql(postgres_url, kind, odd, rows):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS odd_numbers; CREATE TABLE odd_numbers (part integer, a {kind})")
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO odd_numbers VALUES (%s, %s::text::{kind})", [*ROWS, (7, odd)])
    assert outcome(postgres_url, "odd_numbers", NUMBERS) == rows


@pytest.mark.parametrize(
    ("column", "attribute", "odd"),
    [*VIEWS.values(), ("5 / (CAST(t AS INTEGER) - 9)", Integer(-5, 0), "9")],
    ids=[*VIEWS, "a division by zero"],
)
def test_views_in_postgresql(postgres_url, column, attribute, odd):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS odd_text CASCADE; CREATE TABLE odd_text (part integer, t text)")
        connection.execute(f"CREATE VIEW odd_view AS SELECT part, {column} AS a FROM odd_text")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO odd_text VALUES (%s, %s)", ROWS)
        assert outcome(postgres_url, "odd_view", attribute) == 30
        connection.execute("INSERT INTO odd_text VALUES (7, %s)", [odd])
    assert outcome(postgres_url, "odd_view", attribute) is REFUSED


SPARK_VIEWS = {**VIEWS, "a division by zero": ("5 DIV (CAST(t AS INT) - 9)", Integer(-5, 0), "9")}


@pytest.fixture
def spark_view(spark_master, tmp_path):
    """Makes a view that all sessions see of rows with a text ``t``."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  pyspark takes seconds to import

    def make(column: str, rows: list[tuple[int, str]]) -> str:
        path, name = tmp_path / f"{uuid.uuid4()}.parquet", f"odd_{uuid.uuid4().hex}"
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t (part INTEGER, t VARCHAR)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
            connection.execute(f"COPY t TO '{path}'")
        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        column = column.replace("VARCHAR", "STRING")
        session.sql(f"SELECT part, {column} AS a FROM parquet.`{path}`").createOrReplaceGlobalTempView(name)
        return f"global_temp.{name}"

    return make


@pytest.mark.parametrize(("column", "attribute", "odd"), SPARK_VIEWS.values(), ids=SPARK_VIEWS)
def test_views_in_spark(spark_master, spark_view, column, attribute, odd):
    """A predicate on the part is not moved below the cast."""
    rows = [(part, str(number)) for part, number in ROWS]
    assert outcome(spark_master, spark_view(column, [*rows, (7, odd)]), attribute, batch=10) is REFUSED


def test_numbers_in_spark(spark_master, spark_view):
    """Zeros and infinities that come of under- and overflow, and NaN."""
    rows = [(part, str(number)) for part, number in ROWS]
    odd = [(7, text) for text in ("NaN", "-Infinity", "1e400", "-1e-400", "1e-400")]
    view = spark_view("CAST(t AS DOUBLE)", [*rows, *odd])
    assert outcome(spark_master, view, NUMBERS, batch=10) == 32
