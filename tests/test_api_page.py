"""``docs/api.md`` is what ``make api`` writes, names everything that is exported, and its examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from tools import api_page

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def writer():
    return api_page


def test_the_page_is_up_to_date(writer):
    """A changed signature or docstring shows in the next ``make api``."""
    assert (DOCS / "api.md").read_text(encoding="utf-8") == writer.page(), "run: make api"


def test_every_exported_name_is_on_the_page_with_its_arguments(writer):
    """Looked up by their own means: a section for each package, an entry for each name, each argument in its order."""
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert {
        "parcomp",
        "parcomp.client",
        "parcomp.errors",
        "parcomp.model",
        "parcomp.privacy",
        "parcomp.planning",
    } <= set(sections)
    for name, section in sections.items():
        package = import_module(name)
        entries = dict(re.findall(r"^### (\S+)\n(.*?)(?=^### |\Z)", section, re.MULTILINE | re.DOTALL))
        assert list(entries) == list(package.__all__)
        for exported, entry in entries.items():
            if inspect.isfunction(value := getattr(package, exported)):
                block = entry.strip().split("\n\n")[0]
                found = re.findall(r"[(,\s]\*{0,2}(\w+)(?=: )", block)
                assert found == list(inspect.signature(value).parameters), exported


def test_the_examples_run():
    """As a reader would type them."""
    for page, examples in (("api.md", 12), ("error.md", 5), ("strategies.md", 15)):
        results = doctest.testfile(
            str(DOCS / page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS
        )
        assert results.attempted >= examples
        assert results.failed == 0
