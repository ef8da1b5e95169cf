"""Predicate queries and their coverage (paper §3.1).

A query is a conjunction of predicates, one for each attribute; a missing one is a tautology.  Its *coverage* is the set
of rows that satisfy it, and since it is a product of value sets, so is the joint coverage of several queries: it is
empty exactly when it is empty on some attribute (Prop. "disjoint").

A table may hold a value that its attribute does not declare.  It satisfies no predicate on that attribute, as NULL in
SQL, and its row counts wherever the attribute is not tested.  So a predicate that lists every declared value has the
coverage of a missing one, and is charged like it, but counts fewer rows: a query remembers that it tests the attribute.

The paper also defines a *generalized* coverage for any numeric query: the rows whose presence can change its
answer.  For counting queries that is the same set.  For a sum over the rows that satisfy some predicates it is
contained in the coverage of those predicates, so charging by the latter is safe.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from parcomp.errors import PredicateError, WorkloadError
from parcomp.model.notation import write_predicate
from parcomp.model.predicate import Predicate

if TYPE_CHECKING:
    from parcomp.model.domain import Domain

__all__ = ["Query"]

_SHOWN = 8
"""How many predicates stand in the ``repr``."""


@dataclass(frozen=True, slots=True)
class Query:
    """A conjunction of predicates; made by :meth:`Domain.query`.

    ``tested`` holds the attributes that have a predicate, by position and ascending; ``terms`` those of them whose
    predicate is not a tautology, which decide the coverage.

    >>> from parcomp import Categorical, Domain, Integer
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)})
    >>> women, young = domain.query(sex="F"), domain.query(age=range(0, 30))
    >>> women.overlaps(young), (women & young).coverage_size, women.isdisjoint(domain.query(sex="M"))
    (True, 30, True)
    """

    domain: Domain
    terms: tuple[tuple[int, Predicate], ...]
    tested: tuple[tuple[int, Predicate], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tested", self.terms)
        object.__setattr__(self, "terms", tuple(term for term in self.terms if not term[1].is_tautology))

    @property
    def is_contradiction(self) -> bool:
        """Whether no row satisfies it: such a query costs nothing, and its true answer is 0."""
        return any(predicate.is_contradiction for _, predicate in self.terms)

    @property
    def coverage_size(self) -> int:
        """The number of rows that satisfy it."""
        sizes = [attribute.size for attribute in self.domain.attributes.values()]
        for index, predicate in self.terms:
            sizes[index] = predicate.count
        return prod(sizes)

    def covers(self, row: Mapping[str, object]) -> bool:
        """Whether a row (attribute → value) satisfies it."""
        for index, predicate in self.tested:
            name = self.domain.names[index]
            if name not in row:
                raise PredicateError(f"the row lacks attribute {name!r}")
            code = self.domain.attributes[name].code(row[name])
            if code is None or code not in predicate:
                return False
        return True

    def __and__(self, other: Query) -> Query:
        """The joint coverage of both, which is again a query."""
        self._check_domain(other)
        terms = dict(self.tested)
        for index, predicate in other.tested:
            terms[index] = terms[index] & predicate if index in terms else predicate
        return Query(self.domain, tuple(sorted(terms.items(), key=lambda term: term[0])))

    def isdisjoint(self, other: Query) -> bool:
        """Whether no row satisfies both (Prop. "disjoint": small attributes first, stop at the first disjoint one)."""
        self._check_domain(other)
        if self.is_contradiction or other.is_contradiction:
            return True
        theirs = dict(other.terms)
        shared = [(mine.size, mine, theirs[index]) for index, mine in self.terms if index in theirs]
        return any(a.isdisjoint(b) for _, a, b in sorted(shared, key=lambda term: term[0]))

    def overlaps(self, other: Query) -> bool:
        """Whether some row satisfies both."""
        return not self.isdisjoint(other)

    def where(self) -> dict[str, Any]:
        """The predicates as a workload file has them."""
        attributes = list(self.domain.attributes.items())
        return {attributes[i][0]: write_predicate(attributes[i][1], predicate) for i, predicate in self.tested}

    def __str__(self) -> str:
        return ", ".join(f"{name}: {written}" for name, written in self.where().items()) or "every row"

    def __repr__(self) -> str:
        where = [f"{name}={reprlib.repr(written)}" for name, written in self.where().items()]
        more = [f"… {len(where)} in all"] if len(where) > _SHOWN else []
        return f"Query({', '.join(where[:_SHOWN] + more)})"

    def _check_domain(self, other: Query) -> None:
        if self.domain is not other.domain and self.domain != other.domain:
            raise WorkloadError("the queries belong to different domains")
