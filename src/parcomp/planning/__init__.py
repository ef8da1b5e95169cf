"""How a budget is shared out among the queries of a workload, and how far their answers are off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.planning.accuracy import *
    from parcomp.planning.arguments import *
    from parcomp.planning.planner import *
    from parcomp.planning.result import *
    from parcomp.planning.strategies.charge import *
    from parcomp.planning.strategies.correlated import *
    from parcomp.planning.strategies.found import *
    from parcomp.planning.strategies.relisted import *
    from parcomp.planning.utility import *

_PLACES = {
    "accuracy": "costs_for_errors error_exponent expected_errors",
    "arguments": "PerQuery StrategyName",
    "planner": "Progress plan required_budget",
    "result": "Objective Plan",
    "strategies.charge": "strategy_charge",
    "strategies.correlated": "CORRELATED_ENTRIES CORRELATED_QUERIES",
    "strategies.found": "Histogram",
    "strategies.relisted": "atoms_charge histogram_of",
    "utility": "NOISES Noise average_error expected_error utility_gain utility_gain_simple",
}
__all__, __getattr__, __dir__ = lazy_exports(__name__, _PLACES)
