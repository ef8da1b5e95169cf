"""Budgets stated as (ε, δ), kept in ρ or μ.

Costs add up in ρ or μ² (:mod:`parcomp.privacy.measures`), so that is what a ledger counts.  A budget of (ε, δ) becomes
the greatest ρ or μ that was seen to imply (ε, δ)-DP, rounded *down*; whatever is spent within it then has the stated
guarantee.  The conversions are those of :mod:`parcomp.privacy.conversions`: Canonne, Kamath and Steinke 2020,
Proposition 12, over all orders for zCDP, and the exact profile of Gaussian differential privacy.

The ρ or μ is rounded down to six digits.  A ledger is bound to its budget in units, and the last bits of a float are
not the same on every machine: they must not make a ledger look as if it belonged to other settings.

Back from units, ε at the same δ is rounded up for what was spent and down for what is left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from parcomp.costs import Amount, budget_down, short_down
from parcomp.errors import CostError, shown
from parcomp.privacy.conversions import gdp_epsilon, gdp_mu, zcdp_epsilon, zcdp_rho
from parcomp.privacy.measures import Measure

__all__ = ["ApproximateBudget", "read_budget", "read_delta"]

_LEAST_DELTA: Final = 1e-300
_ROUNDED: Final = Context(prec=6, rounding=ROUND_FLOOR)
_MARGIN: Final = 1e-6
"""By how much an ε that is rounded down is moved: far more than any conversion is off."""


@dataclass(frozen=True, slots=True)
class ApproximateBudget:
    """A budget of (ε, δ) under a measure with one additive number, zCDP or Gaussian DP.

    ``epsilon`` and ``delta`` are the floats nearest to what was stated; what is worked out from them starts one float
    below, and so not above what was stated.  ``units`` are the additive units that imply it, rounded down.

    >>> from parcomp.privacy import ZCDP
    >>> budget = ApproximateBudget.of(ZCDP, "1", "1e-6")
    >>> budget.units, budget.epsilon_up(budget.units) <= 1
    (24355900, True)
    """

    measure: Measure
    epsilon: float
    delta: float
    units: int = field(init=False)

    def __post_init__(self) -> None:
        if self.measure.name == "pure":
            raise CostError(
                f"pure DP has no δ to spend: give an ε alone, as budget = {_quoted(self.epsilon)}, "
                "or choose the measure zcdp or gdp"
            )
        if not 0 < self.epsilon < math.inf:
            raise CostError(f"an epsilon must be above 0, not {shown(self.epsilon)}")
        if not _LEAST_DELTA <= self.delta < 1:
            raise CostError(f"a delta must be at least {_LEAST_DELTA:g} and below 1, not {shown(self.delta)}")
        convert = zcdp_rho if self.measure.name == "zcdp" else gdp_mu
        amount = _ROUNDED.create_decimal(repr(convert(_below(self.epsilon), _below(self.delta))))
        try:
            units = self.measure.budget_down(amount)
        except CostError:
            what = self.measure.parameter
            raise CostError(
                f"an epsilon of {self.epsilon:g} at a delta of {self.delta:g} is a {what} of {amount:g}, "
                f"and no {what} can be booked that is so {'small' if amount < 1 else 'large'}"
            ) from None
        object.__setattr__(self, "units", units)

    @classmethod
    def of(cls, measure: Measure, epsilon: Amount, delta: Amount) -> ApproximateBudget:
        """The budget of numbers as people write them."""
        # As any budget: a positive number that is neither too small nor too large to be booked.
        budget_down(epsilon)
        return cls(measure, float(Decimal(str(epsilon))), read_delta(delta))

    def epsilon_up(self, units: int) -> float:
        """The ε at δ that additive units imply, rounded up; within the budget it is never above the budget's ε."""
        implied = _implied(self.measure, units, self.delta)
        return min(implied, self.epsilon) if units <= self.units else implied

    def epsilon_down(self, units: int) -> float:
        """The ε at δ that additive units imply, rounded down to six digits: for what is left.

        Where that is the whole budget, it is left as it was stated.
        """
        if units == self.units:
            return self.epsilon
        implied = _implied(self.measure, units, self.delta)
        if math.isinf(implied):
            return implied
        lowered = implied * (1 - _MARGIN) - _MARGIN * 1e-3
        return 0.0 if lowered <= 0 else float(_ROUNDED.create_decimal(repr(lowered)))

    def __str__(self) -> str:
        return f"ε = {short_down(self.epsilon)} at δ = {short_down(self.delta)}"


def read_budget(measure: Measure, written: object) -> tuple[int, ApproximateBudget | None]:
    """A budget as settings state it, in additive units rounded down, and as (ε, δ) if it is stated so.

    It is an amount in the measure's parameter, or a mapping of ``epsilon`` and ``delta``.  Raises
    :class:`~parcomp.errors.CostError` for anything else.

    >>> from parcomp.privacy import GDP, PURE
    >>> read_budget(PURE, "1.5"), read_budget(GDP, {"epsilon": "1", "delta": "1e-6"})[0]
    ((1500000000, None), 56028783)
    """
    if not isinstance(written, Mapping):
        return measure.budget_down(written), None  # type: ignore[arg-type]  # whatever is no amount is an error there
    if set(written) != {"epsilon", "delta"}:
        raise CostError(f"a budget of two numbers has epsilon and delta, not {', '.join(map(str, written)) or 'none'}")
    budget = ApproximateBudget.of(measure, written["epsilon"], written["delta"])
    return budget.units, budget


@lru_cache(maxsize=256)
def _implied(measure: Measure, units: int, delta: float) -> float:
    """The least ε that was found to be implied at δ, from above."""
    amount = float(measure.parameter_up(units))
    return float((zcdp_epsilon if measure.name == "zcdp" else gdp_epsilon)(amount, _below(delta)))


def read_delta(delta: Amount) -> float:
    """The δ of a budget, as the float nearest to it."""
    try:
        exact = Decimal(str(delta))
    except InvalidOperation:
        raise CostError(f"a delta must be a number, not {shown(delta)}") from None
    if isinstance(delta, bool) or not exact.is_finite():
        raise CostError(f"a delta must be a number, not {shown(delta)}")
    if not Decimal(repr(_LEAST_DELTA)) <= exact < 1:
        raise CostError(f"a delta must be at least {_LEAST_DELTA:g} and below 1, not {shown(delta)}")
    return float(exact)


def _below(nearest: float) -> float:
    """A float that is not above the decimal whose nearest float is given."""
    return math.nextafter(nearest, 0.0)


def _quoted(epsilon: float) -> str:
    return f'"{epsilon:g}"'
