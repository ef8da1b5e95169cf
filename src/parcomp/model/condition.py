"""A condition: a union of predicate queries, as a WHERE clause with OR asks for.

What is *counted* are the rows of the union.  What is *charged* is its hull, the smallest single query that contains
it: on each attribute the values that some alternative accepts.  A row that the count can depend on is covered by the
hull, so charging by the hull is safe (paper §3.1, generalized coverage); it is exact where the alternatives differ on
one attribute only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from parcomp.errors import SizeError, WorkloadError
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query

__all__ = ["MAX_ALTERNATIVES", "Condition"]

_Terms: TypeAlias = tuple[tuple[int, Predicate], ...]

MAX_ALTERNATIVES = 64
"""The most alternatives that a condition may have once it is written as a union."""

_MAX_PRODUCT = 16 * MAX_ALTERNATIVES
"""The most pairs of alternatives that are intersected at once, so that no wording takes long to read."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The rows that satisfy at least one of the ``alternatives``.

    Contradictions are left out, an alternative within another one is dropped, and those that differ on a single
    attribute become one; what remains is sorted.  So equal conditions that differ in wording only are usually equal
    objects, and always if they are conjunctions.  Their hulls are always equal: a hull depends on the rows alone.

    >>> from parcomp.model.attribute import Categorical, Integer
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)})
    >>> women, young = Condition.of(domain.query(sex="F")), Condition.of(domain.query(age=range(0, 30)))
    >>> str((women & young).hull), str((women | young).hull), len((women | young).alternatives)
    ("sex: F, age: {'from': 0, 'to': 29}", 'every row', 2)
    """

    domain: Domain = field(repr=False)
    alternatives: tuple[Query, ...]

    def __post_init__(self) -> None:
        for query in self.alternatives:
            _check_domain(self.domain, query.domain)
        object.__setattr__(self, "alternatives", _simplified(self.domain, self.alternatives))

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
        accepted = dict(self.alternatives[0].tested)
        for query in self.alternatives[1:]:
            terms = dict(query.tested)
            accepted = {index: known | terms[index] for index, known in accepted.items() if index in terms}
        return Query(self.domain, tuple(sorted(accepted.items(), key=_position)))

    def covers(self, row: Mapping[str, object]) -> bool:
        """Whether a row (attribute → value) satisfies it."""
        return any(query.covers(row) for query in self.alternatives)

    def __and__(self, other: Condition) -> Condition:
        """The rows that satisfy both."""
        _check_domain(self.domain, other.domain)
        pairs = len(self.alternatives) * len(other.alternatives)
        if pairs > _MAX_PRODUCT:
            raise _too_many(pairs)
        return Condition(self.domain, tuple(a & b for a, b in product(self.alternatives, other.alternatives)))

    def __or__(self, other: Condition) -> Condition:
        """The rows that satisfy at least one of both."""
        return Condition(self.domain, (*self.alternatives, *other.alternatives))

    def where(self) -> list[dict[str, object]]:
        """The alternatives, each as a workload file has it."""
        return [query.where() for query in self.alternatives]


def _check_domain(domain: Domain, other: Domain) -> None:
    if other is not domain and other != domain:
        raise WorkloadError("the alternatives of a condition belong to one domain")


def _too_many(count: int) -> SizeError:
    return SizeError(
        f"the condition is a union of {count:,} conjunctions, at most {MAX_ALTERNATIVES} are taken; "
        "ask for its parts one by one"
    )


def _simplified(domain: Domain, queries: Iterable[Query]) -> tuple[Query, ...]:
    """Alternatives of the same union, sorted by their notation."""
    kept = {query.tested for query in queries if not query.is_contradiction}
    if len(kept) < 2:
        return tuple(Query(domain, terms) for terms in kept)
    if len(kept) > MAX_ALTERNATIVES:
        # Comparing each with each would take too long; merging is linear.
        kept = _merged(kept)
        if len(kept) > MAX_ALTERNATIVES:
            raise _too_many(len(kept))
    while True:
        fewer = _merged(_maximal(kept))
        if len(fewer) == len(kept):
            return tuple(sorted((Query(domain, terms) for terms in fewer), key=_notation))
        kept = fewer


def _maximal(alternatives: set[_Terms]) -> set[_Terms]:
    """Without those within another one."""
    by_attribute = [(terms, dict(terms)) for terms in alternatives]
    return {
        inner
        for inner, accepted in by_attribute
        if not any(
            outer is not inner and all(index in accepted and accepted[index] <= predicate for index, predicate in outer)
            for outer, _ in by_attribute
        )
    }


def _merged(alternatives: set[_Terms]) -> set[_Terms]:
    """Those that differ on a single attribute become one, attribute by attribute in the order of the domain."""
    for index in sorted({index for terms in alternatives for index, _ in terms}):
        # None where some alternative does not test the attribute: values outside the domain pass too.
        accepted: dict[_Terms, Predicate | None] = {}
        for terms in alternatives:
            rest = tuple(term for term in terms if term[0] != index)
            mine = next((predicate for i, predicate in terms if i == index), None)
            known = accepted.get(rest, mine)
            accepted[rest] = None if known is None or mine is None else known | mine
        alternatives = {
            rest if predicate is None else tuple(sorted((*rest, (index, predicate)), key=_position))
            for rest, predicate in accepted.items()
        }
    return alternatives


def _position(term: tuple[int, Predicate]) -> int:
    return term[0]


def _notation(query: Query) -> str:
    return json.dumps(query.where(), ensure_ascii=False, sort_keys=True)
