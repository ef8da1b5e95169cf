"""Tables: from a source to coded rows, and from these to exact counts and sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.data.place import Reading, TablePlace
from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.data.codes.coded_table import CodedTable
    from parcomp.data.drafting.suggest import Draft, suggest_domain
    from parcomp.data.encoding import AttributeReport, Report
    from parcomp.data.layout import Imprint
    from parcomp.data.tables import Progress, check_table, draw_table, open_table, table_in_place, write_table

__all__ = [
    "AttributeReport",
    "CodedTable",
    "Draft",
    "Imprint",
    "Progress",
    "Reading",
    "Report",
    "TablePlace",
    "check_table",
    "draw_table",
    "open_table",
    "suggest_domain",
    "table_in_place",
    "write_table",
]

_, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "codes.coded_table": "CodedTable",
        "encoding": "AttributeReport Report",
        "layout": "Imprint",
        "drafting.suggest": "Draft suggest_domain",
        "tables": "Progress check_table draw_table open_table table_in_place write_table",
    },
)
