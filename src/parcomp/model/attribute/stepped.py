"""Decimals: the multiples of a step between two ends.

All arithmetic is on integers: with ``places`` digits after the point the step is ``unit / 10**places``, and a number is
compared after it is scaled by ``10**places``, which only moves its point.

*Written and read back.*  Where the step is whole, values are integers.  Otherwise they are written as floats.  Each is
``m / 10**places`` with ``|m| < 10**15``, so it has at most 15 significant digits, and no two such decimals are nearest
to one double, since ``10**15 < 2**52`` (and none but 0 is below the normal doubles).  So the shortest notation of the
float is the decimal itself.  A declaration that needs more digits is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from parcomp.errors import DomainError, PredicateError, shown
from parcomp.model.attribute.base import Attribute, Numeric, Scale, Value
from parcomp.model.attribute.exact import Number, as_decimal, declared_decimal, stated_decimal

__all__ = ["Stepped"]

_FLOAT_DIGITS = 15
"""How many significant digits any decimal keeps that is made a double and written again."""

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""For moving the point and stripping zeros, which need no rounding; the caller's context might round."""


@dataclass(frozen=True, slots=True)
class Stepped(Numeric):
    """The multiples of ``step`` from ``low`` to ``high``, both included, which are multiples themselves.

    The three are given as strings or as numbers of any type, and held as exact decimals.

    >>> kappa = Stepped("0.00", "20.00", "0.01")
    >>> kappa.size, kappa.code(1.43), kappa.value(143), kappa.code(1.435)
    (2001, 143, 1.43, None)
    """

    low: Number | str
    high: Number | str
    step: Number | str
    nullable: bool = False
    clip: bool = False
    _places: int = field(init=False, repr=False, compare=False)
    # The step in units of its last place, and the multiples of it that the ends are.
    _unit: int = field(init=False, repr=False, compare=False)
    _ends: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = {name: _declared(name, getattr(self, name)) for name in ("low", "high", "step")}
        if given["step"] <= 0:
            raise DomainError(f"step must be above 0, not {shown(given['step'])}", field="step")
        places = max(-int(_EXACT.normalize(given["step"]).as_tuple().exponent), 0)
        unit = int(_EXACT.scaleb(given["step"], places))
        scaled = {}
        for name, decimal in given.items():
            moved = _EXACT.scaleb(decimal, places)
            scaled[name] = int(moved)
            if moved != scaled[name] or scaled[name] % unit:
                nearest = _EXACT.multiply(given["step"], round(moved / unit))
                message = (
                    f"{name} {shown(decimal)} is no multiple of the step {given['step']}; the nearest is {nearest}"
                )
                raise DomainError(message, field=name)
            if places and abs(scaled[name]) >= 10**_FLOAT_DIGITS:
                message = f"{name} has more than {_FLOAT_DIGITS} digits at this step, which floats cannot tell apart"
                raise DomainError(f"{message}; use a larger step", field=name)
            # One form for one number, so that equal attributes are equal whichever file they come from.
            object.__setattr__(self, name, _EXACT.scaleb(Decimal(scaled[name]), -places))
        if scaled["low"] > scaled["high"]:
            raise DomainError(f"low {shown(self.low)} is above high {shown(self.high)}")
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_unit", unit)
        object.__setattr__(self, "_ends", (scaled["low"] // unit, scaled["high"] // unit))
        self._check()

    @property
    def null(self) -> int:
        """The number of multiples."""
        return self._ends[1] - self._ends[0] + 1

    @property
    def places(self) -> int:
        """How many digits values have after the point."""
        return self._places

    @property
    def scale(self) -> Scale:
        """Whole steps, ``low`` being some number of them."""
        return Scale(self._ends[0], as_decimal(self.step))

    def multiples_below(self, number: Decimal, *, included: bool) -> int:
        """How many values are below a number of any size and length, or at it if that is included."""
        first = self._ends[0]
        # Compared as they are: only a number between the ends has few enough digits to be written out.
        if number < as_decimal(self.low):
            return 0
        if number > as_decimal(self.high):
            return self.null
        moved = _EXACT.scaleb(number, self._places)
        if included:
            return int(moved.to_integral_value(ROUND_FLOOR)) // self._unit + 1 - first
        return -(-int(moved.to_integral_value(ROUND_CEILING)) // self._unit) - first

    def extends(self, older: Attribute) -> bool:
        """Whether it goes on by the same step where ``older`` ends."""
        return isinstance(older, Stepped) and (self.low, self.step) == (older.low, older.step) and self._goes_on(older)

    def _code(self, value: object) -> int | None:
        number = stated_decimal(value)
        before = self.multiples_below(number, included=False)
        return before if self.multiples_below(number, included=True) > before else None

    def run(self, low: object, high: object) -> tuple[int, int]:
        """The multiples from ``low`` to ``high``, both included, which may be any numbers, also as strings."""
        first, last = stated_decimal(low), stated_decimal(high)
        if first > last:
            raise PredicateError(f"the range is reversed: {shown(low)} is above {shown(high)}")
        return self.multiples_below(first, included=False), self.multiples_below(last, included=True)

    def edge(self, code: int) -> Value:
        """The last multiple before ``code``."""
        return self._value(code - 1)

    def _value(self, code: int) -> Value:
        scaled = (self._ends[0] + code) * self._unit
        # The quotient of two integers is the float nearest to it.
        return scaled / 10**self._places if self._places else scaled

    def _fields(self) -> dict[str, object]:
        return {name: format(as_decimal(getattr(self, name)), "f") for name in ("low", "high", "step")}


def _declared(name: str, value: object) -> Decimal:
    try:
        return declared_decimal(value)
    except PredicateError as error:
        raise DomainError(f"{name}: {error}", field=name) from None
