"""Answers of different accuracy, made ready to be projected together: what each weighs, and one mean for each query.

*Weights.*  An answer weighs 1/σ², with σ the standard deviation of its own noise.  So what the projection brings down
is the root mean square of errors in units of their noise, in which an answer that was bought dearly counts for as much
as it says.  Scales that differ by more than a factor of 10⁴ are taken to differ by that.  Any weights above 0 would do
for the proof (``docs/proofs/projection.md``), so noise that goes together, as that of a strategy, needs no other norm:
each of its answers weighs what its own noise says, and how they go together is for the intervals, for which noise is
drawn for all of them at once.

*The same query.*  Several answers to one query are taken as their mean by these weights.  For any count z,
Σ ωᵢ·(yᵢ − z)² = (Σ ωᵢ)·(mean − z)² + what does not depend on z, so the projection of the means is that of the answers,
and all answers to one query get one estimate.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from parcomp.estimation.rows import Floats
from parcomp.noise import JointNoise

__all__ = ["Means", "means_of"]

_APART = 1e-4
"""No noise is taken to be smaller than this part of the largest."""

_LEAST = 1e-3
"""Nor than this: noise so small is none, as counts are whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Answers taken together by query: ``column`` has the place of each answer's query among those at ``first`` places.

    ``weights`` are those of the queries' means, of which the largest is 1, and ``noise`` is the noise on them.
    """

    column: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    weights: Floats
    noise: JointNoise
    _mean: csr_array

    def of(self, answers: Floats) -> Floats:
        """The mean of the answers to each query."""
        return np.asarray(self._mean @ answers)


def means_of(queries: Sequence[Hashable], noise: JointNoise) -> Means:
    """How answers to these queries, with this noise, are taken together."""
    places: dict[Hashable, int] = {}
    column = np.array([places.setdefault(query, len(places)) for query in queries], np.int64)
    first = np.zeros(len(places), np.int64)
    first[column[::-1]] = np.arange(len(column))[::-1]
    deviations = noise.deviations
    floored = np.maximum(deviations, max(_APART * float(deviations.max(initial=0.0)), _LEAST))
    each = 1 / floored**2
    total = np.bincount(column, each, len(places))
    mean = csr_array((each / total[column], (column, np.arange(len(column)))), (len(places), len(column)))
    weights = total / total.max(initial=0.0)
    return Means(column, first, weights, _MeanNoise(noise, mean, 1 / np.sqrt(total)), mean)


@dataclass(frozen=True, slots=True, eq=False)
class _MeanNoise:
    """The noise on means of answers; ``deviations`` as if noise were independent."""

    noise: JointNoise
    mean: csr_array
    deviations: Floats

    def half_widths_up(self, confidence: float) -> Floats:
        """The mean of the answers' own."""
        return np.asarray(self.mean @ self.noise.half_widths_up(confidence))

    def drawn(self, draw: np.random.Generator) -> Floats:
        return np.asarray(self.mean @ self.noise.drawn(draw))
