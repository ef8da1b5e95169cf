"""Boxes of rows, and the queries that some row of a box satisfies: a workload as its certificates speak of it.

The values of an attribute that no predicate tells apart, of the workload or of the certificate, form a *cell*.  A row
may take any other value of the same cell and satisfies the same queries, so a box is a set of cells for each attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from parcomp.model import Predicate, Workload

__all__ = ["Box", "Cells", "Flags", "Numbers", "Place", "Space"]

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

Box = dict[int, Numbers]
"""The cells that are left of each attribute that something was cut from, ascending."""

_REMEMBERED = 8192
"""Up to so many queries it is remembered which pairs of them are disjoint."""

_BLOCK = 1 << 24
"""So many pairs are compared at once."""

_FRONT = 256
"""So many cells are tried as those that make up for others."""

_FEW = 16
"""So many cells are tried first where a few are likely to be enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cells of one attribute.

    ``first[i]`` is the lowest code of cell i.  ``accepts[p, i]`` says whether predicate p accepts the values of cell i;
    the last row accepts all, and is the predicate of the queries that leave the attribute alone.  ``predicate[q]`` is
    the row of query q.
    """

    first: Numbers
    accepts: Flags
    predicate: Numbers

    def asked(self, counted: Flags) -> Numbers:
        """The rows of the predicates of flagged queries, ascending."""
        flags = np.zeros(len(self.accepts), np.bool_)
        flags[self.predicate[counted]] = True
        return flags.nonzero()[0]

    def of(self, predicate: Predicate) -> Flags:
        """The cells of a predicate, which is one of those that the cells were made for."""
        return predicate.flags_at(self.first)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where a node of a proof stands: its box, and the counted queries that some row of it satisfies."""

    box: Box
    counted: Flags


class Space:
    """All rows of a domain, and the queries of a workload by number; ``others`` are more predicates, by attribute."""

    def __init__(self, workload: Workload, others: Mapping[int, Sequence[Predicate]]) -> None:
        self.workload = workload
        self._others = others
        self.count = len(workload)
        self._sizes = [attribute.size for attribute in workload.domain.attributes.values()]
        self._attribute = np.array(workload.table.attributes, np.int64)
        self._start = np.asarray(workload.start, np.int64)
        self._term = np.asarray(workload.term, np.int64)
        self._query = np.repeat(np.arange(self.count), np.diff(self._start))
        self.cells = cache(self._cells)
        self._remembered: Flags | None = None

    @cached_property
    def groups(self) -> Numbers:
        """A number for each query, the same for queries with the same predicates."""
        numbers: dict[bytes, int] = {}
        terms = (np.sort(self._term[begin:end]) for begin, end in pairwise(self._start.tolist()))
        return np.array([numbers.setdefault(one.tobytes(), len(numbers)) for one in terms], np.int64)

    @cached_property
    def one_of(self) -> Numbers:
        """A query of each number in ``groups``."""
        return np.unique(self.groups, return_index=True)[1]

    def root(self) -> Place:
        """All rows, and all queries but contradictions."""
        counted = np.ones(self.count, np.bool_)
        empty = np.array([predicate.is_contradiction for predicate in self.workload.table.predicates], np.bool_)
        counted[self._query[empty[self._term]]] = False
        return Place({}, counted)

    def _cells(self, attribute: int) -> Cells:
        size = self._sizes[attribute]
        terms = np.flatnonzero(self._attribute[self._term] == attribute)
        numbers, local = np.unique(self._term[terms], return_inverse=True)
        predicates = [self.workload.table.predicates[number] for number in numbers.tolist()]
        told_apart = [*predicates, *self._others.get(attribute, ())]
        if all(predicate.edges is not None for predicate in told_apart):
            edges = np.array([0, *(edge for predicate in told_apart for edge in predicate.edges or ())], np.int64)
            first = np.unique(edges[edges < size])
        else:
            first = np.arange(size)
        accepts = np.ones((len(predicates) + 1, len(first)), np.bool_)
        for row, predicate in enumerate(predicates):
            accepts[row] = predicate.flags_at(first)
        predicate_of = np.full(self.count, len(predicates), np.int64)
        predicate_of[self._query[terms]] = local
        return Cells(first, accepts, predicate_of)

    def attributes_of(self, query: int) -> list[int]:
        """The attributes that a query constrains."""
        numbers: list[int] = self._attribute[self._term[self._start[query] : self._start[query + 1]]].tolist()
        return numbers

    def constrained(self, counted: Flags) -> list[int]:
        """The attributes that flagged queries constrain, ascending."""
        found: list[int] = np.unique(self._attribute[self._term[counted[self._query]]]).tolist()
        return found

    def left(self, attribute: int, box: Box) -> Numbers:
        """The cells that a box leaves of an attribute."""
        return box[attribute] if attribute in box else np.arange(len(self.cells(attribute).first))

    def cut(self, place: Place, keep: Mapping[int, Flags]) -> Place:
        """The place with only the flagged cells of some attributes left; a query that has none there is dead."""
        cuts: Box = {}
        counted = place.counted.copy()
        for attribute, flags in keep.items():
            left = self.left(attribute, place.box)
            cuts[attribute] = left[flags[left]]
            if len(cuts[attribute]) < len(left):
                cells = self.cells(attribute)
                met = np.zeros(len(cells.accepts), np.bool_)
                asked = cells.asked(counted)
                met[asked] = _any_of(cells.accepts, asked, cuts[attribute])
                counted &= met[cells.predicate]
        return Place(place.box | cuts, counted)

    def coverage(self, query: int) -> dict[int, Flags]:
        """The cells that a query accepts of each attribute that it constrains."""
        of = {attribute: self.cells(attribute) for attribute in self.attributes_of(query)}
        return {attribute: cells.accepts[cells.predicate[query]] for attribute, cells in of.items()}

    def like(self, attribute: int, code: int, place: Place) -> Flags:
        """The cells that a box leaves of an attribute which each counted query that rejects a value rejects too."""
        cells, left = self.cells(attribute), self.left(attribute, place.box)
        counted = cells.asked(place.counted)
        rejecting = counted[~cells.accepts[counted, np.searchsorted(cells.first, code, side="right") - 1]]
        flags = np.zeros(len(cells.first), np.bool_)
        flags[left] = ~cells.accepts[rejecting[:, None], left].any(axis=0)
        return flags

    def thinned(self, attribute: int, place: Place) -> Flags:
        """The cells that a box leaves of an attribute but for some that others of them make up for.

        A cell is left out if one of those that most predicates accept is accepted by all counted queries that accept
        it.  Of cells that the same ones accept the first stays, so that what makes up for a cell is accepted by more
        queries, and itself stays or is made up for by one of those.
        """
        cells, left = self.cells(attribute), self.left(attribute, place.box)
        flags = np.zeros(len(cells.first), np.bool_)
        asked = cells.asked(place.counted)
        if not len(asked):
            flags[left[:1]] = True
            return flags
        seen_by = cells.accepts[asked[:, None], left].T
        size = seen_by.sum(axis=1)
        front = np.argsort(-size, kind="stable")[:_FRONT]
        below = np.zeros(len(left), np.bool_)
        # Most cells fall to the first few that are tried, so that few of them are compared with all.
        for tried in (front[:_FEW], front[_FEW:]):
            rest = np.flatnonzero(~below)
            below[rest] = _strictly_below(seen_by[rest], size[rest], seen_by[tried], size[tried])
        rest = np.flatnonzero(~below)
        packed = np.ascontiguousarray(np.packbits(seen_by[rest], axis=1))
        _, first = np.unique(packed.view(np.dtype((np.void, packed.shape[1]))).ravel(), return_index=True)
        flags[left[rest[first]]] = True
        return flags

    def same_rows(self, queries: Sequence[int], box: Box) -> bool:
        """Whether the queries accept the same cells that a box leaves of each attribute."""
        one = queries[0]
        for other in queries[1:]:
            for attribute in {*self.attributes_of(one), *self.attributes_of(other)}:
                cells, left = self.cells(attribute), self.left(attribute, box)
                mine, theirs = cells.accepts[cells.predicate[one]], cells.accepts[cells.predicate[other]]
                if (mine[left] != theirs[left]).any():
                    return False
        return True

    def overlapping(self, members: Numbers, box: Box) -> Iterator[tuple[int, int]]:
        """The pairs of queries that some row of the box satisfies both, if each of them has one there."""
        height = max(1, _BLOCK // max(1, len(members)))
        for begin in range(0, len(members), height):
            rows = members[begin : begin + height]
            meet = self._meeting(rows, members)
            # Where no query meets another one, which is the rule, there is nothing to look up.
            meet[np.arange(len(rows)), np.arange(begin, begin + len(rows))] = False
            if not meet.any():
                continue
            for i, j in np.argwhere(np.triu(meet, begin + 1)).tolist():
                pair = int(rows[i]), int(members[j])
                if not self._apart(*pair, box):
                    yield pair

    def _meeting(self, rows: Numbers, columns: Numbers) -> Flags:
        """The same as :meth:`_pairs`, which is looked up where there are few queries."""
        if self.count > _REMEMBERED:
            return self._pairs(rows, columns)
        if self._remembered is None:
            self._remembered = self._pairs(np.arange(self.count), np.arange(self.count))
        return self._remembered[np.ix_(rows, columns)]

    def _pairs(self, rows: Numbers, columns: Numbers) -> Flags:
        """Which of the queries of two lists share a value of each attribute."""
        meet = np.ones((len(rows), len(columns)), np.bool_)
        for attribute in np.unique(self._attribute).tolist():
            cells = self.cells(attribute)
            mine, place = np.unique(cells.predicate[rows], return_inverse=True)
            theirs, other_place = np.unique(cells.predicate[columns], return_inverse=True)
            # Sums of zeros and ones in floats are above 0 if and only if there is a one.
            common = cells.accepts[mine].astype(np.float32) @ cells.accepts[theirs].astype(np.float32).T
            if not common.all():
                meet &= (common > 0)[np.ix_(place, other_place)]
        return meet

    def _apart(self, first: int, second: int, box: Box) -> bool:
        """Whether two queries share no cell of some attribute that the box has cut."""
        for attribute, left in box.items():
            cells = self.cells(attribute)
            one, other = cells.accepts[cells.predicate[first]], cells.accepts[cells.predicate[second]]
            if not (one[left] & other[left]).any():
                return True
        return False


def _any_of(accepts: Flags, rows: Numbers, columns: Numbers) -> Flags:
    """Whether each of some rows has a flag in some columns; of most the first few of these tell."""
    met: Flags = np.any(accepts[rows[:, None], columns[:_FEW]], axis=1)
    if len(columns) > _FEW:
        missed = (~met).nonzero()[0]
        met[missed] = np.any(accepts[rows[missed, None], columns[_FEW:]], axis=1)
    return met


def _strictly_below(rows: Flags, size: Numbers, others: Flags, other_size: Numbers) -> Flags:
    """Which rows of flags are contained in one of the others that has more of them; the sizes are numbers of flags."""
    below = np.zeros(len(rows), np.bool_)
    # Counts of flags are below 2**24, so that floats are exact.
    most = others.astype(np.float32).T
    for begin in range(0, len(rows), _BLOCK // _FRONT):
        part = slice(begin, begin + _BLOCK // _FRONT)
        contained = rows[part].astype(np.float32) @ most == size[part, None]
        contained &= size[part, None] < other_size
        below[part] = contained.any(axis=1)
    return below
