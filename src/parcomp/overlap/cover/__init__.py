"""What is known without a search: groups of disjoint queries, and attributes where cliques are overlapping sets."""

from parcomp.overlap.cover.groups import Groups, group_bound
from parcomp.overlap.cover.helly import Structure, attribute_structures, overlap_is_clique

__all__ = [
    "Groups",
    "Structure",
    "attribute_structures",
    "group_bound",
    "overlap_is_clique",
]
