"""Charged statements written in SQL again are the same statements."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcomp import Binned, Categorical, Domain, Integer
from parcomp.model import Dated, Stepped
from parcomp.service.console.pages import asset_names
from parcomp.service.console.wording import sql_of
from parcomp.sql import parse_statement
from tests.service.served import Served

DOMAIN = Domain(
    {
        "sex": Categorical(["F", "M"]),
        "Region of birth": Categorical(["it's", "b", "c", "d", "e"], nullable=True),
        "age": Integer(0, 119, nullable=True),
        "income": Binned(0, 1000, 10),
        "kappa": Stepped("0.00", "2.00", "0.01"),
        "seen": Dated("2020-01-01", "2021-12-31", unit="month"),
        "order": Categorical([True, False]),
    },
    name="people",
)
ATOMS = [
    "sex = 'F'",
    "sex IN ('F', 'M')",
    "\"Region of birth\" <> 'it''s'",
    "\"Region of birth\" IN ('b', 'c', 'd')",
    '"Region of birth" IS NULL',
    '"Region of birth" IS NOT NULL',
    "age < 20",
    "age >= 65",
    "age BETWEEN 20 AND 39",
    "age = 7",
    "age <> 7",
    "age IS NOT NULL",
    "age IS NULL",
    "income < 300",
    "income >= 300 AND income < 500",
    "kappa > 1.5",
    "kappa = 0.07",
    "seen >= DATE '2021-03-01'",
    "seen BETWEEN DATE '2020-02-01' AND DATE '2020-06-30'",
    '"order"',
]
CONDITIONS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(" ".join).map("({})".format)
        | inner.map("NOT ({})".format)
    ),
    max_leaves=4,
)
ITEMS = st.sampled_from(
    [
        "COUNT(*)",
        "COUNT(age)",
        "SUM(age)",
        "AVG(age)",
        "SUM(kappa)",
        "COUNT(*), AVG(age), STDDEV(kappa)",
        "MEDIAN(age), VAR_POP(age)",
        "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)",
        'COUNT(DISTINCT "Region of birth")',
    ]
)
GROUPS = st.sampled_from(
    [
        "",
        "sex",
        'sex, "order"',
        '"Region of birth"',
        "seen",
        "FLOOR(age / 10) * 10",
        "FLOOR(age / 20)",
        "DATE_TRUNC('year', seen)",
        "DATE_TRUNC('quarter', seen), sex",
        "CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'adult' END",
        "CASE WHEN income < 300 THEN 1 ELSE 2 END",
    ]
)


@settings(max_examples=300, deadline=None)
@given(ITEMS, st.none() | CONDITIONS, GROUPS)
def test_what_is_written_is_what_was_charged(item, condition, groups):
    sql = f"SELECT {item} FROM people"
    sql += f" WHERE {condition}" if condition else ""
    sql += f" GROUP BY {groups}" if groups else ""
    statement = parse_statement(DOMAIN, sql)
    written = sql_of(DOMAIN, statement.text)
    assert parse_statement(DOMAIN, written).text == statement.text


def test_usual_groups_are_written_as_people_write_them():
    for key in ("FLOOR(age / 10) * 10", "FLOOR(age / 20)", "DATE_TRUNC('year', seen)"):
        sql = f"SELECT {key}, COUNT(*) FROM people GROUP BY {key}"
        assert sql_of(DOMAIN, parse_statement(DOMAIN, sql).text) == sql


@pytest.mark.parametrize("key", ["DAYNAME(day)", "EXTRACT(month FROM day)", "EXTRACT(dow FROM day)"])
def test_groups_of_days_that_are_scattered_over_all_years_are_short(key):
    days = Domain({"day": Dated("2020-01-01", "2025-12-31")}, name="days")
    sql = f"SELECT {key}, COUNT(*) FROM days GROUP BY {key}"
    assert sql_of(days, parse_statement(days, sql).text) == sql


def test_modules_import_modules_that_are_there_and_nothing_from_elsewhere():
    assets = files("parcomp.service.console").joinpath("assets")
    named = set()
    for name in asset_names():
        text = assets.joinpath(name).read_text(encoding="utf-8")
        named |= set(re.findall(r"\./(\w+\.js)", text)) | set(re.findall(r"/console/assets/([\w.]+)", text))
        assert set(re.findall(r"https?://[\w./]+", text)) <= {"http://www.w3.org/2000/svg"}, name
        assert "innerHTML" not in text, name
    assert named <= asset_names()
    assert asset_names() - named == {"index.html"}


def test_assets_are_sent_again_only_if_they_changed(shared: Served):
    first = shared.get("/console/assets/app.js", None)
    assert first.headers["content-type"].startswith("text/javascript")
    again = shared.get("/console/assets/app.js", None, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for missing in ("nothing.js", "..%2f__init__.py", "pages.py"):
        assert shared.get(f"/console/assets/{missing}", None).status_code == 404
