"""Counting codes: a batch of a thousand counts and a single one, by the number of rows and the engine.

Rows are random, of ten attributes of different sizes, so hardly any two of them are equal: the worst case for a table
of distinct rows.  Counts have three conditions each, ranges and single values.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.harness import Goal, Row, Settings, Timing, benchmark, repeated, report, timed
from parcomp.data.codes.coded_table import CodedTable
from parcomp.data.codes.duckdb_codes import DuckDBCodes, DuckDBWriter
from parcomp.data.layout import Imprint, staging_schema
from parcomp.model import Condition, Domain, Statement
from parcomp.model.attribute import Integer

__all__ = ["counting"]

SIZES = (2, 120, 5_000, 7, 50, 8, 100, 3, 20, 365)
DOMAIN = Domain({f"a{index}": Integer(0, size - 1) for index, size in enumerate(SIZES)})
IMPRINT = Imprint("benchmark", "1", "", "random rows")

_BATCH_ROWS = 2**17


@benchmark("counts")
def counting(settings: Settings) -> Iterator[Row]:
    """A thousand counts in one batch and a single count, on coded tables of DuckDB, PostgreSQL and Spark."""
    one_million = 100_000 if settings.quick else 1_000_000
    growth = (1,) if settings.quick else (1, 2, 5, 10, 20)
    drawn: list[tuple[int, float, float]] = []
    with tempfile.TemporaryDirectory() as directory:
        for times in growth:
            rows = times * one_million
            with _duckdb(Path(directory), rows) as (table, encoding):
                batch, single, figures = _measured(table, encoding)
            drawn.append((rows, batch, single))
            goal = Goal("1,000 counts ≤ 2 s, one ≤ 10 ms", batch <= 2 and single <= 0.01) if times == 1 else None
            yield Row(f"DuckDB, {rows:,} rows", figures, settings.at_full_size(goal) if goal else None)
        for engine, opened in (("PostgreSQL", _postgres), ("Spark", _spark)):
            try:
                with opened(Path(directory), one_million) as (table, encoding):
                    yield Row(f"{engine}, {one_million:,} rows", _measured(table, encoding)[2])
            except ImportError as error:
                report(f"  {engine} is left out: {error}")
    if len(drawn) > 1:
        _plot(drawn, settings.out / "counts.png")


def _measured(table: CodedTable, encoding: Timing) -> tuple[float, float, dict[str, Any]]:
    statements = _statements(1_000)
    _, first = timed(table.measure, statements[:100])
    _, batch = repeated(table.measure, statements, times=3)
    _, single = repeated(lambda: [table.measure([one]) for one in statements[:9]], times=3)
    one = Timing(single.seconds / 9)
    figures = {
        "writing": encoding,
        "100, at first": first,
        "1,000 counts": batch,
        "processor": Timing(batch.cpu or 0.0),
        "one count": one,
    }
    return batch.seconds, one.seconds, figures


def _statements(count: int) -> list[Statement]:
    chance = random.Random(3)
    found = []
    for _ in range(count):
        where: dict[str, Any] = {}
        for index in chance.sample(range(len(SIZES)), 3):
            low, high = sorted((chance.randrange(SIZES[index]), chance.randrange(SIZES[index])))
            where[f"a{index}"] = range(low, high + 1) if chance.random() < 0.6 else low
        found.append(Statement.one("count", Condition.of(DOMAIN.query(where))))
    return found


def _batches(rows: int) -> Iterator[pa.RecordBatch]:
    """Random rows, one value in a hundred outside."""
    schema = staging_schema(DOMAIN, persons=False)
    chance = np.random.default_rng(rows)
    for start, stop in pairwise([*range(0, rows, _BATCH_ROWS), rows]):
        arrays = [
            np.where(chance.random(stop - start) < 0.01, size, chance.integers(0, size, stop - start)) for size in SIZES
        ]
        typed = [pa.array(values).cast(field.type) for values, field in zip(arrays, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(typed, schema=schema)


@contextmanager
def _duckdb(directory: Path, rows: int) -> Iterator[tuple[CodedTable, Timing]]:
    path = directory / "codes.duckdb"
    with DuckDBWriter(path, DOMAIN) as writer:
        _, encoding = timed(_write, writer, rows)
    table = DuckDBCodes(path, DOMAIN)
    yield table, encoding
    table.close()


@contextmanager
def _postgres(directory: Path, rows: int) -> Iterator[tuple[CodedTable, Timing]]:  # noqa: ARG001
    from parcomp.data.codes.postgres_codes import PostgresCodes, PostgresWriter  # noqa: PLC0415  may not be installed
    from tests.servers import running_postgres  # noqa: PLC0415

    names = {"dataset": IMPRINT.dataset, "version": IMPRINT.version, "source": IMPRINT.source}
    with running_postgres() as url:
        with PostgresWriter(url, DOMAIN, **names) as writer:
            _, encoding = timed(_write, writer, rows)
        table = PostgresCodes(url, DOMAIN, **names)
        yield table, encoding
        table.close()


@contextmanager
def _spark(directory: Path, rows: int) -> Iterator[tuple[CodedTable, Timing]]:
    from pyspark.sql import SparkSession  # noqa: PLC0415  may not be installed

    from parcomp.data.codes.spark_codes import SparkCodes, SparkWriter  # noqa: PLC0415
    from tests.servers import java_problem  # noqa: PLC0415

    problem = java_problem()
    if problem:
        raise ImportError(problem)
    builder: Any = SparkSession.builder
    builder = builder.master("local[*]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    session = builder.config("spark.driver.memory", "4g").getOrCreate()
    frame = session.createDataFrame(pa.Table.from_batches(_batches(rows)))

    def write() -> None:
        with SparkWriter(session, str(directory / "codes"), DOMAIN) as writer:
            writer.stage(frame)
            writer.finish(IMPRINT)

    _, encoding = timed(write)
    table = SparkCodes(session, str(directory / "codes"), DOMAIN)
    yield table, encoding
    table.close()
    session.stop()


def _write(writer: Any, rows: int) -> None:
    writer.stage(_batches(rows))
    writer.finish(IMPRINT)


def _plot(drawn: list[tuple[int, float, float]], picture: Path) -> None:
    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    rows, batch, single = zip(*drawn, strict=True)
    axes.loglog(rows, batch, marker="o", label="1,000 counts")
    axes.loglog(rows, single, marker="o", label="one count")
    axes.set_xlabel("rows")
    axes.set_ylabel("seconds")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=150)
