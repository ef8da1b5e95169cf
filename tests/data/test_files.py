"""Tables in files: what DuckDB makes of types, collations, text and damage."""

import math
import struct
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from parcomp.data import open_table, suggest_domain
from parcomp.data.codes import code_rows
from parcomp.data.columns import Column
from parcomp.data.dialect import DUCKDB
from parcomp.errors import DataError, DomainError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.statement import Statement


def counted(source, table, attribute, name="a"):
    """The count of each value of a single attribute."""
    domain = Domain({name: attribute})
    opened = open_table(str(source), table, domain)
    try:
        return opened.measure([Statement("count", Condition.of(domain.query()), groups=(0,))])[0][0]
    finally:
        opened.close()


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
    domain = Domain({"a": attribute, "place": Integer(0, len(numbers))})
    columns = [Column("a", "float"), Column("place", "integer", 0)]
    try:
        rows = code_rows(domain, columns, "SELECT * FROM numbers", DUCKDB)
    except DataError:
        event("refused")
        return
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE numbers (x0 DOUBLE, x1 INTEGER)")
        connection.executemany("INSERT INTO numbers VALUES (?, ?)", [(n, place) for place, n in enumerate(numbers)])
        codes = dict(connection.execute(f"SELECT c1, c0 FROM ({rows.sql})").fetchall())
    edges = [float(attribute.edge(position)) for position in range(attribute.bins + 1)]
    for place, number in enumerate(numbers):
        passed = sum(edge <= number for edge in edges)
        within = 1 <= passed <= attribute.bins and not math.isnan(number)
        assert codes.get(place) == (passed - 1 if within else None), (attribute, number)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.decimals(-3, 3, places=4), min_size=1, max_size=40), st.integers(1, 40))
def test_a_decimal_is_in_the_bin_between_whose_edges_it_lies(numbers, bins):
    """Decimals of few digits are told from edges of few digits exactly."""
    attribute = Binned(Decimal("-2.1"), Decimal("2.1"), bins)
    domain = Domain({"a": attribute})
    rows = code_rows(domain, [Column("a", "decimal", 4)], "SELECT x0 FROM numbers", DUCKDB)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE numbers (x0 DECIMAL(12, 4))")
        connection.executemany("INSERT INTO numbers VALUES (?)", [(number,) for number in numbers])
        codes = sorted(row[0] for row in connection.execute(f"SELECT c0 FROM ({rows.sql})").fetchall())
    edges = [float(attribute.edge(position)) for position in range(bins + 1)]
    passed = [sum(edge <= float(number) for edge in edges) for number in numbers]
    assert codes == sorted(count - 1 for count in passed if 1 <= count <= bins)


@pytest.mark.parametrize(
    ("attribute", "column"),
    [
        (Binned(0, 1, bins=10), Column("a", "decimal", 30)),
        (Binned(0.5, 2.0**40 + 0.5, bins=7), Column("a", "decimal", 9)),
        (Binned(Decimal("0.1234567890123"), 10**6, bins=977), Column("a", "float")),
        (Binned(0, 2**53, bins=2), Column("a", "float")),
        (Binned(0, 2**63, bins=2), Column("a", "wide integer", 0)),
    ],
)
def test_bins_whose_edges_cannot_be_compared_exactly_are_refused(attribute, column):
    with pytest.raises(DataError, match=r"a: .*exactly.*; declare"):
        code_rows(Domain({"a": attribute}), [column], "SELECT 1 AS x0", DUCKDB)


def test_whole_edges_are_exact_beyond_what_a_double_holds(tmp_path):
    """Next to an edge at 2**60 an integer falls on its own side of it, and its sum is exact."""
    path = tmp_path / "wide.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT unnest([{2**60 - 1}, {2**60}, {2**61 - 1}, {2**61}]::HUGEINT[]) AS a"
        )
    attribute = Binned(0, 2**61, bins=2)
    assert counted(path, "t", attribute) == [1, 2]
    domain = Domain({"a": attribute})
    table = open_table(str(path), "t", domain)
    total = table.measure([Statement("sum", Condition.of(domain.query()), "a")])
    assert total == [[[2**60 - 1 + 2**60 + 2**61 - 1]]]
    table.close()


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
    assert counted(path, None, Integer(0, 3, nullable=True)) == [0, 1, 1, 1, 1]
    assert counted(path, None, Categorical([1, 2, 13])) == [1, 1, 0]
    assert counted(path, None, Categorical(["1", "01", ""], nullable=True), "code") == [3, 2, 1, 1]
    assert counted(path, None, Categorical([True, False]), "flag") == [4, 1]
    assert counted(path, None, Binned(0, 20, bins=4)) == [4, 0, 1, 0]


def test_two_attributes_may_be_of_one_column(tmp_path):
    """Their names differ in case, and the column's is like both."""
    path = tmp_path / "t.csv"
    path.write_text("note,Sex\n,F\nx,M\n,F\n")
    domain = Domain({"sex": Categorical(["F", "M"]), "SEX": Categorical(["M", "F"])})
    table = open_table(str(path), None, domain)
    measured = table.measure([Statement("count", Condition.of(domain.query()), groups=(0, 1))])
    assert measured == [[[0, 2, 1, 0]]]
    table.close()


def test_a_damaged_file_tells_nothing_of_its_rows(tmp_path):
    """It is refused when it is opened, with nothing that it holds."""
    path = tmp_path / "people.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 'secret' || range AS a FROM range(100000)) TO '{path}'")
    domain = Domain({"a": Categorical(["secret1"])})
    content = bytearray(path.read_bytes())
    content[100:-2000] = bytes(len(content) - 2100)
    path.write_bytes(content)
    with pytest.raises(DataError, match="DuckDB could not read the table") as caught:
        open_table(str(path), None, domain)
    assert caught.value.__cause__ is None
    assert "secret" not in str(caught.value)
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError, match="DuckDB cannot open the file"):
        open_table(str(path), None, domain)


def test_a_file_is_a_snapshot_from_when_it_was_opened(tmp_path):
    """What happens to the file afterwards changes no number, and a DuckDB file is free for others again."""
    domain = Domain({"a": Integer(0, 9)})
    everything = [Statement("count", Condition.of(domain.query()))]
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS a FROM range(5)")
        connection.execute(f"COPY t TO '{tmp_path / 't.parquet'}'; COPY t TO '{tmp_path / 't.csv'}'")
    tables = [open_table(str(tmp_path / f"t.{kind}"), "t", domain) for kind in ("duckdb", "parquet", "csv")]
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("DELETE FROM t WHERE a < 2")
    (tmp_path / "t.parquet").write_bytes(b"")
    (tmp_path / "t.csv").unlink()
    for table in tables:
        assert table.measure(everything) == [[[5]]]
        table.close()


def test_a_path_is_not_read_for_columns(tmp_path):
    """Engines take ``age=3`` in a path for a column, in place of the file's own."""
    path = tmp_path / "a=3" / "t.parquet"
    path.parent.mkdir()
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS a, 2 AS b) TO '{path}'")
    assert counted(path, None, Integer(0, 3)) == [0, 1, 0, 0]


def test_temporary_files_are_private_and_removed(tmp_path, monkeypatch):
    """Not in the working directory but in one for their owner alone, which is gone when the table is closed."""
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT range AS a FROM range(3000000)) TO '{path}'")
    domain = Domain({"a": Integer(0, 3_000_000)})
    table = open_table(str(path), None, domain)
    [directory] = temporary.iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    # More than memory holds, so that DuckDB has to put something down.
    table._run("SET memory_limit = '40MB'; SET threads = 1")
    table._run("CREATE TABLE more AS SELECT a.c0, a.c0 + b.i AS d FROM rows_within_domain a, range(3) b(i)")
    assert any(directory.rglob("*"))
    table.close()
    assert not list(temporary.iterdir())
    assert not list(work.iterdir())
    (tmp_path / "bad.csv").write_text("a\n1,2\n")
    with pytest.raises(DataError):
        open_table(str(tmp_path / "bad.csv"), None, domain)
    assert not list(temporary.iterdir())


def test_temporary_files_are_gone_with_the_process(tmp_path):
    """Also where the table was never closed; a child that ends first leaves them to its parent."""
    (tmp_path / "t.csv").write_text("a\n1\n")
    script = """
import os, sys, tempfile
from parcomp.data import open_table
from parcomp.model.attribute import Integer
from parcomp.model.domain import Domain
tempfile.tempdir = sys.argv[1]
table = open_table(sys.argv[2], None, Domain({"a": Integer(0, 1)}))
child = os.fork()
if child:
    os.waitpid(child, 0)
    print(len(os.listdir(sys.argv[1])))
"""
    directory = tmp_path / "temporary"
    directory.mkdir()
    command = [sys.executable, "-c", script, str(directory), str(tmp_path / "t.csv")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1\n"
    assert not list(directory.iterdir())


def test_no_extension_is_fetched_or_loaded(tmp_path):
    """A file cannot make DuckDB run code that is not in it."""
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    table = open_table(str(path), None, Domain({"a": Integer(0, 1)}))
    settings = dict(table._run("SELECT name, value FROM duckdb_settings()"))
    assert settings["autoinstall_known_extensions"] == settings["autoload_known_extensions"] == "false"
    table.close()


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
    domain = Domain({"sex": Categorical(["F", "M"])})
    for view in ("csv", "parquet"):
        with pytest.raises(DataError, match=f"the view {view} reads another file; name that file as the source"):
            open_table(str(path), view, domain)
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
    domain = Domain({"a": attribute})
    table = open_table(str(path), None, domain)
    assert table.measure([Statement("sum", Condition.of(domain.query()), "a")]) == [[[21 if others else 0]]]
    table.close()


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
    """DuckDB would call the second of two by a name that the file does not have."""
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table([pa.array(["F"])] * len(names), names=names), path)
    with pytest.raises(DataError, match=f"the columns {alike}"):
        counted(path, None, Categorical(["F", "M"]), "sex")


def test_names_within_a_column_of_a_parquet_file_may_be_alike(tmp_path):
    """Members of structures and lists are no columns."""
    path = tmp_path / "t.parquet"
    nested = pa.array([{"sex": [{"sex": 1, "note": "x"}], "Sex": {"a": 1}}])
    pa.parquet.write_table(pa.table({"first": nested, "sex": ["F"], "last": nested, "É": [1], "é": [2], "": [3]}), path)
    assert counted(path, None, Categorical(["F", "M"]), "sex") == [1, 0]
    assert counted(path, None, Integer(1, 2), "é") == [0, 1]
    with pytest.raises(DataError, match=r"c0: no column has this name; the columns are first, sex, last, É, é$"):
        counted(path, None, Integer(1, 3), "c0")


def test_columns_of_types_that_hold_no_attribute_are_in_nobodys_way(tmp_path):
    """Geometry, for which Ibis would fetch an extension, in a DuckDB file and in a Parquet file."""
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
    assert suggest_domain(path, from_data=True).domain.names == ("a",)


def test_sources_that_are_none_are_named(tmp_path):
    """What is missing or too much is said before anything is opened."""
    domain = Domain({"a": Integer(0, 1)})
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
            open_table(source, table, domain)


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
