"""The central limit theorem of differential privacy: an approximation, never a bound (paper §2.3).

Many mechanisms that each disclose little compose to nearly a Gaussian one (Dong, Roth and Su 2019): f_{ε₁,0} ⊗ … ⊗
f_{ε_n,0} is close to G_μ with μ = √Σ ε_i².  For a workload the paper takes the largest such μ over overlapping sets.
The true function may lie below, so no query is ever admitted by this.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from parcomp.costs import square_up
from parcomp.errors import WorkloadError
from parcomp.model import Workload, book_each
from parcomp.overlap import WorkloadOverlap
from parcomp.privacy.measures import GDP
from parcomp.privacy.tradeoff import Gaussian

__all__ = ["CentralLimit", "central_limit"]

_LABEL: Final = "central limit approximation; not a guarantee"


@dataclass(frozen=True, slots=True)
class CentralLimit:
    """An approximation of f_γ by a Gaussian trade-off function, labeled as what it is."""

    tradeoff: Gaussian
    exact_overlap: bool
    label: str = _LABEL


def central_limit(workload: Workload, *, time_limit: float = 60.0) -> CentralLimit:
    """The Gaussian that approximates the trade-off function of a workload whose costs are stated in ε."""
    kinds = set(workload.cost_kinds)
    if kinds - {"epsilon"}:
        raise WorkloadError(
            f"the central limit approximation takes costs in epsilon, not in {' and '.join(sorted(kinds))}"
        )
    squares = book_each(workload.units, square_up, "the square of the largest epsilon")
    bracket = WorkloadOverlap(workload).within_time(squares, time.monotonic() + time_limit)
    return CentralLimit(Gaussian(float(GDP.parameter_up(bracket.upper))), bracket.exact)
