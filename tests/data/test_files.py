"""Tables in files: what is read of types, collations, text and damage."""

import math
import struct
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from parcomp.data import Reading, open_table, write_table
from parcomp.data.encoding import TableEncoder
from parcomp.data.sources import open_source
from parcomp.data.sources.duckdb_source import duckdb_connection
from parcomp.data.sources.source import BATCH_ROWS
from parcomp.errors import DataError, DomainError
from parcomp.model import Condition, Domain, Statement
from parcomp.model.attribute import Binned, Categorical, Integer
from tests.data.coded_sources import coded, counted, place_of


def codes_of(attribute, array):
    """The codes of an array."""
    encoder = TableEncoder(Domain({"a": attribute}), (), "UTC")
    [batch] = encoder.encoded(iter([pa.record_batch({"x0": array})]))
    return batch.column("c0").to_pylist()


@st.composite
def bins_and_numbers(draw):
    """Bins with edges of all kinds, and doubles at, next to and between the edges."""
    low = draw(
        st.integers(-50, 50)
        | st.decimals(-(10**4), 10**4, places=3)
        | st.sampled_from([0.1, -0.7, 1e-9, 2.0**40, 1e15, -3e-7])
    )
    width = draw(st.fractions(Fraction(1, 100), 10**4, max_denominator=100) | st.sampled_from([0.1, 1e-9, 1 / 3]))
    bins = draw(st.integers(1, 60) | st.sampled_from([999]))
    try:
        attribute = Binned(low, float(Fraction(str(low)) + Fraction(str(width)) * bins), bins)
    except DomainError:
        attribute = Binned(0, 1, bins)
    edges = [float(attribute.edge(k)) for k in draw(st.lists(st.integers(0, bins), min_size=1, max_size=30))]
    near = [math.nextafter(edge, toward) for edge in edges for toward in (-math.inf, math.inf)]
    return attribute, [*edges, *near, *draw(st.lists(st.floats(), max_size=10)), math.nan, math.inf, -math.inf]


@settings(max_examples=100, deadline=None)
@given(bins_and_numbers())
def test_a_double_is_in_the_bin_between_whose_edges_it_lies(drawn):
    """By exact comparison with the edges as files have them, or the bins are refused as too fine."""
    attribute, numbers = drawn
    try:
        codes = codes_of(attribute, pa.array(numbers, pa.float64()))
    except DataError:
        event("refused")
        return
    edges = [float(attribute.edge(position)) for position in range(attribute.bins + 1)]
    for place, number in enumerate(numbers):
        passed = sum(edge <= number for edge in edges)
        within = 1 <= passed <= attribute.bins and not math.isnan(number)
        assert codes[place] == (passed - 1 if within else attribute.size), (attribute, number)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.decimals(-3, 3, places=4), min_size=1, max_size=40), st.integers(1, 40))
def test_a_decimal_is_in_the_bin_between_whose_edges_it_lies(numbers, bins):
    """Decimals of few digits are told from edges of few digits exactly."""
    attribute = Binned(Decimal("-2.1"), Decimal("2.1"), bins)
    codes = codes_of(attribute, pa.array(numbers, pa.decimal128(12, 4)))
    edges = [float(attribute.edge(position)) for position in range(bins + 1)]
    passed = [sum(edge <= float(number) for edge in edges) for number in numbers]
    assert codes == [count - 1 if 1 <= count <= bins else bins for count in passed]


@pytest.mark.parametrize(
    "attribute",
    [
        Binned(0.5, 2.0**40 + 0.5, bins=2**20 + 1),
        Binned(Decimal("0.1234567890123"), 10**6, bins=977),
        Binned(0.5, 2**52, bins=2),
    ],
)
def test_bins_whose_edges_cannot_be_compared_exactly_are_refused(attribute):
    with pytest.raises(DataError, match=r"a: .*exactly.*; declare"):
        TableEncoder(Domain({"a": attribute}), (), "UTC")


def test_whole_edges_are_exact_beyond_what_a_double_holds(tmp_path):
    """Next to an edge at 2**60 an integer falls on its own side of it."""
    path = tmp_path / "wide.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT unnest([{2**60 - 1}, {2**60}, {2**61 - 1}, {2**61}]::HUGEINT[]) AS a"
        )
    attribute = Binned(0, 2**61, bins=2)
    assert counted(path, "t", attribute) == [1, 2]


def test_integers_of_every_width_and_enumerations(tmp_path):
    """HUGEINT, UHUGEINT and UBIGINT hold integers beyond 64 bits; values beyond the declared ones do no harm."""
    path = tmp_path / "types.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        connection.execute("CREATE TABLE t (h HUGEINT, u UHUGEINT, b UBIGINT, mood mood, ci VARCHAR COLLATE NOCASE)")
        connection.execute(
            f"INSERT INTO t VALUES ({2**70}, {2**70}, {2**64 - 1}, 'ok', 'F'), "
            f"({2**127 - 1}, '{2**128 - 1}'::UHUGEINT, 0, 'sad', 'f')"
        )
    assert counted(path, "t", Integer(2**70 - 1, 2**70 + 1), "h") == [0, 1, 0]
    assert counted(path, "t", Integer(2**70 - 1, 2**70 + 1), "u") == [0, 1, 0]
    assert counted(path, "t", Integer(2**64 - 2, 2**64), "b") == [0, 1, 0]
    assert counted(path, "t", Categorical(["sad", "ok", "OK"]), "mood") == [1, 1, 0]
    assert counted(path, "t", Categorical(["F", "f"]), "ci") == [1, 1]
    assert counted(path, "t", Categorical([f"v{n}" for n in range(60)] + ["F", "f"]), "ci")[-2:] == [1, 1]


def test_text_is_read_as_the_domain_declares(tmp_path):
    """A CSV file: codes keep their zeros, what is not a number is outside, and an empty field is null."""
    path = tmp_path / "we[ir]d*'s.csv"
    path.write_bytes(
        '\ufeffa,code,flag\r\n1,01,true\r\n12.7,1,TRUE\r\n,"",no\r\n 1,01 ,1\r\n1e0,,False\r\n+2,1,\r\n0x1,1,true\r\n'
        "3,01,true".encode()
    )
    assert counted(path, None, Integer(0, 3, nullable=True)) == [0, 2, 1, 1, 1]
    assert counted(path, None, Categorical([1, 2, 13])) == [2, 1, 0]
    assert counted(path, None, Categorical(["1", "01", ""], nullable=True), "code") == [3, 2, 1, 1]
    assert counted(path, None, Categorical([True, False]), "flag") == [5, 1]
    assert counted(path, None, Binned(0, 20, bins=4)) == [4, 0, 1, 0]


def test_two_attributes_may_be_of_one_column(tmp_path):
    """Their names differ in case, and the column's is like both."""
    path = tmp_path / "t.csv"
    path.write_text("note,Sex\n,F\nx,M\n,F\n")
    domain = Domain({"sex": Categorical(["F", "M"]), "SEX": Categorical(["M", "F"])})
    with coded(path, None, domain) as (table, _):
        measured = table.measure([Statement.one("count", Condition.of(domain.query()), groups=(0, 1))])
    assert measured == [[[0, 2, 1, 0]]]


def test_a_damaged_file_tells_nothing_of_its_rows(tmp_path):
    """It is refused when it is encoded, with nothing that it holds, and nothing is left behind."""
    path = tmp_path / "people.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 'secret' || range AS a FROM range(100000)) TO '{path}'")
    place = place_of(str(path), None, Domain({"a": Categorical(["secret1"])}), tmp_path / "codes")
    content = bytearray(path.read_bytes())
    content[100:-2000] = bytes(len(content) - 2100)
    path.write_bytes(content)
    with pytest.raises(DataError, match="could not be read to its end") as caught:
        write_table(place)
    assert caught.value.__cause__ is None
    assert [one.name for one in tmp_path.iterdir()] == ["people.parquet"]
    assert "secret" not in str(caught.value)
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError, match="cannot be opened as a Parquet file"):
        write_table(place)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'secret' || range AS a FROM range(100000)")
    content = bytearray((tmp_path / "t.duckdb").read_bytes())
    content[20_000:-2_000] = b"x" * (len(content) - 22_000)
    (tmp_path / "t.duckdb").write_bytes(content)
    with pytest.raises(DataError) as caught:
        write_table(replace(place, source=str(tmp_path / "t.duckdb"), table="t"))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_coded_table_needs_its_source_no_more(tmp_path):
    """What happens to the file afterwards changes no number, and a DuckDB file is free for others again."""
    domain = Domain({"a": Integer(0, 9)})
    everything = [Statement.one("count", Condition.of(domain.query()))]
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS a FROM range(5)")
        connection.execute(f"COPY t TO '{tmp_path / 't.parquet'}'; COPY t TO '{tmp_path / 't.csv'}'")
    places = [
        place_of(str(tmp_path / f"t.{kind}"), "t", domain, tmp_path / f"codes-{kind}")
        for kind in ("duckdb", "parquet", "csv")
    ]
    for place in places:
        write_table(place)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("DELETE FROM t WHERE a < 2")
    (tmp_path / "t.parquet").write_bytes(b"")
    (tmp_path / "t.csv").unlink()
    for place in places:
        table = open_table(place)
        assert table.measure(everything) == [[[5]]]
        table.close()


def test_a_parquet_file_that_changes_while_it_is_read_is_refused(tmp_path):
    """Its rows could be from two tables."""
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": range(3 * BATCH_ROWS)}), path)
    with open_source(str(path), None, Reading()) as source:
        batches = source.batches(["a"])
        next(batches)
        pa.parquet.write_table(pa.table({"a": range(3 * BATCH_ROWS + 1)}), path)
        with pytest.raises(DataError, match=r"changed while it was read|could not be read to its end"):
            list(batches)


def test_a_path_is_not_read_for_columns(tmp_path):
    """Engines take ``age=3`` in a path for a column, in place of the file's own."""
    path = tmp_path / "a=3" / "t.parquet"
    path.parent.mkdir()
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS a, 2 AS b) TO '{path}'")
    assert counted(path, None, Integer(0, 3)) == [0, 1, 0, 0]


def test_temporary_files_are_private_and_removed(tmp_path, monkeypatch):
    """Not in the working directory but in one for their owner alone, which is gone with the connection."""
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    connection = duckdb_connection()
    [directory] = temporary.iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    # More than memory holds, so that DuckDB has to put something down.
    connection.execute("SET memory_limit = '40MB'; SET threads = 1")
    connection.execute("CREATE TABLE more AS SELECT range AS a, range + b.i AS d FROM range(3000000), range(3) b(i)")
    assert any(directory.rglob("*"))
    connection.close()
    del connection
    assert not list(temporary.iterdir())
    assert not list(work.iterdir())
    (tmp_path / "bad.csv").write_text("a\n1,2\n")
    with pytest.raises(DataError):
        counted(tmp_path / "bad.csv", None, Integer(0, 9))
    assert not list(temporary.iterdir())


def test_temporary_files_are_gone_with_the_process(tmp_path):
    """Also where the source was never closed; a child that ends first leaves them to its parent."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    script = """
import os, sys, tempfile
from parcomp.data import Reading
from parcomp.data.sources import open_source
tempfile.tempdir = sys.argv[1]
source = open_source(sys.argv[2], "t", Reading())
child = os.fork()
if child:
    os.waitpid(child, 0)
    print(len(os.listdir(sys.argv[1])))
"""
    directory = tmp_path / "temporary"
    directory.mkdir()
    command = [sys.executable, "-c", script, str(directory), str(tmp_path / "t.duckdb")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1\n"
    assert not list(directory.iterdir())


def test_no_extension_is_fetched_or_loaded():
    """A file cannot make DuckDB run code that is not in it."""
    connection = duckdb_connection()
    settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    assert settings["autoinstall_known_extensions"] == settings["autoload_known_extensions"] == "false"
    connection.close()


def test_a_view_does_not_reach_for_other_files(tmp_path):
    """DuckDB's own reader of CSV files would take text within quotes for rows."""
    (tmp_path / "people.csv").write_text("sex\nF\n")
    duckdb.sql("SELECT 'F' AS sex").write_parquet(str(tmp_path / "people.parquet"))
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE inside AS SELECT 'F' AS sex")
        database.execute("CREATE VIEW fine AS SELECT sex FROM inside")
        database.execute(f"CREATE VIEW csv AS SELECT * FROM read_csv('{tmp_path}/people.csv')")
        database.execute(f"CREATE VIEW parquet AS SELECT * FROM '{tmp_path}/people.parquet'")
    for view in ("csv", "parquet"):
        with pytest.raises(DataError, match=f"the view {view} reads another file; name that file as the source"):
            counted(path, view, Categorical(["F", "M"]), "sex")
    assert counted(path, "fine", Categorical(["F", "M"]), "sex") == [1, 0]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("attribute", [Binned(0, 10, bins=5), Binned(0, 7.5, bins=3)], ids=["whole", "fractional"])
@pytest.mark.parametrize("others", [[0.0, 7.0], [0.0, 7.0, 70.0], []], ids=["inside", "some outside", "none"])
def test_nan_in_a_parquet_file_is_outside_whatever_the_others_are(tmp_path, kind, attribute, others):
    """The least and the largest number that a file states leave NaN out, so nothing follows from them for NaN."""
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": pa.array([*others, math.nan] * 3, kind)}), path)
    counts = [0] * attribute.bins
    if others:
        counts[0] = counts[3 if attribute.bins == 5 else 2] = 3
    assert counted(path, None, attribute) == counts
    with coded(path, None, Domain({"a": attribute})) as (table, report):
        assert report.attributes["a"].wrong_type == 3
        assert table.imprint.rows == 3 * (len(others) + 1)


def with_false_bounds(path, numbers, kind, low, high):
    """A Parquet file of one column that states other bounds than its numbers have."""
    pa.parquet.write_table(pa.table({"a": pa.array(numbers, kind)}), path, compression="none", use_dictionary=False)
    content = path.read_bytes()
    footer = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    stated = content[footer:]
    code = "<d" if kind == pa.float64() else "<q"
    for true, false in ((min(numbers), low), (max(numbers), high)):
        assert struct.pack(code, true) in stated
        stated = stated.replace(struct.pack(code, true), struct.pack(code, false))
    path.write_bytes(content[:footer] + stated)
    statistics = pa.parquet.ParquetFile(path).metadata.row_group(0).column(0).statistics
    assert (statistics.min, statistics.max) == (low, high)


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [
        (pa.float64(), Binned(0, 10, bins=10)),
        (pa.float64(), Binned(0, 7.5, bins=10)),
        (pa.int64(), Binned(0, 10, bins=10)),
        (pa.int64(), Integer(0, 9)),
        (pa.int64(), Categorical(range(10))),
        (pa.int64(), Categorical(range(40))),
    ],
    ids=["whole bins", "bins", "bins of integers", "integers", "few codes", "many codes"],
)
def test_what_a_parquet_file_states_of_its_rows_decides_about_none(tmp_path, kind, attribute):
    """Rows are neither let in nor left out by false bounds."""
    inside = [number for number in (1, 2, 3, 4, 6) for _ in range(100)]
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": pa.array(inside, kind)}), path)
    counts = counted(path, None, attribute)
    assert sum(counts) == 500
    with_false_bounds(path, [*inside, 100, -7], kind, 1, 5)
    assert counted(path, None, attribute) == counts
    with_false_bounds(path, inside, kind, 50, 60)
    assert counted(path, None, attribute) == counts


@pytest.mark.parametrize(
    ("names", "alike"),
    [
        (["sex", "sex"], "sex, sex"),
        (["SEX", "x", "sex"], "SEX, sex"),
        (["sex", "note", "Note"], "note, Note"),
        (["a", "sex", "a", "a_1"], "a, a"),
    ],
)
def test_columns_of_a_parquet_file_have_names_of_their_own(tmp_path, names, alike):
    """A name alone would not tell which of two is meant."""
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table([pa.array(["F"])] * len(names), names=names), path)
    with pytest.raises(DataError, match=f"the columns {alike}"):
        counted(path, None, Categorical(["F", "M"]), "sex")


def test_names_within_a_column_of_a_parquet_file_may_be_alike(tmp_path):
    """Members of structures and lists are no columns."""
    path = tmp_path / "t.parquet"
    nested = pa.array([{"sex": [{"sex": 1, "note": "x"}], "Sex": {"a": 1}}])
    pa.parquet.write_table(pa.table({"first": nested, "sex": ["F"], "last": nested, "É": [2], "": [3]}), path)
    assert counted(path, None, Categorical(["F", "M"]), "sex") == [1, 0]
    assert counted(path, None, Integer(1, 2), "é") == [0, 1]
    with pytest.raises(DataError, match=r"c0: no column has this name; the columns are first, sex, last, É$"):
        counted(path, None, Integer(1, 3), "c0")


def test_columns_of_types_that_hold_no_attribute_are_in_nobodys_way(tmp_path):
    """Geometry, spans and structures, in a DuckDB file and in a Parquet file."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (sex VARCHAR, place GEOMETRY, span INTERVAL, parts STRUCT(a INTEGER)[])")
        connection.execute("INSERT INTO t (sex) VALUES ('F')")
        connection.execute(f"COPY t TO '{tmp_path / 't.parquet'}'")
    for source in (path, tmp_path / "t.parquet"):
        assert counted(source, "t", Categorical(["F", "M"]), "sex") == [1, 0]
        for name in ("place", "span", "parts"):
            with pytest.raises(DataError, match=f"{name}: the column is of type "):
                counted(source, "t", Categorical(["F", "M"]), name)


def test_a_view_that_lacks_what_it_needs_is_named(tmp_path):
    """A table that was dropped; this is no view of another file."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER); CREATE VIEW v AS SELECT a FROM t; DROP TABLE t")
    with pytest.raises(DataError, match="the view v needs what is not there"):
        counted(path, "v", Integer(0, 1))


@pytest.mark.parametrize("suffix", ["duckdb", "parquet", "csv"])
def test_a_path_may_hold_quotes(tmp_path, suffix):
    path = tmp_path / "it's; --" / f"o'[1]*'.{suffix}"
    path.parent.mkdir()
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        connection.execute(f"COPY t TO '{tmp_path / 't.parquet'}'; COPY t TO '{tmp_path / 't.csv'}'")
    (tmp_path / f"t.{suffix}").rename(path)
    assert counted(path, "t", Integer(0, 1)) == [0, 1]


def test_sources_that_are_none_are_named(tmp_path):
    """What is missing or too much is said before anything is opened."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE one (a INTEGER); CREATE TABLE two (a INTEGER)")
    (tmp_path / "t.csv").write_text("a,A\n1,2\n")
    (tmp_path / "directory.csv").mkdir()
    (tmp_path / "unreadable.csv").symlink_to("/proc/self/mem")
    for source, table, message in [
        (str(tmp_path / "none.csv"), None, "no such file"),
        (str(tmp_path / "directory.csv"), None, "no such file"),
        (str(tmp_path / "unreadable.csv"), None, "cannot be read"),
        (str(tmp_path / "t.xlsx"), None, "ends in .parquet"),
        (str(path), None, "name one with table"),
        (str(path), "three", "there are: one, two"),
        (str(tmp_path / "t.csv"), None, "each another one"),
        ("mysql://host/db", "t", "mysql:// is not a source"),
        ("postgresql://host/db", None, "name one with table"),
        ("spark://local[2]", None, "name one with table"),
        ("spark://local[2]/data.csv", None, "ends in .parquet"),
    ]:
        with pytest.raises(DataError, match=message):
            open_source(source, table, Reading())


def test_a_duckdb_file_is_opened_read_only(tmp_path):
    """Others can have it open for reading at the same time, and not a byte of it changes."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    content = path.read_bytes()
    script = "import duckdb, sys; duckdb.connect(sys.argv[1], read_only=True); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "open\n"
        assert counted(path, "t", Integer(0, 1)) == [0, 1]
        other.communicate("\n")
    assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["t.duckdb"]
