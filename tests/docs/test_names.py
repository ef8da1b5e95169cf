"""What pages name exists: files, modules, benchmarks and targets of make."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS
from tests.docs.pages import DOCS, PAGES, ROOT, blocks, inline_code, prose

HISTORY = {"CHANGELOG.md"}
"""Pages about versions that had other files."""

PACKAGE = ROOT / "src/parcomp"


def is_there(name: str) -> bool:
    """A path from the root of the project or of the package, of which wildcards may be a part."""
    return any(list(base.glob(name)) for base in (ROOT, PACKAGE))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in HISTORY], ids=lambda page: page.name)
def test_every_file_and_module_that_a_page_names_exists(page):
    """Paths to tests and modules, and dotted names, whose last part may be what a module defines."""
    for code in inline_code(prose(page)):
        if re.fullmatch(r"(?:tests|docs|benchmarks|src)/[a-z_0-9/.*-]*", code) or re.fullmatch(
            r"[\w/*]+/[\w*]+\.py|[a-z]+\.py", code
        ):
            assert is_there(code), code
        if found := re.fullmatch(r"parcomp((?:\.\w+)+)", code):
            parts = found[1][1:].split(".")
            module, inner = Path(*parts), Path(*parts[:-1])
            defined = [f"{inner}.py", f"{inner}/__init__.py"] if len(parts) > 1 else ["__init__.py"]
            there = is_there(f"{module}.py") or is_there(f"{module}/__init__.py")
            texts = [(PACKAGE / one).read_text(encoding="utf-8") for one in defined if (PACKAGE / one).is_file()]
            assert there or any(re.search(rf"\b{parts[-1]}\b", text) for text in texts), code


def code_of(page: Path) -> str:
    """All code of a page, in blocks and in its prose."""
    return "\n".join([block.text for block in blocks(page)] + inline_code(prose(page)))


def test_every_benchmark_is_on_the_page_of_performance_and_none_that_is_not_there():
    """A figure names what measures it, in parentheses or in a list of benchmarks."""
    page = prose(DOCS / "performance.md")
    named = {
        code
        for line in re.findall(r"\([^()]*`[^()]*\)|^Benchmarks .*$", page, re.MULTILINE)
        for code in inline_code(line)
    }
    named -= {code for code in named if "/" in code}
    assert named == set(BENCHMARKS)


def test_every_target_of_make_is_described_and_none_that_is_not_there():
    """In CONTRIBUTING.md all of them; on any page none but these."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE)) - {"help"}
    named = {page: set(re.findall(r"(?<![\w-])make ([a-z]+)", code_of(page))) for page in PAGES}
    assert named[ROOT / "CONTRIBUTING.md"] == targets
    assert set().union(*named.values()) <= targets
