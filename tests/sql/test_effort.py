"""No statement takes long to read: short texts that ask for a lot of work are refused by name."""

from __future__ import annotations

import time

import pytest

from parcomp.errors import SizeError, SqlError
from parcomp.model import Categorical, Domain, Integer
from parcomp.sql import effort, parse_selection

DOMAIN = Domain(
    {
        "x": Integer(0, 2**31 - 3),
        "m": Integer(0, 10**6),
        "y": Integer(0, 49_999),
        "s": Categorical([f"v{number}" for number in range(20_000)]),
    },
    name="p",
)
SECONDS = 30.0
"""Far more than it takes, on a machine that is busy."""

NESTED = "x"
for number in range(20):
    NESTED = f"NULLIF({NESTED}, {number})"
CASES = " ".join(f"WHEN y % {i} = 0 THEN {i}" for i in range(2, 700))

HARD = {
    "case": "SELECT CASE WHEN x % 85900 < 40000 THEN 1 ELSE 0 END AS g, COUNT(*) FROM p GROUP BY g",
    "where": "SELECT COUNT(*) FROM p WHERE CASE WHEN x % 85900 < 40000 THEN 1 ELSE 0 END = 1",
    "nested": f"SELECT COUNT(*) FROM p WHERE {NESTED} % 2 = 1",
    "cases": f"SELECT CASE {CASES} END AS g, COUNT(*) FROM p GROUP BY g",
    "greatest": f"SELECT COUNT(*) FROM p WHERE GREATEST({', '.join(f'y % {i}' for i in range(2, 500))}) > 7",
    "like": "SELECT COUNT(*) FROM p WHERE " + " OR ".join(f"s LIKE '%{i}%{i + 1}_%'" for i in range(600)),
    "texts": f"SELECT CONCAT(s, '{'x' * 19_000}') AS g, COUNT(*) FROM p GROUP BY g",
    "keys": "SELECT COUNT(*) FROM p GROUP BY " + ", ".join(f"m / {1000 + i}" for i in range(60)),
}
REFUSALS = ("too long to work out", "too finely", "changes more than", "no declared value", "at most")


@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
def test_a_statement_is_read_or_refused_before_long(text: str) -> None:
    began, told = time.process_time(), REFUSALS[0]
    try:
        parse_selection(DOMAIN, text)
    except SqlError as error:
        told = str(error)
    assert any(word in told for word in REFUSALS), told
    assert time.process_time() - began < SECONDS


def test_texts_that_would_fill_the_memory_are_refused() -> None:
    with pytest.raises(SqlError, match="too long to work out"):
        parse_selection(DOMAIN, HARD["texts"])


def test_what_people_ask_is_far_from_the_limit() -> None:
    for text in (
        "SELECT FLOOR(x / 100000) AS g, COUNT(*) FROM p GROUP BY g",
        "SELECT m // 1000, COUNT(*) FROM p WHERE m < 1000 GROUP BY 1",
        "SELECT CASE WHEN y < 100 THEN 'low' WHEN y < 1000 THEN 'mid' ELSE 'high' END, COUNT(*) FROM p GROUP BY 1",
        "SELECT COUNT(*) FROM p WHERE s LIKE 'v1%'",
        "SELECT CONCAT('number ', s) AS g, COUNT(*) FROM p GROUP BY g",
        "SELECT NULLIF(y, NULL) AS g, COUNT(*) FROM p WHERE y < 5 GROUP BY g",
    ):
        assert parse_selection(DOMAIN, text).statement.items


def test_statements_of_one_request_share_their_effort(monkeypatch):
    monkeypatch.setattr(effort, "MAX_REQUEST_EFFORT", 1_000)
    with effort.bounded_request_effort():
        for _ in range(10):
            with effort.bounded_effort():
                effort.spend_effort(100)
        with effort.bounded_effort(), pytest.raises(SizeError, match="several requests"):
            effort.spend_effort(1)
    with effort.bounded_effort():
        effort.spend_effort(1_001)
