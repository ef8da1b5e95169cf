"""A condition: a union of predicate queries, as a WHERE clause with OR asks for.

What is *counted* are the rows of the union.  What is *charged* is its hull, the smallest single query that contains
it: on each attribute the values that some alternative accepts.  A row that the count can depend on is covered by the
hull, so charging by the hull is safe (paper §3.1, generalized coverage); it is exact where the alternatives differ on
one attribute only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from parcomp.errors import SizeError, WorkloadError
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query

__all__ = ["MAX_ALTERNATIVES", "Condition"]

MAX_ALTERNATIVES = 256
"""The most alternatives that a condition may have once it is written as a union."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The rows that satisfy at least one of the ``alternatives``.

    Contradictions are left out, an alternative within another one is dropped, and two that differ on a single attribute
    become one; what remains is sorted.  So equal conditions that differ in wording only are usually equal objects, and
    always if they are conjunctions.

    >>> from parcomp.model.attribute import Categorical, Integer
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)})
    >>> women, young = Condition.of(domain.query(sex="F")), Condition.of(domain.query(age=range(0, 30)))
    >>> str((women & young).hull), str((women | young).hull), len((women | young).alternatives)
    ("sex: F, age: {'from': 0, 'to': 29}", 'every row', 2)
    """

    domain: Domain
    alternatives: tuple[Query, ...]

    def __post_init__(self) -> None:
        for query in self.alternatives:
            if query.domain is not self.domain and query.domain != self.domain:
                raise WorkloadError("the alternatives of a condition belong to one domain")
        object.__setattr__(self, "alternatives", _simplified(self.alternatives))
        if len(self.alternatives) > MAX_ALTERNATIVES:
            raise SizeError(
                f"the condition is a union of {len(self.alternatives):,} conjunctions, at most {MAX_ALTERNATIVES} are "
                "taken; ask for its parts one by one"
            )

    @classmethod
    def of(cls, query: Query) -> Condition:
        """The condition with a single alternative."""
        return cls(query.domain, (query,))

    @property
    def is_contradiction(self) -> bool:
        """Whether no row satisfies it."""
        return not self.alternatives

    @property
    def hull(self) -> Query:
        """The smallest query that covers every row of the condition."""
        if self.is_contradiction:
            size = next(iter(self.domain.attributes.values())).size
            return Query(self.domain, ((0, Predicate.contradiction(size)),))
        accepted = dict(self.alternatives[0].terms)
        for query in self.alternatives[1:]:
            terms = dict(query.terms)
            accepted = {index: known | terms[index] for index, known in accepted.items() if index in terms}
        return Query(self.domain, tuple(sorted(accepted.items(), key=lambda term: term[0])))

    def covers(self, row: Mapping[str, object]) -> bool:
        """Whether a row (attribute → value) satisfies it."""
        return any(query.covers(row) for query in self.alternatives)

    def __and__(self, other: Condition) -> Condition:
        """The rows that satisfy both."""
        if len(self.alternatives) * len(other.alternatives) > MAX_ALTERNATIVES**2:
            raise SizeError("the condition has too many alternatives; ask for its parts one by one")
        return Condition(self.domain, tuple(a & b for a, b in product(self.alternatives, other.alternatives)))

    def __or__(self, other: Condition) -> Condition:
        """The rows that satisfy at least one of both."""
        return Condition(self.domain, (*self.alternatives, *other.alternatives))

    def where(self) -> list[dict[str, object]]:
        """The alternatives, each as a workload file has it."""
        return [query.where() for query in self.alternatives]


def _simplified(queries: Iterable[Query]) -> tuple[Query, ...]:
    """Alternatives of the same union, sorted by their notation."""
    kept: list[Query] = []
    waiting = sorted({query for query in queries if not query.is_contradiction}, key=_notation, reverse=True)
    while waiting:
        query = waiting.pop()
        if any(_within(query, other) for other in kept):
            continue
        kept = [other for other in kept if not _within(other, query)]
        partner = next((other for other in kept if _merged(query, other) is not None), None)
        if partner is None:
            kept.append(query)
            continue
        merged = _merged(query, partner)
        assert merged is not None
        kept.remove(partner)
        waiting.append(merged)
    return tuple(sorted(kept, key=_notation))


def _within(inner: Query, outer: Query) -> bool:
    terms = dict(inner.terms)
    return all(index in terms and terms[index] <= predicate for index, predicate in outer.terms)


def _merged(one: Query, other: Query) -> Query | None:
    """The union of two queries where it is a query again: they constrain the same attributes and differ on one."""
    mine, theirs = dict(one.terms), dict(other.terms)
    if mine.keys() != theirs.keys():
        return None
    different = [index for index in mine if mine[index] != theirs[index]]
    if len(different) > 1:
        return None
    for index in different:
        mine[index] = mine[index] | theirs[index]
    return Query(one.domain, tuple(sorted(mine.items(), key=lambda term: term[0])))


def _notation(query: Query) -> str:
    return json.dumps(query.where(), ensure_ascii=False, sort_keys=True)
