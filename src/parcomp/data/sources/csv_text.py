"""CSV text, by one strict grammar: RFC 4180 in UTF-8, so that a file has one reading or none.

What counts as a row decides what a count is, and a reader that guesses, or that starts in the middle of a file to be
quick, can take a line within quotes for a row, or lose all rows after a line that it cannot read.  Then two tables that
differ by one row differ by many.  So every byte of a file is read in order, in all columns, and a file that is not well
formed is refused with the line at which it ceases to be:

- Fields are separated by commas, or by another character that is declared, and rows by newlines, all LF or all CR LF;
  the last row may lack its newline.
- A field is in double quotes as a whole or not at all.  Within quotes a quote is doubled, and commas, CR and LF stand
  for themselves; without quotes there is none of them.  No blank is skipped.
- Every row has as many fields as the first, which has the names; one column may be without.  An empty line is a row
  of one empty field.
- All is UTF-8, with or without a byte order mark, and no character is NUL.  Text in another encoding is turned into
  UTF-8 before (:mod:`parcomp.data.sources.byte_stream`).

An empty field is null, and an empty field in quotes is the empty string.  Lines are counted as a text editor does: an
LF within quotes begins one too.

Memory is bounded by a chunk and the longest field of a column that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from parcomp.data.sources import _csv_kernels as kernels
from parcomp.data.sources.byte_stream import ByteStream
from parcomp.errors import DataError, one_line

__all__ = ["CHUNK_BYTES", "COMPILED_FROM", "CsvText"]

CHUNK_BYTES = 2**20
"""How many bytes of a file are read at a time."""

COMPILED_FROM = 100_000
"""The size of a file, in bytes, from which the kernel is run compiled: to load the compiler takes longer than to read a
smaller file with the same function as it stands, in Python."""

_MOST_ROWS = 2**15
"""The most rows of a record batch."""

_PROBLEMS = {
    kernels.NOT_UTF8: "bytes that are not UTF-8; declare their encoding under [source], or convert the file",
    kernels.NUL: "a NUL, which no text holds",
    kernels.STRAY_QUOTE: "a quote in a field that does not begin with one; quote the field and double its quotes",
    kernels.AFTER_CLOSING_QUOTE: (
        "more of a field after its closing quote; double the quotes within a field, or declare the delimiter under "
        "[source]"
    ),
    kernels.STRAY_RETURN: "a CR that no LF follows; end lines with LF or CR LF, and quote fields that hold a CR",
    kernels.MIXED_NEWLINES: "another newline than that of the first line; end all lines alike",
    kernels.FIELD_COUNT: "not as many fields as the first line has names",
}


class CsvText:
    """CSV text from a stream of bytes, with the ``names`` of its columns read; its rows can be read once.

    The stream stays its owner's to close.
    """

    def __init__(
        self,
        stream: ByteStream,
        *,
        delimiter: str = ",",
        chunk_bytes: int = CHUNK_BYTES,
        compiled_from: int = COMPILED_FROM,
    ) -> None:
        self._stream = stream
        self._chunk_bytes = chunk_bytes
        self._state = np.zeros(kernels.STATE_SIZE, np.int64)
        self._state[kernels.LINE] = 1
        self._state[kernels.DELIMITER] = ord(delimiter)
        is_small = stream.size is not None and stream.size < compiled_from
        self._kernel = kernels.split_fields.py_func if is_small else kernels.split_fields
        self._rest = self._stream.read(3)
        if self._rest == b"\xef\xbb\xbf":
            self._rest = b""
        self.names = self._read_names()

    def rows(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, once, with these columns as text, called ``x0``, ``x1``, …; the others are checked as strictly."""
        kept = list(dict.fromkeys(names))
        slots = np.full(len(self.names), -1, np.int64)
        slots[[self.names.index(name) for name in kept]] = np.arange(len(kept))
        columns = [kept.index(name) for name in names]
        fields = _Fields(len(kept), _MOST_ROWS + 2)
        for chunk in self._chunks():
            start = 0
            while start < len(chunk):
                fields.make_room(len(chunk) - start)
                start = fields.split(self._kernel, chunk, start, slots, _MOST_ROWS, self._state)
                self._check_state()
                rows = int(self._state[kernels.ROWS])
                if rows:
                    arrays = fields.arrays(rows)
                    yield pa.RecordBatch.from_arrays(
                        [arrays[column] for column in columns], [f"x{number}" for number in range(len(columns))]
                    )
                    fields = fields.after(rows)
                    self._state[kernels.ROWS] = 0

    def _read_names(self) -> list[str]:
        """The names in the first row; what was read beyond it is kept for the rows."""
        fields = _Fields(1, 2)
        for chunk in self._chunks():
            fields.make_room(len(chunk), more_fields=len(chunk))
            stop = fields.split(self._kernel, chunk, 0, np.zeros(0, np.int64), 1, self._state)
            self._check_state()
            if self._state[kernels.ROWS]:
                self._rest = chunk[stop:]
                break
        self._state[kernels.ROWS] = 0
        names = [name or "" for name in fields.arrays(int(fields.counts[0]))[0].to_pylist()]
        # Programs that number the rows give that column no name, which is no attribute's either.
        if names in ([], [""]) and not self._rest:
            raise DataError(f"{one_line(self._stream.place)}: the file is empty; its first line must be names")
        if not any(names) or len({name.casefold() for name in names}) != len(names):
            raise DataError(
                f"{one_line(self._stream.place)}: the first line must be names, each another one, whatever their case"
            )
        return names

    def _chunks(self) -> Iterator[bytes]:
        """What is left of the file, and at last the newline that the last row may lack."""
        if self._rest:
            rest, self._rest = self._rest, b""
            yield rest
        while chunk := self._stream.read(self._chunk_bytes):
            yield chunk
        state = self._state
        if state[kernels.PLACE] == kernels.IN_QUOTES:
            self._refuse("a quote that is never closed", int(state[kernels.OPENED]))
        if state[kernels.PLACE] == kernels.AFTER_RETURN:
            self._refuse(_PROBLEMS[kernels.STRAY_RETURN], int(state[kernels.LINE]))
        if state[kernels.PLACE] != kernels.AT_START or state[kernels.COLUMN]:
            yield b"\r\n" if state[kernels.NEWLINE] == kernels.CRLF else b"\n"

    def _check_state(self) -> None:
        problem = int(self._state[kernels.PROBLEM])
        if problem:
            self._refuse(_PROBLEMS[problem], int(self._state[kernels.LINE]))

    def _refuse(self, problem: str, line: int) -> NoReturn:
        raise DataError(f"{one_line(self._stream.place)}:{line}: {problem}")


class _Fields:
    """The kept fields of some rows, as the kernel writes them; see there."""

    def __init__(self, slots: int, most_fields: int) -> None:
        self.counts = np.zeros(slots, np.int64)
        self._used = np.zeros(slots, np.int64)
        self._data = np.empty((slots, 0), np.uint8)
        self._ends = np.empty((slots, most_fields), np.int64)
        self._ends[:, 0] = 0
        self._present = np.empty((slots, most_fields), np.bool_)

    def make_room(self, more_bytes: int, *, more_fields: int = 0) -> None:
        """Have room for so many bytes in each slot, and perhaps for more fields."""
        size = int(self._used.max(initial=0))
        if self._data.shape[1] < size + more_bytes:
            # At least twice as much, so that a long field is not copied for each chunk.
            room = max(size + more_bytes, 2 * size)
            self._data = _widened(self._data, size, room)
        if more_fields:
            size = self._ends.shape[1]
            self._ends = _widened(self._ends, size, size + more_fields)
            self._present = _widened(self._present, size, size + more_fields)

    def split(self, kernel: Callable[..., int], chunk: bytes, *arguments: Any) -> int:
        """Where the kernel stopped in the chunk; it gets these arguments after the chunk."""
        written = self._data, self._ends, self._present, self.counts, self._used
        return kernel(np.frombuffer(chunk, np.uint8), *arguments, *written)

    def arrays(self, rows: int) -> list[pa.Array]:
        """The first fields of each slot, as text."""
        return [
            pa.Array.from_buffers(
                pa.large_string(),
                rows,
                [
                    pa.py_buffer(np.packbits(self._present[slot, :rows], bitorder="little")),
                    pa.py_buffer(self._ends[slot, : rows + 1]),
                    pa.py_buffer(self._data[slot, : self._used[slot]]),
                ],
            )
            for slot in range(len(self.counts))
        ]

    def after(self, rows: int) -> _Fields:
        """What follows so many fields of each slot, in arrays of its own: one more that has ended, or part of one."""
        rest = _Fields(len(self.counts), self._ends.shape[1])
        starts = self._ends[np.arange(len(self.counts)), rows]
        rest.counts[:] = self.counts - rows
        rest._used[:] = self._used - starts
        rest._data = np.empty((len(self.counts), int(rest._used.max(initial=0))), np.uint8)
        for slot, (start, count) in enumerate(zip(starts, rest.counts, strict=True)):
            rest._data[slot, : rest._used[slot]] = self._data[slot, start : self._used[slot]]
            rest._ends[slot, 1 : count + 1] = self._ends[slot, rows + 1 : rows + count + 1] - start
            rest._present[slot, :count] = self._present[slot, rows : rows + count]
        return rest


def _widened(array: np.ndarray[Any, Any], used: int, width: int) -> np.ndarray[Any, Any]:
    """A wider array with the same first columns."""
    wider = np.empty((array.shape[0], width), array.dtype)
    wider[:, :used] = array[:, :used]
    return wider
