"""The documentation as tests read it: pages, their sections, links and blocks of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DOCS", "PAGES", "ROOT", "Block", "Link", "anchors", "blocks", "inline_code", "links", "prose", "sections"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]

_FENCED = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: its page, its language, its text, the line on which it begins, and the comment before it.

    A comment says what the tests are to make of the block: ``file: NAME``, or ``not run: WHY``.
    """

    page: Path
    language: str
    text: str
    line: int
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Link:
    """Where a page points to: a path from the page, and an anchor there."""

    page: Path
    target: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)} -> {self.target}"


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCED.finditer(text):
        line = text.count("\n", 0, found.start()) + (2 if found[1] else 1)
        yield Block(page, found[2], found[3], line, found[1] or "")


def prose(page: Path) -> str:
    """A page without its blocks."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def inline_code(text: str) -> list[str]:
    """What stands between single backticks; the bars of a table are escaped in it."""
    return [found.replace("\\|", "|") for found in _INLINE.findall(text)]


def links(page: Path) -> list[Link]:
    """The links and pictures of a page that lead to other pages or files."""
    text = _INLINE.sub("code", prose(page))
    return [Link(page, target) for target in _LINK.findall(text) if "://" not in target]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as mkdocs and GitHub make them."""
    titles = [re.sub(r"[^\w\- ]", "", title.replace("`", "")).strip() for _, title in _HEADING.findall(prose(page))]
    return {re.sub(r"[ \-]+", "-", title.lower()) for title in titles}


def sections(page: Path) -> Mapping[str, str]:
    """The text below each second-level heading, its blocks left out."""
    parts = re.split(r"^## (.+)$", prose(page), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
