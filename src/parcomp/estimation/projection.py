"""The possible answers that are nearest to noisy ones, by column generation, and a proof of how near they are.

Answers are *possible* if some table has them: A·x for counts x ≥ 0 of the possible rows, with the stated facts met.
The nearest possible ones are found over a pool of rows.  Distances are √Σ ω_q·(…)² with a weight ω_q for each answer, 1
where nothing else is said.  Each answered query then has a slope g_q, ω_q times its estimate less its answer, and each
fact a multiplier λ; a row that is not in the pool would bring the answers nearer if g and λ add up to less than 0 on
what it satisfies.  Such rows join the pool until there are none (Dantzig and Wolfe 1960).

*Proof* (``docs/proofs/projection.md``).  Let no row have a sum below −η.  Then with g' = g + η and λ' = λ + η no row
that satisfies anything has a sum below 0, so every possible z has g'·z + λ'·f ≥ 0: a half-space that holds all possible
answers, the true ones among them.  The nearest point of it is no further from the truth than the noisy answers are,
whatever the truth is, and it is within √(upper² − lower²) of the exact projection, where ``lower`` is how far away the
half-space is, and ``upper`` how far the answers of the pool are.  Nothing of this rests on how the pool was found.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from parcomp.estimation.pool import Pool
from parcomp.estimation.rows import Floats, RowSource

__all__ = ["Projection", "Target", "project", "redraw"]

_SETTLED = 1e-6
"""Rows that gain less than this part of what noise is worth are not looked for."""

_ROUGH, _FINE = 0.2, 0.01
"""Down to which slope descent goes, and settling while rows join, as a part of what the best row gained."""

_LAST = 0.2
"""Where the best row gains less than this part of what noise is worth, the next answers of the pool may be the last.
They are worked out to the end at once: of many rows, such as the atoms of a strategy, each time takes seconds."""

_FAR = 2.0
"""The exact projection moves answers no further than noise did, which is hardly ever this many times its size."""

_NEAR = 0.2
"""Settling leaves out rows that would lose more than this part of the noise."""

_GAP, _LOOSE_GAP = 1e-8, 1e-4
"""How much of the squared distance settling may leave open, at the end and while rows join."""

_ROUNDS = 10
"""Rounds of descent between two pricings."""

_STIFF = (10.0, 1e4)
"""How much a fact weighs beside an answer, in descent and in settling; multipliers make it exact."""

_STALLS = 5
"""How often the answers of a pool are worked out again where no row is missing but one should count for more."""

_LOST, _STILL = 1e-3, 1e-2
"""What a proof may leave open for the projection to count as exact: this part of the squared distance, or, root mean
square, this part of the noise."""

_DRAW_ROUNDS, _DRAW_TOLERANCE, _DRAW_GAIN = 2, 0.1, 0.5
"""For a projection that is repeated with other noise: rounds of pricing, and, as parts of the noise, the slope that is
left and the gain of a row that is worth having.  Errors are then some 0.5 % too small on census samples."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What is projected: ``answers`` by column, of which those that are ``facts`` hold exactly.

    ``weights`` are those of the others in the distance, above 0 and at most 1; facts have 1.  ``noise`` is the size of
    the noise, root mean square over the others, each times the root of its weight.
    """

    answers: Floats
    facts: npt.NDArray[np.bool_]
    noise: float
    weights: Floats

    @property
    def slope(self) -> float:
        """What the noise is worth in gains, where an answer counts least."""
        return self.noise * math.sqrt(float(self.weights.min(initial=1.0)))


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Nearest answers: ``possible`` are those of a table of the pool's rows, ``values`` those that are proven.

    The exact projection is at least ``lower`` and at most ``upper`` away from the answers.  ``missed`` is by how much
    the answers of the pool miss a fact at most, and ``still`` a distance that is next to none.  ``ended`` tells whether
    pricing found nothing more before the time was up.
    """

    possible: Floats
    values: Floats
    lower: float
    upper: float
    missed: float
    still: float
    ended: bool
    rounds: int

    @property
    def proven(self) -> bool:
        """Whether the proof leaves next to nothing open, so that ``values`` are the projection."""
        return self.upper**2 - self.lower**2 <= max(_LOST * self.upper**2, self.still**2)

    @property
    def plausible(self) -> bool:
        """Whether all rows were found that matter, by all appearances: noise strays as far as the answers moved."""
        return self.ended and self.upper <= _FAR / _STILL * self.still


def project(
    source: RowSource, target: Target, pool: Pool, deadline: float, tell: Callable[[int, float], None]
) -> Projection:
    """Project answers; ``pool`` may hold rows already.  ``tell`` hears of each round and of the best row's gain."""
    state = _State(target, pool, deadline)
    settled = _SETTLED * target.slope
    rounds, stalled, rough, tight = 0, 0, True, False
    proof = _Proof(target)
    while True:
        rounds += 1
        gains = state.gains()
        priced = source.price(gains)
        best = float(priced.gains.max(initial=0.0))
        joined = pool.join(priced.flags[priced.gains > settled])
        if source.exact:
            proof.see(gains, priced.bound)
        tell(rounds, best)
        if late := time.monotonic() >= deadline:
            break
        if rough and joined and best > target.slope:
            state.descend(_ROUGH * best)
        elif rough or (joined and best > _LAST * target.slope):
            # Few rows are missing: the exact answers of the pool tell which.
            rough, tight = False, False
            state.settle(max(settled, _FINE * best), _LOOSE_GAP)
        elif not tight or joined or ((best > settled or not state.met(settled)) and stalled < _STALLS):
            stalled += tight and not joined
            tight = True
            state.settle(settled, near=10.0**stalled * _NEAR)
        elif source.exact:
            break
        else:
            priced = source.prove(gains, deadline, settled)
            proof.see(gains, priced.bound)
            if not pool.join(priced.flags[priced.gains > settled]):
                break
            state.settle(settled)
    return proof.certified(state, gains, rounds, not late)


def redraw(source: RowSource, target: Target, pool: Pool, answers: Floats) -> Floats:
    """What the projection of other answers is, roughly: near enough for how far projections are spread."""
    own = pool.copy()
    state = _State(replace(target, answers=answers), own)
    for _ in range(_DRAW_ROUNDS):
        state.descend(_DRAW_TOLERANCE * target.slope)
        priced = source.price(state.gains())
        if not own.join(priced.flags[priced.gains > _DRAW_GAIN * target.slope]):
            break
    state.descend(_DRAW_TOLERANCE * target.slope)
    return own.answers()


class _State:
    """Where a projection stands: the pool's counts, and the multipliers of facts (Hestenes 1969, Powell 1969)."""

    def __init__(self, target: Target, pool: Pool, deadline: float = math.inf) -> None:
        self._target, self._pool, self._deadline = target, pool, deadline
        self._multipliers = np.zeros(int(target.facts.sum()))
        self._weight = np.ones(pool.columns)

    def gains(self) -> Floats:
        """How much an added row gains by each column that it is counted in."""
        gains = self._target.weights * (self._target.answers - self._pool.answers())
        gains[self._target.facts] = -self._multipliers
        return gains

    def descend(self, tolerance: float) -> None:
        """Some rounds of descent."""
        self._pool.descend(self._shifted(_STIFF[0]), self._weight, tolerance, _ROUNDS)
        self._update(_STIFF[0])

    def settle(self, tolerance: float, gap: float = _GAP, near: float = _NEAR) -> None:
        """As near as floats come.

        A pool that lacks a row which the facts need drives their multipliers far beyond what facts are worth.  So where
        facts are missed, the multipliers are worked out anew.
        """
        self._approach(tolerance, gap, near)
        if not self.met(tolerance):
            self._multipliers = np.zeros(len(self._multipliers))
            self._approach(tolerance, gap, near)

    def _approach(self, tolerance: float, gap: float, near: float) -> None:
        for _ in range(4 if len(self._multipliers) else 1):
            target = self._shifted(_STIFF[1])
            near_rows = near * self._target.noise
            if not self._pool.settle(target, self._weight, near_rows, 0.1 * tolerance, gap, self._deadline):
                self._pool.descend_until(target, self._weight, tolerance, 100 * _ROUNDS, self._deadline)
            self._update(_STIFF[1])

    def met(self, tolerance: float) -> bool:
        """Whether the facts are."""
        return self.missed() <= 10 * tolerance

    def missed(self) -> float:
        """By how much a fact is missed at most."""
        facts = self._target.facts
        return float(np.abs(self._pool.answers() - self._target.answers)[facts].max(initial=0.0))

    def _shifted(self, stiff: float) -> Floats:
        self._weight = np.where(self._target.facts, stiff, self._target.weights)
        target = self._target.answers.copy()
        target[self._target.facts] -= self._multipliers / stiff
        return target

    def _update(self, stiff: float) -> None:
        facts = self._target.facts
        self._multipliers = self._multipliers + stiff * (self._pool.answers() - self._target.answers)[facts]


class _Proof:
    """The farthest half-space that was proven so far: when the time is up, what holds is not lost for the last step."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._noisy = ~target.facts
        self._roots = np.sqrt(target.weights[self._noisy])
        self._lower = 0.0
        self._step = np.zeros(int(self._noisy.sum()))
        """From the answers to its nearest point."""

    def see(self, gains: Floats, bound: float) -> None:
        """Take in the half-space that follows where no row gains more than ``bound``."""
        target, noisy, bound = self._target, self._noisy, max(0.0, bound)
        if math.isfinite(bound):
            normal = bound - gains
            short = -float(normal @ target.answers)
            length = float(np.linalg.norm(normal[noisy] / self._roots))
            if short > 0 and length > 0 and short / length > self._lower:
                self._lower = short / length
                self._step = short / length**2 * normal[noisy] / target.weights[noisy]

    def certified(self, state: _State, gains: Floats, rounds: int, ended: bool) -> Projection:
        """The nearest point of the best half-space, beside the answers of the pool as they are."""
        target, noisy = self._target, self._noisy
        possible = target.answers - np.where(noisy, gains / target.weights, 0.0)
        upper = float(np.linalg.norm(gains[noisy] / self._roots))
        values = target.answers.copy()
        values[noisy] += self._step
        # No count is below 0, so cutting there brings each nearer to the truth, whatever it weighs.
        values[noisy] = np.maximum(values[noisy], 0.0)
        still = _STILL * target.noise * math.sqrt(max(1, int(noisy.sum())))
        return Projection(possible, values, min(self._lower, upper), upper, state.missed(), still, ended, rounds)
