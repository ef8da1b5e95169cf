"""Noise on exact integers: which mechanism a cost buys, how far it strays, drawing it, and searching with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports
from parcomp.noise.mechanism import Mechanism, mechanism_for

if TYPE_CHECKING:
    from parcomp.noise.combination import size_of_sum, stays_within
    from parcomp.noise.difference import error_of_difference, spread_of_difference
    from parcomp.noise.joint import JointNoise, StrategyNoise, beside_each_other, joint_noise, own_noise
    from parcomp.noise.noisy_search import halvings_of, search, searched, steps_of
    from parcomp.noise.restored import atoms_plan, correlated_plan
    from parcomp.noise.sampler import add_noise
    from parcomp.noise.strategic import release, solve_back
    from parcomp.noise.weighted_tails import Spread, spread_of_sum

__all__ = [
    "JointNoise",
    "Mechanism",
    "Spread",
    "StrategyNoise",
    "add_noise",
    "atoms_plan",
    "beside_each_other",
    "correlated_plan",
    "error_of_difference",
    "halvings_of",
    "joint_noise",
    "mechanism_for",
    "own_noise",
    "release",
    "search",
    "searched",
    "size_of_sum",
    "solve_back",
    "spread_of_difference",
    "spread_of_sum",
    "stays_within",
    "steps_of",
]

_, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "sampler": "add_noise",
        "combination": "size_of_sum stays_within",
        "noisy_search": "halvings_of search searched steps_of",
        "restored": "atoms_plan correlated_plan",
        "strategic": "release solve_back",
        "joint": "JointNoise StrategyNoise beside_each_other joint_noise own_noise",
        "difference": "error_of_difference spread_of_difference",
        "weighted_tails": "Spread spread_of_sum",
    },
)
