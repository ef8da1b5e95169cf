"""What a CREATE TABLE declares of its columns: types, NOT NULL, keys, enumerations and simple CHECK constraints.

A CHECK counts where it bounds one column by constants: ``IN``, ``BETWEEN``, ``<``, ``<=``, ``>``, ``>=``, ``=``,
conjunctions of these, and each of them beside ``OR column IS NULL``.  Others only narrow the column further, so passing
over them is safe.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from parcomp.data.drafting.draft import Line, complete, integers, left_out, moments, names, numbers, unread
from parcomp.data.encoding.numbers import read_number
from parcomp.data.sql_names import split_name
from parcomp.errors import DataError, DomainError, one_line
from parcomp.model import Categorical, Dated, Integer, Stepped

__all__ = ["quiet_parser", "read_schema"]

_FLIPPED: dict[Any, Any] = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ}
_WHOLE_TYPES = (*exp.DataType.SIGNED_INTEGER_TYPES, *exp.DataType.UNSIGNED_INTEGER_TYPES)
_SERIAL_TYPES = tuple(getattr(exp.DataType.Type, name) for name in ("SMALLSERIAL", "SERIAL", "BIGSERIAL"))
_FRACTION_TYPES = exp.DataType.REAL_TYPES
_TIME_TYPES = tuple(kind for kind in exp.DataType.TEMPORAL_TYPES if kind.name.startswith(("TIMESTAMP", "DATETIME")))
_NOT_NULL = (exp.NotNullColumnConstraint, exp.PrimaryKeyColumnConstraint, exp.GeneratedAsIdentityColumnConstraint)
_UNIQUE = (exp.PrimaryKeyColumnConstraint, exp.UniqueColumnConstraint)


@dataclass(slots=True)
class _Declared:
    """What the schema says of one column; of an end, whether it is excluded."""

    kind: exp.DataType
    nullable: bool = True
    unique: bool = False
    values: list[str | Fraction] | None = None
    low: tuple[str | Fraction, bool] | None = None
    high: tuple[str | Fraction, bool] | None = None

    @property
    def whole(self) -> bool:
        return self.kind.is_type(*_WHOLE_TYPES, *_SERIAL_TYPES) or (self.places is not None and self.places <= 0)

    @property
    def places(self) -> int | None:
        """The decimal places of DECIMAL(precision, scale); with a precision alone there are none."""
        parameters = self.kind.expressions if self.kind.is_type("decimal") else ()
        if not parameters:
            return None
        return int(parameters[1].sql()) if len(parameters) > 1 else 0


@contextmanager
def quiet_parser() -> Iterator[None]:
    """Keep the parser's warnings, about statements that are none of ours, from the user."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def read_schema(
    origin: str, text: str, table: str | None = None, *, dialect: str = "postgres"
) -> tuple[str, dict[str, Line]]:
    """The name of a table, and a line for each of its columns.

    ``origin`` is what messages call the schema.  Without ``table`` there must be a single CREATE TABLE.
    """
    try:
        with quiet_parser():
            statements = [statement for statement in sqlglot.parse(text, read=dialect) if statement is not None]
    except (SqlglotError, RecursionError):
        raise DataError(f"{one_line(origin)}: not SQL that can be read; CREATE TABLE statements are wanted") from None
    created = [statement for statement in statements if isinstance(statement, exp.Create)]
    enumerations = {
        statement.this.name.casefold(): statement.args["expression"]
        for statement in created
        if statement.kind == "TYPE" and isinstance(statement.args.get("expression"), exp.DataType)
    }
    chosen = _chosen(origin, created, table)
    columns = _columns(chosen, enumerations)
    if not columns:
        raise DataError(f"{one_line(origin)}: the CREATE TABLE lists no columns")
    return chosen.this.name, {name: _line(column) for name, column in columns.items()}


def _chosen(origin: str, created: Sequence[exp.Create], table: str | None) -> exp.Schema:
    """The CREATE TABLE of this name, which may have a schema's before it."""
    schemas = [one.this for one in created if one.kind == "TABLE" and isinstance(one.this, exp.Schema)]
    found = schemas
    if table is not None:
        wanted_schema, wanted = split_name(table)
        found = [
            one
            for one in schemas
            if table == one.this.name or (wanted == one.this.name and wanted_schema in (None, one.this.db))
        ]
    if len(found) != 1:
        known = one_line(", ".join(_full_name(one) for one in schemas)) or "none"
        if table is not None and not found:
            raise DataError(f"{one_line(origin)}: there is no CREATE TABLE {one_line(table)}; there are: {known}")
        raise DataError(f"{one_line(origin)}: name one of its tables with --table; there are: {known}")
    return found[0]


def _full_name(schema: exp.Schema) -> str:
    return f"{schema.this.db}.{schema.this.name}" if schema.this.db else schema.this.name


def _columns(schema: exp.Schema, enumerations: dict[str, exp.DataType]) -> dict[str, _Declared]:
    columns: dict[str, _Declared] = {}
    checks: list[Any] = []
    keys: list[list[str]] = []
    never_null: set[str] = set()
    for definition in schema.expressions:
        if not isinstance(definition, exp.ColumnDef):
            checks += [check.this for check in definition.find_all(exp.CheckColumnConstraint)]
            for primary in definition.find_all(exp.PrimaryKey):
                keys.append([one.name for one in primary.expressions])
                never_null.update(keys[-1])
            keys += [_unique_names(key) for key in definition.find_all(exp.UniqueColumnConstraint)]
            continue
        kind = definition.args.get("kind") or exp.DataType.build("unknown")
        named = kind.args.get("kind")
        if isinstance(named, exp.Expression) and named.name.casefold() in enumerations:
            kind = enumerations[named.name.casefold()]
        column = columns[definition.name] = _Declared(kind, nullable=not kind.is_type(*_SERIAL_TYPES))
        if kind.is_type(exp.DataType.Type.ENUM):
            column.values = [literal.name for literal in kind.expressions]
        for constraint in definition.args.get("constraints") or ():
            if isinstance(constraint.kind, _NOT_NULL) and not constraint.kind.args.get("allow_null"):
                column.nullable = False
            if isinstance(constraint.kind, _UNIQUE):
                column.unique = True
            if isinstance(constraint.kind, exp.CheckColumnConstraint):
                checks.append(constraint.kind.this)
    for name in never_null & columns.keys():
        columns[name].nullable = False
    for key in keys:
        # In a key of several columns each of them may repeat.
        if len(key) == 1 and key[0] in columns:
            columns[key[0]].unique = True
    for check in checks:
        _apply(check, columns)
    return columns


def _unique_names(constraint: exp.UniqueColumnConstraint) -> list[str]:
    listed = constraint.this
    return [one.name for one in listed.expressions] if isinstance(listed, exp.Schema) else []


def _apply(condition: Any, columns: dict[str, _Declared]) -> None:
    """Note what the condition says of columns, as far as it is understood."""
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        _apply(condition.this, columns)
        _apply(condition.expression, columns)
    elif isinstance(condition, exp.Or):
        sides = (condition.this.unnest(), condition.expression.unnest())
        for null, other in (sides, sides[::-1]):
            if isinstance(null, exp.Is) and isinstance(null.expression, exp.Null) and null.this.name in columns:
                # The other side holds of every value of this column; of other columns it holds in some rows only.
                _apply(other, {null.this.name: columns[null.this.name]})
    elif isinstance(condition, exp.In):
        _list(condition.this, condition.expressions, columns)
    elif isinstance(condition, exp.Between):
        _compare(exp.GTE, condition.this, condition.args["low"], columns)
        _compare(exp.LTE, condition.this, condition.args["high"], columns)
    elif isinstance(condition, exp.EQ) and isinstance(condition.expression, exp.Any):
        listed = _plain(condition.expression.this)
        if isinstance(listed, exp.Array):
            _list(condition.this, listed.expressions, columns)
    elif type(condition) in _FLIPPED:
        _compare(type(condition), condition.this, condition.expression, columns)
        _compare(_FLIPPED[type(condition)], condition.expression, condition.this, columns)


def _list(subject: Any, listed: Sequence[Any], columns: dict[str, _Declared]) -> None:
    column = _column(subject, columns)
    values = [_constant(value) for value in listed]
    if column is not None and values and None not in values:
        column.values = [value for value in values if value is not None]


def _compare(operator: Any, subject: Any, constant: Any, columns: dict[str, _Declared]) -> None:
    column, value = _column(subject, columns), _constant(constant)
    if column is None or value is None:
        return
    if operator is exp.EQ:
        column.values = [value]
    elif operator in (exp.GT, exp.GTE):
        column.low = _narrower(column.low, (value, operator is exp.GT), larger=True)
    else:
        column.high = _narrower(column.high, (value, operator is exp.LT), larger=False)


def _narrower(
    known: tuple[str | Fraction, bool] | None, other: tuple[str | Fraction, bool], *, larger: bool
) -> tuple[str | Fraction, bool]:
    """The one of two ends that leaves less; texts are ISO dates, which are ordered as dates are."""
    if known is None or type(known[0]) is not type(other[0]):
        return other
    if known[0] == other[0]:
        return known if known[1] else other
    return other if (other[0] > known[0]) == larger else known  # type: ignore[operator]


def _column(expression: Any, columns: dict[str, _Declared]) -> _Declared | None:
    """The column that an expression is, but for casts that change no value and no comparison."""
    expression = expression.unnest()
    if isinstance(expression, exp.Cast):
        column, to = _column(expression.this, columns), expression.to
        if column is None:
            return None
        as_text = column.kind.is_type(*exp.DataType.TEXT_TYPES) and to.is_type(*exp.DataType.TEXT_TYPES)
        as_wider = column.whole and to.is_type("decimal", "double") and not to.expressions
        return column if (as_text and not to.expressions) or as_wider else None
    return columns.get(expression.name) if isinstance(expression, exp.Column) else None


def _plain(expression: Any) -> Any:
    """The expression without casts."""
    expression = expression.unnest()
    return _plain(expression.this) if isinstance(expression, exp.Cast) else expression


def _constant(expression: Any) -> str | Fraction | None:
    expression = expression.unnest()
    if isinstance(expression, exp.Cast):
        value = _constant(expression.this)
        if isinstance(value, str) and expression.to.is_type("decimal", *_WHOLE_TYPES, *_FRACTION_TYPES):
            return _number(value)
        return value
    if isinstance(expression, exp.Neg):
        value = _constant(expression.this)
        return -value if isinstance(value, Fraction) else None
    if not isinstance(expression, exp.Literal):
        return None
    return expression.name if expression.is_string else _number(expression.name)


def _number(text: str) -> Fraction | None:
    number = read_number(text)
    return number if isinstance(number, Fraction) else None


def _line(declared: _Declared) -> Line:
    if declared.unique:
        return left_out("no two rows share a value (PRIMARY KEY or UNIQUE), as in an identifier")
    try:
        return _attribute(declared)
    except DomainError as error:
        return names(f"{error}; give values, or low and high", nullable=declared.nullable)


def _attribute(declared: _Declared) -> Line:
    kind, nullable, values = declared.kind, declared.nullable, declared.values
    if kind.is_type("boolean"):
        return complete(Categorical([False, True], nullable))
    if declared.whole:
        if values is not None:
            return complete(
                Categorical([int(v) for v in values if isinstance(v, Fraction) and v.denominator == 1], nullable)
            )
        low, high = _whole_end(declared.low, math.ceil, 1), _whole_end(declared.high, math.floor, -1)
        if low is None or high is None:
            return integers(low, high, nullable=nullable)
        return complete(Integer(low, high, nullable))
    if values is not None and all(isinstance(value, str) for value in values):
        return complete(Categorical([str(value) for value in values], nullable))
    if kind.is_type("decimal", *_FRACTION_TYPES):
        return _decimals(declared)
    if kind.is_type("date", *_TIME_TYPES):
        return _dates(declared)
    if kind.is_type(*exp.DataType.TEXT_TYPES, "uuid"):
        return names(nullable=nullable)
    return unread(kind.sql())


def _whole_end(end: tuple[str | Fraction, bool] | None, inward: Any, next_one: int) -> int | None:
    if end is None or isinstance(end[0], str):
        return None
    whole: int = inward(end[0])
    return whole + next_one if end[1] and whole == end[0] else whole


def _decimals(declared: _Declared) -> Line:
    """Steps of the type's last decimal place; an end between two multiples is taken to the one within."""
    places = declared.places
    if places is None:
        ends = {name: _written(end) for name, end in (("low", declared.low), ("high", declared.high))}
        return numbers(None, ends, nullable=declared.nullable)
    unit = 10**places
    scaled = [
        (end[0] * unit, end[1]) if end is not None and isinstance(end[0], Fraction) else None
        for end in (declared.low, declared.high)
    ]
    low, high = _whole_end(scaled[0], math.ceil, 1), _whole_end(scaled[1], math.floor, -1)
    ends = {name: None if end is None else _decimal(end, places) for name, end in (("low", low), ("high", high))}
    step = _decimal(1, places)
    if ends["low"] is None or ends["high"] is None:
        return numbers(step, ends, nullable=declared.nullable)
    try:
        return complete(Stepped(ends["low"], ends["high"], step, declared.nullable))
    except DomainError as error:
        line = numbers(None, ends, nullable=declared.nullable)
        return Line(fields=line.fields, remark=f"{line.remark}; with the step {step} of the type, {error}")


def _dates(declared: _Declared) -> Line:
    """The days that hold the moments which are allowed, in UTC."""
    hours = not declared.kind.is_type("date")
    low, high = _moment(declared.low), _moment(declared.high)
    if low is not None and declared.low is not None and declared.low[1] and not hours:
        low += timedelta(days=1)
    if high is not None and declared.high is not None and declared.high[1] and high.time() == time():
        # Of times before midnight the last are of the day before.
        high -= timedelta(days=1)
    first, last = (None if end is None else end.date().isoformat() for end in (low, high))
    if first is None or last is None:
        return moments({"low": first, "high": last}, hours=hours, nullable=declared.nullable)
    return complete(Dated(first, last, nullable=declared.nullable), 'or unit = "hour"' if hours else "")


def _moment(end: tuple[str | Fraction, bool] | None) -> datetime | None:
    if end is None or not isinstance(end[0], str):
        return None
    try:
        moment = datetime.fromisoformat(end[0])
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return None


def _written(end: tuple[str | Fraction, bool] | None) -> str | None:
    """A number as SQL wrote it, which is a finite decimal."""
    if end is None or isinstance(end[0], str):
        return None
    number = end[0]
    return format(Decimal(number.numerator) / Decimal(number.denominator), "f")


def _decimal(scaled: int, places: int) -> str:
    return format(Decimal(scaled).scaleb(-places), "f")
