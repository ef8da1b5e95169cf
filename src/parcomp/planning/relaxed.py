"""The best costs for the splitting relaxation: a plan whose heaviest row can be proven.

Where rows are too many to be listed, a plan must be scaled down to what is *proven* of its heaviest row.  The best plan
over all rows makes very many rows equally heavy, and the more there are, the longer a proof takes.  A plan that is best
for a relaxation instead keeps those rows that the relaxation sees, and is proven soon.

The relaxation is the splitting bound: with λ[g, a] ≥ 0 for each group g and each attribute a that it constrains, and
c_g = Σ_a λ[g, a], no row costs more than U = Σ_a max_v Σ_{g accepts v} λ[g, a].  Costs and multipliers are found
together, as those that minimize

    log Σ_g K_g·c_g^(−p) + p·log U,

which does not change when all of them are scaled.  K_g is the importance of a group whose classes share its cost in the
best way.  The maxima are smoothed, and λ = exp(x) is free of constraints.  Nothing that is proven depends on this.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from parcomp.bits import unpack_bits
from parcomp.overlap import accepting_queries
from parcomp.planning.problem import AllocationProblem, Floats

__all__ = ["relaxed_costs"]

_ENTRIES = 1 << 25
"""The most pairs of a value and a group that constrains its attribute; beyond, there is no such plan."""

_TEMPERATURES = (0.3, 0.1)
"""How much the maxima are smoothed, in units of the mean cost; first more, then less."""

_STEPS = 60
_REACH = 40.0
"""By which logarithms of multipliers may differ."""


def relaxed_costs(problem: AllocationProblem, exponent: float, deadline: float) -> Floats | None:
    """What each query of a class costs by the relaxation, up to a common factor; None where it is too large."""
    accepted = _accepted(problem)
    if accepted is None:
        return None
    share = problem.importance ** (1 / (1 + exponent))
    mass = np.bincount(problem.group, problem.count * share, problem.group_count)
    relaxation = _Relaxation(accepted, np.asarray(mass ** (1 + exponent), np.float64), exponent)
    cost = relaxation.solve(deadline)
    return np.asarray(cost[problem.group] * share / mass[problem.group], np.float64)


class _Relaxation:
    """Multipliers in one vector, attribute by attribute; the groups that constrain nothing come last."""

    def __init__(
        self, accepted: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]], weight: Floats, exponent: float
    ) -> None:
        self.accepted, self.weight, self.exponent = accepted, weight, exponent
        met = np.bincount(np.concatenate([groups for groups, _ in accepted]), minlength=len(weight))
        self.free = np.flatnonzero(met == 0)
        self.owner = np.concatenate([*(groups for groups, _ in accepted), self.free])
        self.start = -np.log(np.maximum(met, 1)[self.owner].astype(np.float64))

    def solve(self, deadline: float) -> Floats:
        """The cost of each group; at the deadline, as good as it is by then."""
        from scipy.optimize import minimize  # noqa: PLC0415  slow to import, and only hard workloads need it

        def stop_when_late(intermediate_result: object) -> None:  # noqa: ARG001  (so SciPy knows it)
            if time.monotonic() >= deadline:
                raise StopIteration

        point = self.start
        options = {"maxiter": _STEPS, "maxcor": 20}
        for temperature in _TEMPERATURES:
            if time.monotonic() < deadline:
                arguments = (self._value, point, (temperature,), "L-BFGS-B")
                point = minimize(*arguments, jac=True, callback=stop_when_late, options=options).x
        largest = float(point.max())
        return np.bincount(self.owner, np.exp(np.maximum(point - largest, -_REACH)), len(self.weight)).astype(
            np.float64
        )

    def _value(self, point: Floats, temperature: float) -> tuple[float, Floats]:
        """The smoothed objective and its slope."""
        # The objective does not depend on the scale, and what is far below the largest multiplier may as well be less.
        multiplier = np.exp(np.maximum(point - float(point.max()), -_REACH))
        cost = np.bincount(self.owner, multiplier, len(self.weight))
        heat = temperature * float(cost.mean())
        slope = np.ones(len(point))
        bound, place = float(cost[self.free].sum()), 0
        for groups, accepts in self.accepted:
            own = slice(place, place + len(groups))
            place += len(groups)
            load = accepts @ multiplier[own].astype(np.float32)
            top = float(load.max())
            likely = np.exp((load - top) / heat)
            mass = float(likely.sum())
            bound += top + heat * float(np.log(mass))
            slope[own] = (likely / mass) @ accepts
        error = self.weight * cost**-self.exponent
        total = float(error.sum())
        rise = self.exponent * multiplier * (slope / bound - (error / cost)[self.owner] / total)
        return float(np.log(total) + self.exponent * np.log(bound)), rise


def _accepted(
    problem: AllocationProblem,
) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]] | None:
    """Of each attribute the groups that constrain it, and which of its values each of them accepts."""
    compiled = problem.reduced
    owner = np.repeat(np.arange(compiled.query_count), np.diff(compiled.start))
    attribute = compiled.mask_attribute[compiled.term]
    constrained = [owner[attribute == a] for a in range(compiled.attribute_count)]
    if sum(len(groups) * int(size) for groups, size in zip(constrained, compiled.sizes, strict=True)) > _ENTRIES:
        return None
    first, accepting = accepting_queries(compiled)
    found = []
    for a, groups in enumerate(constrained):
        if len(groups):
            flags = unpack_bits(accepting[first[a] : first[a + 1]], compiled.query_count)
            found.append((groups, flags[:, groups].astype(np.float32)))
    return found or None
