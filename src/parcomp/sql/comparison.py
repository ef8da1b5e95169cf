"""What a comparison of an attribute with a constant says about the attribute's values: where it is TRUE or FALSE.

A comparison with null is neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from parcomp.errors import PredicateError
from parcomp.model import Attribute, Categorical, Level, Predicate
from parcomp.sql.constants import Operator, SqlConstant, codes_below, equal_codes

__all__ = [
    "Operator",
    "SqlValue",
    "Truth",
    "compare",
    "is_in",
    "is_not_distinct",
    "is_null",
    "is_true",
    "level_column",
    "on_values",
]

SqlValue: TypeAlias = SqlConstant | None
"""A constant, or NULL."""

Truth: TypeAlias = tuple[Predicate, Predicate]
"""The values for which something is TRUE, and those for which it is FALSE."""

_NEGATED: dict[Operator, Literal["=", "<", "<="]] = {"<>": "=", ">=": "<", ">": "<="}


def compare(attribute: Attribute, operator: Operator, value: SqlValue) -> Truth:
    """Where ``attribute operator value`` is TRUE, and where it is FALSE.

    >>> from decimal import Decimal
    >>> from parcomp.model import Integer
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
    codes = [code for value in listed if value is not None for code in equal_codes(attribute, "IN", value)]
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


def level_column(level: Level) -> Attribute:
    """A level as the column of its groups' names, null where the attribute is."""
    return Categorical(level.groups, level.nullable)


def on_values(level: Level, truth: Truth) -> Truth:
    """What is said of a level's groups, said of the attribute's values.

    Exact: a row's group is a function of its value, so the row makes a comparison of the group TRUE (or FALSE) just
    if its value is in a group that does.
    """
    true, false = truth
    return level.values_in(true), level.values_in(false)


def _known(attribute: Attribute) -> Predicate:
    """All values but null."""
    return Predicate.from_runs(attribute.size, [(0, attribute.size - attribute.nullable)])


def _nowhere(attribute: Attribute) -> Predicate:
    return Predicate.contradiction(attribute.size)


def _satisfying(attribute: Attribute, operator: Operator, value: SqlConstant) -> Predicate:
    """The values that satisfy =, < or <=, or the opposite of whichever other operator was written."""
    basic = _NEGATED.get(operator, operator)
    if basic == "=":
        codes = equal_codes(attribute, operator, value)
        return Predicate.from_runs(attribute.size, [(code, code + 1) for code in codes])
    return codes_below(attribute, operator, basic == "<=", value)
