"""Pictures of every page of the console: ``python -m tools.console_pictures OUT``.

Each page is taken light and dark, on a laptop and on a phone, of the demonstration's table with nothing asked, with a
few questions and with 3,000.  ``--keep docs/images`` also writes those that the documentation shows, made small.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser

from parcomp.cli.demo_session import write_census
from parcomp.custodian import Custodian
from tests.service.console.browser import LAPTOP, PHONE, Person, running_browser
from tests.service.console.many import charge_many
from tests.service.served import Served, serving

MANY = 3_000
QUESTIONS = [
    ("anna", "SELECT COUNT(*) FROM census WHERE gender = 'F'", "0.1"),
    ("anna", "SELECT COUNT(*) FROM census WHERE gender = 'M'", "0.1"),
    ("ben", "SELECT race, COUNT(*) FROM census GROUP BY race", "0.1"),
    ("anna", "SELECT marital, age, COUNT(*) FROM census WHERE gender = 'F' GROUP BY marital, age", "0.1"),
    ("anna", "SELECT COUNT(*) FROM census WHERE marital = 'widowed' AND age >= 60", "0.2"),
    ("anna", "SELECT COUNT(*) FROM census WHERE marital = 'divorced' AND age < 60", "0.25"),
    ("ben", "SELECT COUNT(*) FROM census WHERE income < 15000 AND gender = 'M'", "0.15"),
    ("ben", "SELECT COUNT(*) FROM census WHERE race = 'race 5' AND income >= 90000", "0.3"),
    *[
        ("anna", f"SELECT COUNT(*) FROM census WHERE race = 'race {n}' AND marital = 'married'", "0.05")
        for n in range(1, 8)
    ],
]
BUILT = (
    "SELECT gender, COUNT(*) FROM census WHERE age >= 20 AND age < 60 AND marital IN ('married', 'widowed') "
    "GROUP BY gender"
)

Shown = tuple[str, str, dict[str, object]]
"""The name of a picture, the page and its parameters; a page without a name is the one before signing in."""

ANALYST: list[Shown] = [
    ("ask", "ask", {"sql": BUILT, "epsilon": "0.05"}),
    ("error", "ask", {"sql": "SELECT COUNT(*) FROM census WHERE gendr = 'F'", "epsilon": "0.1"}),
    ("rehearsal", "answer", {"sql": BUILT, "epsilon": "0.05", "rehearsed": "1"}),
    ("answer", "answer", {"sql": QUESTIONS[0][1], "epsilon": "0.1"}),
    ("groups", "answer", {"sql": QUESTIONS[2][1], "epsilon": "0.1"}),
    ("heat", "answer", {"sql": QUESTIONS[3][1], "epsilon": "0.1"}),
    ("not-asked", "answer", {"sql": BUILT, "epsilon": "0.07"}),
    ("answers", "answers", {}),
    ("domain", "domain", {}),
    ("refused", "refused", {"sql": "SELECT COUNT(*) FROM census WHERE age < 40", "epsilon": "0.7"}),
    ("own-graph", "graph", {}),
    ("other-role", "map", {}),
]
CUSTODIAN: list[Shown] = [
    ("overview", "overview", {}),
    ("map", "map", {"x": "age", "y": "marital", "region": "3.3.4.3"}),
    ("maps", "map", {"x": "age", "y": "marital", "z": "gender"}),
    ("graph", "graph", {"charge": 5}),
    ("charges", "charges", {}),
    ("charge", "charge", {"number": 5}),
    ("analysts", "analysts", {}),
    ("ledger", "ledger", {}),
    ("no-page", "nowhere", {}),
]
EMPTY: dict[str, list[Shown]] = {
    "anna": [("ask", "ask", {}), ("answers", "answers", {}), ("own-graph", "graph", {})],
    "curator": [(name, name, {}) for name in ("overview", "map", "graph", "charges", "analysts", "ledger")],
}
CROWDED: dict[str, list[Shown]] = {
    "anna": [("answers", "answers", {}), ("own-graph", "graph", {}), ("ask", "ask", {"sql": BUILT, "epsilon": "0.05"})],
    "curator": [
        ("overview", "overview", {}),
        ("map", "map", {"x": "income", "y": "race", "region": "4.2.5.3"}),
        ("graph", "graph", {"charge": 2999}),
        ("charges", "charges", {}),
        ("charge", "charge", {"number": 2999}),
        ("analysts", "analysts", {}),
        ("ledger", "ledger", {}),
    ],
}
MODES = {
    "light": (LAPTOP, "light"),
    "dark": (LAPTOP, "dark"),
    "phone-light": (PHONE, "light"),
    "phone-dark": (PHONE, "dark"),
}
KEPT = re.compile(
    r"few-(?!maps|other-role|no-page|not-asked).*|empty-(overview|ask)-(light|dark)|crowded-(overview|map)-(light|dark)"
    r"|crowded-graph-.*"
)
"""What the documentation shows: every page, and how some look with nothing asked or with much."""

TALLEST = 1_500
COLORS = 96


def main() -> None:
    """Ask, and take the pictures."""
    parser = argparse.ArgumentParser(prog="python -m tools.console_pictures", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--keep", type=Path, help="where to write those that the documentation shows")
    parser.add_argument("--only", default="", help="a pattern that the names of pictures must have, such as few-graph")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with running_browser() as browser:
        for state, pages in (
            ("empty", EMPTY),
            ("few", {"anna": ANALYST, "curator": CUSTODIAN}),
            ("crowded", CROWDED),
        ):
            with _served(state) as served:
                _take(browser, served, state, pages, options.out, re.compile(options.only))
    if options.keep:
        _keep(options.out, options.keep)


@contextmanager
def _served(state: str) -> Iterator[Served]:
    with tempfile.TemporaryDirectory() as directory:
        settings = write_census(Path(directory))
        if state == "crowded":
            charge_many(settings, MANY)
        else:
            with Custodian.create(settings) as custodian:
                for who, sql, epsilon in QUESTIONS if state == "few" else ():
                    custodian.ask(sql, epsilon=epsilon, analyst=who)
        with serving(settings, anna="analyst", curator="custodian") as served:
            yield served


def _take(
    browser: Browser, served: Served, state: str, pages: dict[str, list[Shown]], out: Path, wanted: re.Pattern[str]
) -> None:
    for mode, (viewport, scheme) in MODES.items():
        if state == "few" and wanted.search(f"few-sign-in-{mode}"):
            stranger = Person(browser, served, viewport, scheme)
            stranger.page.goto(served.url)
            stranger.page.get_by_label("Key").wait_for()
            stranger.page.screenshot(path=out / f"few-sign-in-{mode}.png")
            stranger.close()
        for who, shown in pages.items():
            chosen = [one for one in shown if wanted.search(f"{state}-{one[0]}-{mode}")]
            if not chosen:
                continue
            person = Person(browser, served, viewport, scheme)
            person.sign_in(who)
            for name, page, parameters in chosen:
                person.page.evaluate("address => { location.hash = address }", f"#/{page}?{urlencode(parameters)}")
                # Charts are drawn once their room is known, and details come with requests of their own.
                person.page.wait_for_timeout(100)
                person.page.locator("main:not([aria-busy])").wait_for()
                person.page.wait_for_load_state("networkidle")
                person.page.wait_for_timeout(400)
                if name == "ledger":
                    person.page.get_by_role("button", name="Verify now").click()
                    person.page.get_by_text("The chain holds").wait_for()
                person.page.screenshot(path=out / f"{state}-{name}-{mode}.png", full_page=True)
            person.close()


def _keep(taken: Path, images: Path) -> None:
    """Write the pictures of the documentation: cut where they are long, and with few colors."""
    images.mkdir(parents=True, exist_ok=True)
    for path in sorted(taken.glob("*.png")):
        if not KEPT.fullmatch(path.stem):
            continue
        with Image.open(path) as picture:
            cut = picture.convert("RGB").crop((0, 0, picture.width, min(picture.height, TALLEST)))
            small = cut.quantize(COLORS, dither=Image.Dither.NONE)
            small.save(images / f"console-{path.stem.removeprefix('few-')}.png", optimize=True)


if __name__ == "__main__":
    main()
