"""Box search: branch and bound over queries that carries the box of still possible values."""

from parcomp.overlap.box.box_search import BoxSearch

__all__ = ["BoxSearch"]
