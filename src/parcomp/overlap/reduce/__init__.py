"""Exact reductions of a workload, with the way back for rows."""

from parcomp.overlap.reduce.pipeline import ALL, Leaf, Max, Node, ReducedProblem, Rule, Step, Sum, reduce
from parcomp.overlap.reduce.reduction import Reduction, ValueMap
from parcomp.overlap.reduce.values import WORK_LIMIT

__all__ = [
    "ALL",
    "WORK_LIMIT",
    "Leaf",
    "Max",
    "Node",
    "ReducedProblem",
    "Reduction",
    "Rule",
    "Step",
    "Sum",
    "ValueMap",
    "reduce",
]
