"""The maximum overlap of a workload as people ask for it, in the numbers that they read.

Whatever the method, the answer is a bracket: ``upper`` is proven, and ``lower`` is the weight of a row.  Privacy
is charged by ``upper``; a heuristic or a search cut short only ever gives ``lower``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from parcomp.costs import amount_down, amount_up
from parcomp.model import Workload
from parcomp.overlap.bracket import Bracket, MaximumOverlap, Method
from parcomp.overlap.units import WorkloadOverlap

__all__ = ["Progress", "max_overlap"]

Progress: TypeAlias = Callable[[int | float, int | float], None]
"""Told the bracket (lower, upper) now and then while a search runs."""


def max_overlap(
    workload: Workload, time_limit: float = 60.0, *, method: Method = "auto", progress: Progress | None = None
) -> MaximumOverlap:
    """The maximum overlap of a workload, exactly or as a proven bracket when the time is up, or on Ctrl-C.

    ``auto`` and ``exact`` reduce, bound and search; ``clique`` and ``chromatic`` are the paper's upper bounds ω and
    χ̃ (§5); ``brute-force`` looks at every row.
    """
    began = time.monotonic()

    def tell(lower: int, upper: int) -> None:
        if progress is not None:
            progress(amount_down(lower), amount_up(upper))

    units = workload.additive_units()
    overlap = WorkloadOverlap(workload)
    bracket = overlap.within_time(
        units, began + time_limit, None if progress is None else tell, method, until_interrupted=True
    )
    assert bracket.row is not None
    explanation = bracket.explanation
    if not bracket.exact:
        explanation += (_left_open(bracket, method, in_time=time.monotonic() < began + time_limit),)
    return MaximumOverlap(
        queries=len(workload),
        method=method,
        lower=amount_down(bracket.lower),
        upper=amount_up(bracket.upper),
        exact=bracket.exact,
        total=workload.total,
        witness=workload.domain.row(bracket.row.tolist()),
        members=[workload.id_of(position) for position in overlap.members(bracket)],
        seconds=time.monotonic() - began,
        explanation=explanation,
        prove=cache(lambda deadline: overlap.certificate(bracket, deadline=deadline)),
    )


def _left_open(bracket: Bracket, method: Method, *, in_time: bool) -> str:
    """The line of an explanation that says what an open bracket leaves open, and why."""
    rows = f"rows of more than {amount_down(bracket.lower):,} and up to {amount_up(bracket.upper):,} were not ruled out"
    if method in {"clique", "chromatic"}:
        return f"{rows}: this method does not search for them"
    return f"{rows} before the {'search was ended' if in_time else 'time was up'}"
