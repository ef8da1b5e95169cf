"""Pictures of every page of the console, light and dark, wide and narrow: ``python -m tools.console_pictures OUT``.

They are of the demonstration's table, after a morning's questions.  A few of them are kept in ``docs/images``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from parcomp.cli.demo_session import write_census
from parcomp.custodian import Custodian
from tests.service.console.browser import LAPTOP, PHONE, Person, running_browser
from tests.service.served import Served, serving

QUESTIONS = [
    ("anna", "SELECT COUNT(*) FROM census WHERE gender = 'F'", "0.1"),
    ("anna", "SELECT COUNT(*) FROM census WHERE gender = 'M'", "0.1"),
    ("ben", "SELECT race, COUNT(*) FROM census GROUP BY race", "0.1"),
    ("ben", "SELECT marital, age, COUNT(*) FROM census WHERE gender = 'F' GROUP BY marital, age", "0.1"),
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
HEAT = QUESTIONS[3][1]
PAGES: dict[str, list[tuple[str, str, dict[str, object]]]] = {
    "anna": [
        ("ask", "ask", {"sql": BUILT, "epsilon": "0.05"}),
        ("error", "ask", {"sql": "SELECT COUNT(*) FROM census WHERE gendr = 'F'", "epsilon": "0.1"}),
        ("answer", "answer", {"sql": QUESTIONS[0][1], "epsilon": "0.1"}),
        ("groups", "answer", {"sql": QUESTIONS[2][1], "epsilon": "0.1"}),
        ("heat", "answer", {"sql": HEAT, "epsilon": "0.1"}),
        ("answers", "answers", {}),
        ("domain", "domain", {}),
        ("refused", "refused", {"sql": "SELECT COUNT(*) FROM census WHERE age < 40", "epsilon": "0.7"}),
    ],
    "curator": [
        ("overview", "overview", {}),
        ("map", "map", {"x": "age", "y": "marital", "region": "3.3.4.3"}),
        ("graph", "graph", {"charge": 5}),
        ("charges", "charges", {}),
        ("charge", "charge", {"number": 5}),
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


def main() -> None:
    """Ask, and take the pictures."""
    parser = argparse.ArgumentParser(prog="python -m tools.console_pictures", description=__doc__)
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        settings = write_census(Path(directory))
        with Custodian.create(settings) as custodian:
            for who, sql, epsilon in QUESTIONS:
                custodian.ask(sql, epsilon=epsilon, analyst=who)
        with serving(settings, anna="analyst", curator="custodian") as served:
            take_pictures(served, out)


def take_pictures(served: Served, out: Path) -> None:
    """Every page in every mode."""
    with running_browser() as browser:
        for mode, (viewport, scheme) in MODES.items():
            for who, pages in PAGES.items():
                person = Person(browser, served, viewport, scheme)
                person.sign_in(who)
                for name, page, parameters in pages:
                    person.page.evaluate("address => { location.hash = address }", f"#/{page}?{urlencode(parameters)}")
                    # Charts are drawn once their room is known, and details come with requests of their own.
                    person.page.wait_for_timeout(900)
                    person.page.screenshot(path=out / f"console-{name}-{mode}.png", full_page=True)
                person.close()


if __name__ == "__main__":
    main()
