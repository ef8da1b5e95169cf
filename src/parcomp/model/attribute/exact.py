"""Numbers of every type that people and files write, taken exactly; a float stands for its shortest notation."""

from __future__ import annotations

import numbers
import re
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from parcomp.errors import PredicateError, shown

__all__ = [
    "Number",
    "as_decimal",
    "as_fraction",
    "as_integer",
    "as_plain",
    "declared_decimal",
    "is_integer",
    "stated_decimal",
]

Number: TypeAlias = int | float | Decimal

_MAX_EXPONENT = 300
"""Beyond this no declared number lies, and an exponent of a million must not be expanded to digits."""

_DECIMAL_TEXT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")


def as_plain(value: object) -> object:
    """The built-in string, integer or boolean that a scalar of numpy or of an enumeration stands for."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    return str.__str__(value) if isinstance(value, str) else value


def is_integer(value: object) -> bool:
    """Whether a value is an integer of Python, and no boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def as_integer(value: object) -> int:
    """The integer that a value is; an error if it is of another type."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise PredicateError(f"{shown(value)} is not an integer")
    return int(value)


def as_decimal(value: object) -> Decimal:
    """The finite decimal that a number is, of whatever size and length."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise PredicateError(f"{shown(value)} is not a number")
    if isinstance(value, numbers.Integral):
        return Decimal(int(value))
    decimal = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    if not decimal.is_finite():
        raise PredicateError(f"{shown(value)} is not a number of ordinary size")
    return decimal


def as_fraction(value: object) -> Fraction:
    """The fraction that a number of ordinary size is."""
    if type(value) is int and abs(value) < 10**_MAX_EXPONENT:
        return Fraction(value)
    return Fraction(_ordinary(as_decimal(value), value))


def stated_decimal(value: object) -> Decimal:
    """The finite decimal that a file gives as a number or as a string, of whatever size and length."""
    if not isinstance(value, str):
        return as_decimal(value)
    if not _DECIMAL_TEXT.fullmatch(value):
        raise PredicateError(f"{shown(value)} is not a decimal number")
    return Decimal(value)


def declared_decimal(value: object) -> Decimal:
    """The decimal of ordinary size that a domain file gives as a number or as a string."""
    return _ordinary(stated_decimal(value), value)


def _ordinary(decimal: Decimal, value: object) -> Decimal:
    if abs(decimal.adjusted()) > _MAX_EXPONENT:
        raise PredicateError(f"{shown(value)} is not a number of ordinary size")
    return decimal
