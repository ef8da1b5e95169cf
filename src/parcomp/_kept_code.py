"""Compiled kernels on disk.  Imports numba, so nothing imports this before a kernel is called.

Numba keeps an index for each function, which names files of machine code, and writes the index before the code.  A
process that dies in between must not leave an index that names the code of another version.  So all names hold the
stamp of the source: what was compiled from other source is never looked at, and is removed when there is new code.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import IndexDataCacheFile

__all__ = ["compiled"]


class _KeptCode(IndexDataCacheFile):
    """The files of one kernel under one stamp."""

    def __init__(self, directory: str, name: str, stamp: str) -> None:
        super().__init__(directory, f"{name}.{stamp}", stamp)  # type: ignore[no-untyped-call]
        self._directory, self._name, self._stamp = Path(directory), name, stamp

    def _load_index(self) -> Any:
        # Types that are gone, or a file that was cut short: there is nothing kept.
        with suppress(Exception):
            return super()._load_index()  # type: ignore[no-untyped-call]
        return {}

    def _load_data(self, name: str) -> Any:
        with suppress(Exception):
            return super()._load_data(name)  # type: ignore[no-untyped-call]
        return None

    def save(self, key: Any, data: Any) -> None:
        # A full disk is no reason to stop: the code is there, and is compiled again next time.
        with suppress(OSError):
            super().save(key, data)  # type: ignore[no-untyped-call]
            for old in self._directory.glob(f"{self._name}.*.nb?"):
                if not old.name.startswith(f"{self._name}.{self._stamp}."):
                    old.unlink()


def compiled(function: Any, stamp: str, **options: Any) -> Any:
    """Numba's dispatcher of a function; without a place that can be written to, nothing is kept."""
    try:
        dispatcher = njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:
        return njit(nogil=True, **options)(function)
    kept = dispatcher._cache._cache_file
    dispatcher._cache._cache_file = _KeptCode(kept._cache_path, kept._index_name.removesuffix(".nbi"), stamp)
    return dispatcher
