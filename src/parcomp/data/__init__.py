"""Tables: from a source to coded rows, and from these to exact counts and sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.data.table import open_table
from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.data.sql_table import Table
    from parcomp.data.suggest import Draft, suggest_domain

__all__ = ["Draft", "Table", "open_table", "suggest_domain"]

_, __getattr__, __dir__ = lazy_exports(__name__, {"sql_table": "Table", "suggest": "Draft suggest_domain"})
