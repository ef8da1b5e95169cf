"""Kernels of non-negative least squares over a pool of rows.

Least of ½·Σ_q ω_q·(Σ_{j∋q} x_j − target_q)² over x ≥ 0.  ``residual[q]`` is Σ_{j∋q} x_j − target_q at all times.
Sweeps of coordinate descent find which x are 0; conjugate gradients on those that are not end what sweeps would take
thousands for (Moré and Toraldo 1991: gradient projection and conjugate gradients in turn).
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.jit import inner_kernel, kernel

__all__ = ["Pool", "descend", "gains"]


class Pool(NamedTuple):
    """Rows as lists of what they are counted in.

    Row ``j`` is counted in ``member[start[j]:start[j + 1]]``, at least one; ``weight[q]`` is ω_q > 0.
    """

    start: npt.NDArray[np.int64]
    member: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]


@inner_kernel
def _slope(pool, j, residual):
    """The derivative of the objective by x_j."""
    slope = 0.0
    for k in range(pool.start[j], pool.start[j + 1]):
        slope += pool.weight[pool.member[k]] * residual[pool.member[k]]
    return slope


@inner_kernel
def _curvature(pool, j):
    """The second derivative by x_j."""
    total = 0.0
    for k in range(pool.start[j], pool.start[j + 1]):
        total += pool.weight[pool.member[k]]
    return total


@inner_kernel
def _sweep(pool, x, residual):
    """Set each x_j to its best value in turn; the largest slope that was left to use before it was."""
    start, member = pool.start, pool.member
    worst = 0.0
    for j in range(len(x)):
        slope = _slope(pool, j, residual)
        if slope >= 0.0 and x[j] == 0.0:
            continue
        curvature = _curvature(pool, j)
        better = max(0.0, x[j] - slope / curvature)
        moved = better - x[j]
        worst = max(worst, abs(moved) * curvature)
        x[j] = better
        for k in range(start[j], start[j + 1]):
            residual[member[k]] += moved
    return worst


@inner_kernel
def _objective(weight, residual):
    total = 0.0
    for q in range(len(residual)):
        total += weight[q] * residual[q] * residual[q]
    return total / 2


@inner_kernel
def _along(pool, direction, change):
    """Set ``change[q]`` to what a step in ``direction`` changes of each residual."""
    change[:] = 0.0
    for j in range(len(direction)):
        if direction[j] != 0.0:
            for k in range(pool.start[j], pool.start[j + 1]):
                change[pool.member[k]] += direction[j]


@inner_kernel
def _face_step(pool, x, residual, steps, tolerance):
    """The step to the least on the face of the x that are not 0, as far as conjugate gradients get in ``steps``.

    Preconditioned by the curvatures.
    """
    count = len(x)
    step = np.zeros(count)
    direction = np.zeros(count)
    left = np.zeros(count)
    curvature = np.ones(count)
    residual = residual.copy()
    change = np.empty(len(residual))
    size = 0.0
    for j in range(count):
        if x[j] > 0.0:
            curvature[j] = _curvature(pool, j)
            left[j] = -_slope(pool, j, residual)
            direction[j] = left[j] / curvature[j]
            size += left[j] * direction[j]
    for _ in range(steps):
        if size <= tolerance * tolerance:
            break
        _along(pool, direction, change)
        bend = 2 * _objective(pool.weight, change)
        if bend <= 0.0:
            break
        length = size / bend
        before, size = size, 0.0
        for q in range(len(residual)):
            residual[q] += length * change[q]
        for j in range(count):
            if x[j] > 0.0:
                step[j] += length * direction[j]
                left[j] = -_slope(pool, j, residual)
                size += left[j] * left[j] / curvature[j]
        for j in range(count):
            if x[j] > 0.0:
                direction[j] = left[j] / curvature[j] + size / before * direction[j]
    return step


@kernel
def descend(pool, x, residual, rounds, sweeps, steps, tolerance):
    """Improve ``x`` and ``residual`` until no slope is left above ``tolerance``; the largest that was left, and rounds.

    A round is ``sweeps`` sweeps, then a step on the face, cut where x would fall below 0 and halved until it helps.
    """
    worst = np.inf
    trial = np.empty_like(x)
    change = np.empty_like(residual)
    for done in range(rounds):
        for _ in range(sweeps):
            worst = _sweep(pool, x, residual)
            if worst <= tolerance:
                return worst, done
        step = _face_step(pool, x, residual, steps, 0.1 * tolerance)
        now = _objective(pool.weight, residual)
        length = 1.0
        for _ in range(4):
            for j in range(len(x)):
                trial[j] = max(0.0, x[j] + length * step[j]) - x[j]
            _along(pool, trial, change)
            for q in range(len(residual)):
                change[q] += residual[q]
            if _objective(pool.weight, change) < now:
                for j in range(len(x)):
                    x[j] = max(0.0, x[j] + length * step[j])
                residual[:] = change
                break
            length /= 2
    return worst, rounds


@kernel
def gains(pool, residual, gain):
    """Set ``gain[j]`` to how steeply the objective falls with x_j."""
    for j in range(len(gain)):
        gain[j] = -_slope(pool, j, residual)
