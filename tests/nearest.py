"""The judge of projections: the nearest of all answers that tables can have, by a solver that knows every row.

SciPy 1.17's ``nnls`` ends on some of these problems, whose columns depend on each other, at counts that are not the
nearest, and states the distance of others.  So the counts are found here, and held to the conditions of an optimum.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["nearest_possible"]

Floats = npt.NDArray[np.float64]


def nearest_possible(cells: Floats, answers: Floats, roots: Floats | float = 1.0) -> Floats:
    """``cells @ x`` for the counts x ≥ 0 with the least ‖roots·(cells @ x − answers)‖ (Lawson and Hanson 1974)."""
    weighted = np.broadcast_to(roots, len(answers))
    rows = np.unique(cells, axis=1)
    scaled, target = weighted[:, None] * rows, weighted * answers
    sizes, length = np.linalg.norm(scaled, axis=0) + 1e-300, float(np.linalg.norm(target)) + 1e-300
    # What a row may seem to gain by rounding alone.
    settled = 1e-13 * sizes * length
    taken = np.zeros(rows.shape[1], np.bool_)
    counts = np.zeros(rows.shape[1])
    while True:
        gains = scaled.T @ (target - scaled @ counts)
        open_rows = np.flatnonzero(~taken & (gains > settled))
        for joining in open_rows[np.argsort(-(gains / sizes)[open_rows], kind="stable")]:
            taken[joining] = True
            found = _solved(scaled, target, taken)
            if found[joining] > 0:
                break
            # It gains by rounding alone.
            taken[joining] = False
        else:
            break
        while (found[taken] <= 0).any():
            falling = np.flatnonzero(taken & (found <= 0))
            shares = counts[falling] / (counts[falling] - found[falling])
            counts = counts + shares.min() * (found - counts)
            counts[falling[shares == shares.min()]] = 0.0
            taken &= counts > 0
            found = _solved(scaled, target, taken)
        counts = found
    # The Karush-Kuhn-Tucker conditions: no row gains, and the answers are at a right angle to what is left of them.
    left = target - scaled @ counts
    assert (counts >= 0).all()
    assert (scaled.T @ left <= 1e-9 * sizes * length).all()
    assert abs(left @ (scaled @ counts)) <= 1e-11 * length**2
    return np.asarray(rows @ counts)


def _solved(scaled: Floats, target: Floats, taken: npt.NDArray[np.bool_]) -> Floats:
    """Least squares over the rows that are taken, 0 for all others."""
    found = np.zeros(len(taken))
    found[taken] = np.linalg.lstsq(scaled[:, taken], target, rcond=None)[0]
    return found
