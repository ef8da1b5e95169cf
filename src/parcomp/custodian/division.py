"""How the cost of a statement is divided among the numbers that are measured for it.

*What is promised.*  Let a statement cost u additive units (ε, ρ or μ²) and its aggregates get u₁, u₂, … with Σ uᵢ ≤ u.
An aggregate is released with noise that costs uᵢ against one row more or less in its group; a search among ranks makes
up to L noisy numbers, each at ⌊uᵢ/L⌋.  Then the statement costs u against adding or removing a row:

- *Composition.*  Noise is drawn for each number by itself.  Costs of pure differential privacy, zCDP and μ² of Gaussian
  differential privacy add up, also where a number is chosen after seeing those before, as a search does (Dwork and Roth
  2014, Theorem 3.16; Bun and Steinke 2016, Lemma 2.3; Dong, Roth and Su 2019, Theorem 3.2 with Corollary 3.3).
- *Groups are disjoint.*  A row is in one group at most, and all numbers of other groups are distributed as before.

*Preconditions*: a row changes each number by no more than its ``sensitivity``; which numbers are measured, and how the
cost is divided, depends on the statement alone.  A statement without GROUP BY has one group, and noise is made for
``spread`` too where rows are replaced, so replacing one costs u.  With GROUP BY it touches two groups and costs 2u, as
the accountant has it (:mod:`parcomp.custodian.accountant`).  A row that has no value counts for some aggregates and not
for others; it moves fewer numbers than was paid for.

*What is best.*  In units of its sensitivity an aggregate has an error of about e·uᵢ^(−p), where p is 1 for pure and ½
for zCDP and GDP, and e is 1, but L^p for ranks.  It matters as often as items use it, so that c·uᵢ^(−p) counts, with
c = items·e.  The sum is least under Σ uᵢ = u where uᵢ is proportional to w = c^(1/(1+p)): √c, or c^(2/3).  It is then
W^(1+p)·u^(−p) with W = Σ w, so that in a batch a statement weighs as much as W^(1+p) counts do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

from parcomp.custodian.settings import Settings
from parcomp.errors import CostError
from parcomp.model import Aggregate, Statement
from parcomp.noise import Mechanism, halvings_of, mechanism_for, steps_of
from parcomp.planning import error_exponent
from parcomp.privacy import Measure, Neighbours

__all__ = ["Share", "divide", "weight_of"]

_BITS = 40
"""Weights are worked out to so many binary digits."""


@dataclass(frozen=True, slots=True)
class Share:
    """An aggregate with its part of the cost: up to ``steps`` noisy numbers in each group, each by ``mechanism``."""

    aggregate: Aggregate
    units: int
    steps: int
    mechanism: Mechanism


def weight_of(measure: Measure, statement: Statement) -> float:
    """How many counts have as large an error at the same cost: the errors of all numbers, as often as items use them.

    >>> from parcomp.model import Condition, Domain, Integer, Item
    >>> from parcomp.privacy.measures import PURE
    >>> domain = Domain({"age": Integer(0, 119)})
    >>> [weight_of(PURE, Statement.one(kind, Condition.of(domain.query()), "age")) for kind in ("count", "average")]
    [1.0, 4.0]
    """
    total = sum(weight for _, _, weight in _weighed(measure, statement, halving=False))
    return float((total / 2**_BITS) ** (1 + error_exponent(measure)))


def divide(settings: Settings, statement: Statement, units: int, *, halving: bool = False) -> tuple[Share, ...]:
    """The noise of each aggregate; raises :class:`~parcomp.errors.CostError` if some part buys none.

    ``halving`` is how earlier versions have divided, whose searches asked for no more than halvings.
    """
    weighed = list(_weighed(settings.measure, statement, halving=halving))
    if not weighed:
        return ()
    aggregates, numbers, weights = zip(*weighed, strict=True)
    # Rounded so that the parts add up to all of it.
    bounds = [units * before // sum(weights) for before in accumulate(weights, initial=0)]
    shares = []
    for aggregate, steps, (before, after) in zip(aggregates, numbers, pairwise(bounds), strict=True):
        each = (after - before) // steps
        if each < 1:
            raise CostError(
                f"the cost is too small to be divided among {sum(numbers):,} noisy numbers; spend more, or ask for less"
            )
        shares.append(
            Share(aggregate, after - before, steps, mechanism_for(settings.measure, each, _moved(settings, aggregate)))
        )
    return tuple(shares)


def _weighed(measure: Measure, statement: Statement, *, halving: bool) -> Iterator[tuple[Aggregate, int, int]]:
    """Each aggregate with how many numbers are made for it, and its weight."""
    used = [one for item in statement.items for one in statement.aggregates_of(item)]
    for one in statement.aggregates:
        steps = _steps(one, halving)
        yield one, steps, _weight(measure, used.count(one), steps)


def _weight(measure: Measure, items: int, steps: int) -> int:
    """c^(1/(1+p)) as a whole number of a fixed unit, in exact arithmetic so that it is the same everywhere."""
    if measure.name == "pure":
        return math.isqrt(items * steps << 2 * _BITS)
    return _cube_root(items * items * steps << 3 * _BITS)


def _cube_root(number: int) -> int:
    low, high = 0, 1 << (number.bit_length() // 3 + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= number else (low, middle)
    return low


def _steps(aggregate: Aggregate, halving: bool) -> int:
    if aggregate.kind != "ranks":
        return 1
    size = aggregate.high - aggregate.low + 1
    return halvings_of(size) if halving else steps_of(size)


def _moved(settings: Settings, aggregate: Aggregate) -> int:
    """The most by which one row more or less, or one in the place of another, moves the number."""
    if settings.neighbours == Neighbours.REPLACE_ONE:
        return max(aggregate.sensitivity, aggregate.spread)
    return aggregate.sensitivity
