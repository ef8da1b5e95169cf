"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["check_writable", "write_whole"]


def check_writable(path: Path) -> None:
    """Fail now if a file could not be written later; what is there stays as it is."""
    if path.exists():
        path.open("a", encoding="utf-8").close()
    if _is_replaced(path):
        with _beside(path) as beside:
            beside.open("w", encoding="utf-8").close()


def write_whole(path: Path, text: str) -> None:
    """Write a file beside the one that is wanted, and put it in its place: nobody ever sees half of it."""
    if not _is_replaced(path):
        path.write_text(text, encoding="utf-8")
        return
    with _beside(path) as beside:
        beside.write_text(text, encoding="utf-8")
        if path.exists():
            shutil.copymode(path, beside)
        # A link stays one.
        os.replace(beside, path.resolve())


def _is_replaced(path: Path) -> bool:
    """Whether another file may take the place of this one: not of a pipe, a device or what /dev leads to."""
    return not path.exists() or (path.is_file() and path.absolute().parts[1] not in {"dev", "proc"})


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A file in the same folder, which is gone afterwards; errors name the file that is wanted."""
    place = path.resolve()
    beside = place.with_name(f".parcomp-{os.getpid()}.part")
    try:
        yield beside
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        beside.unlink(missing_ok=True)
