"""A statement: what one SELECT asks for, free of its wording.

It lists *items* (how many rows, the sum or the average of an attribute, …) over the rows of a condition, for the whole
or in each group.  Equal statements have equal :attr:`Statement.text`, by which answers are found again and which the
ledger records.

*What is measured* are :attr:`Statement.aggregates`, numbers that items share where they can: a count and an average
over the same rows need two numbers and not three.

*Without items* a statement lists its groups, which are declared: it measures nothing, covers no row and is free.

*What it costs.*  The groups of a GROUP BY are disjoint, so a row changes the numbers of one group only: a statement is
one node of the query graph, charged once, with the coverage :attr:`Statement.query`.

*Sums* are of whole numbers: of how many steps a value is (:class:`~parcomp.model.attribute.Scale`), so their noise is
an integer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import product

from parcomp.errors import PredicateError, SizeError, WorkloadError
from parcomp.model.attribute import Attribute, Binned, Categorical, Value
from parcomp.model.bands import Bands
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.item import FINEST_PLACE, Aggregate, AggregateKind, Item, Kind
from parcomp.model.notation import write_predicate
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query

__all__ = [
    "FINEST_PLACE",
    "MAX_GROUPS",
    "MAX_ITEMS",
    "Aggregate",
    "AggregateKind",
    "GroupKey",
    "Grouping",
    "Item",
    "Kind",
    "Statement",
    "groups_touched",
]

MAX_GROUPS = 100_000
"""The most groups that one statement may return."""

_MOST_PAIRS = 1_000_000
"""The most pairs of bands on one attribute that are intersected, so that no statement takes long to read."""

MAX_ITEMS = 100
"""The most items that one statement may list."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """A key of GROUP BY: the position of an attribute, by each of its values or by ``bands`` of them."""

    index: int
    bands: Bands | None = None


@dataclass(frozen=True, slots=True)
class GroupKey:
    """All that a statement groups by on one attribute, as far as its condition leaves it possible.

    ``groupings`` are the positions of these keys among the statement's, and ``values`` those that have a group.  Each
    of them is a group of its own, unless ``members`` says which values each group has; then ``labels`` has for each
    group the labels of ``groupings``.
    """

    index: int
    groupings: tuple[int, ...]
    values: Predicate
    members: tuple[Predicate, ...] | None = None
    labels: tuple[tuple[Value, ...], ...] | None = None

    @property
    def count(self) -> int:
        """How many groups there are."""
        return self.values.count if self.members is None else len(self.members)


@dataclass(frozen=True, slots=True)
class Statement:
    """What is asked: items, over the rows of ``where``, in each group of ``groups``.

    Items and groupings are kept once each and sorted, and rows that are in no number are left out of the condition, so
    that statements that ask for the same are equal.

    >>> from parcomp.model.attribute import Categorical, Integer
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)})
    >>> old = Condition.of(domain.query(age=range(65, 120)))
    >>> by_sex = Statement.one("count", old, groups=(0,))
    >>> list(by_sex.group_labels()), by_sex.text
    ([('F',), ('M',)], '{"groups":["sex"],"kind":"count","where":[{"age":{"from":65,"to":119}}]}')
    """

    where: Condition
    items: tuple[Item, ...] = (Item("count"),)
    groups: tuple[Grouping, ...] = ()
    _keys: tuple[GroupKey, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.items and not self.groups:
            raise WorkloadError("a statement has an item or a group at least")
        for item in self.items:
            if item.attribute is not None:
                self.domain.index(item.attribute)
                if item.kind not in ("count", "distinct"):
                    _steps(item.attribute, self.domain.attributes[item.attribute])
        for grouping in self.groups:
            self._check_grouping(grouping)
        about = self.items[0].attribute if self.items else None
        if about is not None and all(item.attribute == about for item in self.items):
            object.__setattr__(self, "where", self.where & self._having(about))
        items = sorted({self.item(item) for item in self.items}, key=lambda item: json.dumps(item.text, sort_keys=True))
        if len(items) > MAX_ITEMS:
            raise SizeError(f"a statement lists {len(items):,} items, at most {MAX_ITEMS} are taken; ask for fewer")
        object.__setattr__(self, "items", tuple(items))
        groups = sorted(set(self.groups), key=lambda one: (one.index, json.dumps(self._grouping_text(one))))
        object.__setattr__(self, "groups", tuple(groups))
        object.__setattr__(self, "_keys", tuple(self._made_keys()))
        if self.group_count > MAX_GROUPS:
            raise SizeError(
                f"GROUP BY would return {self.group_count:,} groups, at most {MAX_GROUPS:,} are; group by less"
            )

    @classmethod
    def one(cls, kind: Kind, where: Condition, attribute: str | None = None, groups: tuple[int, ...] = ()) -> Statement:
        """The statement with a single item, grouped by the values of some attributes."""
        return cls(where, (Item(kind, attribute),), tuple(map(Grouping, groups)))

    @property
    def domain(self) -> Domain:
        """The domain that the statement is about."""
        return self.where.domain

    def item(self, asked: Item) -> Item:
        """The item as it is kept: rows with a value are all rows, where the condition leaves no others."""
        if asked.kind == "count" and asked.attribute is not None and not self._leaves_out(asked.attribute):
            return Item("count")
        return asked

    @property
    def query(self) -> Query:
        """The query to charge: it covers every row that the answer can depend on.

        A row that has no group, for its value is not declared or bears no label, is in no number.
        """
        hulls = [self.rows_of(one).hull for one in self.aggregates]
        if not hulls:
            return Condition(self.domain, ()).hull
        covered = reduce(_hull_of_both, (hull for hull in hulls if not hull.is_contradiction), None)
        if covered is None:
            return hulls[0]
        return covered & Query(self.domain, tuple((key.index, key.values) for key in self._keys))

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The different numbers to measure in each group."""
        return tuple(dict.fromkeys(one for item in self.items for one in self.aggregates_of(item)))

    def aggregates_of(self, item: Item) -> tuple[Aggregate, ...]:
        """The numbers that an item follows from.

        An average is a sum and a count.  The sum is of differences to the middle of the bounds, which one row changes
        least, unless the plain sum is asked for as well, which then serves both.
        """
        name = item.attribute
        rows = Aggregate("rows", name if name is not None and self._leaves_out(name) else None)
        if name is None or item.kind == "count":
            return (rows,)
        if item.kind == "distinct":
            return (Aggregate("distinct", name),)
        low, high = _steps(name, self.domain.attributes[name])
        if item.kind == "quantile":
            return (Aggregate("ranks", name, *self._left(name, low, high), at=item.at),)
        middle = (low + high) // 2
        total = Aggregate("sum", name, low, high, center=0 if Item("sum", name) in self.items else middle)
        if item.kind == "sum":
            return (total,)
        if item.kind == "average":
            return (total, rows)
        return (total, Aggregate("squares", name, low, high, center=middle), rows)

    def rows_of(self, aggregate: Aggregate) -> Condition:
        """The rows that a number is of: those with a value, where it is about an attribute."""
        return self.where if aggregate.attribute is None else self.where & self._having(aggregate.attribute)

    @property
    def touched(self) -> int:
        """The most groups that replacing one row changes."""
        return groups_touched(self.groups)

    @property
    def text(self) -> str:
        """The canonical notation, as JSON."""
        fields: dict[str, object] = {"where": self.where.where()}
        if len(self.items) == 1:
            fields |= self.items[0].text
        else:
            fields["items"] = [item.text for item in self.items]
        if self.groups:
            fields["groups"] = [self._grouping_text(one) for one in self.groups]
        return json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @property
    def group_count(self) -> int:
        """How many groups are returned; 1 without GROUP BY."""
        return math.prod(key.count for key in self._keys)

    def group_keys(self) -> tuple[GroupKey, ...]:
        """What is grouped by, attribute by attribute; groups are their combinations, the last key varying fastest."""
        return self._keys

    def _made_keys(self) -> Iterator[GroupKey]:
        attributes = list(self.domain.attributes.values())
        accepted = dict(self.where.hull.terms)
        for index in sorted({grouping.index for grouping in self.groups}):
            size = attributes[index].size
            # Which attribute the hull of a contradiction constrains is arbitrary: no group is possible on any.
            left = Predicate.contradiction(size) if self.where.is_contradiction else accepted.get(index)
            yield self._key(index, Predicate.tautology(size) if left is None else left)

    def group_labels(self) -> Iterator[tuple[Value, ...]]:
        """The groups, in the order in which answers list them, each by the labels of ``groups``."""
        order = [grouping for key in self._keys for grouping in key.groupings]
        for parts in product(*(self._labels(key) for key in self._keys)):
            labels = dict(zip(order, (label for part in parts for label in part), strict=True))
            yield tuple(labels[place] for place in range(len(self.groups)))

    def _key(self, index: int, left: Predicate) -> GroupKey:
        """The groups on one attribute of which these values are left."""
        mine = [place for place, grouping in enumerate(self.groups) if grouping.index == index]
        banded = [self.groups[place].bands for place in mine]
        if banded == [None]:
            return GroupKey(index, tuple(mine), left)
        # Each grouping splits what those before it have left together; by values comes last, as it splits most.
        order = sorted(zip(mine, banded, strict=True), key=lambda one: one[1] is None)
        parts: list[tuple[tuple[Value, ...], Predicate]] = [((), left)]
        for _, bands in order:
            if bands is not None and len(parts) * len(bands.labels) > _MOST_PAIRS:
                raise SizeError("the keys of GROUP BY on one attribute split it too finely together; group by less")
            parts = [
                ((*labels, label), part)
                for labels, values in parts
                for label, part in self._split(index, values, bands)
            ]
            if len(parts) > MAX_GROUPS:
                break
        members = tuple(part for _, part in parts)
        values = Predicate.from_runs(left.size, [run for member in members for run in member.runs()])
        return GroupKey(
            index, tuple(place for place, _ in order), values, members, tuple(labels for labels, _ in parts)
        )

    def _split(self, index: int, values: Predicate, bands: Bands | None) -> Iterator[tuple[Value, Predicate]]:
        """The parts of some values by their labels, without those that are empty."""
        if bands is not None:
            parts = ((label, member & values) for label, member in zip(bands.labels, bands.members, strict=True))
            yield from ((label, part) for label, part in parts if not part.is_contradiction)
            return
        attribute = self.domain.attributes[self.domain.names[index]]
        for code in _codes(values):
            yield attribute.value(code), Predicate.from_runs(values.size, [(code, code + 1)])

    def _labels(self, key: GroupKey) -> Iterable[tuple[Value, ...]]:
        if key.labels is not None:
            return key.labels
        attribute = self.domain.attributes[self.domain.names[key.index]]
        return [(attribute.value(code),) for code in _codes(key.values)]

    def _having(self, name: str) -> Condition:
        """The rows that have a value of an attribute."""
        known = Predicate.from_runs(self.domain.attributes[name].size, [(0, self.domain.attributes[name].null)])
        return Condition.of(Query(self.domain, ((self.domain.index(name), known),)))

    def _left(self, name: str, low: int, high: int) -> tuple[int, int]:
        """The ends of the values of a number from ``low`` to ``high`` that the condition leaves possible."""
        accepted = dict((self.where & self._having(name)).hull.tested).get(self.domain.index(name))
        runs = [] if accepted is None else list(accepted.runs())
        # Of no rows there is nothing to search for, and which ends are named does not matter.
        return (low + runs[0][0], low + runs[-1][1] - 1) if runs else (low, high)

    def _check_grouping(self, grouping: Grouping) -> None:
        if not 0 <= grouping.index < len(self.domain.names):
            raise WorkloadError(f"there is no attribute at position {grouping.index} to group by")
        size = self.domain.attributes[self.domain.names[grouping.index]].size
        if grouping.bands is not None and any(member.size != size for member in grouping.bands.members):
            raise PredicateError(
                f"{self.domain.names[grouping.index]}: bands are of all {size:,} values of the attribute"
            )

    def _leaves_out(self, name: str) -> bool:
        """Whether the condition leaves rows that have no value of an attribute."""
        return (self.where & self._having(name)) != self.where

    def _grouping_text(self, grouping: Grouping) -> object:
        """A key of GROUP BY in the canonical notation: the attribute, and the values of each label of its bands."""
        name = self.domain.names[grouping.index]
        if grouping.bands is None:
            return name
        attribute = self.domain.attributes[name]
        pairs = zip(grouping.bands.labels, grouping.bands.members, strict=True)
        return {"attribute": name, "bands": [[label, write_predicate(attribute, member)] for label, member in pairs]}


def _hull_of_both(one: Query | None, other: Query) -> Query:
    """The smallest query that covers what either of two covers; neither is a contradiction."""
    if one is None:
        return other
    terms = dict(other.tested)
    shared = ((index, known | terms[index]) for index, known in one.tested if index in terms)
    return Query(one.domain, tuple(shared))


def groups_touched(groups: object) -> int:
    """The most groups that replacing one row changes: with GROUP BY a row can leave one group and enter another.

    ``groups`` are those of a statement, or what its canonical text has under that name, None if it has nothing.
    """
    return 2 if groups else 1


def _codes(predicate: Predicate) -> Iterator[int]:
    return (code for start, stop in predicate.runs() for code in range(start, stop))


def _steps(name: str, attribute: Attribute) -> tuple[int, int]:
    """How many steps the least and the largest value of an attribute are."""
    if attribute.scale is not None:
        return attribute.scale.base, attribute.scale.base + attribute.null - 1
    if isinstance(attribute, Binned):
        raise PredicateError(
            f"{name}: only the bins are known, and their sum is no sum of the values; declare low and high without "
            "bins for whole numbers, or with a step for decimals"
        )
    counted = f"; COUNT(*) WHERE {name} tells how many are true" if _is_boolean(attribute) else ""
    raise PredicateError(f"{name}: sums and averages are of numbers with declared bounds (low and high){counted}")


def _is_boolean(attribute: Attribute) -> bool:
    return isinstance(attribute, Categorical) and all(isinstance(value, bool) for value in attribute.values)
