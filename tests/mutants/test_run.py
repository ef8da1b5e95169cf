"""The runner tells mutants that tests notice from those that they do not, on a project made for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.copies import Copy
from tests.mutants.entries import Mutant
from tests.mutants.run import attempt, main

STEPS = """import time

def add(a, b):
    return a + b

def sub(a, b):
    return a - b

def wait():
    time.sleep(0)
"""
TESTS = """from pkg.steps import add, sub, wait

def test_add():
    assert add(2, 3) == 5

def test_add_nothing():
    assert add(2, 0) == 2

def test_wait():
    wait()

def test_wrong():
    assert sub(3, 2) == 2
"""
LIST = """
[[mutant]]
name = "add-subtracts"
file = "src/pkg/steps.py"
old = "a + b"
new = "a - b"
tests = ["tests/test_steps.py::test_add"]
why = "Sums are wrong."

[[mutant]]
name = "add-subtracts-nothing"
file = "src/pkg/steps.py"
old = "a + b"
new = "a - b"
tests = ["tests/test_steps.py::test_add_nothing"]
why = "Sums are wrong."

[[mutant]]
name = "gone"
file = "src/pkg/steps.py"
old = "a * b"
new = "a - b"
tests = ["tests/test_steps.py::test_add"]
why = "Products are wrong."

[[mutant]]
name = "no-module"
file = "src/pkg/steps.py"
old = "import time"
new = "import no_such_module"
tests = ["tests/test_steps.py::test_add"]
why = "Nothing works."

[[mutant]]
name = "wrong-anyway"
file = "src/pkg/steps.py"
old = "a - b"
new = "a * b"
tests = ["tests/test_steps.py::test_add", "tests/test_steps.py::test_wrong"]
why = "Differences are wrong."

[[mutant]]
name = "no-difference"
file = "src/pkg/steps.py"
old = "sleep(0)"
new = "sleep(0.0)"
harmless = "Nothing is waited for either way."
"""


def project(root: Path, files: dict[str, str]) -> Path:
    for name, text in ({"pyproject.toml": "[tool.pytest.ini_options]\n", "src/pkg/__init__.py": ""} | files).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def texts(root: Path) -> dict[Path, str]:
    return {path: path.read_text() for path in root.rglob("*.py")}


def test_every_verdict_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"src/pkg/steps.py": STEPS, "tests/test_steps.py": TESTS, "tests/mutants/some.toml": LIST}
    root, report = project(tmp_path / "project", files), tmp_path / "report.jsonl"
    before = texts(root)
    assert main(["--workers", "2", "--json", str(report)], root) == 1
    outcomes = [json.loads(line) for line in report.read_text().splitlines()]
    assert {one["name"]: one["verdict"] for one in outcomes} == {
        "add-subtracts": "killed",
        "add-subtracts-nothing": "alive",
        "gone": "stale",
        "no-module": "error",
        "wrong-anyway": "broken",
        "no-difference": "harmless",
    }
    shown = capsys.readouterr().out
    assert "alive     add-subtracts-nothing  write a test that fails, or say why it is harmless" in shown
    assert "1 killed" in shown
    assert texts(root) == before


def test_only_what_is_killed_or_harmless_is_well(tmp_path: Path) -> None:
    files = {"src/pkg/steps.py": STEPS, "tests/test_steps.py": TESTS, "tests/mutants/some.toml": LIST}
    root = project(tmp_path, files)
    assert main(["add-subtracts", "--workers", "1"], root) == 0
    assert main(["no-*-difference", "--workers", "1"], root) == 1, "a pattern that no name fits tries nothing"


def test_running_out_of_time_counts_only_where_it_is_expected(tmp_path: Path) -> None:
    copy = Copy(
        project(tmp_path / "project", {"src/pkg/steps.py": STEPS, "tests/test_steps.py": TESTS}), tmp_path / "0"
    )
    endless = Mutant(
        "endless", "src/pkg/steps.py", "sleep(0)", "sleep(60)", ("tests/test_steps.py::test_wait",), "There is no end."
    )
    assert attempt(copy, endless, limit=1).verdict == "time-out"
    assert attempt(copy, replace(endless, timeout=True), limit=1).verdict == "killed"
    assert (copy.root / "src/pkg/steps.py").read_text() == STEPS


KERNELS = {
    "src/pkg/limits.py": "STEP = 1\n",
    "src/pkg/inner.py": "from parcomp.jit import kernel\nfrom pkg.limits import STEP\n\n"
    "@kernel\ndef step(x):\n    return x + STEP\n",
    "src/pkg/outer.py": "from parcomp.jit import kernel\nfrom pkg.inner import step\n\n"
    "@kernel\ndef steps(x):\n    return step(step(x))\n",
    "tests/test_kernels.py": "from pkg.outer import steps\n\ndef test_steps():\n    assert steps(1) == 3\n",
}


def cached(root: Path) -> dict[str, int]:
    """The kernels that numba keeps, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in root.rglob("*.nb?")}


def test_a_changed_kernel_is_compiled_anew_and_the_copy_keeps_what_it_had(tmp_path: Path) -> None:
    """A kernel that calls another one, or uses a constant, is compiled with the fault, and without it afterwards."""
    copy, tests = Copy(project(tmp_path / "project", KERNELS), tmp_path / "copy"), ["tests/test_kernels.py"]
    assert copy.run(tests, 100)[0] == 0
    before = cached(copy.root)
    assert before
    for file, old, new in (("src/pkg/inner.py", "x + STEP", "x - STEP"), ("src/pkg/limits.py", "1", "2")):
        with copy.changed(file, KERNELS[file].replace(old, new)):
            assert copy.run(tests, 100)[0] == 1
        assert cached(copy.root) == before
        assert copy.run(tests, 100)[0] == 0
