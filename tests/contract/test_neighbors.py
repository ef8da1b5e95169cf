"""One row more in a source is one row more in its coded table, in files and tables as they are in practice.

A reader that takes text within quotes for rows, or loses rows after a strange one, breaks this only in files that are
large enough to be read in parts, so these are.  What one row more of codes means for the numbers is judged by
:mod:`tests.property.test_neighboring_tables`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

from parcomp.data.encoding import TableEncoder, match_columns
from parcomp.data.place import Reading
from parcomp.data.sources import open_source
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.domain import Domain
from tests.soak import soaked

DOMAIN = Domain(
    {
        "sex": Categorical(["F", "M"], nullable=True),
        "age": Integer(0, 9),
        "income": Binned(-1, 2, bins=2),
    }
)
NAMES = ["note", "sex", "age", "income", "remark"]
"""The columns; the first and the last are not declared."""

Row = tuple[str, Any, Any, Any, str]

SEXES = ["F", "M", "F", "M", None, "f", "F,3"]
AGES = [*range(10), None, 10, -1]
INCOMES = [
    *(Decimal(text) for text in ("-1", "-1.000000000001", "0.5", "0.499999999999", "1.999999999999", "2", "0", "1.25")),
    None,
]


def hostile(draw: random.Random, size: int) -> str:
    """Text that looks like rows, with quotes, line ends and commas in all places where they could mislead."""
    pieces = [
        "x,F,3,1.5,y\n",
        '"",M,4,2,""\n',
        '"x",F,3,1,"\n',
        "\r\n",
        '"\n',
        '\n"',
        ",",
        '"',
        "\n,F,1,1,\n",
        "é😀",
        "\r",
    ]
    if draw.random() < 0.5:
        # One and the same line over and over, so that wherever one starts to read, it is a row.
        return (draw.choice(pieces[:3]) * (size // 8 + 1))[:size]
    return "".join(draw.choices(pieces, k=size // 6 + 1))


def random_row(draw: random.Random, size: int) -> Row:
    notes = [hostile(draw, draw.randrange(size)) if draw.random() < 0.7 else "" for _ in range(2)]
    return notes[0], draw.choice(SEXES), draw.choice(AGES), draw.choice(INCOMES), notes[1]


def code_of(row: Row) -> tuple[int, ...]:
    """The codes of a row by hand; the number after the last value stands for whatever is outside."""
    sex = {"F": 0, "M": 1, None: 2}.get(row[1], 3)
    age = row[2] if row[2] in range(10) else 10
    income = 2 if row[3] is None or not -1 <= row[3] < 2 else int(row[3] >= Decimal("0.5"))
    return sex, age, income


def encoded(source: str, table: str = "") -> Counter[tuple[int, ...]]:
    """The rows of a source by their codes."""
    found: Counter[tuple[int, ...]] = Counter()
    with open_source(source, table, Reading(nulls=("",))) as opened:
        batches = opened.batches(match_columns(DOMAIN, opened.types))
        for batch in TableEncoder(DOMAIN, ("",), "UTC").encoded(batches):
            found.update(zip(*(one.to_pylist() for one in batch), strict=True))
    return found


def check_neighbors(rows: list[Row], added: int, most: int, codes: Callable[[Row | None], Counter[Any]]) -> None:
    """Encode the rows, and the rows with each of so many random ones, whose notes have ``most`` characters."""
    draw = random.Random(11)
    base = codes(None)
    assert base == Counter(map(code_of, rows))
    inside = 0
    for _ in range(added):
        row = random_row(draw, most)
        assert codes(row) == base + Counter([code_of(row)])
        inside += code_of(row)[0] < 3 and code_of(row)[1] < 10 and code_of(row)[2] < 2
    assert added * 0.2 < inside < added * 0.8


SOAK = [soaked(2_000)]


@pytest.mark.parametrize("added", [40, *SOAK])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_row_more_in_a_large_csv_file(tmp_path, newline, added):
    """Some ten megabytes, nearly all of it quoted text in columns that are not declared."""
    draw = random.Random(3)

    def line(row: Row) -> bytes:
        quoted = ('"' + str(cell).replace('"', '""') + '"' for cell in row if cell is not None)
        fields = ["" if cell is None else next(quoted) for cell in row]
        fields = [field[1:-1] if draw.random() < 0.3 and field[1:-1].isalnum() else field for field in fields]
        return (",".join(fields) + newline).encode()

    rows = [random_row(draw, 20_000) for _ in range(650)]
    lines = [line(row) for row in rows]
    path = tmp_path / "people.csv"

    def codes(row: Row | None) -> Counter[Any]:
        place = draw.randrange(len(lines) + 1)
        with path.open("wb") as file:
            file.write(",".join(NAMES).encode() + newline.encode())
            file.writelines(lines[:place])
            file.write(b"" if row is None else line(row))
            file.writelines(lines[place:])
        return encoded(str(path))

    check_neighbors(rows, added, 200_000, codes)
    assert path.stat().st_size > 9e6


@pytest.mark.parametrize("added", [100, *SOAK])
def test_a_row_more_in_a_parquet_file_of_several_row_groups(tmp_path, added):
    draw = random.Random(4)
    rows = [random_row(draw, 100) for _ in range(20_000)]
    path = tmp_path / "people.parquet"
    types = [pa.string(), pa.string(), pa.int16(), pa.decimal128(16, 12), pa.string()]
    schema = pa.schema(list(zip(NAMES, types, strict=True)))

    def frame(some: list[Row]) -> pa.Table:
        return pa.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in some], schema=schema)

    base = frame(rows)

    def codes(row: Row | None) -> Counter[Any]:
        place = draw.randrange(len(rows) + 1)
        parts = [base.slice(0, place), frame([] if row is None else [row]), base.slice(place)]
        pa.parquet.write_table(pa.concat_tables(parts), path, row_group_size=3_000)
        return encoded(str(path))

    check_neighbors(rows, added, 1_000, codes)
    assert pa.parquet.ParquetFile(path).num_row_groups >= 6


@pytest.fixture
def people(postgres_url) -> Iterator[psycopg.Connection]:
    """A table whose incomes are numbers of any number of places."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS neighbors")
        connection.execute("CREATE TABLE neighbors (note text, sex text, age int, income numeric, remark text)")
        yield connection
        connection.execute("DROP TABLE neighbors")


@pytest.mark.parametrize("added", [100, *SOAK])
def test_a_row_more_in_postgresql(people, postgres_url, added):
    draw = random.Random(5)
    rows = [random_row(draw, 100) for _ in range(3_000)]
    insert = "INSERT INTO neighbors VALUES (%s, %s, %s, %s, %s)"
    with people.cursor() as cursor:
        cursor.executemany(insert, rows)

    def codes(row: Row | None) -> Counter[Any]:
        if row is not None:
            people.execute("DELETE FROM neighbors WHERE remark = 'added'")
            # Just below the lower bound: what is inside is the nearest double.
            income = Decimal(f"-1.{'0' * 29}1") if row[3] == -1 and draw.random() < 0.5 else row[3]
            people.execute(insert, [row[0], row[1], row[2], income, "added"])
        return encoded(postgres_url, "neighbors")

    check_neighbors(rows, added, 1_000, codes)
