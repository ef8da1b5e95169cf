"""Measures of privacy loss, each with the unit in which costs add up.

Maximum overlap adds costs, so it is computed in *additive units*: ε for pure differential privacy, ρ for
zero-concentrated differential privacy (Bun and Steinke 2016), and **μ²** for Gaussian differential privacy (Dong, Roth
and Su 2019).  People state and read the *parameter*: ε, ρ or μ.  This module is the one place that goes from one to
the other.  Amounts are integers of 10⁻⁹; costs are rounded up, budgets down, and what is below one unit is an error.

Two measures have no single additive number: Rényi differential privacy has one for each order, and approximate
differential privacy under basic composition has two, ε and δ.  They have functions of their own,
:func:`~parcomp.privacy.renyi.renyi_loss` and :func:`~parcomp.privacy.approximate.approximate_loss`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.costs import (
    COST_KINDS,
    MAX_UNITS,
    SYMBOLS,
    UNITS_PER_ONE,
    Amount,
    CostKind,
    amount_down,
    amount_of,
    amount_up,
    budget_down,
    cost_up,
    float_up,
    square_up,
)
from parcomp.errors import ArgumentError, CostError, WorkloadError, shown
from parcomp.model import Workload, book_each

__all__ = [
    "GDP",
    "MEASURES",
    "PURE",
    "ZCDP",
    "Measure",
    "MeasureName",
    "Neighbours",
    "check_rows_per_person",
    "find_measure",
    "workload_units",
]

MeasureName: TypeAlias = Literal["pure", "zcdp", "gdp"]


class Neighbours(StrEnum):
    """What two neighboring tables differ by: one row more or less, or one row in the place of another.

    >>> Neighbours("replace-one") is Neighbours.REPLACE_ONE, f"{Neighbours.ADD_REMOVE}"
    (True, 'add-remove')
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def _missing_(cls, value: object) -> Neighbours:
        raise ArgumentError(f"unknown neighbours {shown(value)}; there are {' and '.join(cls)}")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure whose costs add up as one number: the parameter itself, or its square.

    >>> GDP.cost_up("0.5"), GDP.budget_down(2), GDP.parameter_up(2_000_000_000)
    (250000000, 4000000000, 1.4142135623730951)
    """

    name: MeasureName
    parameter: CostKind
    symbol: str
    power: Literal[1, 2]
    """The additive unit is the parameter to this power."""
    group_power: Literal[1, 2]
    """With k rows for each person, additive units grow by k to this power (group privacy)."""

    def cost_up(self, amount: Amount) -> int:
        """The additive units of a cost stated in the parameter, rounded up."""
        units = cost_up(amount)
        return units if self.power == 1 else self._booked(square_up(units), amount, units)

    def budget_down(self, amount: Amount) -> int:
        """The additive units of a budget stated in the parameter, rounded down."""
        units = budget_down(amount)
        return units if self.power == 1 else self._booked(units * units // UNITS_PER_ONE, amount, units)

    def parameter_up(self, units: int) -> int | float:
        """The parameter that additive units amount to, rounded up: for losses."""
        return amount_up(units) if self.power == 1 else _root(units, up=True)

    def parameter_down(self, units: int) -> int | float:
        """The parameter within additive units, rounded down: for what a given cost buys."""
        return amount_down(units) if self.power == 1 else _root(units, up=False)

    def affordable_down(self, units: int) -> int | float:
        """The most that can be asked for within additive units, given that costs are booked in whole units."""
        return amount_down(units if self.power == 1 else math.isqrt(units * UNITS_PER_ONE))

    def growth_up(self, before: int, after: int) -> int | float:
        """By how much the parameter grows from additive units to more of them, rounded up."""
        if self.power == 1 or before in (0, after):
            return self.parameter_up(after - before)
        # Numbers are taken by their notation, here as everywhere.
        high, low = (Fraction(repr(number)) for number in (self.parameter_up(after), self.parameter_down(before)))
        return float_up(high - low)

    def group(self, units: int, rows_per_person: int) -> int:
        """The additive units against a person who owns up to so many rows, given those against a single row."""
        return units * int(rows_per_person**self.group_power)

    def group_factor(self, rows_per_person: int) -> int:
        """By how much the parameter grows from one row to so many of one person.

        >>> PURE.group_factor(3), ZCDP.group_factor(3), GDP.group_factor(3)
        (3, 9, 3)
        """
        return int(rows_per_person ** (self.group_power // self.power))

    def _booked(self, squared: int, amount: Amount, units: int) -> int:
        if units * units < UNITS_PER_ONE:
            raise CostError(f"the square of {shown(amount)} is below one unit of 1e-9; nothing smaller can be booked")
        if squared > MAX_UNITS:
            raise CostError(f"the square of {shown(amount)} is too large; at most {MAX_UNITS // UNITS_PER_ONE}")
        return squared


PURE: Final = Measure("pure", "epsilon", SYMBOLS["pure"], 1, 1)
ZCDP: Final = Measure("zcdp", "rho", SYMBOLS["zcdp"], 1, 2)
GDP: Final = Measure("gdp", "mu", SYMBOLS["gdp"], 2, 2)
MEASURES: Final[dict[str, Measure]] = {measure.name: measure for measure in (PURE, ZCDP, GDP)}


def find_measure(name: object) -> Measure:
    """The measure of a name."""
    if isinstance(name, str) and name in MEASURES:
        return MEASURES[name]
    raise ArgumentError(f"unknown measure {shown(name)}; there are {', '.join(MEASURES)}")


def check_rows_per_person(rows: object) -> int:
    """The number itself, if a person can own so many rows."""
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or not 1 <= rows <= 10**9:
        raise ArgumentError(f"rows per person must be a whole number from 1 to 10^9, not {shown(rows)}")
    return int(rows)


def workload_units(workload: Workload, measure: Measure) -> npt.NDArray[np.int64]:
    """What each query costs in the additive units of a measure.

    A ``weight`` is taken to be in additive units already (μ² for Gaussian differential privacy).  A cost stated in the
    measure's own parameter is booked in its additive unit.  Under zCDP an ε is booked as ρ = ε²/2 (Bun and Steinke
    2016, Proposition 1.4), rounded up. Any other kind of cost is an error: it has no sound counterpart, or one that
    nobody asked for.
    """
    kinds = workload.cost_kinds
    possible = _CONVERSIONS[measure.name]
    wrong = [kind for kind in kinds if kind != "weight" and kind not in possible]
    if wrong:
        raise WorkloadError(
            f"costs stated in {' and '.join(wrong)} cannot be booked under {measure.name}; "
            f"state them in {' or '.join(['weight', *possible])}"
        )
    if "weight" in kinds and len(kinds) > 1:
        raise WorkloadError(
            f"the queries state their costs in {' and '.join(kinds)}; give all of them a {measure.parameter}"
        )
    units = workload.units.copy()
    for kind in kinds:
        if kind != "weight":
            chosen = workload.kinds == COST_KINDS.index(kind)
            units[chosen] = book_each(workload.units[chosen], possible[kind], f"the square of the largest {kind}")
    return units


def _itself(units: int) -> int:
    return units


def _half_square(units: int) -> int:
    if units * units < 2 * UNITS_PER_ONE:
        raise CostError(
            f"an epsilon of {amount_of(units)} is a rho below one unit of 1e-9; nothing smaller can be booked"
        )
    return -(-units * units // (2 * UNITS_PER_ONE))


_CONVERSIONS: Final[dict[MeasureName, dict[CostKind, Callable[[int], int]]]] = {
    "pure": {"epsilon": _itself},
    "zcdp": {"rho": _itself, "epsilon": _half_square},
    "gdp": {"mu": square_up},
}


def _root(units: int, *, up: bool) -> int | float:
    """The root of units as a number: exact where it is a whole number of units, else the next float on that side."""
    scaled = units * UNITS_PER_ONE
    whole = math.isqrt(scaled)
    if whole * whole == scaled:
        return amount_up(whole) if up else amount_down(whole)
    exact = Fraction(units, UNITS_PER_ONE)
    root = math.sqrt(units / UNITS_PER_ONE)

    def beyond(root: float) -> bool:
        # As in parcomp.costs, both the notation and the binary value are on the sound side.
        squares = Fraction(repr(root)) ** 2, Fraction(root) ** 2
        return min(squares) >= exact if up else max(squares) <= exact

    while not beyond(root):
        root = math.nextafter(root, math.inf if up else 0.0)
    return root
