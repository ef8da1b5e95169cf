"""Kernels are compiled when they are first called, and never run stale."""

import shutil
import subprocess
import sys
from pathlib import Path

import parcomp
from parcomp import jit

INNER = """
from parcomp.jit import inlined

@inlined
def step(x):
    return x + {step}
"""

OUTER = """
from parcomp.jit import kernel
from {package} import layout
from {package}._inner_kernels import step

@kernel
def twice(x):
    return step(step(x)) * layout.FACTOR
"""


def run(path, code):
    ran = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(path)}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def write(package, step, factor):
    (package / "_inner_kernels.py").write_text(INNER.format(step=step))
    (package / "_outer_kernels.py").write_text(OUTER.format(package=package.name))
    (package / "layout.py").write_text(f"FACTOR = {factor}\n")


def test_a_change_in_a_callee_or_a_constant_of_another_module_is_seen(tmp_path):
    """And without a change, what was compiled is loaded."""
    package = tmp_path / "steps"
    package.mkdir()
    (package / "__init__.py").write_text("")
    code = (
        "from steps import _outer_kernels as outer; result = outer.twice(1); "
        "print(result, sum(outer.twice.stats.cache_hits.values()))"
    )
    shutil.copytree(Path(parcomp.__file__).parent, tmp_path / "parcomp", ignore=shutil.ignore_patterns("__pycache__"))
    expected = [((1, 1), "3"), ((1, 1), "3"), ((2, 1), "5"), ((2, 10), "50")]
    hits = []
    for (step, factor), result in expected:
        write(package, step, factor)
        answer, hit = run(tmp_path, code)
        assert answer == result
        hits.append(hit)
    assert hits == ["0", "1", "0", "0"]


def test_a_changed_kernel_of_this_package_is_seen_by_its_callers(tmp_path):
    """On a copy, with all that was compiled before taken along."""
    copy = tmp_path / "parcomp"
    shutil.copytree(Path(parcomp.__file__).parent, copy)
    code = (
        "import numpy as np; from parcomp.overlap.masks._kernels import row_popcounts; "
        "print(*row_popcounts(np.array([[7, 0], [1, 1]], np.uint64)))"
    )
    assert run(tmp_path, code) == ["3", "2"]
    bits = copy / "bits.py"
    text = bits.read_text()
    assert text.count("np.int64(_ctpop(np.uint64(word)))") == 1
    bits.write_text(text.replace("np.int64(_ctpop(np.uint64(word)))", "np.int64(_ctpop(np.uint64(word))) + 1"))
    assert run(tmp_path, code) == ["5", "4"]
    bits.write_text(text)
    assert run(tmp_path, code) == ["3", "2"]


def test_the_sources_of_a_kernel_are_all_that_it_imports():
    """Through modules and through packages, each of them a file; nothing beyond."""
    names = {path.name for path in jit.sources("parcomp.overlap.value._search_kernels")}
    assert {"_search_kernels.py", "_level_kernels.py", "_proof_log_kernels.py", "layout.py", "jit.py"} <= names
    assert "engine.py" not in names


def test_marking_a_kernel_loads_nothing():
    """Importing every kernel of the package does not import numba."""
    root = Path(parcomp.__file__).parent
    modules = [
        ".".join(path.relative_to(root.parent).with_suffix("").parts) for path in sorted(root.rglob("_*kernels.py"))
    ]
    assert len(modules) > 20
    code = f"import sys, {', '.join(modules)}; print('numba' in sys.modules)"
    assert run(root.parent, code) == ["False"]
