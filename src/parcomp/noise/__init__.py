"""Noise on exact integers: which mechanism a cost buys, how far it strays, drawing it, and searching with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports
from parcomp.noise.mechanism import Mechanism, mechanism_for

if TYPE_CHECKING:
    from parcomp.noise.difference import error_of_difference, spread_of_difference
    from parcomp.noise.noisy_search import search, searched, steps_of
    from parcomp.noise.sampler import add_noise

__all__ = [
    "Mechanism",
    "add_noise",
    "error_of_difference",
    "mechanism_for",
    "search",
    "searched",
    "spread_of_difference",
    "steps_of",
]

_, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "sampler": "add_noise",
        "noisy_search": "search searched steps_of",
        "difference": "error_of_difference spread_of_difference",
    },
)
