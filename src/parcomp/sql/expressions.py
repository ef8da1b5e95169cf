"""Expressions: from the parser's tree to operations on attributes, constants and, where they may stand, items.

Casts are read by :mod:`parcomp.sql.casts`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn, Protocol

from sqlglot import exp

from parcomp.errors import PredicateError, shown
from parcomp.model import Constant, Dated, Unit, read_decimal
from parcomp.sql.casts import CastReader, cast_type, read_date, read_timestamp
from parcomp.sql.dates import FINER_PARTS, PARTS, TRUNCATIONS, known_by
from parcomp.sql.instead import SHAPE
from parcomp.sql.items import AGGREGATES, ItemReader
from parcomp.sql.logic import Atom, Formula, about_one
from parcomp.sql.logic import Constant as Truth
from parcomp.sql.scalars import Call, Kind, Of, Scalar, is_constant, kind_of
from parcomp.sql.tree import TreeReader, match_name, shown_name, unwrapped
from parcomp.sql.values import evaluate_constant

__all__ = ["Conditions", "ExpressionReader"]

_NUMBERS: dict[type[exp.Expr], str] = {
    exp.Abs: "abs",
    exp.Sign: "sign",
    exp.Sqrt: "sqrt",
    exp.Cbrt: "cbrt",
    exp.Sin: "sin",
    exp.Cos: "cos",
    exp.Tan: "tan",
    exp.Asin: "asin",
    exp.Acos: "acos",
    exp.Atan: "atan",
    exp.Atanh: "atanh",
    exp.Degrees: "degrees",
    exp.Radians: "radians",
    exp.Exp: "exp",
    exp.Ln: "ln",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Neg: "neg",
}
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.Pow: "power",
}
_KEEPS_INTEGERS = {"+", "-", "*", "%", "neg", "abs", "sign", "greatest", "least", "coalesce", "nullif", "case"}
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_PARTS_BY_NAME: dict[type[exp.Expr], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.Hour: "hour",
}
_MAX_EXPONENT = 300


class Conditions(Protocol):
    """Reads conditions on rows, and counts the comparisons of a statement."""

    def formula(self, node: exp.Expr) -> Formula:
        """The formula that a condition stands for."""
        ...

    def count(self, node: exp.Expr) -> None:
        """One more comparison, of which there is a limit."""
        ...


@dataclass(slots=True)
class ExpressionReader:
    """Reads the expressions of one statement.

    ``conditions`` reads those on rows.  ``items`` says whether items may stand here, and ``aliases`` what names mean
    beside attributes.
    """

    reader: TreeReader
    table: exp.Identifier
    conditions: Conditions
    items: bool = False
    aliases: dict[str, Scalar] = field(default_factory=dict)
    prefers_aliases: bool = False

    def read(self, node: exp.Expr) -> Scalar:
        """The expression that a node is."""
        node = unwrapped(node)
        kind = type(node)
        if isinstance(node, AGGREGATES) or (isinstance(node, exp.Anonymous) and ItemReader.reads(node)):
            if not self.items:
                self.reader.refuse(node, "an aggregate cannot stand here; HAVING compares aggregates")
            return ItemReader(self.reader, self.table).read(node)
        if kind in _NUMBERS:
            self.reader.only(node, "this")
            return self.call(node, _NUMBERS[kind], self.read(node.this))
        if kind in _ARITHMETIC:
            self.reader.only(node, "this", "expression", "typed", "safe")
            return self.call(node, _ARITHMETIC[kind], self.read(node.this), self.read(node.args["expression"]))
        if kind in _PARTS_BY_NAME:
            self.reader.only(node, "this")
            return self._extract(node, _PARTS_BY_NAME[kind], node.this)
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Literal() | exp.Null() | exp.Boolean():
                value = Constant(self._literal(node))
                # 10.0 is no integer, as in SQL: // is for integers.
                is_decimal = isinstance(value.value, Fraction) and not str(node.this).isdecimal()
                return Call("number", (value,), "number") if is_decimal else value
            case exp.Cast():
                return CastReader(self.reader, self).read(node)
            case exp.Round() | exp.Trunc():
                self.reader.only(node, "this", "decimals")
                places = [] if node.args.get("decimals") is None else [self.whole(node.args["decimals"])]
                return self.call(node, node.key, self.read(node.this), *places)
            case exp.Log():
                return self._logarithm(node)
            case exp.Greatest() | exp.Least() | exp.Coalesce():
                self.reader.only(node, "this", "expressions", "ignore_nulls")
                return self._same_kind(node, node.key, [node.this, *node.expressions])
            case exp.Nullif():
                self.reader.only(node, "this", "expression")
                return self._same_kind(node, "nullif", [node.this, node.expression])
            case exp.Case():
                return self._case(node)
            case exp.If():
                self.reader.only(node, "this", "true", "false")
                return self._branches(node, [(node.this, node.args["true"])], node.args.get("false"))
            case exp.Pi():
                return Call("number", (Constant(Fraction(math.pi)),), "number")
            case exp.Anonymous() if str(node.this).upper() == "SQUARE" and len(node.expressions) == 1:
                # Not as a product: nested, it would have every argument twice.
                return self.call(node, "power", self.read(node.expressions[0]), Constant(Fraction(2)))
            case exp.Anonymous() if str(node.this).upper() == "CHOOSE":
                return self._choice(node)
            case exp.Anonymous() if str(node.this).upper() == "DIV" and len(node.expressions) == 2:
                return self.call(node, "div", *map(self.read, node.expressions))
            case exp.Extract():
                self.reader.only(node, "this", "expression")
                return self._extract(node, str(node.this.name).lower(), node.expression)
            case exp.TimestampTrunc() | exp.DateTrunc():
                self.reader.only(node, "this", "unit")
                return self.truncation(node, str(node.args["unit"].name).lower(), node.this)
            case exp.Upper() | exp.Lower() | exp.Length() | exp.Trim():
                self.reader.only(node, "this")
                return self._on_text(node, node.key, "integer" if isinstance(node, exp.Length) else "text", node.this)
            case exp.Dayname():
                self.reader.only(node, "this")
                return Call("dayname", (self._dates(node, node.this, "DAYNAME", "day"),), "text")
            case exp.DPipe():
                self.reader.only(node, "this", "expression", "safe")
                return self._of_texts("||", "text", [node.this, node.expression])
            case exp.Concat() if node.args.get("safe"):
                # Without the mark it is two strings side by side, which is most often a slip of the pen.
                self.reader.only(node, "expressions", "safe", "coalesce")
                return self._of_texts("||", "text", node.expressions, null=Constant(""))
            case exp.StrPosition():
                self.reader.only(node, "this", "substr")
                return self._of_texts("position", "integer", [node.args["substr"], node.this])
            case exp.Left() | exp.Right():
                self.reader.only(node, "this", "expression")
                return self._on_text(node, node.key, "text", node.this, node.expression)
            case exp.Substring():
                self.reader.only(node, "this", "start", "length")
                ends = [end for end in (node.args.get("start"), node.args.get("length")) if end is not None]
                return self._on_text(node, "substring", "text", node.this, *ends)
        if isinstance(node, (exp.Subquery, exp.Select)):
            self.reader.unsupported(node, SHAPE)
        if isinstance(node, (exp.Predicate, exp.Connector, exp.Not)) and self.items:
            self.reader.unsupported(node, "conditions stand in WHERE, HAVING and CASE")
        self.reader.unsupported(node)

    def condition(self, node: exp.Expr) -> Scalar:
        """A condition in which items may stand; what is about attributes alone is read as in WHERE."""
        node = unwrapped(node)
        if not self._has_items(node):
            found = self._about_one(node)
            if not isinstance(found, PredicateError):
                return found
        if isinstance(node, exp.Not):
            self.reader.only(node, "this")
            return Call("not", (self.condition(node.this),), "boolean")
        if isinstance(node, (exp.And, exp.Or)):
            self.reader.only(node, "this", "expression")
            parts = (self.condition(node.this), self.condition(node.expression))
            return Call("and" if isinstance(node, exp.And) else "or", parts, "boolean")
        self.conditions.count(node)
        if type(node) in _COMPARISONS:
            self.reader.only(node, "this", "expression")
            return self._compared(node, _COMPARISONS[type(node)], node.this, node.expression)
        match node:
            case exp.Between():
                self.reader.only(node, "this", "low", "high")
                above = self._compared(node, ">=", node.this, node.args["low"])
                below = self._compared(node, "<=", node.this, node.args["high"])
                return Call("and", (above, below), "boolean")
            case exp.In() if node.expressions:
                self.reader.only(node, "this", "expressions")
                equal = tuple(self._compared(node, "=", node.this, value) for value in node.expressions)
                return Call("or", equal, "boolean")
            case exp.Is() if isinstance(node.expression, exp.Null):
                self.reader.only(node, "this", "expression", "negate")
                null: Scalar = Call("is null", (self.read(node.this),), "boolean")
                return Call("not", (null,), "boolean") if node.args.get("negate") else null
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                self.reader.only(node, "this", "expression")
                same = self._compared(node, "same", node.this, node.expression)
                return same if isinstance(node, exp.NullSafeEQ) else Call("not", (same,), "boolean")
        self.reader.unsupported(node, "HAVING compares aggregates by =, <>, <, <=, >, >=, BETWEEN, IN and IS NULL")

    def row_condition(self, node: exp.Expr) -> Scalar:
        """A condition on the rows of a group, or on nothing: about one attribute at most."""
        found = self._about_one(node)
        if isinstance(found, PredicateError):
            self.reader.refuse_because(node, found)
        return found

    def _about_one(self, node: exp.Expr) -> Constant | Atom | PredicateError:
        """A condition about one attribute at most, or why it is not."""
        formula = self.conditions.formula(node)
        try:
            found = about_one(formula)
        except PredicateError as error:
            return error
        return Constant(found.truth) if isinstance(found, Truth) else found

    def call(self, node: exp.Expr, name: str, *arguments: Scalar) -> Call:
        """An operation on numbers."""
        for argument in arguments:
            kind = self.kind(argument)
            if kind not in {"integer", "number", "null"}:
                self.refuse_kind(node, argument, kind, "a number")
        whole = all(self.kind(argument) in {"integer", "null"} for argument in arguments)
        if name == "div" and not whole:
            self.reader.refuse(node, "// and DIV divide whole numbers; write FLOOR(a / b) or TRUNC(a / b)")
        if name in {"/", "div", "%"} and self._is_zero(arguments[1]):
            self.reader.refuse(node, "this divides by zero")
        keeps = whole and (name in _KEEPS_INTEGERS or name == "div")
        return Call(name, arguments, "integer" if keeps else "number")

    def kind(self, scalar: Scalar) -> Kind:
        """What an expression gives."""
        return kind_of(self.reader.domain, scalar)

    def constant(self, node: exp.Expr) -> Decimal | str | bool | datetime | None:
        """The constant that a node is by itself."""
        node = unwrapped(node)
        if isinstance(node, exp.Neg):
            self.reader.only(node, "this")
            value = self.constant(node.this)
            if not isinstance(value, Decimal):
                self.reader.unsupported(node)
            # The operator would round to the precision of the context.
            return value.copy_negate()
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
            to = cast_type(self.reader, node)
            if to == exp.DType.DATE:
                return read_date(self.reader, node)
            if to == exp.DType.TIMESTAMP:
                return read_timestamp(self.reader, node)
        if isinstance(node, exp.Column):
            at = "compare the attribute with constants; strings are written '…', with single quotes"
            self.reader.refuse(node, f"a constant must stand here, not an attribute; {at}")
        if not isinstance(node, (exp.Literal, exp.Null, exp.Boolean)):
            self.reader.unsupported(node)
        return self._plain(node)

    def _plain(self, node: exp.Expr) -> Decimal | str | bool | None:
        if isinstance(node, exp.Null):
            return None
        if isinstance(node, exp.Boolean):
            return bool(node.this)
        if node.is_string:
            return str(node.this)
        number = read_decimal(node.this)
        if not number.is_finite():
            self.reader.refuse(node, f"{shown(node.this)} is not a number")
        return number

    def _literal(self, node: exp.Expr) -> Fraction | str | bool | None:
        """A constant within an expression, of ordinary size."""
        value = self._plain(node)
        if not isinstance(value, Decimal):
            return value
        if abs(value.adjusted()) > _MAX_EXPONENT and value:
            self.reader.refuse(node, f"{shown(value)} is not a number of ordinary size")
        return Fraction(value)

    def _column(self, node: exp.Column) -> Scalar:
        identifier = node.this
        bare = isinstance(identifier, exp.Identifier) and node.args.get("table") is None
        if bare:
            alias = match_name(identifier, self.aliases)
            if alias is not None and (self.prefers_aliases or not self.reader.names_column(identifier)):
                return self.aliases[alias]
        index, name, _, level = self.reader.attribute_or_level(node, self.table)
        return Of(index, name, level is not None)

    def _logarithm(self, node: exp.Log) -> Scalar:
        """To base 10, as in PostgreSQL, or to the base that comes first."""
        self.reader.only(node, "this", "expression")
        if node.args.get("expression") is None:
            return self.call(node, "log", self.read(node.this))
        base, number = self.read(node.this), self.read(node.expression)
        plain = {10: "log", 2: "log2"}
        if is_constant(base) and (known := evaluate_constant(self.reader.domain, base)) in plain:
            return self.call(node, plain[known], number)
        return self.call(node, "/", self.call(node, "ln", number), self.call(node, "ln", base))

    def _case(self, node: exp.Case) -> Scalar:
        self.reader.only(node, "this", "ifs", "default")
        compared = node.args.get("this")
        branches = []
        for branch in node.args["ifs"]:
            self.reader.only(branch, "this", "true")
            condition = branch.this if compared is None else exp.EQ(this=compared.copy(), expression=branch.this.copy())
            branches.append((condition, branch.args["true"]))
        return self._branches(node, branches, node.args.get("default"))

    def _choice(self, node: exp.Anonymous) -> Scalar:
        """CHOOSE(n, a, b, …): the n-th of the values after n, which is cut to a whole number; null beyond."""
        self.reader.only(node, "this", "expressions")
        if len(node.expressions) < 2:
            self.reader.refuse(node, "CHOOSE takes a number and the values that it chooses from")
        number, *values = node.expressions
        branches: list[tuple[exp.Expr, exp.Expr]] = [
            (exp.EQ(this=exp.Trunc(this=number.copy()), expression=exp.Literal.number(place)), value)
            for place, value in enumerate(values, 1)
        ]
        return self._branches(node, branches, None)

    def _branches(self, node: exp.Expr, branches: list[tuple[exp.Expr, exp.Expr]], default: exp.Expr | None) -> Scalar:
        """Conditions and their results, and what is the result if none of them holds."""
        parts: list[Scalar] = []
        for condition, result in branches:
            parts += [self.condition(condition) if self.items else self.row_condition(condition), self.read(result)]
        parts.append(Constant(None) if default is None else self.read(default))
        kind = self._common(node, [*parts[1:-1:2], parts[-1]])
        return Call("case", tuple(parts), kind)

    def _same_kind(self, node: exp.Expr, name: str, nodes: list[exp.Expr]) -> Scalar:
        arguments = [self.read(one) for one in nodes]
        return Call(name, tuple(arguments), self._common(node, arguments))

    def _compared(self, node: exp.Expr, operator: str, left: exp.Expr, right: exp.Expr) -> Scalar:
        sides = [self.read(left), self.read(right)]
        self._common(node, sides)
        return Call(operator, tuple(sides), "boolean")

    def _common(self, node: exp.Expr, arguments: list[Scalar]) -> Kind:
        """The kind of values that can stand in one place."""
        kinds = [kind for argument in arguments if (kind := self.kind(argument)) != "null"]
        for argument, kind in zip(arguments, map(self.kind, arguments), strict=True):
            if kind in {"bins", "several types"}:
                self.refuse_kind(node, argument, kind, "a value of one kind")
        if not kinds:
            return "null"
        if set(kinds) == {"integer", "number"}:
            return "number"
        if len(set(kinds)) > 1:
            names = " and ".join(sorted(set(kinds)))
            self.reader.refuse(node, f"values of several kinds stand in one place: {names}; write them as one kind")
        return kinds[0]

    def _extract(self, node: exp.Expr, part: str, of: exp.Expr) -> Scalar:
        if part in FINER_PARTS:
            self._dates(node, of, f"EXTRACT({part.upper()})", None)
        if part not in PARTS:
            self.reader.refuse(node, f"EXTRACT takes {', '.join(PARTS).upper()}, not {shown(part)}")
        inner = self._dates(node, of, f"EXTRACT({part.upper()})", PARTS[part][0])
        return Call("extract", (Constant(part), inner), "number")

    def truncation(self, node: exp.Expr, unit: str, of: exp.Expr) -> Scalar:
        """The start of the unit that a date is in."""
        if unit not in TRUNCATIONS:
            self.reader.refuse(node, f"DATE_TRUNC takes {', '.join(TRUNCATIONS)}, not {shown(unit)}")
        inner = self._dates(node, of, f"DATE_TRUNC('{unit}')", TRUNCATIONS[unit])
        return Call("date_trunc", (Constant(unit), inner), "date")

    def _dates(self, node: exp.Expr, of: exp.Expr, what: str, needed: Unit | None) -> Scalar:
        """An expression that gives dates, known by the unit that is needed; None is one that no attribute has."""
        inner = self.read(of)
        if self.kind(inner) != "date":
            self.refuse_kind(node, inner, self.kind(inner), "an attribute of dates (low and high as dates)")
        if isinstance(inner, Of):
            attribute = self.reader.domain.attributes[inner.name]
            if isinstance(attribute, Dated) and (needed is None or not known_by(attribute, needed)):
                name = shown_name(inner.name)
                self.reader.refuse(
                    node,
                    f"{name} is known by whole {attribute.unit}s only, so {what} of it cannot be told; "
                    f"EXTRACT({attribute.unit.upper()} FROM {name}) can",
                )
        return inner

    def _on_text(self, node: exp.Expr, name: str, kind: Kind, text: exp.Expr, *numbers: exp.Expr) -> Scalar:
        inner = self.read(text)
        if self.kind(inner) not in {"text", "null"}:
            self.refuse_kind(node, inner, self.kind(inner), "a text")
        if is_constant(inner):
            self.reader.refuse(node, f"{name.upper()} of a constant is not supported; write the constant itself")
        return Call(name, (inner, *(self.whole(number) for number in numbers)), kind)

    def _of_texts(self, name: str, kind: Kind, nodes: list[exp.Expr], null: Constant | None = None) -> Scalar:
        """An operation on several texts; ``null`` is what stands in for one that is null."""
        texts: list[Scalar] = []
        for one in nodes:
            text = self.read(one)
            if self.kind(text) not in {"text", "null"}:
                self.refuse_kind(one, text, self.kind(text), "a text")
            texts.append(text if null is None else Call("coalesce", (text, null), "text"))
        call = Call(name, tuple(texts), kind)
        return Constant(evaluate_constant(self.reader.domain, call)) if is_constant(call) else call

    def whole(self, node: exp.Expr) -> Constant:
        """A small whole number, as a count of places or characters."""
        value = self.constant(node)
        if not isinstance(value, Decimal) or value != value.to_integral_value() or abs(value) > 1_000:
            self.reader.refuse(node, "a whole number from -1000 to 1000 must stand here")
        return Constant(Fraction(value))

    def _is_zero(self, scalar: Scalar) -> bool:
        return is_constant(scalar) and evaluate_constant(self.reader.domain, scalar) == 0

    def _has_items(self, node: exp.Expr) -> bool:
        """Whether items stand in a part of the tree, by themselves or under a name."""
        for found in node.walk():
            if isinstance(found, AGGREGATES) or (isinstance(found, exp.Anonymous) and ItemReader.reads(found)):
                return True
            if isinstance(found, exp.Column) and isinstance(found.this, exp.Identifier) and not found.args.get("table"):
                alias = match_name(found.this, self.aliases)
                if alias is not None and (self.prefers_aliases or not self.reader.names_column(found.this)):
                    return True
        return False

    def refuse_kind(self, node: exp.Expr, argument: Scalar, kind: Kind, wanted: str) -> NoReturn:
        """Say that something else is wanted where an argument stands."""
        if kind == "bins":
            what = "is known by its bins only; group by it, or compare it with bin edges in CASE"
        else:
            held = {"several types": kind, "null": "nothing but null"}.get(kind, f"{kind}s")
            what = f"gives {held}; {wanted} must stand here"
        name = shown_name(argument.name) if isinstance(argument, Of) else "the expression"
        self.reader.refuse(node, f"{name} {what}")
