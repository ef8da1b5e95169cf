"""Every page can be found, and no link leads nowhere."""

from __future__ import annotations

import pytest
import yaml

from tests.docs.pages import DOCS, PAGES, ROOT, anchors, links

INDEX = DOCS / "index.md"


def in_nav(entries):
    """The pages that the navigation lists, however deep."""
    for entry in entries:
        (listed,) = entry.values() if isinstance(entry, dict) else (entry,)
        yield from in_nav(listed) if isinstance(listed, list) else (listed,)


def test_every_page_is_in_the_navigation_once():
    """A page that is missing there would be built and never found; a notebook is made into a page."""
    nav = list(in_nav(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    pages = [*DOCS.rglob("*.md"), *(notebook.with_suffix(".md") for notebook in DOCS.rglob("*.ipynb"))]
    assert sorted(nav) == sorted(str(page.relative_to(DOCS)) for page in pages)


def test_the_front_page_links_to_every_page():
    """The decisions too, which are many and short."""
    linked = {(DOCS / link.target.partition("#")[0]).resolve() for link in links(INDEX)}
    assert linked >= {page.resolve() for page in DOCS.rglob("*.md")} - {INDEX.resolve()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_link_is_dead(page):
    """Each names a file of the project and, behind the #, a heading of it; pages stay within docs/, as built."""
    for link in links(page):
        path, _, anchor = link.target.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), str(link)
        assert ROOT in target.parents, str(link)
        if page.is_relative_to(DOCS):
            assert target.is_relative_to(DOCS), str(link)
        if anchor:
            assert anchor in anchors(target), str(link)


def test_links_are_found():
    """What the tests above rest on: links to pages, to headings and to pictures, none of them in code."""
    assert {link.target for link in links(ROOT / "README.md")} >= {"docs/custodian.md", "docs/images/census.png"}
    assert "the-chain" in anchors(DOCS / "ledger.md")
