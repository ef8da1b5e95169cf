"""The site builds without a complaint, is read from disk, and asks nothing of the network."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys

import pytest
from playwright.sync_api import TimeoutError

from tests.docs.pages import DOCS, ROOT
from tests.service.console.browser import LAPTOP, PHONE, running_browser
from tools.docs_hooks import FONT, notebook_page, with_formulas

ASSET = re.compile(r"<(?:script|link|img|iframe|source|audio|video|object|embed)\b[^>]*?(?:src|href|data)=\"([^\"]+)\"")
STYLED = re.compile(r"url\(['\"]?([^)'\"]+)|@import ['\"]([^'\"]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    return place


def test_no_page_takes_anything_from_another_host(site):
    """Links lead where they like; what a page is made of is beside it."""
    seen = 0
    for page in site.rglob("*.html"):
        for address in ASSET.findall(page.read_text(encoding="utf-8")):
            assert "//" not in address, f"{page.name}: {address}"
            seen += 1
    assert seen > 200
    for style in site.rglob("*.css"):
        for one, other in STYLED.findall(style.read_text(encoding="utf-8")):
            assert (one or other).startswith(("data:", "#")) or "//" not in one + other, f"{style.name}: {one or other}"


def test_search_needs_no_server(site):
    """The index is a script that a page can load from disk, and knows what pages say."""
    text = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    found = {
        one["location"] for one in json.loads(text.removeprefix("var __index = "))["docs"] if "Helly" in one["text"]
    }
    assert any(place.startswith("concepts.html") for place in found)
    assert 'src="assets/iframe-worker.js"' in (site / "index.html").read_text(encoding="utf-8")


def test_formulas_are_drawn_by_the_browser(site):
    page = (site / "concepts.html").read_text(encoding="utf-8")
    assert page.count("<math") > 60
    assert "arithmatex" not in page
    assert (site / "assets" / FONT).stat().st_size > 100_000


def test_what_stands_between_dollars_becomes_mathml():
    page = '<p><span class="arithmatex">\\(a &lt; b\\)</span></p><div class="arithmatex">\\[\\frac{1}{2}\\]</div>'
    drawn = with_formulas(page)
    assert drawn.count("<math") == drawn.count("</math>") == 2
    assert "&lt;" in drawn.replace("&#x0003C;", "&lt;")
    assert '<div class="formula"><math' in drawn
    assert "<mfrac>" in drawn


def test_a_notebook_is_a_page(site):
    page = notebook_page(DOCS / "tutorial.ipynb")
    assert page.startswith("# ")
    assert "[a notebook](tutorial.ipynb)" in page
    assert page.count("```python\n") > 5
    assert (site / "tutorial.html").exists()
    assert (site / "tutorial.ipynb").exists()


def test_search_works_from_disk_and_pages_fit_a_phone(site):
    """In a browser, with the address file://: the search's own script runs in a frame."""
    asked: list[str] = []
    with running_browser() as browser:
        page = browser.new_page(viewport=LAPTOP)
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.fill("input[name=query]", "chromatic")
        for _ in range(20):
            with contextlib.suppress(TimeoutError):
                page.wait_for_selector(".md-search-result__item", timeout=2_000)
                break
            # What was typed before the page's script listened is lost, on a busy machine.
            page.press("input[name=query]", "End")
        assert page.is_visible(".md-search-result__item >> nth=0")
        page.set_viewport_size(PHONE)
        for name in ("concepts.html", "results.html", "cli.html"):
            page.goto((site / name).as_uri())
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide == 0, name
    assert len(asked) > 10
    assert all(address.startswith(("file:", "data:", "about:")) for address in asked)
