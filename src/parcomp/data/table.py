"""How a table is opened by its address.

The dataset is the rows *within the domain*: a row with a value that its attribute does not declare is in no number.

All rows are read and turned into codes when a table is opened.  Whatever can fail with some rows fails then, before
anything is asked or charged, and so says nothing about the rows that a statement is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from parcomp.errors import DataError, one_line
from parcomp.model import Domain

if TYPE_CHECKING:
    from parcomp.data.sql_table import Table

__all__ = ["open_table"]


def open_table(source: str, table: str | None, domain: Domain) -> Table:
    """Open the table at an address, check that its columns have the types that the domain needs, and code its rows.

    ``source`` is one of

    - ``PATH.parquet`` or ``PATH.csv``: a file that is one table, whatever ``table`` calls it;
    - ``PATH.duckdb`` or ``PATH.db``: a DuckDB file, opened read-only, with ``table`` in it;
    - ``postgresql://USER@HOST:PORT/DATABASE``: a PostgreSQL database with ``table`` in it;
    - ``spark://local[N]`` or ``spark://HOST:PORT``: a Spark master with ``table`` in its catalog;
    - ``spark://local[N]/PATH.parquet`` or ``spark://HOST:PORT/PATH.parquet``: a file that Spark reads; the path is
      absolute, and without a master, as in ``spark:///PATH.parquet``, Spark runs on this machine.

    ``table`` may be ``SCHEMA.TABLE``.
    """
    # Each of these loads its engine's library, and only the one that is asked for is loaded.
    if source.startswith(("postgresql://", "postgres://")):
        with _installed("postgres"):
            from parcomp.data.postgres_table import PostgresTable  # noqa: PLC0415

        return PostgresTable(source, _given(source="a PostgreSQL database", table=table), domain)
    if source.startswith("spark://"):
        master, path = _spark_address(source)
        with _installed("spark"):
            from parcomp.data.spark_table import SparkTable  # noqa: PLC0415

        if path is None:
            return SparkTable(master, domain, table=_given(source="a Spark catalog", table=table))
        return SparkTable(master, domain, path=path)
    if "://" in source:
        scheme = one_line(source.partition("://")[0])
        raise DataError(f"{scheme}:// is not a source; there are postgresql://, spark:// and files")
    return _open_file(source, table, domain)


@contextmanager
def _installed(extra: str) -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise DataError(f"this source needs more to be installed: pip install 'parcomp[{extra}]'") from None


def _open_file(source: str, table: str | None, domain: Domain) -> Table:
    suffix = Path(source).suffix.lower()
    if suffix not in (".parquet", ".csv", ".duckdb", ".db"):
        raise DataError(f"{one_line(source)}: a file with data ends in .parquet, .csv, .duckdb or .db")
    try:
        is_file = Path(source).is_file()
    except OSError:
        raise DataError(f"{one_line(source)}: the file cannot be reached") from None
    if not is_file:
        raise DataError(f"{one_line(source)}: there is no such file")
    from parcomp.data.duckdb_table import DuckDBTable  # noqa: PLC0415

    if suffix in (".duckdb", ".db"):
        return DuckDBTable.of_database(source, _given(source="a DuckDB file", table=table), domain)
    return DuckDBTable.of_parquet(source, domain) if suffix == ".parquet" else DuckDBTable.of_csv(source, domain)


def _given(*, source: str, table: str | None) -> str:
    if not table:
        raise DataError(f"{source} holds many tables; name one with table")
    return table


def _spark_address(source: str) -> tuple[str, str | None]:
    """The master and the absolute path of the file, if there is one."""
    authority, slash, path = source.removeprefix("spark://").partition("/")
    master = authority or "local[*]"
    if not master.startswith("local"):
        master = f"spark://{master}"
    if path and not path.lower().endswith(".parquet"):
        raise DataError("a file that Spark reads ends in .parquet; other tables are named with table")
    return master, slash + path if path else None
