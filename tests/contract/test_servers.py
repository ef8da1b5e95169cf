"""What only a server has: types of its own, collations, lost connections, a catalog."""

from urllib.parse import urlsplit

import psycopg
import pytest

from parcomp.data import open_table
from parcomp.errors import DataError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.statement import Statement

DROP_CONNECTIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND datname = current_database()
"""


def counted(table, domain):
    """The count of each group of the first attribute."""
    return table.measure([Statement("count", Condition.of(domain.query()), groups=(0,))])[0][0]


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
        domain = Domain({name: attribute})
        table = open_table(postgres_url, "odd.people", domain)
        assert counted(table, domain) == counts, name
        table.close()
    with pytest.raises(DataError, match=r"open: the column is of type decimal, and the domain declares integers"):
        open_table(postgres_url, "odd.people", Domain({"open": Integer(0, 1)}))


def test_names_of_tables_and_columns_are_no_sql(postgres, postgres_url):
    """Quotes and semicolons in names stay names."""
    postgres.execute(
        """CREATE TABLE odd."pe""op'le; --" ("a""b; DROP" text); INSERT INTO odd."pe""op'le; --" VALUES ('x')"""
    )
    domain = Domain({'a"b; DROP': Categorical(["x", "'; DROP TABLE people; --"])})
    table = open_table(postgres_url, "odd.pe\"op'le; --", domain)
    assert counted(table, domain) == [1, 0]
    table.close()


def one_person(postgres, postgres_url):
    """A domain, and the table of one person in it."""
    postgres.execute("CREATE TABLE odd.people AS SELECT 1 AS age")
    domain = Domain({"age": Integer(1, 2)})
    return domain, open_table(postgres_url, "odd.people", domain)


def test_the_connection_is_read_only_and_made_again_when_lost(postgres, postgres_url):
    """A server that restarts or drops connections does not stop the custodian."""
    domain, table = one_person(postgres, postgres_url)
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        table._run("DELETE FROM odd.people RETURNING age")
    postgres.execute(DROP_CONNECTIONS)
    assert counted(table, domain) == [1, 0]
    table.close()


def test_a_table_is_ready_or_refused_before_it_is_measured(postgres, postgres_url):
    """After the connection was lost its columns are looked at again, and all is well again once they are."""
    domain, table = one_person(postgres, postgres_url)
    table.ready()
    assert counted(table, domain) == [1, 0]
    postgres.execute("ALTER TABLE odd.people RENAME TO gone")
    table.ready()
    for _ in range(2):
        postgres.execute(DROP_CONNECTIONS)
        with pytest.raises(DataError, match=r"no table odd\.people"):
            table.ready()
    with pytest.raises(DataError, match=r"no table odd\.people"):
        counted(table, domain)
    postgres.execute("ALTER TABLE odd.gone RENAME TO people")
    table.ready()
    assert counted(table, domain) == [1, 0]
    postgres.execute("ALTER TABLE odd.people ALTER age TYPE double precision")
    postgres.execute(DROP_CONNECTIONS)
    for attempt in (table.ready, lambda: counted(table, domain)):
        with pytest.raises(DataError, match="age: the column is of type float64, and the domain declares integers"):
            attempt()
    postgres.execute("ALTER TABLE odd.people ALTER age TYPE bigint; INSERT INTO odd.people VALUES (2)")
    table.ready()
    assert counted(table, domain) == [1, 1]
    table.close()


def test_what_is_read_again_is_read_with_the_same_settings(postgres, postgres_url):
    """The time zone, by which a view tells the day of a time."""
    postgres.execute("CREATE VIEW odd.births AS SELECT (TIMESTAMPTZ '2020-01-01 23:30+00')::date AS day")
    domain = Domain({"day": Categorical(["2020-01-01", "2020-01-02"])})
    table = open_table(postgres_url + "&options=-c%20timezone%3DAsia/Tokyo", "odd.births", domain)
    assert counted(table, domain) == [1, 0]
    postgres.execute(DROP_CONNECTIONS)
    assert counted(table, domain) == [1, 0]
    table.close()


def test_text_is_sent_in_the_encoding_that_the_server_is_told(postgres, postgres_url, monkeypatch):
    """A database in LATIN1, whose clients are in LATIN1 by default, and a client that is told so by its environment."""
    postgres.execute("DROP DATABASE IF EXISTS latin")
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    latin_url = urlsplit(postgres_url)._replace(path="/latin").geturl()
    domain = Domain({"city": Categorical(["Zürich", "Bern"])})
    make = "CREATE TABLE cities (city text); INSERT INTO cities VALUES (%s), (%s), (%s)"
    for url in (postgres_url, latin_url):
        with psycopg.connect(url, autocommit=True, client_encoding="utf8", cursor_factory=psycopg.ClientCursor) as one:
            one.execute("DROP TABLE IF EXISTS cities; " + make, ("Zürich", "Bern", "Zürich"))
    for environment in (None, "LATIN1", "SQL_ASCII"):
        if environment is not None:
            monkeypatch.setenv("PGCLIENTENCODING", environment)
        for url in (latin_url, postgres_url, postgres_url + "&client_encoding=LATIN1"):
            table = open_table(url, "cities", domain)
            assert counted(table, domain) == [2, 1], (environment, url)
            table.close()
    with pytest.raises(DataError, match="text that the encoding of the PostgreSQL database cannot hold"):
        open_table(latin_url, "cities", Domain({"city": Categorical(["Zürich", "Łódź"])}))
    monkeypatch.delenv("PGCLIENTENCODING")
    postgres.execute("DROP DATABASE latin")


def test_a_table_may_be_called_as_the_codes_are(postgres, postgres_url):
    """The name without its schema is that of the table that was there before."""
    postgres.execute("CREATE TABLE odd.rows_within_domain AS SELECT 1 AS c0 FROM generate_series(1, 7)")
    domain = Domain({"c0": Integer(1, 2)})
    url = postgres_url + "&options=-c%20search_path%3Dodd"
    table = open_table(url, "rows_within_domain", domain)
    assert counted(table, domain) == [7, 0]
    postgres.execute(DROP_CONNECTIONS)
    assert counted(table, domain) == [7, 0]
    table.close()


def test_row_level_security_leaves_no_rows_out_in_silence(postgres, postgres_url):
    """A user whom a policy binds is refused, of a table and of a view; one whom it does not bind reads all rows."""
    postgres.execute("DO $$ BEGIN CREATE ROLE bound; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    postgres.execute("""GRANT USAGE ON SCHEMA odd TO bound;
        CREATE TABLE odd.people AS SELECT age FROM generate_series(1, 2) age;
        ALTER TABLE odd.people ENABLE ROW LEVEL SECURITY;
        CREATE POLICY few ON odd.people USING (age = 1);
        GRANT SELECT ON odd.people TO bound;
        CREATE VIEW odd.bound AS SELECT age FROM odd.people; ALTER VIEW odd.bound OWNER TO bound""")
    domain = Domain({"age": Integer(1, 2)})
    url = postgres_url + "&options=-c%20role%3Dbound"
    for address, name in ((url, "odd.people"), (url, "odd.bound"), (postgres_url, "odd.bound")):
        with pytest.raises(DataError, match=r"may not read all rows of the table.*BYPASSRLS"):
            open_table(address, name, domain)
    table = open_table(postgres_url, "odd.people", domain)
    assert counted(table, domain) == [1, 1]
    table.close()


@pytest.mark.parametrize("kind", ["numeric(3, 5)", "regclass", "regproc[]", "money", "int4range"])
def test_a_column_of_a_type_that_holds_no_attribute_is_in_nobodys_way(postgres, postgres_url, kind):
    """Unless it is declared, and then its type is named."""
    postgres.execute(f"CREATE TABLE odd.people (age integer, other {kind}); INSERT INTO odd.people VALUES (1)")
    domain = Domain({"age": Integer(1, 2)})
    table = open_table(postgres_url, "odd.people", domain)
    assert counted(table, domain) == [1, 0]
    table.close()
    with pytest.raises(DataError, match="other: the column is of type "):
        open_table(postgres_url, "odd.people", Domain({"other": Categorical(["1", "2"])}))


def test_failures_of_the_server_tell_nothing_of_the_data(postgres, postgres_url):
    """A view that fails on a row quotes the row; the error that is raised when the table is opened does not."""
    postgres.execute(
        "CREATE TABLE odd.people AS SELECT 'secret'::text AS age; "
        "CREATE VIEW odd.ages AS SELECT age::integer FROM odd.people"
    )
    with pytest.raises(DataError, match="PostgreSQL could not read the table") as caught:
        open_table(postgres_url, "odd.ages", Domain({"age": Integer(1, 2)}))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_user_without_temporary_tables_is_told_so(postgres, postgres_url):
    """The privilege is missing, not the table."""
    postgres.execute("DO $$ BEGIN CREATE ROLE reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    postgres.execute("GRANT USAGE ON SCHEMA odd TO reader")
    postgres.execute("CREATE TABLE odd.people AS SELECT 1 AS age; GRANT SELECT ON odd.people TO reader")
    postgres.execute(
        "DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$"
    )
    url = postgres_url + ("&" if "?" in postgres_url else "?") + "options=-c%20role%3Dreader"
    domain = Domain({"age": Integer(1, 2)})
    try:
        with pytest.raises(DataError, match="grant TEMPORARY on the database"):
            open_table(url, "odd.people", domain)
    finally:
        postgres.execute(
            "DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO PUBLIC', current_database()); END $$"
        )
    table = open_table(url, "odd.people", domain)
    assert counted(table, domain) == [1, 0]
    table.close()


def test_the_source_is_read_in_a_read_only_transaction(postgres, postgres_url):
    """A view whose function writes does not get to do so, and nothing but codes is written, to the connection's own."""
    postgres.execute("""CREATE TABLE odd.log (n integer); CREATE TABLE odd.people AS SELECT 1 AS age;
        CREATE FUNCTION odd.noted(n integer) RETURNS integer LANGUAGE sql VOLATILE
            AS 'INSERT INTO odd.log VALUES (n) RETURNING n';
        CREATE VIEW odd.ages AS SELECT odd.noted(age) AS age FROM odd.people""")
    with pytest.raises(DataError, match="PostgreSQL could not read the table"):
        open_table(postgres_url, "odd.ages", Domain({"age": Integer(1, 2)}))
    assert postgres.execute("SELECT COUNT(*) FROM odd.log").fetchone() == (0,)


def test_rows_are_coded_again_with_the_connection_or_the_table_fails_for_all(postgres, postgres_url):
    """What another session calls the codes is not read, and a source that fails by then fails whatever is asked."""
    postgres.execute("CREATE TABLE odd.people AS SELECT 1 AS age; CREATE TABLE odd.rows_within_domain (c0 integer)")
    domain = Domain({"age": Integer(1, 2)})
    url = postgres_url + ("&" if "?" in postgres_url else "?") + "options=-c%20search_path%3Dodd%2Cpg_temp"
    table = open_table(url, "people", domain)
    assert counted(table, domain) == [1, 0]
    postgres.execute("INSERT INTO odd.people VALUES (2), (2)")
    assert counted(table, domain) == [1, 0]
    postgres.execute(DROP_CONNECTIONS)
    assert counted(table, domain) == [1, 2]
    postgres.execute("DROP TABLE odd.people")
    postgres.execute(DROP_CONNECTIONS)
    for age in (1, 2):
        with pytest.raises(DataError, match="no table people"):
            table.measure([Statement("count", Condition.of(domain.query(age=age)))])
    table.close()


def test_what_cannot_be_opened_is_named(postgres_url):
    """A table that is not there, a server that is not there."""
    domain = Domain({"age": Integer(1, 2)})
    with pytest.raises(DataError, match=r"no table odd\.nobody"):
        open_table(postgres_url, "odd.nobody", domain)
    for address in ("postgresql://u:secret@localhost:1/nothing", "postgresql://u:secret@[::1/nothing"):
        with pytest.raises(DataError, match=r"cannot be reached|not well formed") as caught:
            open_table(address, "people", domain)
        assert "secret" not in str(caught.value)


def test_a_table_of_the_spark_catalog_compares_strings_by_code_points(spark_master, tmp_path):
    """Also where the column has a collation that takes f for F."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  pyspark takes seconds to import

    path = tmp_path / "collated"
    domain = Domain({"sex": Categorical(["F", "f"])})
    with pytest.raises(DataError, match="Spark cannot open nowhere"):
        open_table(spark_master, "nowhere", domain)
    session = SparkSession.builder.getOrCreate()
    session.sql(f"CREATE TABLE collated (sex STRING COLLATE UTF8_LCASE) USING PARQUET LOCATION '{path}'")
    try:
        session.sql("INSERT INTO collated VALUES ('F'), ('f'), ('f'), ('F ')")
        table = open_table(spark_master, "collated", domain)
        assert counted(table, domain) == [1, 2]
        table.close()
    finally:
        session.sql("DROP TABLE collated")
