"""The results on the page are those in the files beside it, and each experiment is told of."""

from __future__ import annotations

import re

import pytest

from parcomp.experiments.registry import EXPERIMENTS
from parcomp.experiments.tables import read_table
from tests.docs.pages import DOCS, inline_code, prose

RESULTS = DOCS / "results"
PAGE = DOCS / "results.md"


def test_every_experiment_is_on_the_page():
    named = {word for code in inline_code(prose(PAGE)) for word in code.split()}
    assert set(EXPERIMENTS) <= named


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.png")), ids=lambda path: path.stem)
def test_every_picture_can_be_drawn_from_the_tables_beside_it(path):
    """By the present code, and it is shown on the page."""
    tables = {table.stem: read_table(table) for table in RESULTS.glob(f"{path.stem}*.csv")}
    assert EXPERIMENTS[path.stem].draw(tables).get_axes()
    assert f"results/{path.name}" in PAGE.read_text(encoding="utf-8")


def test_the_tables_have_the_columns_that_others_rely_on():
    assert list(read_table(RESULTS / "census.csv")[0]) == ["t", "gain", "complete", "seconds"]
    assert list(read_table(RESULTS / "table1.csv")[0]) == ["t", "gamma", "gain", "sequential", "optimal"]


def test_the_lines_of_table_1_are_those_of_its_file():
    lines = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| ([\d.]+) \|", prose(PAGE), re.MULTILINE)
    rows = [[str(row[name]) for name in ("t", "gamma")] for row in read_table(RESULTS / "table1.csv")]
    assert [[t, gamma] for _, t, gamma, _ in lines] == rows
