"""Drafts of domains from declarations: schemas, codebooks, the types of files, and the catalogs of databases."""

import re

import duckdb
import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

from parcomp.data import suggest_domain
from parcomp.errors import DataError, FileError
from parcomp.model import Binned, Categorical, Dated, Domain, Integer, Stepped
from tests.contract.ledger_places import fresh_database

SCHEMA = """
SET search_path = public;
CREATE TYPE mood AS ENUM ('sad', 'o''k');
CREATE TABLE people (
    sex char(1) NOT NULL CHECK (sex IN ('F', 'M')),
    age smallint CHECK (age BETWEEN 0 AND 119),
    mood mood,
    income numeric(10, 2) CHECK (income >= -5 AND income < 100.5),
    grown boolean NOT NULL DEFAULT true,
    person int PRIMARY KEY,
    mail text UNIQUE,
    kind int,
    code numeric(4) CHECK (code IN (10, 20, -30)),
    weight int CHECK (weight IS NULL OR weight IN (1, 2)),
    epsilon boolean,
    born date CHECK (born >= DATE '1900-01-01' AND born < '2030-01-01'),
    seen timestamp CHECK (seen >= '2000-01-01' AND seen < '2020-01-01 00:00:00'),
    free text,
    paid numeric(8, 3) NOT NULL,
    height real CHECK (height > 0.5),
    left_at timestamp with time zone,
    place int[],
    size int CHECK (size > 1.5),
    deep numeric(30, 20) CHECK (deep BETWEEN 0 AND 1),
    CONSTRAINT few CHECK (kind > 0 AND 10 > kind),
    CHECK (size < 7 AND size <> 5),
    CHECK (weight IS NULL OR paid > 5),
    CHECK (paid::integer < 90)
);
CREATE POLICY odd ON people USING (sex = current_user);
"""
"""Between its tables stand statements that the parser does not know."""

BOUNDED = {
    "sex": Categorical(["F", "M"]),
    "age": Integer(0, 119, nullable=True),
    "mood": Categorical(["sad", "o'k"], nullable=True),
    "income": Stepped("-5", "100.49", "0.01", nullable=True),
    "grown": Categorical([False, True]),
    "kind": Integer(1, 9, nullable=True),
    "code": Categorical([10, 20, -30], nullable=True),
    "weight": Categorical([1, 2], nullable=True),
    "epsilon": Categorical([False, True], nullable=True),
    "born": Dated("1900-01-01", "2029-12-31", nullable=True),
    "seen": Dated("2000-01-01", "2019-12-31", nullable=True),
    "size": Integer(2, 6, nullable=True),
}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "people.sql"
    path.write_text(SCHEMA)
    return path


def test_a_draft_is_named_after_the_table_and_not_after_the_file_of_its_schema(tmp_path):
    path = tmp_path / "schema-2024.sql"
    path.write_text("CREATE TABLE s.visits (day date); CREATE TABLE people (sex boolean)")
    assert suggest_domain(path, table="visits").name == suggest_domain(path, table="s.visits").name == "visits"
    path.write_text("CREATE TABLE people (sex boolean)")
    assert suggest_domain(path).name == "people"


def test_a_schema_gives_what_it_bounds(schema):
    """Types, NOT NULL, enumerations and checks; of the rest it is said what is missing, or why it is left out."""
    draft = suggest_domain(schema)
    assert draft.name == "people"
    assert draft.attributes == BOUNDED
    assert draft.incomplete == {
        "free": "text; give values",
        "paid": "decimals; give low and high",
        "height": "numbers; give high and step, or bins in its place",
        "left_at": 'times; give low and high as ISO dates; or unit = "hour"',
        "deep": "numbers; give step, or bins in its place; with the step 0.00000000000000000001 of the type, "
        + draft.incomplete["deep"].partition("of the type, ")[2],
    }
    identifies = "no two rows share a value (PRIMARY KEY or UNIQUE), as in an identifier"
    assert draft.left_out == {
        "person": identifies,
        "mail": identifies,
        "place": "no attribute is read from a column of type ARRAY<INT>; cast it in a view",
    }


def test_every_column_has_a_line_that_can_be_completed(schema, tmp_path):
    """The draft loads as it is; with what stands for ? given, and the # taken away, it loads with that."""
    text = suggest_domain(schema).as_toml()
    (tmp_path / "draft.toml").write_text(text)
    assert Domain.load(tmp_path / "draft.toml") == Domain(BOUNDED, name="people")
    lines = dict(re.findall(r"^#? ?(\w+)\b(.*)$", text.partition("[attributes]\n")[2], re.MULTILINE))
    assert list(lines) == re.findall(r"^    ([a-z_]+) ", SCHEMA, re.MULTILINE)
    assert '# paid = { low = ?, high = ?, step = "0.001" }  # decimals; give low and high\n' in text
    text = text.replace("# paid = { low = ?, high = ?", '# paid = { low = "0", high = "99.5"')
    text = text.replace("# free = { values = [?]", '# free = { values = ["a"]')
    text = re.sub(
        r'# left_at = \{ low = \?, high = \?, unit = "day"', "# left_at = { low = 2001-01-01, high = 2001-12-31", text
    )
    (tmp_path / "whole.toml").write_text(re.sub(r"^# (?=(paid|free|left_at) = )", "", text, flags=re.MULTILINE))
    loaded = Domain.load(tmp_path / "whole.toml").attributes
    assert loaded["paid"] == Stepped("0", "99.5", "0.001")
    assert loaded["free"] == Categorical(["a"], nullable=True)
    assert loaded["left_at"] == Dated("2001-01-01", "2001-12-31", nullable=True)


def test_the_parser_is_quiet(schema, capfd, caplog):
    """What it does not know of a schema is none of the reader's business."""
    suggest_domain(schema)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


@pytest.mark.parametrize("name", ["plain", "a b", 'q"uo\\te', "line\nend", "bidi\u202e", "del\x7f", "", "#", "=", "ü"])
def test_any_name_and_value_is_written_so_that_it_is_read_again(tmp_path, name):
    """In lines that count and in comments, which a name must not break out of."""
    path = tmp_path / "t.parquet"
    values = pa.array([name, "x", name]).dictionary_encode()
    columns = {
        f"{name}-{kind}": array for kind, array in {"b": pa.array([True] * 3), "s": values, "l": [[1]] * 3}.items()
    }
    parquet.write_table(pa.table(columns), path)
    for from_data in (False, True):
        draft = suggest_domain(path, from_data=from_data)
        (tmp_path / "draft.toml").write_text(draft.as_toml())
        assert Domain.load(tmp_path / "draft.toml") == draft.domain
        assert len(draft.as_toml().splitlines()) == 3 + len(columns)
    assert draft.attributes[f"{name}-s"] == Categorical(sorted([name, "x"]))


def test_a_schema_of_several_tables_needs_a_name(tmp_path):
    path = tmp_path / "all.sql"
    path.write_text("CREATE TABLE a (x boolean); CREATE TABLE s.b (y boolean); CREATE TABLE r.b (z boolean);")
    assert [*suggest_domain(path, table="a").attributes] == ["x"]
    assert [*suggest_domain(path, table="r.b").attributes] == ["z"]
    for table in (None, "b"):
        with pytest.raises(DataError, match=r"--table; there are: a, s\.b, r\.b"):
            suggest_domain(path, table=table)
    with pytest.raises(DataError, match="no CREATE TABLE c"):
        suggest_domain(path, table="c")
    path.write_text("SELECT ((")
    with pytest.raises(DataError, match="not SQL that can be read"):
        suggest_domain(path)


def test_codebooks_give_values_or_ranges(tmp_path):
    """Codes stay strings if one of them is not written as an integer is."""
    path = tmp_path / "codes.csv"
    path.write_text("attribute,value,label\nsex,1,female\nsex,2,male\nzip,01,\nzip,2,\nmu,True,\nmu,False,\n")
    assert suggest_domain(path).attributes == {
        "sex": Categorical([1, 2]),
        "zip": Categorical(["01", "2"]),
        "mu": Categorical([True, False]),
    }
    path.write_text(
        "attribute,low,high,bins,step,unit\nage,0,119,,,\nincome,0,7.5,5,,\nkappa,0,20.5,,0.01,\n"
        "born,1990-01-01,2029-12-31,,,\nseen,2000,2010,,,year\n"
    )
    assert suggest_domain(path).attributes == {
        "age": Integer(0, 119),
        "income": Binned(0, 7.5, 5),
        "kappa": Stepped("0", "20.5", "0.01"),
        "born": Dated("1990-01-01", "2029-12-31"),
        "seen": Dated("2000", "2010", "year"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attribute,value\nsex,F\nsex,F\n", "value 'F' occurs twice"),
        ("attribute,low,high\nage,0,x\n", ":2: age: high must be an integer"),
        ("attribute,low,high\nage,0\n", ":2: not as many fields"),
        ("attribute,low,high\nage,0,1\nage,0,1\n", ":3: age: the attribute occurs twice"),
        ("attribute,low,high,bins,step\nage,0,1,1,1\n", ":2: age: an attribute has one of bins, step and unit"),
        ("attribute,value\n", "no attribute is listed"),
    ],
)
def test_errors_in_codebooks_name_the_place(tmp_path, text, message):
    path = tmp_path / "codes.csv"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        suggest_domain(path)


def test_the_types_of_files_give_a_skeleton(tmp_path):
    """Each type its line; a CSV file has none, and still a line for each column."""
    table = pa.table(
        {
            "b": pa.array([True]),
            "i": pa.array([7], pa.uint8()),
            "f": pa.array([1.5]),
            "n": pa.array(["1.25"]).cast(pa.decimal128(9, 2)),
            "d": pa.array([1], pa.date32()),
            "t": pa.array([1], pa.timestamp("us")),
            "s": pa.array(["secret"]),
            "l": pa.array([[1]]),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    draft = suggest_domain(tmp_path / "t.parquet", table="any")
    assert draft.attributes == {"b": Categorical([False, True], nullable=True)}
    assert [*draft.incomplete] == ["i", "f", "n", "d", "t", "s"]
    assert draft.lines["n"].fields["step"] == "0.01"
    assert [*draft.left_out] == ["l"]
    (tmp_path / "t.csv").write_text("b,weight\ntrue,secret\n")
    draft = suggest_domain(tmp_path / "t.csv")
    assert draft.domain is None
    assert [*draft.incomplete] == ["b", "weight"]
    assert "secret" not in draft.as_toml()


def test_duckdb_files_are_read_by_schema_and_table(tmp_path):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE SCHEMA s; "
            "CREATE TABLE s.t (sex ENUM('F', 'M'), n DECIMAL(6, 3) CHECK (n BETWEEN 0 AND 1), id INT UNIQUE)"
        )
    bounded = {"sex": Categorical(["F", "M"], nullable=True), "n": Stepped("0", "1", "0.001", nullable=True)}
    for table in (None, "s.t"):
        draft = suggest_domain(path, table=table)
        assert (draft.name, draft.attributes, [*draft.left_out]) == ("t", bounded, ["id"])
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE VIEW v AS SELECT * FROM s.t")
    with pytest.raises(DataError, match=r"--table; there are: v, s\.t"):
        suggest_domain(path)
    assert suggest_domain(path, table="v").attributes == {"sex": bounded["sex"]}


@pytest.fixture
def database(postgres_url):
    """A database with the table of the schema, and a row that its declarations do not tell of."""
    url = fresh_database(postgres_url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DOMAIN percent AS numeric(5, 1) CHECK (VALUE >= 0 AND VALUE <= 100) NOT NULL")
        connection.execute(SCHEMA.partition("CREATE POLICY")[0].replace("size int", "share percent, size int").encode())
        connection.execute("ALTER TABLE people ADD CHECK (height < 3) NOT VALID")
        connection.execute(
            "INSERT INTO people (sex, person, grown, paid, share, free, height, left_at) "
            "VALUES ('F', 1, true, 1.25, 5, 'secret', 2.5, '2003-04-05 23:30-02')"
        )
    return url


def test_the_catalogs_of_postgresql_give_the_same_as_the_schema(database):
    """The server writes checks in forms of its own, of domains too; no row is read."""
    draft = suggest_domain(database, table="people")
    assert draft.name == "people"
    assert draft.attributes == {**BOUNDED, "share": Stepped("0", "100", "0.1")}
    assert [*draft.incomplete] == ["free", "paid", "height", "left_at", "deep"]
    assert draft.lines["height"].fields["high"] is None, "a constraint that is not validated bounds nothing"
    assert [*draft.left_out] == ["person", "mail", "place"]
    assert "secret" not in draft.as_toml()
    assert suggest_domain(database, table="public.people") == draft


def test_the_rows_of_postgresql_fill_in_what_is_missing(database):
    draft = suggest_domain(database, table="people", from_data=True)
    assert draft.attributes == {
        **BOUNDED,
        "share": Stepped("0", "100", "0.1"),
        "free": Categorical(["secret"]),
        "paid": Stepped("1.25", "1.25", "0.001"),
        "height": Stepped("0.5", "2.5", "0.1"),
        "left_at": Dated("2003-04-06", "2003-04-06"),
    }
    assert [*draft.incomplete] == ["deep"]


def test_a_table_of_postgresql_must_be_named(database):
    with pytest.raises(DataError, match="name one with --table"):
        suggest_domain(database)
    with pytest.raises(DataError, match="no table nobody"):
        suggest_domain(database, table="nobody")
