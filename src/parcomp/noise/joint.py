"""The noise on the answers of a plan, all of them together: how far each strays, and draws of it.

The answers of a strategy are not independent.  Those of a correlated one are off by H⁺·z with z the noise of the
coordinates, which has the covariance σ²·H⁺·H⁺ᵀ; those of atoms are off by sums of the same noises.  Who asks how far
something goes that was made of several answers must draw all of them at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, identity
from threadpoolctl import threadpool_limits

from parcomp.errors import ArgumentError
from parcomp.noise.mechanism import Mechanism, mechanism_for
from parcomp.noise.strategic import group_columns
from parcomp.noise.sum_tails import combined_half_widths_up, laplace_sum_half_widths_up
from parcomp.noise.tails import Floats, NoiseKind
from parcomp.noise.weighted_tails import Term
from parcomp.planning import Histogram, Plan
from parcomp.planning.strategies.sums import combined_error, errors_of_sums
from parcomp.privacy import Measure

__all__ = ["JointNoise", "StrategyNoise", "beside_each_other", "joint_noise", "own_noise"]

_ROUNDING = 1e-9
"""By which deviations are raised for the rounding of floats, where errors follow from them."""


class JointNoise(Protocol):
    """What is known of the noise on the answers to a workload."""

    @property
    def deviations(self) -> Floats:
        """The standard deviation of each answer's noise, 0 where an answer is exact."""

    def half_widths_up(self, confidence: float) -> Floats:
        """What the noise of each answer stays within with this probability at least."""

    def drawn(self, draw: np.random.Generator) -> Floats:
        """Noise on all answers."""


class StrategyNoise(JointNoise, Protocol):
    """The same of the answers of a strategy, with how they go together."""

    @property
    def covariance(self) -> Floats:
        """That of the noise on all answers; for the variance of a discrete Gaussian, which is lower, σ² is taken."""

    @property
    def expected_errors(self) -> Floats:
        """E|noise| of each answer, rounded up."""

    @property
    def kind(self) -> NoiseKind:
        """What each of the noises is."""

    def terms(self, weights: Sequence[Fraction]) -> tuple[list[Term], bool]:
        """The independent noises that a weighted sum of the answers has, and whether their weights are exact.

        Where they are not, only how many there are, and the sum of their squares, which is rounded up.
        """


def joint_noise(plan: Plan) -> StrategyNoise:
    """The noise on the answers that are released by a strategy.

    Raises :class:`~parcomp.errors.ArgumentError` for a plan of independent noise, whose queries have costs of their
    own.
    """
    if plan.matrix is not None and plan.sigma is not None:
        return _Combined(plan.matrix, plan.sigma)
    if not plan.histograms:
        raise ArgumentError("a plan of independent noise has no joint one: each query has the noise that it pays for")
    return _Summed(plan)


def own_noise(mechanism: Mechanism, count: int) -> JointNoise:
    """Noise of one mechanism on so many answers, independent."""
    return _Own(mechanism, count)


def beside_each_other(parts: Sequence[JointNoise]) -> JointNoise:
    """The noise on the answers of several charges, one after the other; that of different ones is independent."""
    return _Beside(tuple(parts))


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    mechanism: Mechanism
    count: int

    @property
    def deviations(self) -> Floats:
        return np.full(self.count, math.sqrt(self.mechanism.variance))

    def half_widths_up(self, confidence: float) -> Floats:
        return np.full(self.count, float(self.mechanism.half_width(confidence)))

    def drawn(self, draw: np.random.Generator) -> Floats:
        return _noises(self.mechanism, self.count, draw)


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    parts: tuple[JointNoise, ...]

    @property
    def deviations(self) -> Floats:
        return np.concatenate([np.zeros(0), *(part.deviations for part in self.parts)])

    def half_widths_up(self, confidence: float) -> Floats:
        return np.concatenate([np.zeros(0), *(part.half_widths_up(confidence) for part in self.parts)])

    def drawn(self, draw: np.random.Generator) -> Floats:
        return np.concatenate([np.zeros(0), *(part.drawn(draw) for part in self.parts)])


def _noises(mechanism: Mechanism, count: int, draw: np.random.Generator) -> Floats:
    """So many draws, Gaussian ones from the continuous distribution."""
    if mechanism.kind == "discrete-laplace":
        rest = -math.expm1(-1 / mechanism.scale)
        return np.asarray(draw.geometric(rest, count) - draw.geometric(rest, count), np.float64)
    return np.asarray(mechanism.scale * draw.normal(size=count))


class _Combined:
    """Noise H⁺·z, with z independent discrete Gaussians of one σ."""

    def __init__(self, matrix: npt.NDArray[np.int64], sigma: float) -> None:
        whole, place = group_columns(matrix)
        asked = place >= 0
        # On busy cores the threads of a linear algebra library wait for each other longer than they compute.
        with threadpool_limits(1, "blas"):
            inverse = cho_solve(cho_factor(whole.T @ whole, check_finite=False), whole.T, check_finite=False)
        self._sigma, self._inverse = sigma, np.zeros((len(place), len(matrix)))
        self._inverse[asked] = inverse[place[asked]]
        self._norms = np.linalg.norm(self._inverse, axis=1)

    @property
    def deviations(self) -> Floats:
        return np.asarray(self._sigma * self._norms)

    @property
    def covariance(self) -> Floats:
        return np.asarray(self._sigma**2 * (self._inverse @ self._inverse.T))

    @property
    def expected_errors(self) -> Floats:
        return combined_error(self._sigma, self.deviations * (1 + _ROUNDING), self._inverse.shape[1])

    @property
    def kind(self) -> NoiseKind:
        return "discrete-gaussian"

    def terms(self, weights: Sequence[Fraction]) -> tuple[list[Term], bool]:
        noises = self._inverse.shape[1]
        norm = float(np.linalg.norm(np.array([float(weight) for weight in weights]) @ self._inverse))
        return [(Fraction(norm * (1 + _ROUNDING) / math.sqrt(noises)), self._sigma, noises)], False

    def half_widths_up(self, confidence: float) -> Floats:
        return combined_half_widths_up(self._sigma, self._norms, self._inverse.shape[1], confidence)

    def drawn(self, draw: np.random.Generator) -> Floats:
        # As good as continuous: a strategy's σ is about a thousand or more.
        return np.asarray(self._inverse @ (self._sigma * draw.normal(size=self._inverse.shape[1])))


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Some queries whose answers are sums of counts, each with noise of one mechanism: a row of ``member`` for each."""

    queries: npt.NDArray[np.int64]
    member: csr_array
    measure: Measure
    units: int

    @property
    def mechanism(self) -> Mechanism:
        return mechanism_for(self.measure, self.units)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.asarray(np.diff(self.member.indptr), np.int64)

    @property
    def deviations(self) -> Floats:
        return np.asarray(np.sqrt(self.sizes * self.mechanism.variance))

    @property
    def expected_errors(self) -> Floats:
        return errors_of_sums(self.measure, self.units, self.sizes)

    @property
    def covariance(self) -> Floats:
        return np.asarray((self.member @ self.member.T).toarray() * self.mechanism.variance)

    def half_widths_up(self, confidence: float) -> Floats:
        if self.mechanism.kind == "discrete-laplace":
            return laplace_sum_half_widths_up(self.mechanism.scale, self.sizes, confidence)
        alone = float(self.mechanism.half_width(confidence))
        widths = combined_half_widths_up(self.mechanism.scale, np.sqrt(self.sizes), self.sizes, confidence)
        return np.where(self.sizes == 1, alone, widths)

    def drawn(self, draw: np.random.Generator) -> Floats:
        return np.asarray(self.member @ _noises(self.mechanism, self.member.shape[1], draw))


class _Summed:
    """Sums of the noises of atoms, and noise of its own for each query that is no such sum."""

    def __init__(self, plan: Plan) -> None:
        self._count = len(plan.workload)
        self._parts = [_of_atoms(plan, histogram) for histogram in plan.histograms]
        alone = plan.units > 0
        for part in self._parts:
            alone[part.queries] = False
        for units in np.unique(plan.units[alone]).tolist():
            own = np.flatnonzero(alone & (plan.units == units))
            self._parts.append(_Sums(own, csr_array(identity(len(own), format="csr")), plan.measure, units))

    @property
    def deviations(self) -> Floats:
        return self._spread([part.deviations for part in self._parts])

    @property
    def expected_errors(self) -> Floats:
        return self._spread([part.expected_errors for part in self._parts])

    @property
    def covariance(self) -> Floats:
        every = np.zeros((self._count, self._count))
        for part in self._parts:
            every[np.ix_(part.queries, part.queries)] = part.covariance
        return every

    @property
    def kind(self) -> NoiseKind:
        return self._parts[0].mechanism.kind

    def terms(self, weights: Sequence[Fraction]) -> tuple[list[Term], bool]:
        found: list[Term] = []
        for part in self._parts:
            # How much of each count there is in the sum.
            totals: dict[int, Fraction] = {}
            for row, query in enumerate(part.queries.tolist()):
                if weights[query]:
                    for place in part.member.indices[part.member.indptr[row] : part.member.indptr[row + 1]].tolist():
                        totals[place] = totals.get(place, Fraction(0)) + weights[query]
            scale = part.mechanism.scale
            found += [(weight, scale, count) for weight, count in Counter(map(abs, totals.values())).items() if weight]
        return found, True

    def half_widths_up(self, confidence: float) -> Floats:
        return self._spread([part.half_widths_up(confidence) for part in self._parts])

    def drawn(self, draw: np.random.Generator) -> Floats:
        return self._spread([part.drawn(draw) for part in self._parts])

    def _spread(self, each: Sequence[Floats]) -> Floats:
        every = np.zeros(self._count)
        for part, values in zip(self._parts, each, strict=True):
            every[part.queries] = values
        return every


def _of_atoms(plan: Plan, histogram: Histogram) -> _Sums:
    atoms = histogram.atoms
    member = csr_array((np.ones(len(atoms.index)), atoms.index, atoms.start), (len(atoms), len(histogram.queries)))
    return _Sums(histogram.queries, member.T.tocsr(), plan.measure, histogram.units)
