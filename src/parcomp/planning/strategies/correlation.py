"""Gaussian noise of the covariance that is best for a workload, and a bound below which no Gaussian noise gets.

Of noise with covariance Σ on the answers, query q gets the standard deviation σ_q = √Σ_qq, and a row x costs
w_xᵀΣ⁻¹w_x (μ² under GDP, 2ρ under zCDP), with w_x the 0/1 vector of the queries that x satisfies.  So

    minimize Σ_q a_q·σ_q   subject to   w_xᵀ·Σ⁻¹·w_x ≤ 1 for every atom x,

which is convex in Σ⁻¹.  Independent noise is the case of a diagonal Σ.

**The bound.**  Let p ≥ 0 be weights of atoms with Σp = 1, S = Σ_x p_x·w_x·w_xᵀ, D any positive diagonal matrix, and
Σ₀ = D^(−½)·(D^½·S·D^½)^½·D^(−½), so that Σ₀·D·Σ₀ = S.  For every Σ that keeps the constraints, Cauchy and Schwarz give
(Σ₀)_qq ≤ σ_q·√z_q with z_q = e_qᵀ·Σ₀·Σ⁻¹·Σ₀·e_q, and Σ_q D_qq·z_q = tr(S·Σ⁻¹) ≤ 1.  The least of
Σ_q a_q·(Σ₀)_qq/√z_q over all such z is

    ( Σ_q (a_q·(Σ₀)_qq)^(2/3) · D_qq^(1/3) )^(3/2) ≤ Σ_q a_q·σ_q.

It holds for every p and D.  At the optimum D_qq = a_q/√(Σ₀)_qq, the bound is attained, and Σ is a multiple of Σ₀.

**The search.**  With D = diag(a/σ) of the Σ₀ before, each atom's weight is multiplied by a power of what it costs under
Σ₀, relative to the mean.  (For a fixed D this is the multiplicative algorithm for optimal designs under the criterion
tr S^½, for which the power 1/(1 − ½) = 2 climbs monotonically: Yu 2010.  A higher one is quicker, and is given up once
the bound falls.)  A round takes one symmetric eigenproblem of the size of the queries.

Queries beyond ``BLOCK`` are cut into blocks with noise of their own, a block-diagonal Σ.  The bound of each block holds
for whatever noise its queries get, so their sum holds for all noise.

Floats throughout, single precision while searching: privacy rests on :mod:`~parcomp.planning.strategies.charge` alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from parcomp.planning.strategies import _form_kernels as kernels
from parcomp.planning.strategies.atoms import Atoms, Indices

__all__ = ["BLOCK", "Correlation", "correlate"]

Floats = npt.NDArray[np.float64]
AnyFloats = npt.NDArray[np.floating]

BLOCK = 2_100
"""The most queries whose noise is correlated; more are cut into blocks."""

_CLOSE = 5e-3
"""The distance from the bound at which the search ends."""

_PAIRS = 1 << 29
"""Pairs of queries that are added up between two looks at the clock: about a second."""

_ROUNDS = 300
_QUICK, _MONOTONE = 3.5, 2.0
"""Powers of the update; from about 5 on it diverges."""

_RIDGE = 1e-6
"""Added to D^½·S·D^½, relative to its mean diagonal entry, so that dependent queries do no harm."""

_MARGIN = 1e-6
"""By which a bound is lowered for the rounding of floats."""


@dataclass(frozen=True, slots=True, eq=False)
class Correlation:
    """Blocks of queries, and for each a matrix R with Σ⁻¹ = RᵀR on it; no row costs more than 1, but for rounding.

    ``value`` is Σ a_q·σ_q, and no Gaussian noise of any covariance within the same cost gets below ``bound``.
    """

    blocks: tuple[tuple[Indices, Floats], ...]
    value: float
    bound: float
    rounds: int


def correlate(
    atoms: Atoms, importance: Floats, deadline: float, tell: Callable[[int, float], None] = lambda _rounds, _cost: None
) -> Correlation | None:
    """The best noise for the atoms of a workload; ``importance`` is the a_q of each query.

    At the deadline it is as good as it is by then, and None where that is before a first round has ended.
    ``tell`` hears of each round and by how much its dearest row exceeds the mean.
    """
    count = atoms.query_count
    pieces = np.array_split(np.arange(count), -(-count // BLOCK))
    blocks = [_Block(piece, atoms if len(pieces) == 1 else atoms.within(piece), importance[piece]) for piece in pieces]
    weight = np.full(len(atoms), 1 / len(atoms))
    rounds, power, best = 0, _QUICK, 0.0
    # On busy cores the threads of a linear algebra library wait for each other longer than they compute.
    with threadpool_limits(1, "blas"):
        while True:
            rounds += 1
            began = time.monotonic()
            cost = _cost(blocks, weight, np.float32, deadline if rounds == 1 else math.inf)
            if cost is None:
                return None
            mean = float(weight @ cost)
            dearest = float(cost.max()) / mean
            value = sum(block.value for block in blocks) * np.sqrt(dearest * mean)
            bound = sum(block.bound for block in blocks)
            tell(rounds, dearest)
            # The last round of all has twice the precision, and takes twice as long.
            late = (now := time.monotonic()) + 3 * (now - began) >= deadline
            if value <= (1 + _CLOSE) * bound or rounds == _ROUNDS or late:
                break
            power = _QUICK if power == _QUICK and bound >= best * (1 - _MARGIN) else _MONOTONE
            best = max(best, bound)
            weight *= (cost / mean) ** power
            weight /= weight.sum()
            for block in blocks:
                block.turn()
        cost = _cost(blocks, weight, np.float64, math.inf)
        assert cost is not None, "nothing ends it"
        scale = float(cost.max())
        return Correlation(
            tuple((block.queries, block.root() / np.sqrt(scale)) for block in blocks),
            float(sum(block.value for block in blocks) * np.sqrt(scale)),
            float(sum(block.bound for block in blocks)) * (1 - _MARGIN),
            rounds,
        )


def _cost(
    blocks: Sequence[_Block], weight: Floats, precision: type[np.floating], deadline: float
) -> npt.NDArray[np.float64] | None:
    """What each atom costs under all blocks, None where the time is up before that is known."""
    total = np.zeros(len(weight))
    for number, block in enumerate(blocks):
        if number and time.monotonic() >= deadline:
            return None
        cost = block.step(weight, precision, deadline)
        if cost is None:
            return None
        total += cost
    return total


class _Block:
    """Queries with noise of their own: the state D, and Σ₀ of the last step with what is read off it."""

    def __init__(self, queries: Indices, atoms: Atoms, importance: Floats) -> None:
        self.queries, self._atoms, self._importance = queries, atoms, importance
        self._pairs = np.concatenate(([0], np.cumsum(np.diff(atoms.start) ** 2)))
        self._diagonal = importance / importance.mean()
        self._spread = np.ones(len(queries))
        self._eigen: tuple[AnyFloats, AnyFloats] = (np.ones(1), np.ones((1, 1)))
        self.value = self.bound = 0.0

    def step(self, weight: Floats, precision: type[np.floating], deadline: float) -> Floats | None:
        """What each atom costs under Σ₀ of the weights, None where time is up first; sets ``value`` and ``bound``."""
        count = len(self.queries)
        gram = np.zeros((count, count), precision)
        cast = weight.astype(precision)
        for own, start in self._pieces():
            if own.start and time.monotonic() >= deadline:
                return None
            kernels.add_pairs(start, self._atoms.index, cast[own], gram)
        root = np.sqrt(self._diagonal).astype(precision)
        # The lower triangle is all that is read.
        gram *= root[:, None]
        gram *= root[None, :]
        diagonal = gram.reshape(-1)[:: count + 1]
        mean = max(float(diagonal.mean()), 1e-30)
        gram /= mean
        diagonal += precision(_RIDGE)
        values, vectors = eigh(gram, lower=True, overwrite_a=True, check_finite=False, driver="evd")
        values = np.maximum(values, _RIDGE / 10)
        self._eigen = values, vectors
        inverse = vectors * values**-0.25
        matrix = inverse @ inverse.T
        matrix *= root[:, None]
        matrix *= root[None, :]
        # (Σ₀)_qq, with the ridge for the value and without it for the bound; the scale of S is put back in.
        half = vectors.astype(np.float64) ** 2
        self._spread = np.sqrt(half @ np.sqrt(values.astype(np.float64)) / self._diagonal)
        self.value = float(self._importance @ self._spread)
        bare = half @ np.sqrt(np.maximum(values - _RIDGE, 0.0).astype(np.float64)) * np.sqrt(mean) / self._diagonal
        self.bound = float(((self._importance * bare) ** (2 / 3) @ self._diagonal ** (1 / 3)) ** 1.5)
        cost = np.zeros(len(self._atoms))
        for own, start in self._pieces():
            if own.start and time.monotonic() >= deadline:
                return None
            kernels.forms(start, self._atoms.index, matrix, cost[own])
        return cost

    def _pieces(self) -> Iterator[tuple[slice, Indices]]:
        """The atoms by pieces of so many pairs of queries, as a slice of them and where the queries of each begin."""
        begin = 0
        while begin < len(self._atoms):
            end = max(begin + 1, int(np.searchsorted(self._pairs, self._pairs[begin] + _PAIRS, side="right")) - 1)
            yield slice(begin, end), self._atoms.start[begin : end + 1]
            begin = end

    def turn(self) -> None:
        """Take D from the Σ₀ at hand."""
        diagonal = self._importance / self._spread
        self._diagonal = diagonal / diagonal.mean()

    def root(self) -> Floats:
        """A matrix R with RᵀR the inverse of Σ₀."""
        values, vectors = self._eigen
        return np.asarray((vectors * values**-0.25) @ vectors.T * np.sqrt(self._diagonal), np.float64)
