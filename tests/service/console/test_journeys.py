"""What people do at the console, in a real browser: on a laptop and, for what everyone does, on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.service.console.browser import LAPTOP, PHONE
from tests.service.console.conftest import BY_BOTH, BY_SEX
from tests.service.served import EVERYONE, MEN, WOMEN, Served

SCREENS = pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=["laptop", "phone"])


@SCREENS
def test_sign_in_ask_by_sql_look_it_up_and_sign_out(served: Served, person, screen):
    anna = person(served, screen).sign_in("anna")
    page = anna.page
    anna.write_sql(WOMEN)
    page.get_by_label("Cost in ε").first.fill("0.2")
    expect(page.get_by_text("± 5 people")).to_be_visible()
    page.get_by_role("button", name="Ask for ε 0.2").click()
    expect(page.get_by_role("heading", name="Answer", exact=True)).to_be_visible()
    expect(page.get_by_text("Paid ε 0.2, charge 1.")).to_be_visible()
    (charge,) = served.charges()
    assert (charge["analyst"], charge["cost"]) == ("anna", 0.2)

    shown = page.locator(".huge").inner_text()
    page.reload()
    expect(page.get_by_text("Free: bought by charge 1.")).to_be_visible()
    assert page.locator(".huge").inner_text() == shown
    anna.open("answers")
    expect(page.get_by_role("link", name=WOMEN)).to_be_visible()
    assert len(served.charges()) == 1

    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    assert not anna.context.cookies()
    page.goto(f"{served.url}/#/answers")
    expect(page.get_by_label("Key")).to_be_visible()


@SCREENS
def test_ask_by_pointing(served: Served, person, screen):
    page = person(served, screen).sign_in("anna").page
    page.get_by_role("button", name="sex", exact=True).click()
    page.get_by_label("F", exact=True).check()
    page.get_by_role("button", name="age", exact=True).click()
    page.get_by_label("From", exact=True).fill("3")
    page.get_by_label("From", exact=True).press("Tab")
    page.get_by_role("button", name="age 10").click()
    sql = "SELECT age, COUNT(*) FROM people WHERE sex = 'F' AND age >= 3 GROUP BY age"
    expect(page.get_by_label("As SQL")).to_have_value(sql)
    page.get_by_role("button", name="Ask for ε 0.1").click()
    expect(page.get_by_role("img", name=re.compile("by age: 7 groups"))).to_be_visible()
    assert '"groups":["age"]' in served.charges()[0]["statement"]


def test_what_follows_from_what_was_bought_is_free(served: Served, person):
    """The price tells, the answer costs nothing, and is there again when the page is."""
    page = (anna := person(served).sign_in("anna")).page
    anna.write_sql(WOMEN)
    expect(page.get_by_role("button", name="Ask for ε 0.1")).to_be_enabled()
    expect(page.get_by_role("button", name="Derive it, free")).to_be_hidden()
    assert served.ask(BY_SEX, "0.1").status_code == 200
    page.reload()
    anna.write_sql(WOMEN)
    expect(page.get_by_text(re.compile("Free: follows from what was bought, ±"))).to_be_visible()
    page.get_by_role("button", name="Derive it, free").click()
    expect(page.get_by_text("Free: it follows from what was bought.")).to_be_visible()
    shown = page.locator(".huge").inner_text()
    page.reload()
    expect(page.get_by_text("derived, free: it follows from the answer of charge 1")).to_be_visible()
    assert page.locator(".huge").inner_text() == shown
    assert len(served.charges()) == 1


def test_several_numbers_in_bands_are_rehearsed(shared: Served, person):
    page = person(shared).sign_in("anna").page
    for number in ("the average of age", "the median of age"):
        page.get_by_label("Add a number").select_option(label=number)
    page.get_by_role("button", name="age 10").click()
    page.get_by_label("age", exact=True).last.select_option(label="in bands of 5")
    key = "FLOOR(age / 5) * 5"
    sql = f"SELECT {key}, AVG(age), MEDIAN(age) FROM people GROUP BY {key}"
    expect(page.get_by_label("As SQL")).to_have_value(sql)
    page.get_by_role("button", name="Rehearse, free").click()
    expect(page.get_by_text("Rehearsed: from random rows of the domain, not from the data.")).to_be_visible()
    page.get_by_label("Column to draw").select_option(index=1)
    page.get_by_role("link", name="Change the question").click()
    # What is read back from the SQL is what was pointed at.
    expect(page.get_by_label("age", exact=True).last).to_have_value("5")
    expect(page.get_by_role("button", name="Leave out the median of age")).to_be_visible()
    assert shared.charges() == []


def test_sql_is_shown_by_pointing_where_it_can_be(shared: Served, person):
    anna = person(shared).sign_in("anna")
    anna.write_sql("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 5 AND NOT sex = 'M'")
    expect(anna.page.get_by_role("button", name="age 2 to 5")).to_be_visible()
    expect(anna.page.get_by_role("button", name="sex F")).to_be_visible()
    anna.write_sql("SELECT COUNT(*) FROM people WHERE age < 3 OR sex = 'M'")
    expect(anna.page.get_by_text("pointing cannot show it")).to_be_visible()


@SCREENS
def test_the_gauge_moves(served: Served, person, screen):
    boss = person(served, screen).sign_in("boss")
    expect(boss.page.get_by_text("ε 0 of ε 1 spent")).to_be_visible()
    expect(boss.page.get_by_text("Nothing asked yet")).to_be_visible()
    anna = person(served, screen).sign_in("anna")
    anna.write_sql(EVERYONE)
    anna.page.get_by_role("button", name="Ask for ε 0.1").click()
    expect(anna.page.get_by_text("Paid ε 0.1, charge 1.")).to_be_visible()
    boss.page.reload()
    expect(boss.page.get_by_text("ε 0.1 of ε 1 spent")).to_be_visible()
    expect(boss.page.get_by_text("Exact: some row has paid all of it.")).to_be_visible()


@SCREENS
def test_sign_out_as_custodian(shared: Served, person, screen):
    boss = person(shared, screen).sign_in("boss")
    boss.open("ledger")
    boss.page.get_by_role("button", name="Sign out").click()
    expect(boss.page.get_by_text("You are signed out.")).to_be_visible()
    assert not boss.context.cookies()
    boss.page.go_back()
    boss.page.goto(f"{shared.url}/#/ledger")
    expect(boss.page.get_by_label("Key")).to_be_visible()


@SCREENS
def test_be_refused_read_why_and_take_what_fits(served: Served, person, screen):
    anna = person(served, screen).sign_in("anna")
    page = anna.page
    anna.write_sql(WOMEN)
    page.get_by_label("Cost in ε").first.fill("0.7")
    expect(page.get_by_text("Too dear here: at most ε 0.5 can be asked for.")).to_be_visible()
    page.get_by_role("button", name="Ask for ε 0.7").click()
    expect(page.get_by_role("heading", name="Refused")).to_be_visible()
    expect(page.get_by_text("Your quota binds")).to_be_visible()
    expect(page.get_by_text("You asked for ε 0.7; on these rows ε 0.5 is left.")).to_be_visible()
    assert served.charges() == []
    page.get_by_role("link", name="Ask for ε 0.5 instead").click()
    page.get_by_role("button", name="Ask for ε 0.5").click()
    expect(page.get_by_text("Paid ε 0.5, charge 1.")).to_be_visible()


def test_parts_of_refused_rows_with_more_left_are_bands_and_values(served: Served, person):
    assert served.ask("SELECT COUNT(*) FROM people WHERE age >= 4", "0.6", who="ben").status_code == 200
    anna = person(served).sign_in("anna")
    page = anna.open("refused", sql=EVERYONE, epsilon="0.5")
    region = page.get_by_role("region", name="Regions with more budget left")
    expect(region.get_by_role("row", name=re.compile("age 0 to 1 .*0.5"))).to_be_visible()
    expect(region.get_by_role("link", name=re.compile("sex"))).to_have_count(0)
    region.get_by_role("link", name="age 2 to 3").click()
    expect(page.get_by_label("As SQL")).to_have_value("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 3")


def test_an_error_is_underlined_and_the_nearest_word_taken(shared: Served, person):
    anna = person(shared).sign_in("anna")
    page = anna.page
    anna.write_sql("SELECT COUNT(*) FROM people WHERE sxe = 'F'")
    expect(page.locator(".fault")).to_have_text("sxe")
    expect(page.get_by_role("button", name=re.compile("^Ask for"))).to_be_disabled()
    page.get_by_role("button", name="sex", exact=True).last.click()
    expect(page.get_by_label("As SQL")).to_have_value(WOMEN)
    expect(page.get_by_role("button", name=re.compile("^Ask for"))).to_be_enabled()


def test_words_of_the_domain_are_completed(shared: Served, person):
    page = person(shared).sign_in("anna").page
    page.get_by_label("As SQL").fill("")
    page.get_by_label("As SQL").press_sequentially("SELECT COUNT(*) FROM people WHERE se")
    expect(page.get_by_role("option", name="sex", exact=True)).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type(" = '")
    expect(page.get_by_role("option", name="'M'")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_label("As SQL")).to_have_value(MEN)


def test_the_slider_sets_the_cost_and_the_error_follows(shared: Served, person):
    page = person(shared).sign_in("anna").page
    expect(page.get_by_text("± 10 people")).to_be_visible()
    page.get_by_role("slider", name="Cost in ε").fill("333")
    expect(page.get_by_label("Cost in ε").first).to_have_value("0.01")
    expect(page.get_by_text("± 100 people")).to_be_visible()
    page.get_by_role("button", name="Best still affordable").click()
    expect(page.get_by_role("button", name="Ask for ε 0.5")).to_be_visible()


def test_groups_are_bars_or_a_heat_map_with_a_table_and_a_file(asked: Served, person):
    ben = person(asked).sign_in("ben")
    page = ben.open("answer", sql=BY_BOTH, epsilon="0.1")
    expect(page.get_by_role("img", name=re.compile("heat map by sex and age"))).to_be_visible()
    page.locator('[data-cell="1,3"]').hover()
    expect(page.locator(".told")).to_have_text(re.compile(r"^sex M, age 3: \S+ ±\s10, 95 % interval \S+ to \S+$"))
    page.get_by_text("Table of 20 groups").click()
    expect(page.get_by_role("region", name="The answer as a table").get_by_role("row")).to_have_count(21)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "sex,age,value,low,high,expected_error,charge,cost"
    assert len(lines) == 21
    ben.open("answer", sql=BY_SEX, epsilon="0.1")
    expect(page.get_by_role("img", name=re.compile("by sex: 2 groups"))).to_be_visible()


def test_looking_for_an_answer_that_nobody_bought_charges_nothing(shared: Served, person):
    page = person(shared).sign_in("anna").open("answer", sql=EVERYONE, epsilon="0.123")
    expect(page.get_by_role("heading", name="Not asked yet")).to_be_visible()
    assert shared.charges() == []


@SCREENS
def test_open_the_graph_and_the_map(asked: Served, person, screen):
    boss = person(asked, screen).sign_in("boss")
    page = boss.open("graph")
    expect(page.get_by_text("The maximum overlap is ε 0.3")).to_be_visible()
    page.get_by_role("button", name=re.compile("Charge 2, ε 0.1, ben")).click()
    expect(page.get_by_text(MEN)).to_be_visible()
    page.reload()
    expect(page.get_by_text(MEN)).to_be_visible()
    boss.open("map", x="sex", y="age")
    page.locator('[data-cell="1,3"]').click()
    expect(page.get_by_role("heading", name="sex M, age 3")).to_be_visible()
    expect(page.locator(".big")).to_have_text("ε 0.7 left")
    expect(page.get_by_text("3 charges cover rows here.")).to_be_visible()


def test_the_map_by_keyboard(asked: Served, person):
    page = person(asked).sign_in("boss").open("map", x="sex", y="age")
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#said")).to_have_text("sex F, age 1: ε 0.3 spent, ε 0.7 left")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="sex F, age 1")).to_be_visible()


def test_the_graph_is_filtered_from_day_to_day_and_by_who_asked(asked: Served, person):
    page = person(asked).sign_in("boss").open("graph")
    drawn = page.get_by_role("button", name=re.compile("^Charge "))
    expect(drawn).to_have_count(4)
    expect(page.get_by_label("Asked by")).to_have_value("everyone")
    page.get_by_label("Asked by").select_option("ben")
    expect(drawn).to_have_count(2)
    expect(page.get_by_text("The maximum overlap of these charges is ε 0.2")).to_be_visible()
    page.get_by_label("Until").fill("2020-01-01")
    expect(page.get_by_text("No charge is left by this filter.")).to_be_visible()
    page.get_by_label("Until").fill("2100-01-01")
    page.get_by_label("Since").fill("2020-01-01")
    expect(drawn).to_have_count(2)
    page.reload()
    expect(drawn).to_have_count(2)
    expect(page.get_by_label("Asked by")).to_have_value("name ben")


def test_the_page_of_a_charge_says_why_it_added_what_it_added(asked: Served, person):
    page = person(asked).sign_in("boss").open("charge", number=3)
    expect(page.get_by_text("Its rows can be in 2 earlier charges.")).to_be_visible()
    expect(page.get_by_text("grew from ε 0.1 to ε 0.2")).to_be_visible()
    rows = page.get_by_role("region", name=re.compile("make the maximum on its rows")).get_by_role("row")
    expect(rows).to_have_count(3)
    ann = person(asked).sign_in("anna").open("charge", number=3)
    expect(ann.get_by_text("Why it added that")).to_have_count(0)


def test_charges_are_filtered_and_have_pages(asked: Served, person):
    boss = person(asked).sign_in("boss")
    page = boss.open("charges")
    expect(page.get_by_role("region", name="Charges").get_by_role("row")).to_have_count(5)
    page.get_by_label("Question has").fill("'M'")
    expect(page.get_by_role("region", name="Charges").get_by_role("row")).to_have_count(2)
    page.get_by_label("Question has").fill("")
    page.get_by_label("Asked by").select_option("anna")
    expect(page.get_by_role("region", name="Charges").get_by_role("row")).to_have_count(3)
    page.get_by_role("link", name="3", exact=True).click()
    expect(page.get_by_text("yes, recomputed in this browser")).to_be_visible()


def test_a_key_is_made_shown_once_and_revoked(served: Served, person):
    boss = person(served).sign_in("boss")
    page = boss.open("analysts")
    page.get_by_label("Name").fill("ben")
    page.get_by_role("button", name="Make a key").click()
    served.keys["second"] = page.locator(".secret").inner_text()
    ben = person(served).sign_in("second")
    page.get_by_role("button", name="I have noted it").click()
    expect(page.locator(".secret")).to_have_count(0)
    page.get_by_role("button", name="Revoke the keys of ben").first.click()
    page.get_by_role("button", name="Revoke all 2 of ben").click()
    expect(page.get_by_role("button", name="Revoke the keys of ben")).to_have_count(0)
    ben.page.wait_for_timeout(1000)
    ben.page.get_by_role("link", name="My answers").click()
    expect(ben.page.get_by_text("the key was revoked")).to_be_visible()


def test_the_ledger_is_verified(asked: Served, person):
    page = person(asked).sign_in("boss").open("ledger")
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_text("The chain holds, and the loss is within the budget.")).to_be_visible()


def test_a_wrong_key_is_told(shared: Served, person):
    page = person(shared).page
    page.goto(shared.url)
    page.get_by_label("Key").fill("pc_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This key is not known")).to_be_visible()


def test_pages_of_the_other_role_say_so(shared: Served, person):
    anna = person(shared).sign_in("anna")
    anna.page.goto(f"{shared.url}/#/map")
    expect(anna.page.get_by_role("heading", name="Not for this key")).to_be_visible()
