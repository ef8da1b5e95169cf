"""Where a constant stands among an attribute's values.

The declared values are compared as a database compares them: numbers by size, strings by code point, false before true,
days, hours, months and years by their beginning.  A number or a date that is no declared value is never equal and
still has its place in the order; a category that is none is an error where it is to be equal.  On a binned attribute
only the bin is known, and on one of dates only the unit, so a comparison must not cut through one.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

from parcomp.errors import PredicateError, shown
from parcomp.model import Attribute, Binned, Categorical, Dated, Integer, Moment, Predicate, Stepped, Unit
from parcomp.sql.instead import nearest_values

__all__ = ["Operator", "SqlConstant", "codes_below", "equal_codes"]

SqlConstant: TypeAlias = str | Decimal | bool | datetime
"""A constant other than null; every number is an exact decimal, and a date is a string."""

Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]

_COARSER: dict[Unit, frozenset[Unit | None]] = {
    "hour": frozenset({"month", "year"}),
    "day": frozenset({"month", "year"}),
    "month": frozenset({"year"}),
    "year": frozenset(),
}
"""What is too long to be compared with a unit; a date stands for midnight among hours, as it does in SQL."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?")

_MAX_DIGITS = 5_000
"""No declared integer has more: files do not spell longer ones."""


def equal_codes(attribute: Attribute, operator: str, value: SqlConstant) -> list[int]:
    """The code of the value that equals a constant, if the attribute has it.

    ``operator`` is the one that was written, for messages.
    """
    if isinstance(attribute, Binned):
        number = _number(value)
        if _decimal(attribute.low) <= number < _decimal(attribute.high):
            raise _within_a_bin(attribute, operator, number)
        return []
    if isinstance(attribute, Stepped):
        code = attribute.code(_number(value))
        return [] if code is None else [code]
    if isinstance(attribute, Dated):
        return _equal_dates(attribute, operator, value)
    if isinstance(attribute, Integer):
        plain: object = _whole(_number(value))
    else:
        assert isinstance(attribute, Categorical)
        _check_category_type(attribute, value)
        plain = _whole(value) if isinstance(value, Decimal) else value
    code = None if plain is None else attribute.code(plain)
    if code is None and isinstance(attribute, Categorical) and not isinstance(value, bool):
        # Most often a slip of the pen, to which an answer of 0 would be no help.
        raise PredicateError(f"has no value {_written(value)}{nearest_values(value, attribute.values)}")
    return [] if code is None else [code]


def codes_below(attribute: Attribute, operator: Operator, included: bool, value: SqlConstant) -> Predicate:
    """The values below a constant, and the one at it if that is included."""
    if isinstance(attribute, Categorical):
        return _ordered_categories(attribute, included, value)
    if isinstance(attribute, Dated):
        stop = _dates_below(attribute, operator, included, value)
    elif isinstance(attribute, Integer):
        stop = _integers_below(attribute, included, _number(value))
    elif isinstance(attribute, Stepped):
        stop = attribute.multiples_below(_number(value), included=included)
    else:
        assert isinstance(attribute, Binned)
        stop = _bins_below(attribute, operator, _number(value))
    return Predicate.from_runs(attribute.size, [(0, stop)])


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


def _equal_dates(attribute: Dated, operator: str, value: SqlConstant) -> list[int]:
    moment, position = _moment(attribute, value)
    if not 0 <= position < attribute.null:
        return []
    if moment.unit != attribute.unit and not moment.begins(attribute.unit):
        raise _within_a_unit(attribute, operator, value, position)
    return [position]


def _dates_below(attribute: Dated, operator: Operator, included: bool, value: SqlConstant) -> int:
    """How many days, hours, months or years lie below a constant, each taken by its beginning.

    A date is the whole of a day.  So the last day of a month or a year may be included, and no month is cut.
    """
    moment, position = _moment(attribute, value)
    if not 0 <= position < attribute.null:
        return 0 if position < 0 else attribute.null
    if moment.unit == attribute.unit or moment.begins(attribute.unit):
        return position + included
    if included and moment.is_last_day(attribute.unit):
        return position + 1
    raise _within_a_unit(attribute, operator, value, position)


def _moment(attribute: Dated, value: SqlConstant) -> tuple[Moment, int]:
    """When a constant is, and the position of the unit that holds it."""
    year = _whole(value) if isinstance(value, Decimal) and attribute.unit == "year" else None
    if not isinstance(value, (str, datetime)) and year is None:
        has = f"has {attribute.unit}s for values, in quotes"
        raise PredicateError(f"{has}; {_written(value)} is {_type_name(value)}; {attribute.shape}")
    moment = attribute.moment(value if year is None else year)
    if moment.unit is not None and moment.unit in _COARSER[attribute.unit]:
        first, last = (attribute.position(end) for end in (moment.start, moment.last))
        near = [f"'{attribute.value(min(max(at, 0), attribute.null - 1))}'" for at in (first, last)]
        raise PredicateError(
            f"has {attribute.unit}s for values; {_written(value)} is a whole {moment.unit}; compare with one of its "
            f"{attribute.unit}s, such as {near[0]} or {near[1]}, or compare EXTRACT({moment.unit.upper()} FROM …)"
        )
    return moment, attribute.position(moment.start)


def _within_a_unit(attribute: Dated, operator: str, value: SqlConstant, position: int) -> PredicateError:
    """The refusal of a comparison that would tell moments of one unit apart."""
    return PredicateError(
        f"is known by whole {attribute.unit}s only, so {operator} {_written(value)} cannot be told; compare it with "
        f"one of them, here '{attribute.value(position)}'"
    )


def _ordered_categories(attribute: Categorical, included: bool, value: SqlConstant) -> Predicate:
    if len({type(known) for known in attribute.values}) > 1:
        raise PredicateError("has values of several types, which have no order; compare it by =, <> and IN")
    _check_category_type(attribute, value)
    codes = [
        code
        for code, known in enumerate(attribute.values)
        if known < value or (included and known == value)  # type: ignore[operator]
    ]
    return Predicate.from_codes(attribute.size, codes)


def _check_category_type(attribute: Categorical, value: SqlConstant) -> None:
    try:
        # A timestamp is refused by all of them: its many notations are not the one string that a value is.
        attribute.code(0 if isinstance(value, Decimal) else value)
    except PredicateError:
        types = {type(known) for known in attribute.values}
        names = {str: "strings", int: "integers", bool: "booleans"}
        has = " and ".join(name for kind, name in names.items() if kind in types)
        if types == {bool}:
            instead = "write it alone, NOT before it, or = TRUE and = FALSE"
        else:
            instead = nearest_values(str(value), attribute.values).removeprefix("; ")
        raise PredicateError(f"has {has} for values; {_written(value)} is {_type_name(value)}; {instead}") from None


def _number(value: SqlConstant) -> Decimal:
    if not isinstance(value, Decimal):
        written = value.strip() if isinstance(value, str) else ""
        instead = f"write {written} without quotes" if _NUMBER.fullmatch(written) else "write a number"
        raise PredicateError(f"has numbers for values; {_written(value)} is {_type_name(value)}; {instead}")
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


def _written(value: SqlConstant) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value}'"
    return str(value).upper() if isinstance(value, bool) else shown(value)


def _type_name(value: SqlConstant) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, datetime):
        return "a timestamp"
    return "a string" if isinstance(value, str) else "a number"
