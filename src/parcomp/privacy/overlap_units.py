"""Maximum overlap in whole units, for any costs of the queries of one workload.

Privacy is charged by exact integers, so the numbers of the engine are taken as they are, not as the floats that people
read. The workload is compiled once, however many kinds of costs its overlap is asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from parcomp.errors import SizeError, WorkloadError
from parcomp.model.compile import compile_workload
from parcomp.model.workload import Workload
from parcomp.overlap.engine import solve, solve_within
from parcomp.overlap.result import Bracket

__all__ = ["OverlapUnits", "UnitBracket", "Units"]

Units = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class UnitBracket:
    """Bounds in units around the maximum overlap; ``upper`` is proven."""

    lower: int
    upper: int

    @property
    def exact(self) -> bool:
        """Whether both ends meet."""
        return self.lower == self.upper


class OverlapUnits:
    """A compiled workload whose overlap can be asked for under any costs."""

    def __init__(self, workload: Workload) -> None:
        self._compilation = compile_workload(workload.with_costs(np.ones(len(workload), np.int64), "weight"))

    @property
    def queries(self) -> npt.NDArray[np.int64]:
        """Which queries can cost anything: those that are no contradictions."""
        return self._compilation.queries

    def total(self, units: Units) -> int:
        """The sum of the costs of all queries that can be satisfied."""
        return sum(units[self.queries].tolist())

    def within_time(
        self, units: Units, deadline: float, tell: Callable[[UnitBracket], None] | None = None
    ) -> UnitBracket:
        """The bracket that is reached by ``deadline``."""
        return self._bracket(units, lambda compiled, scaled: solve(compiled, deadline, scaled), tell)

    def within_work(self, units: Units, work: int) -> UnitBracket:
        """The bracket that is reached within about ``work`` word operations."""
        return self._bracket(units, lambda compiled, _: solve_within(compiled, work), None)

    def _bracket(
        self, units: Units, run: Callable[..., Bracket], tell: Callable[[UnitBracket], None] | None
    ) -> UnitBracket:
        costs = units[self.queries]
        if (costs == 0).any():
            raise WorkloadError("each query needs a cost of at least one unit; leave out those that cost nothing")
        unit = int(np.gcd.reduce(costs)) if len(costs) else 1
        weights = costs // unit
        if len(weights) and int(weights.max()) * len(weights) >= 2**62 and sum(weights.tolist()) >= 2**62:
            raise SizeError(
                "the costs add up to more than 64 bits hold; state them with fewer digits or in larger units"
            )
        compiled = dataclasses.replace(self._compilation.compiled, weights=weights)

        def scaled(bracket: Bracket) -> None:
            if tell is not None:
                tell(UnitBracket(bracket.lower * unit, bracket.upper * unit))

        bracket = run(compiled, scaled)
        return UnitBracket(bracket.lower * unit, bracket.upper * unit)
