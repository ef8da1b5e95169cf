"""Answers that follow from others: a query whose count is a sum, with weights, of counts that were released.

`all − men` is the count of women: a new query q is *in the span* of released ones if q = Σ a_i·q_i on every possible
row (:mod:`parcomp.estimation.span`).  Then Σ a_i·answer_i has the count of q as its mean, and the variance aᵀ·Σ·a,
where Σ is the covariance of the noise; of all such weights the ones with the least variance are taken (Gauss and
Markov).  It costs nothing.

*Undeclared values.*  Where rows may have values that are not declared, all less men are women and whoever else there
is.  Take a row's undeclared values on some attributes: the queries that test one of them fall out of the equation, and
by inclusion and exclusion it falls apart into one for each set of attributes that queries test.  So a query follows
then, if at all, from those that test just the attributes that it tests (but for complete ones).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress

import numpy as np

from parcomp.errors import ArgumentError, SizeError, WorkloadError
from parcomp.estimation.noises import Noise
from parcomp.estimation.rows import Floats
from parcomp.estimation.span import LARGEST_SUM, Solutions, holds_on_every_row, solve
from parcomp.model import Query, Workload

__all__ = ["MOST_RELEASED", "Derivation", "derive", "derive_all"]

MOST_RELEASED = 300
"""How many released queries are taken on."""

_GRAINS = (1, 2, 6, 2**4, 2**7, 2**10, 2**14, 2**20)
"""Of which parts of 1 the weights that are free to choose are multiples: the coarsest that serves is taken."""

_SERVES = 1.0005
"""How much larger than the least the variance may be."""


@dataclass(frozen=True, slots=True, eq=False)
class Derivation:
    """How a query follows from released answers: the weight of each, and the variance of the sum."""

    weights: tuple[Fraction, ...]
    variance: float

    def value(self, answers: Floats) -> float:
        """The derived answer."""
        used = [(weight, answer) for weight, answer in zip(self.weights, answers.tolist(), strict=True) if weight]
        return float(sum((weight * Fraction(answer) for weight, answer in used), Fraction(0)))

    def half_width_up(self, noise: Noise, confidence: float = 0.95) -> float:
        """A number that the derived answer is within of the count with at least this probability.

        Gaussian noise, discrete or not, is sub-Gaussian with its own variance (Canonne, Kamath and Steinke 2020,
        Corollary 17), and so are sums of it: |error| exceeds r with at most 2·e^(−r²/2V).  Of other noise only the
        variance is used (Chebyshev).
        """
        outside = 1 - confidence
        factor = math.sqrt(2 * math.log(2 / outside)) if noise == "gaussian" else math.sqrt(1 / outside)
        return factor * math.sqrt(self.variance) * (1 + 1e-12)

    def half_width(self, confidence: float = 0.95) -> float:
        """The same as if the sum were normally distributed, which is close for several answers, but not proven."""
        from scipy.special import ndtri  # noqa: PLC0415  slow to import, and quotes need none of it

        return float(ndtri((1 + confidence) / 2)) * math.sqrt(self.variance)


def derive(
    query: Query,
    released: Workload | Sequence[Query],
    covariance: Floats,
    *,
    outside: bool | Collection[str] = False,
) -> Derivation | None:
    """How a query follows from released ones; None where it does not.

    ``covariance`` is that of the noise on the released answers: a matrix, or the variances where noise is independent.
    ``outside`` says that rows may have values that are not declared, or the attributes on which they may.

    >>> import parcomp as pc
    >>> domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    >>> released = pc.Workload(domain, [domain.query(), domain.query(sex="M")])
    >>> found = derive(domain.query(sex="F"), released, np.array([4.0, 9.0]))
    >>> [str(weight) for weight in found.weights], found.variance, found.value(np.array([100.0, 45.0]))
    (['1', '-1'], 13.0, 55.0)
    """
    names = query.domain.names
    if isinstance(outside, bool):
        open_ones: Collection[str] = names if outside else ()
    else:
        open_ones = outside
        for name in open_ones:
            query.domain.index(name)
    complete = frozenset(index for index, name in enumerate(names) if name not in open_ones)
    return derive_all([query], list(released), covariance, complete)[0]


def derive_all(
    queries: Sequence[Query], released: Sequence[Query], covariance: Floats, complete: Collection[int]
) -> list[Derivation | None]:
    """The same for several queries, given the positions of the attributes of which every row has a declared value."""
    if any(one.domain != query.domain for query in queries[:1] for one in (*queries, *released)):
        raise WorkloadError("a query belongs to another domain than the released ones")
    noise = _matrix(covariance, len(released))
    if len(released) > MOST_RELEASED:
        raise SizeError(f"a query is derived from at most {MOST_RELEASED} others, not {len(released):,}")
    # Contradictions count nothing, but their noise may go with that of others.
    found: list[Derivation | None] = [
        Derivation((Fraction(0),) * len(released), 0.0) if query.is_contradiction else None for query in queries
    ]
    asked = [place for place, one in enumerate(found) if one is None]
    for place, solutions in zip(asked, solve([queries[place] for place in asked], released, complete), strict=True):
        if solutions is not None:
            found[place] = _best(solutions, queries[place], released, noise, complete)
    return found


def _best(
    solutions: Solutions, query: Query, released: Sequence[Query], noise: Floats, complete: Collection[int]
) -> Derivation | None:
    """About the least variance: exact where weights are bound, and in coarse parts of 1 where they are free."""
    base = np.asarray(solutions.one, np.float64) / solutions.denominator
    directions = np.asarray(solutions.kernel, np.float64) / solutions.denominator
    chosen: Floats = np.zeros(0)
    if solutions.free:
        bends = directions.T @ noise @ directions
        chosen = np.asarray(np.linalg.lstsq(bends, -directions.T @ noise @ base, rcond=None)[0], np.float64)
    best = base + directions @ chosen
    least = float(best @ noise @ best)
    found: Derivation | None = None
    for grain in _GRAINS:
        steps = np.array([round(step) for step in (chosen * grain).tolist()], object)
        whole = solutions.one * grain + (solutions.kernel @ steps if solutions.free else 0)
        if sum(map(abs, whole.tolist())) >= LARGEST_SUM:
            break
        weights = tuple(Fraction(int(one), solutions.denominator * grain) for one in whole.tolist())
        plain = np.array([float(weight) for weight in weights])
        variance = float(plain @ noise @ plain)
        if found is None or variance < found.variance:
            found = Derivation(weights, variance)
        if variance <= _SERVES * least:
            break
    if found is None or not _holds(found, query, released, complete):
        return None
    return found


def _holds(found: Derivation, query: Query, released: Sequence[Query], complete: Collection[int]) -> bool:
    used = [bool(weight) for weight in found.weights]
    weights = list(compress(found.weights, used))
    return holds_on_every_row(weights, list(compress(released, used)), query, complete)


def _matrix(covariance: Floats, count: int) -> Floats:
    noise = np.asarray(covariance, np.float64)
    if noise.shape == (count,):
        noise = np.diag(noise)
    if noise.shape != (count, count) or not np.isfinite(noise).all() or (np.diag(noise) < 0).any():
        raise ArgumentError(f"the covariance of {count:,} answers is a finite matrix of {count:,} × {count:,}")
    return noise
