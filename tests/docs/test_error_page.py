"""The figures on the page of errors are those in the files beside it, and they are what was wanted."""

from __future__ import annotations

import pytest

from tools.error_page import MEASURED, PAGE, draw_intervals, draw_methods, read, updated

WANTED = {
    ("census", "1000", "gdp", "strategy"): 0.60,
    ("census", "1000", "gdp", "strategy + estimate"): 0.50,
    ("census", "1000", "pure", "strategy"): 0.45,
    ("census", "1000", "pure", "strategy + estimate"): 0.38,
    ("census", "3000", "gdp", "planner + estimate"): 0.45,
    ("census", "3000", "pure", "planner + estimate"): 0.45,
}
KEY = ("table", "queries", "measure", "method")


def test_the_tables_are_those_of_the_files():
    page = PAGE.read_text(encoding="utf-8")
    assert updated(page) == page
    for name in ("methods", "outside", "intervals"):
        assert f"<!-- end of {name} -->" in page


@pytest.mark.parametrize(("name", "draw"), [("error", draw_methods), ("error-intervals", draw_intervals)])
def test_the_pictures_can_be_drawn_from_the_files_beside_them(name, draw):
    """By the present code, and they are shown on the page."""
    assert draw(read(name)).get_axes()
    assert (MEASURED / f"{name}.png").exists()
    assert f"measured/{name}.png" in PAGE.read_text(encoding="utf-8")


def test_what_was_measured_is_what_was_wanted():
    """Ratios of mean errors, over enough workloads and draws; and intervals within 1.5 % of 95 %."""
    found = {tuple(line[column] for column in KEY): line for line in read("error")}
    for key, most in WANTED.items():
        assert float(found[key]["of_planner"]) <= most, key
    for line in found.values():
        assert int(line["workloads"]) >= 5
        # An estimate of marginals takes seconds.
        assert int(line["draws"]) >= (4 if line["table"] == "marginals" else 20)
    for line in read("error-intervals"):
        assert abs(float(line["estimate"]) - 0.95) <= 0.015, line
