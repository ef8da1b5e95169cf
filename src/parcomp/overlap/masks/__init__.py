"""Compiled workloads taken apart and put together again: masks as bit matrices, equal lists, smaller workloads."""

from parcomp.overlap.masks.rebuild import MaskBlocks, keep_queries, keep_values

__all__ = ["MaskBlocks", "keep_queries", "keep_values"]
