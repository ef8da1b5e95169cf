"""The maximum overlap of a workload in whole units, for any costs of its queries.

This is the one way in, whoever asks: an analyst for the overlap, a loss, the audit of a ledger.  Privacy is charged by
exact integers, so the numbers of the engine are taken as they are, not as the floats that people read.  A workload is
compiled once, however many kinds of costs its overlap is asked for; where its predicates do not fit into memory as bit
masks, its query graph is searched instead.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.errors import ArgumentError, WorkloadError
from parcomp.graph import GraphNumber
from parcomp.model import Workload
from parcomp.model.compile import Compilation, compilable, compile_workload, whole_weights
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.bracket import METHODS, Bracket, Method, bounded
from parcomp.overlap.certify import certificate, certificate_by_search
from parcomp.overlap.engine import solve, solve_within
from parcomp.overlap.rows import brute_force, find_row
from parcomp.overlap.sparse import SparseSearch, listed_overlaps, satisfied
from parcomp.slices import run

__all__ = ["Tell", "Units", "WorkloadOverlap"]

Units: TypeAlias = npt.NDArray[np.int64]

Tell: TypeAlias = Callable[[int, int], None]
"""Told the bracket (lower, upper), in units, now and then while a search runs."""

_WITNESS_WORK = 500
"""Word operations for each term and value spent on a row where only an upper bound was asked for."""


class WorkloadOverlap:
    """The queries of a workload, whose maximum overlap can be asked for under any costs; its own play no part.

    ``queries`` are the positions of those that can be satisfied: the others are contradictions, and cost nothing.  The
    row of a bracket has the codes of all attributes.
    """

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._compilation: Compilation | None = None
        if compilable(workload):
            self._compilation = compile_workload(workload.with_costs(np.ones(len(workload), np.int64), "weight"))
            self.queries = self._compilation.queries
        else:
            self.queries = np.flatnonzero(~workload.contradictory())

    def compiled(self) -> tuple[CompiledWorkload, bool]:
        """A compiled workload of unit weights in which the queries overlap where they do, and whether there only."""
        if self._compilation is None:
            return listed_overlaps(self._workload, self.queries)
        return self._compilation.compiled, True

    def total(self, units: Units) -> int:
        """The sum of the costs of all queries that can be satisfied."""
        return sum(units[self.queries].tolist())

    def within_time(
        self,
        units: Units,
        deadline: float,
        tell: Tell | None = None,
        method: Method = "auto",
        *,
        until_interrupted: bool = False,
    ) -> Bracket:
        """The bracket that is reached by ``deadline``, of ``time.monotonic``, or when Ctrl-C ends the search."""
        weights, unit = self._weights(units)
        told = None if tell is None else lambda lower, upper: tell(lower * unit, upper * unit)
        if method not in METHODS:
            raise ArgumentError(f"unknown method {method!r}; there are {', '.join(METHODS[:-1])} and {METHODS[-1]}")
        if self._compilation is None:
            search = SparseSearch(self._workload, self.queries, weights, method)
            watch = None if told is None else lambda: told(search.lower, search.upper)
            run(search, deadline, watch, until_interrupted=until_interrupted)
            return _times(unit, search.bracket())
        compiled = dataclasses.replace(self._compilation.compiled, weights=weights)
        return self._lifted(unit, _solve(compiled, method, deadline, told, until_interrupted))

    def within_work(self, units: Units, work: int) -> Bracket:
        """The bracket that is reached within about ``work`` word operations: the same on every machine."""
        weights, unit = self._weights(units)
        if self._compilation is None:
            search = SparseSearch(self._workload, self.queries, weights)
            search.advance(work)
            return _times(unit, search.bracket())
        compiled = dataclasses.replace(self._compilation.compiled, weights=weights)
        return self._lifted(unit, solve_within(compiled, work))

    def members(self, bracket: Bracket) -> list[int]:
        """The positions of the queries that the row of a bracket satisfies."""
        assert bracket.row is not None
        if self._compilation is None:
            chosen = satisfied(self._workload, self.queries, bracket.row)
            return [int(position) for position in chosen]
        pairs = zip(self._compilation.codes, bracket.row, strict=True)
        row = np.array([np.searchsorted(codes, code) for codes, code in pairs], np.int32)
        return [int(position) for position in self.queries[self._compilation.compiled.members(row)]]

    def certificate(
        self, bracket: Bracket, most_numbers: int | None = None, *, deadline: float | None = None
    ) -> dict[str, Any]:
        """A proof of a bracket that was found for the workload's own costs; it may say that it rests on search.

        It does where the proof would take more than so many numbers, or is not found by ``deadline``.
        """
        if self._compilation is None:
            return certificate_by_search(self._workload, bracket)
        weights, unit = self._weights(self._workload.additive_units())
        compiled = dataclasses.replace(self._compilation.compiled, weights=weights)
        compilation = dataclasses.replace(self._compilation, workload=self._workload, compiled=compiled, unit=unit)
        return certificate(compilation, bracket, most_numbers, deadline)

    def _weights(self, units: Units) -> tuple[npt.NDArray[np.int64], int]:
        costs = units[self.queries]
        if (costs == 0).any():
            raise WorkloadError("each query needs a cost of at least one unit; leave out those that cost nothing")
        return whole_weights(costs)

    def _lifted(self, unit: int, bracket: Bracket) -> Bracket:
        """A bracket of the compiled workload in units, and its row in codes."""
        assert self._compilation is not None
        assert bracket.row is not None
        return _times(
            unit, dataclasses.replace(bracket, row=np.array(self._compilation.row_codes(bracket.row), np.int64))
        )


def _times(unit: int, bracket: Bracket) -> Bracket:
    return dataclasses.replace(bracket, lower=bracket.lower * unit, upper=bracket.upper * unit)


def _solve(
    compiled: CompiledWorkload, method: Method, deadline: float, tell: Tell | None, until_interrupted: bool
) -> Bracket:
    """A bracket in weights, by the given method."""
    if method == "brute-force":
        weight, row = brute_force(compiled)
        return Bracket(weight, weight, row, ("every row was looked at",))
    if method in {"clique", "chromatic"}:
        number = GraphNumber(compiled, method)
        watch = None if tell is None else lambda: tell(0, number.upper)
        run(number, deadline, watch, until_interrupted=until_interrupted)
        why = (
            "the heaviest set of queries of which any two meet weighs as much"
            if method == "clique"
            else "queries were colored so that no two of a color meet, and a row satisfies one of each color"
        )
        lower, row = find_row(compiled, _WITNESS_WORK * (len(compiled.term) + int(compiled.sizes.sum(dtype=np.int64))))
        return Bracket(lower, number.upper, row, (bounded(why, exact=lower == number.upper),))
    # Making a bracket to tell of takes time, so nobody is told where nobody listens.
    listener = None if tell is None else lambda bracket: tell(bracket.lower, bracket.upper)
    return solve(compiled, deadline, listener, until_interrupted=until_interrupted)
