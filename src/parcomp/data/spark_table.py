"""Tables in Spark: a Parquet file or a table of the catalog, coded and counted there.

The coded rows are computed when the table is opened and held by the executors, in memory or on their disks, without a
way back to the source: no predicate can be moved below a cast, and what is lost with an executor is not read again.
Measuring then fails, whatever is asked, until the table is opened again.

Spark has one context in a process.  Each table gets a session of its own in it, with the settings on which the SQL of
this package relies; the context itself ends with the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
from pyspark.sql import DataFrame, SparkSession

from parcomp.data.codes import code_rows
from parcomp.data.columns import match_columns, select_columns
from parcomp.data.dialect import SPARK
from parcomp.data.sql_table import CODED_ROWS, Table
from parcomp.errors import DataError, one_line
from parcomp.model import Domain

__all__ = ["SparkTable"]

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

_SOURCE = "parcomp_source"


class SparkTable(Table):
    """The Parquet file at ``path`` or the table ``table`` of the catalog, as the Spark at ``master`` reads it."""

    def __init__(self, master: str, domain: Domain, *, path: str | None = None, table: str | None = None) -> None:
        self._session = _session(master)
        try:
            frame: DataFrame = self._session.read.parquet(path) if path else self._session.table(table or "")
            # In the session of this table alone.
            frame.createOrReplaceTempView(_SOURCE)
            backend = ibis.pyspark.connect(self._session)
            source = backend.table(_SOURCE)
            types = source.schema()
        except Exception:
            raise DataError(f"Spark cannot open {one_line(path or table or '')}; its own log says why") from None
        columns = match_columns(domain, types)
        sql = backend.compile(select_columns(source, columns))
        super().__init__(domain, code_rows(domain, columns, sql, SPARK), SPARK)

    def _code_rows(self) -> None:
        self._session.sql(self._rows.sql).localCheckpoint(eager=True).createOrReplaceTempView(CODED_ROWS)
        self._session.catalog.dropTempView(_SOURCE)

    def _make_ready(self) -> None:
        """Nothing to do: what executors have lost is not read again, and whether it is all there takes a full scan."""

    def _run(self, sql: str) -> Sequence[Sequence[Any]]:
        return list(self._session.sql(sql).collect())

    def _disconnect(self) -> None:
        # Spark lets go of the rows when nothing refers to them any more.
        self._session.catalog.dropTempView(CODED_ROWS)


def _session(master: str) -> SparkSession:
    try:
        builder: Any = SparkSession.builder
        builder = builder.master(master).appName("parcomp").config("spark.ui.enabled", "false")
        if master.startswith("local"):
            builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "4")
        session: SparkSession = builder.getOrCreate().newSession()
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
    except Exception:
        raise DataError(f"Spark cannot be started at {one_line(master)}; it needs Java 17 on the PATH") from None
    return session
