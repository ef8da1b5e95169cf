"""Every source is read as a plain reading of its values says, code by code, and so is what a report tells of it.

Tables are drawn by number, in chunks: of each source's own types 2,002 of them for ``make test``, and 8,038 more for
``make soak``; and tables that go through all sources.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

import duckdb
import psycopg
import pytest

from parcomp.data import CodedTable, open_table, write_table
from parcomp.data.encoding import TableEncoder, match_columns
from parcomp.data.layout import columns, sorted_sql
from parcomp.data.sources import Source, open_source
from parcomp.data.sources.frame import FrameSource
from parcomp.model import Condition, Predicate, Query, Statement
from tests.contract.ledger_places import fresh_database
from tests.data.coded_rows import expected
from tests.data.dirty_sources import (
    DUCKDB_TYPES,
    PANDAS_TYPES,
    PARQUET_TYPES,
    POSTGRES_TYPES,
    SPARK_TYPES,
    DirtyTable,
    random_csv,
    random_table,
    write_csv,
    write_duckdb,
    write_pandas,
    write_parquet,
    write_postgres,
)
from tests.data.one_table import ENGINES, place_in, stored_in, tables_side_by_side
from tests.soak import shared_with_soak, soaked


def check(seed: int, table: DirtyTable, source: Source) -> None:
    """The codes of a source, and the report, are those of the plain reading."""
    with source:
        matched = match_columns(table.domain, source.types)
        encoder = TableEncoder(table.domain, table.reading.nulls, table.reading.timezone)
        found = [batch.to_pydict() for batch in encoder.encoded(source.batches(matched))]
    for index, column in enumerate(table.columns):
        codes = [code for batch in found for code in batch[f"c{index}"]]
        for place, (code, row) in enumerate(zip(codes, table.rows, strict=True)):
            assert code == row[index], (seed, column.kind, column.attribute, column.cells[place], table.reading)
    report = encoder.report()
    assert (report.rows, report.inside) == (len(table.rows), table.inside), seed
    for reader, column in zip(table.readers, table.columns, strict=True):
        assert report.as_json()["attributes"][column.name] == {
            reason: reader.tally[reason] for reason in ("null", "unknown", "out_of_range", "wrong_type")
        }, (seed, column)


def numbers(chunk: int, size: int) -> range:
    return range(chunk * size, (chunk + 1) * size)


@pytest.mark.parametrize("chunk", shared_with_soak(20, 12))
def test_csv_files(tmp_path: Path, chunk: int) -> None:
    for seed in numbers(chunk, 100):
        table = random_csv(seed)
        check(seed, table, open_source(write_csv(tmp_path / "t.csv", table, seed), None, table.reading))


@pytest.mark.parametrize("chunk", shared_with_soak(20, 14))
def test_parquet_files(tmp_path: Path, chunk: int) -> None:
    for seed in numbers(chunk, 100):
        table = random_table(seed, PARQUET_TYPES)
        check(seed, table, open_source(write_parquet(tmp_path / "t.parquet", table), None, table.reading))


@pytest.mark.parametrize("chunk", shared_with_soak(20, 16))
def test_pandas_frames(chunk: int) -> None:
    for seed in numbers(chunk, 100):
        table = random_table(seed, PANDAS_TYPES)
        check(seed, table, FrameSource(write_pandas(table)))


@pytest.mark.parametrize("chunk", shared_with_soak(20, 19))
def test_duckdb_files(tmp_path: Path, chunk: int) -> None:
    tables = {seed: random_table(seed, DUCKDB_TYPES) for seed in numbers(chunk, 100)}
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for seed, table in tables.items():
            write_duckdb(connection, f"t{seed}", table)
    for seed, table in tables.items():
        check(seed, table, open_source(str(path), f"t{seed}", table.reading))


@pytest.mark.parametrize("chunk", shared_with_soak(20, 19))
def test_postgresql_tables(postgres_url: str, chunk: int) -> None:
    tables = {seed: random_table(seed, POSTGRES_TYPES) for seed in numbers(chunk, 100)}
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA dirty; SET search_path = dirty; SET client_encoding = 'utf8'")
        try:
            for seed, table in tables.items():
                write_postgres(connection, f"t{seed}", table)
            for seed, table in tables.items():
                check(seed, table, open_source(postgres_url, f"dirty.t{seed}", table.reading))
        finally:
            connection.execute("SET client_min_messages = error; DROP SCHEMA dirty CASCADE")


@pytest.mark.parametrize("chunk", shared_with_soak(20, 19))
def test_parquet_files_that_spark_brings_here(spark_master: str, tmp_path: Path, chunk: int) -> None:
    """Tables of many columns, since each takes Spark a while; all of its types, and rows that are read here."""
    for seed in numbers(chunk, 2):
        table = random_table(seed, SPARK_TYPES, most_columns=150, most_rows=40)
        path = write_parquet(tmp_path / f"t{seed}.parquet", table)
        check(seed, table, open_source(spark_master + path, None, table.reading))


def counts_of(draw: Random, table: DirtyTable, names: list[str]) -> list[Statement]:
    """Counts and sums over one of several tables that stand side by side: what is asked of others is nothing."""
    domain = table.domain
    where = Condition(domain, ())
    for _ in range(draw.choice([1, 2])):
        asked = draw.sample(names, draw.randint(1, len(names)))
        sets = {name: draw.sample(range(n := domain.attributes[name].size), min(n, 40)) for name in asked}
        terms = ((domain.index(name), Predicate.from_codes(domain.attributes[name].size, sets[name])) for name in asked)
        where |= Condition.of(Query(domain, tuple(sorted(terms))))
    summable = [name for name in names if domain.attributes[name].scale is not None]
    return [Statement.one("count", where), *(Statement.one("sum", where, name) for name in summable[:1])]


def rows_of(opened: CodedTable) -> Counter[tuple[int, ...]]:
    """The rows of a coded table, as often as it has each."""
    found: Counter[tuple[int, ...]] = Counter()
    for chunk in opened._chunks(sorted_sql(columns(opened.domain), opened._relation)):
        for *codes, many in zip(*(values.tolist() for values in chunk), strict=True):
            found[tuple(codes)] += many
    return found


@pytest.mark.parametrize(("chunk", "tables"), [(0, 30), *(soaked(chunk, 100) for chunk in range(1, 22))])
def test_one_table_is_the_same_in_every_source(
    spark_master: str, postgres_url: str, tmp_path: Path, chunk: int, tables: int
) -> None:
    """Encoded as in production (on Spark by its executors), row by row and in what is counted: 30 tables, and 2,100.

    Tables stand side by side as one wide table, since each table takes an engine a while, however narrow it is.
    """
    wide, names = tables_side_by_side(chunk, tables)
    servers = {"postgres": fresh_database(postgres_url), "spark": spark_master}
    digests: dict[str, str] = {}
    for engine in ENGINES:
        table = stored_in(engine, wide, chunk)
        draw = Random(chunk)
        asked = [one for mine in names for one in counts_of(draw, table, mine)]
        place, frame = place_in(engine, table, tmp_path, chunk, servers.get(engine, ""))
        imprint, report = write_table(place, frame=frame)
        with closing(open_table(place)) as opened:
            assert rows_of(opened) == Counter(table.rows), (chunk, engine)
            assert opened.measure(asked) == [expected(table.rows, one) for one in asked], (chunk, engine)
        assert (report.rows, report.inside) == (len(table.rows), table.inside), (chunk, engine)
        for reader, column in zip(table.readers, table.columns, strict=True):
            found = report.attributes[column.name]
            told = found.as_json() | {"rounded": found.rounded}
            assert told == {reason: reader.tally[reason] for reason in told}, (chunk, engine, column)
        digests[engine] = imprint.digest
        if engine == "csv" and not table.reading.nulls:
            # Text that stands for null is the only thing that tells text from what it writes.
            assert table.rows == wide.rows
    # The same cells: pandas has no NaN, and tokens for null are texts.
    assert len({digests[engine] for engine in ("parquet", "duckdb", "postgres", "spark")}) == 1
