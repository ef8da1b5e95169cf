"""A selection: a statement, and how its noisy numbers are shown.

What a statement releases are noisy numbers; a function of them alone, chosen by whoever asks, costs nothing more
(post-processing: Dwork and Roth 2014, Proposition 2.1).  So all that a SELECT does beyond its items, groups and
condition is kept here, apart from what is charged: the columns and their order, arithmetic, HAVING, ORDER BY and LIMIT.
Two selections of one statement share what was bought.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, islice
from typing import TypeAlias

from parcomp.errors import SizeError, WorkloadError, shown
from parcomp.model.arithmetic import OPERATIONS
from parcomp.model.attribute import Value
from parcomp.model.statement import Item, Statement

__all__ = [
    "Column",
    "Constant",
    "Expression",
    "Label",
    "Mapped",
    "Operation",
    "Ordering",
    "Selection",
    "is_noisy",
    "item_name",
    "items_in",
    "nodes_of",
]


MAX_NODES = 5_000
"""The most parts of all expressions together."""

MAX_COMPUTED = 1_000_000
"""The most operations in all groups together: they are computed when the answer was paid for, and take time."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text, a truth value or null."""

    value: Fraction | str | bool | None


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a row's group by the key at ``place`` in the statement's groups."""

    place: int


@dataclass(frozen=True, slots=True)
class Mapped:
    """What each label of the key at ``place`` stands for."""

    place: int
    table: tuple[tuple[Value, Fraction | str | bool | None], ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of :mod:`parcomp.model.arithmetic` on other expressions."""

    name: str
    arguments: tuple[Expression, ...]
    noisy: bool = field(init=False, repr=False, compare=False)
    """Whether some item is in it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "noisy", any(map(is_noisy, self.arguments)))


Expression: TypeAlias = Constant | Label | Mapped | Item | Operation


@dataclass(frozen=True, slots=True)
class Column:
    """What stands under one name in the answer."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Ordering:
    """A key of ORDER BY."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """A statement and how its noisy numbers are shown: free post-processing.

    Items stand in expressions as the statement keeps them.  Names of columns are told apart by a number at their ends.
    """

    statement: Statement
    columns: tuple[Column, ...]
    having: Expression | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        if not self.columns:
            raise WorkloadError("a selection has a column at least")
        for name, number in (("LIMIT", self.limit), ("OFFSET", self.offset)):
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
                raise WorkloadError(f"{name} is a whole number, not {shown(number)}")
        expressions = [column.expression for column in self.columns]
        expressions += [key.expression for key in self.order] + ([] if self.having is None else [self.having])
        if sum(1 for _ in islice(chain.from_iterable(map(nodes_of, expressions)), MAX_NODES + 1)) > MAX_NODES:
            raise SizeError(f"the expressions are made of more than {MAX_NODES:,} parts; ask for fewer")
        operations = sum(isinstance(node, Operation) for one in expressions for node in nodes_of(one))
        if operations * self.statement.group_count > MAX_COMPUTED:
            raise SizeError(
                f"{operations:,} operations in each of {self.statement.group_count:,} groups are more than the "
                f"{MAX_COMPUTED:,} that are computed; ask for the aggregates alone and compute with them, or for fewer "
                "groups"
            )
        named: dict[str, Column] = {}
        for column in self.columns:
            name = _unused(column.name, named)
            named[name] = Column(name, self._kept(column.expression))
        object.__setattr__(self, "columns", tuple(named.values()))
        if self.having is not None:
            object.__setattr__(self, "having", self._kept(self.having))
        order = tuple(replace(key, expression=self._kept(key.expression)) for key in self.order)
        object.__setattr__(self, "order", order)

    @classmethod
    def of(cls, statement: Statement) -> Selection:
        """A statement as it is: its groups, each by the name of its attribute, and then its items."""
        names = statement.domain.names
        labels = [Column(names[one.index], Label(place)) for place, one in enumerate(statement.groups)]
        return cls(statement, (*labels, *(Column(item_name(item), item) for item in statement.items)))

    @property
    def picks_by_noise(self) -> bool:
        """Whether which groups are shown depends on noisy numbers."""
        cut = self.limit is not None or self.offset > 0
        keys = [] if self.having is None else [self.having]
        keys += [key.expression for key in self.order] if cut else []
        return any(map(is_noisy, keys))

    def _kept(self, expression: Expression) -> Expression:
        """The expression with its items as the statement keeps them."""
        match expression:
            case Item():
                item = self.statement.item(expression)
                if item not in self.statement.items:
                    raise WorkloadError(f"{item_name(item)} is no item of the statement")
                return item
            case Label(place) | Mapped(place, _):
                if not 0 <= place < len(self.statement.groups):
                    raise WorkloadError(f"the statement has {len(self.statement.groups)} groups, not one at {place}")
                return expression
            case Operation(name, arguments):
                if name not in OPERATIONS:
                    raise WorkloadError(f"unknown operation {shown(name)}")
                return Operation(name, tuple(self._kept(argument) for argument in arguments))
        return expression


def nodes_of(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of."""
    yield expression
    if isinstance(expression, Operation):
        for argument in expression.arguments:
            yield from nodes_of(argument)


def is_noisy(expression: Expression) -> bool:
    """Whether an expression depends on some item."""
    return expression.noisy if isinstance(expression, Operation) else isinstance(expression, Item)


def items_in(expression: Expression) -> Iterator[Item]:
    """The items that an expression depends on."""
    return (node for node in nodes_of(expression) if isinstance(node, Item))


def item_name(item: Item) -> str:
    """An item as SQL writes it.

    >>> item_name(Item("variance", "age", sample=False)), item_name(Item("quantile", "age", Fraction(1, 2)))
    ('VAR_POP(age)', 'MEDIAN(age)')
    """
    about = item.attribute or "*"
    if item.at is not None:
        return f"MEDIAN({about})" if item.at == Fraction(1, 2) else f"QUANTILE_CONT({about}, {float(item.at):g})"
    name = {"count": "COUNT", "sum": "SUM", "average": "AVG", "variance": "VARIANCE", "deviation": "STDDEV"}
    if item.kind == "distinct":
        return f"COUNT(DISTINCT {about})"
    of_rows = {"variance": "VAR_POP", "deviation": "STDDEV_POP"}
    return f"{name[item.kind] if item.sample else of_rows[item.kind]}({about})"


def _unused(name: str, used: Iterable[str]) -> str:
    """The name, with a number after it if it is used already."""
    taken, number, found = set(used), 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
