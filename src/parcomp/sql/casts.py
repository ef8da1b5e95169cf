"""Casts, and the dates and timestamps that are written as casts of strings.

What a cast gives follows from the declared values, so that no row can make it fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import NoReturn, Protocol

from sqlglot import exp

from parcomp.errors import ParcompError, shown
from parcomp.model import Constant, Dated, Stepped
from parcomp.sql.instead import instead_of
from parcomp.sql.scalars import Call, Kind, Of, Scalar, is_constant, is_of_items
from parcomp.sql.tree import TreeReader
from parcomp.sql.values import Values, evaluate_constant

__all__ = ["CastReader", "Expressions", "cast_type", "read_date", "read_timestamp"]

_WHOLE = {exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT}
_DECIMALS = {exp.DType.DECIMAL, exp.DType.DOUBLE, exp.DType.FLOAT}
_TEXTS = {exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.NVARCHAR, exp.DType.NCHAR, exp.DType.TEXT}
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?)?")


class Expressions(Protocol):
    """Reads what stands within a cast."""

    def read(self, node: exp.Expr) -> Scalar:
        """The expression that a node is."""
        ...

    def kind(self, scalar: Scalar) -> Kind:
        """What an expression gives."""
        ...

    def call(self, node: exp.Expr, name: str, *arguments: Scalar) -> Call:
        """An operation on numbers."""
        ...

    def whole(self, node: exp.Expr) -> Constant:
        """A small whole number."""
        ...

    def truncation(self, node: exp.Expr, unit: str, of: exp.Expr) -> Scalar:
        """The start of the unit that a date is in."""
        ...

    def refuse_kind(self, node: exp.Expr, argument: Scalar, kind: Kind, wanted: str) -> NoReturn:
        """Say that something else is wanted here."""
        ...


@dataclass(frozen=True, slots=True)
class CastReader:
    """Reads casts; ``expressions`` reads what stands within."""

    reader: TreeReader
    expressions: Expressions

    def read(self, node: exp.Cast) -> Scalar:
        """The expression that a cast is."""
        to = cast_type(self.reader, node)
        if isinstance(node.this, exp.Literal) and node.this.is_string and to in {exp.DType.DATE, exp.DType.TIMESTAMP}:
            return Constant(
                read_date(self.reader, node) if to == exp.DType.DATE else read_timestamp(self.reader, node).isoformat()
            )
        inner = self.expressions.read(node.this)
        kind = self.expressions.kind(inner)
        if to == exp.DType.DATE and kind == "date":
            return self.expressions.truncation(node, "day", node.this)
        if to in _TEXTS:
            return self._as_text(node, inner, kind)
        if (to == exp.DType.TIMESTAMP and kind == "date") or (to == exp.DType.BOOLEAN and kind == "boolean"):
            return inner
        if to == exp.DType.BOOLEAN and kind in {"integer", "number"}:
            return Call("<>", (inner, Constant(Fraction(0))), "boolean")
        if kind == "text" and to in _WHOLE | _DECIMALS:
            inner = self._as_number(node, inner)
        if to in _WHOLE:
            return Call("round", self.expressions.call(node, "round", inner).arguments, "integer")
        if to not in _DECIMALS:
            self.reader.refuse(node, f"this cast is not supported; {instead_of('TRY_CAST')}")
        places = node.args["to"].expressions
        if len(places) > 1:
            return self.expressions.call(node, "round", inner, self.expressions.whole(places[1].this))
        return self.expressions.call(node, "number", inner)

    def _as_text(self, node: exp.Cast, inner: Scalar, kind: Kind) -> Scalar:
        """What a value is written as.  A length must leave room for every value, for some databases would cut it."""
        if kind in {"bins", "several types"}:
            self.expressions.refuse_kind(node, inner, kind, "a value of one kind")
        attribute = self.reader.domain.attributes[inner.name] if isinstance(inner, Of) and not inner.level else None
        form: list[Scalar] = []
        if isinstance(attribute, Stepped):
            form = [Constant(Fraction(attribute.places))]
        elif isinstance(attribute, Dated) and attribute.unit == "hour":
            form = [Constant("hour")]
        text = inner if kind in {"text", "null"} else Call("text", (inner, *form), "text")
        if lengths := node.args["to"].expressions:
            if is_of_items(inner) or len(lengths) > 1:
                self.reader.refuse(node, "a length can't be told of what is computed from aggregates; write VARCHAR")
            known = [evaluate_constant(self.reader.domain, text)] if is_constant(text) else self._texts(node, text)
            longest, room = (
                max((len(str(one)) for one in known), default=0),
                self.expressions.whole(lengths[0].this).value,
            )
            assert isinstance(room, Fraction)
            if longest > room:
                self.reader.refuse(
                    node, f"some values have {longest} characters; write VARCHAR, or LEFT(…) to cut them"
                )
        return text

    def _as_number(self, node: exp.Expr, inner: Scalar) -> Scalar:
        """The numbers that texts spell; which they are follows from the domain, so no row can make it fail."""
        if is_of_items(inner):
            self.expressions.refuse_kind(node, inner, "text", "a number")
        known = [evaluate_constant(self.reader.domain, inner)] if is_constant(inner) else self._texts(node, inner)
        for one in known:
            if not _NUMBER.fullmatch(one):
                self.reader.refuse(node, f"{shown(one)} is no number; CASE can say what stands for it")
        return Call("spelled", (inner,), "number")

    def _texts(self, node: exp.Expr, scalar: Scalar) -> list[str]:
        try:
            return Values(self.reader.domain, scalar).texts()
        except ParcompError as error:
            self.reader.refuse_because(node, error)


def cast_type(reader: TreeReader, node: exp.Cast) -> exp.DType:
    """What a cast gives."""
    reader.only(node, "this", "to")
    reader.only(node.args["to"], "this", "expressions")
    to: exp.DType = node.args["to"].this
    return to


def read_date(reader: TreeReader, node: exp.Cast) -> str:
    """A date is compared as the string that it is written as, so there must be one way to write it."""
    written = str(node.this.this)
    try:
        plain: str | None = date.fromisoformat(written).isoformat()
    except ValueError:
        plain = None
    if plain != written:
        reader.refuse(node, f"{shown(written)} is not a date; write DATE '2020-12-31'")
    return written


def read_timestamp(reader: TreeReader, node: exp.Cast) -> datetime:
    """A moment of time, to the second or finer."""
    written = str(node.this.this)
    try:
        if _TIMESTAMP.fullmatch(written):
            return datetime.fromisoformat(written)
    except ValueError:
        pass
    reader.refuse(node, f"{shown(written)} is not a timestamp; write TIMESTAMP '2020-12-31 05:00:00'")
