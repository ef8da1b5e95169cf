"""Answers of different accuracy, made ready to be projected together: what each weighs, and one mean for each query.

*Weights.*  An answer weighs 1/σ², with σ the standard deviation of its own noise.  So what the projection brings down
is the root mean square of errors in units of their noise, in which an answer that was bought dearly counts for as much
as it says.  Any weights above 0 would do for the proof (``docs/proofs/projection.md``), so noise that goes together, as
that of a strategy, needs no other norm: each of its answers weighs what its own noise says, and how they go together is
for the intervals, for which noise is drawn for all of them at once.

*Far less accurate answers.*  Weights that differ by more than eight orders of magnitude are too much for floating
point.  If they were taken to differ by less, a cheap answer would spoil a dear one.  So an answer whose noise is more
than 10⁴ times the least is left out of the projection.  Taken for 0 where it is below 0, it is no worse than it was.

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

_APART = 1e4
"""How many times the least noise that of an answer may be to be taken together with the others."""

_LEAST = 1e-3
"""No noise is taken to be smaller than this: noise so small is none, as counts are whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Answers taken together by query: ``column`` has the place of each answer's query among those at ``first`` places.

    It is −1 for answers that are far less accurate than others, which are left as they are.
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
    floored = np.maximum(noise.deviations, _LEAST)
    taken = np.flatnonzero(floored <= _APART * floored.min(initial=np.inf))
    places: dict[Hashable, int] = {}
    own = np.array([places.setdefault(queries[place], len(places)) for place in taken.tolist()], np.int64)
    column = np.full(len(queries), -1, np.int64)
    column[taken] = own
    first = np.zeros(len(places), np.int64)
    first[own[::-1]] = taken[::-1]
    each = 1 / floored[taken] ** 2
    total = np.bincount(own, each, len(places))
    mean = csr_array((each / total[own], (own, taken)), (len(places), len(queries)))
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
