"""Noise on exact integers: which mechanism a cost buys, how far it strays, and drawing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports
from parcomp.noise.mechanism import Mechanism, mechanism_for

if TYPE_CHECKING:
    from parcomp.noise.sampler import add_noise

__all__ = ["Mechanism", "add_noise", "mechanism_for"]

_, __getattr__, __dir__ = lazy_exports(__name__, {"sampler": "add_noise"})
