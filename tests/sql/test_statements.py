"""A table of statements: each is answered, without noise, as a database answers it on the raw rows."""

from __future__ import annotations

import duckdb
import pytest

from parcomp.sql import parse_selection
from tests.sql.small_table import DOMAIN, answer_of, assert_alike, database, truth_of
from tests.sql.statements import CASES


@pytest.fixture(scope="module")
def raw() -> duckdb.DuckDBPyConnection:
    return database()


def test_the_table_is_long_and_without_doubles() -> None:
    assert len({text for text, _ in CASES}) == len(CASES) > 200


@pytest.mark.parametrize(("text", "theirs"), CASES, ids=[text for text, _ in CASES])
def test_a_statement_is_answered_as_a_database_answers_it(
    raw: duckdb.DuckDBPyConnection, text: str, theirs: str
) -> None:
    selection = parse_selection(DOMAIN, text)
    names, rows, empty = answer_of(selection)
    truth = truth_of(raw, theirs)
    assert len(names) == len(set(names))
    assert_alike(selection, rows, truth, empty, 1e-9)
