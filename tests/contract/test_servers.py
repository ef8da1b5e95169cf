"""What only a server has: types of its own, collations, policies, encodings, a catalog."""

from urllib.parse import urlsplit

import psycopg
import pytest

from parcomp.data import Reading
from parcomp.data.encoding import TableEncoder, match_columns
from parcomp.data.sources import open_source
from parcomp.errors import DataError
from parcomp.model import Domain
from parcomp.model.attribute import Binned, Categorical, Integer, Stepped


def counted(url, table, attribute, name):
    """The number of rows of each value of an attribute, as the source is read."""
    domain = Domain({name: attribute})
    with open_source(url, table, Reading()) as source:
        encoder = TableEncoder(domain, (), "UTC")
        batches = encoder.encoded(source.batches(match_columns(domain, source.types)))
        codes = [code for batch in batches for code in batch.column("c0").to_pylist()]
    return [codes.count(code) for code in range(attribute.size)]


@pytest.fixture
def postgres(postgres_url):
    """A connection to a database with nothing in it but what the test makes."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS odd CASCADE; CREATE SCHEMA odd")
        yield connection


def test_types_of_postgresql_are_read_by_what_they_hold(postgres, postgres_url):
    """Enumerations whatever their name, padded characters, domain types, and numerics of any scale with NaN."""
    postgres.execute("""CREATE TYPE odd."Mood" AS ENUM ('sad', 'Sad');
        CREATE DOMAIN odd.positive AS integer CHECK (VALUE > 0);
        CREATE TABLE odd.people (mood odd."Mood", padded char(4), name varchar(9), age odd.positive, open numeric);
        INSERT INTO odd.people VALUES ('sad', 'F', 'F', 1, 0.30), ('Sad', 'F ', 'F ', 2, 'NaN'),
            ('Sad', 'f', 'f', 2, 'Infinity'), ('sad', 'M', 'F', 9, 0.2999999999)""")
    attributes = {
        "mood": (Categorical(["sad", "Sad"]), [2, 2]),
        # Blanks at the end of char(n) are padding, which SQL does not count as part of the value.
        "padded": (Categorical(["F", "F ", "f"]), [2, 0, 1]),
        "name": (Categorical(["F", "F ", "f"]), [2, 1, 1]),
        "age": (Integer(1, 3), [1, 2, 0]),
        "open": (Binned(0, 1, bins=10), [0, 0, 1, 1, 0, 0, 0, 0, 0, 0]),
    }
    for name, (attribute, counts) in attributes.items():
        assert counted(postgres_url, "odd.people", attribute, name) == counts, name
    assert counted(postgres_url, "odd.people", Stepped("0.2", "0.4", "0.1"), "open") == [0, 2, 0]
    with pytest.raises(DataError, match=r"mood: the column is of type|open: the column is of type decimal"):
        counted(postgres_url, "odd.people", Categorical(["0.30"]), "open")


def test_names_of_tables_and_columns_are_no_sql(postgres, postgres_url):
    """Quotes and semicolons in names stay names."""
    postgres.execute(
        """CREATE TABLE odd."pe""op'le; --" ("a""b; DROP" text); INSERT INTO odd."pe""op'le; --" VALUES ('x')"""
    )
    attribute = Categorical(["x", "'; DROP TABLE people; --"])
    assert counted(postgres_url, "odd.pe\"op'le; --", attribute, 'a"b; DROP') == [1, 0]


def test_what_a_view_shows_does_not_depend_on_who_connects(postgres, postgres_url):
    """The time zone, by which a view tells the day of a time."""
    postgres.execute("CREATE VIEW odd.births AS SELECT (TIMESTAMPTZ '2020-01-01 23:30+00')::date AS day")
    days = Categorical(["2020-01-01", "2020-01-02"])
    assert counted(postgres_url + "&options=-c%20timezone%3DAsia/Tokyo", "odd.births", days, "day") == [1, 0]


def test_dates_and_floats_are_written_in_one_way(postgres, postgres_url):
    """Whatever the database is set to: days first, and fewer digits than a float has."""
    postgres.execute("CREATE TABLE odd.people AS SELECT DATE '2020-02-01' AS day, 0.3::float8 - 1e-17 AS share")
    url = postgres_url + "&options=-c%20DateStyle%3DSQL%2CDMY%20-c%20extra_float_digits%3D-10"
    assert counted(url, "odd.people", Categorical(["2020-01-02", "2020-02-01"]), "day") == [0, 1]
    postgres.execute("UPDATE odd.people SET share = 0.1::float8 + 0.2::float8")
    assert counted(url, "odd.people", Binned(0, 1, bins=10), "share")[3] == 1
    assert counted(url, "odd.people", Categorical([0]), "share") == [0]
    postgres.execute("UPDATE odd.people SET share = 0.2999999999")
    assert counted(url, "odd.people", Binned(0, 1, bins=10), "share")[2] == 1


def test_text_is_sent_in_the_encoding_that_the_server_is_told(postgres, postgres_url, monkeypatch):
    """A database in LATIN1, whose clients are in LATIN1 by default, and a client that is told so by its environment."""
    postgres.execute("DROP DATABASE IF EXISTS latin")
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    latin_url = urlsplit(postgres_url)._replace(path="/latin").geturl()
    cities = Categorical(["Zürich", "Bern", "Łódź"])
    make = "CREATE TABLE cities (city text); INSERT INTO cities VALUES (%s), (%s), (%s)"
    for url in (postgres_url, latin_url):
        with psycopg.connect(url, autocommit=True, client_encoding="utf8", cursor_factory=psycopg.ClientCursor) as one:
            one.execute("DROP TABLE IF EXISTS cities; " + make, ("Zürich", "Bern", "Zürich"))
    for environment in (None, "LATIN1", "SQL_ASCII"):
        if environment is not None:
            monkeypatch.setenv("PGCLIENTENCODING", environment)
        for url in (latin_url, postgres_url, postgres_url + "&client_encoding=LATIN1"):
            assert counted(url, "cities", cities, "city") == [2, 1, 0], (environment, url)
    monkeypatch.delenv("PGCLIENTENCODING")
    postgres.execute("DROP DATABASE latin")


def test_row_level_security_leaves_no_rows_out_in_silence(postgres, postgres_url):
    """A user whom a policy binds is refused, of a table and of a view; one whom it does not bind reads all rows."""
    postgres.execute("DO $$ BEGIN CREATE ROLE bound; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    postgres.execute("""GRANT USAGE ON SCHEMA odd TO bound;
        CREATE TABLE odd.people AS SELECT age FROM generate_series(1, 2) age;
        ALTER TABLE odd.people ENABLE ROW LEVEL SECURITY;
        CREATE POLICY few ON odd.people USING (age = 1);
        GRANT SELECT ON odd.people TO bound;
        CREATE VIEW odd.bound AS SELECT age FROM odd.people; ALTER VIEW odd.bound OWNER TO bound""")
    ages = Integer(1, 2)
    url = postgres_url + "&options=-c%20role%3Dbound"
    for address, name in ((url, "odd.people"), (url, "odd.bound"), (postgres_url, "odd.bound")):
        with pytest.raises(DataError, match=r"may not read all rows of the table.*BYPASSRLS"):
            counted(address, name, ages, "age")
    assert counted(postgres_url, "odd.people", ages, "age") == [1, 1]


def test_a_user_who_may_not_read_the_table_is_told_so(postgres, postgres_url):
    postgres.execute("DO $$ BEGIN CREATE ROLE reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    postgres.execute("GRANT USAGE ON SCHEMA odd TO reader; CREATE TABLE odd.people AS SELECT 1 AS age")
    url = postgres_url + "&options=-c%20role%3Dreader"
    with pytest.raises(DataError, match="grant SELECT"):
        counted(url, "odd.people", Integer(1, 2), "age")
    postgres.execute("GRANT SELECT ON odd.people TO reader")
    assert counted(url, "odd.people", Integer(1, 2), "age") == [1, 0]


@pytest.mark.parametrize("kind", ["numeric(3, 5)", "regclass", "regproc[]", "money", "int4range"])
def test_a_column_of_a_type_that_holds_no_attribute_is_in_nobodys_way(postgres, postgres_url, kind):
    """Unless it is declared, and then its type is named."""
    postgres.execute(f"CREATE TABLE odd.people (age integer, other {kind}); INSERT INTO odd.people VALUES (1)")
    assert counted(postgres_url, "odd.people", Integer(1, 2), "age") == [1, 0]
    with pytest.raises(DataError, match="other: the column is of type "):
        counted(postgres_url, "odd.people", Categorical(["1", "2"]), "other")


def test_failures_of_the_server_tell_nothing_of_the_data(postgres, postgres_url):
    """A view that fails on a row quotes the row; the error that is raised when the table is read does not."""
    postgres.execute(
        "CREATE TABLE odd.people AS SELECT 'secret'::text AS age; "
        "CREATE VIEW odd.ages AS SELECT age::integer FROM odd.people"
    )
    with pytest.raises(DataError, match="could not be read to its end") as caught:
        counted(postgres_url, "odd.ages", Integer(1, 2), "age")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_source_is_read_in_a_read_only_transaction(postgres, postgres_url):
    """A view whose function writes does not get to do so."""
    postgres.execute("""CREATE TABLE odd.log (n integer); CREATE TABLE odd.people AS SELECT 1 AS age;
        CREATE FUNCTION odd.noted(n integer) RETURNS integer LANGUAGE sql VOLATILE
            AS 'INSERT INTO odd.log VALUES (n) RETURNING n';
        CREATE VIEW odd.ages AS SELECT odd.noted(age) AS age FROM odd.people""")
    with pytest.raises(DataError, match="could not be read to its end"):
        counted(postgres_url, "odd.ages", Integer(1, 2), "age")
    assert postgres.execute("SELECT COUNT(*) FROM odd.log").fetchone() == (0,)


def test_what_cannot_be_opened_is_named(postgres_url):
    """A table that is not there, a server that is not there."""
    with pytest.raises(DataError, match=r"no table odd\.nobody"):
        open_source(postgres_url, "odd.nobody", Reading())
    for address in ("postgresql://u:secret@localhost:1/nothing", "postgresql://u:secret@[::1/nothing"):
        with pytest.raises(DataError, match=r"cannot be reached|cannot be read") as caught:
            open_source(address, "people", Reading())
        assert "secret" not in str(caught.value)


def test_a_table_of_the_spark_catalog_compares_strings_by_code_points(spark_master, tmp_path):
    """Also where the column has a collation that takes f for F."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  pyspark takes seconds to import

    path = tmp_path / "collated"
    with pytest.raises(DataError, match="Spark cannot open nowhere"):
        open_source(spark_master, "nowhere", Reading())
    session = SparkSession.builder.getOrCreate()
    session.sql(f"CREATE TABLE collated (sex STRING COLLATE UTF8_LCASE) USING PARQUET LOCATION '{path}'")
    try:
        session.sql("INSERT INTO collated VALUES ('F'), ('f'), ('f'), ('F ')")
        assert counted(spark_master, "collated", Categorical(["F", "f"]), "sex") == [1, 2]
    finally:
        session.sql("DROP TABLE collated")
