"""Searches that look at rows: all of them, those at the ends of ranges, or ever heavier ones."""

from parcomp.overlap.rows.acceptance import Acceptance
from parcomp.overlap.rows.enumeration import accepting_queries, enumeration_work, heaviest_row
from parcomp.overlap.rows.every_row import brute_force
from parcomp.overlap.rows.ranges import sweep
from parcomp.overlap.rows.row_search import RowSearch, find_row

__all__ = [
    "Acceptance",
    "RowSearch",
    "accepting_queries",
    "brute_force",
    "enumeration_work",
    "find_row",
    "heaviest_row",
    "sweep",
]
