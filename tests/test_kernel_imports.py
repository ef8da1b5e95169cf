"""Compiled kernels: what a kernel module may import, and that code kept on disk never outlives what it was made of."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
KERNEL_MODULES = sorted((SOURCE / "parcomp").rglob("_*kernels.py"))
LIBRARIES = {"__future__", "math", "numpy", "typing"}
TOOLS = {"parcomp.bits", "parcomp.jit"}

LAYOUT = """from typing import NamedTuple

import numpy as np

FACTOR = {factor}


class {name}(NamedTuple):
    numbers: np.ndarray
"""
KERNELS = """from parcomp.jit import kernel
from pkg import layout


@kernel
def total(box):
    return box.numbers.sum() * layout.FACTOR
"""
CALL = "import numpy as np; from pkg import _kernels, layout; print(_kernels.total(layout.{name}(np.arange(5))))"


def imports(path):
    """The modules that the module at a path imports, one for each name that is itself a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            for alias in node.names:
                inner = SOURCE.joinpath(*node.module.split("."), f"{alias.name}.py")
                yield f"{node.module}.{alias.name}" if inner.exists() else node.module


def is_compiled_in(module):
    """Whether the content of a module is part of the stamp that kept code has, or never changes it."""
    name = module.rpartition(".")[2]
    return module in TOOLS or module.partition(".")[0] in LIBRARIES or name.endswith("kernels") or name == "layout"


@pytest.mark.parametrize("path", KERNEL_MODULES, ids=lambda path: str(path.relative_to(SOURCE / "parcomp")))
def test_kernel_modules_import_only_what_is_compiled_with_them(path):
    """Kept code is stamped by the kernel modules and layouts it is made of: nothing else may enter it."""
    assert [module for module in imports(path) if not is_compiled_in(module)] == []
    top_level = [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert all(node.col_offset == 0 for node in top_level)
    # The stamp follows the first name of an import, which is enough as long as a module is imported on its own.
    for node in top_level:
        if isinstance(node, ast.ImportFrom) and len(node.names) > 1:
            folder = SOURCE.joinpath(*node.module.split("."))
            assert not any(folder.joinpath(f"{alias.name}.py").exists() for alias in node.names)


def test_there_are_kernel_modules():
    """The rule above is held against something."""
    assert len(KERNEL_MODULES) > 20


def run(folder, name, factor):
    """What a process prints that calls the kernel, with a layout of this name and factor."""
    (folder / "pkg" / "layout.py").write_text(LAYOUT.format(name=name, factor=factor))
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(name=name)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{folder}:{SOURCE}", "NUMBA_CACHE_DIR": str(folder / "cache")},
    )
    return done.stdout.strip() or done.stderr


def test_kept_code_follows_the_layout(tmp_path):
    """A constant or the name of a layout's type may change: what was kept is neither run nor in the way."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "_kernels.py").write_text(KERNELS)
    assert run(tmp_path, "Box", 2) == "20"
    assert list((tmp_path / "cache").rglob("*.nbi"))
    assert run(tmp_path, "Box", 3) == "30"
    assert run(tmp_path, "Chest", 4) == "40"
