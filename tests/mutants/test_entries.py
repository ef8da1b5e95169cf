"""The list of mutants fits the source and the tests as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.entries import Mutant, load, problems

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_every_mutant_fits_the_source_and_names_tests_that_exist() -> None:
    assert problems(ROOT, load(HERE)) == []


def test_every_file_of_mutants_holds_some() -> None:
    files = [*HERE.glob("*.toml")]
    assert files
    assert all("[[mutant]]" in file.read_text(encoding="utf-8") for file in files)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "code.py").write_text("a = 1\nb = 2\nc = 2\n")
    (tmp_path / "test_code.py").write_text(
        "def test_a():\n    pass\n\n\nclass TestB:\n    def test_b(self):\n        pass\n"
    )
    return tmp_path


GOOD = Mutant("good", "code.py", "a = 1", "a = 2", ("test_code.py::test_a[x::y]", "test_code.py"), why="a is 1")


def test_a_mutant_that_fits_has_no_problem(project: Path) -> None:
    method = replace(GOOD, name="method", tests=("test_code.py::TestB::test_b", "test_code.py::TestB"))
    harmless = replace(GOOD, name="harmless", tests=(), harmless="a is not used")
    assert problems(project, [GOOD, method, harmless]) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"old": "a = 3"}, "stands 0 times"),
        ({"old": " = 2"}, "stands 2 times"),
        ({"new": "a = 1"}, "changes nothing"),
        ({"new": "a ="}, "no Python"),
        ({"file": "gone.py"}, "there is no gone.py"),
        ({"name": "Not_Good"}, "lower case with hyphens"),
        ({"why": ""}, "what would go wrong"),
        ({"tests": ()}, "either tests or a reason"),
        ({"harmless": "a is not used"}, "either tests or a reason"),
        ({"tests": ("test_gone.py",)}, "no test test_gone.py"),
        ({"tests": ("test_code.py::test_a", "test_code.py::test_b")}, "no test test_code.py::test_b"),
        ({"tests": ("test_code.py::TestB::test_a",)}, "no test test_code.py::TestB::test_a"),
    ],
)
def test_what_does_not_fit_is_named(project: Path, changes: dict[str, object], problem: str) -> None:
    (found,) = problems(project, [replace(GOOD, **changes)])  # type: ignore[arg-type]
    assert problem in found


def test_a_name_that_is_taken_is_named(project: Path) -> None:
    assert problems(project, [GOOD, GOOD]) == ["good: 2 mutants have this name"]


@pytest.mark.parametrize("line", ['tets = ["test_code.py"]', ""])
def test_a_key_that_is_unknown_or_missing_names_the_mutant(tmp_path: Path, line: str) -> None:
    (tmp_path / "some.toml").write_text(f'[[mutant]]\nname = "odd"\nfile = "code.py"\nold = "a"\n{line}\n')
    with pytest.raises(ValueError, match=r"some\.toml: odd: "):
        load(tmp_path)
