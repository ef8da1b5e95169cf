"""What a CREATE TABLE declares of its columns: types, NOT NULL, enumerations and simple CHECK constraints.

A CHECK counts where it bounds one column by constants: ``IN``, ``BETWEEN``, ``<``, ``<=``, ``>``, ``>=``, ``=`` and
conjunctions of these.  Others only narrow the column further, so passing over them is safe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from parcomp.errors import DataError, DomainError, one_line
from parcomp.model import Attribute, Categorical, Integer

__all__ = ["read_schema", "sort_out"]

_FLIPPED: dict[Any, Any] = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ}
_WHOLE_TYPES = (*exp.DataType.SIGNED_INTEGER_TYPES, *exp.DataType.UNSIGNED_INTEGER_TYPES)
_FRACTION_TYPES = exp.DataType.REAL_TYPES


@dataclass(slots=True)
class _Declared:
    """What the schema says of one column."""

    kind: exp.DataType
    nullable: bool = True
    values: list[str | Decimal] | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    low_excluded: bool = field(default=False)
    high_excluded: bool = field(default=False)


def read_schema(
    origin: str, text: str, table: str | None = None, *, dialect: str = "postgres"
) -> tuple[dict[str, Attribute], dict[str, str]]:
    """The attributes that a schema bounds, and for the other columns what is missing.

    ``origin`` is what messages call the schema.  Without ``table`` there must be a single CREATE TABLE.
    """
    try:
        statements = [statement for statement in sqlglot.parse(text, read=dialect) if statement is not None]
    except (SqlglotError, RecursionError):
        raise DataError(f"{one_line(origin)}: not SQL that can be read; CREATE TABLE statements are wanted") from None
    created = [statement for statement in statements if isinstance(statement, exp.Create)]
    enumerations = {
        statement.this.name.casefold(): statement.args["expression"]
        for statement in created
        if statement.kind == "TYPE" and isinstance(statement.args.get("expression"), exp.DataType)
    }
    tables = {
        statement.this.this.name: statement.this
        for statement in created
        if statement.kind == "TABLE" and isinstance(statement.this, exp.Schema)
    }
    known = one_line(", ".join(tables)) or "none"
    if table is None and len(tables) != 1:
        raise DataError(f"{one_line(origin)}: name one of its tables with --table; there are: {known}")
    if table is not None and table not in tables:
        raise DataError(f"{one_line(origin)}: there is no CREATE TABLE {one_line(table)}; there are: {known}")
    columns = _columns(tables[table] if table is not None else next(iter(tables.values())), enumerations)
    return sort_out(columns, lambda name: _attribute(columns[name]))


def _columns(schema: exp.Schema, enumerations: dict[str, exp.DataType]) -> dict[str, _Declared]:
    columns: dict[str, _Declared] = {}
    checks: list[Any] = []
    for definition in schema.expressions:
        if not isinstance(definition, exp.ColumnDef):
            checks += [check.this for check in definition.find_all(exp.CheckColumnConstraint)]
            continue
        kind = definition.args.get("kind") or exp.DataType.build("unknown")
        named = kind.args.get("kind")
        if isinstance(named, exp.Expression) and named.name.casefold() in enumerations:
            kind = enumerations[named.name.casefold()]
        column = columns[definition.name] = _Declared(kind)
        if kind.is_type(exp.DataType.Type.ENUM):
            column.values = [literal.name for literal in kind.expressions]
        for constraint in definition.args.get("constraints") or ():
            if isinstance(constraint.kind, (exp.NotNullColumnConstraint, exp.PrimaryKeyColumnConstraint)):
                column.nullable = bool(constraint.kind.args.get("allow_null"))
            if isinstance(constraint.kind, exp.CheckColumnConstraint):
                checks.append(constraint.kind.this)
    for check in checks:
        for part in _conjuncts(check):
            _apply(part, columns)
    return columns


def _conjuncts(condition: Any) -> Iterator[Any]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.this)
        yield from _conjuncts(condition.expression)
    else:
        yield condition


def _apply(condition: Any, columns: dict[str, _Declared]) -> None:
    """Note what the condition says of a column, if it is one that is understood."""
    subject = condition.this
    if isinstance(condition, exp.In) and isinstance(subject, exp.Column) and subject.name in columns:
        values = [_constant(value) for value in condition.expressions]
        if values and None not in values:
            columns[subject.name].values = [value for value in values if value is not None]
    elif isinstance(condition, exp.Between):
        _compare(exp.GTE, subject, condition.args["low"], columns)
        _compare(exp.LTE, subject, condition.args["high"], columns)
    elif type(condition) in _FLIPPED:
        _compare(type(condition), subject, condition.expression, columns)
        _compare(_FLIPPED[type(condition)], condition.expression, subject, columns)


def _compare(operator: Any, column: Any, constant: Any, columns: dict[str, _Declared]) -> None:
    value = _constant(constant)
    if not isinstance(column, exp.Column) or column.name not in columns or value is None:
        return
    declared = columns[column.name]
    if operator is exp.EQ:
        declared.values = [value]
    if not isinstance(value, Decimal):
        return
    if operator in (exp.GT, exp.GTE) and (declared.low is None or value >= declared.low):
        declared.low, declared.low_excluded = value, operator is exp.GT
    if operator in (exp.LT, exp.LTE) and (declared.high is None or value <= declared.high):
        declared.high, declared.high_excluded = value, operator is exp.LT


def _constant(expression: Any) -> str | Decimal | None:
    expression = expression.unnest()
    if isinstance(expression, exp.Cast):
        return _constant(expression.this)
    if isinstance(expression, exp.Neg):
        value = _constant(expression.this)
        return -value if isinstance(value, Decimal) else None
    if not isinstance(expression, exp.Literal):
        return None
    return expression.name if expression.is_string else Decimal(expression.name)


def sort_out(
    names: Iterable[str], draft: Callable[[str], Attribute | str]
) -> tuple[dict[str, Attribute], dict[str, str]]:
    """The attributes that ``draft`` makes of columns, and for the columns of which it makes none what is missing."""
    drafted: dict[str, Attribute] = {}
    left_out: dict[str, str] = {}
    for name in names:
        try:
            found = draft(name)
        except DomainError as error:
            found = str(error)
        if isinstance(found, str):
            left_out[name] = found
        else:
            drafted[name] = found
    return drafted, left_out


def _attribute(declared: _Declared) -> Attribute | str:
    kind, nullable = declared.kind, declared.nullable
    whole = kind.is_type(*_WHOLE_TYPES) or (kind.is_type("decimal") and _scale(kind.expressions) == 0)
    if kind.is_type("boolean"):
        return Categorical([False, True], nullable)
    if declared.values is not None and whole:
        return Categorical([int(value) for value in declared.values if isinstance(value, Decimal)], nullable)
    if declared.values is not None and all(isinstance(value, str) for value in declared.values):
        return Categorical([str(value) for value in declared.values], nullable)
    if whole and declared.low is not None and declared.high is not None:
        low, high = math.ceil(declared.low), math.floor(declared.high)
        low += declared.low_excluded and low == declared.low
        high -= declared.high_excluded and high == declared.high
        return Integer(low, high, nullable)
    if whole:
        return "integers; give low and high, or values"
    if kind.is_type("decimal", *_FRACTION_TYPES):
        known = declared.low is not None and declared.high is not None
        return f"numbers{f' from {declared.low} to {declared.high}' if known else ''}; give low, high and bins"
    if kind.is_type("date", *exp.DataType.TEXT_TYPES):
        return "give values"
    return f"no attribute is read from a column of type {kind.sql()}; cast it in a view"


def _scale(parameters: Sequence[Any]) -> int | None:
    """The decimal places of DECIMAL(precision, scale); with a precision alone there are none."""
    if not parameters:
        return None
    return int(parameters[1].name) if len(parameters) > 1 else 0
