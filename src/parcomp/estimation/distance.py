"""How far the answers of a table are from a target, as a function of the counts of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from parcomp.estimation.rows import Floats

__all__ = ["Distance"]

_REFINEMENTS = 2
"""Steps of iterative refinement, which take back what is lost where a diagonal is small."""


@dataclass(frozen=True, eq=False)
class Distance:
    """½·Σ ω·(A·x − target)² over counts x ≥ 0, with a column of A for each row, and the matrix AᵀωA of its slopes."""

    matrix: sparse.csc_array
    transposed: sparse.csr_array
    target: Floats
    weight: Floats

    @classmethod
    def to(cls, target: Floats, weight: Floats, matrix: sparse.csc_array) -> Distance:
        """The distance to a target."""
        return cls(matrix, matrix.T.tocsr(), target, weight)

    @cached_property
    def gram(self) -> Floats:
        """AᵀωA."""
        gram: Floats = (self.transposed @ (self.matrix * self.weight[:, None]).tocsc()).toarray()
        return gram

    def slopes(self, counts: Floats) -> Floats:
        """How the distance grows with each count; by way of the answers, where the fewest digits are lost."""
        slopes: Floats = self.transposed @ (self.weight * (self.matrix @ counts - self.target))
        return slopes

    def system(self, chosen: npt.NDArray[np.intp], ridge: float) -> Floats:
        """A copy of the matrix for some rows, with each element of its diagonal larger by a part of ``ridge``."""
        system: Floats = self.gram[np.ix_(chosen, chosen)]
        system[np.diag_indices(len(system))] *= 1 + ridge
        return system

    def step(self, counts: Floats, chosen: npt.NDArray[np.intp], ridge: float) -> Floats:
        """The Newton step of some rows, where the diagonal of their matrix is larger by a part of ``ridge``.

        Where there are more rows than columns, a matrix of the columns is factorized in place of one of the rows: with
        B = √ω·A·D for the diagonal D that makes columns of one length, (BᵀB)⁺ = Bᵀ(BBᵀ)⁺²B.
        """
        if len(chosen) <= len(self.target):
            factor = cho_factor(self.system(chosen, ridge), lower=True, overwrite_a=True, check_finite=False)
            few: Floats = -cho_solve(factor, self.slopes(counts)[chosen], check_finite=False)
            return few
        each = 1 / (self.transposed[chosen] @ self.weight)
        scaled = (self.matrix[:, chosen].multiply(np.sqrt(self.weight)[:, None]).multiply(np.sqrt(each))).tocsr()
        system = (scaled @ scaled.T).toarray()
        system[np.diag_indices(len(system))] += ridge * system.diagonal().max()
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        # The slopes vanish where the residual need not, which no step can change: so little is lost to rounding.
        solved = cho_solve(factor, scaled @ (np.sqrt(each) * self.slopes(counts)[chosen]), check_finite=False)
        step: Floats = -np.sqrt(each) * (scaled.T @ cho_solve(factor, solved, check_finite=False))
        return step

    def solver(self, diagonal: Floats) -> Callable[[Floats], Floats]:
        """What solves systems of the matrix AᵀωA with more on its diagonal; by way of the columns if these are fewer.

        With B = √ω·A·D^(−½) for D the diagonal, (D + AᵀωA)⁻¹ = D^(−½)·(1 − Bᵀ(1 + BBᵀ)⁻¹B)·D^(−½).
        """
        if len(diagonal) <= len(self.target):
            factor = cho_factor(self.gram + np.diag(diagonal), lower=True, overwrite_a=True, check_finite=False)
            return lambda right: np.asarray(cho_solve(factor, right, check_finite=False))
        roots = 1 / np.sqrt(diagonal)
        scaled = self.matrix.multiply(np.sqrt(self.weight)[:, None]).multiply(roots).tocsr()
        columns = (scaled @ scaled.T).toarray()
        columns[np.diag_indices(len(columns))] += 1
        few = cho_factor(columns, lower=True, overwrite_a=True, check_finite=False)

        def roughly(right: Floats) -> Floats:
            each = roots * right
            return np.asarray(roots * (each - scaled.T @ cho_solve(few, scaled @ each, check_finite=False)))

        def solve(right: Floats) -> Floats:
            found = roughly(right)
            for _ in range(_REFINEMENTS):
                there = diagonal * found + self.transposed @ (self.weight * (self.matrix @ found))
                found += roughly(right - there)
            return found

        return solve
