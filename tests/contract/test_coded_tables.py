"""Every store of coded tables keeps what it is given, counts it alike, and shows it to its owner only."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parcomp.data.codes import counting
from parcomp.data.codes.duckdb_codes import DuckDBCodes
from parcomp.data.layout import Given
from parcomp.errors import ArgumentError, DataError
from parcomp.model.attribute import Categorical, Integer
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.statement import Statement
from tests.contract.coded_stores import Place, place_on
from tests.data.coded_rows import (
    IMPRINT,
    Codes,
    batches_of,
    coded_rows,
    domains_to_count,
    expected,
    key,
    statements_to_count,
    wide_domain,
)

ENGINES = ("duckdb", "postgres", "spark")
EXAMPLES = {"postgres": 30, "spark": 2}
"""DuckDB has more of them in the tests of counting."""

TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'parcomp'::regnamespace"
TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()
"""

DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 9), "area": Categorical(["N", "S", "W"])})


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_on(request.param, request, tmp_path)


def whole(domain: Domain = DOMAIN) -> Statement:
    return Statement.one("count", Condition.of(domain.query()))


def random_rows(count: int, seed: int = 1, domain: Domain = DOMAIN) -> list[Codes]:
    chance = random.Random(seed)
    sizes = [attribute.size for attribute in domain.attributes.values()]
    return [tuple(chance.randint(0, size) for size in sizes) for _ in range(count)]


def counted(place: Place, domain: Domain = DOMAIN) -> Counter[Codes]:
    """The rows of a coded table, by what it counts: the rows of each group, those outside told apart."""
    table = place.open(domain)
    found: Counter[Codes] = Counter()
    for chunk in table._chunks(f"SELECT c0, c1, c2, n FROM {table._relation}"):
        for *codes, many in zip(*(values.tolist() for values in chunk), strict=True):
            found[tuple(codes)] += many
    table.close()
    return found


@pytest.mark.parametrize("place", EXAMPLES, indirect=True)
def test_every_store_counts_what_its_rows_say(place):
    """Both ways of counting, over rows of which many have values outside the domain."""

    @settings(max_examples=EXAMPLES[place.engine], deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def counts(data):
        domain = data.draw(domains_to_count())
        rows = data.draw(coded_rows(domain))
        statements = data.draw(st.lists(statements_to_count(domain), min_size=1, max_size=4))
        place.make(domain, rows)
        table = place.open(domain)
        judged = [expected(rows, statement) for statement in statements]
        assert table.measure(statements) == judged
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counting, "FEW_CONDITIONS", 0)
            assert table.measure(statements) == judged
        table.close()

    counts()


def test_stores_agree_on_the_imprint(request, tmp_path):
    """The digest is that of the rows, in whatever order they come and whichever engine keeps them."""
    domain = wide_domain()
    rows = random_rows(300, domain=domain)
    rows += rows[:40]
    imprints = {place_on(engine, request, tmp_path).make(domain, rows) for engine in ENGINES}
    assert len(imprints) == 1
    [imprint] = imprints
    assert (imprint.rows, imprint.kept, imprint.stored) == (340, 340, len(set(rows)))
    duckdb = place_on("duckdb", request, tmp_path)
    assert duckdb.make(domain, rows[::-1]) == imprint
    assert duckdb.make(domain, [*rows[1:], rows[-1]]).digest != imprint.digest
    fewer = duckdb.make(domain, rows[1:])
    assert fewer.digest != imprint.digest
    table = duckdb.open(domain)
    assert table.imprint == fewer
    table.close()


def persons_of(rows: list[Codes], owners: list[int]) -> list[tuple[bytes, bytes]]:
    return [(key(owner), key(owner, codes)) for codes, owner in zip(rows, owners, strict=True)]


def bounded(rows: list[Codes], keys: list[tuple[bytes, bytes]], most: int) -> Counter[Codes]:
    """By hand: of each person the first rows by rank."""
    mine: dict[bytes, list[tuple[bytes, Codes]]] = {}
    for codes, (person, rank) in zip(rows, keys, strict=True):
        mine.setdefault(person, []).append((rank, codes))
    return Counter(codes for some in mine.values() for _, codes in sorted(some)[:most])


def test_of_each_person_so_many_rows_are_taken(place):
    """The same rows on every engine; and without another person the rows of all others stay what they are."""
    rows = random_rows(80)
    owners = [random.Random(2).randrange(1, 4) ** 3 + number % 9 for number in range(80)]
    keys = persons_of(rows, owners)
    imprint = place.make(DOMAIN, rows, keys, most=3)
    before = counted(place)
    assert before == bounded(rows, keys, 3)
    assert max(Counter(owners).values()) > 3
    assert (imprint.rows, imprint.kept) == (80, sum(min(many, 3) for many in Counter(owners).values()))
    gone = max(owners, key=owners.count)
    left = [number for number in range(80) if owners[number] != gone]
    place.make(DOMAIN, [rows[i] for i in left], [keys[i] for i in left], most=3)
    own = [number for number in range(80) if owners[number] == gone]
    assert before - counted(place) == bounded([rows[i] for i in own], [keys[i] for i in own], 3)


def test_rows_once_taken_stay_taken(place):
    """Rows that come later take the places that are left, however they rank; equal rows count as often as taken."""
    rows = [(0, 1, 0), (0, 1, 0), (1, 2, 1), (0, 3, 2)]
    late = [(bytes(16), bytes([255, *bytes(14), number])) for number in range(4)]
    place.make(DOMAIN, rows[:3], late[:3], most=4)
    assert counted(place) == Counter(rows[:3])
    early = [(bytes(16), bytes([number, *bytes(15)])) for number in range(3)]
    more = [(1, 9, 1), (0, 1, 0), (1, 8, 1)]
    place.make(DOMAIN, [*rows[:3], *more], [*late[:3], *early], most=4, growing_from=DOMAIN)
    assert counted(place) == Counter([*rows[:3], more[0]])
    place.make(DOMAIN, [*rows[:3], *more], [*late[:3], *early], most=4)
    assert counted(place) == Counter([*more, rows[0]])


EARLIER = Domain({"sex": Categorical(["F", "M"], nullable=True), "age": Integer(0, 9), "day": Integer(0, 125)})
LATER = Domain({"sex": Categorical(["F", "M", "X"], nullable=True), "age": Integer(0, 14), "day": Integer(0, 400)})


def test_rows_once_taken_stay_taken_as_the_domain_grows(place):
    """By the codes that they had: what is declared since was outside. Then they come before rows of a lower rank."""
    # A woman of 4, someone without a sex, and someone whose sex, age and day are outside.
    rows = [(0, 4, 7), (2, 0, 8), (3, 10, 126)]
    person = bytes(16)
    place.make(EARLIER, rows, [(person, bytes([9, *bytes(15)]))] * 3, most=3)
    again = [(0, 4, 7), (3, 0, 8), (2, 12, 300)]
    others = [(0, 5, 7), (1, 9, 7), (4, 0, 8), (0, 4, 8)]
    keys = [(person, bytes([9, *bytes(15)]))] * 3 + [(person, bytes(16))] * 4
    place.make(LATER, again + others, keys, most=3, growing_from=EARLIER)
    assert counted(place, LATER) == Counter(again)


def test_a_table_that_grows_holds_its_rows(place):
    """Rows that are gone, or changed, are noticed by number, and the table in place stays."""
    rows = [(0, 4, 7), (0, 4, 7), (2, 0, 8), (3, 10, 126)]
    place.make(EARLIER, rows)
    grown = [(0, 4, 7), (0, 4, 7), (3, 0, 8), (2, 12, 300), (1, 1, 1)]
    for number in range(4):
        with pytest.raises(DataError, match="1 are gone or have changed"):
            place.make(LATER, [*grown[:number], *grown[number + 1 :]], growing_from=EARLIER)
    assert counted(place, EARLIER) == Counter(rows)
    place.make(LATER, grown, growing_from=EARLIER)
    assert counted(place, LATER) == Counter(grown)


def test_a_missing_table_says_what_makes_it(place):
    with pytest.raises(DataError, match="parcomp load"):
        place.open(DOMAIN)


def test_an_open_table_is_counted_from_several_threads_until_it_is_closed(place):
    """Each thread gets the numbers of its own statements; a closed table says so."""
    rows = random_rows(200)
    place.make(DOMAIN, rows)
    table = place.open(DOMAIN)
    statements = [
        Statement.one("count", Condition.of(DOMAIN.query(sex=sex, age=age))) for sex in "FM" for age in range(0, 10, 3)
    ]
    table.ready()
    with ThreadPoolExecutor(4) as pool:
        measured = list(pool.map(lambda one: table.measure([one])[0], statements))
    assert measured == [expected(rows, statement) for statement in statements]
    table.close()
    table.close()
    for call in (table.ready, lambda: table.measure([whole()])):
        with pytest.raises(DataError, match="closed"):
            call()


def test_a_table_that_is_replaced_is_never_mixed_with_its_successor(place):
    """Who has opened the earlier one counts that or is told, and who opens the table then gets the next."""
    place.make(DOMAIN, random_rows(50))
    earlier = place.open(DOMAIN)
    place.make(DOMAIN, random_rows(70, seed=2))
    if place.engine == "duckdb":
        earlier.ready()
        assert earlier.measure([whole()]) == [[[50]]]
    else:
        for call in (earlier.ready, lambda: earlier.measure([whole()])):
            with pytest.raises(DataError):
                call()
        with pytest.raises(DataError, match="replaced"):
            earlier.ready()
    later = place.open(DOMAIN)
    assert later.measure([whole()]) == [[[70]]]
    earlier.close()
    later.close()


def test_rows_that_are_no_codes_are_refused(place):
    """What is staged is checked: counting relies on it. The table that was there stays."""
    place.make(DOMAIN, random_rows(5))
    for row in ((0, 11, 0), (-1, 0, 0), (0, 0, 4)):
        with place.writer(DOMAIN) as writer, pytest.raises(DataError, match="codes that"):
            place.stage(writer, [(0, 0, 0), row])
    with place.writer(DOMAIN) as writer:
        place.stage(writer, [(0, 0, 0)])
        with pytest.raises(ArgumentError, match="person"):
            writer.finish(replace(IMPRINT, person="who"))
    assert sum(counted(place).values()) == 5


def test_staged_rows_that_are_not_those_that_were_looked_at_are_refused(place):
    """One row more or less, or one value more or less outside; the table that was there stays."""
    place.make(DOMAIN, random_rows(5))
    sizes = [attribute.size for attribute in DOMAIN.attributes.values()]
    for rows in ([], random_rows(40)):
        outside = [sum(row[index] == size for row in rows) for index, size in enumerate(sizes)]
        with place.writer(DOMAIN) as writer:
            place.stage(writer, rows)
            writer.check_staged(Given(len(rows), outside))
            amiss = [Given(len(rows) + 1, outside)]
            for index, count in enumerate(outside):
                amiss.append(Given(len(rows), [*outside[:index], count + 1, *outside[index + 1 :]]))
            for given in amiss:
                with pytest.raises(DataError, match="has changed while it was read"):
                    writer.check_staged(given)
    assert sum(counted(place).values()) == 5


@pytest.mark.parametrize("place", ["duckdb", "postgres"], indirect=True)
def test_an_error_of_the_source_comes_through_and_changes_nothing(place):
    """What the reading half raises is what its caller sees."""

    class SourceError(Exception):
        pass

    def broken() -> Iterator[pa.RecordBatch]:
        yield from batches_of(DOMAIN, random_rows(20))
        raise SourceError("line 7")

    place.make(DOMAIN, random_rows(5))
    with place.writer(DOMAIN) as writer, pytest.raises(SourceError, match="line 7"):
        writer.stage(broken())
    assert sum(counted(place).values()) == 5


def test_tables_too_large_to_be_summed_exactly_are_refused():
    """No sum on the way may exceed 64 bits."""
    from parcomp.data.layout import check_sums  # noqa: PLC0415

    domain = Domain({"cents": Integer(0, 2**31 - 2)})
    check_sums(domain, 2**31)
    with pytest.raises(DataError, match="too many"):
        check_sums(domain, 2**31 + 2)


@pytest.mark.parametrize("place", ["duckdb", "spark"], indirect=True)
def test_files_belong_to_their_owner_alone(place):
    """Whatever the umask; and nothing is left beside them."""
    before = os.umask(0)
    try:
        place.make(DOMAIN, random_rows(10), persons_of(random_rows(10), list(range(10))))
        place.make(DOMAIN, random_rows(10), persons_of(random_rows(10), list(range(10))))
    finally:
        os.umask(before)
    path = Path(place.address)
    assert os.listdir(path.parent) == [path.name]
    for found in [path, *path.rglob("*")]:
        assert stat.S_IMODE(found.stat().st_mode) == (0o700 if found.is_dir() else 0o600), found
    if place.engine == "spark":
        [generation] = path.iterdir()
        names = {found.name for found in generation.iterdir() if not found.name.startswith(".")}
        assert names == {"codes", "taken", "imprint.json"}


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_another_role_of_the_database_reads_nothing(place):
    """Neither the codes, nor what was taken, nor how many rows there are; and nothing else is left in the schema."""
    for _ in range(2):
        place.make(DOMAIN, random_rows(10), persons_of(random_rows(10), list(range(10))))
    with psycopg.connect(place.address, autocommit=True) as owner:
        tables = [name for (name,) in owner.execute(TABLES)]
        assert sorted(name.partition("_")[0] for name in tables) == ["codes", "imprints", "taken"]
        owner.execute("DROP ROLE IF EXISTS curious")
        owner.execute("CREATE ROLE curious LOGIN")
        # A careless grant on the schema opens no table.
        owner.execute("GRANT USAGE ON SCHEMA parcomp TO curious")
        owner.execute("SET ROLE curious")
        for name in tables:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                owner.execute(f"SELECT * FROM parcomp.{name}".encode())
        owner.execute("RESET ROLE")
        owner.execute("REVOKE USAGE ON SCHEMA parcomp FROM curious")
        owner.execute("SET ROLE curious")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            owner.execute(f"SELECT * FROM parcomp.{tables[0]}".encode())
        owner.execute("RESET ROLE")
        owner.execute("DROP ROLE curious")


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_default_privileges_open_no_table(place):
    """Whoever they are for, by whatever name, and on whatever is made, the schema too."""
    names = ["curious", 'an "odd" role', "public"]
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in names[:2]} | {"public": "PUBLIC"}
    with psycopg.connect(place.address, autocommit=True) as owner:
        for name in names[:2]:
            owner.execute(f"CREATE ROLE {quoted[name]}".encode())
        try:
            for name in quoted.values():
                for what in ("TABLES", "SCHEMAS"):
                    owner.execute(f"ALTER DEFAULT PRIVILEGES GRANT ALL ON {what} TO {name}".encode())
            for _ in range(2):
                place.make(DOMAIN, random_rows(10), persons_of(random_rows(10), list(range(10))))
            tables = [name for (name,) in owner.execute(TABLES)]
            assert sorted(name.partition("_")[0] for name in tables) == ["codes", "imprints", "taken"]
            for name in names[:2]:
                owner.execute(f"SET ROLE {quoted[name]}".encode())
                for table in tables:
                    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="schema"):
                        owner.execute(f"SELECT * FROM parcomp.{table}".encode())
                owner.execute("RESET ROLE")
                owner.execute(f"GRANT USAGE ON SCHEMA parcomp TO {quoted[name]}".encode())
                owner.execute(f"SET ROLE {quoted[name]}".encode())
                for table in tables:
                    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="table"):
                        owner.execute(f"SELECT * FROM parcomp.{table}".encode())
                owner.execute("RESET ROLE")
            place.open(DOMAIN).close()
        finally:
            for name in names[:2]:
                owner.execute(f"DROP OWNED BY {quoted[name]}; DROP ROLE {quoted[name]}".encode())


@pytest.mark.parametrize(
    "grant",
    [
        'SELECT ON TABLE {codes} TO "cu rious"',
        'SELECT (c0) ON TABLE {taken} TO "cu rious"',
        'UPDATE ON TABLE {codes} TO "cu rious"',
        "SELECT ON TABLE parcomp.imprints TO PUBLIC",
    ],
)
@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_table_that_others_were_granted_is_refused_until_the_grant_is_taken_back(place, grant):
    """As the message says, by the statements that it has."""
    rows = random_rows(10)
    place.make(DOMAIN, rows, persons_of(rows, list(range(10))))
    with psycopg.connect(place.address, autocommit=True) as owner:
        owner.execute('CREATE ROLE "cu rious"')
        try:
            tables = {name.partition("_")[0]: f"parcomp.{name}" for (name,) in owner.execute(TABLES)}
            owner.execute(f"GRANT {grant.format(**tables)}".encode())
            with pytest.raises(
                DataError, match=r"others were granted access .* run: REVOKE ALL ON TABLE parcomp"
            ) as told:
                place.open(DOMAIN)
            if "imprints" in grant:
                with pytest.raises(DataError, match=r"REVOKE ALL ON TABLE parcomp\.imprints FROM PUBLIC"):
                    place.make(DOMAIN, rows)
            owner.execute(str(told.value).partition("run: ")[2].encode())
            place.open(DOMAIN).close()
        finally:
            owner.execute('DROP OWNED BY "cu rious"; DROP ROLE "cu rious"')


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_list_of_tables_that_is_somebody_elses_is_refused(place):
    """Its owner could read which rows the table has."""
    with psycopg.connect(place.address, autocommit=True) as owner:
        owner.execute("CREATE ROLE custodian LOGIN")
        owner.execute("CREATE SCHEMA parcomp; GRANT ALL ON SCHEMA parcomp TO custodian")
        owner.execute("CREATE TABLE parcomp.imprints (name TEXT PRIMARY KEY, place TEXT, imprint TEXT)")
        try:
            parts = urlsplit(place.address)
            address = urlunsplit(parts._replace(netloc="custodian@" + parts.netloc.rpartition("@")[2]))
            with pytest.raises(DataError, match=r"parcomp\.imprints in PostgreSQL belongs to another user"):
                Place(place.engine, address).make(DOMAIN, random_rows(3))
        finally:
            owner.execute("DROP OWNED BY custodian; DROP ROLE custodian")


@pytest.mark.parametrize("place", ["duckdb", "spark"], indirect=True)
def test_files_that_others_may_read_are_refused_until_they_are_closed(place):
    """By their modes; what the message says to run is enough."""
    place.make(DOMAIN, random_rows(10))
    path = Path(place.address)
    path.chmod(0o755)
    with pytest.raises(DataError, match="others may read the coded table, which holds every row; run: chmod") as told:
        place.open(DOMAIN)
    command = str(told.value).partition("run: ")[2]
    subprocess.run([*command.split(), str(path)], check=True)
    place.open(DOMAIN).close()


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_lost_connection_is_made_again(place):
    """Before something is charged, and while it is counted."""
    rows = random_rows(30)
    place.make(DOMAIN, rows)
    table = place.open(DOMAIN)

    def cut() -> None:
        with psycopg.connect(place.address, autocommit=True) as other:
            other.execute(TERMINATE)

    cut()
    table.ready()
    assert table.measure([whole()]) == [[[30]]]
    cut()
    assert table.measure([whole()]) == [[[30]]]
    cut()
    statements = [whole(), Statement.one("count", whole().where, groups=(0,))]
    assert table.measure(statements) == [expected(rows, statement) for statement in statements]
    table.close()


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_scan_that_breaks_off_is_an_error_and_not_a_shorter_table(place):
    """Whether the server fails at a row or the reader leaves; the table can be counted again."""
    place.make(DOMAIN, random_rows(30))
    table = place.open(DOMAIN)
    scan = table._chunks("SELECT 1 / (900000 - g) FROM generate_series(1, 1000000) AS g")
    assert len(next(scan)[0]) > 100_000
    with pytest.raises(psycopg.Error):
        list(scan)
    assert table.measure([whole()]) == [[[30]]]
    scan = table._chunks("SELECT g FROM generate_series(1, 1000000) AS g")
    next(scan)
    del scan
    assert table.measure([whole()]) == [[[30]]]
    table.close()


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_server_that_is_gone_is_told_without_its_address(place):
    parts = urlsplit(place.address)
    gone = Place(place.engine, urlunsplit(parts._replace(path="/nowhere")))
    with pytest.raises(DataError, match="cannot be reached"):
        gone.open(DOMAIN)
    with pytest.raises(DataError, match="not well formed") as error:
        Place(place.engine, "postgresql://me:secret@host/x?nonsense=1").open(DOMAIN)
    assert "secret" not in str(error.value)


WRITER = """
import os, sys
sys.path[:0] = {paths!r}
from tests.contract.coded_stores import Place
from tests.contract.test_coded_tables import DOMAIN, random_rows
from tests.data.coded_rows import IMPRINT
place = Place({engine!r}, {address!r})
writer = place.writer(DOMAIN)
place.stage(writer, random_rows(30, seed=3))
if {at!r} == "publish":
    def publish(imprint):
        print("now", flush=True)
        sys.stdin.read()
    writer._publish = publish
    writer.finish(IMPRINT)
print("now", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("at", ["stage", "publish"])
@pytest.mark.parametrize("place", ["duckdb", "postgres"], indirect=True)
def test_a_writer_that_is_killed_leaves_the_earlier_table(place, at):
    """At any time before the last step; the next writer is not disturbed by what is left, and removes it."""
    place.make(DOMAIN, random_rows(12))
    root = Path(__file__).parents[2]
    script = WRITER.format(paths=[str(root), str(root / "src")], engine=place.engine, address=place.address, at=at)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root
    ) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"now\n"
        assert sum(counted(place).values()) == 12
        if place.engine == "duckdb":
            # One that still runs is left alone.
            with place.writer(DOMAIN):
                assert len(list(Path(place.address).parent.iterdir())) == 3
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert sum(counted(place).values()) == 12
    place.make(DOMAIN, random_rows(14))
    assert sum(counted(place).values()) == 14
    if place.engine == "duckdb":
        assert os.listdir(Path(place.address).parent) == ["codes.duckdb"]


READER = """
import sys
sys.path[:0] = {paths!r}
from tests.contract.coded_stores import Place
from tests.contract.test_coded_tables import DOMAIN, whole
table = Place("duckdb", {address!r}).open(DOMAIN)
print(table.measure([whole()]), flush=True)
sys.stdin.read()
"""


def test_several_processes_read_one_file(tmp_path):
    """At once, and while it is replaced."""
    place = Place("duckdb", str(tmp_path / "codes.duckdb"))
    place.make(DOMAIN, random_rows(12))
    root = Path(__file__).parents[2]
    script = READER.format(paths=[str(root), str(root / "src")], address=place.address)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"[[[12]]]\n"
        here = place.open(DOMAIN)
        assert here.measure([whole()]) == [[[12]]]
        place.make(DOMAIN, random_rows(15))
        assert here.measure([whole()]) == [[[12]]]
        here.close()
        reader.kill()


def test_a_file_that_is_no_coded_table_is_refused(tmp_path):
    """Whether DuckDB can read it or not."""
    import duckdb  # noqa: PLC0415

    (tmp_path / "text.duckdb").write_text("not a database")
    with duckdb.connect(str(tmp_path / "other.duckdb")) as other:
        other.execute("CREATE TABLE imprint AS SELECT ? AS imprint", ['{"format": 99}'])
    for name in ("text.duckdb", "other.duckdb"):
        (tmp_path / name).chmod(0o600)
    with pytest.raises(DataError, match="could not read"):
        DuckDBCodes(tmp_path / "text.duckdb", DOMAIN)
    with pytest.raises(DataError, match="parcomp load"):
        DuckDBCodes(tmp_path / "other.duckdb", DOMAIN)


def test_every_store_counts_the_rows_of_each_class(place):
    """Rows that satisfy the same of some conjunctions, those with values outside the domain among them."""
    rows = random_rows(400)
    place.make(DOMAIN, rows)
    lists = [
        [DOMAIN.query(), DOMAIN.query(sex={"not": []}), DOMAIN.query(sex="F", age=range(2, 7))],
        [DOMAIN.query(area=["N", "W"]), DOMAIN.query(age=[0, 3, 9]), DOMAIN.query(area="N", sex="M")],
        [DOMAIN.query()],
    ]
    table = place.open(DOMAIN)
    for queries, found in zip(lists, table.count_classes(lists), strict=True):
        judged = Counter(
            tuple(all(row[at] in predicate for at, predicate in query.tested) for query in queries) for row in rows
        )
        counted = {
            tuple(flags): many for flags, many in zip(found.satisfied.tolist(), found.counts, strict=True) if many
        }
        assert counted == judged
        assert len(set(map(tuple, found.satisfied.tolist()))) == len(found.counts)
    table.close()
