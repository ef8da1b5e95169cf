"""Finite distributions of the privacy loss.

The privacy loss of an answer is ln P(answer)/Q(answer), where P and Q are its distributions on two neighboring tables
and the answer is drawn from P. The loss of independent answers is the sum of theirs, so composition (the tensor
product of trade-off functions, paper §2.3) is convolution; and the profile is δ(ε) = P(loss = ∞) + E[(1 − e^(ε −
loss))₊].  Raising a loss, or moving mass to ∞, only raises the profile: every rounding here goes that way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from parcomp.errors import ArgumentError
from parcomp.privacy.rounding import Floats, up

__all__ = ["Atoms", "discrete_gaussian_atoms"]

_LARGEST = 690.0
"""A loss beyond this counts as ∞."""

_SAME = 1e-12
"""Losses closer than this are one atom, at the larger of them."""


@dataclass(frozen=True, slots=True)
class Atoms:
    """Mass ``masses[i]`` at loss ``losses[i]``, ascending, and mass ``revealed`` at ∞."""

    losses: Floats = field(repr=False)
    masses: Floats = field(repr=False)
    revealed: float = 0.0

    def __post_init__(self) -> None:
        # e^700 is about as large as a float can be.
        if len(self.losses) and self.losses[-1] > _LARGEST:
            kept = self.losses <= _LARGEST
            object.__setattr__(self, "revealed", min(1.0, self.revealed + float(self.masses[~kept].sum())))
            object.__setattr__(self, "masses", self.masses[kept])
            object.__setattr__(self, "losses", self.losses[kept])
        if not len(self.losses):
            object.__setattr__(self, "losses", np.zeros(1))
            object.__setattr__(self, "masses", np.zeros(1))

    def __len__(self) -> int:
        return len(self.losses)

    @classmethod
    def from_profile(cls, losses: Floats, deltas: Floats) -> Atoms:
        """The distribution on ``losses`` (ascending) and ∞ whose profile passes through ``deltas``.

        Between neighboring losses its profile is the chord in e^ε, so it is never below a convex profile through the
        same points (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, Algorithm 1).
        """
        drop = np.minimum(0.0, np.diff(deltas))
        gap = np.diff(losses)
        from_left = np.concatenate(([1 - deltas[0]], drop / np.expm1(-gap)))
        from_right = np.concatenate((drop / np.expm1(gap), [0.0]))
        # Points that are not quite convex ask for negative mass; leaving it out only adds.
        return cls(losses, np.maximum(0.0, from_left + from_right), float(deltas[-1]))

    def compose(self, other: Atoms) -> Atoms:
        """The loss of two independent answers."""
        losses = (self.losses[:, None] + other.losses[None, :]).ravel()
        masses = (self.masses[:, None] * other.masses[None, :]).ravel()
        order = np.argsort(losses, kind="stable")
        losses, masses = losses[order], masses[order]
        # A run of losses each within the tolerance of the next becomes one atom at its largest.
        last = np.concatenate((np.diff(losses) > _SAME * (1 + np.abs(losses[1:])), [True]))
        starts = np.concatenate(([0], np.flatnonzero(last)[:-1] + 1))
        merged = np.add.reduceat(masses, starts)
        return Atoms(losses[last], merged, self.revealed + other.revealed - self.revealed * other.revealed)

    def power(self, count: int, limit: int) -> Atoms | None:
        """The loss of ``count`` independent answers; None where it would take more than ``limit`` products."""
        if count < 1:
            raise ArgumentError(f"a mechanism is composed at least once, not {count} times")
        result: Atoms | None = None
        square: Atoms = self
        while True:
            if count & 1:
                if result is not None and len(result) * len(square) > limit:
                    return None
                result = square if result is None else result.compose(square)
            count >>= 1
            if not count:
                return result
            if len(square) ** 2 > limit:
                return None
            square = square.compose(square)

    def support(self) -> Floats:
        """The losses that are not negative (0 if there are none): where the profile has corners."""
        losses = self._raised()
        kept = losses[losses >= 0]
        return kept if len(kept) else np.zeros(1)

    def deltas(self, epsilons: Floats) -> Floats:
        """Upper bounds of the profile."""
        losses = self._raised()
        above, damped = self._tails(losses)
        at = np.searchsorted(losses, epsilons, side="right")
        result = np.full(len(epsilons), float(self.revealed))
        within = at < len(losses)
        index = at[within]
        result[within] += above[index] - np.expm1(epsilons[within] - losses[index]) * damped[index]
        return np.minimum(1.0, up(result))

    def _tails(self, losses: Floats) -> tuple[Floats, Floats]:
        """At each loss l, Σ mass·(1 − e^(l − loss)) and Σ mass·e^(l − loss) over the losses from l on.

        Both sums have positive terms only, so nothing cancels: the second is e^l times the tail of the other
        distribution, and the first grows from one loss to the next below by (1 − e^(−gap)) times the second.
        """
        with np.errstate(divide="ignore", under="ignore"):
            other = np.exp(np.log(self.masses) - losses)
            damped = np.exp(losses + np.log(np.cumsum(other[::-1])[::-1]))
        steps = -np.expm1(-np.diff(losses)) * damped[1:]
        above = np.concatenate((np.cumsum(steps[::-1])[::-1], [0.0]))
        return above, damped

    def renyi(self, order: float) -> float:
        """The Rényi divergence of an order, given that not everything is revealed."""
        kept = float(self.masses.sum())
        if kept <= 0:
            return 0.0
        exponents = (order - 1) * self._raised()
        largest = float(exponents.max())
        moment = float(np.dot(self.masses / kept, np.exp(exponents - largest)))
        return up(max(0.0, (largest + math.log(moment)) / (order - 1)))

    def _raised(self) -> Floats:
        """The losses, by more than what rounding took from them."""
        return self.losses + 1e-13 * (1 + np.abs(self.losses))


def discrete_gaussian_atoms(sigma: float) -> Atoms:
    """The loss distribution of discrete Gaussian noise on a count: loss (1 − 2k)/2σ² with probability ∝ e^(−k²/2σ²).

    Beyond 12σ the left tail counts as revealed, and the right one is moved to the last loss kept: together less than
    10⁻³⁰.
    """
    reach = math.ceil(12 * sigma) + 2
    steps = np.arange(reach, -reach - 1, -1, dtype=np.float64)
    weights = np.exp(-((steps / sigma) ** 2) / 2)
    masses = weights / weights.sum()
    left_out = math.exp(-(((reach + 1) / sigma) ** 2) / 2) * (sigma + 1) * 2 / float(weights.sum())
    masses[0] += left_out
    return Atoms((1 - 2 * steps) / (2 * sigma**2), masses, left_out)
