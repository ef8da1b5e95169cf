"""Lean search: branch and bound over few values, in levels that take microseconds."""

from parcomp.overlap.lean.lean_search import LeanSearch, suits
from parcomp.overlap.lean.proof import prove_by_listing

__all__ = ["LeanSearch", "prove_by_listing", "suits"]
