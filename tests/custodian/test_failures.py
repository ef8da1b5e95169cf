"""A table that cannot be read fails when it is loaded, and never when something is asked."""

from __future__ import annotations

import random

import duckdb
import psycopg
import pytest

from parcomp.custodian import Custodian, load_table
from parcomp.errors import DataError
from tests.contract.ledger_places import fresh_database
from tests.custodians import write_custodian

PREDICATES = 12
DOMAIN = {"name": "people", "attributes": {"part": {"low": 0, "high": 9}, "a": {"low": 0, "high": 4}}}
VIEW = "SELECT part, CAST(t AS INTEGER) AS a FROM texts"
ROWS = [(number % 10, str(number % 5)) for number in range(30)]
ODD = (7, "unknown")


class DuckDB:
    """A view that casts text, in a file."""

    def __init__(self, tmp_path, request):
        self.path = tmp_path / "people.duckdb"
        self.source = 'source = "people.duckdb"\ntable = "people"'

    def run(self, *statements):
        with duckdb.connect(str(self.path)) as connection:
            for sql in statements:
                connection.execute(sql)


class PostgreSQL:
    """The same in a server."""

    def __init__(self, tmp_path, request):
        self.url = fresh_database(request.getfixturevalue("postgres_url"))
        self.source = f'source = "{self.url}"\ntable = "people"'

    def run(self, *statements):
        with psycopg.connect(self.url, autocommit=True) as connection:
            for sql in statements:
                connection.execute(sql.encode())


@pytest.mark.parametrize("engine", [DuckDB, PostgreSQL])
def test_an_odd_row_makes_no_question_fail(engine, tmp_path, request):
    """It keeps the table from being loaded, and whoever asks, about it or not, is answered from the rows before."""
    table = engine(tmp_path, request)
    table.run("CREATE TABLE texts (part INTEGER, t VARCHAR)", f"CREATE VIEW people AS {VIEW}")
    table.run(*(f"INSERT INTO texts VALUES ({part}, '{text}')" for part, text in ROWS))
    path = write_custodian(tmp_path, domain=DOMAIN, rows=[], init=False, version=engine.__name__)
    path.write_text(path.read_text().replace('source = "people.csv"', table.source))
    with Custodian.create(path) as custodian:
        assert custodian.ask("SELECT COUNT(*) FROM people WHERE part = 7", epsilon="0.1").charge == 1
    table.run(f"INSERT INTO texts VALUES ({ODD[0]}, '{ODD[1]}')")
    draw = random.Random(11)
    with Custodian.open(path) as custodian:
        for _ in range(PREDICATES):
            parts = ", ".join(str(part) for part in draw.sample(range(10), draw.randrange(1, 10)))
            custodian.ask(f"SELECT COUNT(*) FROM people WHERE part IN ({parts})", epsilon="0.01")
        charges = custodian.balance().charges
        with pytest.raises(DataError, match="could not be read to its end"):
            load_table(custodian.settings)
        assert custodian.balance().charges == charges
        assert custodian.ask("SELECT COUNT(*) FROM people WHERE part = 7", epsilon="0.1").cached
    (tmp_path / "ledger.db").unlink()
    (tmp_path / "custodian.mark").unlink()
    with pytest.raises(DataError, match="could not be read to its end"):
        Custodian.create(path)
    assert not (tmp_path / "ledger.db").exists()
