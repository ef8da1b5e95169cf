"""The notebook of an analyst runs against a served table, cell by cell, and prints what stands in its comments."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout

import pytest
from matplotlib import pyplot as plt

from parcomp.cli.demo_session import write_census
from parcomp.custodian import Custodian
from tests.docs.pages import DOCS
from tests.docs.test_tutorial import shown
from tests.service.served import serving

CELLS = json.loads((DOCS / "asking-a-server.ipynb").read_text(encoding="utf-8"))["cells"]


@pytest.fixture
def served(tmp_path, monkeypatch):
    """The table of ``make serve``."""
    path = write_census(tmp_path)
    Custodian.create(path).close()
    with serving(path, anna="analyst") as served:
        monkeypatch.setenv("PARCOMP_KEY", served.keys["anna"])
        monkeypatch.setenv("PARCOMP_SERVER", served.url)
        yield served
    plt.close("all")


def test_every_cell_runs_and_prints_what_it_says(served):
    names, displayed = {}, []
    for cell in CELLS:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        printed = io.StringIO()
        with redirect_stdout(printed):
            displayed.append(type(shown(source, names)).__name__)
        expected = re.findall(r"^ *print\(.*\)  # (.+)$", source, re.MULTILINE)
        assert [line for line in printed.getvalue().splitlines() if "[info" not in line] == expected, source
    assert {"Domain", "DataFrame", "Axes"} <= set(displayed)
    # Noise of these costs is small beside the groups of 50,000 people.
    assert abs(names["by_race"]["value"].sum() - 50_000) < 2_000
    assert names["planned"].loc["young", "value"] > names["planned"].loc["young men", "value"]


def test_the_notebook_is_kept_without_outputs():
    for cell in CELLS:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
