"""Private copies of a project, in which a file can be changed for a while.

Numba's cache does not see that a kernel, or a constant that kernels use, has changed in another module.  So what is
cached of a changed module, and of every module that imports it in however many steps, is set aside while the change
lasts, and what was compiled meanwhile is thrown away.  Caches that are older than a source they depend on are not taken
over into a copy at all.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final

import psutil

__all__ = ["TIMED_OUT", "Copy"]

TIMED_OUT: Final = -1000
"""In place of an exit code."""

_COPIED = ("src", "tests", "benchmarks", "experiments", "docs", "pyproject.toml")
_CODE = ("src", "tests", "benchmarks", "experiments")


class Copy:
    """A private copy of a project, to put mutants into."""

    def __init__(self, root: Path, directory: Path) -> None:
        self.root = directory
        for name in _COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, directory / name)
            elif (root / name).exists():
                shutil.copy2(root / name, directory / name)
        for source in self._imports:
            changed = source.stat().st_mtime
            for cached in self._cached(source):
                if cached.stat().st_mtime < changed:
                    cached.unlink()

    def run(self, tests: Sequence[str], limit: float) -> tuple[int, str]:
        """The exit code of pytest on some tests, and the end of what it printed."""
        # Its own limit for each test would look like a failure.
        options = ["-x", "-q", "--tb=line", "--timeout=0", "--hypothesis-seed=0", "-p", "no:cacheprovider"]
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_CACHE", "PYTEST_"))
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=self.root,
            env=environment | {"PYTHONPATH": str(self.root / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.communicate()
            return TIMED_OUT, f"no end after {limit:.0f} seconds"
        finally:
            # What Hypothesis remembers of one mutant must not help to find another.
            shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)
        return process.returncode, " | ".join(output.strip().splitlines()[-3:])

    @contextmanager
    def changed(self, file: str, text: str) -> Iterator[None]:
        """Give a file another text, and put everything back at the end."""
        source, aside = self.root / file, self.root / "aside"
        aside.mkdir()
        kept = {cached: aside / f"{number}" for number, cached in enumerate([source, *self._cached(source)])}
        for path, safe in kept.items():
            path.rename(safe)
        try:
            source.write_text(text, encoding="utf-8")
            yield
        finally:
            for made in (source, *self._cached(source)):
                made.unlink()
            for path, safe in kept.items():
                safe.rename(path)
            aside.rmdir()

    def _cached(self, source: Path) -> list[Path]:
        """What is cached, compiled by Python or by numba, of a module and of all that import it."""
        reached, waiting = {source}, [source]
        while waiting:
            more = self._importers[waiting.pop()] - reached
            reached |= more
            waiting.extend(more)
        return [found for path in reached for found in (path.parent / "__pycache__").glob(f"{path.stem}.*")]

    @cached_property
    def _importers(self) -> Mapping[Path, set[Path]]:
        found: dict[Path, set[Path]] = defaultdict(set)
        for source, imported in self._imports.items():
            for one in imported:
                found[one].add(source)
        return found

    @cached_property
    def _imports(self) -> Mapping[Path, set[Path]]:
        """Every module, with those that it names in an import.

        A package whose module is imported is run too, but no kernel sees anything of it that is not named.
        """
        modules = {_module(self.root, path): path for top in _CODE for path in (self.root / top).rglob("*.py")}
        found: dict[Path, set[Path]] = {}
        for module, path in modules.items():
            package = module if path.stem == "__init__" else module.rpartition(".")[0]
            names = _imported(ast.parse(path.read_text(encoding="utf-8")), package)
            found[path] = {modules[name] for name in names if name in modules}
        return found


def _module(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[parts[0] == "src" : -1 if parts[-1] == "__init__" else None])


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """The names that a module imports: some of modules, some of what modules hold."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
