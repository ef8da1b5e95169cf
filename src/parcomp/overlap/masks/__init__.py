"""Compiled workloads taken apart and put together again: masks as bit matrices, equal lists, smaller workloads."""

from parcomp.overlap.masks.lists import merge_lists, merge_lists_slices
from parcomp.overlap.masks.rebuild import (
    MaskBlocks,
    drop_unused_masks,
    keep_attributes,
    keep_queries,
    keep_values,
    keep_values_slices,
    used_masks,
)

__all__ = [
    "MaskBlocks",
    "drop_unused_masks",
    "keep_attributes",
    "keep_queries",
    "keep_values",
    "keep_values_slices",
    "merge_lists",
    "merge_lists_slices",
    "used_masks",
]
