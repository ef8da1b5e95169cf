"""``parcomp warm-up`` leaves no kernel that Python calls to be compiled later."""

import re
from importlib import import_module
from pathlib import Path

import parcomp
from parcomp import jit
from parcomp.cli import main

ROOT = Path(parcomp.__file__).parent


def called_from_python():
    """The kernels that a module which is no kernel module names."""
    plain = [path for path in ROOT.rglob("*.py") if not path.name.endswith("kernels.py") and path.name != "bits.py"]
    words = {word for path in plain for word in re.findall(r"(?:kernels\.|import .*)\b(\w+)", path.read_text())}
    for path in plain:
        for names in re.findall(r"_kernels import \(?([^)]*?)\)?\n(?:\n|from|import)", path.read_text()):
            words |= set(re.findall(r"\w+", names))
    return words


def test_every_kernel_that_python_calls_is_warm_afterwards(capsys):
    assert main(["warm-up"]) == 0
    assert re.fullmatch(r"(Compiling, \d of \d: .+ … \d+ s\n)+Warm after \d+ s\n", capsys.readouterr().out)
    for path in ROOT.rglob("_*kernels.py"):
        import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))
    called = called_from_python()
    kernels = [one for one in jit.known if one.py_func.__name__ in called and one.py_func.__module__ != "parcomp.bits"]
    kernels = [one for one in kernels if one.py_func.__module__.startswith("parcomp.")]
    assert len(kernels) > 40
    kernels = [one for one in kernels if not one.compiled.targetoptions.get("no_cpython_wrapper")]
    assert [one for one in kernels if not one.compiled.signatures] == []
