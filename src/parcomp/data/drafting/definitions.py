"""What databases declare of a table, as the text of a CREATE TABLE; no row is read for it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from parcomp.data.drafting.schema_text import quiet_parser
from parcomp.data.sources import installed
from parcomp.data.sources.duckdb_source import attach_file, duckdb_connection
from parcomp.data.sql_names import quoted_name, split_name
from parcomp.errors import DataError, one_line

__all__ = ["duckdb_definition", "postgres_definition"]

_DUCKDB_TABLES = """
SELECT t.table_schema, t.table_name, d.sql
FROM information_schema.tables t LEFT JOIN duckdb_tables() d
    ON d.database_name = t.table_catalog AND d.schema_name = t.table_schema AND d.table_name = t.table_name
WHERE t.table_catalog = 'database_file' ORDER BY t.table_schema, t.table_name
"""

# The type of a domain's column is that of its values.
_POSTGRES_COLUMNS = """
SELECT a.attname,
    pg_catalog.format_type(b.oid, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END),
    a.attnotnull OR t.typnotnull,
    ARRAY(SELECT e.enumlabel::text FROM pg_catalog.pg_enum e WHERE e.enumtypid = b.oid ORDER BY e.enumsortorder),
    ARRAY(SELECT pg_catalog.pg_get_constraintdef(c.oid) FROM pg_catalog.pg_constraint c
          WHERE c.contypid = t.oid AND c.contype = 'c' AND c.convalidated ORDER BY c.conname)
FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    JOIN pg_catalog.pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
WHERE a.attrelid = pg_catalog.to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""

# One that is not validated says nothing of older rows.
_POSTGRES_CONSTRAINTS = """
SELECT pg_catalog.pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint
WHERE conrelid = pg_catalog.to_regclass(%s) AND contype IN ('c', 'p', 'u') AND convalidated ORDER BY conname
"""


def duckdb_definition(path: str, table: str | None) -> tuple[str, str]:
    """The name of a table or view in a DuckDB file, with its schema's, and its CREATE TABLE.

    Without ``table`` there must be one only.
    """
    with closing(duckdb_connection()) as connection:
        attach_file(connection, path)
        tables = {(schema, name): text for schema, name, text in connection.execute(_DUCKDB_TABLES).fetchall()}
        if table is None and len(tables) == 1:
            schema, name = next(iter(tables))
        else:
            schema, name = split_name(table or "")
            schema = schema or "main"
        if (schema, name) not in tables:
            known = one_line(", ".join(n if s == "main" else f"{s}.{n}" for s, n in tables)) or "none"
            raise DataError(f"{one_line(path)}: name one of its tables with --table; there are: {known}")
        full_name = f"{schema}.{name}"
        text = tables[schema, name]
        if text is None:
            from parcomp.data.sources.duckdb_source import DuckDBSource  # noqa: PLC0415

            with DuckDBSource(path, full_name) as source:
                assert isinstance(source, DuckDBSource)
                text = _create_table([_column(one, kind, "duckdb") for one, kind in source.written.items()])
        return full_name, text


def postgres_definition(url: str, table: str) -> str:
    """The CREATE TABLE of a table or view in PostgreSQL."""
    with installed("postgres"):
        import psycopg  # noqa: PLC0415

        from parcomp.data.sources.postgres_source import connect_postgres  # noqa: PLC0415

    place = ".".join(quoted_name(part) for part in split_name(table) if part is not None)
    with closing(connect_postgres(url)) as connection:
        try:
            connection.execute("SET default_transaction_read_only = on")
            columns = connection.execute(_POSTGRES_COLUMNS, (place,)).fetchall()
            constraints = [text for (text,) in connection.execute(_POSTGRES_CONSTRAINTS, (place,)).fetchall()]
        except psycopg.Error:
            columns = []
    if not columns:
        raise DataError(f"the database has no table {one_line(table)} that its user may see; names are case-sensitive")
    parts = []
    for name, kind, not_null, labels, checks in columns:
        enumeration = f"ENUM({', '.join(_quoted_text(label) for label in labels)})"
        column = _column(name, enumeration if labels else kind, "postgres")
        parts.append(f"{column} NOT NULL" if not_null else column)
        constraints += [_of_column(check, name) for check in checks]
    return _create_table([*parts, *(one for one in constraints if _is_read(one, "postgres"))])


def _create_table(parts: Sequence[str]) -> str:
    return f"CREATE TABLE t ({', '.join(parts)})"


def _column(name: str, kind: str, dialect: str) -> str:
    """The definition of a column; a type that the parser does not know is called by its name."""
    written = f"{quoted_name(name)} {kind}"
    return written if _is_read(written, dialect) else f"{quoted_name(name)} {quoted_name(kind)}"


def _is_read(part: str, dialect: str) -> bool:
    try:
        with quiet_parser():
            parsed = sqlglot.parse(_create_table([part]), read=dialect)
    except (SqlglotError, RecursionError):
        return False
    return len(parsed) == 1 and isinstance(parsed[0], exp.Create)


def _of_column(check: str, name: str) -> str:
    """The check of a domain, which calls its value VALUE, as one of a column."""
    try:
        with quiet_parser():
            parsed = sqlglot.parse_one(_create_table([check]), read="postgres")
    except (SqlglotError, RecursionError):
        return check
    for column in parsed.find_all(exp.Column):
        if column.name.upper() == "VALUE":
            column.replace(exp.column(name, quoted=True))
    found = parsed.find(exp.CheckColumnConstraint)
    return check if found is None else found.sql(dialect="postgres")


def _quoted_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
