"""Encoding a table: a million rows of ten columns from CSV, packed CSV and Parquet, to the coded table on disk.

Three columns of names, two of integers, two of decimals with hardly two values alike, a date, a time stamp to the
second and 0/1; one value in fifty is not known, ``NA`` in CSV.  Each table is encoded in a process of its own, since
peak memory belongs to a process.  What ``parcomp init`` does is measured: reading, encoding, sorting, digest, writing.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from pyarrow import csv, parquet

from benchmarks.harness import Goal, Row, Settings, Timing, benchmark, limited, timed
from benchmarks.whole_census import peak_memory
from parcomp.data import Reading, write_table
from parcomp.data.place import TablePlace
from parcomp.ledger import domain_text
from parcomp.model import Domain
from parcomp.model.attribute import Categorical, Dated, Integer, Stepped

__all__ = ["encoding"]

REGIONS, PRODUCTS, DIAGNOSES = (
    [f"{kind}{number}" for number in range(count)] for kind, count in (("region ", 8), ("P", 50), ("C", 800))
)
DOMAIN = Domain(
    {
        "region": Categorical(REGIONS, nullable=True),
        "product": Categorical(PRODUCTS, nullable=True),
        "diagnosis": Categorical(DIAGNOSES, nullable=True),
        "age": Integer(0, 119, nullable=True),
        "visits": Integer(0, 10_000, nullable=True),
        "income": Stepped("0.00", "1000000.00", "0.01", nullable=True),
        "cost": Stepped("-50000.00", "50000.00", "0.01", nullable=True),
        "born": Dated("1920-01-01", "2029-12-31", nullable=True),
        "seen": Dated("2020-01-01", "2029-12-31", "hour", nullable=True),
        "alive": Categorical([False, True], nullable=True),
    },
    name="benchmark",
)
_PERSON = "person"
_SLOWEST, _MOST_GIB = 30.0, 2.0
_PART_ROWS = 1_000_000
"""How many rows are made at a time."""


@benchmark("encode")
def encoding(settings: Settings) -> Iterator[Row]:
    """Encoding rows of ten columns from CSV and Parquet: time and peak memory."""
    one_million = 100_000 if settings.quick else 1_000_000
    drawn: list[tuple[int, float, float]] = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for times in (1, 2) if settings.quick else (1, 2, 4, 10, 20):
            rows = times * one_million
            _write_files(directory, rows, every=times == 1)
            cases = {
                "CSV": "t.csv",
                "CSV, at most 3 rows a person": "t.csv",
                "CSV, gzip": "t.csv.gz",
                "Parquet": "t.parquet",
            }
            for case, file in cases.items() if rows == one_million else [("CSV", "t.csv")]:
                found, timing = limited(_encoded, (str(directory / file), "person" in case), 600.0 * times)
                figures = _figures(found, timing)
                if case == "CSV" and found is not None:
                    drawn.append((rows, found[0].seconds, figures["peak GiB"]))
                goal = Goal(
                    f"≤ {_SLOWEST:g} s, ≤ {_MOST_GIB:g} GiB",
                    found is not None and found[0].seconds <= _SLOWEST and figures["peak GiB"] <= _MOST_GIB,
                )
                stated = case == "CSV" and rows == one_million
                yield Row(f"{case}, {rows:,} rows", figures, settings.at_full_size(goal) if stated else None)

    _plot(drawn, settings.out / "encode.png")


def _plot(drawn: list[tuple[int, float, float]], picture: Path) -> None:
    """How time and peak memory grow with the rows of a CSV file."""
    if len(drawn) < 2:
        return
    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    rows, seconds, peaks = zip(*drawn, strict=True)
    axes.loglog(rows, seconds, marker="o", label="seconds")
    axes.loglog(rows, peaks, marker="o", label="peak memory in GiB")
    axes.set_xlabel("rows")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=150)


def _figures(found: tuple[Timing, int, int] | None, whole: Timing) -> dict[str, Any]:
    if found is None:
        return {"encoding": whole}
    encoding_time, rows, peak = found
    return {"encoding": encoding_time, "rows a second": int(rows / encoding_time.seconds), "peak GiB": peak / 2**30}


def _encoded(source: str, persons: bool) -> tuple[Timing, int, int]:
    """How long encoding took, the rows of the table, and the most memory that the process held."""
    with tempfile.TemporaryDirectory() as directory:
        place = TablePlace(
            "benchmark",
            "1",
            DOMAIN,
            domain_text(DOMAIN),
            source,
            "benchmark",
            Reading(nulls=("NA",)),
            _PERSON if persons else "",
            3,
            codes=str(Path(directory) / "codes"),
            bound_source=source,
        )
        (imprint, report), timing = timed(write_table, place, b"benchmark")
    assert not report.doubtful
    return timing, imprint.rows, peak_memory()


def _write_files(directory: Path, rows: int, *, every: bool) -> None:
    """The same random rows as CSV and, of ``every`` kind, as packed CSV and as Parquet; a part of them at a time."""
    with ExitStack() as files:
        plain: Any = None
        for number, start in enumerate(range(0, rows, _PART_ROWS)):
            table = _table(min(_PART_ROWS, rows - start), rows // 3 + 1, number)
            texts = pa.table([_written(column) for column in table.columns], table.column_names)
            if plain is None:
                options = csv.WriteOptions(quoting_style="none")
                plain = files.enter_context(csv.CSVWriter(directory / "t.csv", texts.schema, write_options=options))
                parts = parquet.ParquetWriter(directory / "t.parquet", table.schema)
                stored = files.enter_context(parts)
            plain.write_table(texts)
            if every:
                stored.write_table(table)
    if every:
        with (
            (directory / "t.csv").open("rb") as text,
            gzip.open(directory / "t.csv.gz", "wb", compresslevel=1) as packed,
        ):
            shutil.copyfileobj(text, packed, 2**20)


def _written(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as text, with what stands for null."""
    plain = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    return pc.fill_null(pc.cast(plain, pa.string()), "NA")


def _table(rows: int, persons: int, part: int) -> pa.Table:
    chance = np.random.default_rng(7 + part)

    def known(values: Any, kind: pa.DataType | None = None) -> pa.Array:
        return pa.array(values, kind, mask=chance.random(rows) < 0.02)

    def named(names: list[str]) -> pa.Array:
        return known(np.array(names, object)[chance.integers(0, len(names), rows)])

    def decimals(low: int, high: int) -> pa.Array:
        cents = pa.array(chance.integers(100 * low, 100 * high + 1, rows)).cast(pa.decimal128(20, 0))
        exact = pc.multiply(cents, pa.scalar("0.01", pa.string()).cast(pa.decimal128(3, 2))).cast(pa.decimal128(12, 2))
        return pc.if_else(pa.array(chance.random(rows) < 0.02), pa.scalar(None, exact.type), exact)

    days = np.datetime64("1920-01-01") + chance.integers(0, 36_500, rows)
    seconds = np.datetime64("2020-01-01T00:00:00") + chance.integers(0, 5 * 365 * 86_400, rows)
    return pa.table(
        {
            "region": named(REGIONS),
            "product": named(PRODUCTS),
            "diagnosis": named(DIAGNOSES),
            "age": known(chance.integers(0, 120, rows)),
            "visits": known(np.minimum(chance.geometric(0.01, rows), 10_000)),
            "income": decimals(0, 1_000_000),
            "cost": decimals(-50_000, 50_000),
            "born": known(days, pa.date32()),
            "seen": known(seconds, pa.timestamp("s")),
            "alive": known(chance.random(rows) < 0.9),
            _PERSON: pa.array(chance.integers(0, persons, rows)),
        }
    )
