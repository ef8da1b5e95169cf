"""Computations that pause: each does its work in slices, so that whoever runs it can look at the clock in between.

Between two pauses lies a bounded amount of work, counted in word operations and not in time: how a computation is cut
never changes what it returns.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

__all__ = ["SLICE", "Slices", "finish", "spend"]

Result = TypeVar("Result")

Slices: TypeAlias = Generator[int, None, Result]
"""Yields the work done since the last pause, and returns its result."""

SLICE = 1 << 22
"""The work aimed at between two pauses: some milliseconds."""


def finish(slices: Slices[Result]) -> Result:
    """Run slices to their end without a pause."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: Result = end.value
            return result


def spend(slices: Slices[object], work: int) -> int:
    """Run slices until ``work`` is used up; what is left of it, which is more than nothing iff they have ended."""
    while work > 0:
        done = next(slices, None)
        if done is None:
            break
        work -= done
    return work
