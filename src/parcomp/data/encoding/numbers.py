"""Numbers: where a stored number stands among the declared ones.

A number is stored as an integer, as a decimal, as text or as a float, and the outcome is the same: a float stands for
the shortest decimal that reads back as it, which is how every program writes it.  All is decided in exact arithmetic.
The doubles of a whole column are placed at once where double arithmetic provably agrees with it; the others, near a
tie or beyond 2**53, one by one.

*Integers* must be whole, 16.0 like 16.  *Steps*: the nearest multiple of the step, ties to even, then the range.
*Bins* with whole edges: the largest whole number up to the value decides.  With other edges the double nearest to an
edge stands for it, as files have it, and is compared with the double nearest to the value.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.data.encoding.outcome import CLIPPED, MOVED, OUT_OF_RANGE, WRONG_TYPE, Outcomes
from parcomp.errors import DataError
from parcomp.model import Attribute, Binned, Integer, Stepped

__all__ = ["NumberPlacer", "number_placer", "read_number"]

Doubles: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_EXACT = 2.0**53
"""All whole numbers up to this one are doubles."""

_MOST_DIGITS = 400
"""Beyond ten to this power no attribute has a value, and below ten to its negative none tells numbers apart."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?")
_LONG_EXPONENT = 15
"""Decimals may not have exponents of more digits, beside which whatever stands before them is short."""
_APART = Fraction(1, 10**9)
"""Which part of itself a number must lie apart from a step to be told from it: doubles carry errors of arithmetic."""
_INFINITY = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)


def read_number(text: str) -> Fraction | float | None:
    """The number that a text is, an infinity as a float; None if it is none.

    >>> read_number("-1.50"), read_number("1e3"), read_number("12 "), read_number("NaN")
    (Fraction(-3, 2), Fraction(1000, 1), None, None)
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        infinite = _INFINITY.fullmatch(text)
        return None if infinite is None else -math.inf if infinite[1] == "-" else math.inf
    exponent = found["exponent"]
    if exponent is not None and len(exponent) >= _LONG_EXPONENT:
        text = text[: found.start("exponent")] + _shortened(exponent)
    number = Decimal(text)
    if not number:
        return Fraction(0)
    if number.adjusted() > _MOST_DIGITS:
        return -math.inf if number < 0 else math.inf
    if number.adjusted() < -_MOST_DIGITS:
        return Fraction(-1 if number < 0 else 1, 10**_MOST_DIGITS)
    return Fraction(number)


def _shortened(exponent: str) -> str:
    """An exponent of few digits that takes a number as far as this one: zeros in front count nothing."""
    digits = exponent.lstrip("+-").lstrip("0")
    sign = "-" if exponent.startswith("-") else ""
    return sign + (digits or "0" if len(digits) < _LONG_EXPONENT else "9" * _LONG_EXPONENT)


class NumberPlacer(ABC):
    """Places numbers among the values of one attribute.

    The code of a number that lay between two values, seen to nine digits, has ``MOVED`` added to it, and that of one
    that was taken to an end from beyond it ``CLIPPED``.
    """

    def __init__(self, attribute: Attribute, *, clip: bool) -> None:
        self._last = attribute.null - 1
        self._clip = clip

    def exact(self, number: Fraction | float) -> int:
        """The outcome of one number; a float is an infinity."""
        if isinstance(number, float):
            return self._bounded(self._last + 1 if number > 0 else -1)
        return self._exact(number)

    def doubles(self, numbers: Doubles) -> tuple[Outcomes, Flags]:
        """The outcomes of doubles, and which of them are certain; the others are to be placed one by one."""
        finite = np.isfinite(numbers)
        outcomes, certain = self._doubles(np.where(finite, numbers, 0.0))
        outcomes = np.where(np.isnan(numbers), WRONG_TYPE, outcomes)
        for infinity in (math.inf, -math.inf):
            outcomes[numbers == infinity] = self.exact(infinity)
        return outcomes, certain | ~finite

    @abstractmethod
    def integers(self, numbers: npt.NDArray[np.int64]) -> Outcomes:
        """The outcomes of integers."""

    @abstractmethod
    def _exact(self, number: Fraction) -> int: ...

    @abstractmethod
    def _doubles(self, numbers: Doubles) -> tuple[Outcomes, Flags]: ...

    def _bounded(self, place: int) -> int:
        """The code of a place that may lie beyond the ends."""
        if 0 <= place <= self._last:
            return place
        return min(max(place, 0), self._last) + CLIPPED if self._clip else OUT_OF_RANGE

    def _all_bounded(self, places: npt.NDArray[np.int64]) -> Outcomes:
        beyond = (places < 0) | (places > self._last)
        return np.where(beyond, np.clip(places, 0, self._last) + CLIPPED if self._clip else OUT_OF_RANGE, places)

    def _steps_from(self, base: int, numbers: npt.NDArray[np.int64]) -> Outcomes:
        """Integers as steps from ``base``, which may be any integer."""
        # Numbers beyond the ends are brought next to them first, so that the difference fits into 64 bits.
        low, high = max(base - 1, -(2**63)), min(base + self._last + 1, 2**63 - 1)
        if low > high:
            return np.full(len(numbers), self._bounded(-1 if base > 0 else self._last + 1), np.int64)
        return self._all_bounded(np.clip(numbers, low, high) - low + (low - base))


class _Whole(NumberPlacer):
    """The integers of an attribute."""

    def __init__(self, attribute: Integer) -> None:
        super().__init__(attribute, clip=attribute.clip)
        self._low = attribute.low

    def integers(self, numbers: npt.NDArray[np.int64]) -> Outcomes:
        return self._steps_from(self._low, numbers)

    def _exact(self, number: Fraction) -> int:
        return self._bounded(int(number) - self._low) if number.denominator == 1 else WRONG_TYPE

    def _doubles(self, numbers: Doubles) -> tuple[Outcomes, Flags]:
        # A double below 2**53 is whole exactly if its shortest decimal is.
        certain = np.abs(numbers) < _EXACT
        whole = np.floor(numbers) == numbers
        placed = self.integers(np.where(certain & whole, numbers, 0.0).astype(np.int64))
        return np.where(whole, placed, WRONG_TYPE), certain


class _Steps(NumberPlacer):
    """The multiples of a step."""

    def __init__(self, attribute: Stepped) -> None:
        super().__init__(attribute, clip=attribute.clip)
        self._step = Fraction(attribute.scale.step)
        self._base = attribute.scale.base

    def integers(self, numbers: npt.NDArray[np.int64]) -> Outcomes:
        outcomes, certain = self._doubles(numbers.astype(np.float64))
        certain &= np.abs(numbers) < int(_EXACT)
        for place in np.flatnonzero(~certain).tolist():
            outcomes[place] = self._exact(Fraction(int(numbers[place])))
        return outcomes

    def _exact(self, number: Fraction) -> int:
        steps = number / self._step
        nearest = round(steps)
        moved = abs(steps - nearest) > _APART * max(abs(steps), Fraction(1)) and self._is_between(nearest)
        return self._bounded(nearest - self._base) + (MOVED if moved else 0)

    def _doubles(self, numbers: Doubles) -> tuple[Outcomes, Flags]:
        # The quotient is off by four units in its last place at most: one each for the number, which stands for its
        # shortest decimal, for the step, and for the division. Below 2**40 that is less than a thousandth.
        with np.errstate(over="ignore", invalid="ignore"):
            # An infinite quotient is not certain.
            quotients = numbers / float(self._step)
            nearest = np.rint(quotients)
            apart = np.abs(quotients - nearest)
            margins = np.abs(apart - 0.5)
            off = apart > float(_APART) * np.maximum(np.abs(quotients), 1.0)
        certain = (np.abs(quotients) < 2.0**40) & (margins > 1e-3)
        placed = self._steps_from(self._base, np.where(certain, nearest, 0.0).astype(np.int64))
        moved = off & certain & self._is_between(nearest)
        return placed + np.where(moved, MOVED, 0), certain

    def _is_between(self, nearest: Any) -> Any:
        """Whether steps are within the ends, not taken to them from beyond."""
        return (nearest >= self._base) & (nearest <= self._base + self._last)


class _WholeBins(NumberPlacer):
    """Bins whose edges are whole numbers."""

    def __init__(self, attribute: Binned) -> None:
        super().__init__(attribute, clip=attribute.clip)
        self._low = int(attribute.low)
        self._width = (int(attribute.high) - self._low) // attribute.bins

    def integers(self, numbers: npt.NDArray[np.int64]) -> Outcomes:
        low, high = self._low - self._width, self._low + (self._last + 2) * self._width
        if low < -(2**62) or high > 2**62:
            return np.array([self._exact(Fraction(number)) for number in numbers.tolist()], np.int64)
        return self._all_bounded((np.clip(numbers, low, high) - self._low) // self._width)

    def _exact(self, number: Fraction) -> int:
        return self._bounded((math.floor(number) - self._low) // self._width)

    def _doubles(self, numbers: Doubles) -> tuple[Outcomes, Flags]:
        # No whole number lies between a double below 2**53 and its shortest decimal.
        certain = np.abs(numbers) < _EXACT
        return self.integers(np.floor(np.where(certain, numbers, 0.0)).astype(np.int64)), certain


class _Bins(NumberPlacer):
    """Bins with the edges ``(start + k * step) / denominator``, not all of them whole.

    Numerators and denominator are doubles exactly, so by IEEE 754 one division gives the double nearest to the edge.
    The bin is guessed as ``floor((y - low) / width)``.  With ``u`` the spacing of doubles at the larger bound, the
    edges, ``low`` and the difference are off by at most ``u/2``, ``u/2`` and ``u``, and the quotient by 2**-20 more;
    since ``width >= 16 u`` the guess is off by one at most, and comparing with both edges of the guessed bin mends it.
    """

    def __init__(self, name: str, attribute: Binned) -> None:
        super().__init__(attribute, clip=attribute.clip)
        low, high = Fraction(str(attribute.low)), Fraction(str(attribute.high))
        width = (high - low) / attribute.bins
        denominator = math.lcm(low.denominator, width.denominator)
        start, step = int(low * denominator), int(width * denominator)
        largest = abs(start) + step * (attribute.bins + 2)
        fine = width < 16 * Fraction(math.ulp(float(max(abs(low), abs(high)))))
        if max(largest, denominator) >= _EXACT or fine:
            raise DataError(
                f"{name}: the bin edges from {attribute.low} to {attribute.high} in {attribute.bins} bins are too fine "
                "to tell exactly on which side of them a value lies; declare whole numbers as edges, or a step"
            )
        self._start, self._step, self._denominator = float(start), float(step), float(denominator)
        self._bins = attribute.bins

    def integers(self, numbers: npt.NDArray[np.int64]) -> Outcomes:
        return self._doubles(numbers.astype(np.float64))[0]

    def _exact(self, number: Fraction) -> int:
        try:
            double = float(number)
        except OverflowError:
            return self.exact(math.inf if number > 0 else -math.inf)
        return int(self._doubles(np.array([double]))[0][0])

    def _doubles(self, numbers: Doubles) -> tuple[Outcomes, Flags]:
        low, width = self._edge(np.zeros(1)), self._step / self._denominator
        with np.errstate(over="ignore"):
            places = np.clip(np.floor((numbers - low) / width), -1, self._bins)
        places -= numbers < self._edge(places)
        places += numbers >= self._edge(places + 1)
        return self._all_bounded(np.clip(places, -1, self._bins).astype(np.int64)), np.ones(len(numbers), np.bool_)

    def _edge(self, places: Doubles) -> Doubles:
        return (self._start + places * self._step) / self._denominator


def number_placer(name: str, attribute: Any) -> NumberPlacer:
    """What places numbers among the values of an integer, stepped or binned attribute."""
    if isinstance(attribute, Integer):
        return _Whole(attribute)
    if isinstance(attribute, Stepped):
        return _Steps(attribute)
    assert isinstance(attribute, Binned)
    low, high = Fraction(str(attribute.low)), Fraction(str(attribute.high))
    whole = low.denominator == ((high - low) / attribute.bins).denominator == 1
    return _WholeBins(attribute) if whole else _Bins(name, attribute)
