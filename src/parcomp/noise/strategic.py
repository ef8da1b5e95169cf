"""Release the answers of a plan: measure what its strategy says, add noise, and solve back.

- *Correlated*: the coordinates H·counts are worked out in exact integers and get discrete Gaussian noise of the plan's
  σ, each its own.  The answers are the least squares solution, H⁺ times the noisy coordinates.
- *Atoms*: each atom's count gets the noise that the histogram's units buy, and a query is the sum of its atoms.
- *Independent*: each count gets the noise that its own units buy.

What is released costs the plan's ``loss``, once, however many of the answers are looked at (``docs/proofs``).  Solving
back and adding up are post-processing.  Counts enter by integers alone, through the sampler; no branch and no error
depends on them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from parcomp.errors import ArgumentError
from parcomp.noise.mechanism import Mechanism, mechanism_for
from parcomp.planning import Plan

__all__ = ["Draw", "group_columns", "release", "solve_back"]

Draw = Callable[[Mechanism, Sequence[int]], list[int]]
"""Adds noise of its own to each of some integers."""


def release(
    plan: Plan,
    counts: Sequence[int],
    atom_counts: Sequence[Sequence[int]] = (),
    *,
    draw: Draw | None = None,
) -> list[float]:
    """Noisy answers to the queries of a plan, in order; a contradiction's is 0.

    ``counts`` are the true counts of the queries, and ``atom_counts`` those of the atoms of each histogram of the plan
    (:meth:`~parcomp.planning.Histogram.locate` says which atom a row is in).  ``draw`` adds the noise: OpenDP's
    samplers, unless a test takes its place.
    """
    if len(counts) != len(plan.workload):
        raise ArgumentError(f"a plan of {len(plan.workload):,} queries needs as many counts, not {len(counts):,}")
    wanted = [len(histogram.atoms) for histogram in plan.histograms]
    if [len(one) for one in atom_counts] != wanted:
        raise ArgumentError(f"the histograms of the plan need counts of {wanted} atoms")
    if draw is None:
        from parcomp.noise.sampler import add_noise  # noqa: PLC0415  OpenDP is slow to import

        draw = add_noise
    exact = [int(operator.index(count)) for count in counts]
    if plan.matrix is not None and plan.sigma is not None:
        # In Python's integers, whatever the counts are.
        coordinates = (plan.matrix.astype(object) @ np.array(exact, object)).tolist()
        noisy = draw(Mechanism("discrete-gaussian", plan.sigma), coordinates)
        return [float(answer) for answer in solve_back(plan.matrix, noisy)]
    answers = [0.0] * len(exact)
    summed = np.zeros(len(exact), np.bool_)
    for histogram, atoms in zip(plan.histograms, atom_counts, strict=True):
        noisy = draw(mechanism_for(plan.measure, histogram.units), [int(operator.index(count)) for count in atoms])
        for query, total in zip(histogram.queries.tolist(), histogram.add_up(noisy), strict=True):
            answers[query] = float(total)
        summed[histogram.queries] = True
    for query in np.flatnonzero(~summed & (plan.units > 0)).tolist():
        answers[query] = float(draw(mechanism_for(plan.measure, int(plan.units[query])), [exact[query]])[0])
    return answers


def solve_back(matrix: npt.NDArray[np.int64], coordinates: Sequence[int]) -> npt.NDArray[np.float64]:
    """H⁺·y: the least squares solution, and of several the shortest.

    Equal columns, those of equal queries, share what belongs to them evenly, and columns of zeros get 0: so do the
    shortest solutions.
    """
    whole, place = group_columns(matrix)
    values = np.array([float(one) for one in coordinates])
    factor = cho_factor(whole.T @ whole, check_finite=False)
    found = cho_solve(factor, whole.T @ values, check_finite=False)
    # A second pass takes off what the first one's rounding left.
    found += cho_solve(factor, whole.T @ (values - whole @ found), check_finite=False)
    return np.where(place >= 0, found[place], 0.0)


def group_columns(matrix: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """One column for each set of equal ones, their sum; and which of them each query has, −1 for a column of zeros."""
    columns, group = np.unique(matrix, axis=1, return_inverse=True)
    asked = columns.any(axis=0)
    place = np.where(asked, np.cumsum(asked) - 1, -1)
    whole = (columns * np.bincount(group.ravel()))[:, asked].astype(np.float64)
    return whole, place[group.ravel()]
