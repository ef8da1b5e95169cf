"""Every source is read as a plain reading of its values says, code by code, and so is what a report tells of it.

Tables are drawn by number, in chunks: 2,002 of them for ``make test``, and 8,038 more for ``make soak``.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import psycopg
import pytest

from parcomp.data.encoding import TableEncoder, match_columns
from parcomp.data.sources import Source, open_source
from parcomp.data.sources.frame import FrameSource
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
from tests.soak import shared_with_soak


def check(seed: int, table: DirtyTable, source: Source) -> None:
    """The codes of a source, and the report, are those of the plain reading."""
    with source:
        columns = match_columns(table.domain, source.types)
        encoder = TableEncoder(table.domain, table.reading.nulls, table.reading.timezone)
        found = [batch.to_pydict() for batch in encoder.encoded(source.batches(columns))]
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
def test_parquet_files_that_spark_reads(spark_master: str, tmp_path: Path, chunk: int) -> None:
    """Tables of many columns, since each takes Spark a while."""
    for seed in numbers(chunk, 2):
        table = random_table(seed, SPARK_TYPES, most_columns=150, most_rows=40)
        path = write_parquet(tmp_path / f"t{seed}.parquet", table)
        check(seed, table, open_source(spark_master + path, None, table.reading))
