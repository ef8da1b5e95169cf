"""Names of a package that are imported when they are first asked for.

Numba, SciPy and the database engines take longer to import than most workloads take to solve, so a package that exports
what stands on them says where each name is found and imports nothing by itself.  Type checkers read the imports that
the package has under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(
    package: str, names: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__all__``, ``__getattr__`` and ``__dir__`` of a package that exports these names of its modules.

    ``names`` has them by module, set apart by blanks.  ``dir`` lists what is in ``__all__`` and the names that Python
    itself gives a module, and nothing else.
    """
    places = {name: f"{package}.{module}" for module, listed in names.items() for name in listed.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        module = vars(sys.modules[package])
        return sorted({*module["__all__"], *(name for name in module if name.startswith("__"))})

    return sorted(places), get, listed
