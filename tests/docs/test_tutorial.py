"""The tutorial runs, cell by cell, and prints what stands in its comments; what it shows can be shown."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot as plt

from tests.docs.pages import DOCS

TUTORIAL = DOCS / "tutorial.ipynb"
CELLS = json.loads(TUTORIAL.read_text(encoding="utf-8"))["cells"]


def shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of an expression at its end, None if it has none."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "tutorial.ipynb", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "tutorial.ipynb", "eval"), names)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


def test_every_cell_runs_and_prints_what_it_says(directory: Path) -> None:
    names: dict[str, Any] = {}
    displayed = []
    for cell in CELLS:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        printed = io.StringIO()
        with redirect_stdout(printed):
            value = shown(source, names)
        expected = re.findall(r"^ *print\(.*\)  # (.+)$", source, re.MULTILINE)
        if expected:
            assert printed.getvalue().splitlines() == expected, source
        displayed.append(type(value).__name__)
        if hasattr(value, "_repr_html_"):
            assert value._repr_html_().startswith("<div")
    assert {"Answer", "Quote", "Custodian", "DataFrame", "Axes"} <= set(displayed)
    assert (directory / "decades.png").read_bytes().startswith(b"\x89PNG")
    assert names["rehearsed"].to_pandas()["rehearsed"].all()


def test_the_notebook_is_kept_without_outputs() -> None:
    """What it shows varies from run to run, and would be the noise of one of them."""
    for cell in CELLS:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
