"""What a comparison of an attribute with a constant says about the attribute's values.

The declared values are compared as a database compares them: numbers by size, strings by code point, false before true.
A constant of the right type that is no declared value is never equal and still has its place in the order.  On a binned
attribute only the bin is known, so a comparison must not cut through one.  A comparison with null is neither TRUE nor
FALSE.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

from parcomp.errors import PredicateError, shown
from parcomp.model import Attribute, Binned, Categorical, Integer, Predicate

__all__ = ["Operator", "SqlValue", "Truth", "compare", "is_in", "is_not_distinct", "is_null", "is_true"]

SqlValue: TypeAlias = str | Decimal | bool | None
"""A constant; every number is an exact decimal."""

Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]

Truth: TypeAlias = tuple[Predicate, Predicate]
"""The values for which something is TRUE, and those for which it is FALSE."""

_NEGATED: dict[Operator, Literal["=", "<", "<="]] = {"<>": "=", ">=": "<", ">": "<="}

_MAX_DIGITS = 5_000
"""No declared integer has more: files do not spell longer ones."""


def compare(attribute: Attribute, operator: Operator, value: SqlValue) -> Truth:
    """Where ``attribute operator value`` is TRUE, and where it is FALSE.

    >>> [predicate.count for predicate in compare(Integer(0, 119, nullable=True), ">=", Decimal("64.5"))]
    [55, 65]
    """
    if value is None:
        return _nowhere(attribute), _nowhere(attribute)
    if operator in _NEGATED:
        false = _satisfying(attribute, operator, value)
        return _known(attribute) & ~false, false
    true = _satisfying(attribute, operator, value)
    return true, _known(attribute) & ~true


def is_in(attribute: Attribute, values: Iterable[SqlValue]) -> Truth:
    """Where the attribute is one of the values: an OR of equalities, so with a null among them it is never FALSE."""
    listed = list(values)
    codes = [code for value in listed if value is not None for code in _equal_codes(attribute, "IN", value)]
    true = Predicate.from_runs(attribute.size, [(code, code + 1) for code in codes])
    return true, _nowhere(attribute) if None in listed else _known(attribute) & ~true


def is_not_distinct(attribute: Attribute, value: SqlValue) -> Truth:
    """Equality that takes null for a value like the others, and so is TRUE or FALSE everywhere."""
    if value is None:
        return is_null(attribute)
    true = _satisfying(attribute, "=", value)
    return true, ~true


def is_null(attribute: Attribute) -> Truth:
    """Where the attribute has no value."""
    known = _known(attribute)
    return ~known, known


def is_true(attribute: Attribute) -> Truth:
    """A boolean attribute, standing for itself."""
    if not isinstance(attribute, Categorical) or {type(value) for value in attribute.values} != {bool}:
        raise PredicateError("is no condition by itself, since its values are not booleans; compare it with a constant")
    return compare(attribute, "=", True)


def _known(attribute: Attribute) -> Predicate:
    """All values but null."""
    return Predicate.from_runs(attribute.size, [(0, attribute.size - attribute.nullable)])


def _nowhere(attribute: Attribute) -> Predicate:
    return Predicate.contradiction(attribute.size)


def _satisfying(attribute: Attribute, operator: Operator, value: str | Decimal | bool) -> Predicate:
    """The values that satisfy =, < or <=, or the opposite of whichever other operator was written."""
    basic = _NEGATED.get(operator, operator)
    if basic == "=":
        codes = _equal_codes(attribute, operator, value)
        return Predicate.from_runs(attribute.size, [(code, code + 1) for code in codes])
    if isinstance(attribute, Categorical):
        return _ordered_categories(attribute, basic == "<=", value)
    number = _number(value)
    if isinstance(attribute, Integer):
        return Predicate.from_runs(attribute.size, [(0, _integers_below(attribute, basic == "<=", number))])
    assert isinstance(attribute, Binned)
    return Predicate.from_runs(attribute.size, [(0, _bins_below(attribute, operator, number))])


def _equal_codes(attribute: Attribute, operator: str, value: str | Decimal | bool) -> list[int]:
    """The code of the value, if the attribute has it."""
    if isinstance(attribute, Binned):
        number = _number(value)
        if _decimal(attribute.low) <= number < _decimal(attribute.high):
            raise _within_a_bin(attribute, operator, number)
        return []
    if isinstance(attribute, Integer):
        plain: str | int | bool | None = _whole(_number(value))
    else:
        assert isinstance(attribute, Categorical)
        _check_category_type(attribute, value)
        plain = _whole(value) if isinstance(value, Decimal) else value
    code = None if plain is None else attribute.code(plain)
    return [] if code is None else [code]


def _integers_below(attribute: Integer, included: bool, number: Decimal) -> int:
    """How many integers of the attribute are below the number, or at it if that is included."""
    if number < attribute.low:
        return 0
    if number > attribute.high:
        return attribute.high - attribute.low + 1
    return (math.floor(number) + 1 if included else math.ceil(number)) - attribute.low


def _bins_below(attribute: Binned, operator: Operator, number: Decimal) -> int:
    """How many bins lie below a number, which must not leave in doubt on which side of it any bin is."""
    if number < _decimal(attribute.low):
        return 0
    if number >= _decimal(attribute.high):
        return attribute.bins
    if operator in {"<=", ">"}:
        raise _within_a_bin(attribute, operator, number)
    try:
        code = attribute.code(number)
    except PredicateError:
        raise _within_a_bin(attribute, operator, number) from None
    assert code is not None
    return code


def _ordered_categories(attribute: Categorical, included: bool, value: str | Decimal | bool) -> Predicate:
    if len({type(known) for known in attribute.values}) > 1:
        raise PredicateError("has values of several types, which have no order; compare it by =, <> and IN")
    _check_category_type(attribute, value)
    codes = [
        code
        for code, known in enumerate(attribute.values)
        if known < value or (included and known == value)  # type: ignore[operator]
    ]
    return Predicate.from_codes(attribute.size, codes)


def _check_category_type(attribute: Categorical, value: str | Decimal | bool) -> None:
    try:
        attribute.code(0 if isinstance(value, Decimal) else value)
    except PredicateError:
        types = {type(known) for known in attribute.values}
        names = {str: "strings", int: "integers", bool: "booleans"}
        has = " and ".join(name for kind, name in names.items() if kind in types)
        raise PredicateError(f"has {has} for values; {_written(value)} is {_type_name(value)}") from None


def _number(value: str | Decimal | bool) -> Decimal:
    if not isinstance(value, Decimal):
        raise PredicateError(f"has numbers for values; {_written(value)} is {_type_name(value)}")
    return value


def _whole(number: Decimal) -> int | None:
    """The integer that a number is, if it is one of a length that can be declared."""
    if number.adjusted() > _MAX_DIGITS or number != number.to_integral_value():
        return None
    return int(number)


def _within_a_bin(attribute: Binned, operator: str, number: Decimal) -> PredicateError:
    """The refusal of a comparison that would tell values of one bin apart."""
    low, high = Fraction(_decimal(attribute.low)), Fraction(_decimal(attribute.high))
    # Far more digits than an edge has would only take long.
    near = Fraction(number) if abs(number.adjusted()) < _MAX_DIGITS else low
    position = min(int((near - low) * attribute.bins / (high - low)), attribute.bins - 1)
    edges = f"{shown(attribute.edge(position))} and {shown(attribute.edge(position + 1))}"
    return PredicateError(
        f"is known by its bins only, so {operator} {shown(number)} cannot be told; compare it by >= and < with bin "
        f"edges, here {edges}"
    )


def _decimal(number: object) -> Decimal:
    """The decimal that a declared bound is written as."""
    return Decimal(str(number))


def _written(value: str | Decimal | bool) -> str:
    return str(value).upper() if isinstance(value, bool) else shown(value)


def _type_name(value: str | Decimal | bool) -> str:
    if isinstance(value, bool):
        return "a boolean"
    return "a string" if isinstance(value, str) else "a number"
