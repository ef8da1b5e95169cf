"""A workload: queries with costs, held in columns, so that millions of queries need no Python object each.

Predicates are interned: equal predicates of one attribute are one object with one number.  A query is a slice of
the column ``term`` of such numbers, so a workload of a million queries on five attributes takes some 40 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from math import prod
from operator import itemgetter
from pathlib import Path
from typing import TypeVar, overload

import numpy as np
import numpy.typing as npt

from parcomp.costs import COST_KINDS, Amount, Cost, CostKind, amount_up, square_up
from parcomp.errors import CostError, PredicateError, WorkloadError, shown
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.predicate_table import InternedPredicates, PredicateTable
from parcomp.model.query import Query
from parcomp.model.workload_builder import QueryId, WorkloadBuilder
from parcomp.model.workload_file import read_workload, save_workload

__all__ = ["Workload", "book_each"]

_T = TypeVar("_T")

_FREE, _WHOLE = -1, -2
"""What stands for no predicate, and for one that lists every declared value, where others have a number."""

"""A name given in a file, or the number of the line or position where none was given."""


class Workload:
    """Queries over one domain, each with a cost (a weight of 1 where nothing else is said).

    A predicate that lists every declared value is no term, since it constrains no row of the domain.  ``whole`` has
    these by position: a row with a value that is not declared is counted without such a test, and not with it.

    >>> from parcomp.model.attribute import Categorical
    >>> domain = Domain({"sex": Categorical(["F", "M"])})
    >>> workload = Workload(domain, [domain.query(sex="F"), domain.query(sex="M")], costs=[1, 0.5])
    >>> len(workload), workload.total
    (2, 1.5)
    """

    def __init__(
        self,
        domain: Domain,
        queries: Iterable[Query] = (),
        costs: Iterable[Amount | Cost] | None = None,
        ids: Iterable[QueryId] | None = None,
    ) -> None:
        built = WorkloadBuilder(domain)
        amounts: Iterator[Amount | Cost] = repeat(Cost.of("weight", 1)) if costs is None else iter(costs)
        names: Iterator[QueryId | None] = repeat(None) if ids is None else iter(ids)
        for query in queries:
            if query.domain is not domain and query.domain != domain:
                raise WorkloadError("a query belongs to another domain than the workload")
            amount = _following(amounts, "costs")
            cost = amount if isinstance(amount, Cost) else Cost.of("weight", amount)
            built.add(query.tested, cost, _following(names, "ids"))
        for given, rest, what in ((costs, amounts, "costs"), (ids, names, "ids")):
            if given is not None and any(True for _ in rest):
                raise WorkloadError(f"there are more {what} than queries")
        self._take(built)

    def _take(self, built: WorkloadBuilder) -> None:
        self.domain = built.domain
        self.table: PredicateTable = built.table
        self.start = np.fromiter(built.start, np.int64, len(built.start))
        self.term = np.fromiter(built.term, np.int32, len(built.term))
        self.units = np.fromiter(built.units, np.int64, len(built.units))
        self.kinds = np.fromiter(built.kinds, np.int8, len(built.kinds))
        self.whole: Mapping[int, Sequence[int]] = built.whole
        self._ids = built.ids if built.named else None

    @classmethod
    def from_builder(cls, built: WorkloadBuilder) -> Workload:
        """The workload that a builder has gathered."""
        workload = cls.__new__(cls)
        workload._take(built)
        return workload

    @classmethod
    def from_columns(
        cls,
        domain: Domain,
        table: PredicateTable,
        start: npt.NDArray[np.int64],
        term: npt.NDArray[np.int32],
        cost: tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]],
        ids: list[QueryId] | None,
        whole: Mapping[int, Sequence[int]] | None = None,
    ) -> Workload:
        """A workload from its columns: terms of query ``q`` are ``term[start[q]:start[q + 1]]``, by attribute.

        ``whole`` has the attributes of which a query lists every declared value, by its position.
        """
        workload = cls.__new__(cls)
        workload.domain, workload.table = domain, table
        workload.start, workload.term = start, term
        workload.units, workload.kinds = cost
        workload._ids = ids
        workload.whole = {} if whole is None else whole
        return workload

    @classmethod
    def load(cls, domain: Domain, path: str | Path) -> Workload:
        """Read a workload file (``.jsonl`` or ``.sql``)."""
        built = WorkloadBuilder(domain)
        read_workload(built, path)
        return cls.from_builder(built)

    def save(self, path: str | Path) -> None:
        """Write a workload file (JSON Lines)."""
        save_workload(self, path)

    @classmethod
    def product(cls, domain: Domain, predicates: Mapping[str, Sequence[object]], cost: Amount | Cost = 1) -> Workload:
        """Every combination of one predicate for each given attribute, the last attribute running fastest.

        Predicates are written as in workload files, except that None stands for the tautology (``[None]`` for the
        value null).

        >>> from parcomp.model.attribute import Categorical
        >>> domain = Domain({"sex": Categorical(["F", "M"]), "native": Categorical([True, False])})
        >>> len(Workload.product(domain, {"sex": [None, "F", "M"], "native": [None, True]}))
        6
        """
        table = InternedPredicates()
        numbers: dict[int, npt.NDArray[np.int32]] = {}
        for name, choices in predicates.items():
            index = domain.index(name)
            if isinstance(choices, (str, Mapping)):
                raise PredicateError(f"{name}: a product takes a list of predicates for each attribute")
            numbers[index] = np.array([_choice(domain, table, index, name, written) for written in choices], np.int32)
        shape = [len(choice) for choice in numbers.values()]
        count = prod(shape)
        grid = np.empty((count, len(shape)), np.int32)
        order = sorted(numbers)
        for axis, (index, choice) in enumerate(numbers.items()):
            column = choice.reshape([-1 if other == axis else 1 for other in range(len(shape))])
            grid[:, order.index(index)] = np.broadcast_to(column, shape).ravel()
        held = grid >= 0
        start = np.concatenate(([0], np.cumsum(held.sum(axis=1, dtype=np.int64))))
        spent = cost if isinstance(cost, Cost) else Cost.of("weight", cost)
        costs = np.full(count, spent.units, np.int64), np.full(count, COST_KINDS.index(spent.kind), np.int8)
        whole: dict[int, list[int]] = {}
        for position, axis in np.argwhere(grid == _WHOLE).tolist():
            whole.setdefault(position, []).append(order[axis])
        return cls.from_columns(domain, table, start, grid[held], costs, None, whole)

    def __repr__(self) -> str:
        costs = " and ".join(self.cost_kinds) or "weight"
        return f"<Workload: {len(self):,} queries on {shown(self.domain.name)}, costs in {costs}>"

    def __len__(self) -> int:
        return len(self.units)

    def __iter__(self) -> Iterator[Query]:
        return (self[position] for position in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> Query: ...
    @overload
    def __getitem__(self, key: slice | npt.NDArray[np.integer] | Sequence[int]) -> Workload: ...
    def __getitem__(self, key: int | slice | npt.NDArray[np.integer] | Sequence[int]) -> Query | Workload:
        if isinstance(key, (int, np.integer)):
            position = range(len(self))[key]
            numbers = self.term[self.start[position] : self.start[position + 1]].tolist()
            terms = [(self.table.attributes[n], self.table.predicates[n]) for n in numbers]
            if position in self.whole:
                sizes = [attribute.size for attribute in self.domain.attributes.values()]
                terms += [(index, Predicate.tautology(sizes[index])) for index in self.whole[position]]
                terms.sort(key=itemgetter(0))
            return Query(self.domain, tuple(terms))
        # Numpy's rules: positions from either end, or one boolean for each query.
        chosen = np.arange(len(self))[key if isinstance(key, slice) else _as_index(key)]
        lengths = self.start[chosen + 1] - self.start[chosen]
        start = np.concatenate(([0], np.cumsum(lengths)))
        source = np.repeat(self.start[chosen] - start[:-1], lengths) + np.arange(start[-1])
        ids = [self.id_of(position) for position in chosen.tolist()]
        costs = self.units[chosen], self.kinds[chosen]
        whole = {}
        if self.whole:
            whole = {new: self.whole[old] for new, old in enumerate(chosen.tolist()) if old in self.whole}
        return self.from_columns(self.domain, self.table, start, self.term[source], costs, ids, whole)

    def contradictory(self) -> npt.NDArray[np.bool_]:
        """Which of the queries are contradictions."""
        contradictory = self.table.contradictory()
        if not contradictory.any():
            return np.zeros(len(self), np.bool_)
        misses = np.concatenate(([0], np.cumsum(contradictory[self.term])))
        return misses[self.start[1:]] > misses[self.start[:-1]]

    def with_costs(self, units: npt.NDArray[np.int64], kind: CostKind) -> Workload:
        """The same queries at other costs, all of one kind and given in units."""
        if len(units) != len(self) or (len(units) and int(units.min()) < 1):
            raise WorkloadError("each query needs a cost of at least one unit")
        kinds = np.full(len(self), COST_KINDS.index(kind), np.int8)
        costs = units.astype(np.int64), kinds
        return self.from_columns(self.domain, self.table, self.start, self.term, costs, self._ids, self.whole)

    def id_of(self, position: int) -> QueryId:
        """The id of the query at a position; where none was given, its number counted from 1."""
        return position + 1 if self._ids is None else self._ids[position]

    def cost_of(self, position: int) -> Cost:
        """The cost of the query at a position."""
        return Cost(COST_KINDS[self.kinds[position]], int(self.units[position]))

    @property
    def ids(self) -> list[QueryId]:
        """The ids of all queries, in order."""
        return list(range(1, len(self) + 1)) if self._ids is None else list(self._ids)

    @property
    def cost_kinds(self) -> list[CostKind]:
        """The kinds of cost that occur."""
        return [COST_KINDS[kind] for kind in np.flatnonzero(np.bincount(self.kinds)).tolist()]

    @property
    def kind(self) -> CostKind:
        """The kind of cost that all queries have; an error if they differ."""
        kinds = self.cost_kinds
        if len(kinds) > 1:
            raise WorkloadError(
                f"the queries state their costs in {' and '.join(kinds)}; overlap needs one kind of cost"
            )
        return kinds[0] if kinds else "weight"

    def additive_units(self) -> npt.NDArray[np.int64]:
        """The costs in units that add up under composition: μ² for ``mu``, the cost itself otherwise.

        The square is rounded up, so that sums of it never fall short.
        """
        return book_each(self.units, square_up, "the square of the largest mu") if self.kind == "mu" else self.units

    @property
    def total(self) -> int | float:
        """What all queries cost under sequential composition, in additive units."""
        return amount_up(sum(self.additive_units().tolist()))


def book_each(units: npt.NDArray[np.int64], book: Callable[[int], int], largest: str) -> npt.NDArray[np.int64]:
    """Each of the units as ``book`` has it, worked out once for equal ones; ``largest`` says what was too large."""
    distinct, which = np.unique(units, return_inverse=True)
    booked = [book(one) for one in distinct.tolist()]
    if max(booked, default=0) >= 2**62:
        raise CostError(f"{largest} is too large to be added up")
    return np.array(booked, np.int64)[which]


def _following(items: Iterator[_T], what: str) -> _T:
    for item in items:
        return item
    raise WorkloadError(f"there are fewer {what} than queries")


def _as_index(key: npt.NDArray[np.integer] | Sequence[int]) -> npt.NDArray[np.generic]:
    index = np.asarray(key)
    return index if index.size else index.astype(np.int64)


def _choice(domain: Domain, table: InternedPredicates, index: int, name: str, written: object) -> int:
    if written is None:
        return _FREE
    predicate = domain.predicate(name, written)
    return _WHOLE if predicate.is_tautology else table.number(index, predicate)
