"""WHERE: from the parser's tree to a formula over the attributes' values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from sqlglot import exp

from parcomp.errors import ParcompError, PredicateError, shown
from parcomp.model import Attribute, Dated, apply
from parcomp.sql.comparison import (
    Operator,
    SqlValue,
    Truth,
    compare,
    is_in,
    is_not_distinct,
    is_null,
    is_true,
    level_column,
    on_values,
)
from parcomp.sql.expressions import ExpressionReader
from parcomp.sql.instead import WHERE_TAKES, nearest_values
from parcomp.sql.logic import Atom, Conjunction, Constant, Disjunction, Formula, Negation
from parcomp.sql.scalars import Of, Scalar, is_constant, kind_of, leaves_of
from parcomp.sql.texts import like
from parcomp.sql.tree import TreeReader, unwrapped
from parcomp.sql.values import Values, evaluate_constant

__all__ = ["MAX_COMPARISONS", "WhereReader"]

MAX_COMPARISONS = 1_000
"""The most comparisons in one statement; a list after IN counts as one."""

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_Constant: TypeAlias = SqlValue | Fraction
"""A constant; a number without an end as a decimal is a fraction."""

_ENDLESS = "this number has no end as a decimal; write a number"
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_FAR = 5_000
"""No label has more digits, before or after its point."""


@dataclass(slots=True)
class WhereReader:
    """Reads the condition of one statement; ``table`` is what its columns may be qualified by."""

    reader: TreeReader
    table: exp.Identifier
    comparisons: int = field(default=0, init=False)

    def formula(self, node: exp.Expr) -> Formula:
        """The formula that a condition stands for."""
        match node:
            case exp.Paren():
                self.reader.only(node, "this")
                return self.formula(node.this)
            case exp.Not():
                self.reader.only(node, "this")
                return Negation(self.formula(node.this))
            case exp.And() | exp.Or():
                parts = tuple(self.formula(part) for part in self._operands(node, type(node)))
                return Conjunction(parts) if isinstance(node, exp.And) else Disjunction(parts)
            case exp.Boolean():
                return Constant(bool(node.this))
            case exp.Null():
                return Constant(None)
        self.count(node)
        return self._comparison(node)

    def count(self, node: exp.Expr) -> None:
        """One more comparison; also what is read again for each branch of a CASE counts each time."""
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            message = f"there are more than {MAX_COMPARISONS:,} comparisons; list values after IN"
            self.reader.refuse(node, message)

    def _operands(self, node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
        """The parts of a chain of ANDs or of ORs, which the parser nests to the left, as deep as the chain is long."""
        parts: list[exp.Expr] = []
        while type(node) is kind:
            self.reader.only(node, "this", "expression")
            parts.append(node.args["expression"])
            node = node.this
        return [node, *reversed(parts)]

    def _comparison(self, node: exp.Expr) -> Formula:
        match node:
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._compared(node, _OPERATORS[type(node)])
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                same = self._same(node)
                return same if isinstance(node, exp.NullSafeEQ) else Negation(same)
            case exp.Between():
                self.reader.only(node, "this", "low", "high")
                low, high = self._value(node.args["low"]), self._value(node.args["high"])
                above = self._compared_with(node, node.this, ">=", low)
                below = self._compared_with(node, node.this, "<=", high)
                return Conjunction((above, below))
            case exp.In():
                self.reader.only(node, "this", "expressions")
                if not node.expressions:
                    self.reader.refuse(node, "IN takes a list of constants, such as IN (1, 2)")
                return self._in(node, [self._value(value) for value in node.expressions])
            case exp.Is():
                return self._is(node)
            case exp.Column():
                return self._atom(node, node, is_true)
            case exp.Like() | exp.ILike() | exp.Escape():
                return self._like(node)
            case exp.Case() | exp.Cast():
                return self._truth(node)
            case exp.Literal():
                self.reader.refuse(node, f"a constant is no condition; {WHERE_TAKES}")
        self.reader.unsupported(node)

    @property
    def expressions(self) -> ExpressionReader:
        """Reads what stands in a condition beside plain attributes."""
        return ExpressionReader(self.reader, self.table, self)

    def _compared(self, node: exp.Expr, operator: Operator) -> Formula:
        expression, constant, mirrored = self._sides(node)
        written = _MIRRORED[operator] if mirrored else operator
        return self._compared_with(node, expression, written, self._value(constant))

    def _compared_with(self, node: exp.Expr, expression: exp.Expr, operator: Operator, value: _Constant) -> Formula:
        def on_values(values: Values, plain: Any) -> Truth:
            if operator in {"=", "<>"}:
                self._check_declared(values, plain)
            return values.compare(operator, plain)

        return self._about(
            node,
            expression,
            [value],
            lambda one: compare(one, operator, self._ended(node, value)),
            on_values,
            lambda known, plain: apply(operator, (known, plain)),
        )

    def _in(self, node: exp.In, listed: list[_Constant]) -> Formula:
        values = [self._ended(node, value) for value in listed]
        if isinstance(unwrapped(node.this), exp.Column):
            return self._atom(node, node.this, lambda attribute: is_in(attribute, values))
        known = [value for value in values if value is not None]

        def on_values(found: Values, *constants: Any) -> Truth:
            for constant in constants:
                self._check_declared(found, constant)
            return found.where(lambda value: value in constants)

        found = self._about(
            node,
            node.this,
            [*known],
            lambda attribute: is_in(attribute, known),
            on_values,
            lambda one, *constants: None if one is None else one in constants,
        )
        return found if len(known) == len(values) else Disjunction((found, Constant(None)))

    def _same(self, node: exp.Expr) -> Formula:
        expression, constant, _ = self._sides(node)
        value = self._value(constant)

        def on_values(values: Values, plain: Any) -> Truth:
            self._check_declared(values, plain)
            true, _ = values.compare("=", plain)
            return true, ~true

        if value is None:
            return self._nulls(node, expression)
        return self._about(
            node,
            expression,
            [value],
            lambda one: is_not_distinct(one, self._ended(node, value)),
            on_values,
            lambda known, plain: known == plain,
        )

    def _nulls(self, node: exp.Expr, expression: exp.Expr) -> Formula:
        return self._about(node, expression, [], is_null, lambda values: values.nulls(), lambda known: known is None)

    def _is(self, node: exp.Is) -> Formula:
        self.reader.only(node, "this", "expression", "negate")
        asked = node.expression
        if isinstance(asked, exp.Null):
            atom = self._nulls(node, node.this)
        elif isinstance(asked, exp.Boolean):
            truth = bool(asked.this)
            atom = self._atom(node, node.this, lambda attribute: is_not_distinct(attribute, truth))
        else:
            self.reader.refuse(node, "IS takes NULL, TRUE or FALSE, with NOT before it or not")
        return Negation(atom) if node.args.get("negate") else atom

    def _like(self, node: exp.Expr) -> Formula:
        """LIKE and ILIKE: the declared values that match."""
        escape: str | None = None
        test = node
        if isinstance(node, exp.Escape):
            self.reader.only(node, "this", "expression")
            test, mark = node.this, self._value(node.expression)
            if not isinstance(mark, str) or not isinstance(test, (exp.Like, exp.ILike)):
                self.reader.refuse(node, "ESCAPE takes one character, as in LIKE '10!%' ESCAPE '!'")
            escape = mark
        self.reader.only(test, "this", "expression", "negate")
        pattern = self._value(test.expression)
        if pattern is None:
            return Constant(None)
        if not isinstance(pattern, str):
            self.reader.refuse(test.expression, "LIKE takes a pattern in quotes, such as 'C0%'")
        try:
            matches = like(pattern, escape, ignore_case=isinstance(test, exp.ILike))
            scalar = self.expressions.read(test.this)
            if kind_of(self.reader.domain, scalar) != "text":
                instead = "compare numbers by =, <, BETWEEN and IN, and dates by BETWEEN, EXTRACT and DATE_TRUNC"
                self.reader.refuse(test, f"LIKE finds texts among declared values; {instead}")
            if is_constant(scalar):
                found: Formula = Constant(matches(evaluate_constant(self.reader.domain, scalar)))
            else:
                found = self._matching(test, Values(self.reader.domain, scalar), pattern, matches)
        except ParcompError as error:
            if isinstance(error, PredicateError):
                self.reader.refuse_because(test, error)
            raise
        return Negation(found) if test.args.get("negate") else found

    def _matching(self, node: exp.Expr, values: Values, pattern: str, matches: Callable[[str], bool]) -> Formula:
        true, false = values.where(matches)
        if true.is_contradiction:
            known = values.texts()
            hint = "; ILIKE ignores case" if isinstance(node, exp.Like) else ""
            self.reader.refuse(
                node, f"no declared value is like {shown(pattern)}{nearest_values(pattern, known)}{hint}"
            )
        return Atom(values.index, true, false)

    def _truth(self, node: exp.Expr) -> Formula:
        """An expression that gives truth values."""
        scalar = self.expressions.read(node)
        if kind_of(self.reader.domain, scalar) not in {"boolean", "null"}:
            self.reader.refuse(node, f"this gives no truth value; compare it with a constant; {WHERE_TAKES}")
        if is_constant(scalar):
            return Constant(evaluate_constant(self.reader.domain, scalar))
        return self._on_values(node, scalar, lambda values: values.where(lambda truth: truth is True))

    def _sides(self, node: exp.Expr) -> tuple[exp.Expr, exp.Expr, bool]:
        """The expression, the constant, and whether the constant comes first."""
        self.reader.only(node, "this", "expression")
        left, right = unwrapped(node.this), unwrapped(node.args["expression"])
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            for column in (left, right):
                self.reader.attribute_or_level(column, self.table)
            self.reader.refuse(right, "comparing two attributes is not supported; compare each with a constant")
        if _has_column(left) and _has_column(right):
            self.reader.refuse(
                right, "an expression is compared with a constant; here an attribute stands on both sides"
            )
        return (left, right, False) if _has_column(left) or not _has_column(right) else (right, left, True)

    def _about(
        self,
        node: exp.Expr,
        expression: exp.Expr,
        constants: list[_Constant],
        on_attribute: Callable[[Attribute], Truth],
        on_values: Callable[..., Truth],
        on_constant: Callable[..., Any],
    ) -> Formula:
        """A condition on an attribute as it is, on what an expression makes of it, or on a constant, such as 1 = 1."""
        expression = unwrapped(expression)
        exact = not any(isinstance(value, Fraction) for value in constants)
        if isinstance(expression, exp.Column) and exact:
            return self._atom(node, expression, on_attribute)
        scalar = self.expressions.read(expression)
        if None in constants:
            return Constant(None)
        plain = [self._fitting(node, scalar, value) for value in constants]
        if is_constant(scalar):
            return Constant(on_constant(evaluate_constant(self.reader.domain, scalar), *plain))
        return self._on_values(node, scalar, lambda values: on_values(values, *plain))

    def _on_values(self, node: exp.Expr, scalar: Scalar, truth: Callable[[Values], Truth]) -> Formula:
        try:
            values = Values(self.reader.domain, scalar)
            return Atom(values.index, *truth(values))
        except ParcompError as error:
            self.reader.refuse_because(node, error)

    def _check_declared(self, values: Values, constant: Any) -> None:
        """A text that the expression never gives is most often a slip of the pen."""
        if isinstance(constant, str) and constant not in (known := values.texts()):
            raise PredicateError(f"it never is {shown(constant)}{nearest_values(constant, known)}")

    def _ended(self, node: exp.Expr, value: _Constant) -> SqlValue:
        """A constant that attributes as they are can be compared with."""
        if isinstance(value, Fraction):
            self.reader.refuse(node, _ENDLESS)
        return value

    def _fitting(self, node: exp.Expr, scalar: Scalar, value: _Constant) -> Any:
        """A constant as an expression of its kind is compared with it."""
        kind = kind_of(self.reader.domain, scalar)
        if isinstance(value, Fraction):
            if kind in {"integer", "number"}:
                return value
            self.reader.refuse(node, _ENDLESS)
        if isinstance(value, Decimal) and kind in {"integer", "number", "null"}:
            return _near(value)
        if kind == "date" and isinstance(value, (str, datetime)):
            names = self.reader.domain.names
            of = next(names[leaf.index] for leaf in leaves_of(scalar) if isinstance(leaf, Of))
            try:
                attribute = self.reader.domain.attributes[of]
                assert isinstance(attribute, Dated)
                moment = attribute.moment(value)
            except PredicateError as error:
                self.reader.refuse_because(node, error, of)
            if moment.within:
                self.reader.refuse(node, "what is known by whole hours is compared with whole hours")
            return moment.start
        if (
            kind == "null"
            or (kind == "text" and isinstance(value, str))
            or (kind == "boolean" and isinstance(value, bool))
        ):
            return value
        held = {"integer": "numbers", "number": "numbers", "text": "texts", "boolean": "booleans", "date": "dates"}
        written = "a number" if isinstance(value, Decimal) else "a boolean" if isinstance(value, bool) else "a text"
        self.reader.refuse(node, f"this compares {held.get(kind, kind)} with {written}")

    def _atom(self, node: exp.Expr, column: exp.Expr, truth: Callable[[Attribute], Truth]) -> Atom:
        index, name, attribute, level = self.reader.attribute_or_level(unwrapped(column), self.table)
        try:
            return Atom(index, *(truth(attribute) if level is None else on_values(level, truth(level_column(level)))))
        except PredicateError as error:
            self.reader.refuse_because(node, error, name)

    def _value(self, node: exp.Expr) -> _Constant:
        """The constant that a node is, or that an expression of constants gives."""
        node = unwrapped(node)
        if _is_plain(node):
            return self.expressions.constant(node)
        if isinstance(node, exp.Column) or _has_column(node):
            column = node if isinstance(node, exp.Column) else next(node.find_all(exp.Column))
            return self.expressions.constant(column)
        value: Fraction | str | bool | None = evaluate_constant(self.reader.domain, self.expressions.read(node))
        if not isinstance(value, Fraction):
            return value
        scale = max(_places(value.denominator), 0)
        if 10**scale % value.denominator:
            return value
        return _EXACT.scaleb(Decimal(value.numerator * (10**scale // value.denominator)), -scale)


def _near(number: Decimal) -> Fraction:
    """A number as a fraction; one beyond all labels may be any other beyond them."""
    if abs(number.adjusted()) <= _FAR or not number:
        return Fraction(number)
    return Fraction(Decimal((number.as_tuple().sign, (1,), _FAR if number.adjusted() > 0 else -_FAR)))


def _places(denominator: int) -> int:
    """Enough decimal places for a denominator of twos and fives."""
    return denominator.bit_length()


def _is_plain(node: exp.Expr) -> bool:
    """Whether a node is a constant by itself, perhaps with a sign or a type before it."""
    node = unwrapped(node)
    while isinstance(node, exp.Neg):
        node = unwrapped(node.this)
    if isinstance(node, exp.Cast):
        return isinstance(node.this, exp.Literal) and bool(node.this.is_string)
    return isinstance(node, (exp.Literal, exp.Null, exp.Boolean))


def _has_column(node: exp.Expr) -> bool:
    return any(True for _ in node.find_all(exp.Column))
