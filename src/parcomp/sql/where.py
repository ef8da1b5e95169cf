"""WHERE: from the parser's tree to a formula over the attributes' values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from sqlglot import exp

from parcomp.errors import PredicateError, shown
from parcomp.model import Attribute, read_decimal
from parcomp.sql.comparison import Operator, SqlValue, Truth, compare, is_in, is_not_distinct, is_null, is_true
from parcomp.sql.logic import Atom, Conjunction, Constant, Disjunction, Formula, Negation
from parcomp.sql.tokens import WHERE_TAKES
from parcomp.sql.tree import TreeReader, unwrapped

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
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            message = f"there are more than {MAX_COMPARISONS:,} comparisons; list values after IN"
            self.reader.refuse(node, message)
        return self._comparison(node)

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
                above = self._atom(node, node.this, lambda attribute: compare(attribute, ">=", low))
                below = self._atom(node, node.this, lambda attribute: compare(attribute, "<=", high))
                return Conjunction((above, below))
            case exp.In():
                self.reader.only(node, "this", "expressions")
                if not node.expressions:
                    self.reader.refuse(node, "IN takes a list of constants, such as IN (1, 2)")
                values = [self._value(value) for value in node.expressions]
                return self._atom(node, node.this, lambda attribute: is_in(attribute, values))
            case exp.Is():
                return self._is(node)
            case exp.Column():
                return self._atom(node, node, is_true)
            case exp.Literal():
                self.reader.refuse(node, f"a constant is no condition; {WHERE_TAKES}")
        self.reader.unsupported(node)

    def _is(self, node: exp.Is) -> Formula:
        self.reader.only(node, "this", "expression", "negate")
        asked = node.expression
        if isinstance(asked, exp.Null):
            atom = self._atom(node, node.this, is_null)
        elif isinstance(asked, exp.Boolean):
            truth = bool(asked.this)
            atom = self._atom(node, node.this, lambda attribute: is_not_distinct(attribute, truth))
        else:
            self.reader.refuse(node, "IS takes NULL, TRUE or FALSE, with NOT before it or not")
        return Negation(atom) if node.args.get("negate") else atom

    def _compared(self, node: exp.Expr, operator: Operator) -> Formula:
        column, constant, mirrored = self._sides(node)
        written = _MIRRORED[operator] if mirrored else operator
        value = self._value(constant)
        return self._atom(node, column, lambda attribute: compare(attribute, written, value))

    def _same(self, node: exp.Expr) -> Formula:
        column, constant, _ = self._sides(node)
        value = self._value(constant)
        return self._atom(node, column, lambda attribute: is_not_distinct(attribute, value))

    def _sides(self, node: exp.Expr) -> tuple[exp.Expr, exp.Expr, bool]:
        """The attribute, the constant, and whether the constant comes first."""
        self.reader.only(node, "this", "expression")
        left, right = unwrapped(node.this), unwrapped(node.args["expression"])
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            for column in (left, right):
                self.reader.attribute(column, self.table)
            self.reader.refuse(right, "comparing two attributes is not supported; compare each with a constant")
        if _is_constant(left) and _is_constant(right):
            self.reader.refuse(node, "comparing two constants is not supported; write TRUE or FALSE")
        return (right, left, True) if isinstance(right, exp.Column) else (left, right, False)

    def _atom(self, node: exp.Expr, column: exp.Expr, truth: Callable[[Attribute], Truth]) -> Atom:
        index, name, attribute = self.reader.attribute(unwrapped(column), self.table)
        try:
            return Atom(index, *truth(attribute))
        except PredicateError as error:
            self.reader.refuse_because(node, error, name)

    def _value(self, node: exp.Expr) -> SqlValue:
        """The constant that a node is."""
        node = unwrapped(node)
        match node:
            case exp.Null():
                return None
            case exp.Boolean():
                return bool(node.this)
            case exp.Neg():
                self.reader.only(node, "this")
                value = self._value(node.this)
                if not isinstance(value, Decimal):
                    self.reader.unsupported(node)
                # The operator would round to the precision of the context.
                return value.copy_negate()
            case exp.Literal() if node.is_string:
                return str(node.this)
            case exp.Literal():
                number = read_decimal(node.this)
                if not number.is_finite():
                    self.reader.refuse(node, f"{shown(node.this)} is not a number")
                return number
            case exp.Cast() if self.reader.is_date(node):
                return self._date(node)
            case exp.Column():
                at = "compare the attribute with constants; strings are written '…', with single quotes"
                self.reader.refuse(node, f"a constant must stand here, not an attribute; {at}")
        self.reader.unsupported(node)

    def _date(self, node: exp.Cast) -> str:
        """A date is compared as the string that it is written as, so there must be one way to write it."""
        written = str(node.this.this)
        try:
            plain: str | None = date.fromisoformat(written).isoformat()
        except ValueError:
            plain = None
        if plain != written:
            self.reader.refuse(node, f"{shown(written)} is not a date; write DATE '2020-12-31'")
        return written


def _is_constant(node: exp.Expr) -> bool:
    node = unwrapped(node)
    while isinstance(node, exp.Neg):
        node = unwrapped(node.this)
    return isinstance(node, (exp.Literal, exp.Null, exp.Boolean, exp.Cast))
