"""Correlated strategies: from the best covariance to an integer matrix, its noise and its errors.

The inverse of the best covariance Σ has a root R, RᵀR = Σ⁻¹.  Measured is H·c, with H the entries of 2^k·R rounded to
integers and c the counts, and discrete Gaussian noise of one σ is added to each coordinate.  Released is the least
squares solution H⁺·(H·c + noise), which is c with noise of covariance σ²·H⁺·H⁺ᵀ ≈ Σ.  Rounding changes H a little, and
with it what H costs and how far its answers are off: both are worked out for the rounded H.

Where the rows of a part cannot be listed, its queries get a coordinate each: independent noise, in the same matrix.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from parcomp.costs import UNITS_PER_ONE
from parcomp.planning.strategies.atoms import TIME_IS_UP, Indices, atoms_or_reason
from parcomp.planning.strategies.charge import Matrix, charge_up, largest_form, sigma_for
from parcomp.planning.strategies.correlation import BLOCK, correlate
from parcomp.planning.strategies.found import NOT_BETTER, TOO_LITTLE, Found, Grouped, Independent
from parcomp.planning.strategies.parts import Part
from parcomp.planning.strategies.sums import combined_error

__all__ = ["CORRELATED_ENTRIES", "CORRELATED_QUERIES", "correlated_strategy"]

Floats = npt.NDArray[np.float64]
Tell = Callable[[int, float], None]

CORRELATED_QUERIES = 4_000
"""The most groups of queries for which a matrix is made."""

CORRELATED_ENTRIES = 1 << 24
"""The most entries that it may have, with a column for each query: 128 MiB, of which there are some copies."""

_BITS = 20
"""The logarithm of the scale at which entries are rounded, where the noise allows it."""

_LEAST_BITS = 10
_WIDE, _WIDEST = 2.0**10, 2.0**28
"""The σ that noise should have: wide enough to be as good as continuous, and narrow enough to be worked out."""

_ROUNDING = 1e-9
"""By which errors are raised for the rounding of floats."""


@dataclass(frozen=True, slots=True, eq=False)
class _Noise:
    """Noise for some groups: blocks with roots of their inverse covariance, at a cost of 1 on the dearest row.

    ``value`` is the sum of importance times standard deviation, and ``bound`` what no Gaussian noise gets below.
    ``reason`` says why some of it is independent, if it is.
    """

    blocks: list[tuple[Indices, Floats]]
    value: float
    bound: float
    kinds: frozenset[str]
    rounds: int
    reason: str = ""


def correlated_strategy(grouped: Grouped, independent: Independent, deadline: float, tell: Tell) -> Found | str:
    """The best correlated strategy, or why there is none; parts that cannot be listed get independent noise."""
    if grouped.group_count > CORRELATED_QUERIES:
        return f"{grouped.group_count:,} different queries, and {CORRELATED_QUERIES:,} at most are taken"
    if grouped.group_count * len(grouped.weights) > CORRELATED_ENTRIES:
        return f"a matrix for {len(grouped.weights):,} queries takes too much memory"
    noise = _noise_of(grouped.part, grouped, independent, deadline, tell)
    if isinstance(noise, str):
        return noise
    if "correlated" not in noise.kinds:
        return noise.reason or NOT_BETTER
    # Under both measures a row that costs 1 here costs the squared parameter of a Gaussian of σ = 1 there.
    budget = grouped.units / UNITS_PER_ONE * (2 if grouped.measure.name == "zcdp" else 1)
    bits = _bits(budget)
    if bits < _LEAST_BITS:
        return TOO_LITTLE
    count = np.bincount(grouped.group_of, minlength=grouped.group_count)
    matrix = _rounded(noise, count, bits)
    # On busy cores the threads of a linear algebra library wait for each other longer than they compute.
    with threadpool_limits(1, "blas"):
        spreads = _spreads(noise, matrix, count)
    form = largest_form(grouped.part, matrix * count, time.monotonic() + max(1.0, deadline - time.monotonic()))
    if spreads is None:
        return "its answers cannot be worked out from what is measured"
    if form is None:
        return "what it costs was not proven in time"
    sigma = sigma_for(grouped.measure, form, grouped.units)
    each = np.zeros(len(grouped.weights))
    each[grouped.queries] = combined_error(sigma, spreads * sigma * (1 + _ROUNDING), len(matrix))[grouped.group_of]
    whole = np.zeros((len(matrix), len(grouped.weights)), np.int64)
    whole[:, grouped.queries] = matrix[:, grouped.group_of]
    bound = math.sqrt(2 / math.pi / budget) * noise.bound / float(grouped.weights.sum())
    return Found(
        name="+".join(sorted(noise.kinds)),
        errors=each,
        loss_units=charge_up(grouped.measure, form, sigma),
        matrix=whole,
        sigma=sigma,
        lower_bound=bound if bound > 0 else None,
        rounds=noise.rounds,
    )


def _noise_of(part: Part, grouped: Grouped, independent: Independent, deadline: float, tell: Tell) -> _Noise | str:
    """The best noise for a part, or why there is none.

    Parts that do not overlap are solved one by one.  Parts that share no attribute are solved together if their rows
    can be listed, since their answers may tell of each other; else they share the cost so that the value is least:
    values fall as the root of the cost, so parts of values v take shares in proportion to v^(2/3).
    """
    reason = ""
    if part.kind != "max" and len(part.queries) <= (BLOCK if part.kind == "sum" else CORRELATED_QUERIES):
        atoms = atoms_or_reason(part.compiled, deadline)
        if isinstance(atoms, str):
            reason = atoms
        else:
            found = correlate(atoms, grouped.importance[part.queries], deadline, tell)
            if found is None:
                return TIME_IS_UP
            blocks = [(part.queries[queries], root) for queries, root in found.blocks]
            return _Noise(blocks, found.value, found.bound, frozenset({"correlated"}), found.rounds)
    if part.kind == "leaf":
        # Independent noise for the whole is no strategy, and for others to plan.
        return reason if part is grouped.part else _independent_noise(part, grouped, independent, reason)
    below = [_noise_of(one, grouped, independent, deadline, tell) for one in part.parts]
    for one in below:
        if isinstance(one, str):
            return one
    noises = [one for one in below if not isinstance(one, str)]
    shares = np.ones(len(noises))
    if part.kind == "sum":
        shares = np.array([noise.value for noise in noises]) ** (2 / 3)
        shares /= shares.sum()
    return _Noise(
        [
            (queries, root * math.sqrt(share))
            for noise, share in zip(noises, shares.tolist(), strict=True)
            for queries, root in noise.blocks
        ],
        float(sum(noise.value / math.sqrt(share) for noise, share in zip(noises, shares.tolist(), strict=True))),
        # Whatever noise the whole gets, each part gets some that costs no more than the whole's.
        sum(noise.bound for noise in noises),
        frozenset[str]().union(*(noise.kinds for noise in noises)),
        sum(noise.rounds for noise in noises),
        next((noise.reason for noise in noises if noise.reason), ""),
    )


def _independent_noise(part: Part, grouped: Grouped, independent: Independent, reason: str) -> _Noise | str:
    positions = grouped.positions(part.queries)
    alone = independent(positions)
    if alone is None:
        return TIME_IS_UP
    units, _ = alone
    group = grouped.group_of[np.searchsorted(grouped.queries, positions)]
    # Equal queries are one measurement: what they cost together buys its noise.
    share = np.bincount(group, units / grouped.units, grouped.group_count)[part.queries]
    if not (share > 0).all():
        return TOO_LITTLE
    value = float(grouped.importance[part.queries] @ share**-0.5)
    return _Noise([(part.queries, np.diag(np.sqrt(share)))], value, 0.0, frozenset({"independent"}), 0, reason)


def _bits(budget: float) -> int:
    """The logarithm of the scale of H, so that σ = 2^bits/√budget is neither narrow nor beyond what is worked out."""
    bits = max(_BITS, math.ceil(math.log2(_WIDE * math.sqrt(budget))))
    return min(bits, math.floor(math.log2(_WIDEST * math.sqrt(budget))))


def _rounded(noise: _Noise, count: npt.NDArray[np.int64], bits: int) -> Matrix:
    """The entries of each query, so that the queries of a group add up to about the group's."""
    matrix = np.zeros((sum(len(root) for _, root in noise.blocks), len(count)), np.int64)
    row = 0
    for queries, root in noise.blocks:
        matrix[row : row + len(root), queries] = np.rint(math.ldexp(1.0, bits) * root / count[queries])
        row += len(root)
    return matrix


def _spreads(noise: _Noise, matrix: Matrix, count: npt.NDArray[np.int64]) -> Floats | None:
    """The standard deviation of each group's answer, at σ = 1: the root of the diagonal of (HᵀH)⁻¹."""
    spreads = np.zeros(len(count))
    row = 0
    for queries, root in noise.blocks:
        own = matrix[row : row + len(root), queries].astype(np.float64) * count[queries]
        row += len(root)
        try:
            factor = cho_factor(own.T @ own, check_finite=False)
        except LinAlgError:
            return None
        spreads[queries] = np.sqrt(np.diagonal(cho_solve(factor, np.eye(len(queries)), check_finite=False)))
    return spreads
