"""Mutants: small faults that a named test must find.

A mutant says how a line of the source could be wrong, and which tests fail if it is.  They are kept as data, a file
``PACKAGE.toml`` for each package.  One that no user would notice has a reason (``harmless``) in place of tests.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Mutant", "load", "problems"]

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one place in one file, and what must notice it.

    ``old`` stands exactly once in ``file``; ``tests`` are what pytest is given.  ``timeout`` is for a change that keeps
    a test from ending: running out of time then counts as being noticed.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    why: str = ""
    harmless: str = ""
    timeout: bool = False

    def applied(self, text: str) -> str | None:
        """The text of the file with the fault in it; None if ``old`` does not stand there exactly once."""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None


def load(directory: Path) -> list[Mutant]:
    """All mutants of the files in a directory, in the order in which they are written."""
    found = []
    for path in sorted(directory.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", []):
            try:
                found.append(Mutant(**{**entry, "tests": tuple(entry.get("tests", ()))}))
            except TypeError as error:
                raise ValueError(f"{path.name}: {entry.get('name', 'a mutant without a name')}: {error}") from None
    return found


def problems(root: Path, mutants: Sequence[Mutant]) -> list[str]:
    """What is wrong with a list of mutants of the project at ``root``: a line for each."""
    names = Counter(mutant.name for mutant in mutants)
    found = [f"{name}: {count} mutants have this name" for name, count in names.items() if count > 1]
    for mutant in mutants:
        found.extend(f"{mutant.name}: {problem}" for problem in _problems(root, mutant))
    return found


def _problems(root: Path, mutant: Mutant) -> Iterable[str]:
    if not _NAME.fullmatch(mutant.name):
        yield "a name is lower case with hyphens"
    if bool(mutant.tests) == bool(mutant.harmless):
        yield "a mutant has either tests or a reason why it is harmless"
    if mutant.tests and not mutant.why:
        yield "it does not say what would go wrong"
    path = root / mutant.file
    if not path.is_file():
        yield f"there is no {mutant.file}"
        return
    changed = mutant.applied(_text(path))
    if changed is None:
        yield f"its old text stands {_text(path).count(mutant.old)} times in {mutant.file}, not once"
    elif changed == _text(path):
        yield "it changes nothing"
    elif not _parses(changed):
        yield "the changed file is no Python"
    for test in mutant.tests:
        if not _exists(root, test):
            yield f"there is no test {test}"


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _exists(root: Path, test: str) -> bool:
    """Whether a test file exists and defines the class and the function that are named, whatever their parameters."""
    file, *names = test.partition("[")[0].split("::")
    path = root / file
    return path.is_file() and "::".join(names) in _definitions(path)


@cache
def _definitions(path: Path) -> frozenset[str]:
    """The functions and classes of a file, methods as Class::method; "" stands for all of them."""
    found = {""}
    for node in ast.parse(_text(path)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef))
    return frozenset(found)
