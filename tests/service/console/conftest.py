"""A browser for all tests of the console, people at it, and services with nothing charged or with a few charges."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.service.console.browser import CHROMIUM, LAPTOP, Person, running_browser
from tests.service.served import MEN, WOMEN, Served, people

BY_SEX = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
BY_BOTH = "SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age"


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    # Skipped tests look like passed ones: without a browser nothing is known of the console.
    if CHROMIUM is None:
        pytest.fail("the console's tests need chromium on the PATH; `make chromium` installs it", pytrace=False)
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with charges, to look at only."""
    with people(tmp_path_factory.mktemp("asked")) as served:
        for sql, who in ((WOMEN, "anna"), (MEN, "ben"), (BY_SEX, "anna"), (BY_BOTH, "ben")):
            assert served.ask(sql, "0.1", who=who).status_code == 200
        yield served


@pytest.fixture
def person(browser: Browser) -> Iterator[Callable[..., Person]]:
    """People at the console; each of them is held to have talked to nobody else."""
    came: list[Person] = []

    def come(served: Served, viewport: dict[str, int] = LAPTOP, scheme: str = "light") -> Person:
        came.append(Person(browser, served, viewport, scheme))
        return came[-1]

    yield come
    for one in came:
        one.close()
