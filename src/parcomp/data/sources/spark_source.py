"""Sources in Spark: a Parquet file or a table of the catalog.

The rows stay with Spark: what turns a batch of stored values into codes is sent to its executors
(:meth:`SparkSource.encoded`), where this package must be installed.  Spark has one context in a process; each source
gets a session of its own in it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from parcomp.data.sources.source import Source, telling_nothing
from parcomp.data.sources.sql_types import UNREAD
from parcomp.errors import DataError, one_line

__all__ = ["SparkSource", "spark_session"]

_SETTINGS = {
    # A cast that fails is an error, never a null in the middle of an expression.
    "spark.sql.ansi.enabled": "true",
    # Columns that differ in case only are different columns.
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # Text such as ${…} in the name of a column stands for itself.
    "spark.sql.variable.substitute": "false",
    # A file that is damaged or gone is an error, and not a table with fewer rows.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


class SparkSource(Source):
    """The Parquet file at ``path`` or the table ``table`` of the catalog, as the Spark at ``master`` reads it."""

    def __init__(self, master: str, *, path: str | None = None, table: str | None = None) -> None:
        self._place = path or table or ""
        self.session = spark_session(master)
        try:
            frame = self.session.read.parquet(path) if path else self.session.table(self._place)
            self.types = {field.name: _arrow_type(field.dataType) for field in frame.schema.fields}
        except Exception:
            raise DataError(f"Spark cannot open {one_line(self._place)}; its own log says why") from None
        self._frame: DataFrame = frame

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, once, brought to this process."""
        with telling_nothing(self._place):
            yield from self._selected(columns).toArrow().to_batches()

    def encoded(
        self, columns: Sequence[str], encode: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], to: Any
    ) -> DataFrame:
        """The batches that ``encode`` makes of those with these columns, of the Spark schema ``to``."""
        return self._selected(columns).mapInArrow(lambda batches: map(_of_known_types, encode(iter(batches))), to)

    def collected(
        self, columns: Sequence[str], summarize: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    ) -> list[str]:
        """The texts that ``summarize`` makes of the batches with these columns, in a column ``text``."""
        with telling_nothing(self._place):
            return [text for (text,) in self.encoded(columns, summarize, "text string").collect()]

    def _selected(self, columns: Sequence[str]) -> DataFrame:
        quoted = (f"`{name.replace('`', '``')}`" for name in columns)
        return self._frame.select(*(self._frame[name].alias(f"x{i}") for i, name in enumerate(quoted)))

    def close(self) -> None:
        """Nothing to do: the context ends with the process."""


def _of_known_types(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch without bytes of a fixed number, of which Spark knows nothing."""
    arrays = [one.cast(pa.binary()) if pa.types.is_fixed_size_binary(one.type) else one for one in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def _arrow_type(kind: DataType) -> pa.DataType:
    try:
        return to_arrow_type(kind)
    except Exception:
        return UNREAD


def spark_session(master: str) -> SparkSession:
    """A session of its own at a master, with the settings that reading relies on."""
    try:
        builder: Any = SparkSession.builder
        builder = builder.master(master).appName("parcomp").config("spark.ui.enabled", "false")
        if master.startswith("local"):
            builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "4")
        session: SparkSession = builder.getOrCreate().newSession()
        if master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            # This program's Python has this package, which that on the PATH may not.
            session.sparkContext.pythonExec = sys.executable
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
    except Exception:
        raise DataError(f"Spark cannot be started at {one_line(master)}; it needs Java 17 on the PATH") from None
    return session
