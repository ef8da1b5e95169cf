"""Keys of GROUP BY: from an expression to bands, and what of a SELECT follows from the labels of its groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from sqlglot import exp

from parcomp.errors import ParcompError
from parcomp.model import (
    OPERATIONS,
    Column,
    Constant,
    Expression,
    Grouping,
    Item,
    Label,
    Mapped,
    Operation,
    Statement,
    Value,
)
from parcomp.sql.logic import Atom
from parcomp.sql.scalars import Call, Of, Scalar, is_constant, leaves_of
from parcomp.sql.tree import TreeReader, shown_name
from parcomp.sql.values import Values, evaluate_constant, label_of

__all__ = ["GroupKeys"]


@dataclass(frozen=True, slots=True)
class GroupKeys:
    """The keys of one statement, by the expressions that they were written as."""

    reader: TreeReader
    table: exp.Identifier
    statement: Statement
    keys: dict[Scalar, Grouping]

    @staticmethod
    def grouping(reader: TreeReader, node: exp.Expr, scalar: Scalar) -> Grouping:
        """What a key groups by: the values of an attribute, or bands of them."""
        if isinstance(scalar, Of) and not scalar.level:
            return Grouping(scalar.index)
        if not any(isinstance(leaf, (Of, Atom)) for leaf in leaves_of(scalar)):
            reader.refuse(node, "GROUP BY takes attributes and expressions over them, not a constant")
        try:
            values = Values(reader.domain, scalar)
            bands = values.bands()
        except ParcompError as error:
            reader.refuse_because(node, error)
        return Grouping(values.index, None if values.is_plain(bands) else bands)

    def missing(self, columns: list[Column], written: list[str]) -> Iterator[tuple[Scalar, str]]:
        """The keys that no column shows, which an answer shows after the others, since its rows need names.

        Each is named as it is written; a key that is written twice is kept once, and then by its attribute.
        """
        shown = {column.expression.place for column in columns if isinstance(column.expression, (Label, Mapped))}
        names = self.reader.domain.names
        known = written if len(written) == len(self.keys) else [names[one.index] for one in self.keys.values()]
        for (scalar, grouping), name in zip(self.keys.items(), known, strict=True):
            if self._place(grouping) not in shown:
                yield scalar, scalar.name if isinstance(scalar, Of) else name

    def column(self, node: exp.Expr, scalar: Scalar) -> Expression:
        """What a column shows."""
        if is_constant(scalar):
            try:
                label_of(evaluate_constant(self.reader.domain, scalar))
            except ParcompError as error:
                self.reader.refuse_because(node, error)
        return self.resolve(node, scalar)

    def resolve(self, node: exp.Expr, scalar: Scalar, clause: str = "SELECT") -> Expression:
        """An expression over items and labels; what it says of an attribute must follow from what is grouped by.

        ``clause`` is where it stands, for messages.
        """
        if scalar in self.keys:
            return Label(self._place(self.keys[scalar]))
        if isinstance(scalar, (Constant, Item)):
            return scalar
        indexes = {leaf.index for leaf in leaves_of(scalar) if isinstance(leaf, (Of, Atom))}
        has_items = any(isinstance(leaf, Item) for leaf in leaves_of(scalar))
        if not has_items and len(indexes) == 1:
            return self._mapped(node, scalar, indexes.pop(), clause)
        assert isinstance(scalar, Call)
        if scalar.name == "number":
            return self.resolve(node, scalar.arguments[0], clause)
        if scalar.name not in OPERATIONS:
            what = f"{scalar.name.upper()} is computed from one attribute that is grouped by"
            self.reader.refuse(node, f"{what}; here aggregates or several attributes stand in it")
        return Operation(scalar.name, tuple(self.resolve(node, argument, clause) for argument in scalar.arguments))

    def _place(self, grouping: Grouping) -> int:
        return self.statement.groups.index(grouping)

    def _mapped(self, node: exp.Expr, scalar: Scalar, index: int, clause: str) -> Expression:
        """A function of an attribute that is the same throughout each group."""
        mine = [grouping for grouping in self.keys.values() if grouping.index == index]
        if not mine:
            self._refuse_ungrouped(node, index, clause)
        try:
            values = Values(self.reader.domain, scalar)
            tables = {grouping: self._table(grouping, values) for grouping in mine}
        except ParcompError as error:
            self.reader.refuse_because(node, error)
        for grouping, table in tables.items():
            if table is not None:
                return Mapped(self._place(grouping), table)
        name = shown_name(self.reader.domain.names[index])
        self.reader.refuse(node, f"this expression of {name} differs within a group; group by it, or by {name}")

    def _table(
        self, grouping: Grouping, values: Values
    ) -> tuple[tuple[Value, Fraction | str | bool | None], ...] | None:
        """What each label stands for; None if for several things."""
        if grouping.bands is None:
            key = next(key for key in self.statement.group_keys() if key.index == grouping.index)
            codes = (code for start, stop in key.values.runs() for code in range(start, stop))
            return tuple((values.attribute.value(code), label_of(values.at(code))) for code in codes)
        labels = grouping.bands.labels
        bands = values.bands()
        found = []
        for label, member in zip(labels, grouping.bands.members, strict=True):
            holds = [one for one, other in zip(bands.labels, bands.members, strict=True) if member <= other]
            if len(holds) != 1:
                return None
            found.append((label, label_of(values.at(member.first()))))
        return tuple(found)

    def _refuse_ungrouped(self, node: exp.Expr, index: int, clause: str) -> NoReturn:
        names = self.reader.domain.names
        stands = "is selected" if clause == "SELECT" else f"stands after {clause}"
        for column in node.find_all(exp.Column):
            if isinstance(column.this, exp.Identifier) and self.reader.names_column(column.this):
                at, name, *_ = self.reader.attribute_or_level(column, self.table)
                if at == index:
                    self._refuse_without_group(column, shown_name(name), stands)
        self._refuse_without_group(node, shown_name(names[index]), stands)

    def _refuse_without_group(self, node: exp.Expr, name: str, stands: str) -> NoReturn:
        instead = f"add GROUP BY {name}"
        if not stands.endswith("selected"):
            instead += ", or write an aggregate there, such as COUNT(*)"
        self.reader.refuse(node, f"{name} {stands} without GROUP BY; {instead}")
