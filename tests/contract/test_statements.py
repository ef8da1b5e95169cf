"""The table of statements on every engine: measured on real coded tables, without noise, as on the plain rows.

What the plain rows give is held against a database in ``tests/sql/test_statements.py``.
"""

from __future__ import annotations

import math
from contextlib import closing

import pytest

from parcomp.costs import UNITS_PER_ONE
from parcomp.custodian.release import Release
from parcomp.model import Value
from parcomp.sql import parse_selection
from tests.contract.coded_stores import place_on
from tests.custodians import load_settings
from tests.sql.small_table import DOMAIN, exact_figures, plain_rows
from tests.sql.statements import CASES


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_every_statement_is_measured_alike(engine, request, tmp_path, monkeypatch):
    monkeypatch.setattr("parcomp.noise.add_noise", lambda _mechanism, values: list(values))
    place = place_on(engine, request, tmp_path)
    attributes = DOMAIN.attributes
    rows = [tuple(attributes[name].code(row[name]) for name in attributes) for row in plain_rows()]
    place.make(DOMAIN, rows)
    settings = load_settings(tmp_path / "settings", budget="1000000")
    statements = {one.text: one for one in (parse_selection(DOMAIN, text).statement for text, _ in CASES)}
    assert len(statements) > 100
    asked = [one for one in statements.values() if not one.query.is_contradiction]
    with closing(place.open(DOMAIN)) as table:
        measured = table.measure(asked)
    for statement, numbers in zip(asked, measured, strict=True):
        release = Release.plan(settings, statement, 1000 * UNITS_PER_ONE)
        found = release.figures(release.noisy(numbers))
        for item, wanted in exact_figures(statement).items():
            for one, other in zip(found[item], wanted, strict=True):
                assert _same(one.value, other.value), (statement.text, item)


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other
