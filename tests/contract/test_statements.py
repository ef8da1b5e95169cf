"""The table of statements on every engine, without noise: from raw rows in a database to the values that are shown."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from parcomp.custodian import Custodian
from parcomp.sql import parse_selection
from tests.contract.ledger_places import fresh_database
from tests.sql.small_table import (
    DOMAIN,
    assert_alike,
    database,
    groups_without_rows,
    truth_of,
)
from tests.sql.statements import CASES


def raw_source(engine: str, request: pytest.FixtureRequest, directory: Path) -> str:
    """The raw rows as a table of a database, and what settings say to find it."""
    if engine == "duckdb":
        database(str(directory / "raw.duckdb")).close()
        return 'source = "raw.duckdb"\ntable = "t"'
    raw = database()
    if engine == "spark":
        path = directory / "raw.parquet"
        raw.execute(f"COPY t TO '{path}' (FORMAT parquet)")
        return f'source = "{request.getfixturevalue("spark_master")}{path}"'
    url = fresh_database(request.getfixturevalue("postgres_url"))
    names = [row[0] for row in raw.execute("DESCRIBE t").fetchall()]
    types = ["text", "integer", "integer", "numeric(8, 2)", "text", "boolean", "date", "timestamp", "date"]
    types += ["integer", "integer", "text"]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE TABLE t ({columns})".encode())
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for row in raw.execute("SELECT * FROM t").fetchall():
                copy.write_row(row)
    return f'source = "{url}"\ntable = "t"'


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_a_custodian_of_the_raw_rows_answers_as_a_database_does(engine, request, tmp_path, monkeypatch):
    """Every statement of the table, from its text to the values that are shown; what is null or empty too."""
    monkeypatch.setattr("parcomp.noise.add_noise", lambda _mechanism, values: list(values))
    DOMAIN.save(tmp_path / "domain.json")
    (tmp_path / "custodian.toml").write_text(
        f"""[dataset]
name = "t"
version = "1"
{raw_source(engine, request, tmp_path)}
domain = "domain.json"

[privacy]
measure = "pure"
budget = "900000"

[ledger]
url = "sqlite:///ledger.db"
"""
    )
    raw = database()
    with Custodian.create(tmp_path / "custodian.toml") as custodian:
        answers = custodian.ask_batch([text for text, _ in CASES], epsilon="1000")
    assert len(answers) > 200
    for (text, theirs), answer in zip(CASES, answers, strict=True):
        selection = parse_selection(DOMAIN, text)
        rows = list(zip(*(column.values for column in answer.columns), strict=True))
        try:
            assert_alike(selection, rows, truth_of(raw, theirs), groups_without_rows(selection), 1e-9)
        except AssertionError as error:
            raise AssertionError(text) from error
