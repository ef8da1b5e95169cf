"""What an operation of SQL makes of exact values: the one place that says how expressions are computed.

Numbers are fractions, so nothing is rounded on the way, short of numbers of a thousand digits.  The rules are
PostgreSQL's: a null argument makes the result null, except where an operation is about nulls; halves are rounded away
from zero.  Only ``/`` is that of DuckDB, which never cuts; ``div`` cuts toward zero, and so does ``%``.  A division by
zero, and the
root or the logarithm of what has none, is null: a noisy number may be zero on any table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, TypeAlias

from parcomp.model.attribute import Value

__all__ = ["OPERATIONS", "Scalar", "apply", "as_value", "rounded"]

Scalar: TypeAlias = Fraction | str | bool | datetime | None
"""What an expression is on one row."""

_MAX_PLACES = 30
_LARGEST_FLOAT = Fraction(10) ** 300
_MAX_BITS = 4_096
"""Of numerators and denominators, so that no expression takes long to compute; floats have a quarter of it."""


def apply(name: str, arguments: Sequence[Scalar]) -> Scalar:
    """The value of an operation whose arguments have these values.

    >>> str(apply("/", (Fraction(1), Fraction(3)))), apply("/", (Fraction(1), Fraction(0)))
    ('1/3', None)
    """
    if name in _OF_NULLS:
        return _OF_NULLS[name](arguments)
    # By identity: a fraction takes long to tell that it is not None.
    if any(argument is None for argument in arguments):
        return None
    result: Scalar = _STRICT[name](*arguments)
    return _bounded(result) if isinstance(result, Fraction) else result


def rounded(number: Fraction, places: int = 0) -> Fraction:
    """The nearest number with so many places, halves away from zero."""
    scale = Fraction(10) ** max(min(places, _MAX_PLACES), -_MAX_PLACES)
    up = math.floor(abs(number) * scale + Fraction(1, 2)) / scale
    return up if number >= 0 else -up


def as_value(scalar: Scalar) -> Value:
    """A scalar as answers show it: a whole number as an integer, a moment as its ISO date, and its hour if not 0."""
    if isinstance(scalar, Fraction):
        if scalar.denominator == 1 or abs(scalar) > _LARGEST_FLOAT:
            return int(scalar)
        return float(scalar)
    if isinstance(scalar, datetime):
        return scalar.date().isoformat() if not scalar.hour else f"{scalar:%Y-%m-%dT%H}"
    return scalar


def _bounded(number: Fraction) -> Fraction:
    """The number, if it has few enough digits to be computed with; a larger one is the largest, a longer one is cut.

    This keeps order: of two numbers the smaller does not become the larger.
    """
    if number.numerator.bit_length() <= _MAX_BITS and number.denominator.bit_length() <= _MAX_BITS:
        return number
    if abs(number) >= 1 << _MAX_BITS:
        return Fraction(1 << _MAX_BITS) * (1 if number > 0 else -1)
    return Fraction(math.floor(number * (1 << _MAX_BITS)), 1 << _MAX_BITS)


def _truncated(number: Fraction, places: Fraction = Fraction(0)) -> Fraction:
    scale = Fraction(10) ** max(min(int(places), _MAX_PLACES), -_MAX_PLACES)
    return Fraction(math.trunc(number * scale)) / scale


def _divided(one: Fraction, other: Fraction) -> Fraction | None:
    return one / other if other else None


def _divided_whole(one: Fraction, other: Fraction) -> Fraction | None:
    return Fraction(math.trunc(one / other)) if other else None


def _remainder(one: Fraction, other: Fraction) -> Fraction | None:
    return one - other * math.trunc(one / other) if other else None


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator == 1 and abs(exponent) * bits <= _MAX_BITS:
        return None if not base and exponent < 0 else base ** int(exponent)
    return _by_float(math.pow)(base, exponent)


def _by_float(function: Callable[..., float]) -> Callable[..., Fraction | None]:
    """A function of floats, null where it has no finite value."""

    def computed(*arguments: Fraction) -> Fraction | None:
        try:
            return Fraction(function(*map(float, arguments)))
        except (ValueError, OverflowError):
            return None

    return computed


def _logarithm(function: Callable[[float], float], of_base: float = 1.0) -> Callable[[Fraction], Fraction | None]:
    """A logarithm, precise near 1 too, where a float of the number itself would be too coarse."""
    computed = _by_float(function)

    def precise(number: Fraction) -> Fraction | None:
        if abs(number - 1) < Fraction(1, 4):
            return Fraction(math.log1p(float(number - 1)) / of_base)
        return computed(number)

    return precise


def _area_tangent(number: Fraction) -> Fraction | None:
    """The inverse hyperbolic tangent, which grows without end toward -1 and 1 and has no value beyond.

    Near those ends it is taken from a quotient that is exact: the float nearest to the number would be too far off.
    """
    if abs(number) >= 1:
        return None
    if abs(number) < Fraction(1, 2):
        return Fraction(math.atanh(float(number)))
    size = _by_float(math.log)((1 + abs(number)) / (1 - abs(number)))
    return None if size is None else _sign(number) * size / 2


def _text(value: Fraction | str | bool | datetime, form: Fraction | str | None = None) -> str:
    """What a value is written as: with so many places, or with its hour."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}" if form == "hour" else value.date().isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(form, Fraction):
        digits = str(abs(int(value * 10 ** int(form)))).zfill(int(form) + 1)
        point = len(digits) - int(form)
        return ("-" if value < 0 else "") + digits[:point] + ("." + digits[point:] if form else "")
    return str(as_value(value))


def _sign(number: Fraction) -> Fraction:
    return Fraction((number > 0) - (number < 0))


def _any_of(values: Sequence[Scalar]) -> bool | None:
    return True if True in values else None if None in values else False


def _all_of(values: Sequence[Scalar]) -> bool | None:
    return False if False in values else None if None in values else True


def _case(values: Sequence[Scalar]) -> Scalar:
    """Conditions and results by turns, and what holds otherwise."""
    for condition, result in zip(values[:-1:2], values[1::2], strict=True):
        if condition is True:
            return result
    return values[-1]


def _extreme(choose: Callable[..., Any]) -> Callable[[Sequence[Scalar]], Scalar]:
    return lambda values: choose((value for value in values if value is not None), default=None)


_STRICT: dict[str, Callable[..., Any]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": _divided,
    "div": _divided_whole,
    "%": _remainder,
    "neg": lambda number: -number,
    "abs": abs,
    "sign": _sign,
    "floor": lambda number: Fraction(math.floor(number)),
    "ceil": lambda number: Fraction(math.ceil(number)),
    "trunc": _truncated,
    "round": lambda number, places=Fraction(0): rounded(number, int(places)),
    "sqrt": _by_float(math.sqrt),
    "exp": _by_float(math.exp),
    "ln": _logarithm(math.log),
    "log": _logarithm(math.log10, math.log(10)),
    "log2": _logarithm(math.log2, math.log(2)),
    "cbrt": _by_float(math.cbrt),
    "sin": _by_float(math.sin),
    "cos": _by_float(math.cos),
    "tan": _by_float(math.tan),
    "asin": _by_float(math.asin),
    "acos": _by_float(math.acos),
    "atan": _by_float(math.atan),
    "atanh": _area_tangent,
    "degrees": _by_float(math.degrees),
    "radians": _by_float(math.radians),
    "power": _power,
    "=": lambda one, other: one == other,
    "<>": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "not": lambda truth: not truth,
    "text": _text,
    "spelled": Fraction,
}

_OF_NULLS: dict[str, Callable[[Sequence[Scalar]], Scalar]] = {
    "coalesce": lambda values: next((value for value in values if value is not None), None),
    "nullif": lambda values: None if values[0] is not None and values[0] == values[1] else values[0],
    "greatest": _extreme(max),
    "least": _extreme(min),
    "case": _case,
    "and": _all_of,
    "or": _any_of,
    "is null": lambda values: values[0] is None,
    "same": lambda values: values[0] == values[1],
}

OPERATIONS = tuple(sorted({*_STRICT, *_OF_NULLS}))
"""The names of all operations."""
