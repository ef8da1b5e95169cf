"""How pages read: what ± means, what files have, long statements, groups of levels, what an error offers."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.custodians import write_custodian
from tests.service.console.browser import LAPTOP, PHONE, Person
from tests.service.console.conftest import BY_SEX
from tests.service.served import WOMEN, Served, freeze_noise, people, serving

Come = Callable[..., Person]
CODES = [*(f"C{number:02}" for number in range(80)), "I10", "I21", "N39"]
CARE = {
    "name": "stays",
    "attributes": {
        "sex": {"values": ["F", "M"]},
        "age": {"low": 0, "high": 9},
        "cost": {"low": 0, "high": 9},
        "diagnosis": {
            "values": CODES,
            "levels": {
                "chapter": {"Neoplasms": CODES[:80], "Circulatory system": ["I10", "I21"], "Other": "rest"},
            },
        },
        "admitted": {"low": "2020-01-01", "high": "2025-12-31"},
    },
}
DAYS = "SELECT COUNT(*) FROM stays WHERE DAYNAME(admitted) = 'Monday'"


@pytest.fixture(scope="module")
def care(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Stays in a hospital: codes with a level, and days, of which weekdays make long statements."""
    rows = [
        {
            "sex": "FM"[n % 2],
            "age": n % 10,
            "cost": n % 10,
            "diagnosis": CODES[n % len(CODES)],
            "admitted": str(date(2020, 1, 1) + timedelta(n)),
        }
        for n in range(200)
    ]
    path = write_custodian(
        tmp_path_factory.mktemp("care"), rows=rows, domain=CARE, budget="9", quotas={"anna": None, "ben": None}
    )
    with serving(path, anna="analyst", ben="analyst", boss="custodian") as served:
        assert served.ask(DAYS).status_code == 200
        yield served


def saved(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    with download.value.path().open(newline="") as file:
        return list(csv.DictReader(file))


def test_after_plus_or_minus_stands_the_expected_error(tmp_path, person: Come, monkeypatch: pytest.MonkeyPatch):
    """Also where the interval ends at zero, so that half of its width is neither side of it."""
    freeze_noise(monkeypatch, -60)
    with people(tmp_path) as served:
        anna = person(served).sign_in("anna")
        anna.write_sql(WOMEN)
        expect(anna.page.locator(".price .big")).to_have_text("± 10 people")
        anna.page.get_by_role("button", name="Ask for").click()
        expect(anna.page.locator(".huge")).to_have_text("−5 ± 10")
        expect(anna.page.get_by_text("95 % interval −35 to 25")).to_be_visible()
        anna.page.get_by_text("Table", exact=True).click()
        table = anna.page.get_by_role("region", name="The answer as a table")
        expect(table.get_by_role("columnheader")).to_have_text(["Value", "Expected error", "95 % interval"])
        [row] = saved(anna.page)
        answered = served.ask(WOMEN).json()
        assert answered["cached"]
        assert float(row["expected_error"]) == pytest.approx(answered["expected_error"])
        assert (row["low"], row["high"]) == tuple(map(str, answered["interval"]))


def test_a_file_has_what_was_paid(served: Served, person: Come):
    assert served.ask(BY_SEX, "0.2").status_code == 200
    anna = person(served).sign_in("anna")
    rows = saved(anna.open("answer", sql=BY_SEX, epsilon="0.2"))
    assert [*rows[0]] == ["sex", "value", "low", "high", "expected_error", "charge", "cost"]
    assert [(row["sex"], row["charge"], row["cost"]) for row in rows] == [("F", "1", "0.2"), ("M", "1", "0.2")]
    # What another has bought is free, and what it cost is not told.
    [first, _] = saved(person(served).sign_in("ben").open("answer", sql=BY_SEX, epsilon="0.2"))
    assert (first["charge"], first["cost"]) == ("1", "0")
    several = "SELECT COUNT(*) AS cost, AVG(age) AS mean FROM people"
    [row] = saved(anna.open("answer", sql=several, epsilon="0.1", rehearsed="1"))
    figures = [f"{name}{end}" for name in ("cost", "mean") for end in ("", "_low", "_high", "_error")]
    assert [*row] == [*figures, "charge", "cost_", "rehearsed"]
    anna.open("answers")
    assert float(saved(anna.page)[0]["expected_error"] or -1) == -1


@pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_a_statement_of_thousands_of_days_is_short_in_lists(care: Served, person: Come, screen):
    boss = person(care, screen).sign_in("boss")
    tall = "document.documentElement.scrollHeight"
    page = boss.open("charges")
    expect(page.get_by_text(re.compile(r"characters\)"))).to_be_visible()
    assert page.evaluate(tall) < 1_500
    for name in ("graph", "map"):
        page = boss.open(name, charge=1, x="sex", y="age", region="0.0.0.0")
        page.wait_for_load_state("networkidle")
        assert page.evaluate(tall) < 2_500, name
    page = boss.open("charge", number=1)
    assert page.evaluate(tall) < 2_000
    question = page.get_by_role("region", name="The question")
    expect(question).to_contain_text("2025-12-29")
    assert question.evaluate("one => one.scrollHeight > one.clientHeight && one.clientHeight < 400")
    page.get_by_text("Fields", exact=True).click()
    assert page.evaluate(tall) < 3_000
    page = person(care, screen).sign_in("anna").open("answers")
    assert page.evaluate(tall) < 1_500


@pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_groups_of_levels_are_shown_with_their_members_and_found(care: Served, person: Come, screen):
    page = person(care, screen).sign_in("anna").open("domain")
    page.get_by_text("chapter: 3 groups").click()
    groups = page.locator("dl.members")
    expect(groups.locator("dt")).to_have_text(["Neoplasms 80", "Circulatory system 2", "Other 1"])
    expect(groups.locator("dd").nth(1)).to_have_text("I10, I21")
    expect(groups.locator("dd").first).to_contain_text("and 20 more")
    page.get_by_label("Find an attribute, a value or a group").fill("i21")
    expect(groups.locator("dt")).to_have_text(["Circulatory system 2"])
    expect(groups.locator("dd")).to_have_text("I21")
    page.get_by_label("Find an attribute, a value or a group").fill("circul")
    expect(groups.locator("dd")).to_have_text("I10, I21")
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize(
    ("sql", "fault", "offered"),
    [
        ("SELECT MAX(cost) FROM stays", "MAX", []),
        ("SELECT MIN(age) FROM stays", "MIN", []),
        ("SELECT cont(*) FROM stays", "cont", ["COUNT", "CONCAT", "MONTH"]),
        ("SELECT COUNT(*) FROM stays WHERE chapter = 'Neo'", "'Neo'", ["'Neoplasms'"]),
        ("SELECT COUNT(*) FROM stays WHERE chapter = 'Neoplasm'", "'Neoplasm'", ["'Neoplasms'"]),
        ("SELECT COUNT(*) FROM stays WHERE chapter = 'xyz'", "'xyz'", []),
        ("SELECT COUNT(*) FROM stays WHERE sex = 'F' AND diagnosis = 'n39'", "'n39'", ["'N39'", "'C39'"]),
        ("SELECT COUNT(*) FROM stays WHERE sex = 'female'", "'female'", []),
        ("SELECT COUNT(*) FROM stays GROUP BY chaptr", "chaptr", ["chapter"]),
        ("SELECT COUNT(*) FROM stys WHERE sex = 'F'", "stys", ["stays"]),
        ("SELECT COUNT(*) FROM stays WERE age > 3", "age", []),
    ],
)
def test_only_what_the_error_names_is_offered(care: Served, person: Come, sql: str, fault: str, offered: list[str]):
    anna = person(care).sign_in("anna")
    anna.write_sql(sql)
    expect(anna.page.locator(".fault")).to_have_text(fault)
    buttons = anna.page.locator(".problem button")
    expect(buttons).to_have_text(offered)
    if offered:
        buttons.first.click()
        expect(anna.page.get_by_label("As SQL")).to_have_value(sql.replace(fault, offered[0]))
