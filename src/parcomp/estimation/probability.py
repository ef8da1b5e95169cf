"""How sure an interval may be."""

from __future__ import annotations

from typing import Final

from parcomp.errors import ArgumentError, shown

__all__ = ["MOST_CERTAIN", "check_probability"]

MOST_CERTAIN: Final = 0.999999
"""Draws say nothing beyond, and at the last floats below 1 no finite interval is sure enough."""


def check_probability(interval: object, name: str = "an interval's probability") -> float:
    """The probability itself, if intervals can have it; ``name`` is what it is called by whoever gives it.

    >>> check_probability(0.95)
    0.95
    """
    if isinstance(interval, (int, float)) and 0 < interval <= MOST_CERTAIN:
        return interval
    raise ArgumentError(f"{name} must be between 0 and {MOST_CERTAIN}, such as 0.95, not {shown(interval)}")
