"""The allocation problem, reduced once: which queries always meet the same rows, and what each may cost.

A plan gives query q a cost c_q such that every possible row x is covered by at most the budget, Σ_{q∋x} c_q ≤ B (the
parallel composition theorem, paper §3).  Which rows there are to look at does not depend on the costs as long as
these are positive: values that the same queries accept are merged, and a value whose queries are a subset of
another's is dropped, since the other's rows are covered by at least as much.  Queries left with the same constraints
form a *group*: every row covers all of a group or none. Within a group, queries of equal importance and equal least
cost are interchangeable and form a *class*; by convexity some optimal plan gives the queries of a class the same
cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from parcomp.errors import CostError
from parcomp.model import Workload
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap import Leaf, Rule, WorkloadOverlap, reduce
from parcomp.planning.accuracy import Floats, Units

__all__ = ["AllocationProblem", "Floats", "Units", "allocation_problem"]

Indices = npt.NDArray[np.int64]

_RULES = (Rule.MERGE_VALUES, Rule.DROP_DOMINATED_VALUES, Rule.MERGE_QUERIES)
"""The reductions that hold for all positive weights at once."""


@dataclass(frozen=True, slots=True, eq=False)
class AllocationProblem:
    """Classes of interchangeable queries over the rows of a reduced workload.

    Class ``k`` stands for ``count[k]`` queries of group ``group[k]``, which is query ``group[k]`` of ``reduced``;
    each of them matters by ``importance[k]`` and costs at least ``least_units[k]``, where the budget is ``budget``
    units.  ``queries`` are the positions in the workload that are no contradictions, ascending, and ``class_of``
    their classes.  Where ``reduced`` has overlaps that the workload has not, ``truth`` knows.
    """

    reduced: CompiledWorkload
    queries: Indices
    class_of: Indices
    group: Indices
    count: Floats
    importance: Floats
    least_units: Units
    budget: int
    truth: WorkloadOverlap | None = None

    @property
    def least(self) -> Floats:
        """The least cost of a query of each class, as a fraction of the budget."""
        return self.least_units / self.budget

    @property
    def group_count(self) -> int:
        """The number of groups."""
        return self.reduced.query_count

    def spread(self, per_class: Floats) -> Floats:
        """What each group costs, given what each query of a class costs."""
        return np.bincount(self.group, self.count * per_class, self.group_count).astype(np.float64)

    def spread_units(self, per_class: Units) -> Units:
        """The same in units, exactly."""
        if float(self.count @ per_class) >= 2.0**62:
            raise CostError("the costs add up to more than 64 bits hold; plan with a smaller budget")
        total = np.zeros(self.group_count, np.int64)
        np.add.at(total, self.group, self.count.astype(np.int64) * per_class)
        return total


def allocation_problem(workload: Workload, importance: Floats, least_units: Units, budget: int) -> AllocationProblem:
    """Reduce a workload; ``importance`` and ``least_units`` are given for each query of it."""
    overlap = WorkloadOverlap(workload)
    compiled, same = overlap.compiled()
    root = reduce(compiled, _RULES).root
    assert isinstance(root, Leaf)
    reduction = root.reduction
    queries = overlap.queries
    group_of = np.arange(len(queries)) if reduction.query_of is None else reduction.query_of.astype(np.int64)
    keys = np.rec.fromarrays([group_of, importance[queries], least_units[queries]])
    distinct, class_of, count = np.unique(keys, return_inverse=True, return_counts=True)
    return AllocationProblem(
        reduced=replace(reduction.compiled, weights=np.ones(reduction.compiled.query_count, np.int64)),
        queries=queries,
        class_of=class_of.astype(np.int64),
        group=np.asarray(distinct["f0"], np.int64),
        count=count.astype(np.float64),
        importance=np.asarray(distinct["f1"], np.float64),
        least_units=np.asarray(distinct["f2"], np.int64),
        budget=budget,
        truth=None if same else overlap,
    )
