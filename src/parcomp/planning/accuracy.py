"""Expected absolute errors of the noise that a cost buys, and the cost that an expected error needs.

Counts get discrete noise: under pure differential privacy discrete Laplace noise, under zCDP and Gaussian
differential privacy discrete Gaussian noise.  Costs are in the additive units of the measure.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from parcomp.costs import MAX_UNITS, UNITS_PER_ONE
from parcomp.errors import CostError
from parcomp.model import book_each
from parcomp.planning.utility import Floats, Noise, expected_error
from parcomp.privacy import Measure, discrete_gaussian_mu, laplace_scale, sigma_for_mu, sigma_for_rho

__all__ = [
    "Floats",
    "Units",
    "costs_for_errors",
    "equivalent_units",
    "error_exponent",
    "expected_errors",
    "noise_of",
    "noise_scales",
    "parameter_units",
]

Units = npt.NDArray[np.int64]

_LARGEST_COST = 1_000.0
"""The additive cost beyond which noise is as good as none, and its scale too small to be worked out."""


_NARROWEST, _WIDEST = 0.032, 9e8
"""The scales of noise whose cost is looked up by their error."""


def error_exponent(measure: Measure) -> float:
    """The p for which expected errors fall as cost^(−p), up to the effect of rounding noise to integers."""
    return 1.0 if measure.name == "pure" else 0.5


def parameter_units(measure: Measure, units: Units) -> Units:
    """Additive units in units of the measure's parameter; a root is rounded down, so that its square is no more."""
    if measure.power == 1:
        return units
    return book_each(units, lambda one: math.isqrt(one * UNITS_PER_ONE), "the largest cost")


def expected_errors(measure: Measure, units: Units) -> Floats:
    """The expected absolute error of a count at each cost, in additive units of at least 1.

    >>> from parcomp.privacy.measures import PURE, ZCDP
    >>> expected_errors(PURE, np.array([10**8])).round(3), expected_errors(ZCDP, np.array([5 * 10**6])).round(3)
    (array([9.983]), array([7.972]))
    """
    distinct, which = np.unique(units, return_inverse=True)
    errors = expected_error(noise_of(measure), noise_scales(measure, distinct))
    return errors[which]


def noise_of(measure: Measure) -> Noise:
    """The noise that a measure buys on a count."""
    return "discrete-laplace" if measure.name == "pure" else "discrete-gaussian"


def noise_scales(measure: Measure, units: Units) -> Floats:
    """The scale of the noise on a count that each cost buys, in additive units of at least 1; rounded up."""
    parameter = parameter_units(measure, units) / UNITS_PER_ONE
    match measure.name:
        case "pure":
            return laplace_scale(np.minimum(parameter, _LARGEST_COST))
        case "zcdp":
            return sigma_for_rho(np.minimum(parameter, _LARGEST_COST))
        case "gdp":
            return np.asarray(sigma_for_mu(np.minimum(parameter, math.sqrt(_LARGEST_COST))))


def equivalent_units(measure: Measure, errors: Floats) -> Units:
    """What noise on a count costs that has about these expected errors, in additive units: to compare, not to charge.

    >>> from parcomp.privacy.measures import PURE
    >>> equivalent_units(PURE, np.array([20.0]))
    array([49979191])
    """
    noise = noise_of(measure)
    low, high = np.full(len(errors), math.log(_NARROWEST)), np.full(len(errors), math.log(_WIDEST))
    for _ in range(50):
        middle = (low + high) / 2
        met = expected_error(noise, np.exp(middle)) <= errors
        low, high = np.where(met, middle, low), np.where(met, high, middle)
    scale = np.exp(low)
    match measure.name:
        case "pure":
            cost = 1 / scale
        case "zcdp":
            cost = 0.5 / scale**2
        case "gdp":
            cost = discrete_gaussian_mu(scale) ** 2
    return np.asarray(np.maximum(1, np.ceil(cost * UNITS_PER_ONE)), np.int64)


def costs_for_errors(measure: Measure, errors: Floats) -> Units:
    """The least cost, in additive units, at which the expected absolute error is at most each of ``errors``.

    >>> from parcomp.privacy.measures import PURE
    >>> costs_for_errors(PURE, np.array([20.0]))
    array([49979191])
    """
    low = np.zeros(len(errors), np.int64)
    high = np.full(len(errors), min(MAX_UNITS, int(_LARGEST_COST) * UNITS_PER_ONE))
    if len(errors) and (expected_errors(measure, high) > errors).any():
        raise CostError(f"no cost that can be booked brings the expected error down to {float(errors.min()):g}")
    while (open_ := high - low > 1).any():
        middle = np.where(open_, (low + high) // 2, high)
        met = expected_errors(measure, middle) <= errors
        low, high = np.where(open_ & ~met, middle, low), np.where(open_ & met, middle, high)
    return high
