"""A statement: what one SELECT asks for, free of its wording.

It counts the rows of a condition, or sums or averages an attribute over them, for the whole or for each group.  Equal
statements have equal :attr:`Statement.text`, by which answers are found again and which the ledger records.

*What it costs.*  The groups of a GROUP BY are disjoint, so a row changes the answer of one group only: a statement is
one node of the query graph, charged once, with the coverage :attr:`Statement.query`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal, TypeAlias, get_args

from parcomp.errors import PredicateError, SizeError, WorkloadError
from parcomp.model.attribute import Attribute, Binned, Integer, Value
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query

__all__ = ["MAX_GROUPS", "Aggregate", "Kind", "Statement", "groups_touched"]

Kind: TypeAlias = Literal["count", "sum", "average"]

MAX_GROUPS = 100_000
"""The most groups that one statement may return."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A number that is measured in each group: how many rows, or the sum of an attribute less ``center`` over them.

    In a sum each value is rounded down to a whole number and then clipped to ``low … high``; ``attribute`` is None for
    a count.  ``sensitivity`` is the most by which adding or removing one row changes it, ``spread`` the most by which
    replacing a row within the coverage does.
    """

    attribute: str | None = None
    low: int = 0
    high: int = 1
    center: int = 0

    @property
    def sensitivity(self) -> int:
        """The most by which one row more or less changes the number."""
        return 1 if self.attribute is None else max(abs(self.low - self.center), abs(self.high - self.center), 1)

    @property
    def spread(self) -> int:
        """The most by which it changes if one row takes the place of another in the same group."""
        return 0 if self.attribute is None else self.high - self.low


@dataclass(frozen=True, slots=True)
class Statement:
    """What is asked: a kind of number, over the rows of ``where``, in each group of ``groups``.

    ``attribute`` is what is summed or averaged, None for counts.  ``groups`` are the positions of the attributes to
    group by, ascending.

    >>> from parcomp.model.attribute import Categorical
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)})
    >>> by_sex = Statement("count", Condition.of(domain.query(age=range(65, 120))), groups=(0,))
    >>> list(by_sex.group_rows()), by_sex.text
    ([{'sex': 'F'}, {'sex': 'M'}], '{"groups":["sex"],"kind":"count","where":[{"age":{"from":65,"to":119}}]}')
    """

    kind: Kind
    where: Condition
    attribute: str | None = None
    groups: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise WorkloadError(f"a statement is one of {', '.join(get_args(Kind))}, not {self.kind!r}")
        if (self.attribute is None) != (self.kind == "count"):
            raise WorkloadError(f"a {self.kind} is {'not ' if self.kind == 'count' else ''}taken of an attribute")
        object.__setattr__(self, "groups", tuple(sorted(set(self.groups))))
        if self.attribute is not None:
            index = self.domain.index(self.attribute)
            attribute = self.domain.attributes[self.attribute]
            _clipping(self.attribute, attribute)
            if attribute.nullable:
                # A row without a value adds nothing to a sum, and SQL leaves it out of an average.
                known = Predicate.from_runs(attribute.size, [(0, attribute.size - 1)])
                has_value = Condition.of(Query(self.domain, ((index, known),)))
                object.__setattr__(self, "where", self.where & has_value)
        if self.group_count > MAX_GROUPS:
            raise SizeError(
                f"GROUP BY would return {self.group_count:,} groups, at most {MAX_GROUPS:,} are; group by less"
            )

    @property
    def domain(self) -> Domain:
        """The domain that the statement is about."""
        return self.where.domain

    @property
    def query(self) -> Query:
        """The query to charge: it covers every row that the answer can depend on."""
        return self.where.hull

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The numbers to measure in each group; an average needs two of them, a centered sum and a count."""
        if self.attribute is None:
            return (Aggregate(),)
        low, high = _clipping(self.attribute, self.domain.attributes[self.attribute])
        if self.kind == "sum":
            return (Aggregate(self.attribute, low, high),)
        return (Aggregate(self.attribute, low, high, center=(low + high) // 2), Aggregate())

    @property
    def touched(self) -> int:
        """The most groups that replacing one row changes."""
        return groups_touched(self.groups)

    @property
    def text(self) -> str:
        """The canonical notation, as JSON."""
        names = self.domain.names
        fields: dict[str, object] = {"kind": self.kind, "where": self.where.where()}
        if self.attribute is not None:
            fields["attribute"] = self.attribute
        if self.groups:
            fields["groups"] = [names[index] for index in self.groups]
        return json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @property
    def group_count(self) -> int:
        """How many groups are returned; 1 without GROUP BY."""
        return math.prod(predicate.count for predicate in self._group_predicates())

    def group_codes(self) -> Iterator[tuple[int, ...]]:
        """The codes of each group, in the order in which answers list them: one for each attribute of ``groups``."""
        runs = [
            [code for start, stop in predicate.runs() for code in range(start, stop)]
            for predicate in self._group_predicates()
        ]
        return product(*runs)

    def group_rows(self) -> Iterator[dict[str, Value]]:
        """The groups as attribute → value: every declared one that the condition leaves possible."""
        names = [self.domain.names[index] for index in self.groups]
        for codes in self.group_codes():
            yield {name: self.domain.attributes[name].value(c) for name, c in zip(names, codes, strict=True)}

    def _group_predicates(self) -> list[Predicate]:
        attributes = list(self.domain.attributes.values())
        if self.where.is_contradiction:
            # Which attribute the hull of a contradiction constrains is arbitrary: no group is possible on any.
            return [Predicate.contradiction(attributes[index].size) for index in self.groups]
        accepted = dict(self.query.terms)
        return [accepted.get(index, Predicate.tautology(attributes[index].size)) for index in self.groups]


def groups_touched(groups: object) -> int:
    """The most groups that replacing one row changes: with GROUP BY a row can leave one group and enter another.

    ``groups`` are those of a statement, or what its canonical text has under that name, None if it has nothing.
    """
    return 2 if groups else 1


def _clipping(name: str, attribute: Attribute) -> tuple[int, int]:
    """The whole numbers between which the values of an attribute are clipped in a sum."""
    if isinstance(attribute, Integer):
        return attribute.low, attribute.high
    if isinstance(attribute, Binned):
        low, high = Fraction(attribute.low), Fraction(attribute.high)
        if high - low >= attribute.bins:
            # The largest whole number below `high`, which itself belongs to no bin.
            return math.floor(low), math.ceil(high) - 1
        raise PredicateError(f"{name}: values are summed as whole numbers, and its bins are narrower than 1")
    raise PredicateError(f"{name}: sums and averages are of numbers with declared bounds (low and high)")
