"""Every page by axe-core's rules, light and dark, laptop and phone; and no page wider than its screen."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.service.console.browser import LAPTOP, PHONE
from tests.service.console.conftest import BY_BOTH, BY_SEX
from tests.service.served import EVERYONE, WOMEN, Served

ANALYST = [
    ("ask", {}),
    ("ask", {"sql": "SELECT COUNT(*) FROM people WHERE sxe = 'F'"}),
    ("answer", {"sql": WOMEN, "epsilon": "0.1"}),
    ("answer", {"sql": BY_SEX, "epsilon": "0.1"}),
    ("answer", {"sql": BY_BOTH, "epsilon": "0.1"}),
    ("answers", {}),
    ("domain", {}),
    ("refused", {"sql": EVERYONE, "epsilon": "0.9"}),
    ("graph", {}),
]
CUSTODIAN = [
    ("overview", {}),
    ("map", {"x": "sex", "y": "age"}),
    ("graph", {"charge": 1}),
    ("charges", {}),
    ("charge", {"number": 2}),
    ("analysts", {}),
    ("ledger", {}),
    ("domain", {}),
]


def violations(page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {[node['html'][:200] for node in one['nodes']]}" for one in found]


MODES = pytest.mark.parametrize(
    ("viewport", "scheme"), [(LAPTOP, "light"), (LAPTOP, "dark"), (PHONE, "light"), (PHONE, "dark")]
)


@MODES
def test_no_page_breaks_a_rule(asked: Served, person, viewport, scheme):
    broken, wide = {}, []
    for who, pages in (("anna", ANALYST), ("boss", CUSTODIAN)):
        one = person(asked, viewport, scheme)
        one.page.goto(asked.url)
        one.page.get_by_label("Key").wait_for()
        broken["sign in"] = violations(one.page)
        one.sign_in(who)
        for name, parameters in pages:
            page = one.open(name, **parameters)
            page.wait_for_timeout(150)
            for details in page.locator("summary").all():
                details.click()
            broken[f"{name} {parameters}"] = violations(page)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append(name)
    assert not {name: found for name, found in broken.items() if found}
    assert not wide


@MODES
def test_pages_without_charges_break_no_rule_and_say_what_to_do(shared: Served, person, viewport, scheme):
    broken = {}
    for who, pages in (("anna", ("ask", "answers", "graph")), ("boss", ("overview", "map", "graph", "charges"))):
        one = person(shared, viewport, scheme).sign_in(who)
        for name in pages:
            page = one.open(name)
            page.wait_for_timeout(100)
            broken[name] = violations(page)
            assert page.locator(".empty, .notice").count(), name
    assert not {name: found for name, found in broken.items() if found}


def test_everything_is_reached_by_tab_with_the_focus_visible(asked: Served, person):
    page = person(asked).sign_in("anna").open("ask")
    page.wait_for_timeout(300)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("(document.activeElement.textContent || document.activeElement.type).trim()"))
        ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert ring != "none" or page.evaluate("document.activeElement === document.body")
    assert {"Skip to content", "Domain", "Sign out", "sex", "Best still affordable", "range", "textarea"} <= reached
    assert any(one.startswith("Ask for") for one in reached)
