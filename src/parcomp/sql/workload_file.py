"""Workload files in SQL: statements that are charged by their coverage, each with the weight 1."""

from __future__ import annotations

from pathlib import Path

from parcomp.errors import FileError, SqlError
from parcomp.model import WorkloadBuilder, read_text
from parcomp.sql.parse import parse_statements

__all__ = ["read_sql_workload"]


def read_sql_workload(built: WorkloadBuilder, path: str | Path) -> None:
    """Read a workload; the id of a statement is the number of the line on which it begins."""
    try:
        statements = parse_statements(built.domain, read_text(path))
    except SqlError as error:
        message = f"column {error.column}: {error.message}"
        raise FileError(path, message, line=error.line, field="sql") from None
    last = 0
    for line, statement in statements:
        if line == last:
            message = "two statements begin on this line, which is their id; put each on a line of its own"
            raise FileError(path, message, line=line, field="sql")
        built.add(statement.query.tested, number=line)
        last = line
