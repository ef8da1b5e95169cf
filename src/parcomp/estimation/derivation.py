"""Answers that follow from others: a query whose count is a sum, with weights, of counts that were released.

`all − men` is the count of women: a new query q is *in the span* of released ones if q = Σ a_i·q_i on every possible
row.  Then Σ a_i·answer_i has the count of q as its mean, and the variance aᵀ·Σ·a, where Σ is the covariance of the
noise; of all such weights the ones with the least variance are taken (Gauss and Markov).  It costs nothing.

*Exact.*  Each row says which queries it satisfies: a linear equation on the weights, solved in fractions.  That the
weights hold on *all* rows is proven by two maximum overlaps of signed weights, of Σ a_i·q_i − q and of its negative,
neither of which may be above 0; a row where one is gives the next equation.  A system without a solution proves that q
is not in the span.  Every new equation is independent of those before it, so there are no more of them than queries.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from parcomp.errors import ArgumentError, SizeError, WorkloadError
from parcomp.estimation.noises import Noise
from parcomp.estimation.rows import ClimbedRows, Flags, Floats, with_outside
from parcomp.estimation.signed import signed_overlap
from parcomp.model import Query, Workload
from parcomp.model.compile import compile_workload

__all__ = ["Derivation", "derive"]

_MOST = 300
"""How many released queries are taken on: fractions take time."""

_GRAINS = (2**20, 2**10, 2**4, 1)
"""Of which parts of 1 the weights that are free to choose are multiples: the finest that integers bear is taken."""

_LARGEST_SUM = 2**60
"""More than whole weights may add up to."""

_SEEDS = 4
"""Rounds of rows that are looked at before the first proof."""


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
        return float(ndtri((1 + confidence) / 2)) * math.sqrt(self.variance)


def derive(
    query: Query,
    released: Workload,
    covariance: Floats,
    *,
    outside: bool = False,
    time_limit: float = 10.0,
    seed: int = 1,
) -> Derivation | None:
    """How a query follows from released ones; None where it does not, or where that was not proven in time.

    ``covariance`` is that of the noise on the released answers: a matrix, or the variances where noise is independent.

    >>> import parcomp as pc
    >>> domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    >>> released = pc.Workload(domain, [domain.query(), domain.query(sex="M")])
    >>> found = derive(domain.query(sex="F"), released, np.array([4.0, 9.0]))
    >>> [str(weight) for weight in found.weights], found.variance, found.value(np.array([100.0, 45.0]))
    (['1', '-1'], 13.0, 55.0)
    """
    deadline = time.monotonic() + time_limit
    if query.domain != released.domain:
        raise WorkloadError("a query belongs to another domain than the released ones")
    noise = _matrix(covariance, len(released))
    if query.is_contradiction:
        return Derivation((Fraction(0),) * len(released), 0.0)
    if len(released) > _MOST:
        raise SizeError(f"a query is derived from at most {_MOST} others, not {len(released):,}")
    # Contradictions count nothing, but their noise may go with that of others.
    asked = _Asked(Workload(released.domain, [*released, query]), outside)
    equations = _Equations(len(released))
    if not all(equations.add(row) for row in asked.some_rows(seed)):
        return None
    while time.monotonic() < deadline:
        candidates = (equations.best(noise, grain) for grain in _GRAINS)
        weights, whole = next(((one, whole) for one in candidates if (whole := _whole(one)) is not None), (None, None))
        if weights is None or whole is None:
            return None
        row = asked.violated(whole, deadline)
        if row is None:
            plain = np.array([float(weight) for weight in weights])
            return Derivation(tuple(weights), float(plain @ noise @ plain))
        if not len(row) or not equations.add(row):
            return None
    return None


class _Asked:
    """The released queries and the new one, the last; a row is given as flags of those that it satisfies."""

    def __init__(self, workload: Workload, outside: bool) -> None:
        compilation = compile_workload(workload)
        self._count, self._places = len(workload), compilation.queries
        self._compiled = with_outside(compilation.compiled) if outside else compilation.compiled

    def some_rows(self, seed: int) -> list[Flags]:
        """Rows that satisfy different queries."""
        source, draw = ClimbedRows(self._compiled, seed), np.random.default_rng(seed)
        rounds = [source.price(draw.normal(size=len(self._places))).flags for _ in range(_SEEDS)]
        return [self._spread(flags) for flags in np.unique(np.vstack(rounds), axis=0)]

    def violated(self, whole: npt.NDArray[np.int64], deadline: float) -> Flags | None:
        """A row on which weights do not add up to 0; None if there is none, and no flags if that is open."""
        for signed in (whole, -whole):
            found = signed_overlap(self._compiled, signed[self._places], deadline, enough=0)
            if found.lower > 0:
                flags = np.zeros(len(self._places), np.bool_)
                flags[self._compiled.members(found.row)] = True
                return self._spread(flags)
            if found.upper > 0:
                return np.zeros(0, np.bool_)
        return None

    def _spread(self, flags: Flags) -> Flags:
        every = np.zeros(self._count, np.bool_)
        every[self._places] = flags
        return every


def _whole(weights: list[Fraction]) -> npt.NDArray[np.int64] | None:
    """The derived sum less the query, times a common denominator; None where that is beyond 64 bits."""
    common = math.lcm(*(weight.denominator for weight in weights), 1)
    numbers = [int(weight * common) for weight in weights] + [-common]
    return np.array(numbers, np.int64) if sum(map(abs, numbers)) < _LARGEST_SUM else None


def _matrix(covariance: Floats, count: int) -> Floats:
    noise = np.asarray(covariance, np.float64)
    if noise.shape == (count,):
        noise = np.diag(noise)
    if noise.shape != (count, count) or not np.isfinite(noise).all() or (np.diag(noise) < 0).any():
        raise ArgumentError(f"the covariance of {count:,} answers is a finite matrix of {count:,} × {count:,}")
    return noise


class _Equations:
    """Σ_i row_i·a_i = row_last for each row, in reduced echelon form: each line has a pivot that no other line has."""

    def __init__(self, unknowns: int) -> None:
        self._unknowns = unknowns
        self._lines: dict[int, list[Fraction]] = {}

    def add(self, row: npt.NDArray[np.bool_]) -> bool:
        """Take in the equation of a row; False if none solves all."""
        line = [Fraction(int(flag)) for flag in row.tolist()]
        for pivot, known in self._lines.items():
            if line[pivot]:
                line = _less(line, line[pivot], known)
        pivot = next((place for place in range(self._unknowns) if line[place]), -1)
        if pivot < 0:
            return not line[-1]
        line = [entry / line[pivot] for entry in line]
        for other, known in self._lines.items():
            if known[pivot]:
                self._lines[other] = _less(known, known[pivot], line)
        self._lines[pivot] = line
        return True

    def best(self, noise: Floats, grain: int) -> list[Fraction]:
        """A solution of about the least variance: exact where bound, and a multiple of 1/grain where it is free."""
        free = [place for place in range(self._unknowns) if place not in self._lines]
        base = np.zeros(self._unknowns)
        directions = np.zeros((self._unknowns, len(free)))
        for column, place in enumerate(free):
            directions[place, column] = 1.0
        for pivot, line in self._lines.items():
            base[pivot] = float(line[-1])
            directions[pivot] = [-float(line[place]) for place in free]
        chosen = np.linalg.lstsq(directions.T @ noise @ directions, -directions.T @ noise @ base, rcond=None)[0]
        weights = [Fraction(0)] * self._unknowns
        for place, weight in zip(free, chosen.tolist(), strict=True):
            weights[place] = Fraction(round(weight * grain), grain)
        for pivot, line in self._lines.items():
            weights[pivot] = line[-1] - sum((line[place] * weights[place] for place in free), Fraction(0))
        return weights


def _less(line: list[Fraction], factor: Fraction, other: list[Fraction]) -> list[Fraction]:
    return [entry - factor * known if known else entry for entry, known in zip(line, other, strict=True)]
