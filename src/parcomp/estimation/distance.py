"""How far the answers of a table are from a target, as a function of the counts of its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from parcomp.estimation.rows import Floats

__all__ = ["Distance"]


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """½·Σ ω·(A·x − target)² over counts x ≥ 0, with a column of A for each row, and the matrix AᵀωA of its slopes."""

    matrix: sparse.csc_array
    transposed: sparse.csr_array
    target: Floats
    weight: Floats
    gram: Floats

    @classmethod
    def to(cls, target: Floats, weight: Floats, matrix: sparse.csc_array) -> Distance:
        """The distance to a target."""
        transposed = matrix.T.tocsr()
        return cls(matrix, transposed, target, weight, (transposed @ (matrix * weight[:, None]).tocsc()).toarray())

    def slopes(self, counts: Floats) -> Floats:
        """How the distance grows with each count; by way of the answers, where the fewest digits are lost."""
        slopes: Floats = self.transposed @ (self.weight * (self.matrix @ counts - self.target))
        return slopes

    def system(self, chosen: npt.NDArray[np.intp], ridge: float) -> Floats:
        """A copy of the matrix for some rows, with each element of its diagonal larger by a part of ``ridge``."""
        system: Floats = self.gram[np.ix_(chosen, chosen)]
        system[np.diag_indices(len(system))] *= 1 + ridge
        return system
