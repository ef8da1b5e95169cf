"""From every kind of source to answers: what is counted and summed is what a plain reading of the rows says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

from parcomp.data import Reading, Report, open_table, write_table
from parcomp.data.codes.duckdb_codes import DuckDBCodes, DuckDBWriter
from parcomp.data.encoding import TableEncoder, match_columns
from parcomp.data.sources.frame import FrameSource
from parcomp.errors import DataError
from parcomp.model import Condition, Domain, Statement
from parcomp.model.attribute import Attribute, Binned, Categorical, Integer
from tests.contract.ledger_places import fresh_database
from tests.data.coded_rows import IMPRINT, expected
from tests.data.coded_sources import coded, counted, place_of
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
from tests.soak import shared_with_soak, soaked


def statements_about(draw: Random, domain: Domain) -> list[Statement]:
    """Counts, sums and averages, over unions of conditions on some attributes, with groups."""
    statements = [Statement.one("count", Condition.of(domain.query()))]
    summable = [name for name, attribute in domain.attributes.items() if attribute.scale is not None]
    small = [index for index, attribute in enumerate(domain.attributes.values()) if attribute.size < 50]
    for _ in range(5):
        where = Condition(domain, ())
        for _ in range(draw.choice([1, 1, 2])):
            names = draw.sample(list(domain.names), draw.randint(0, min(2, len(domain.names))))
            where |= Condition.of(domain.query({name: _values(draw, domain.attributes[name]) for name in names}))
        kind = draw.choice(["count", "sum", "average"] if summable else ["count"])
        groups = tuple(draw.sample(small, draw.randint(0, min(2, len(small)))))
        statements.append(Statement.one(kind, where, None if kind == "count" else draw.choice(summable), groups))
    return statements


def _values(draw: Random, attribute: Attribute) -> Any:
    codes = [draw.randrange(attribute.null) for _ in range(draw.choice([1, 3, 10]))]
    if isinstance(attribute, Binned):
        return [{"from": attribute.edge(code), "below": attribute.edge(code + 1)} for code in codes]
    if not isinstance(attribute, Categorical) and draw.random() < 0.5:
        return [{"from": attribute.value(min(codes)), "to": attribute.value(max(codes))}]
    return [attribute.value(code) for code in codes]


def check(seed: int, table: DirtyTable, opened: Any, report: Report) -> None:
    statements = statements_about(Random(seed), table.domain)
    assert opened.measure(statements) == [expected(table.rows, statement) for statement in statements], seed
    assert (report.rows, report.inside) == (len(table.rows), table.inside), seed
    assert [one.as_json() for one in report.attributes.values()] == [
        {reason: reader.tally[reason] for reason in ("null", "unknown", "out_of_range", "wrong_type")}
        for reader in table.readers
    ], seed


@contextmanager
def _coded_frame(path: Path, table: DirtyTable) -> Iterator[tuple[Any, Report]]:
    with FrameSource(write_pandas(table)) as source, DuckDBWriter(path, table.domain) as writer:
        encoder = TableEncoder(table.domain, table.reading.nulls, table.reading.timezone)
        writer.stage(encoder.encoded(source.batches(match_columns(table.domain, source.types))))
        writer.finish(IMPRINT)
    opened = DuckDBCodes(path, table.domain)
    yield opened, encoder.report()
    opened.close()


@pytest.mark.parametrize("chunk", shared_with_soak(10, 9))
@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "pandas"])
def test_tables_in_files_and_frames(tmp_path: Path, kind: str, chunk: int) -> None:
    for seed in range(10_000 + 12 * chunk, 10_000 + 12 * (chunk + 1)):
        if kind == "csv":
            table = random_csv(seed)
            path: Any = write_csv(tmp_path / "t.csv", table, seed)
        elif kind == "parquet":
            table = random_table(seed, PARQUET_TYPES)
            path = write_parquet(tmp_path / "t.parquet", table)
        elif kind == "duckdb":
            table = random_table(seed, DUCKDB_TYPES)
            path = tmp_path / f"t{seed}.duckdb"
            with duckdb.connect(str(path)) as connection:
                write_duckdb(connection, "people", table)
        else:
            table = random_table(seed, PANDAS_TYPES)
            with _coded_frame(tmp_path / f"codes{seed}", table) as (opened, report):
                check(seed, table, opened, report)
            continue
        with coded(path, "people", table.domain, table.reading) as (opened, report):
            check(seed, table, opened, report)


@pytest.mark.parametrize("chunk", shared_with_soak(10, 9))
def test_tables_in_postgresql(postgres_url: str, chunk: int) -> None:
    url = fresh_database(postgres_url)
    with psycopg.connect(url, autocommit=True, client_encoding="utf8") as connection:
        for seed in range(12 * chunk, 12 * (chunk + 1)):
            table = random_table(seed, POSTGRES_TYPES)
            write_postgres(connection, f"t{seed}", table)
            with coded(url, f"t{seed}", table.domain, table.reading) as (opened, report):
                check(seed, table, opened, report)


@pytest.mark.parametrize("seed", [1, *map(soaked, range(2, 12))])
def test_tables_that_spark_reads(spark_master: str, tmp_path: Path, seed: int) -> None:
    """The rows are encoded where Spark has them."""
    table = random_table(seed, SPARK_TYPES, most_columns=6, most_rows=40)
    path = write_parquet(tmp_path / f"t{seed}.parquet", table)
    with coded(spark_master + path, None, table.domain, table.reading) as (opened, report):
        check(seed, table, opened, report)


Store = Callable[[Path, dict[str, list[Any]]], tuple[Any, str | None]]


def _in_parquet(directory: Path, columns: dict[str, list[Any]]) -> tuple[Any, None]:
    pa.parquet.write_table(pa.table(columns), directory / "t.parquet")
    return directory / "t.parquet", None


def _in_csv(directory: Path, columns: dict[str, list[Any]]) -> tuple[Any, None]:
    rows = zip(*columns.values(), strict=True)
    (directory / "t.csv").write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    return directory / "t.csv", None


def _in_duckdb(directory: Path, columns: dict[str, list[Any]]) -> tuple[Any, str]:
    with duckdb.connect(str(directory / "t.duckdb")) as connection:
        values = ", ".join(str(tuple(row)) for row in zip(*columns.values(), strict=True))
        connection.execute("CREATE TABLE people (sex VARCHAR, number BIGINT, huge HUGEINT)")
        connection.execute(f"INSERT INTO people VALUES {values}")
    return directory / "t.duckdb", "people"


@pytest.mark.parametrize("store", [_in_parquet, _in_csv, _in_duckdb])
def test_values_that_no_row_can_hold_are_declared_without_harm(tmp_path: Path, store: Store) -> None:
    """A NUL in a string, and integers beyond the column's type."""
    source, table = store(tmp_path, {"sex": ["F"], "number": [2**63 - 1], "huge": [5]})
    assert counted(source, table, Categorical(["F", "nul\0", "';--"]), "sex") == [1, 0, 0]
    assert counted(source, table, Integer(2**63 - 2, 2**63 + 5), "number") == [0, 1, 0, 0, 0, 0, 0, 0]
    assert counted(source, table, Integer(-(2**80), -(2**80) + 2), "number") == [0, 0, 0]
    assert counted(source, table, Categorical([1, 10**60, -(10**60), 5]), "huge") == [0, 0, 0, 1]


def test_a_statement_about_another_domain_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    domain, other = Domain({"a": Integer(0, 9)}), Domain({"a": Integer(0, 8)})
    with coded(tmp_path / "t.csv", None, domain) as (opened, _), pytest.raises(DataError, match="another domain"):
        opened.measure([Statement.one("count", Condition.of(other.query()))])


def test_persons_that_spark_reads(spark_master: str, tmp_path: Path) -> None:
    """Of each at most so many rows, and those without a person not at all, as from a file that Spark does not read."""
    cells = {"who": ["a", "a", "b", None, "NA", "b", "b", "c"], "a": [1, 1, 2, 3, 4, 2, 2, 9]}
    pa.parquet.write_table(pa.table(cells), tmp_path / "t.parquet")
    domain = Domain({"a": Integer(0, 4)})
    found = []
    for source in (spark_master, ""):
        place = place_of(
            f"{source}{tmp_path / 't.parquet'}", None, domain, tmp_path / f"codes{len(found)}", Reading(nulls=("NA",))
        )
        place = replace(place, person="who", rows_per_person=2)
        imprint, report = write_table(place, b"key")
        with closing(open_table(place)) as opened:
            counts = opened.measure([Statement.one("count", Condition.of(domain.query()), groups=(0,))])
        found.append((imprint.kept, report.as_json(), counts))
    assert found[0] == found[1]
    assert found[0][0] == 5
    assert found[0][2] == [[[0, 2, 2, 0, 0]]]


@pytest.mark.parametrize("person", ["", "who"])
def test_a_source_that_changes_while_spark_reads_it_is_refused(
    spark_master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, person: str
) -> None:
    """What is encoded is what the custodian was shown, and progress is told of both readings."""
    from parcomp.data.sources.spark_source import SparkSource  # noqa: PLC0415

    pa.parquet.write_table(pa.table({"who": ["a", "a", "b"], "a": [1, 2, 9]}), tmp_path / "t.parquet")
    domain = Domain({"a": Integer(0, 4)})
    place = place_of(f"{spark_master}{tmp_path / 't.parquet'}", None, domain, tmp_path / "codes")
    place = replace(place, person=person)
    told: list[tuple[int, float | None]] = []
    write_table(place, b"key", lambda rows, share: told.append((rows, share)))
    assert told == [(3, 0.5), (3, 1.0)]
    shown: list[Report] = []
    encoded = SparkSource.encoded
    for kept in ("c0 <> 1", "c0 <> 5"):

        def without_some(self: Any, columns: Any, encode: Any, to: Any, kept: str = kept) -> Any:
            frame = encoded(self, columns, encode, to)
            return frame if to == "text string" else frame.filter(kept)

        monkeypatch.setattr(SparkSource, "encoded", without_some)
        with pytest.raises(DataError, match="the rows that were encoded are not those that were looked at"):
            write_table(place, b"key", agree=shown.append)
    assert not shown


def test_floats_of_postgresql_stand_for_their_shortest_decimals(postgres_url: str) -> None:
    """Also where the server writes a longer one: it takes none that lies halfway to the next float."""
    url = fresh_database(postgres_url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (narrow real, wide double precision)")
        connection.execute("INSERT INTO t VALUES (83806624, 36028797018964016), ('NaN', '-Infinity'), (NULL, NULL)")
        written = connection.execute("SELECT narrow::text, wide::text FROM t LIMIT 1").fetchone()
    assert written == ("8.3806624e+07", "3.6028797018964016e+16")
    assert str(np.float32(83806624)) == "8.380662e+07"
    assert repr(36028797018964016.0) == "3.602879701896402e+16"
    assert counted(url, "t", Integer(83806619, 83806625), "narrow") == [0, 1, 0, 0, 0, 0, 0]
    assert counted(url, "t", Integer(36028797018964015, 36028797018964021), "wide") == [0, 0, 0, 0, 0, 1, 0]
    assert counted(url, "t", Integer(0, 1, clip=True, nullable=True), "wide") == [1, 1, 1]
