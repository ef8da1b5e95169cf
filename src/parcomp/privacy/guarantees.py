"""The trade-off function that a guarantee stated in ε, ρ or μ implies."""

from __future__ import annotations

import numpy as np

from parcomp.privacy.conversions import zcdp_delta
from parcomp.privacy.measures import MeasureName, find_measure
from parcomp.privacy.tradeoff import ApproximateDP, Envelope, Gaussian, TradeOff

__all__ = ["tradeoff_of"]

_LARGEST = 700.0
"""Beyond this, e^ε is no float."""


def tradeoff_of(measure: MeasureName, amount: float) -> TradeOff:
    """A lower bound of the trade-off function of every mechanism with the guarantee.

    ε of pure differential privacy is f_{ε,0}, and μ-GDP is G_μ, both exactly.  ρ-zCDP is known by the profile that its
    Rényi divergences allow.
    """
    if amount > _LARGEST:
        # Nothing is protected.
        return ApproximateDP(0.0, 1.0)
    match find_measure(measure).name:
        case "pure":
            return ApproximateDP(float(amount))
        case "gdp":
            return Gaussian(float(amount))
        case _:
            # Beyond this ε the profile is below 10⁻¹⁵.
            largest = min(690.0, amount + 2 * (35 * amount) ** 0.5)
            epsilons = np.linspace(0.0, largest, 400)
            return Envelope.from_profile(epsilons, np.array([zcdp_delta(amount, epsilon) for epsilon in epsilons]))
