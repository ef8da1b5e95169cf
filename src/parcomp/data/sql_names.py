"""Names of tables and columns in SQL."""

from __future__ import annotations

__all__ = ["quoted_name", "split_name"]


def quoted_name(name: str) -> str:
    """The name of a table or column, as DuckDB and PostgreSQL take any."""
    return '"' + name.replace('"', '""') + '"'


def split_name(table: str) -> tuple[str | None, str]:
    """Schema and name of a table that is written as ``SCHEMA.TABLE`` or as ``TABLE``."""
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else (None, table)
