"""``parcomp experiment``: names, options, and what is said of a wrong one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from parcomp.cli import main
from parcomp.cli.experiment import _progress
from parcomp.experiments.journal import Journal
from parcomp.experiments.registry import EXPERIMENTS


def test_the_list_names_all(capsys):
    assert main(["experiment", "list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in EXPERIMENTS)
    assert {
        *("feasible-regions", "clique-size", "domain-size", "census", "distributions", "table1"),
        *("pairwise-gap", "brackets", "growth"),
    } <= set(EXPERIMENTS)


def test_a_single_one_goes_where_it_is_told(tmp_path, capsys):
    out = tmp_path / "some" / "place"
    assert main(["experiment", "table1", "--quick", "--out", str(out), "--workers", "1"]) == 0
    assert str(out / "table1.csv") in capsys.readouterr().out
    files = {"table1.csv", "table1-paper.csv", "table1.png", "table1.svg", "table1.journal.jsonl"}
    assert {path.name for path in out.iterdir()} == files


def test_the_quick_form_does_not_write_over_the_full_one(tmp_path, monkeypatch, capsys):
    """Both have tables of the same names, so by default they have directories of their own."""
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "table1", "--quick", "--workers", "1"]) == 0
    assert (tmp_path / "out/experiments/quick/table1.csv").exists()
    assert not (tmp_path / "out/experiments/table1.csv").exists()
    assert main(["experiment", "table1", "--quick", "--draw"]) == 0
    assert "table1.png" in capsys.readouterr().out
    assert main(["experiment", "table1", "--draw"]) == 2
    assert "without --draw first" in capsys.readouterr().err


def test_where_there_is_no_terminal_a_line_tells_how_far_it_is(monkeypatch, capsys):
    clock = iter((0.0, 10.0, 70.0, 80.0, 200.0))
    monkeypatch.setattr("parcomp.cli.experiment.time.monotonic", lambda: next(clock))
    with _progress("census") as tell:
        for done in (4, 5, 6, 10):
            tell(done, 10)
    assert capsys.readouterr().err.splitlines() == [
        "census: goes on; 4 of 10 instances are measured",
        "census: 5 of 10 instances, about 6 min left",
    ]


@pytest.mark.parametrize(("name", "near"), [("censu", "census"), ("regions", "feasible-regions"), ("tabel1", "table1")])
def test_an_unknown_name_is_told_the_nearest(name, near, tmp_path, capsys):
    assert main(["experiment", name, "--out", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("parcomp: there is no experiment")
    assert near in line
    assert not list(tmp_path.iterdir())


def test_what_does_not_fit_together(tmp_path, capsys):
    assert main(["experiment", "table1", "--scheduler", "tcp://somewhere:1", "--out", str(tmp_path)]) == 2
    assert "--engine dask" in capsys.readouterr().err
    with Journal(tmp_path / "table1.journal.jsonl"):
        assert main(["experiment", "table1", "--out", str(tmp_path)]) == 2
    assert "another run" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["experiment", "table1", "--out", str(tmp_path / "file")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_without_the_extra_it_says_which(monkeypatch, capsys):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "networkx" else there(name))
    assert main(["experiment", "table1"]) == 2
    assert "parcomp[experiments]" in capsys.readouterr().err


def test_help_loads_none_of_it():
    code = (
        "import sys; from parcomp.cli import main; main(['--help']);"
        "sys.exit(any(name in sys.modules for name in ('parcomp.experiments', 'networkx', 'matplotlib', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
