"""Interval arithmetic: where an expression is, if each of its figures is in its interval.

*Several figures.*  Let each of ``k`` true numbers be outside its interval in at most ``0.05 / k`` of all answers.
Then all are inside in 95 of 100 at least, however their noises depend on each other (Bonferroni), and so is what is
computed from them.  A 95 % interval with the half-width ``w`` is widened for this without knowing the noise: let it be
whole numbers ``X`` of a step, whose sizes have log-concave probabilities, as the discrete Laplace and the discrete
Gaussian have.  Then ``S(n) = P(|X| ≥ n)`` is log-concave with ``S(0) = 1``, so ``S(c·n) ≤ S(n)^c`` for ``c ≥
1``.  From ``S(w + 1) ≤ 0.05`` follows ``S(c(w + 1)) ≤ 0.05^c``, which is ``0.05 / k`` for ``c = ln(20 k) / ln 20``.

*Nulls.*  An interval is of the true number, if there is one.  Operations that pass over nulls may be given one where
the noisy numbers show none, and then have the interval of what is left.

*One figure in several places* gives an interval that is too wide, never too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from parcomp.model import Constant, Expression, Item, Operation, apply, is_noisy
from parcomp.model.arithmetic import Scalar

__all__ = ["Interval", "interval_of", "widened"]

Interval: TypeAlias = tuple[Fraction | float, Fraction | float]
"""Both ends, which may be infinite and are exact otherwise."""

_ValueOf: TypeAlias = Callable[[Expression], Scalar]
_IntervalOf: TypeAlias = Callable[[Item], Interval]
_EVERYWHERE: Interval = (-math.inf, math.inf)
_ROUGH = {"sqrt", "cbrt", "exp", "ln", "log", "log2", "atan", "atanh", "degrees", "radians"}
_GROWING = {"floor", "ceil", "round", "trunc", "sign"} | _ROUGH
_NEVER_NULL = {
    "+",
    "-",
    "*",
    "neg",
    "abs",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "cbrt",
    "atan",
    "degrees",
    "radians",
}
_DECIDED: dict[str, tuple[bool, bool, bool]] = {
    "<": (True, False, False),
    "<=": (True, True, False),
    "=": (False, True, False),
    "<>": (True, False, True),
    ">=": (False, True, True),
    ">": (False, False, True),
}
"""What comparisons are where the first number is less, equal and greater."""

_SLACK = Fraction(1, 10**12)
"""More than the relative error of a function of floats."""


def widened(
    value: Fraction, low: Fraction, high: Fraction, shares: int, step: Fraction | None
) -> tuple[Fraction, Fraction]:
    """A 95 % interval, widened so that it fails in one of ``20 · shares`` answers at most.

    Without a step, where it is not that of plain noise, it is stretched by the same factor: an approximation.

    >>> [int(end) for end in widened(Fraction(10), Fraction(7), Fraction(13), 2, Fraction(1))]
    [6, 14]
    """
    factor = Fraction(math.nextafter(math.log(20 * shares) / math.log(20), math.inf))
    if step is None:
        return value - factor * (value - low), value + factor * (high - value)
    # Ends that were made floats are a little beside whole numbers of steps.
    steps = math.ceil(max(value - low, high - value) / step - Fraction(1, 10**6))
    width = (math.ceil(factor * (steps + 1)) - 1) * step
    return value - width, value + width


def interval_of(expression: Expression, value_of: _ValueOf, interval: _IntervalOf) -> Interval:
    """Where an expression is; ``value_of`` says what it is, and ``interval`` where an item is."""
    if isinstance(expression, Item):
        return interval(expression)
    if not isinstance(expression, Operation) or not expression.noisy:
        return _at(value_of(expression))
    name, arguments = expression.name, expression.arguments

    def inner(argument: Expression) -> Interval:
        return interval_of(argument, value_of, interval)

    if name == "case":
        return _case(arguments, value_of, inner)
    if name in {"coalesce", "greatest", "least"}:
        return _passing_over_nulls(name, [(inner(one), _may_be_null(one, value_of, inner)) for one in arguments])
    if name == "nullif":
        return inner(arguments[0])
    if name == "/":
        return _times(inner(arguments[0]), _reciprocal(_divisor(arguments[1], inner)))
    ranges = [inner(argument) for argument in arguments]
    return _of_ranges(name, ranges)


def _of_ranges(name: str, ranges: Sequence[Interval]) -> Interval:
    low, high = ranges[0]
    match name:
        case "+":
            return low + ranges[1][0], high + ranges[1][1]
        case "-":
            return low - ranges[1][1], high - ranges[1][0]
        case "*":
            return _times(*ranges)
        case "neg":
            return -high, -low
        case "abs":
            return _size(ranges[0])
        case "%":
            most = _size(ranges[1])[1]
            return -most, most
        case "power":
            return _power(*ranges)
    if name in _GROWING and all(one == other for one, other in ranges[1:]):
        more = [one for one, _ in ranges[1:]]
        return _moved(name, low, more, -1), _moved(name, high, more, 1)
    return _EVERYWHERE


def _moved(name: str, end: Fraction | float, more: Sequence[Fraction | float], outward: int) -> Fraction | float:
    """What a function that grows makes of an end."""
    if not isinstance(end, Fraction):
        return Fraction(0) if name in {"exp", "sqrt"} and end < 0 else end
    if name == "sqrt":
        end = max(end, Fraction(0))
    found = apply(name, (end, *(one for one in more if isinstance(one, Fraction))))
    if not isinstance(found, Fraction):
        # A logarithm has no end at zero, ATANH none at -1 and 1, and an exponential none that is finite.
        return outward * math.inf
    return found + outward * abs(found) * _SLACK if name in _ROUGH else found


def _passing_over_nulls(name: str, ranges: Sequence[tuple[Interval, bool]]) -> Interval:
    """The first argument that is not null, or the largest or smallest of those; each may be null or not."""
    sure = [interval for interval, may_be_null in ranges if not may_be_null]
    if name == "coalesce":
        count = next((place for place, (_, may_be_null) in enumerate(ranges, 1) if not may_be_null), len(ranges))
        ranges, sure = ranges[:count], []
    low, high = min(low for (low, _), _ in ranges), max(high for (_, high), _ in ranges)
    if name == "greatest" and sure:
        low = max(low for low, _ in sure)
    if name == "least" and sure:
        high = min(high for _, high in sure)
    return low, high


def _may_be_null(expression: Expression, value_of: _ValueOf, inner: Callable[[Expression], Interval]) -> bool:
    """Whether the true value of an expression may be null; an item that has a figure is taken to have a true number."""
    if isinstance(expression, Item):
        return False
    if not isinstance(expression, Operation) or not expression.noisy:
        return value_of(expression) is None
    nulls = [_may_be_null(argument, value_of, inner) for argument in expression.arguments]
    if expression.name in {"coalesce", "greatest", "least"}:
        return all(nulls)
    if expression.name == "/":
        low, high = inner(expression.arguments[1])
        return any(nulls) or low <= 0 <= high
    return any(nulls) or expression.name not in _NEVER_NULL


def _divisor(expression: Expression, inner: Callable[[Expression], Interval]) -> Interval:
    """Where a divisor is, if there is a quotient at all: a number of rows is then 1 at least."""
    if (
        isinstance(expression, Operation)
        and expression.name == "nullif"
        and expression.arguments[1] == Constant(Fraction(0))
    ):
        return _divisor(expression.arguments[0], inner)
    low, high = inner(expression)
    if isinstance(expression, Item) and expression.kind in {"count", "distinct"}:
        return _at_least(Fraction(1), (low, high))
    return low, high


def _reciprocal(interval: Interval) -> Interval:
    low, high = interval
    if low <= 0 <= high:
        return _EVERYWHERE
    return _one_over(high), _one_over(low)


def _one_over(end: Fraction | float) -> Fraction:
    return 1 / end if isinstance(end, Fraction) else Fraction(0)


def _times(one: Interval, other: Interval) -> Interval:
    # Nothing times what has no end is nothing: each factor is some number.
    products = [Fraction(0) if not a or not b else a * b for a, b in product(one, other)]
    return min(products), max(products)


def _at_least(least: Fraction, interval: Interval) -> Interval:
    low, high = interval
    return (least if low < least else low), (least if high < least else high)


def _size(interval: Interval) -> Interval:
    low, high = interval
    if low >= 0:
        return low, high
    if high <= 0:
        return -high, -low
    return Fraction(0), high if -low < high else -low


def _power(base: Interval, exponent: Interval) -> Interval:
    raised = exponent[0]
    if raised != exponent[1] or not isinstance(raised, Fraction):
        return _EVERYWHERE
    if raised.denominator == 1 and raised > 0:
        low, high = base if raised % 2 else _size(base)
    else:
        low, high = _at_least(Fraction(0), base)
    ends = [apply("power", (end, raised)) if isinstance(end, Fraction) else None for end in (low, high)]
    if not all(isinstance(end, Fraction) for end in ends):
        return _EVERYWHERE
    numbers = [end for end in ends if isinstance(end, Fraction)]
    return min(numbers) - abs(min(numbers)) * _SLACK, max(numbers) + abs(max(numbers)) * _SLACK


def _case(arguments: Sequence[Expression], value_of: _ValueOf, inner: Callable[[Expression], Interval]) -> Interval:
    """The results whose conditions may hold, if each figure is in its interval."""
    possible = []
    for condition, result in zip(arguments[:-1:2], arguments[1:-1:2], strict=True):
        truths = _truths(condition, value_of, inner)
        if True in truths:
            possible.append(result)
        if truths == {True}:
            break
    else:
        possible.append(arguments[-1])
    ranges = [inner(result) for result in possible if result != Constant(None)]
    return min((one for one, _ in ranges), default=-math.inf), max((one for _, one in ranges), default=math.inf)


def _truths(condition: Expression, value_of: _ValueOf, inner: Callable[[Expression], Interval]) -> set[bool | None]:
    """What a condition may be, if each figure is in its interval."""
    if not is_noisy(condition):
        truth = value_of(condition)
        return {truth if isinstance(truth, bool) else None}
    anything: set[bool | None] = {True, False, None}
    if not isinstance(condition, Operation):
        return anything
    name, arguments = condition.name, condition.arguments
    if name in {"and", "or", "not"}:
        parts = [_truths(one, value_of, inner) for one in arguments]
        return {truth for one in product(*parts) if isinstance(truth := apply(name, one), bool) or truth is None}
    if name not in _DECIDED or any(_may_be_null(one, value_of, inner) for one in arguments):
        return anything
    (low, high), (least, most) = (inner(one) for one in arguments)
    found: set[bool | None] = set()
    if low < most:
        found |= {_DECIDED[name][0]}
    if max(low, least) <= min(high, most):
        found |= {_DECIDED[name][1]}
    if high > least:
        found |= {_DECIDED[name][2]}
    return found


def _at(value: Scalar) -> Interval:
    """A number that is known."""
    return (value, value) if isinstance(value, Fraction) else _EVERYWHERE
