"""A real Chromium for the console's tests, and a person in front of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.service.served import Served

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# What a person waits for takes longer on a busy machine than it does on theirs.
expect.set_options(timeout=15_000)
LAPTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@contextmanager
def running_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


class Person:
    """Somebody at the console.  What the browser complains about, and whom it talks to, is kept to be looked at."""

    def __init__(self, browser: Browser, served: Served, viewport: dict[str, int], scheme: str = "light") -> None:
        self.served = served
        self.context = browser.new_context(viewport=viewport, color_scheme=scheme)  # type: ignore[arg-type]
        self.context.set_default_timeout(15_000)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.addresses: set[str] = set()
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", lambda request: self.addresses.add(request.url))

    def _heard(self, message: Any) -> None:
        # A refusal is told by a status, which the browser reports as if something were missing.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def sign_in(self, who: str) -> Person:
        self.page.goto(self.served.url)
        self.page.get_by_label("Key").fill(self.served.keys[who])
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()
        return self

    def open(self, name: str, **parameters: object) -> Page:
        """Go to a page by its address, and wait until it is shown."""
        self.page.evaluate("address => { location.hash = address }", f"#/{name}?{urlencode(parameters)}")
        heading = {"answers": "My answers", "ask": "Ask"}.get(name, re.compile(name, re.IGNORECASE))
        expect(self.page.get_by_role("heading", level=1, name=heading)).to_be_visible()
        expect(self.page.locator("main[aria-busy]")).to_have_count(0)
        return self.page

    def write_sql(self, sql: str) -> None:
        self.page.get_by_label("As SQL").fill(sql)

    def close(self) -> None:
        """End, and see that nothing was complained about and nobody else was talked to."""
        self.context.close()
        assert not self.complaints, self.complaints
        assert all(address.startswith((self.served.url, "data:", "blob:")) for address in self.addresses)
