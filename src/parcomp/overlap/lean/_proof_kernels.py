"""Kernels of proofs by listing: a level bounded as well as sweeps can, with nothing dropped from it."""

# mypy: ignore-errors

from __future__ import annotations

from parcomp.jit import kernel
from parcomp.overlap.lean import layout
from parcomp.overlap.lean._level_kernels import rescore, sweep, take_value
from parcomp.overlap.lean._search_kernels import choose

__all__ = ["enter", "settle"]

# The weights of a level are shared out until that gains less than this part of the bound, or so many times.
_LITTLE, _SWEEPS = 10, 12


@kernel
def settle(problem, stack, level, need):
    """Bound a level; where the bound reaches ``need``, choose what to branch on, -1 if there is nothing: the bound."""
    bound, _ = rescore(problem, stack, level)
    for _ in range(_SWEEPS):
        if bound < need:
            break
        before = bound
        bound, _, _ = sweep(problem, stack, level, bound, layout.LOWEST)
        if before - bound <= bound >> _LITTLE:
            break
    stack.head[level, layout.BOUND] = bound
    stack.head[level, layout.BRANCH] = choose(problem, stack, level, bound - need) if bound >= need else -1
    return bound


@kernel
def enter(problem, stack, level, attribute, value):
    """Make level + 1 what is left of ``level`` where an attribute has a value."""
    take_value(problem, stack, level, attribute, value)
