"""Costs and budgets as exact integers.

One unit is 10⁻⁹ of whatever a cost is stated in.  A cost is rounded **up** to whole units and a budget **down**, so
that rounding never books less than was spent.  A number is taken by its decimal notation: ``0.1`` is one tenth,
not the binary fraction nearest to it.

Back from units to a number, the way a float is rounded matters once it has fewer digits than the units do, which begins
near 2⁵³: what bounds a loss is rounded up (``amount_up``), what may be spent is rounded down (``amount_down``).
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Final, Literal, TypeAlias, get_args

from parcomp.errors import CostError, shown

__all__ = [
    "COST_KINDS",
    "MAX_UNITS",
    "SYMBOLS",
    "UNITS_PER_ONE",
    "Amount",
    "Cost",
    "CostKind",
    "amount_down",
    "amount_of",
    "amount_text",
    "amount_up",
    "budget_down",
    "cost_up",
    "float_down",
    "float_up",
    "short_down",
    "short_up",
    "square_up",
]

UNITS_PER_ONE: Final = 10**9
"""How many units make one whole ε, ρ, μ or weight."""

MAX_UNITS: Final = 2**62 - 1
"""The most that one cost or budget may be, so that it fits a signed 64-bit integer with room to spare."""

_DIGITS_SHOWN = 6
_LEAST_PLAIN = -5
"""Numbers below this power of ten are shown with an exponent."""

CostKind: TypeAlias = Literal["weight", "epsilon", "rho", "mu"]
SYMBOLS: Final = {"pure": "ε", "zcdp": "ρ", "gdp": "μ"}
"""The letter of each measure's parameter."""
COST_KINDS: Final[tuple[CostKind, ...]] = get_args(CostKind)
Amount: TypeAlias = int | float | Decimal | str


def cost_up(amount: Amount) -> int:
    """The cost in units, rounded up.

    >>> cost_up("0.1"), cost_up(0.1), cost_up(Decimal("0.1000000001"))
    (100000000, 100000000, 100000001)
    """
    return _units(amount, "cost", ROUND_CEILING)


def budget_down(amount: Amount) -> int:
    """The budget in units, rounded down.

    >>> budget_down("1.0000000009")
    1000000000
    """
    return _units(amount, "budget", ROUND_FLOOR)


def square_up(units: int) -> int:
    """The units of a squared amount, rounded up: what a μ costs where μ² adds up.

    >>> square_up(500_000_000), square_up(1)
    (250000000, 1)
    """
    return -(-units * units // UNITS_PER_ONE)


def amount_of(units: int) -> int | float:
    """Units as the nearest number that people read: an integer where it is whole.

    >>> amount_of(2_000_000_000), amount_of(250_000_000)
    (2, 0.25)
    """
    whole, rest = divmod(units, UNITS_PER_ONE)
    return whole if rest == 0 else units / UNITS_PER_ONE


def amount_up(units: int) -> int | float:
    """The least number, as people read it, that is not below the units.

    >>> amount_up(300_000_000), amount_up(10**18 + 1), amount_down(10**18 + 1)
    (0.3, 1000000000.0000001, 1000000000.0)
    """
    whole, rest = divmod(units, UNITS_PER_ONE)
    return whole if rest == 0 else float_up(Fraction(units, UNITS_PER_ONE))


def amount_down(units: int) -> int | float:
    """The greatest number, as people read it, that is not above the units."""
    whole, rest = divmod(units, UNITS_PER_ONE)
    return whole if rest == 0 else float_down(Fraction(units, UNITS_PER_ONE))


def float_up(exact: Fraction) -> float:
    """The float whose decimal notation is the number, else the least one of which nothing is below it.

    Neither its notation nor its binary value is below, so that it is sound whichever of the two a reader takes.
    """
    return _directed(exact, math.inf)


def float_down(exact: Fraction) -> float:
    """The float whose decimal notation is the number, else the greatest one of which nothing is above it."""
    return _directed(exact, -math.inf)


def amount_text(units: int) -> str:
    """Units in decimal notation, exactly; above 2⁵³ units a float would lose the last digits.

    >>> amount_text(2_000_000_000), amount_text(4_000_000_000_000_000_001)
    ('2', '4000000000.000000001')
    """
    whole, rest = divmod(units, UNITS_PER_ONE)
    return str(whole) if rest == 0 else f"{whole}.{rest:09d}".rstrip("0")


def short_up(value: int | float) -> str:
    """A number as a text shows it: thousands set apart, a fraction to six digits, rounded up.

    >>> short_up(0.074999999), short_up(1.4142135623730951), short_up(0.3), short_up(12_000)
    ('0.075', '1.41422', '0.3', '12,000')
    """
    return _short(value, ROUND_CEILING)


def short_down(value: int | float) -> str:
    """A number as a text shows it, with a fraction to six digits, rounded down.

    >>> short_down(0.9539392014169457), short_down(1e-9), short_down(0.7)
    ('0.953939', '1e-9', '0.7')
    """
    return _short(value, ROUND_FLOOR)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one query spends: how much of which privacy parameter (or of a plain weight).

    >>> Cost.of("epsilon", "0.5")
    Cost(kind='epsilon', units=500000000)
    """

    kind: CostKind
    units: int

    def __post_init__(self) -> None:
        if self.kind not in COST_KINDS:
            raise CostError(f"unknown kind of cost {self.kind!r}; one of {', '.join(COST_KINDS)}")
        if not 1 <= self.units <= MAX_UNITS:
            raise CostError(f"a cost must be between 1 and {MAX_UNITS} units, not {self.units}")

    @classmethod
    def of(cls, kind: CostKind, amount: Amount) -> Cost:
        """A cost from a number, rounded up to whole units."""
        return cls(kind, cost_up(amount))

    @property
    def amount(self) -> int | float:
        """The cost as the number people read."""
        return amount_of(self.units)


def _directed(exact: Fraction, toward: float) -> float:
    value = exact.numerator / exact.denominator
    while (noted := Fraction(repr(value))) != exact:
        ends = noted, Fraction(value)
        if exact <= min(ends) if toward > 0 else max(ends) <= exact:
            break
        value = math.nextafter(value, toward)
    return value


def _short(value: int | float, rounding: str) -> str:
    if isinstance(value, int) or value == 0:
        return f"{int(value):,}"
    if math.isinf(value):
        return "∞"
    rounded = Context(prec=_DIGITS_SHOWN, rounding=rounding).create_decimal(repr(value)).normalize()
    return f"{rounded:,f}" if rounded.adjusted() >= _LEAST_PLAIN else f"{rounded:e}"


def _decimal(amount: Amount, what: str) -> Decimal:
    if isinstance(amount, bool) or not isinstance(amount, (numbers.Real, Decimal, str)):
        raise CostError(f"a {what} must be a number, not {shown(amount)}")
    try:
        if isinstance(amount, Decimal):
            exact = amount
        elif isinstance(amount, numbers.Integral):
            exact = Decimal(int(amount))
        else:
            exact = Decimal(amount if isinstance(amount, str) else repr(float(amount)))
    except (InvalidOperation, OverflowError):
        hint = "; decimals are written with a point" if isinstance(amount, str) and "," in amount else ""
        raise CostError(f"a {what} must be a number, not {shown(amount)}{hint}") from None
    if isinstance(amount, numbers.Rational) and Fraction(amount) != Fraction(exact):
        raise CostError(f"a {what} must be a decimal number, not {shown(amount)}")
    if not exact.is_finite():
        raise CostError(f"a {what} must be finite, not {shown(amount)}")
    return exact


def _units(amount: Amount, what: str, rounding: str) -> int:
    exact = _decimal(amount, what)
    if exact <= 0:
        raise CostError(f"a {what} must be above 0, not {shown(amount)}")
    # The size is judged by the exponent first: 1e999999999 must not be expanded to digits.
    if exact.adjusted() >= 10:
        raise CostError(f"{shown(amount)} is too large; at most {MAX_UNITS // UNITS_PER_ONE}")
    # In the default context the product would be rounded to the nearest 28 digits, whatever the direction.
    context = Context(prec=len(exact.as_tuple().digits) + 20, rounding=rounding)
    scaled = context.multiply(exact, Decimal(UNITS_PER_ONE))
    if scaled < 1:
        raise CostError(f"{shown(amount)} is below one unit of 1e-9; nothing smaller can be booked")
    units = int(scaled.to_integral_value(rounding=rounding))
    if units > MAX_UNITS:
        raise CostError(f"{shown(amount)} is too large; at most {MAX_UNITS // UNITS_PER_ONE}")
    return units
