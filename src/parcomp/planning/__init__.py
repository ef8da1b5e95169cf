"""How a budget is shared out among the queries of a workload, and how far their answers are off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.planning.accuracy import *
    from parcomp.planning.planner import *
    from parcomp.planning.utility import *

_PLACES = {
    "accuracy": "costs_for_errors error_exponent expected_errors",
    "planner": "Objective PerQuery Plan Progress plan required_budget",
    "utility": "NOISES Noise average_error expected_error utility_gain utility_gain_simple",
}
__all__, __getattr__, __dir__ = lazy_exports(__name__, _PLACES)
