"""Aggregates: what is asked for in each group, as an item of a statement."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn, TypeAlias

from sqlglot import exp

from parcomp.errors import ParcompError
from parcomp.model import FINEST_PLACE, Condition, Item, Query, Statement, read_decimal
from parcomp.sql.instead import SHAPE
from parcomp.sql.tree import TreeReader, unwrapped

__all__ = ["AGGREGATES", "ItemReader"]

_Ranked: TypeAlias = exp.WithinGroup | exp.Quantile | exp.PercentileCont | exp.PercentileDisc

_OF_AN_ATTRIBUTE: dict[type[exp.Expr], Item] = {
    exp.Sum: Item("sum", "?"),
    exp.Avg: Item("average", "?"),
    exp.Variance: Item("variance", "?"),
    exp.VariancePop: Item("variance", "?", sample=False),
    exp.Stddev: Item("deviation", "?"),
    exp.StddevSamp: Item("deviation", "?"),
    exp.StddevPop: Item("deviation", "?", sample=False),
    exp.Median: Item("quantile", "?", Fraction(1, 2)),
}
_BY_NAME: dict[str, Item] = {"VAR": Item("variance", "?"), "STD": Item("deviation", "?")}
_QUANTILES = {"QUANTILE_CONT", "QUANTILE_DISC"}
_WRITTEN: dict[type[exp.Expr], str] = {
    exp.VariancePop: "VAR_POP",
    exp.StddevPop: "STDDEV_POP",
    exp.StddevSamp: "STDDEV_SAMP",
    exp.PercentileCont: "PERCENTILE_CONT",
    exp.PercentileDisc: "PERCENTILE_DISC",
}

AGGREGATES = (exp.AggFunc, exp.WithinGroup)
"""The nodes that stand for aggregates, beside functions that the parser has no name for."""


@dataclass(frozen=True, slots=True)
class ItemReader:
    """Reads aggregates; ``table`` is what columns may be qualified by."""

    reader: TreeReader
    table: exp.Identifier

    @staticmethod
    def reads(node: exp.Anonymous) -> bool:
        """Whether a function that the parser has no name for is an aggregate."""
        return str(node.this).upper() in _QUANTILES | set(_BY_NAME)

    def read(self, node: exp.Expr) -> Item:
        """The item that an aggregate asks for."""
        item = self._read(node)
        domain = self.reader.domain
        try:
            Statement(Condition(domain, (Query(domain, ()),)), (item,))
        except ParcompError as error:
            self.reader.refuse_because(node, error)
        return item

    def _read(self, node: exp.Expr) -> Item:
        if isinstance(node, exp.Count):
            return self._count(node)
        if isinstance(node, (exp.WithinGroup, exp.Quantile, exp.PercentileCont, exp.PercentileDisc)):
            return self._ranked(node)
        if isinstance(node, exp.Anonymous):
            return self._by_name(node)
        model = _OF_AN_ATTRIBUTE.get(type(node))
        if model is None:
            self.reader.unsupported(node, SHAPE)
        self.reader.only(node, "this")
        return Item(model.kind, self._attribute(node, node.this), model.at, model.sample)

    def _count(self, node: exp.Count) -> Item:
        self.reader.only(node, "this", "big_int")
        if node.this is None:
            self.reader.refuse(node, "COUNT takes * or an attribute; write COUNT(*) for the number of rows")
        counted = unwrapped(node.this)
        if isinstance(counted, exp.Star):
            self.reader.only(counted)
            return Item("count")
        if isinstance(counted, exp.Distinct):
            self.reader.only(counted, "expressions")
            if len(counted.expressions) != 1:
                instead = "COUNT(DISTINCT …) takes one attribute; GROUP BY several and count the groups"
                self.reader.refuse(counted.expressions[1], instead)
            return Item("distinct", self._attribute(node, counted.expressions[0]))
        if isinstance(counted, (exp.Literal, exp.Boolean)):
            return Item("count")
        if not isinstance(counted, exp.Column) or not isinstance(counted.this, exp.Identifier):
            self._refuse(node, counted.this if isinstance(counted, exp.Column) else counted)
        index, *_ = self.reader.attribute_or_level(counted, self.table)
        return Item("count", self.reader.domain.names[index])

    def _ranked(self, node: _Ranked) -> Item:
        """PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY a), or QUANTILE(a, p)."""
        if isinstance(node, exp.Quantile):
            self.reader.only(node, "this", "quantile")
            return Item("quantile", self._attribute(node, node.this), self._place(node.args["quantile"]))
        how = "write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY attribute)"
        if not isinstance(node, exp.WithinGroup) or not isinstance(node.this, (exp.PercentileCont, exp.PercentileDisc)):
            self.reader.refuse(node, f"{_sql_name(node)} needs the attribute that it is of; {how}")
        self.reader.only(node, "this", "expression")
        self.reader.only(node.this, "this")
        order = node.expression
        self.reader.only(order, "expressions")
        if len(order.expressions) != 1:
            self.reader.refuse(order, f"one attribute stands after ORDER BY here; {how}")
        (key,) = order.expressions
        self.reader.only(key, "this", "desc", "nulls_first")
        place = self._place(node.this.this)
        return Item("quantile", self._attribute(node, key.this), 1 - place if key.args.get("desc") else place)

    def _by_name(self, node: exp.Anonymous) -> Item:
        self.reader.only(node, "this", "expressions")
        name = str(node.this).upper()
        wanted = 2 if name in _QUANTILES else 1
        if len(node.expressions) != wanted:
            takes = "an attribute and a number from 0 to 1" if wanted == 2 else "an attribute"
            self.reader.refuse(node, f"{name} takes {takes}")
        attribute = self._attribute(node, node.expressions[0])
        if wanted == 2:
            return Item("quantile", attribute, self._place(node.expressions[1]))
        model = _BY_NAME[name]
        return Item(model.kind, attribute, model.at, model.sample)

    def _place(self, node: exp.Expr) -> Fraction:
        node = unwrapped(node)
        number = read_decimal(node.this) if isinstance(node, exp.Literal) and not node.is_string else Decimal("NaN")
        if number.is_nan() or not 0 <= number <= 1 or number.adjusted() < -20:
            self.reader.refuse(node, "a quantile is at a number from 0 to 1, such as 0.9")
        place = Fraction(number)
        if place.denominator > FINEST_PLACE:
            near = float(place.limit_denominator(1_000))
            self.reader.refuse(
                node, f"quantiles are told apart to a fraction of {FINEST_PLACE:,} parts; write {near:.3f}"
            )
        return place

    def _attribute(self, node: exp.Expr, of: exp.Expr) -> str:
        """The attribute that an aggregate is of."""
        of = unwrapped(of)
        if isinstance(of, exp.Star):
            self.reader.refuse(node, f"{_sql_name(node)} takes an attribute, not *; COUNT(*) counts rows")
        if isinstance(of, exp.Distinct):
            self.reader.refuse(of, "DISTINCT is not supported here; COUNT(DISTINCT attribute) counts the values")
        if of is None:
            self.reader.refuse(node, f"{_sql_name(node)} takes an attribute, as in {_sql_name(node)}(attribute)")
        if not isinstance(of, exp.Column):
            self._refuse(node, of)
        return self.reader.attribute(of, self.table)[1]

    def _refuse(self, node: exp.Expr, of: exp.Expr) -> NoReturn:
        name = _sql_name(node)
        takes = f"{name} takes {'* or ' if name == 'COUNT' else ''}an attribute"
        if isinstance(of, (exp.Case, exp.If)):
            takes += "; write the condition after WHERE, or GROUP BY what it tests"
        elif isinstance(of, exp.Mul):
            takes += f"; a constant factor can stand before it, as in 2 * {name}(attribute)"
        self.reader.unsupported(of, takes)


def _sql_name(node: exp.Expr) -> str:
    """An aggregate as it is written."""
    if isinstance(node, exp.WithinGroup):
        return _sql_name(node.this)
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    return _WRITTEN.get(type(node), node.key.upper())
