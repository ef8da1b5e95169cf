"""A table of statements: each is answered, without noise, as a database answers it on the raw rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

from parcomp.sql import parse_selection
from tests.sql.small_table import DOMAIN, answer_of, database, truth_of
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
    if selection.having is not None or selection.limit is not None or selection.offset:
        empty = 0
    if not selection.order:
        rows, truth = sorted(rows, key=_key), sorted(truth, key=_key)
    # Groups without rows are answered too; what there is beside them comes in the same order.
    left = iter(rows)
    assert len(rows) == len(truth) + empty
    for wanted in truth:
        assert any(_same(found, wanted) for found in left), (wanted, rows)


def _key(row: Sequence[Any]) -> list[tuple[str, Any]]:
    return [
        ("", 0)
        if value is None
        else ("n", round(float(value), 9))
        if _is_number(value)
        else (type(value).__name__, value)
        for value in row
    ]


def _same(found: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return len(found) == len(wanted) and all(
        math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
        if _is_number(one) and _is_number(other)
        else (type(one), one) == (type(other), other)
        for one, other in zip(found, wanted, strict=True)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
