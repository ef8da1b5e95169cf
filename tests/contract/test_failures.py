"""Whether a table fails says nothing about its rows: it is refused when it is encoded, or it answers everything."""

from __future__ import annotations

import random
import uuid

import duckdb
import psycopg
import pytest

from parcomp.errors import DataError
from parcomp.model import Condition, Domain, Statement
from parcomp.model.attribute import Attribute, Binned, Categorical, Dated, Integer
from tests.data.coded_sources import coded

PREDICATES = 40
NUMBERS: Attribute = Binned(0, 5, bins=10)
DAYS: Attribute = Categorical([f"2020-02-0{1 + number}" for number in range(5)])
DATES: Attribute = Dated("2020-02-01", "2020-02-05")
REFUSED = None

ROWS = [(number % 10, number % 5) for number in range(30)]
"""The part of the row, by which it is asked for, and its number; the odd row comes on top."""


def outcome(source: str, table: str | None, attribute: Attribute, odd: str, *, batch: int = 1) -> int | None:
    """How many rows have a value, after 40 random predicates of which all were answered; None if it was refused.

    Whatever is said then, the odd value is not.
    """
    domain = Domain({"part": Integer(0, 9), "a": attribute})
    everything = Condition.of(domain.query())
    draw = random.Random(5)
    statements = []
    for _ in range(PREDICATES):
        where = {"part": draw.sample(range(10), draw.randrange(1, 10))}
        if draw.random() < 0.5 and not isinstance(attribute, Binned):
            listed = draw.sample(range(attribute.size), draw.randrange(1, attribute.size))
            where["a"] = [attribute.value(code) for code in listed]
        statements.append(Statement.one("count", Condition.of(domain.query(where))))
    try:
        with coded(source, table, domain) as (opened, report):
            for start in range(0, PREDICATES, batch):
                opened.measure(statements[start : start + batch])
            [[[rows]], [each]] = opened.measure(
                [Statement.one("count", everything), Statement.one("count", everything, groups=(1,))]
            )
            assert rows == report.rows >= len(ROWS)
            return sum(each)
    except DataError as error:
        refusal = error
    assert len(odd) < 2 or odd not in str(refusal)
    assert refusal.__cause__ is None
    return REFUSED


@pytest.mark.parametrize(
    ("attribute", "odd", "rows"),
    [
        (NUMBERS, "1e-400", 31),
        (NUMBERS, "1e400", 30),
        (NUMBERS, "nan", 30),
        (NUMBERS, "-Infinity", 30),
        (NUMBERS, "odd", 30),
        (Integer(0, 4), "9" * 60, 30),
        (Integer(0, 4), "4.0", 31),
        (Integer(0, 4), "1e" + "9" * 30, 30),
        (DAYS, "2020-02-30", 30),
        (DATES, "2020-02-30", 30),
        (DATES, "2020-02-05T23:59:59.999999999", 31),
    ],
)
def test_text_in_a_csv_file(tmp_path, attribute, odd, rows):
    path = tmp_path / "t.csv"
    cells = [(part, f"2020-02-0{1 + number}" if attribute in (DAYS, DATES) else number) for part, number in ROWS]
    path.write_text("part,a\n" + "".join(f"{part},{cell}\n" for part, cell in [*cells, (7, odd)]))
    assert outcome(str(path), None, attribute, odd) == rows


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
    assert outcome(str(path), None, NUMBERS, odd) == rows


def test_dates_that_no_calendar_has_are_outside(tmp_path):
    """In a DuckDB file, read as dates and as strings."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (part INTEGER, a DATE)")
        connection.executemany("INSERT INTO t VALUES (?, DATE '2020-02-01' + CAST(? AS INTEGER))", ROWS)
        odd = "(7, DATE 'infinity'), (7, DATE '-infinity'), (7, DATE '5000000-01-01'), (7, DATE '0044-03-15 (BC)')"
        connection.execute(f"INSERT INTO t VALUES {odd}")
    assert outcome(str(path), "t", DATES, "infinity") == 30
    assert outcome(str(path), "t", DAYS, "infinity") == 30


VIEWS = {
    "a cast of text to integers": ("CAST(t AS INTEGER)", Integer(0, 4), "strange"),
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
    assert outcome(str(path), "v", attribute, odd) == 30
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO t VALUES (7, ?)", [odd])
    assert outcome(str(path), "v", attribute, odd) is REFUSED


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
    assert outcome(postgres_url, "odd_numbers", NUMBERS, odd) == rows


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
        assert outcome(postgres_url, "odd_view", attribute, odd) == 30
        connection.execute("INSERT INTO odd_text VALUES (7, %s)", [odd])
    assert outcome(postgres_url, "odd_view", attribute, odd) is REFUSED


SPARK_VIEWS = {**VIEWS, "a division by zero": ("5 DIV (CAST(t AS INT) - 9)", Integer(-5, 0), "9")}


@pytest.fixture
def spark_view(spark_master, tmp_path):
    """Makes a view that all sessions see of rows with a text ``t``."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  pyspark takes seconds to import

    def make(column: str, rows: list[tuple[int, str]]) -> str:
        # In letters: no value that is looked for in a message may be in the name by chance.
        name = "odd_" + uuid.uuid4().hex.translate(str.maketrans("0123456789", "ghijklmnop"))
        path = tmp_path / f"{name}.parquet"
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
    """It fails before there is anything to ask."""
    rows = [(part, str(number)) for part, number in ROWS]
    assert outcome(spark_master, spark_view(column, [*rows, (7, odd)]), attribute, odd, batch=40) is REFUSED


def test_numbers_in_spark(spark_master, spark_view):
    """Zeros and infinities that come of under- and overflow, and NaN."""
    rows = [(part, str(number)) for part, number in ROWS]
    odd = [(7, text) for text in ("NaN", "-Infinity", "1e400", "-1e-400", "1e-400")]
    view = spark_view("CAST(t AS DOUBLE)", [*rows, *odd])
    assert outcome(spark_master, view, NUMBERS, "1e400", batch=40) == 32
