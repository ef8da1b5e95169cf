"""Compiled workloads taken apart and put together again: masks as bit matrices, equal lists, smaller workloads."""

from parcomp.overlap.masks.lists import merge_lists
from parcomp.overlap.masks.rebuild import (
    MaskBlocks,
    drop_unused_masks,
    keep_attributes,
    keep_queries,
    keep_values,
    used_masks,
)

__all__ = [
    "MaskBlocks",
    "drop_unused_masks",
    "keep_attributes",
    "keep_queries",
    "keep_values",
    "merge_lists",
    "used_masks",
]
