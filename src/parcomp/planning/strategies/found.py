"""What a search for a strategy is given, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.model import Workload
from parcomp.planning.accuracy import Floats, Units
from parcomp.planning.strategies.atoms import Atoms, Indices
from parcomp.planning.strategies.charge import Matrix, group_queries
from parcomp.planning.strategies.parts import Part
from parcomp.privacy import Measure

__all__ = ["NOT_BETTER", "TOO_LITTLE", "Found", "Grouped", "Histogram", "Independent", "group_workload"]

Independent = Callable[[Indices], tuple[Units, Floats] | None]
"""For some queries of the workload by themselves: what each costs at the whole budget, and its expected error.

None where the time is up.
"""

NOT_BETTER = "noise on each query has less error"
TOO_LITTLE = "the budget is too small to be shared out"
"""Why there is no strategy, in words."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """A workload of which equal queries are one group, with what is asked of a strategy for it.

    ``queries`` are the positions that are no contradictions and ``group_of`` their groups; ``part`` has the groups.
    ``weights`` says how much the error of each query of the workload matters; the budget is ``units`` of ``measure``.
    """

    part: Part
    queries: Indices
    group_of: Indices
    weights: Floats
    measure: Measure
    units: int

    @property
    def group_count(self) -> int:
        """The number of groups."""
        return len(self.part.queries)

    @property
    def importance(self) -> Floats:
        """How much the error of each group matters, its queries taken together."""
        return np.bincount(self.group_of, self.weights[self.queries], self.group_count).astype(np.float64)

    def positions(self, groups: Indices) -> Indices:
        """The positions in the workload of the queries of some groups."""
        return self.queries[np.isin(self.group_of, groups)]


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Atoms that are counted, each with noise for the same ``units``, and the queries that are sums of them.

    ``queries`` are positions in the workload; query ``queries[i]`` is the sum of the atoms that list ``i``.
    """

    queries: Indices
    atoms: Atoms
    units: int

    def locate(self, satisfied: npt.NDArray[np.bool_]) -> Indices:
        """The atom that each row is in, by which of ``queries`` it satisfies; −1 where it satisfies none."""
        place = {
            np.asarray(one, np.int64).tobytes(): number
            for number, one in enumerate(np.split(self.atoms.index, self.atoms.start[1:-1]))
        }
        return np.array([place.get(np.flatnonzero(row).tobytes(), -1) for row in satisfied], np.int64)

    def add_up(self, counts: Sequence[int]) -> list[int]:
        """The sum of each query's atoms, exactly."""
        sums = [0] * len(self.queries)
        start, index = self.atoms.start.tolist(), self.atoms.index.tolist()
        for atom, count in enumerate(counts):
            for query in index[start[atom] : start[atom + 1]]:
                sums[query] += count
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A strategy: its name, the expected error of each query, and what the whole of it costs at most.

    ``matrix`` and ``sigma`` are those of a correlated strategy.  Without them, the queries of no histogram get noise of
    their own for ``units``.  No Gaussian noise has a mean error below ``lower_bound``, where that is known.
    """

    name: str
    errors: Floats
    loss_units: int
    units: Units | None = None
    matrix: Matrix | None = None
    sigma: float | None = None
    histograms: tuple[Histogram, ...] = ()
    lower_bound: float | None = None
    rounds: int = 0


def group_workload(workload: Workload, weights: Floats, measure: Measure, units: int) -> Grouped | None:
    """The groups of a workload, or None where it is not held as masks or has no query to answer."""
    grouped = group_queries(workload)
    if grouped is None or not len(grouped[1]):
        return None
    return Grouped(*grouped, weights, measure, units)
