"""The maximum overlap of a workload: in numbers that people read, in units, of signed weights, online, and compiled."""

from parcomp.overlap.bracket import Bracket, MaximumOverlap, Method
from parcomp.overlap.engine import Engine, solve_within
from parcomp.overlap.live import DECISION_WORK, LiveOverlap, LiveQuote
from parcomp.overlap.masks import MaskBlocks, keep_queries, keep_values
from parcomp.overlap.maximum import Progress, max_overlap
from parcomp.overlap.reduce import Leaf, Node, Rule, Sum, reduce
from parcomp.overlap.rows import Acceptance, accepting_queries
from parcomp.overlap.signed import SignedOverlap, signed_overlap, whole_gains_up
from parcomp.overlap.sparse import JointRows, satisfied
from parcomp.overlap.units import Units, WorkloadOverlap

__all__ = [
    "DECISION_WORK",
    "Acceptance",
    "Bracket",
    "Engine",
    "JointRows",
    "Leaf",
    "LiveOverlap",
    "LiveQuote",
    "MaskBlocks",
    "MaximumOverlap",
    "Method",
    "Node",
    "Progress",
    "Rule",
    "SignedOverlap",
    "Sum",
    "Units",
    "WorkloadOverlap",
    "accepting_queries",
    "keep_queries",
    "keep_values",
    "max_overlap",
    "reduce",
    "satisfied",
    "signed_overlap",
    "solve_within",
    "whole_gains_up",
]
