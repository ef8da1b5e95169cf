"""A source: a table as it is stored, which is read once, from its first row to its last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa

from parcomp.errors import DataError, ParcompError, one_line

__all__ = ["BATCH_ROWS", "WRITTEN", "Source", "as_written", "check_names", "telling_nothing"]

BATCH_ROWS = 2**16
"""How many rows are read at a time, about."""

WRITTEN = pa.large_binary()
"""The type in which values that are no text come as their engine writes them: no text in the column stands for null."""


class Source(ABC):
    """A table that is open for reading; ``types`` are the types of its columns, all text in a CSV file."""

    types: Mapping[str, pa.DataType]

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, once, with these columns as ``x0``, ``x1``, …."""

    @property
    def share(self) -> float | None:
        """How much was read, from 0 to 1; None where that is not known."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def check_names(place: str, names: Sequence[str]) -> None:
    """Refuse columns that are told apart by their case at most."""
    folded = [name.casefold() for name in names]
    alike = [name for name in names if folded.count(name.casefold()) > 1]
    if alike:
        raise DataError(
            f"{one_line(place)}: the columns {one_line(', '.join(alike))} have the same name or differ in case only; "
            "give each another one"
        )


def as_written(batch: pa.RecordBatch, written: Sequence[bool]) -> pa.RecordBatch:
    """A batch in which these columns, that came as text, are of the type for values as an engine writes them."""
    arrays = [
        array.cast(pa.large_string()).cast(WRITTEN) if is_written else array
        for array, is_written in zip(batch.columns, written, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


@contextmanager
def telling_nothing(what: str) -> Iterator[None]:
    """An error of an engine becomes one that is the same for all rows: the engine's may quote one of them."""
    try:
        yield
    except ParcompError:
        raise
    except Exception:
        raise DataError(f"{one_line(what)} could not be read to its end; the engine's own log says why") from None
