"""Kernels: plain functions on arrays that numba compiles, but not before one of them is called.

Importing numba and loading compiled code takes longer than a small workload does.  So a kernel is only marked as such
where it is defined, and whoever never calls one never pays for numba.  The first call makes numba's dispatchers of all
kernels known by then and puts them in their places, in each module that defines or imports kernels, so that kernels
find each other and later calls go straight to compiled code.

Compiled code is kept on disk, beside the modules or where ``NUMBA_CACHE_DIR`` says (:mod:`parcomp._kept_code`).  Numba
itself looks whether the file of a function has changed, not whether the files of the functions it calls have.  Here
what is kept is named by a stamp: the content of a kernel's module and of all modules of this package that it imports,
directly or by way of others, as they were when the module was loaded.  So stale code is never run.  That holds since
kernels take what they use from modules at their top, by plain imports.
"""

from __future__ import annotations

import hashlib
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock, current_thread, main_thread
from typing import Any, Final

__all__ = ["Kernel", "float_kernel", "inlined", "inner_kernel", "intrinsic", "kernel", "known", "sources"]

_IMPORT = re.compile(rb"^(?:from|import) +([\w.]+)(?: +import +(\w+))?", re.MULTILINE)
_unbound: list[Kernel] = []
known: Final[list[Kernel]] = []
"""All kernels of modules that were imported."""

_lock = Lock()


class Kernel:
    """A function to be compiled.  ``py_func`` is the function itself, and ``make`` turns it into numba's."""

    __slots__ = ("_compiled", "make", "py_func")

    def __init__(self, py_func: Any, make: Callable[[Any], Any]) -> None:
        self.py_func, self.make = py_func, make
        self._compiled: Any = None
        _unbound.append(self)
        known.append(self)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return self.compiled(*arguments)

    @property
    def compiled(self) -> Any:
        """Numba's dispatcher of the function."""
        if self._compiled is None:
            _bind()
        return self._compiled

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__module__}.{self.py_func.__name__}>"


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark a function as a kernel that Python calls; it runs without the interpreter's lock."""
    return _marked(function)


def inner_kernel(function: Callable[..., Any]) -> Kernel:
    """Mark a function as a kernel that only other kernels call, which spares the code that Python would need."""
    return _marked(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def float_kernel(function: Callable[..., Any]) -> Kernel:
    """Mark an inner kernel on floats of which nothing sound depends: sums are reordered, and nothing is checked."""
    return _marked(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath=True, error_model="numpy")


def inlined(function: Callable[..., Any]) -> Kernel:
    """Mark a function whose lines stand in for each call of it in a kernel."""
    return _marked(function, inline="always")


def intrinsic(function: Callable[..., Any]) -> Kernel:
    """Mark a function that writes machine instructions: see :func:`numba.extending.intrinsic`."""

    def make(function: Callable[..., Any]) -> Any:
        from numba.extending import intrinsic  # noqa: PLC0415  a process that calls no kernel has no need of numba

        return intrinsic(function)

    return Kernel(function, make)


def _marked(function: Callable[..., Any], **options: Any) -> Kernel:
    # Taken when the module is loaded: the file may be another one by the time of the first call.
    stamp = _stamp(function.__module__)

    def make(function: Callable[..., Any]) -> Any:
        from parcomp._kept_code import compiled  # noqa: PLC0415  as above

        return compiled(function, stamp, **options)

    return Kernel(function, make)


def _bind() -> None:
    """Make numba's objects of all kernels known, and put them in the kernels' places."""
    with _lock, _uninterrupted():
        for made in _unbound:
            made._compiled = made.make(made.py_func)
        for namespace in {id(made.py_func.__globals__): made.py_func.__globals__ for made in _unbound}.values():
            for name, value in namespace.items():
                if isinstance(value, Kernel):
                    namespace[name] = value._compiled
        _unbound.clear()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait: a numba that is half imported is of no more use to the process."""
    if current_thread() is not main_thread():
        yield
        return
    pressed = False

    def note(*_: object) -> None:
        nonlocal pressed
        pressed = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@cache
def sources(module: str) -> frozenset[Path]:
    """The file of a module and those of all modules of its package that it imports, directly or by way of others."""
    own = Path(str(sys.modules[module].__file__))
    package = module.partition(".")[0]
    found, waiting = {own}, [own]
    while waiting:
        for match in _IMPORT.finditer(waiting.pop().read_bytes()):
            source, member = (part.decode() if part else "" for part in match.groups())
            if source.partition(".")[0] == package:
                # What a package's own file imports for others is no concern of the module.
                path = _file(f"{source}.{member}") or _file(source)
                if path is not None and path not in found:
                    found.add(path)
                    waiting.append(path)
    return frozenset(found)


def _file(module: str) -> Path | None:
    """The file of a module, looked for and not imported: its package may be in the midst of that."""
    package, *parts = module.split(".")
    for root in getattr(sys.modules.get(package), "__path__", ()):
        base = Path(root).joinpath(*parts)
        for path in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
            if path.is_file():
                return path
    return None


@cache
def _stamp(module: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(sources(module)):
        content = path.read_bytes()
        digest.update(b"%d " % len(content) + content)
    return digest.hexdigest()
