"""Released counts, as queries with noise: what other counts can follow from.

A statement that counts the rows of one conjunction is a query; with GROUP BY each of its groups is one.  What was
counted is what was charged, so it is read back from the ledger.  Statements of other kinds are passed over: sums,
averages and unions across attributes are no counts of a conjunction.  The noise on statements that were charged by
themselves is independent; that on the statements of a strategy goes together, and is taken so.

*Groups together.*  A statement may have many groups, and most of them play the same part.  Let two values of an
attribute be alike if every predicate in view accepts both or neither of them, but for the groups of statements that
group by the values of this attribute.  Changing both for each other everywhere changes nothing but the order of those
groups, whose noise is of one kind and independent.  So of all weights with the least variance some are the same for
groups that differ in values that are alike: the mean over all such changes of places solves the same equations, and
its variance is no larger (it is convex).  These groups are therefore taken together, as one count with the noise of
all of them.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from parcomp.custodian.strategy import Strategy
from parcomp.errors import ParcompError
from parcomp.ledger import Charge
from parcomp.model import (
    Bands,
    Condition,
    Domain,
    Grouping,
    GroupKey,
    Item,
    Predicate,
    Query,
    Statement,
    read_predicate,
)
from parcomp.noise import Mechanism

__all__ = ["CountedGroups", "Part", "ReleasedCount", "ReleasedStrategy", "StrategyCount", "read_count", "together"]

_MOST_EDGES = 4_096
"""At more ends of runs on one attribute its values are not compared."""

_COUNT = Item("count")


class Part(Protocol):
    """A noisy count that was released: of which query, and which charge paid for it."""

    @property
    def charge(self) -> Charge:
        """The charge."""

    @property
    def query(self) -> Query:
        """What is counted."""

    @property
    def numbers(self) -> Sequence[int]:
        """The places of the numbers that it is the sum of, among those of the charge."""

    def value(self, stored: Any) -> Fraction:
        """The noisy count, given what is stored for the charge."""


@dataclass(frozen=True, slots=True)
class ReleasedCount:
    """A charge for a count, in groups or not, and the noise that each of its numbers has."""

    charge: Charge
    statement: Statement
    mechanism: Mechanism


@dataclass(frozen=True, slots=True, eq=False)
class CountedGroups:
    """Some groups of a released count together: the query that they add up to, and their places in the answer."""

    count: ReleasedCount
    query: Query
    places: npt.NDArray[np.int64] = field(repr=False)

    @property
    def charge(self) -> Charge:
        """The charge that paid for it."""
        return self.count.charge

    @property
    def numbers(self) -> Sequence[int]:
        """The places of the groups."""
        return [int(place) for place in self.places]

    @property
    def variance(self) -> float:
        """That of the noise on the sum."""
        return len(self.places) * self.count.mechanism.variance

    def value(self, stored: Any) -> Fraction:
        """The sum of the noisy numbers of these groups, given those of all."""
        return Fraction(sum(stored[0][place] for place in self.places.tolist()))


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedStrategy:
    """A charge for a batch that was measured as a whole."""

    charge: Charge
    strategy: Strategy


@dataclass(frozen=True, slots=True, eq=False)
class StrategyCount:
    """One of the counts of a strategy, by its place among them."""

    released: ReleasedStrategy
    place: int

    @property
    def charge(self) -> Charge:
        """The charge that paid for it."""
        return self.released.charge

    @property
    def query(self) -> Query:
        """What is counted."""
        return self.released.strategy.queries[self.place]

    @property
    def numbers(self) -> Sequence[int]:
        """Its place."""
        return [self.place]

    def value(self, stored: Any) -> Fraction:
        """The noisy count, given those of all."""
        return Fraction(stored["answers"][self.place])


def read_count(domain: Domain, text: str) -> Statement | None:
    """The statement of a charge, if it counts a conjunction of this domain."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.keys() - {"groups"} != {"kind", "where"}:
        return None
    if document["kind"] != "count" or len(document["where"]) != 1:
        return None
    try:
        groups = tuple(_grouping(domain, written) for written in document.get("groups", ()))
        statement = Statement(Condition.of(domain.query(document["where"][0])), (_COUNT,), groups)
    except (ParcompError, KeyError, TypeError, ValueError):
        return None
    # What was counted is what the text says: whatever is read otherwise is not taken.
    return statement if statement.text == text else None


def together(counts: Sequence[ReleasedCount], others: Iterable[Query], most: int) -> list[CountedGroups]:
    """The groups of released counts, those that play the same part together; ``most`` of them, of the first counts.

    ``others`` are all other queries in view.
    """
    alike = _Alike([*others], counts)
    found: list[CountedGroups] = []
    for count in counts:
        keys = [alike.parts(key) for key in count.statement.group_keys()]
        chosen = [key for key in keys if key is not None]
        if len(chosen) < len(keys) or len(found) + prod(map(len, chosen)) > most:
            continue
        sizes = tuple(key.count for key in count.statement.group_keys())
        [where] = count.statement.where.alternatives
        indices = [key.index for key in count.statement.group_keys()]
        for parts in product(*chosen):
            query = reduce(_narrowed, zip(indices, (part for part, _ in parts), strict=True), where)
            places = np.zeros(1, np.int64)
            if parts:
                grid = np.meshgrid(*(positions for _, positions in parts), indexing="ij")
                places = np.ravel_multi_index(tuple(one.ravel() for one in grid), sizes)
            found.append(CountedGroups(count, query, places))
    return found


class _Alike:
    """Which values of an attribute are alike, as every predicate in view has it."""

    def __init__(self, others: Sequence[Query], counts: Sequence[ReleasedCount]) -> None:
        self._predicates: dict[int, dict[Predicate, None]] = {}
        for query in others:
            for index, predicate in query.tested:
                self._see(index, predicate)
        for count in counts:
            [where] = count.statement.where.alternatives
            for index, predicate in where.tested:
                self._see(index, predicate)
            for key in count.statement.group_keys():
                for predicate in (key.values, *(key.members or ())):
                    self._see(key.index, predicate)
        self._classes: dict[int, list[Predicate] | None] = {}

    def parts(self, key: GroupKey) -> list[tuple[Predicate, npt.NDArray[np.int64]]] | None:
        """The groups of a key as parts that are taken together, each with the positions of its groups."""
        if key.members is not None:
            return [(member, np.array([place])) for place, member in enumerate(key.members)]
        if key.index not in self._classes:
            self._classes[key.index] = _classes(key.values.size, list(self._predicates[key.index]))
        classes = self._classes[key.index]
        if classes is None:
            return None
        codes = _codes(key.values)
        parts = [part for part in classes if not part.isdisjoint(key.values)]
        return [(part, np.searchsorted(codes, _codes(part))) for part in parts]

    def _see(self, index: int, predicate: Predicate) -> None:
        self._predicates.setdefault(index, {})[predicate] = None


def _classes(size: int, predicates: Sequence[Predicate]) -> list[Predicate] | None:
    """The values in classes that no predicate tells apart; None if they are too many."""
    edges = sorted({0, size, *(edge for one in predicates for run in one.runs() for edge in run)})
    if len(edges) > _MOST_EDGES:
        return None
    accepted = [0] * (len(edges) - 1)
    for number, predicate in enumerate(predicates):
        for start, stop in predicate.runs():
            for place in range(bisect_left(edges, start), bisect_left(edges, stop)):
                accepted[place] |= 1 << number
    runs: dict[int, list[tuple[int, int]]] = {}
    for place, by in enumerate(accepted):
        runs.setdefault(by, []).append((edges[place], edges[place + 1]))
    return [Predicate.from_runs(size, part) for part in runs.values()]


def _codes(predicate: Predicate) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(start, stop) for start, stop in predicate.runs())])


def _narrowed(query: Query, term: tuple[int, Predicate]) -> Query:
    return query & Query(query.domain, (term,))


def _grouping(domain: Domain, written: object) -> Grouping:
    if isinstance(written, str):
        return Grouping(domain.index(written))
    assert isinstance(written, dict)
    name, bands = written["attribute"], written["bands"]
    attribute = domain.attributes[name]
    members = tuple(read_predicate(attribute, members) for _, members in bands)
    return Grouping(domain.index(name), Bands(tuple(label for label, _ in bands), members))
