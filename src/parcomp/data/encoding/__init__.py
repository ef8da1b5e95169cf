"""From stored values to codes: what is a value of the domain, and what is outside it and why."""

from __future__ import annotations

from parcomp.data.encoding.columns import match_columns, person_column
from parcomp.data.encoding.report import AttributeReport, Report
from parcomp.data.encoding.table_encoder import TableEncoder

__all__ = ["AttributeReport", "Report", "TableEncoder", "match_columns", "person_column"]
