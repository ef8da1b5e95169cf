"""Directories on the disk: a file that was made or renamed is durable once its directory is."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["sync_directory"]


def sync_directory(path: Path) -> None:
    """Return when the names in a directory are on the disk."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
