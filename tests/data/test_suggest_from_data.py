"""Drafts of domains from rows: what was seen is in the domain, and what identifies a row is not."""

import csv
import random
from datetime import date, datetime, timedelta
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from parcomp.data import Reading, suggest_domain
from parcomp.data.drafting.observed import MAX_NAMED_VALUES, observed_column
from parcomp.data.encoding import TableEncoder, match_columns
from parcomp.data.sources import open_source
from parcomp.errors import DataError
from parcomp.model import Categorical, Dated, Integer, Stepped

TOKENS = ["NA", "n/a", "NULL", "NaN", " na ", "-", "?", "none", ""]


def write_csv(path, columns):
    """A CSV file with None as an empty field and all texts in quotes."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            line = ['"' + str(value).replace('"', '""') + '"' if value is not None else "" for value in row]
            file.write(",".join(line) + "\n")
    return path


def drafted(path, columns):
    return suggest_domain(write_csv(path, columns), from_data=True)


@pytest.mark.parametrize(
    ("texts", "attribute"),
    [
        (["3", "-7", "16.0"], Integer(-7, 16)),
        (["3", None, "1e2"], Integer(3, 100, nullable=True)),
        (["0", "1"], Integer(0, 1)),
        (["01", "7"], Categorical(["01", "7"])),
        (["-00.5", "7"], Categorical(["-00.5", "7"])),
        (["0", "0.50", "1.125"], Stepped("0", "1.125", "0.001")),
        (["0.1234567", "1"], Stepped("0.123456", "1", "0.000001")),
        (["True", "false"], Categorical([False, True])),
        (["True", "1"], Categorical(["1", "True"])),
        (["2020-02-29", "1999-12-31"], Dated("1999-12-31", "2020-02-29")),
        (["2020-02-29T23:30:00-02:00", "2020-02-29"], Dated("2020-02-29", "2020-03-01")),
        (["2021-02-29", "1999-12-31"], Categorical(["1999-12-31", "2021-02-29"])),
        (["2020", "1999"], Integer(1999, 2020)),
        (["b", "", "a"], Categorical(["", "a", "b"])),
        (["none", "some"], Categorical(["none", "some"])),
        (["F ", "F"], Categorical(["F", "F "])),
    ],
)
def test_text_is_what_all_of_it_is(tmp_path, texts, attribute):
    draft = drafted(tmp_path / "t.csv", {"x": texts})
    assert draft.attributes == {"x": attribute}
    assert draft.nulls == ()
    rounded = texts[0] == "0.1234567"
    assert ("finer decimals are rounded to the step" in draft.lines["x"].remark) == rounded


def test_a_few_errors_among_dates_and_numbers_are_told(tmp_path):
    """What the others are is drafted as a comment: it must not stand without a look at the errors."""
    times = [f"2024-0{1 + n % 9}-10 {n % 24:02}:{n % 60:02}:00" for n in range(198)]
    draft = drafted(
        tmp_path / "t.csv",
        {
            "admitted": ["31.02.2025", "2025-02-30 10:00:00", *times],
            "cost": ["free", *(f"{n}.25" for n in range(199))],
            "commas": ["free", *(f"1.{n:03},25" for n in range(199))],
            "note": [f"n{n}" for n in range(200)],
        },
    )
    written = draft.as_toml().splitlines()[3:]
    assert not draft.attributes
    assert written[0].startswith(
        '# admitted = { low = "2024-01-10", high = "2024-09-10", unit = "day" }  # dates, but for 2'
    )
    assert written[1].startswith(
        '# cost = { low = "0.25", high = "198.25", step = "0.01" }  # numbers, but for 1 texts'
    )
    assert written[2].startswith("# commas is left out: decimals with a comma, which are not read")
    assert written[3].startswith("# note is left out: nearly every row has another value")


def test_an_end_that_is_often_a_code_for_null_is_told(tmp_path):
    draft = drafted(tmp_path / "t.csv", {"age": ["-99", "7", "105"], "stay": ["1", "7", "42"]})
    assert draft.lines["age"].remark.endswith("-99 may be a code for null")
    assert "code for null" not in draft.lines["stay"].remark


def test_null_tokens_are_told_and_drafted_as_null(tmp_path):
    """Among numbers whatever programs write for null; among names only what is hardly one, or is null elsewhere."""
    draft = drafted(
        tmp_path / "t.csv",
        {"n": ["1", "NA", "-"], "s": ["a", "-", "none"], "c": ["AT", "N/A", "AT"], "d": ["2020-01-01", "?", "NaN"]},
    )
    assert draft.nulls == ("-", "?", "N/A", "NA", "NaN")
    assert draft.attributes == {
        "n": Integer(1, 1, nullable=True),
        "s": Categorical(["a", "none"], nullable=True),
        "c": Categorical(["AT"], nullable=True),
        "d": Dated("2020-01-01", "2020-01-01", nullable=True),
    }


def test_what_identifies_rows_is_left_out(tmp_path):
    """Integers and texts that are nearly all different; not decimals, and not in a handful of rows."""
    rows = 300
    columns = {
        "id": [str(1000 + 7 * row) for row in range(rows)],
        "name": [f"person {row}" for row in range(rows)],
        "note": [f"note {row % 200}" for row in range(rows)],
        "amount": [f"{row}.25" for row in range(rows)],
        "age": [str(row % 90) for row in range(rows)],
        "day": [str(date(2000, 1, 1) + timedelta(row)) for row in range(rows)],
    }
    draft = drafted(tmp_path / "t.csv", columns)
    assert {name: reason.partition(",")[0] for name, reason in draft.left_out.items()} == {
        "id": "nearly every row has another value",
        "name": "nearly every row has another value",
        "note": "more than 100 different texts; declare values if it is not free text",
    }
    assert draft.attributes == {
        "amount": Stepped("0.25", "299.25", "0.01"),
        "age": Integer(0, 89),
        "day": Dated("2000-01-01", "2000-10-26"),
    }
    assert not any(text in draft.as_toml() for text in ("1000", "3093", "person 7", "note 1"))
    few = drafted(tmp_path / "few.csv", {name: texts[:15] for name, texts in columns.items()})
    assert not few.left_out


@pytest.mark.parametrize("different", [MAX_NAMED_VALUES, MAX_NAMED_VALUES + 1])
def test_so_many_texts_are_listed_and_not_one_more(tmp_path, different):
    """Also where they come in several batches."""
    texts = [f"v{row * different // 40_000:03d}" for row in range(40_000)]
    draft = drafted(tmp_path / "t.csv", {"x": texts})
    assert list(draft.attributes) == (["x"] if different <= MAX_NAMED_VALUES else [])


def test_declarations_come_before_rows(tmp_path):
    """What is declared stands, an end of a range too; the rows fill in the rest."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t (age TINYINT CHECK (age BETWEEN 0 AND 9), id INT PRIMARY KEY, b BOOLEAN NOT NULL, "
            "x DOUBLE, n DECIMAL(5, 2) CHECK (n >= 0.5), h HUGEINT CHECK (h < 99), w DOUBLE, e VARCHAR)"
        )
        connection.execute(
            "INSERT INTO t VALUES (3, 5, true, 0.5, 7, 12, 16.0, NULL), (4, 6, true, 'nan', 7, 14, 2, NULL)"
        )
    draft = suggest_domain(path, from_data=True)
    assert draft.attributes == {
        "age": Integer(0, 9, nullable=True),
        "b": Categorical([False, True]),
        "x": Stepped("0.5", "0.5", "0.1"),
        "n": Stepped("0.5", "7", "0.01"),
        "h": Integer(12, 98),
        "w": Integer(2, 16),
    }
    assert draft.incomplete == {"e": "text; give values"}
    assert draft.lines["x"].remark == "the least and the largest in the data; NaN and infinities stay outside"


@pytest.mark.parametrize("name", ["people.sql", "codes.csv"])
def test_declarations_hold_no_rows(tmp_path, name):
    path = tmp_path / name
    path.write_text("attribute,value\na,1\n" if name == "codes.csv" else "CREATE TABLE t (b boolean)")
    with pytest.raises(DataError, match="it holds no data"):
        suggest_domain(path, from_data=True)


@pytest.mark.parametrize("seed", range(30))
def test_it_does_not_matter_how_rows_come_in_batches(seed):
    """A column in pieces gives what it gives as a whole."""
    chance = random.Random(seed)
    make = _texts(chance)
    array = _arrays(chance, 40) if seed % 2 else pa.array([make() for _ in range(40)], pa.string())
    whole, pieces = observed_column(array.type), observed_column(array.type)
    whole.add(array)
    start = 0
    while start < len(array):
        length = chance.randint(1, 20)
        pieces.add(array[start : start + length])
        start += length
    nulls = frozenset(whole.tokens)
    assert frozenset(pieces.tokens) == nulls
    assert pieces.line(nulls) == whole.line(nulls)


def _texts(chance):
    """A column of text of some kind, dirty in some way."""
    kinds = {
        "integers": lambda: str(chance.randint(-50, 50)),
        "big": lambda: str(chance.randint(-(10**17), 10**17)),
        "floats": lambda: repr(chance.choice([0.5, 1e-3, 1e5, 3.0, -2.25]) * chance.randint(1, 9)),
        "decimals": lambda: f"{chance.uniform(-100, 100):.{chance.randint(0, 8)}f}",
        "powers": lambda: f"{chance.randint(-9, 9)}E{chance.randint(-4, 4)}",
        "codes": lambda: f"{chance.randint(0, 30):03d}",
        "days": lambda: str(date(2000, 1, 1) + timedelta(chance.randint(-9999, 9999))),
        "times": lambda: (
            (datetime(2000, 1, 1) + timedelta(hours=chance.randint(-99, 99))).isoformat(chance.choice("T "))
            + chance.choice(["", "Z", "+05:30"])
        ),
        "booleans": lambda: chance.choice(["true", "False", "TRUE"]),
        "words": lambda: chance.choice(["a", "b", "A", " a", 'q"', "x,y", "é", "1", "true", "2020-01-01"]),
    }
    make = chance.choice([*kinds.values()])
    tokens = chance.sample([*TOKENS, None], chance.randint(0, 2))
    other = chance.choice([*kinds.values()]) if chance.random() < 0.2 else make
    return lambda: (
        chance.choice(tokens) if tokens and chance.random() < 0.2 else other() if chance.random() < 0.1 else make()
    )


def _arrays(chance, rows):
    """A column of some type of Arrow."""
    kinds = {
        pa.int16(): lambda: chance.randint(-(2**15), 2**15 - 1),
        pa.uint64(): lambda: chance.randint(0, 2**64 - 1) >> chance.randint(10, 60),
        pa.float64(): lambda: chance.choice(
            [chance.uniform(-9, 9), chance.randint(0, 9) / 8, float(chance.randint(0, 9))]
        ),
        pa.float32(): lambda: chance.randint(-99, 99) / 10,
        pa.decimal128(12, 4): lambda: Decimal(chance.randint(-(10**6), 10**6)).scaleb(-chance.randint(0, 4)),
        pa.date32(): lambda: date(2000, 1, 1) + timedelta(chance.randint(-9999, 9999)),
        pa.timestamp("ms"): lambda: datetime(1970, 1, 1) + timedelta(milliseconds=chance.randint(-(10**12), 10**12)),
        pa.timestamp("us", "Europe/Vienna"): lambda: datetime(1970, 1, 1) + timedelta(seconds=chance.randint(0, 10**9)),
        pa.bool_(): lambda: chance.random() < 0.5,
    }
    kind = chance.choice([*kinds])
    empty = chance.choice([0, 0.2])
    return pa.array([None if chance.random() < empty else kinds[kind]() for _ in range(rows)], kind)


@pytest.mark.parametrize("seed", range(150))
def test_every_value_that_was_seen_is_in_the_domain(tmp_path, seed):
    """With the nulls that are suggested, all rows are inside; only columns of numbers too large stay incomplete."""
    chance = random.Random(seed)
    rows = chance.choice([1, 5, 15, 60])
    path = tmp_path / f"t.{chance.choice(['csv', 'parquet'])}"
    if path.suffix == ".csv":
        makers = {f"c{number}": _texts(chance) for number in range(4)}
        write_csv(path, {name: [make() for _ in range(rows)] for name, make in makers.items()})
    else:
        parquet.write_table(pa.table({f"c{number}": _arrays(chance, rows) for number in range(4)}), path)
    draft = suggest_domain(path, from_data=True)
    if draft.domain is None:
        return
    reading = Reading(nulls=draft.nulls)
    with open_source(str(path), None, reading) as source:
        encoder = TableEncoder(draft.domain, reading.nulls, reading.timezone)
        for _ in encoder.encoded(source.batches(match_columns(draft.domain, source.types))):
            pass
    report = encoder.report()
    assert report.rows == rows
    assert report.inside == report.rows, report
