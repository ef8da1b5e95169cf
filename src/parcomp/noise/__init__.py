"""Noise on exact integers: which mechanism a cost buys, how far it strays, drawing it, and searching with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports
from parcomp.noise.mechanism import Mechanism, mechanism_for

if TYPE_CHECKING:
    from parcomp.noise.combination import size_of_sum, stays_within
    from parcomp.noise.difference import error_of_difference, spread_of_difference
    from parcomp.noise.noisy_search import halvings_of, search, searched, steps_of
    from parcomp.noise.sampler import add_noise
    from parcomp.noise.strategic import release, solve_back

__all__ = [
    "Mechanism",
    "add_noise",
    "error_of_difference",
    "halvings_of",
    "mechanism_for",
    "release",
    "search",
    "searched",
    "size_of_sum",
    "solve_back",
    "spread_of_difference",
    "stays_within",
    "steps_of",
]

_, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "sampler": "add_noise",
        "combination": "size_of_sum stays_within",
        "noisy_search": "halvings_of search searched steps_of",
        "strategic": "release solve_back",
        "difference": "error_of_difference spread_of_difference",
    },
)
