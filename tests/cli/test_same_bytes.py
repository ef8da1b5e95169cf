"""With noisy numbers that stand still, commands print the same bytes and end alike on neighboring tables.

Answers, quotes, refusals and errors, as JSON and as text, for the whole table of statements: so nothing of a table
comes out but through noise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from parcomp.cli import main
from parcomp.model import Kind
from parcomp.noise import Mechanism
from parcomp.sql import parse_selection
from tests.soak import soaked
from tests.sql.small_table import DOMAIN, database
from tests.sql.statements import CASES

NEIGHBORS = [
    "SELECT 1",
    "DELETE FROM t WHERE rowid = 0",
    "DELETE FROM t WHERE rowid = 77",
    "INSERT INTO t SELECT * FROM t WHERE rowid = 5",
    # Null or outside the domain wherever a value can be.
    "INSERT INTO t VALUES ('f', -1, NULL, 99.13, 'C99', NULL, NULL, '1999-01-01', '1999-01-01', 7, 10000, NULL)",
    "UPDATE t SET age = 99, visits = NULL, pay = 20.00, born = '2021-03-05' WHERE rowid = 3",
]
"""What makes a neighbor of the table; the first one leaves it as it is."""

ALONE = [
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(DISTINCT code) FROM t",
    "SELECT SUM(pay) FROM t WHERE sex = 'F'",
    "SELECT AVG(visits) FROM t",
    "SELECT VAR_POP(age), STDDEV(pay) FROM t",
    "SELECT MEDIAN(age), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY pay) FROM t",
    "SELECT sex, FLOOR(age / 10), COUNT(*) AS n FROM t GROUP BY 1, 2 HAVING n > 3 ORDER BY n DESC LIMIT 4",
    "SELECT grade, ROUND(SUM(age) / NULLIF(COUNT(*), 0), 1) FROM t GROUP BY grade",
    "SELECT COUNT(*), AVG(age) FROM t WHERE age > 200",
    "SELECT COUNT(*) FROM t WHERE sex = 'f'",
    "SELECT MAX(age) FROM t",
    "SELECT",
]
"""Asked one by one: each kind, what is free, and what is wrong."""

SETTINGS = """[dataset]
name = "t"
version = "1"
source = "raw.duckdb"
table = "t"
domain = "domain.json"

[privacy]
measure = "{measure}"
budget = "900"

[ledger]
url = "sqlite:///ledger.db"
"""
COST = {"pure": "--epsilon", "zcdp": "--rho", "gdp": "--mu"}


def still(mechanism: Mechanism, values: Sequence[int]) -> list[int]:
    """Numbers that follow from the noise and from how many there are, and from no value."""
    chance = random.Random(f"{mechanism} {len(values)}")
    return [round(chance.gauss(40, 3 * mechanism.scale)) for _ in values]


def printed(
    directory: Path,
    neighbor: str,
    measure: str,
    statements: Sequence[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, tuple[int, str, str]]:
    """What commands print about a table, and how they end."""
    directory.mkdir()
    raw = database(str(directory / "raw.duckdb"))
    raw.execute(neighbor)
    raw.close()
    DOMAIN.save(directory / "domain.json")
    (directory / "custodian.toml").write_text(SETTINGS.format(measure=measure))
    (directory / "all.sql").write_text(";\n".join(statements))
    monkeypatch.chdir(directory)
    assert main(["init", "-c", "custodian.toml"]) == 0
    capsys.readouterr()
    cost, custodian = COST[measure], ["-c", "custodian.toml"]
    commands = [
        ["batch", "all.sql", *custodian, cost, "1", "--quote", "--json"],
        *(["ask", text, *custodian, cost, "1", "--json"] for text in ALONE),
        *(["ask", text, *custodian, cost, "1"] for text in ALONE[:6]),
        ["batch", "all.sql", *custodian, cost, "1", "--json"],
        *(["quote", text, *custodian, cost, "1", "--json"] for text in ALONE),
        ["ask", "SELECT AVG(pay) FROM t WHERE married", *custodian, cost, "900", "--json"],
        ["budget", *custodian, "--json"],
    ]
    found = {}
    for command in commands:
        status = main(command)
        out = capsys.readouterr()
        found[" ".join(command)] = (status, out.out, out.err)
    return found


@pytest.mark.parametrize(("measure", "every"), [("pure", 5), *(soaked(measure, 1) for measure in COST)])
def test_neighboring_tables_print_the_same_bytes(measure, every, tmp_path, capsys, monkeypatch):
    """Each kind of statement on four pairs of tables; all statements of the table for ``make soak``."""
    monkeypatch.setattr("parcomp.noise.add_noise", still)
    statements = [text for text, _ in CASES[::every]]
    neighbors = NEIGHBORS if every == 1 else [*NEIGHBORS[:2], *NEIGHBORS[3:]]
    seen = [
        printed(tmp_path / str(i), one, measure, statements, capsys, monkeypatch) for i, one in enumerate(neighbors)
    ]
    for neighbor in seen[1:]:
        assert neighbor == seen[0]
    statuses = {status for status, _, _ in seen[0].values()}
    assert statuses >= {0, 2}
    assert len(statuses) == 3, "something is refused too"
    kinds = {item.kind for text in [*statements, *ALONE[:9]] for item in parse_selection(DOMAIN, text).statement.items}
    assert kinds == set(get_args(Kind))


def test_tables_are_told_apart_by_numbers_without_noise(tmp_path, capsys, monkeypatch):
    """So the bytes would differ, did anything but noisy numbers come from the rows."""
    monkeypatch.setattr("parcomp.noise.add_noise", lambda _, values: list(values))
    monkeypatch.setattr("tests.cli.test_same_bytes.ALONE", ALONE[:5])
    seen = [
        printed(tmp_path / str(i), one, "pure", [CASES[0][0]], capsys, monkeypatch)
        for i, one in enumerate(NEIGHBORS[::4])
    ]
    assert seen[0] != seen[1]
