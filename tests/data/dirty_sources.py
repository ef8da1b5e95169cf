"""Dirty tables in every kind of source: which cells a type can hold, and how they get there."""

from __future__ import annotations

import gzip
import math
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from parcomp.data import Reading
from parcomp.model import Domain
from tests.data.dirty_tables import NULL_TOKENS, ZONES, DirtyColumn, Draw, random_attribute
from tests.data.plain_reading import Beyond, Narrow, Reader, narrowed

__all__ = [
    "BOOLEANS",
    "DOUBLES",
    "DUCKDB_TYPES",
    "NUMBERS",
    "PANDAS_TYPES",
    "PARQUET_TYPES",
    "POSTGRES_TYPES",
    "SPARK_TYPES",
    "TEXTS",
    "Cell",
    "DirtyTable",
    "moments",
    "random_column",
    "random_csv",
    "random_table",
    "text_of",
    "write_csv",
    "write_duckdb",
    "write_pandas",
    "write_parquet",
    "write_postgres",
]

NUMBERS = ("integers", "names", "steps", "bins", "booleans")
EVERYTHING = (*NUMBERS, "strings", "dates")

Cell = Callable[[Draw], Any]


class DirtyTable:
    """Columns of equal length, how they are to be read, and what a plain reading makes of them."""

    def __init__(self, columns: Sequence[DirtyColumn], reading: Reading) -> None:
        self.columns = columns
        self.reading = reading
        self.domain = Domain({column.name: column.attribute for column in columns})
        self.readers = [Reader(column.attribute, reading.nulls, reading.timezone) for column in columns]
        codes = [
            [reader.code(cell) for cell in column.cells] for reader, column in zip(self.readers, columns, strict=True)
        ]
        self.rows = list(zip(*codes, strict=True))
        self.inside = sum(
            all(code < column.attribute.size for code, column in zip(row, columns, strict=True)) for row in self.rows
        )


def random_table(
    seed: int, types: dict[Any, tuple[Sequence[str], Cell]], most_columns: int = 4, most_rows: int = 24
) -> DirtyTable:
    """A table of columns of these types."""
    draw = Random(seed)
    rows = draw.randint(0, most_rows) if draw.random() < 0.3 else most_rows
    columns = [random_column(draw, f"a{index}", types, rows) for index in range(draw.randint(1, most_columns))]
    return DirtyTable(columns, Reading(nulls=draw.choice(NULL_TOKENS), timezone=draw.choice(ZONES)))


def random_column(draw: Random, name: str, types: dict[Any, tuple[Sequence[str], Cell]], rows: int) -> DirtyColumn:
    """So many cells of one of these types, for an attribute that it serves."""
    kind = draw.choice(list(types))
    serves, cell = types[kind]
    attribute = random_attribute(draw, draw.choice(serves))
    nulls = draw.choice([0, 0.1, 0.1, 0.5, 1] if draw.random() < 0.5 else [0.1])
    cells = [None if draw.random() < nulls else cell(Draw(draw, attribute)) for _ in range(rows)]
    return DirtyColumn(name, attribute, kind, cells)


def _integers(low: int, high: int) -> tuple[Sequence[str], Cell]:
    return NUMBERS, lambda draw: draw.integer(low, high)


def _decimals(digits: int, places: int) -> tuple[Sequence[str], Cell]:
    return NUMBERS, lambda draw: draw.decimal(digits, places)


def _narrow(form: str) -> tuple[Sequence[str], Cell]:
    return NUMBERS, lambda draw: narrowed(draw.double(), form)


def moments(step: int, low: str = "0001-01-01", high: str = "9999-12-31T23:59:59.999999", *, zone: bool) -> Any:
    """Moments in so many microseconds, between two ends that the type has."""
    ends = [datetime.fromisoformat(end).replace(tzinfo=UTC) for end in (low, high)]

    def cell(draw: Draw) -> datetime:
        moment = draw.aware() if zone else draw.moment().replace(tzinfo=UTC)
        if not datetime(1, 1, 2, tzinfo=UTC) < moment < datetime(9999, 12, 31, tzinfo=UTC):
            moment = moment.replace(tzinfo=UTC)
        moment = min(max(moment.astimezone(UTC), ends[0]), ends[1])
        moment -= (moment - datetime(1970, 1, 1, tzinfo=UTC)) % timedelta(microseconds=step)
        return moment if zone else moment.replace(tzinfo=None)

    return ("dates",), cell


_NANOSECONDS = {"low": "1677-09-21T00:12:43.145225", "high": "2262-04-11T23:47:16.854775"}
BOOLEANS: tuple[Sequence[str], Cell] = ("booleans",), lambda draw: draw.random.random() < 0.5
_DATES: tuple[Sequence[str], Cell] = (
    ("dates", "dates", "strings"),
    lambda draw: Beyond() if draw.random.random() < 0.05 else draw.day(),
)
DOUBLES: tuple[Sequence[str], Cell] = NUMBERS, Draw.double
TEXTS: tuple[Sequence[str], Cell] = EVERYTHING, Draw.text

PARQUET_TYPES: dict[Any, tuple[Sequence[str], Cell]] = {
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.dictionary(pa.int8(), pa.string()): TEXTS,
    pa.int8(): _integers(-(2**7), 2**7 - 1),
    pa.int32(): _integers(-(2**31), 2**31 - 1),
    pa.int64(): _integers(-(2**63), 2**63 - 1),
    pa.uint32(): _integers(0, 2**32 - 1),
    pa.uint64(): _integers(0, 2**64 - 1),
    pa.decimal128(38, 0): _decimals(38, 0),
    pa.decimal128(38, 20): _decimals(38, 20),
    pa.decimal128(9, 2): _decimals(9, 2),
    pa.decimal256(60, 30): _decimals(60, 30),
    pa.float64(): DOUBLES,
    pa.float32(): _narrow("f"),
    pa.float16(): _narrow("e"),
    pa.bool_(): BOOLEANS,
    pa.date32(): _DATES,
    pa.date64(): (_DATES[0], Draw.day),
    pa.timestamp("s"): moments(10**6, zone=False),
    pa.timestamp("us"): moments(1, zone=False),
    pa.timestamp("ns"): moments(1, **_NANOSECONDS, zone=False),
    pa.timestamp("ms", "UTC"): moments(1000, zone=True),
    pa.timestamp("us", "America/New_York"): moments(1, zone=True),
    pa.timestamp("ns", "+05:30"): moments(1, **_NANOSECONDS, zone=True),
}

SPARK_TYPES = {
    kind: found
    for kind, found in PARQUET_TYPES.items()
    if kind not in (pa.float16(), pa.date64(), pa.decimal256(60, 30), pa.timestamp("ns"), pa.timestamp("ns", "+05:30"))
}


def _or_missing(number: float | Narrow) -> Any:
    """NaN is how pandas stores a missing number."""
    return None if math.isnan(number.number if isinstance(number, Narrow) else number) else number


PANDAS_TYPES: dict[Any, tuple[Sequence[str], Cell]] = {
    "object text": TEXTS,
    "str": TEXTS,
    "category": TEXTS,
    "Int64": _integers(-(2**63), 2**63 - 1),
    "UInt64": _integers(0, 2**64 - 1),
    "object integers": _integers(-(2**63), 2**63 - 1),
    **dict.fromkeys(("float64", "Float64", "double[pyarrow]"), (NUMBERS, lambda draw: _or_missing(draw.double()))),
    **dict.fromkeys(("float32", "Float32"), (NUMBERS, lambda draw: _or_missing(narrowed(draw.double())))),
    "object decimals": _decimals(30, 12),
    "boolean": BOOLEANS,
    "object booleans": BOOLEANS,
    "object dates": (("dates", "strings"), Draw.day),
    "datetime64[us]": moments(1, zone=False),
    "datetime64[ns]": moments(1, **_NANOSECONDS, zone=False),
    "datetime64[us, Asia/Kathmandu]": moments(1, "0001-01-03", "9999-12-29", zone=True),
}

DUCKDB_TYPES: dict[Any, tuple[Sequence[str], Cell]] = {
    "VARCHAR": TEXTS,
    "ENUM": TEXTS,
    "TINYINT": _integers(-(2**7), 2**7 - 1),
    "BIGINT": _integers(-(2**63), 2**63 - 1),
    "UBIGINT": _integers(0, 2**64 - 1),
    "HUGEINT": _integers(-(2**127) + 1, 2**127 - 1),
    "UHUGEINT": _integers(0, 2**128 - 1),
    "DECIMAL(38, 0)": _decimals(38, 0),
    "DECIMAL(38, 20)": _decimals(38, 20),
    "DECIMAL(4, 1)": _decimals(4, 1),
    "DOUBLE": DOUBLES,
    "REAL": _narrow("f"),
    "BOOLEAN": BOOLEANS,
    "DATE": _DATES,
    "TIMESTAMP": moments(1, zone=False),
    "TIMESTAMP_S": moments(10**6, zone=False),
    "TIMESTAMP_MS": moments(1000, zone=False),
    "TIMESTAMP_NS": moments(1, **_NANOSECONDS, zone=False),
    "TIMESTAMPTZ": moments(1, zone=True),
    "UUID": (("strings",), lambda draw: str(uuid.UUID(int=draw.random.getrandbits(128)))),
}

_FAR_DAYS = ["infinity", "-infinity", "10000-01-01", "0044-03-15 BC", "0001-02-29 BC", "12020-02-29"]

POSTGRES_TYPES: dict[Any, tuple[Sequence[str], Cell]] = {
    "text": TEXTS,
    "varchar(100)": (EVERYTHING, lambda draw: draw.text()[:100]),
    # Blanks at its end are no part of a value of this type.
    "char(80)": (EVERYTHING, lambda draw: draw.text()[:80].rstrip(" ")),
    "an enumeration": (EVERYTHING, lambda draw: draw.text()[:15]),
    "a domain of numbers": _decimals(30, 10),
    "a domain of an enumeration": (EVERYTHING, lambda draw: draw.text()[:15]),
    "smallint": _integers(-(2**15), 2**15 - 1),
    "bigint": _integers(-(2**63), 2**63 - 1),
    "numeric": (NUMBERS, lambda draw: draw.number() if draw.random.random() < 0.9 else Decimal("NaN")),
    "numeric(38, 0)": _decimals(38, 0),
    "numeric(12, 3)": _decimals(12, 3),
    "double precision": DOUBLES,
    "real": _narrow("f"),
    "boolean": BOOLEANS,
    "date": (
        _DATES[0],
        lambda draw: draw.day() if draw.random.random() < 0.9 else Beyond(draw.random.choice(_FAR_DAYS)),
    ),
    "timestamp": moments(1, zone=False),
    "timestamp(0)": moments(10**6, zone=False),
    "timestamptz": moments(1, zone=True),
}


def random_csv(seed: int) -> DirtyTable:
    """A table of text, with a way of reading it; all its text is in the encoding."""
    table = random_table(seed, {"text": TEXTS}, most_columns=6)
    draw = Random(-1 - seed)
    encoding = draw.choice(["utf-8", "utf-8", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig"])

    def encodable(cell: str | None) -> str | None:
        return None if cell is None else cell.encode(encoding, "ignore").decode(encoding).removeprefix("\ufeff")

    columns = [
        DirtyColumn(column.name, column.attribute, "text", list(map(encodable, column.cells)))
        for column in table.columns
    ]
    reading = Reading(
        nulls=table.reading.nulls,
        delimiter=draw.choice(",,;|\t"),
        encoding=encoding,
        compression=draw.choice(["", "", "gzip"]),
        timezone=table.reading.timezone,
    )
    return DirtyTable(columns, reading)


def write_csv(path: Path, table: DirtyTable, seed: int) -> str:
    """A CSV file as the reading of the table says; some fields are quoted that need not be."""
    draw = Random(seed)
    newline, delimiter = draw.choice(["\n", "\n", "\r\n"]), table.reading.delimiter

    def field(cell: str | None) -> str:
        if cell is None:
            return ""
        plain = cell and not set(cell) & {'"', "\r", "\n", delimiter}
        return cell if plain and draw.random() < 0.7 else '"' + cell.replace('"', '""') + '"'

    rows = zip(*(column.cells for column in table.columns), strict=True)
    lines = [delimiter.join(column.name for column in table.columns)]
    lines += [delimiter.join(map(field, row)) for row in rows]
    data = (newline.join(lines) + draw.choice([newline, newline, ""] if lines[-1] else [newline])).encode(
        table.reading.encoding
    )
    path.write_bytes(gzip.compress(data) if table.reading.compression else data)
    return str(path)


_DAYS_TO_BEYOND = (date(9999, 12, 31) - date(1970, 1, 1)).days + 1


def _arrow_array(kind: pa.DataType, cells: Sequence[Any]) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(cells, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_date32(kind):
        days = [
            None if c is None else _DAYS_TO_BEYOND if isinstance(c, Beyond) else (c - date(1970, 1, 1)).days
            for c in cells
        ]
        return pa.array(days, pa.int32()).cast(kind)
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return pa.array([None if c is None else c.number for c in cells], pa.float64()).cast(kind, safe=False)
    if pa.types.is_timestamp(kind):
        units = {"s": 10**6, "ms": 1000, "us": 1}
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        micros = [None if c is None else (c.replace(tzinfo=UTC) - epoch) // timedelta(microseconds=1) for c in cells]
        numbers = [None if m is None else m * 1000 if kind.unit == "ns" else m // units[kind.unit] for m in micros]
        return pa.array(numbers, pa.int64()).cast(kind)
    return pa.array(cells, kind)


def write_parquet(path: Path, table: DirtyTable) -> str:
    """A Parquet file."""
    arrays = {column.name: _arrow_array(column.kind, column.cells) for column in table.columns}
    pa.parquet.write_table(pa.table(arrays), path, row_group_size=7)
    return str(path)


def write_pandas(table: DirtyTable) -> pd.DataFrame:
    """A data frame."""
    return pd.DataFrame({column.name: _series(column) for column in table.columns})


def _series(column: DirtyColumn) -> Any:
    kind = column.kind
    cells = [cell.number if isinstance(cell, Narrow) else cell for cell in column.cells]
    if kind == "float64":
        cells = [math.nan if cell is None else cell for cell in cells]
    if kind.startswith("object"):
        return pd.Series(cells, dtype=object)
    if kind.startswith("datetime64"):
        unit, _, zone = kind[len("datetime64[") : -1].partition(", ")
        naive = pd.Series(
            [None if cell is None else cell.replace(tzinfo=None) for cell in cells], dtype=f"datetime64[{unit}]"
        )
        return naive.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else naive
    if kind in {"Int64", "UInt64"}:
        # From a list, pandas makes floats of integers on both sides of 2**63, and rounds them.
        missing = np.array([cell is None for cell in cells], bool)
        return pd.Series(pd.arrays.IntegerArray(np.array([cell or 0 for cell in cells], kind.lower()), missing))
    if kind == "double[pyarrow]":
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(cells, pa.float64())))
    return pd.Series(cells, dtype=kind)


def text_of(cell: Any) -> str | None:
    """A cell as it is written in text; None is null."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, Beyond):
        return cell.text
    if isinstance(cell, Narrow):
        return cell.shortest
    if isinstance(cell, Decimal):
        return format(cell, "f")
    if isinstance(cell, datetime):
        return f"{cell.year:04}{cell.replace(tzinfo=None).isoformat(sep=' ')[4:]}" + ("+00" if cell.tzinfo else "")
    return str(cell)


def write_duckdb(connection: duckdb.DuckDBPyConnection, name: str, table: DirtyTable) -> None:
    """A table of a database, or a view of one."""
    types = []
    for column in table.columns:
        kind = column.kind
        if kind == "ENUM":
            listed = ", ".join("'" + cell.replace("'", "''") + "'" for cell in {*column.cells} - {None}) or "'x'"
            kind = f"ENUM ({listed})"
        types.append(kind)
    texts = pa.table({column.name: pa.array(map(text_of, column.cells), pa.string()) for column in table.columns})
    selected = ", ".join(f"CAST({c.name} AS {kind}) AS {c.name}" for c, kind in zip(table.columns, types, strict=True))
    connection.register("texts", texts)
    view = name.endswith("0")
    connection.execute(f"CREATE TABLE {'base_' if view else ''}{name} AS SELECT {selected} FROM texts")
    if view:
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM base_{name}")
    connection.unregister("texts")


def write_postgres(connection: Any, name: str, table: DirtyTable) -> None:
    """A table of a database, with types of its own."""
    kinds = []
    for number, column in enumerate(table.columns):
        own, kind = f"{name}_{number}", column.kind
        if kind in ("an enumeration", "a domain of an enumeration"):
            listed = ", ".join("E'" + _escaped(cell) + "'" for cell in {*column.cells} - {None}) or "'x'"
            connection.execute(f"CREATE TYPE {own} AS ENUM ({listed})".encode())
            if kind == "a domain of an enumeration":
                connection.execute(f"CREATE DOMAIN {own}_domain AS {own}; CREATE DOMAIN {own}_more AS {own}_domain")
                own += "_more"
            kind = own
        if kind == "a domain of numbers":
            connection.execute(f"CREATE DOMAIN {own} AS numeric(30, 10)")
            kind = own
        kinds.append(kind)
    columns = ", ".join(f"{column.name} {kind}" for column, kind in zip(table.columns, kinds, strict=True))
    connection.execute(f"CREATE TABLE {name} ({columns})".encode())
    with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
        for row in zip(*(column.cells for column in table.columns), strict=True):
            copy.write_row([*map(text_of, row)])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
