"""The maximum overlap of a workload: compile, solve by the chosen method, and read the answer back.

Whatever the method, the answer is a bracket: ``upper`` is proven, and ``lower`` is the weight of a row.  Privacy
is charged by ``upper``; a heuristic or a search cut short only ever gives ``lower``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.costs import amount_down, amount_up
from parcomp.errors import ParcompError, SizeError
from parcomp.graph.clique import CliqueSearch
from parcomp.graph.coloring import weighted_coloring
from parcomp.graph.query_graph import build_query_graph
from parcomp.model.compile import Compilation, compile_workload
from parcomp.model.compiled import CompiledWorkload
from parcomp.model.predicate_table import InternedPredicates
from parcomp.model.workload import Workload
from parcomp.overlap.certify import certificate, certificate_by_search
from parcomp.overlap.engine import solve
from parcomp.overlap.result import Bracket, MaximumOverlap, Method, WitnessedBracket
from parcomp.overlap.rows.every_row import brute_force
from parcomp.overlap.rows.row_search import find_row
from parcomp.overlap.sparse.clique_search import solve_sparse

__all__ = ["Progress", "max_overlap"]

Progress: TypeAlias = Callable[[int | float, int | float], None]
"""Told the bracket (lower, upper) now and then while a search runs."""

_WITNESS_WORK = 500
"""Word operations for each term and value spent on a row where only an upper bound was asked for."""


def max_overlap(
    workload: Workload, time_limit: float = 60.0, *, method: Method = "auto", progress: Progress | None = None
) -> MaximumOverlap:
    """The maximum overlap of a workload, exactly or as a proven bracket when the time is up.

    ``auto`` and ``exact`` reduce, bound and search; ``clique`` and ``chromatic`` are the paper's upper bounds ω and
    χ̃ (§5); ``brute-force`` looks at every row.
    """
    began = time.monotonic()

    tell = None if progress is None else partial(_tell, progress)
    compilation = _compiled(workload)
    if compilation is None:
        bracket = solve_sparse(workload, began + time_limit, method, tell)
        prove: Callable[[], dict[str, Any]] = partial(certificate_by_search, workload, bracket)
    else:
        bracket, prove = _solve_compiled(compilation, method, began + time_limit, tell)
    return MaximumOverlap(
        queries=len(workload),
        method=method,
        lower=amount_down(bracket.lower),
        upper=amount_up(bracket.upper),
        exact=bracket.lower == bracket.upper,
        total=workload.total,
        witness=workload.domain.row(bracket.codes),
        members=[workload.id_of(position) for position in bracket.members],
        seconds=time.monotonic() - began,
        explanation=bracket.explanation,
        prove=cache(prove),
    )


def _tell(progress: Progress, lower: int, upper: int) -> None:
    progress(amount_down(lower), amount_up(upper))


def _compiled(workload: Workload) -> Compilation | None:
    """The workload in its compiled form; None where its predicates are not held in memory, or not as bit masks."""
    if not isinstance(workload.table, InternedPredicates):
        return None
    try:
        return compile_workload(workload)
    except SizeError:
        return None


def _solve_compiled(
    compilation: Compilation, method: Method, deadline: float, tell: Callable[[int, int], None] | None
) -> tuple[WitnessedBracket, Callable[[], dict[str, Any]]]:
    """A bracket in units of cost, and what proves it."""
    compiled, unit = compilation.compiled, compilation.unit
    # Making a bracket to tell of takes time, so nobody is told where nobody listens.
    found = _solve(
        compiled,
        method,
        deadline,
        None if tell is None else lambda bracket: tell(bracket.lower * unit, bracket.upper * unit),
    )
    members = compilation.queries[compiled.members(found.row)].tolist()
    codes = compilation.row_codes(found.row)
    bracket = WitnessedBracket(found.lower * unit, found.upper * unit, codes, members, found.explanation)
    return bracket, partial(certificate, compilation, found)


def _solve(
    compiled: CompiledWorkload, method: Method, deadline: float, tell: Callable[[Bracket], None] | None
) -> Bracket:
    match method:
        case "auto" | "exact":
            return solve(compiled, deadline, tell)
        case "brute-force":
            weight, row = brute_force(compiled)
            return Bracket(weight, weight, row, ("every row was looked at",))
        case "clique":
            upper = CliqueSearch(build_query_graph(compiled)).run(deadline).upper
            return _with_row(compiled, upper, "upper end: the clique number of the query graph")
        case "chromatic":
            upper = weighted_coloring(build_query_graph(compiled)).weight
            return _with_row(compiled, upper, "upper end: a coloring of the query graph")
        case _:
            raise ParcompError(f"unknown method {method!r}; there are auto, exact, clique, chromatic and brute-force")


def _with_row(compiled: CompiledWorkload, upper: int, why: str) -> Bracket:
    work = _WITNESS_WORK * (len(compiled.term) + int(compiled.sizes.sum(dtype=np.int64)))
    lower, row = find_row(compiled, work) if len(compiled.term) else _any_row(compiled)
    return Bracket(lower, upper, row, (why,))


def _any_row(compiled: CompiledWorkload) -> tuple[int, npt.NDArray[np.int32]]:
    return compiled.total, np.zeros(compiled.attribute_count, np.int32)
