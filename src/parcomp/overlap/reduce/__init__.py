"""Exact reductions of a workload, with the way back for rows."""

from parcomp.overlap.reduce.pipeline import ALL, Leaf, Max, Node, ReducedProblem, Rule, Step, Sum, reduce
from parcomp.overlap.reduce.reduction import Reduction, ValueMap

__all__ = ["ALL", "Leaf", "Max", "Node", "ReducedProblem", "Reduction", "Rule", "Step", "Sum", "ValueMap", "reduce"]
