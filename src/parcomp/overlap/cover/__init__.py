"""What is known without a search: groups of disjoint queries, and attributes where cliques are overlapping sets."""

from parcomp.overlap.cover.groups import Groups, group_bound, group_bound_slices
from parcomp.overlap.cover.helly import Structure, attribute_structures, overlap_is_clique, overlap_is_clique_slices

__all__ = [
    "Groups",
    "Structure",
    "attribute_structures",
    "group_bound",
    "group_bound_slices",
    "overlap_is_clique",
    "overlap_is_clique_slices",
]
