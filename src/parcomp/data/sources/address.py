"""How a source is opened by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parcomp.data.place import Reading, is_postgres, is_spark
from parcomp.data.sources.source import Source
from parcomp.errors import DataError, one_line

__all__ = ["installed", "open_source", "spark_address"]

_SUFFIXES = (".parquet", ".csv", ".csv.gz", ".duckdb", ".db")


def open_source(source: str, table: str | None, reading: Reading) -> Source:
    """Open the table at an address.

    It is one of

    - ``PATH.parquet``, ``PATH.csv`` or ``PATH.csv.gz``: a file that is one table, whatever ``table`` calls it;
    - ``PATH.duckdb`` or ``PATH.db``: a DuckDB file, opened read-only, with ``table`` in it;
    - ``postgresql://USER@HOST:PORT/DATABASE``: a PostgreSQL database with ``table`` in it;
    - ``spark://local[N]`` or ``spark://HOST:PORT``: a Spark master with ``table`` in its catalog;
    - ``spark://local[N]/PATH.parquet`` or ``spark://HOST:PORT/PATH.parquet``: a file that Spark reads; the path is
      absolute, and without a master, as in ``spark:///PATH.parquet``, Spark runs on this machine.

    ``table`` may be ``SCHEMA.TABLE``.
    """
    # Each of these loads its engine's library, and only the one that is asked for is loaded.
    if is_postgres(source):
        with installed("postgres"):
            from parcomp.data.sources.postgres_source import PostgresSource  # noqa: PLC0415

        return PostgresSource(source, _given(source="a PostgreSQL database", table=table))
    if is_spark(source):
        master, path = spark_address(source)
        with installed("spark"):
            from parcomp.data.sources.spark_source import SparkSource  # noqa: PLC0415

        if path is None:
            return SparkSource(master, table=_given(source="a Spark catalog", table=table))
        return SparkSource(master, path=path)
    if "://" in source:
        scheme = one_line(source.partition("://")[0])
        raise DataError(f"{scheme}:// is not a source; there are postgresql://, spark:// and files")
    return _open_file(source, table, reading)


@contextmanager
def installed(extra: str) -> Iterator[None]:
    """Name the extra to install where an import within this fails."""
    try:
        yield
    except ImportError:
        raise DataError(f"this source needs more to be installed: pip install 'parcomp[{extra}]'") from None


def spark_address(source: str) -> tuple[str, str | None]:
    """The master and the absolute path of the file, if there is one."""
    authority, slash, path = source.removeprefix("spark://").partition("/")
    master = authority or "local[*]"
    if not master.startswith("local"):
        master = f"spark://{master}"
    if path and not path.lower().endswith(".parquet"):
        raise DataError("a file that Spark reads ends in .parquet; other tables are named with table")
    return master, slash + path if path else None


def _open_file(source: str, table: str | None, reading: Reading) -> Source:
    name = source.lower()
    if not name.endswith(_SUFFIXES):
        known = ", ".join(_SUFFIXES[:-1])
        raise DataError(f"{one_line(source)}: a file with data ends in {known} or {_SUFFIXES[-1]}")
    try:
        is_file = Path(source).is_file()
    except OSError:
        raise DataError(f"{one_line(source)}: the file cannot be reached") from None
    if not is_file:
        raise DataError(f"{one_line(source)}: there is no such file")
    if name.endswith((".duckdb", ".db")):
        from parcomp.data.sources.duckdb_source import DuckDBSource  # noqa: PLC0415

        return DuckDBSource(source, _given(source="a DuckDB file", table=table))
    from parcomp.data.sources.files import CsvSource, ParquetSource  # noqa: PLC0415

    return ParquetSource(source) if name.endswith(".parquet") else CsvSource(source, reading)


def _given(*, source: str, table: str | None) -> str:
    if not table:
        raise DataError(f"{source} holds many tables; name one with table")
    return table
