"""Drafts of domains from schemas, codebooks and files."""

import duckdb
import pytest

from parcomp.data import suggest_domain
from parcomp.errors import DataError, FileError
from parcomp.model.attribute import Binned, Categorical, Integer

SCHEMA = """
CREATE TYPE mood AS ENUM ('sad', 'o''k');
CREATE TABLE people (
    sex char(1) NOT NULL CHECK (sex IN ('F', 'M')),
    age smallint CHECK (age BETWEEN 0 AND 119),
    mood mood,
    income numeric(10, 2) CHECK (income >= -5 AND income < 100.5),
    grown boolean NOT NULL DEFAULT true,
    kind int PRIMARY KEY,
    code numeric(4) CHECK (code IN (10, 20, -30)),
    free text,
    born timestamp,
    size int CHECK (size > 1.5),
    CONSTRAINT few CHECK (kind > 0 AND 10 > kind),
    CHECK (size < 7 AND size <> 5)
);
"""


def test_a_schema_gives_what_it_bounds(tmp_path):
    """Types, NOT NULL, enumerations and checks; the rest is left out with what is missing."""
    path = tmp_path / "people.sql"
    path.write_text(SCHEMA)
    draft = suggest_domain(path)
    assert draft.domain.name == "people"
    assert dict(draft.domain.attributes) == {
        "sex": Categorical(["F", "M"]),
        "age": Integer(0, 119, nullable=True),
        "mood": Categorical(["sad", "o'k"], nullable=True),
        "grown": Categorical([False, True]),
        "kind": Integer(1, 9),
        "code": Categorical([10, 20, -30], nullable=True),
        "size": Integer(2, 6, nullable=True),
    }
    assert draft.left_out == {
        "income": "numbers from -5 to 100.5; give low, high and bins",
        "free": "give values",
        "born": "no attribute is read from a column of type TIMESTAMP; cast it in a view",
    }


def test_a_schema_of_several_tables_needs_a_name(tmp_path):
    path = tmp_path / "all.sql"
    path.write_text("CREATE TABLE a (x boolean); CREATE TABLE b (y boolean);")
    assert suggest_domain(path, table="b").domain.names == ("y",)
    for table, message in [(None, "--table; there are: a, b"), ("c", "no CREATE TABLE c")]:
        with pytest.raises(DataError, match=message):
            suggest_domain(path, table=table)
    path.write_text("SELECT ((")
    with pytest.raises(DataError, match="not SQL that can be read"):
        suggest_domain(path)


def test_codebooks_give_values_or_ranges(tmp_path):
    """Codes stay strings if one of them is not written as an integer is."""
    path = tmp_path / "codes.csv"
    path.write_text("attribute,value,label\nsex,1,female\nsex,2,male\nzip,01,\nzip,2,\n")
    assert dict(suggest_domain(path).domain.attributes) == {"sex": Categorical([1, 2]), "zip": Categorical(["01", "2"])}
    path.write_text("attribute,low,high,bins\nage,0,119,\nincome,0,7.5,5\n")
    assert dict(suggest_domain(path).domain.attributes) == {"age": Integer(0, 119), "income": Binned(0, 7.5, 5)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attribute,value\nsex,F\nsex,F\n", "value 'F' occurs twice"),
        ("attribute,low,high\nage,0,x\n", ":2: age: high must be an integer"),
        ("attribute,low,high\nage,0\n", ":2: not as many fields"),
        ("attribute,low,high\nage,0,1\nage,0,1\n", ":3: age: the attribute occurs twice"),
        ("attribute,value\n", "no attribute is listed"),
    ],
)
def test_errors_in_codebooks_name_the_place(tmp_path, text, message):
    path = tmp_path / "codes.csv"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        suggest_domain(path)


@pytest.fixture
def files(tmp_path):
    """One table as a Parquet, a CSV and a DuckDB file."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t (sex ENUM('F', 'M'), age TINYINT CHECK (age BETWEEN 0 AND 9), "
            "x DOUBLE, b BOOLEAN, n BIGINT, s VARCHAR)"
        )
        connection.execute(
            "INSERT INTO t SELECT CASE WHEN range % 2 = 0 THEN 'F' END, range % 7, range / 10.0, "
            "true, range * 1000, 's' || range FROM range(200)"
        )
        connection.execute("INSERT INTO t VALUES ('M', 1, 'nan', NULL, 5, 's1'), ('M', 1, 'inf', NULL, 5, 's1')")
        for suffix in ("parquet", "csv"):
            connection.execute(f"COPY t TO '{tmp_path}/t.{suffix}'")
    return tmp_path


def test_only_declarations_of_a_file_are_read(files):
    """No draft depends on the rows."""
    draft = suggest_domain(files / "t.duckdb")
    assert dict(draft.domain.attributes) == {
        "sex": Categorical(["F", "M"], nullable=True),
        "age": Integer(0, 9, nullable=True),
        "b": Categorical([False, True], nullable=True),
    }
    assert list(draft.left_out) == ["x", "n", "s"]
    draft = suggest_domain(files / "t.parquet")
    assert dict(draft.domain.attributes) == {"b": Categorical([False, True], nullable=True)}
    assert list(draft.left_out) == ["sex", "age", "x", "n", "s"]
    with pytest.raises(
        DataError, match="no attribute can be drafted; declare yourself: sex: a CSV file declares no types"
    ):
        suggest_domain(files / "t.csv")


@pytest.mark.parametrize("name", ["t.duckdb", "t.parquet"])
def test_from_data_the_values_are_taken(files, name):
    """Lists of few values, ranges of integers, and about a hundred bins with whole edges."""
    draft = suggest_domain(files / name, from_data=True)
    assert dict(draft.domain.attributes) == {
        "sex": Categorical(["F", "M"], nullable=True),
        "age": Integer(0, 6),
        "x": Binned(0, 20, bins=20),
        "b": Categorical([False, True], nullable=True),
        "n": Integer(0, 199000),
    }
    assert draft.left_out == {"s": "more than 100 different values; give values"}


def test_from_data_text_is_a_number_only_if_all_of_it_is(files):
    draft = suggest_domain(files / "t.csv", from_data=True)
    assert draft.domain.attributes["age"] == Integer(0, 6)
    assert draft.domain.attributes["sex"] == Categorical(["F", "M"], nullable=True)
    assert set(draft.left_out) == {"x", "s"}
    for name in ("people.sql", "codes.csv"):
        (files / name).write_text("attribute,value\na,1\n" if name == "codes.csv" else SCHEMA)
        with pytest.raises(DataError, match="it holds no data"):
            suggest_domain(files / name, from_data=True)
