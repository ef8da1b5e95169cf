"""What a strategy costs, in exact arithmetic: the largest shift of its coordinates by any possible row.

Released is H·c plus noise, with c the counts of the queries, H an integer matrix and independent discrete Gaussian
noise of one σ on each coordinate.  A row x that joins or leaves the table moves c by w_x, the 0/1 vector of the queries
that x satisfies, and the coordinates by the integers d = H·w_x.  With the largest form

    F = max_x ‖H·w_x‖²  over all rows x,

the release is F/(2σ²)-zCDP, by the multivariate discrete Gaussian (Canonne, Kamath and Steinke 2020, Theorem 4 with
composition), and μ-GDP for μ² = F·μ*(σ)²: a shift of one coordinate by d_j is d_j·μ*(σ)-GDP by group privacy, and
coordinates compose by μ² = Σ_j (d_j·μ*(σ))².  Both are written out in ``docs/proofs/strategies.md``.  F is an integer,
σ a float taken as the rational number that it is, and units are rounded up.

F is found by listing the atoms of the workload.  Where they are too many, two rules still hold.  Parts that share no
attribute add, if no coordinate reads two of them; parts that do not overlap take the maximum.  And where each
coordinate reads one query, ‖H·w_x‖² is a sum of squares over the queries of x, so F is a maximum overlap, of which a
proven upper bound is taken.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from parcomp.costs import UNITS_PER_ONE
from parcomp.errors import ArgumentError, CostError, SizeError, shown
from parcomp.model import Workload
from parcomp.overlap import Engine, Rule, WorkloadOverlap, keep_queries, reduce
from parcomp.planning.strategies.atoms import Atoms, Indices, list_atoms
from parcomp.planning.strategies.parts import Part, split
from parcomp.privacy import Measure, discrete_gaussian_mu, sigma_for_mu
from parcomp.slices import run

__all__ = ["Matrix", "charge_up", "group_queries", "largest_form", "sigma_for", "strategy_charge"]

Matrix = npt.NDArray[np.int64]

_EXACT = 2**62
"""Forms that cannot reach this are worked out in 64 bits, all others in Python's integers."""

_AT_ONCE = 1 << 24
"""Entries of the shifts that are held at once."""

_STEPS = 1 << 29
"""Additions between two looks at the clock: about a second."""


def charge_up(measure: Measure, form: int, sigma: float) -> int:
    """The additive units that a largest form costs under noise of σ, rounded up.

    >>> from parcomp.privacy.measures import GDP, ZCDP
    >>> charge_up(ZCDP, 200, 10.0), charge_up(GDP, 100, 1000.0)
    (1000000000, 100001)
    """
    noise = Fraction(_sigma(sigma))
    if measure.name == "zcdp":
        cost = Fraction(form, 2) / noise**2
    elif measure.name == "gdp":
        # Already rounded up.
        cost = form * Fraction(discrete_gaussian_mu(sigma)) ** 2
    else:
        raise ArgumentError("Gaussian noise is not ε-differentially private; plan under zcdp or gdp")
    return math.ceil(cost * UNITS_PER_ONE)


def sigma_for(measure: Measure, form: int, units: int) -> float:
    """A σ at which a largest form is seen to cost no more than so many units, and hardly less."""
    if measure.name == "zcdp":
        sigma = math.sqrt(form * UNITS_PER_ONE / (2 * units))
    else:
        sigma = float(sigma_for_mu(math.sqrt(units / (UNITS_PER_ONE * form))))
    step = 1e-15
    while charge_up(measure, form, sigma) > units:
        sigma *= 1 + step
        step *= 2
    return sigma


def strategy_charge(
    workload: Workload, matrix: Matrix, sigma: float, measure: Measure, *, time_limit: float = 60.0
) -> int:
    """The additive units that a strategy on a workload costs: its matrix has a column for each query.

    Whoever charges a strategy can find out by this what it costs, whatever it was made by.  Raises
    :class:`~parcomp.errors.SizeError` where no bound of its largest form is known.
    """
    if matrix.ndim != 2 or matrix.shape[1] != len(workload) or matrix.dtype != np.int64:
        raise ArgumentError(f"the matrix of a strategy has a column of 64-bit integers for each of {len(workload):,}")
    grouped = group_queries(workload)
    if grouped is None:
        raise SizeError("the rows of this workload are too many to bound what a strategy costs")
    whole, queries, group_of = grouped
    form = largest_form(whole, _summed(matrix[:, queries], group_of, len(whole.queries)), time.monotonic() + time_limit)
    if form is None:
        raise SizeError("the rows of this workload are too many to bound what a strategy costs")
    return charge_up(measure, form, sigma)


def group_queries(workload: Workload) -> tuple[Part, Indices, Indices] | None:
    """The groups of equal queries in their parts; which queries are no contradictions, and the group of each.

    Equal queries are satisfied by the same rows, and values that no query tells apart are one.  None where the
    workload is not compiled to masks.
    """
    overlap = WorkloadOverlap(workload)
    compiled, same = overlap.compiled()
    if not same:
        return None
    root = reduce(compiled, (Rule.MERGE_VALUES, Rule.MERGE_QUERIES)).root
    group_of = root.reduction.query_of
    return (
        split(root.reduction.compiled),
        overlap.queries,
        np.arange(len(overlap.queries)) if group_of is None else group_of.astype(np.int64),
    )


def largest_form(part: Part, matrix: Matrix, deadline: float) -> int | None:
    """A proven bound of ‖M·w_x‖² over all rows x, exact wherever atoms are listed; None where none is known.

    ``matrix`` has a column for each query of the part, in the order of ``part.queries``.
    """
    if part.kind == "leaf" or (part.kind == "sum" and _mixes(part, matrix)):
        if bool((np.count_nonzero(matrix, axis=1) <= 1).all()):
            return _separate(part, matrix, deadline)
        atoms = list_atoms(part.compiled, deadline)
        return None if atoms is None else largest_of_atoms(matrix, atoms, deadline)
    place = {int(query): column for column, query in enumerate(part.queries)}
    found = []
    for below in part.parts:
        columns = matrix[:, [place[int(query)] for query in below.queries]]
        form = largest_form(below, columns[columns.any(axis=1)], deadline)
        if form is None:
            return None
        found.append(form)
    return sum(found) if part.kind == "sum" else max(found)


def largest_of_atoms(matrix: Matrix, atoms: Atoms, deadline: float = math.inf) -> int | None:
    """The largest ‖M·w‖² over the atoms, exactly; None where the time is up before all of them were looked at.

    No |M·w| exceeds the sum b_j of the absolute entries of row j.  Where Σ b_j² stays below 2⁶², every sum on the way
    does too, so that 64 bits hold it; elsewhere Python's integers are used, which have no bound.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  slow to import, and only a strategy needs it

    largest = 0
    if sum(row**2 for row in _absolute_sums(matrix)) >= _EXACT:
        entries = matrix.tolist()
        for one in np.split(atoms.index, atoms.start[1:-1]):
            if largest and time.monotonic() >= deadline:
                return None
            own = one.tolist()
            largest = max(largest, sum(sum(row[q] for q in own) ** 2 for row in entries))
        return largest
    columns = np.ascontiguousarray(matrix.T)
    at_once = max(1, _AT_ONCE // max(1, len(matrix)))
    members = max(1, _STEPS // max(1, len(matrix)))
    end = 0
    while end < len(atoms):
        if end and time.monotonic() >= deadline:
            return None
        begin = end
        full = int(np.searchsorted(atoms.start, atoms.start[begin] + members, side="right")) - 1
        end = min(len(atoms), begin + at_once, max(begin + 1, full))
        start = atoms.start[begin : end + 1]
        index = atoms.index[start[0] : start[-1]]
        member = csr_array((np.ones(len(index), np.int64), index, start - start[0]), (len(start) - 1, len(columns)))
        shift = member @ columns
        largest = max(largest, int(np.einsum("xj,xj->x", shift, shift).max(initial=0)))
    return largest


def _separate(part: Part, matrix: Matrix, deadline: float) -> int | None:
    """A bound where each coordinate reads one query: the maximum overlap of the sums of squares."""
    # Each row has one entry at most.
    if sum(entry * entry for entry in _absolute_sums(matrix)) >= _EXACT:
        return None
    weights = np.einsum("jq,jq->q", matrix, matrix)
    paid = np.flatnonzero(weights)
    if not len(paid):
        return 0
    # The engine takes positive weights only.
    engine = Engine(keep_queries(replace(part.compiled, weights=weights), paid))
    run(engine, deadline)
    return engine.bracket().upper


def _mixes(part: Part, matrix: Matrix) -> bool:
    """Whether a coordinate reads queries of two parts of a sum."""
    owner = np.empty(len(part.queries), np.int64)
    for number, below in enumerate(part.parts):
        owner[np.isin(part.queries, below.queries)] = number
    touched = np.zeros((len(matrix), len(part.parts)), np.bool_)
    for number in range(len(part.parts)):
        touched[:, number] = matrix[:, owner == number].any(axis=1)
    return bool((touched.sum(axis=1) > 1).any())


def _summed(matrix: Matrix, group_of: Indices, groups: int) -> Matrix:
    """One column for each group: the sum over its queries, all of which a row satisfies together or not at all."""
    if sum(_absolute_sums(matrix)) >= _EXACT:
        raise CostError("the entries of the strategy are too large to be added up in 64 bits")
    summed = np.zeros((len(matrix), groups), np.int64)
    if len(np.unique(group_of)) == len(group_of):
        # No two queries are equal, so that no column is written twice.
        summed[:, group_of] = matrix
    else:
        np.add.at(summed.T, group_of, matrix.T)
    return summed


def _absolute_sums(matrix: Matrix) -> list[int]:
    """The sum of the absolute entries of each row, exactly."""
    largest = max(int(matrix.max(initial=0)), -int(matrix.min(initial=0)))
    if largest * matrix.shape[1] < _EXACT:
        return [int(np.abs(row).sum()) for row in matrix]
    return [sum(map(abs, row.tolist())) for row in matrix]


def _sigma(sigma: float) -> float:
    if not isinstance(sigma, float) or not 0 < sigma < math.inf:
        raise ArgumentError(f"the sigma of a strategy must be a positive float, not {shown(sigma)}")
    return sigma
