"""Bytes of text to read, wherever they come from and however they are packed, as UTF-8.

A file is read from its first byte to its last, and is refused if it was written to meanwhile: its rows could be from
two tables.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from abc import ABC, abstractmethod
from pathlib import Path

from parcomp.errors import DataError, one_line

__all__ = ["ByteStream", "FileStream", "check_unchanged", "fingerprint"]


class ByteStream(ABC):
    """Bytes in UTF-8, read once; ``place`` is what messages call them, ``size`` how many there are, if it is known."""

    place: str
    size: int | None = None

    @abstractmethod
    def read(self, size: int) -> bytes:
        """The next bytes, about as many as ``size``; none at the end."""


class FileStream(ByteStream):
    """A file of text; ``share`` is how much of it was read."""

    def __init__(self, path: str, *, encoding: str = "utf-8", compression: str = "") -> None:
        self.place = path
        try:
            self._file = io.FileIO(path)
        except (OSError, ValueError):
            raise DataError(f"{one_line(path)}: the file cannot be opened for reading") from None
        self._opened_as = fingerprint(self._file.fileno())
        self._unpacked = gzip.GzipFile(fileobj=self._file) if compression == "gzip" else self._file
        # A pipe has no size, and that of what is packed is not known.
        self.size = self._opened_as[0] or None if compression != "gzip" else None
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
        self._decoder = None if is_utf8 else codecs.getincrementaldecoder(encoding)()
        self._line = 1

    def __enter__(self) -> FileStream:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    @property
    def share(self) -> float:
        """How much of the file was read, from 0 to 1."""
        return min(self._file.tell() / self._opened_as[0], 1.0) if self._opened_as[0] else 1.0

    def read(self, size: int) -> bytes:
        """The next bytes; at the end it is looked at whether the file is still the one that was opened."""
        while True:
            packed = self._next(size)
            if not packed:
                check_unchanged(self.place, self._opened_as, self._file.fileno())
            text = packed if self._decoder is None else self._decoded(packed)
            if text or not packed:
                return text

    def _next(self, size: int) -> bytes:
        try:
            return self._unpacked.read(size) or b""
        except (OSError, EOFError, zlib.error):
            raise DataError(f"{one_line(self.place)}: the file cannot be read to its end") from None

    def _decoded(self, packed: bytes) -> bytes:
        assert self._decoder is not None
        try:
            text = self._decoder.decode(packed, final=not packed)
            # Some encodings have halves of characters, which are no text.
            encoded = text.encode()
        except UnicodeError as error:
            sound = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
            line = self._line + sound.count(b"\n")
            raise DataError(
                f"{one_line(self.place)}:{line}: bytes that are not in the encoding that is declared; "
                "declare the file's in [source], or convert it"
            ) from None
        self._line += text.count("\n")
        return encoded


def fingerprint(file: int | str | Path) -> tuple[int, ...]:
    """What differs once a file, of this descriptor or path, was written to or replaced; its size comes first."""
    status = os.stat(file)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_dev, status.st_ino


def check_unchanged(path: str, before: tuple[int, ...], file: int | str) -> None:
    """Refuse a file that was written to since: its rows may be from two tables."""
    if fingerprint(file) != before:
        raise DataError(f"{one_line(path)}: the file changed while it was read; open it again")
