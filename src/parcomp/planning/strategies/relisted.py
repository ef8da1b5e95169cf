"""Strategies of atoms from what is kept of them: which queries each histogram is for, and the units of its noise.

Atoms follow from the queries, so they are listed again and not kept.  What counting them costs is bounded without
regard to how they were planned.  A row is in one atom of a histogram at most, so it costs the histogram's units if it
satisfies one of its queries, and nothing otherwise.  So a row costs, by any of these rules,

- at most the sum of the units of all histograms with a query that it satisfies;
- at most the maximum overlap of the queries, each weighing the units of all histograms that it is in: a histogram that
  the row pays for is in the weight of a query that it satisfies.  Where each query has a histogram of its own, which is
  noise of its own, that is what the dearest row costs;
- where parts of the workload share no attribute, at most the sum of what it costs in each;
- where no row satisfies queries of two parts, at most the largest of what it costs in each,

and the least of what they say is taken, part by part.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from parcomp.costs import MAX_UNITS
from parcomp.errors import ArgumentError, SizeError
from parcomp.model import Workload
from parcomp.model.compile import compilable, compile_workload
from parcomp.overlap import Engine, Leaf, Rule, reduce
from parcomp.planning.strategies.atoms import Atoms, Indices, atoms_or_reason
from parcomp.planning.strategies.charge import group_queries
from parcomp.planning.strategies.found import Histogram
from parcomp.planning.strategies.parts import Part
from parcomp.slices import run

__all__ = ["atoms_charge", "histogram_of"]

_TOO_MANY = "the rows of this workload are too many to be listed"


def histogram_of(workload: Workload, queries: Indices, units: int, deadline: float = math.inf) -> Histogram:
    """The atoms of some queries of a workload, listed from these queries; none may be a contradiction."""
    own = workload[queries]
    if len(own) == 1 and not own.contradictory().any():
        # Noise of its own, of which a batch may have thousands.
        return Histogram(queries, Atoms(np.array([0, 1]), np.array([0]), 1), units)
    if not compilable(own):
        raise SizeError(_TOO_MANY)
    compilation = compile_workload(own)
    if len(compilation.queries) != len(queries):
        raise ArgumentError("a query that no row satisfies is no sum of atoms")
    # Only values that the same queries accept are one: no value may be dropped for another.
    root = reduce(compilation.compiled, (Rule.MERGE_VALUES,)).root
    assert isinstance(root, Leaf)
    atoms = atoms_or_reason(root.compiled, deadline)
    if isinstance(atoms, str):
        raise SizeError(f"the rows of this workload are not listed: {atoms}")
    return Histogram(queries, atoms, units)


def atoms_charge(workload: Workload, histograms: Sequence[tuple[Indices, int]], *, time_limit: float = 60.0) -> int:
    """The additive units that counting the atoms of some queries each, with noise for some units each, costs.

    Every query of the workload must be in one of the histograms.  What is proven within ``time_limit`` is charged.
    """
    grouped = group_queries(workload)
    if grouped is None:
        raise SizeError(_TOO_MANY)
    whole, queries, group_of = grouped
    counted: list[set[int]] = [set() for _ in whole.queries]
    place = np.full(len(workload), -1)
    place[queries] = group_of
    covered = np.zeros(len(workload), np.bool_)
    for number, (own, _) in enumerate(histograms):
        covered[own] = True
        for group in place[own].tolist():
            if group >= 0:
                counted[group].add(number)
    if not covered[queries].all():
        raise ArgumentError("a query of the strategy is in none of its histograms")
    return _bound(whole, counted, [units for _, units in histograms], time.monotonic() + time_limit)


def _bound(part: Part, counted: Sequence[set[int]], units: Sequence[int], deadline: float) -> int:
    """What a row costs at most in a part; ``counted`` has the histograms of each group of equal queries."""
    own = [counted[group] for group in part.queries.tolist()]
    together = sum(units[one] for one in set[int]().union(*own))
    if part.kind != "leaf":
        apart = [_bound(one, counted, units, deadline) for one in part.parts]
        return min(together, sum(apart) if part.kind == "sum" else max(apart))
    weights = [sum(units[one] for one in some) for some in own]
    # One histogram has no less than its units, and heavier weights than the engine takes say nothing.
    if len(set[int]().union(*own)) < 2 or sum(weights) > MAX_UNITS:
        return together
    engine = Engine(replace(part.compiled, weights=np.array(weights, np.int64)))
    run(engine, deadline)
    return min(together, engine.bracket().upper)
