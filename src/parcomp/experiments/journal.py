"""What a run has measured so far, a line for each instance, durable line by line.

A line is on the disk before its worker gets the next instance, so a run that is killed loses at most one instance of
each worker.  A line that was cut off by the end of its process is no line: it is removed when the journal is opened.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from parcomp.errors import FileError

__all__ = ["Journal"]


class Journal:
    """The journal at a path, which is made if it is not there; one process at a time has it open."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise FileError(path, "another run is writing it; let that end, or choose another --out") from None
        self._entries: dict[str, dict[str, Any]] = {}
        self._read()
        _make_durable(path.parent)

    def _read(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        for line in content[:whole].splitlines():
            try:
                entry = json.loads(line)
                self._entries[_text(entry["key"])] = entry
            except (ValueError, KeyError, TypeError):
                # A machine that lost power may leave a block of zeros; what it stood for is measured again.
                continue
        if whole < len(content):
            self._file.truncate(whole)

    def get(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """What was entered under a key."""
        return self._entries.get(_text(key))

    def enter(self, key: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
        """Write an entry; when this returns it is on the disk."""
        whole = {"key": dict(key), **entry}
        self._file.write(json.dumps(whole, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._entries[_text(key)] = whole

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _text(key: Mapping[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)


def _make_durable(directory: Path) -> None:
    """Make the names in a directory durable: that of a file is no part of the file."""
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
