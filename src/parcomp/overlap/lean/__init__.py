"""Lean search: branch and bound over few values, in levels that take microseconds."""

from parcomp.overlap.lean.lean_search import LeanSearch, suits

__all__ = ["LeanSearch", "suits"]
