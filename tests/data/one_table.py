"""One table in every kind of source: columns of types that all of them have, with the same cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import psycopg
import pyarrow as pa

from parcomp.data import Reading, TablePlace
from tests.data.coded_sources import place_of
from tests.data.dirty_sources import (
    BOOLEANS,
    DOUBLES,
    NUMBERS,
    TEXTS,
    Cell,
    DirtyTable,
    moments,
    random_column,
    text_of,
    write_csv,
    write_duckdb,
    write_pandas,
    write_parquet,
    write_postgres,
)
from tests.data.dirty_tables import NULL_TOKENS, ZONES, DirtyColumn, Draw
from tests.data.plain_reading import Narrow, narrowed

__all__ = ["ENGINES", "place_in", "stored_in", "tables_side_by_side"]

ENGINES = ("csv", "parquet", "pandas", "duckdb", "postgres", "spark")

_TYPES: dict[Any, tuple[Sequence[str], Cell]] = {
    "text": TEXTS,
    "integer": (NUMBERS, lambda draw: draw.integer(-(2**63), 2**63 - 1)),
    "decimal": (NUMBERS, lambda draw: draw.decimal(30, 12)),
    "double": DOUBLES,
    "real": (NUMBERS, lambda draw: narrowed(draw.double())),
    "boolean": BOOLEANS,
    "date": (("dates", "dates", "strings"), Draw.day),
    "moment": moments(1, zone=False),
    "moment of a zone": moments(1, "0001-01-03", "9999-12-29", zone=True),
}

_NAMES: dict[str, dict[str, Any]] = {
    "parquet": {
        "text": pa.string(),
        "integer": pa.int64(),
        "decimal": pa.decimal128(30, 12),
        "double": pa.float64(),
        "real": pa.float32(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "moment": pa.timestamp("us"),
        "moment of a zone": pa.timestamp("us", "America/New_York"),
    },
    "duckdb": {
        "text": "VARCHAR",
        "integer": "BIGINT",
        "decimal": "DECIMAL(30, 12)",
        "double": "DOUBLE",
        "real": "REAL",
        "boolean": "BOOLEAN",
        "date": "DATE",
        "moment": "TIMESTAMP",
        "moment of a zone": "TIMESTAMPTZ",
    },
    "postgres": {
        "text": "text",
        "integer": "bigint",
        "decimal": "numeric(30, 12)",
        "double": "double precision",
        "real": "real",
        "boolean": "boolean",
        "date": "date",
        "moment": "timestamp",
        "moment of a zone": "timestamptz",
    },
    "pandas": {
        "text": "str",
        "integer": "Int64",
        "decimal": "object decimals",
        "double": "double[pyarrow]",
        "real": "Float32",
        "boolean": "boolean",
        "date": "object dates",
        "moment": "datetime64[us]",
        "moment of a zone": "datetime64[us, Asia/Kathmandu]",
    },
}


def tables_side_by_side(seed: int, tables: int) -> tuple[DirtyTable, list[list[str]]]:
    """So many random tables of as many rows as one wide table, and the columns of each."""
    draw = Random(f"side by side {seed}")
    rows = draw.choice([1, 17, 24, 40])
    columns: list[DirtyColumn] = []
    names = []
    for table in range(tables):
        own = [random_column(draw, f"t{table}a{index}", _TYPES, rows) for index in range(draw.randint(1, 4))]
        columns += own
        names.append([column.name for column in own])
    reading = Reading(nulls=draw.choice(NULL_TOKENS), timezone=draw.choice(ZONES))
    return DirtyTable(columns, reading), names


def stored_in(engine: str, table: DirtyTable, seed: int) -> DirtyTable:
    """The table with the types of an engine, and with its cells: text in CSV, no NaN in pandas."""
    if engine == "csv":
        draw = Random(f"form {seed}")
        reading = replace(
            table.reading,
            delimiter=draw.choice(",;|\t"),
            encoding=draw.choice(["utf-8", "utf-16", "utf-8-sig"]),
            compression=draw.choice(["", "gzip"]),
        )
        columns = [replace(one, kind="text", cells=[*map(text_of, one.cells)]) for one in table.columns]
        return DirtyTable(columns, reading)
    kinds = _NAMES["parquet" if engine == "spark" else engine]
    columns = [replace(one, kind=kinds[one.kind]) for one in table.columns]
    if engine == "pandas":
        columns = [replace(one, cells=[None if _is_nan(cell) else cell for cell in one.cells]) for one in columns]
    return DirtyTable(columns, table.reading)


def _is_nan(cell: Any) -> bool:
    number = cell.number if isinstance(cell, Narrow) else cell
    return isinstance(number, float) and math.isnan(number)


def place_in(engine: str, table: DirtyTable, directory: Path, seed: int, server: str) -> tuple[TablePlace, Any]:
    """Where the table was put and its codes will be, and the frame if it is one; ``server`` is an engine's address."""
    name, frame, source = f"t{seed}", None, ""
    match engine:
        case "csv":
            source = write_csv(directory / "t.csv", table, seed)
        case "parquet" | "spark":
            source = server + write_parquet(directory / "t.parquet", table)
        case "pandas":
            source, frame = TablePlace.FRAME, write_pandas(table)
        case "duckdb":
            source = str(directory / "t.duckdb")
            with duckdb.connect(source) as connection:
                connection.execute("SET TimeZone = 'UTC'")
                write_duckdb(connection, name, table)
        case _:
            source = server
            with psycopg.connect(server, autocommit=True, client_encoding="utf8") as connection:
                write_postgres(connection, name, table)
    return place_of(source, name, table.domain, directory / f"codes-{engine}", table.reading), frame
