"""How the console behaves whatever is done: by keyboard alone, with a sign, without jumps, and to no other server."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from parcomp.cli.demo_session import write_census
from tests.service.console.browser import LAPTOP, PHONE
from tests.service.console.conftest import BY_BOTH
from tests.service.console.many import charge_many
from tests.service.served import EVERYONE, WOMEN, Served, serving
from tests.soak import soaked

CUSTODIAN = ("overview", "map", "graph", "charges", "charge", "analysts", "ledger")
SHIFTS = """() => {
    window.observer?.disconnect();
    window.shifted = 0;
    window.observer = new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
    });
    window.observer.observe({ type: "layout-shift" });
}"""
"""Adds up how much of the screen moves by how far, as browsers count it; they call 0.1 good."""


def tab_to(page, sought: str, most: int = 80) -> None:
    """Press Tab until what has the focus is called this; the focus is seen at every step."""
    for _ in range(most):
        page.keyboard.press("Tab")
        # At once, since a page that is still loading may put another element in its place.
        name, outline = page.evaluate(
            """() => { const one = document.activeElement;
            return [(one.labels?.[0]?.textContent || one.ariaLabel || one.textContent || "").trim(),
                getComputedStyle(one).outlineStyle] }"""
        )
        if re.search(sought, name):
            assert outline != "none"
            return
    pytest.fail(f"Tab never came to {sought}")


def test_ask_and_sign_out_by_keyboard_alone(served: Served, person):
    page = person(served).page
    page.goto(served.url)
    expect(page.get_by_label("Key")).to_be_focused()
    page.keyboard.type(served.keys["anna"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ask", exact=True)).to_be_visible()
    page.wait_for_load_state("networkidle")
    # By pointing: the chip opens, a value is ticked, and the SQL follows.
    tab_to(page, "^sex$")
    page.keyboard.press("Enter")
    tab_to(page, "^F$")
    page.keyboard.press("Space")
    expect(page.get_by_label("As SQL")).to_have_value(WOMEN)
    # In SQL, with a word completed: Tab takes a word, and leaves the text where there is none to take.
    tab_to(page, "^As SQL$")
    page.keyboard.press("Control+A")
    page.keyboard.type("SELECT COUNT(*) FROM people WHERE ag")
    expect(page.get_by_role("option", name="age", exact=True)).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type(" >= 5 ")
    page.keyboard.press("Escape")
    tab_to(page, "^Cost in ε$")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.2")
    expect(page.get_by_role("button", name="Ask for ε 0.2")).to_be_enabled()
    tab_to(page, "^Ask for ε 0.2$")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Paid ε 0.2, charge 1.")).to_be_visible()
    tab_to(page, "^Sign out$")
    page.keyboard.press("Enter")
    expect(page.get_by_text("You are signed out.")).to_be_visible()


@pytest.mark.parametrize("page_name", ["graph", "charges", "analysts", "ledger"])
def test_what_a_custodian_uses_is_reached_by_tab(asked: Served, person, page_name):
    page = person(asked).sign_in("boss").open(page_name)
    sought = {"graph": "", "charges": "^Download CSV$", "analysts": "^Make a key$", "ledger": "^Verify now$"}[page_name]
    if page_name == "graph":
        # The focus is drawn on the node itself.
        page.get_by_label("Until").focus()
        for _ in range(6):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.getAttribute('role')") == "button":
                break
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=re.compile("^Charge "))).to_be_visible()
    else:
        tab_to(page, sought)


def test_no_request_leaves_the_server(served: Served, person):
    """Every host that a journey through all pages asks anything of."""
    anna, boss = person(served), person(served, PHONE, "dark")
    anna.sign_in("anna").write_sql(EVERYONE)
    anna.page.get_by_role("button", name="Ask for ε 0.1").click()
    expect(anna.page.get_by_text("Paid ε 0.1, charge 1.")).to_be_visible()
    for name in ("answers", "domain", "graph", "ask"):
        anna.open(name)
    anna.open("refused", sql=EVERYONE, epsilon="0.9")
    anna.page.wait_for_load_state("networkidle")
    boss.sign_in("boss")
    for name in CUSTODIAN:
        boss.open(name)
        boss.page.wait_for_load_state("networkidle")
    asked = {urlsplit(one) for person_ in (anna, boss) for one in person_.addresses}
    assert {one.netloc for one in asked if one.scheme not in ("data", "blob")} == {urlsplit(served.url).netloc}
    assert len({one.path for one in asked}) > 25


def test_on_paper_it_is_light_and_whole(asked: Served, person):
    """Also for readers whose screen is dark; what is to be pressed is left out, what was behind a chart is not."""
    ben, boss = (person(asked, LAPTOP, "dark").sign_in(who) for who in ("ben", "boss"))
    page = ben.open("answer", sql=BY_BOTH, epsilon="0.1")
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.get_by_role("region", name="The answer as a table").get_by_role("row")).to_have_count(21)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('.shade-0')).fill") == "rgb(241, 243, 245)"
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    expect(page.get_by_role("navigation")).to_be_hidden()
    expect(page.get_by_text("people", exact=True)).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.get_by_role("region", name="The answer as a table")).to_be_hidden()
    charges = boss.open("charges")
    charges.emulate_media(media="print", color_scheme="dark")
    expect(charges.get_by_role("button", name="Sort by Cost")).to_be_visible()
    expect(charges.get_by_role("button", name="Download CSV")).to_be_hidden()


def test_what_takes_long_shows_that_it_is_waited_for(shared: Served, person):
    page = person(shared).sign_in("boss").page
    for path in ("**/console/keys", "**/console/assets/analysts.js"):
        page.route(path, lambda route: (page.wait_for_timeout(700), route.continue_()))
    expect(page.locator("#busy")).to_be_hidden()
    page.get_by_role("link", name="Analysts").click(no_wait_after=True)
    expect(page.locator("#busy")).to_be_visible(timeout=500)
    expect(page.get_by_role("heading", name="Analysts")).to_be_visible()
    expect(page.locator("#busy")).to_be_hidden()


def test_a_page_that_is_left_does_not_take_away_the_sign_of_the_next(shared: Served, person):
    page = person(shared).sign_in("boss").page
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    waiting = []
    for path in ("**/console/keys", "**/v1/budget/map?*"):
        page.route(path, lambda route: waiting.append(route))  # noqa: PLW0108  built-in functions are not taken
    page.get_by_role("link", name="Analysts").click()
    expect(page.locator("main[aria-busy]")).to_have_count(1)
    page.get_by_role("link", name="Map").click()
    page.wait_for_timeout(300)
    assert len(waiting) == 2
    expect(page.locator("main[aria-busy]")).to_have_count(1)
    waiting[1].continue_()
    expect(page.get_by_role("heading", name="Map")).to_be_visible()
    expect(page.locator("main[aria-busy]")).to_have_count(0)


@pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_pages_do_not_jump_as_they_load(asked: Served, person, screen):
    jumped = {}
    for who, pages in (("anna", ("ask", "answers", "domain", "graph")), ("boss", CUSTODIAN)):
        one = person(asked, screen).sign_in(who)
        for name in pages:
            one.open("domain" if name != "domain" else "graph")
            one.page.evaluate(SHIFTS)
            page = one.open(name, **({"number": 3} if name == "charge" else {}))
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(150)
            jumped[name] = page.evaluate("window.shifted")
    assert {name: size for name, size in jumped.items() if size > 0.02} == {}


@pytest.mark.parametrize("count", [600, soaked(3_000)])
def test_every_page_comes_with_many_charges(tmp_path, person, count):
    """Within seconds even on a busy machine, without a complaint, and no page wider than its screen."""
    settings = write_census(tmp_path)
    charge_many(settings, count)
    with serving(settings, anna="analyst", boss="custodian") as served:
        for who, pages in (("boss", CUSTODIAN), ("anna", ("ask", "answers", "graph"))):
            one = person(served, PHONE if who == "anna" else LAPTOP).sign_in(who)
            one.context.set_default_timeout(10_000)
            for name in pages:
                page = one.open(name, **({"number": count} if name == "charge" else {}))
                assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), name
                if name == "graph":
                    lanes = page.get_by_role("button", name=re.compile("^Class [0-9]+: "))
                    expect(lanes.first).to_be_visible()
                    # In a lane no two overlap on the screen, and no edge is drawn before one is chosen.
                    expect(page.locator("svg .edge, svg .wire")).to_have_count(0)
                    assert apart(page) >= 8
                    page.locator("svg .node").last.click()
                    expect(page.locator("svg .picked")).to_have_count(1)
                    page.get_by_label("Until").focus()
                    page.keyboard.press("Tab")
                    lanes.first.focus()
                    page.keyboard.press("Enter")
                    expect(page.get_by_role("region", name="Charges of this lane")).to_be_visible()
            one.page.goto("about:blank")


def apart(page) -> float:
    """The least distance of two charges on the screen."""
    return page.evaluate(
        """() => {
            const nodes = [...document.querySelectorAll("svg .node")];
            const at = nodes.map(({ cx, cy }) => [cx.baseVal.value, cy.baseVal.value]);
            const far = ([x, y], [u, v]) => Math.hypot(x - u, y - v);
            const least = (found) => found.reduce((one, other) => Math.min(one, other), 1e9);
            return least(at.map((one, place) => least(at.slice(0, place).map((other) => far(one, other)))));
        }"""
    )
