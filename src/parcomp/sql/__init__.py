"""From SQL text to selections: what is asked, free of its wording, and how it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.sql.effort import bounded_request_effort
    from parcomp.sql.parse import parse_selection, parse_selections, parse_statement, parse_statements
    from parcomp.sql.workload_file import read_sql_workload

__all__ = [
    "bounded_request_effort",
    "parse_selection",
    "parse_selections",
    "parse_statement",
    "parse_statements",
    "read_sql_workload",
]

_, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "effort": "bounded_request_effort",
        "parse": "parse_selection parse_selections parse_statement parse_statements",
        "workload_file": "read_sql_workload",
    },
)
