"""f_γ: the trade-off function of a workload whose queries use different mechanisms, fixed in advance (paper §2.4).

f_γ is the lower convex envelope of ⊗_{i ∈ I} f_i over all overlapping sets I, so its profile is the maximum of theirs.
There are far too many sets to look at; what matters of a set is how many of each kind of mechanism it holds, and more
of any kind is worse.  Gaussian mechanisms are one kind, counted by Σ μ².

* One kind: the maximum overlap alone, hence one product.
* Few kinds: the Pareto set of counts.  Where the rows can be walked it is exact.  Else it is enclosed: maximum
  overlaps in several directions bound the counts from outside, and the maximal points within these bounds are at least
  as bad as every overlapping set.
* Otherwise: Rényi divergences, one overlap for each order, and basic composition for the probability that everything
  is revealed.

In each case the answer is a lower bound of f_γ.  It holds for neighbors by addition or removal, and for mechanisms
chosen before any answer is seen: filters for adaptively chosen f are not valid in general.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, TypeAlias

import numpy as np

from parcomp.errors import WorkloadError
from parcomp.model import Workload
from parcomp.model.compile import compile_workload
from parcomp.overlap import WorkloadOverlap
from parcomp.overlap.reduce.values import drop_dominated_values
from parcomp.privacy.composition import lower_convex_envelope, tensor_power
from parcomp.privacy.conversions import renyi_delta
from parcomp.privacy.renyi import ORDERS
from parcomp.privacy.rounding import Floats, up
from parcomp.privacy.tradeoff import IDENTITY, Envelope, Gaussian, TradeOff

__all__ = ["Method", "WorkloadTradeOff", "f_gamma"]

Method: TypeAlias = Literal["one overlap", "counts", "enclosed counts", "rdp"]

_FEW: Final = 4
"""The most kinds of mechanisms whose counts are looked at."""

_MOST_SETS: Final = 100
"""The most tensor products that are worked out."""

_WALKED: Final = 1 << 24
"""The most rows, times kinds, that are walked for the exact Pareto set."""

_SCALE: Final = 2**40
"""Real costs become integers of this fraction of the largest, rounded up."""


@dataclass(frozen=True, slots=True)
class WorkloadTradeOff:
    """A lower bound of f_γ and how it was found.

    ``exact`` tells that nothing but the rounding of products lies between the two: all overlaps were closed and the
    counts are those of rows.
    """

    tradeoff: TradeOff
    method: Method
    exact: bool
    sets: int
    """How many products the envelope was taken of."""


def f_gamma(
    workload: Workload, mechanisms: TradeOff | Sequence[TradeOff], *, time_limit: float = 60.0
) -> WorkloadTradeOff:
    """The trade-off function of answering each query by its mechanism, from below.

    The workload's own costs play no part.  ``time_limit`` is for the overlaps.

    >>> from parcomp.samples import paper_example
    >>> f_gamma(paper_example(), Gaussian(1.0)).tradeoff.mu ** 2
    3.0000000003...
    """
    deadline = time.monotonic() + time_limit
    given = [mechanisms] * len(workload) if isinstance(mechanisms, TradeOff) else list(mechanisms)
    if len(given) != len(workload):
        raise WorkloadError(f"there are {len(given)} mechanisms for {len(workload)} queries")
    disclosing = [position for position, f in enumerate(given) if f != IDENTITY]
    kinds = _Kinds([given[position] for position in disclosing])
    chosen = workload[np.array(disclosing, np.int64)]
    if not disclosing:
        return WorkloadTradeOff(IDENTITY, "one overlap", exact=True, sets=0)
    if len(kinds) == 1:
        upper, closed = _overlap(chosen, kinds.costs[0], deadline)
        return WorkloadTradeOff(kinds.product([upper]), "one overlap", exact=closed, sets=1)
    if len(kinds) <= _FEW:
        counts, exact = _walked_counts(chosen, kinds), True
        if counts is None:
            counts, exact = _enclosed_counts(chosen, kinds, deadline), False
        if counts is not None and len(counts) <= _MOST_SETS:
            method: Method = "counts" if exact else "enclosed counts"
            return WorkloadTradeOff(lower_convex_envelope(map(kinds.product, counts)), method, exact, len(counts))
    return WorkloadTradeOff(_by_renyi(chosen, kinds, deadline), "rdp", exact=False, sets=1)


class _Kinds:
    """The kinds of mechanisms of the queries.

    ``costs[k][q]`` is what query q adds to the count of kind k: 1 if it is of that kind, and μ² for a Gaussian, which
    is the last kind if there is one.
    """

    def __init__(self, mechanisms: Sequence[TradeOff]) -> None:
        self.mechanisms = mechanisms
        self.others = list(dict.fromkeys(f for f in mechanisms if not isinstance(f, Gaussian)))
        number = {f: k for k, f in enumerate(self.others)}
        self.gaussian = any(isinstance(f, Gaussian) for f in mechanisms)
        self.costs = [np.zeros(len(mechanisms)) for _ in range(len(self.others) + self.gaussian)]
        for position, f in enumerate(mechanisms):
            if isinstance(f, Gaussian):
                self.costs[-1][position] = up(f.mu**2)
            else:
                self.costs[number[f]][position] = 1.0

    def __len__(self) -> int:
        return len(self.costs)

    def product(self, counts: Sequence[float]) -> TradeOff:
        """The tensor product of so many mechanisms of each kind."""
        whole = {f: round(count) for f, count in zip(self.others, counts, strict=False)}
        if self.gaussian:
            return tensor_power({**whole, Gaussian(math.sqrt(counts[-1])): 1})
        return tensor_power(whole)


def _overlap(workload: Workload, costs: Floats, deadline: float) -> tuple[float, bool]:
    """An upper bound of the maximum overlap of real costs, and whether the search was finished; costs may be 0."""
    positive = np.flatnonzero(costs > 0)
    if not len(positive):
        return 0.0, True
    kept = costs[positive]
    if (kept == 1.0).all():
        scale, units = 1.0, np.ones(len(kept), np.int64)
    else:
        scale = float(kept.max()) / _SCALE
        units = np.ceil(kept / scale).astype(np.int64)
    bracket = WorkloadOverlap(workload[positive]).within_time(units, deadline)
    return bracket.upper * scale, bracket.exact


def _walked_counts(workload: Workload, kinds: _Kinds) -> list[list[float]] | None:
    """The Pareto set of the counts of all rows, or None if there are too many rows to walk."""
    compilation = compile_workload(workload.with_costs(np.ones(len(workload), np.int64), "weight"))
    # A dropped value satisfies no query that the value kept for it does not, whatever kinds they are of.
    compiled = drop_dominated_values(compilation.compiled).compiled
    rows = math.prod(compiled.sizes.tolist())
    if rows * len(kinds) > _WALKED or compiled.query_count != len(compilation.queries):
        return None
    counts = np.zeros((len(kinds), *compiled.sizes.tolist()))
    every = [np.arange(size) for size in compiled.sizes.tolist()]
    for query, position in enumerate(compilation.queries.tolist()):
        values = list(every)
        for mask in compiled.term[compiled.start[query] : compiled.start[query + 1]].tolist():
            values[int(compiled.mask_attribute[mask])] = np.flatnonzero(compiled.mask_bits(mask))
        for kind, costs in enumerate(kinds.costs):
            if costs[position]:
                counts[kind][np.ix_(*values)] += costs[position]
    return _maximal(counts.reshape(len(kinds), -1).T)


def _enclosed_counts(workload: Workload, kinds: _Kinds, deadline: float) -> list[list[float]] | None:
    """Counts such that each overlapping set has at most as many of each kind as one of them; None if too many."""
    directions = [np.eye(len(kinds))[kind] for kind in range(len(kinds))]
    directions.append(np.ones(len(kinds)))
    representatives = [*kinds.others, *([Gaussian(1.0)] if kinds.gaussian else [])]
    for order in (1.5, 4.0, 16.0):
        direction = np.array([f.renyi(order) + 1e-12 for f in representatives])
        directions.append(direction / direction.max())
    limits = []
    for done, direction in enumerate(directions):
        share = time.monotonic() + max(0.0, deadline - time.monotonic()) / (len(directions) - done)
        costs = np.sum([weight * cost for weight, cost in zip(direction, kinds.costs, strict=True)], axis=0)
        limits.append(_overlap(workload, costs, share)[0] * (1 + 1e-9))
    ranges = [range(math.floor(limit + 1e-6) + 1) for limit in limits[: len(kinds) - 1]]
    if math.prod(map(len, ranges)) > 50 * _MOST_SETS:
        return None
    # Given the counts of all kinds but the last, the last may be as large as the tightest direction allows.
    found = []
    for counts in product(*ranges):
        rest = [
            (limit - float(np.dot(direction[:-1], counts))) / direction[-1]
            for limit, direction in zip(limits, directions, strict=True)
            if direction[-1] > 0
        ]
        within = all(
            float(np.dot(direction[:-1], counts)) <= limit for limit, direction in zip(limits, directions, strict=True)
        )
        last = min(rest)
        if within and last >= 0:
            found.append([*map(float, counts), last if kinds.gaussian else float(math.floor(last + 1e-6))])
    return _maximal(np.array(found))


def _maximal(points: Floats) -> list[list[float]]:
    """The points that no other point exceeds in one coordinate and reaches in all."""
    distinct = np.unique(points, axis=0)[::-1]
    kept: list[Floats] = []
    for point in distinct:
        if not any((other >= point).all() for other in kept):
            kept.append(point)
    return [point.tolist() for point in kept]


def _by_renyi(workload: Workload, kinds: _Kinds, deadline: float) -> TradeOff:
    """The bound by Rényi divergences, with the probability that something is revealed on top."""
    # f = f' ⊗ f_{0,δ}: what is revealed with probabilities δ_i adds up to 1 − Π(1 − δ_i), whose logarithm is additive.
    logs = np.array([-math.log1p(-min(f.revealed, 1 - 1e-15)) for f in kinds.mechanisms])
    rounds = len(ORDERS) + 1
    losses = []
    for done, order in enumerate(ORDERS):
        share = time.monotonic() + max(0.0, deadline - time.monotonic()) / (rounds - done)
        divergence = {f: f.renyi(order) for f in dict.fromkeys(kinds.mechanisms)}
        losses.append(up(_overlap(workload, np.array([divergence[f] for f in kinds.mechanisms]), share)[0]))
    revealed = up(-math.expm1(-up(_overlap(workload, up(logs), deadline)[0])))
    # No order says much beyond this ε.
    largest = min(600.0, losses[-1] + 40.0)
    epsilons = np.concatenate((np.linspace(0, largest, 600), np.geomspace(1e-4, largest, 200)))
    deltas = np.array([renyi_delta(ORDERS, losses, epsilon)[0] for epsilon in epsilons])
    return Envelope.from_profile(epsilons, revealed + (1 - revealed) * deltas)
