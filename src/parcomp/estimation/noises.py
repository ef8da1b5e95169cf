"""What is known of the noise on answers: its kind, its scale, and how far it strays.

A *scale* is what it is everywhere here: σ of (discrete) Gaussian noise, b of (discrete) Laplace noise.  It can be
given, or follow from what the queries cost.  Noise that is drawn for each answer by itself is a :class:`Separate`; that
of a strategy is known to :mod:`parcomp.noise`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from parcomp.errors import ArgumentError, shown
from parcomp.estimation.rows import Floats
from parcomp.model import Workload
from parcomp.noise import mechanism_for
from parcomp.planning import expected_error
from parcomp.privacy import find_measure

__all__ = [
    "LARGEST",
    "NOISES",
    "Noise",
    "Separate",
    "noise_of",
    "noise_said_by",
    "noise_under",
    "scales_by_cost",
    "scales_by_error",
]

LARGEST: Final = 10**15
"""The most that an answer, a fact or a scale may be: floats tell whole numbers apart up to there, and their squares add
up."""

Noise: TypeAlias = Literal["gaussian", "laplace"]
NOISES: Final[tuple[Noise, ...]] = get_args(Noise)

_LEAST_SCALE: Final = 0.03
"""Noise of a smaller scale is 0 in all draws."""

_MEASURES: Final = {"epsilon": "pure", "rho": "zcdp", "mu": "gdp"}
"""The measure that a cost of each kind belongs to; a plain weight belongs to none."""


def noise_of(workload: Workload, noise: str | None) -> Noise:
    """The kind of noise: the one that is named, else the one that costs say, else Gaussian, which is an assumption."""
    if noise is None:
        return noise_said_by(workload) or "gaussian"
    for known in NOISES:
        if noise == known:
            return known
    raise ArgumentError(f"unknown noise {shown(noise)}; there are {' and '.join(NOISES)}")


def noise_said_by(workload: Workload) -> Noise | None:
    """The kind of noise that costs in ε, ρ or μ buy; None where queries have plain weights."""
    kinds = workload.cost_kinds
    return noise_under(_MEASURES[kinds[0]]) if len(kinds) == 1 and kinds[0] in _MEASURES else None


def noise_under(measure: str) -> Noise:
    """The kind of noise that counts have under a measure."""
    return "laplace" if measure == "pure" else "gaussian"


def scales_by_cost(workload: Workload) -> Floats:
    """The scale of the noise that each query's cost buys on a count, where costs are in ε, ρ or μ."""
    kinds = workload.cost_kinds
    if len(kinds) != 1 or kinds[0] not in _MEASURES:
        raise ArgumentError(
            "give the scale of the noise on each answer, or queries that cost epsilon, rho or mu: plan(…).priced()"
        )
    measure = find_measure(_MEASURES[kinds[0]])
    distinct, which = np.unique(workload.additive_units(), return_inverse=True)
    return np.array([mechanism_for(measure, int(units)).scale for units in distinct])[which]


def scales_by_error(noise: Noise, errors: Floats) -> Floats:
    """The scale at which discrete noise has an expected absolute error; 0 for 0.

    Laplace noise has 1/sinh(1/b); for Gaussian noise σ is bracketed, as the error rises with it.

    >>> [scales_by_error(kind, np.array([7.9722])).round(3).tolist() for kind in NOISES]
    [[10.0], [7.993]]
    """
    if noise == "laplace":
        with np.errstate(divide="ignore"):
            return np.asarray(1 / np.arcsinh(1 / errors))
    low, high = np.full(len(errors), _LEAST_SCALE), np.maximum(1.0, 2 * errors)
    for _ in range(60):
        middle = (low + high) / 2
        above = expected_error("discrete-gaussian", middle) > errors
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(errors > 0, high, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Separate:
    """Noise of its own on each answer, of the same kind and its own scale."""

    kind: Noise
    scales: Floats

    @property
    def deviations(self) -> Floats:
        """Standard deviations."""
        return self.scales * (math.sqrt(2) if self.kind == "laplace" else 1.0)

    def half_widths_up(self, confidence: float) -> Floats:
        """Whole numbers that noise stays within with at least this probability, be it continuous or discrete.

        Let r be the half-width of the continuous noise, rounded up.  *Gaussian*: discrete noise is m or more with at
        most the probability that continuous noise is m − 1 or more (Canonne, Kamath and Steinke 2020, Proposition 25),
        so it is beyond r, and r + 1 or more, no more often than continuous noise is beyond r.  *Laplace*: with
        q = e^(−1/b), discrete noise is beyond r with probability 2·q^(r+1)/(1 + q) ≤ q^r, which is that of continuous
        noise.
        """
        from scipy.special import ndtri  # noqa: PLC0415  slow to import, and quotes need none of it

        quantile = -math.log1p(-confidence) if self.kind == "laplace" else float(ndtri((1 + confidence) / 2))
        return np.ceil(quantile * self.scales * (1 + 1e-12))

    def drawn(self, draw: np.random.Generator) -> Floats:
        """Noise of each scale, continuous."""
        plain = draw.laplace(size=len(self.scales)) if self.kind == "laplace" else draw.normal(size=len(self.scales))
        return plain * self.scales
