"""Kernels are compiled when they are first called, and never run stale."""

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

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


def run(path, code, **environment):
    ran = subprocess.run(
        [sys.executable, "-c", code],
        # Python knows an edit by its second and its size, and these come within one.
        env={"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def write(package, step, factor):
    (package / "_inner_kernels.py").write_text(INNER.format(step=step))
    (package / "_outer_kernels.py").write_text(OUTER.format(package=package.name))
    (package / "layout.py").write_text(f"FACTOR = {factor}\n")


CALL = "print(outer.twice(1), sum(outer.twice.stats.cache_hits.values()))"
CODE = f"from steps import _outer_kernels as outer; outer.twice(1); {CALL}"


@pytest.fixture
def package(tmp_path):
    package = tmp_path / "steps"
    package.mkdir()
    (package / "__init__.py").write_text("")
    shutil.copytree(Path(parcomp.__file__).parent, tmp_path / "parcomp", ignore=shutil.ignore_patterns("__pycache__"))
    return package


def test_a_change_in_a_callee_or_a_constant_of_another_module_is_seen(tmp_path, package):
    """And without a change, what was compiled is loaded."""
    expected = [((1, 1), "3"), ((1, 1), "3"), ((2, 1), "5"), ((2, 10), "50")]
    hits = []
    for (step, factor), result in expected:
        write(package, step, factor)
        answer, hit = run(tmp_path, CODE)
        assert answer == result
        hits.append(hit)
    assert hits == ["0", "1", "0", "0"]


def test_what_could_not_be_written_leaves_no_stale_code_behind(tmp_path, package):
    """A disk that is full after the index was written, with the code of another version beside it."""
    write(package, 1, 1)
    assert run(tmp_path, CODE)[0] == "3"
    write(package, 2, 1)
    full = """
from numba.core.caching import IndexDataCacheFile
def fail(*_):
    raise OSError("no space left on device")
IndexDataCacheFile._save_data = fail
"""
    assert run(tmp_path, full + CODE)[0] == "5"
    assert run(tmp_path, CODE)[0] == "5"
    assert len([*package.rglob("_outer_kernels.twice-*.nbi")]) == 1


def test_code_is_stamped_by_the_source_that_was_loaded(tmp_path, package):
    """A package that is upgraded under a running process, before its first call of a kernel."""
    write(package, 1, 1)
    # Of another length: Python itself tells sources apart by length and by second.
    inner = INNER.format(step=10)
    code = (
        "from steps import _outer_kernels as outer; from pathlib import Path; "
        f"Path({str(package / '_inner_kernels.py')!r}).write_text({inner!r}); outer.twice(1); {CALL}"
    )
    assert run(tmp_path, code)[0] == "3"
    assert run(tmp_path, CODE)[0] == "21"


def test_without_a_place_to_keep_code_it_is_compiled_all_the_same(tmp_path, package):
    write(package, 1, 1)
    assert run(tmp_path, CODE, NUMBA_CACHE_LOCATOR_CLASSES="ZipCacheLocator") == ["3", "0"]


def test_ctrl_c_while_numba_is_imported_waits_for_its_end(tmp_path, package):
    """The interrupt is told, and the process can go on.

    It is sent when one of numba's own modules is looked for: a timer would at times be late, and an interrupt of the
    compilation that follows may be lost in a callback of LLVM.
    """
    write(package, 1, 1)
    code = f"""
import os, signal, sys
from steps import _outer_kernels as outer

class Interrupting:
    sent = False

    def find_spec(self, name, path=None, target=None):
        if name.startswith("numba.core.") and not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
told = 0
for _ in range(2):
    try:
        outer.twice(1)
    except KeyboardInterrupt:
        told += 1
print(told)
{CALL}
"""
    assert run(tmp_path, code)[:2] == ["1", "3"]


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
    import_module("parcomp.overlap.value._search_kernels")
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
