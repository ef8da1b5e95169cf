"""Whose amounts are, one row's or a person's, and with a budget of (ε, δ) what they are as an ε."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from parcomp.custodian import Custodian
from tests.custodians import write_custodian
from tests.service.console.browser import LAPTOP, PHONE, Person
from tests.service.console.conftest import BY_SEX
from tests.service.served import EVERYONE, MEN, WOMEN, Served, people, serving

Come = Callable[..., Person]
SEVERAL = "SELECT COUNT(*) AS n, AVG(age) AS mean FROM people"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A person may have three rows; a row has paid ε 0.1."""
    directory = tmp_path_factory.mktemp("rows")
    with people(directory, rows_per_person=3, budget="3", quotas={"anna": "0.6", "ben": "2.4"}) as served:
        for sql in (WOMEN, MEN):
            assert served.ask(sql, "0.1").status_code == 200
        yield served


@pytest.fixture(scope="module")
def approximate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A budget of (ε, δ) under zCDP."""
    stated = {"epsilon": "1", "delta": "1e-6"}
    path = write_custodian(
        tmp_path_factory.mktemp("approximate"),
        measure="zcdp",
        budget=stated,
        quotas={"anna": {"epsilon": "0.5", "delta": "1e-6"}, "ben": None},
    )
    with Custodian.open(path) as custodian:
        custodian.ask(WOMEN, rho="0.001", analyst="anna")
    with serving(path, anna="analyst", ben="analyst", boss="custodian") as served:
        yield served


@pytest.mark.parametrize(
    ("measure", "parameter", "each"), [("pure", "epsilon", 0.3), ("zcdp", "rho", 0.9), ("gdp", "mu", 0.3)]
)
def test_both_ends_of_the_bracket_are_for_a_person(tmp_path: Path, measure: str, parameter: str, each: float):
    """A row has paid 0.1, and a person has three of them: thrice as much, and under zCDP nine times."""
    path = write_custodian(tmp_path, measure=measure, budget="5", rows_per_person=3)
    with Custodian.open(path) as custodian:
        for sql in (WOMEN, MEN):
            custodian.ask(sql, **{parameter: "0.1"})
    with serving(path, boss="custodian") as served:
        found = served.get("/console/bracket", "boss").json()
        assert found == {"lower": pytest.approx(each), "spent": pytest.approx(each), "exact": True}
        assert found["spent"] == served.get("/v1/budget", "boss").json()["spent"]


def test_a_bracket_is_never_turned_around(tmp_path: Path):
    """Against replacing a row as well, where the loss is twice what a row has paid, or what replacing one costs."""
    path = write_custodian(tmp_path, neighbours="replace-one", budget="3", rows_per_person=2)
    with Custodian.open(path) as custodian:
        for sql in (BY_SEX, WOMEN, MEN, "SELECT COUNT(*) FROM people WHERE age >= 5"):
            custodian.ask(sql, epsilon="0.1")
    with serving(path, boss="custodian") as served:
        found = served.get("/console/bracket", "boss").json()
        assert found == {"lower": 1.0, "spent": 1.0, "exact": True}


def test_an_exact_gauge_says_so_for_persons_of_several_rows(rows: Served, person: Come):
    page = person(rows).sign_in("boss").open("overview")
    expect(page.get_by_text("ε 0.3 of ε 3 spent for a person")).to_be_visible()
    expect(page.get_by_text("Exact: whoever has 3 rows like the one that has paid most has paid all")).to_be_visible()
    expect(page.locator("svg .bracket")).to_have_count(0)


@pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_a_price_says_what_is_for_one_row_and_what_for_a_person(rows: Served, person: Come, screen):
    anna = person(rows, screen).sign_in("anna")
    page = anna.page
    page.get_by_label("Cost in ε for one row").first.fill("0.02")
    anna.write_sql("SELECT COUNT(*) FROM people WHERE age = 3")
    expect(page.get_by_text("Costs ε 0.02 for one row, up to 3 times that for a person.")).to_be_visible()
    leaves = "On these rows the budget leaves ε 0.9 for one row, your quota leaves ε 0.1 for one row."
    expect(page.get_by_text(leaves)).to_be_visible()
    expect(page.get_by_text("Your quota: ε 0.3 spent of ε 0.6 for a person.")).to_be_visible()
    expect(page.get_by_text("Adds ε 0.06 for a person")).to_be_visible()
    page = anna.open("refused", sql=EVERYONE, epsilon="0.15")
    expect(
        page.get_by_text("You asked for ε 0.15 for one row; on these rows ε 0.1 is left for one row.")
    ).to_be_visible()
    expect(page.get_by_text("up to 3 times that for a person")).to_be_visible()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_an_answer_says_for_whom_its_cost_is(tmp_path: Path, person: Come):
    with people(tmp_path, rows_per_person=3, budget="3") as served:
        anna = person(served).sign_in("anna")
        anna.write_sql(WOMEN)
        anna.page.get_by_label("Cost in ε for one row").first.fill("0.03")
        anna.page.get_by_role("button", name="Ask for ε 0.03").click()
        said = "Paid ε 0.03 for one row, up to 3 times that for a person, charge 1."
        expect(anna.page.get_by_text(said)).to_be_visible()
        page = person(served).sign_in("boss").open("charges")
        expect(page.get_by_role("columnheader", name="Cost, one row")).to_be_visible()
        expect(page.get_by_role("columnheader", name="Spent after it, a person")).to_be_visible()
        page.get_by_role("link", name="1", exact=True).click()
        expect(page.get_by_text("ε 0.03 for one row, up to 3 times that for a person")).to_be_visible()
        expect(page.get_by_text("ε 0.09 for a person, proven")).to_be_visible()


def test_the_first_cost_that_is_shown_fits(rows: Served, tmp_path: Path, person: Come):
    """The slider goes up to what a row can bear, and where less is left the cost begins there."""
    anna = person(rows).sign_in("anna")
    expect(anna.page.get_by_label("Cost in ε for one row").first).to_have_value("0.1")
    expect(anna.page.get_by_text("ε 1 · more accurate")).to_be_visible()
    expect(anna.page.get_by_text("affordable 0.1")).to_be_visible()
    with people(tmp_path, rows_per_person=3, budget="1", quotas={"anna": None, "ben": None}) as served:
        assert served.ask(EVERYONE, "0.33").status_code == 200
        again = person(served).sign_in("anna")
        expect(again.page.get_by_role("button", name="Show the answer, free")).to_be_visible()
        again.write_sql(WOMEN)
        expect(again.page.get_by_role("button", name="Ask for ε 0.00333")).to_be_enabled()
        expect(again.page.get_by_text("Too dear")).to_have_count(0)
        again.page.get_by_label("Cost in ε for one row").first.fill("0.01")
        expect(
            again.page.get_by_text("Too dear here: at most ε 0.003333 for one row can be asked for.")
        ).to_be_visible()


def test_every_number_has_its_error_by_its_name(shared: Served, person: Come):
    anna = person(shared).sign_in("anna")
    anna.write_sql(SEVERAL)
    errors = anna.page.locator("dl.errors")
    expect(errors.locator("dt")).to_have_text(["n", "mean"])
    expect(errors.locator("dd").first).to_have_text(re.compile(r"^±\s[0-9.]+$"))
    over = r"^±\s\S+ over 10,000 people, ±\s\S+ over 1,000 people, ±\s\S+ over 100 people$"
    expect(errors.locator("dd").last).to_have_text(re.compile(over))
    anna.write_sql("SELECT AVG(age) FROM people")
    expect(anna.page.locator(".price .big")).to_have_text(re.compile(r"^±\s\S+ over 10,000 people$"))


@pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_a_budget_of_epsilon_and_delta_is_shown_as_both(approximate: Served, person: Come, screen):
    anna = person(approximate, screen).sign_in("anna")
    page = anna.page
    at = r"\(ε\s[0-9.]+ at δ\s=\s1e−6"
    anna.write_sql(MEN)
    expect(page.get_by_text(re.compile(rf"^Costs ρ\s\S+ {at}\)\.$"))).to_be_visible()
    expect(page.get_by_text(re.compile(rf"At most ρ\s\S+ {at}\) can be asked for\."))).to_be_visible()
    expect(page.get_by_text(re.compile(rf"^Your quota: ρ\s0.001 {at}\) spent of ρ\s\S+ \(ε\s0.5 at"))).to_be_visible()
    anna.open("refused", sql=MEN, rho="0.02")
    expect(page.get_by_text(re.compile(rf"asked for ρ 0.02 {at}\); on these rows ρ\s\S+ {at}\) is"))).to_be_visible()
    boss = person(approximate, screen).sign_in("boss")
    page = boss.open("analysts")
    row = page.get_by_role("region", name="Analysts and their quotas").get_by_role("row").filter(has_text="anna")
    expect(row).to_contain_text(re.compile(rf"ρ\s0.001 {at}\)"))
    expect(row).to_contain_text(re.compile(r"\(ε\s0.5 at δ"))
    boss.open("ledger").get_by_role("button", name="Verify now").click()
    expect(page.get_by_text(re.compile(rf"^ρ\s0.001 {at}\) of ρ\s\S+ \(ε\s1 at δ"))).to_be_visible()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
