"""Private copies of a project, in which a file can be changed for a while.

What is kept of compiled kernels is taken over; a kernel that a change reaches is compiled anew, as its stamp tells.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

__all__ = ["TIMED_OUT", "Copy"]

TIMED_OUT: Final = -1000
"""In place of an exit code."""

_COPIED = ("src", "tests", "benchmarks", "tools", "docs", "pyproject.toml")
_PLUGINS = ("pytest_timeout", "_hypothesis_pytestplugin")
"""The plugins that tests need; finding and loading all that are installed takes longer than most tests."""


class Copy:
    """A private copy of a project, to put mutants into."""

    def __init__(self, root: Path, directory: Path) -> None:
        self.root = directory
        for name in _COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, directory / name)
            elif (root / name).exists():
                shutil.copy2(root / name, directory / name)

    def run(self, tests: Sequence[str], limit: float) -> tuple[int, str]:
        """The exit code of pytest on some tests, and the end of what it printed."""
        # Its own limit for each test would look like a failure.
        options = ["-x", "-q", "--tb=line", "--timeout=0", "--hypothesis-seed=0", "-p", "no:cacheprovider"]
        options += [word for plugin in _PLUGINS for word in ("-p", plugin)]
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_CACHE", "PYTEST_"))
        }
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
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
        """Give a file another text, in a twin of the copy that takes its place for a while."""
        original = self.root
        self.root = original.with_name(f"{original.name}-changed")
        # Links, since what is replaced or compiled anew is written to a file of its own.
        shutil.copytree(original, self.root, copy_function=os.link)
        try:
            (self.root / file).unlink()
            (self.root / file).write_text(text, encoding="utf-8")
            yield
        finally:
            shutil.rmtree(self.root)
            self.root = original
