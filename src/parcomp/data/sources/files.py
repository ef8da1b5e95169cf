"""Sources in CSV and Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import parquet

from parcomp.data.place import Reading
from parcomp.data.sources.byte_stream import FileStream, check_unchanged, fingerprint
from parcomp.data.sources.csv_text import CsvText
from parcomp.data.sources.source import BATCH_ROWS, Source, check_names, telling_nothing
from parcomp.errors import DataError, one_line

__all__ = ["CsvSource", "ParquetSource"]


class CsvSource(Source):
    """A CSV file, well formed by :mod:`parcomp.data.sources.csv_text`."""

    def __init__(self, path: str, reading: Reading) -> None:
        packed = path.lower().endswith(".gz") if not reading.compression else reading.compression == "gzip"
        self._stream = FileStream(path, encoding=reading.encoding, compression="gzip" if packed else "")
        try:
            self._text = CsvText(self._stream, delimiter=reading.delimiter)
        except BaseException:
            self.close()
            raise
        self.types = dict.fromkeys(self._text.names, pa.large_string())

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, once."""
        return self._text.rows(columns)

    @property
    def share(self) -> float:
        """How much of the file was read."""
        return self._stream.share

    def close(self) -> None:
        """Close the file."""
        self._stream.__exit__()


class ParquetSource(Source):
    """A Parquet file.

    Only its pages are read: what the file states of its rows besides, as the least and the largest value of a column,
    decides about none of them.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._read = 0
        try:
            self._opened_as = fingerprint(path)
            self._file = parquet.ParquetFile(path, coerce_int96_timestamp_unit="us")
        except (OSError, pa.ArrowException):
            raise DataError(f"{one_line(path)}: it cannot be opened as a Parquet file") from None
        schema = self._file.schema_arrow
        check_names(path, schema.names)
        self.types = dict(zip(schema.names, schema.types, strict=True))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, once."""
        names = [f"x{number}" for number in range(len(columns))]
        with telling_nothing(self._path):
            for batch in self._file.iter_batches(BATCH_ROWS, columns=list(dict.fromkeys(columns))):
                self._read += batch.num_rows
                yield pa.RecordBatch.from_arrays([batch.column(name) for name in columns], names)
            check_unchanged(self._path, self._opened_as, self._path)

    @property
    def share(self) -> float:
        """How many of the rows were read."""
        return float(self._read / max(self._file.metadata.num_rows, 1))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
