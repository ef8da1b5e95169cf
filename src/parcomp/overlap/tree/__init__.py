"""What searches by a tree of problems share: workers that divide it among them, and the state of each."""

from parcomp.overlap.tree.tree_search import PROCESSORS, TreeSearch, Worker

__all__ = ["PROCESSORS", "TreeSearch", "Worker"]
