"""From statements to the exact numbers of a coded table.

Everything is counted on codes: no cast, no text, no division, and no sum that 64 bits do not hold
(:func:`~parcomp.data.layout.check_sums`), so nothing in it can fail for one row and not for another.  What is tested
are the values that a predicate accepts, in positive form; the code of a value outside the domain is in no predicate.

There are two ways to count rows and to sum, and which is taken depends on the statements alone.  *A few conditions*
are sums in one query, one for each number.  An engine takes time for each of them, so *many conditions* are counted
here, in a single scan of the columns in use: a row satisfies a conjunction if each of its codes does, which bit masks
tell for 64 conjunctions at a time.  Codes that every predicate in use treats alike share a mask, so an attribute of
10^8 values costs no more than the runs of its predicates.

Squares, different values and ranks follow from how many rows have each value (:mod:`parcomp.data.codes.histogram`).

The text of a query is the same for every engine: names of our own and integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.bits import word_count
from parcomp.data.codes import _counting_kernels as kernels
from parcomp.data.codes.histogram import Histogram, HistogramPass
from parcomp.data.codes.keys import Key, Terms, condition_sql, run_count
from parcomp.data.layout import MULTIPLICITY, column, outside
from parcomp.model import Aggregate, Domain, Statement

__all__ = [
    "FEW_CONDITIONS",
    "MOST_WORDS",
    "Conditional",
    "Measured",
    "Passes",
    "Places",
    "Scan",
    "code_masks",
    "scan_sql",
]

FEW_CONDITIONS = 24
"""Up to so many conditions are sums of one query."""

_FEW_TERMS = 400
"""Up to so many comparisons are written into one query."""

MOST_WORDS = 2**24
"""The most words of masks for one scan; where more are needed there are more scans."""

_TABLE_SIZE = 2**20
"""Up to this size of an attribute the places of its codes are looked up in a table."""

_SLICE = 2**16
"""How many rows are counted at a time."""

Measured: TypeAlias = list[int] | list[Histogram]
"""What an aggregate is, group by group; of ranks how many rows have each value, in whole steps."""

_Condition: TypeAlias = tuple[Terms, ...]
"""The alternatives of a condition, each as position and predicate of the attributes that it tests."""


@dataclass(frozen=True, slots=True)
class _Tally:
    """One number in each group: rows that satisfy a condition, or the sum of their codes of an attribute."""

    condition: _Condition
    groups: tuple[Key, ...] = ()
    summed: int | None = None

    @property
    def group_count(self) -> int:
        return math.prod(key.count for key in self.groups)


_Found: TypeAlias = dict[_Tally, Sequence[int]]
_Spread: TypeAlias = tuple[_Condition, tuple[Key, ...], int]
"""Whose values are spread out: the rows of a condition, in some groups, on the attribute at a position."""


@dataclass(frozen=True, slots=True)
class Passes:
    """The passes over a coded table that measure some statements, and what they have found."""

    statements: Sequence[Statement]
    passes: Sequence[Conditional | Scan | HistogramPass]
    _found: _Found
    _spread: Mapping[_Spread, HistogramPass]

    @classmethod
    def of(cls, statements: Sequence[Statement], domain: Domain, relation: str, stored: int) -> Passes:
        """How to measure these statements in the table ``relation`` of so many records."""
        found: _Found = {}
        spread: dict[_Spread, HistogramPass] = {}
        tallies: dict[_Condition, dict[_Tally, None]] = {}
        for statement in statements:
            for aggregate in statement.aggregates:
                if aggregate.kind in _SPREAD_OUT:
                    condition, groups, index = key = _spread_of(statement, aggregate)
                    if condition and statement.group_count and key not in spread:
                        few = _run_count(condition) <= _FEW_TERMS
                        spread[key] = HistogramPass(domain, condition, groups, index, relation, in_sql=few)
                    continue
                for tally in _tallies(statement, aggregate):
                    if tally.condition and tally.group_count:
                        tallies.setdefault(tally.condition, {})[tally] = None
                    else:
                        found[tally] = [0] * tally.group_count
        passes: list[Conditional | Scan | HistogramPass] = []
        if tallies and _are_few(tallies):
            wanted = [tally for some in tallies.values() for tally in some]
            passes.append(Conditional(wanted, relation, found))
        elif tallies:
            parts = _parts(list(tallies))
            passes += [Scan([list(tallies[one]) for one in part], domain, relation, stored, found) for part in parts]
        return cls(statements, [*passes, *spread.values()], found, spread)

    def numbers(self) -> list[list[Measured]]:
        """For each statement and each of its aggregates one number for each group, once all passes are made."""
        return [[self._measured(one, aggregate) for aggregate in one.aggregates] for one in self.statements]

    def _measured(self, statement: Statement, aggregate: Aggregate) -> Measured:
        if aggregate.kind in _SPREAD_OUT:
            return self._spread_out(statement, aggregate)
        rows, *sums = (self._found[tally] for tally in _tallies(statement, aggregate))
        if not sums:
            return list(rows)
        # Bounds may lie beyond 64 bits, so what is added here are Python's integers.
        constant = _base(statement, aggregate) - aggregate.center
        return [total + constant * many for total, many in zip(sums[0], rows, strict=True)]

    def _spread_out(self, statement: Statement, aggregate: Aggregate) -> Measured:
        key = _spread_of(statement, aggregate)
        one = self._spread.get(key)
        base = _base(statement, aggregate) if aggregate.kind == "ranks" else 0
        groups = [{}] * statement.group_count if one is None else one.groups(base)
        if aggregate.kind == "ranks":
            return groups
        if aggregate.kind == "distinct":
            return [len(rows) for rows in groups]
        constant = _base(statement, aggregate) - aggregate.center
        return [
            sum(many * ((constant + code) ** 2 - aggregate.offset) for code, many in rows.items()) for rows in groups
        ]


_SPREAD_OUT = frozenset({"squares", "distinct", "ranks"})
"""The kinds of aggregates that follow from how many rows have each value."""


def _base(statement: Statement, aggregate: Aggregate) -> int:
    """How many steps the value of code 0 is."""
    assert aggregate.attribute is not None
    scale = statement.domain.attributes[aggregate.attribute].scale
    assert scale is not None
    return scale.base


def _rows_and_groups(statement: Statement, aggregate: Aggregate) -> tuple[_Condition, tuple[Key, ...]]:
    condition = tuple(query.tested for query in statement.rows_of(aggregate).alternatives)
    return condition, tuple(Key(key.index, key.values, key.members) for key in statement.group_keys())


def _spread_of(statement: Statement, aggregate: Aggregate) -> _Spread:
    assert aggregate.attribute is not None
    return *_rows_and_groups(statement, aggregate), statement.domain.index(aggregate.attribute)


def _tallies(statement: Statement, aggregate: Aggregate) -> list[_Tally]:
    """The count of rows, and where the aggregate is a sum that of the codes."""
    condition, groups = _rows_and_groups(statement, aggregate)
    rows = _Tally(condition, groups)
    if aggregate.kind == "rows":
        return [rows]
    assert aggregate.attribute is not None
    return [rows, _Tally(condition, groups, statement.domain.index(aggregate.attribute))]


def _are_few(tallies: Mapping[_Condition, Iterable[_Tally]]) -> bool:
    listed = [tally for some in tallies.values() for tally in some]
    terms = sum(map(_run_count, tallies)) + max(sum(key.run_count for key in tally.groups) for tally in listed)
    if len(tallies) > FEW_CONDITIONS or terms > _FEW_TERMS:
        return False
    return len({tuple(key.sql for key in tally.groups) for tally in listed}) == 1


def _run_count(condition: _Condition) -> int:
    return sum(map(run_count, condition))


def _parts(conditions: list[_Condition]) -> Iterator[list[_Condition]]:
    """The conditions in as few parts as their masks fit into memory."""
    words = word_count(sum(map(len, conditions)))
    if len(conditions) == 1 or words * sum(map(_run_count, conditions)) * 2 <= MOST_WORDS:
        yield conditions
        return
    half = len(conditions) // 2
    yield from _parts(conditions[:half])
    yield from _parts(conditions[half:])


class Conditional:
    """A pass in SQL: each number is a sum over the rows that satisfy a condition."""

    def __init__(self, tallies: Sequence[_Tally], relation: str, found: _Found) -> None:
        self._tallies = tallies
        self._found = found
        conditions = list(dict.fromkeys(condition_sql(tally.condition) for tally in tallies))
        keys = [key.sql for key in tallies[0].groups]
        numbers = [_sum_sql(tally, alone=len(conditions) == 1) for tally in tallies]
        self._width = len(keys)
        self.sql = f"SELECT {', '.join([*keys, *numbers])} FROM {relation}"
        # Rows that no condition asks for would only make more groups.
        if "TRUE" not in conditions and (keys or len(conditions) == 1):
            self.sql += f" WHERE {' OR '.join(conditions)}"
        if keys:
            self.sql += f" GROUP BY {', '.join(keys)}"

    def read(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take the numbers from the result of the query."""
        by_group = {tuple(row[: self._width]): row[self._width :] for row in rows}
        for place, tally in enumerate(self._tallies):
            # Values outside an attribute are a group of the query, and none of the statement.
            groups = product(*(key.found for key in tally.groups))
            self._found[tally] = [0 if row is None else int(row[place] or 0) for row in map(by_group.get, groups)]


def _sum_sql(tally: _Tally, *, alone: bool) -> str:
    number = MULTIPLICITY if tally.summed is None else f"{MULTIPLICITY} * {column(tally.summed)}"
    condition = condition_sql(tally.condition)
    return f"SUM({number})" if alone or condition == "TRUE" else f"SUM(CASE WHEN {condition} THEN {number} ELSE 0 END)"


class Scan:
    """A pass that reads the columns in use and counts here; ``tallies`` are those of each condition."""

    def __init__(
        self, tallies: Sequence[Sequence[_Tally]], domain: Domain, relation: str, stored: int, found: _Found
    ) -> None:
        self._found = found
        conditions = [some[0].condition for some in tallies]
        queries = [terms for condition in conditions for terms in condition]
        wanted = [tally for some in tallies for tally in some]
        tested = sorted({index for terms in queries for index, _ in terms})
        read = sorted(
            {key.index for tally in wanted for key in tally.groups}
            | {tally.summed for tally in wanted if tally.summed is not None}
        )
        sizes = [outside(attribute) for attribute in domain.attributes.values()]
        used = sorted({*tested, *read})
        self.sql = scan_sql(used, relation, grouped=4 * math.prod(sizes[i] + 1 for i in used) <= stored)
        self._tested = [used.index(index) for index in tested]
        self._read = [used.index(index) for index in read]
        owner = np.repeat(np.arange(len(conditions)), [len(condition) for condition in conditions])
        self._places, masks, full = code_masks(queries, tested, sizes)
        self._conditions = kernels.Conditions(masks, full, owner)
        self._count = np.zeros(len(conditions), np.int64)
        self._jobs = _Jobs.of(tallies, read)
        for number, some in enumerate(tallies):
            for tally in some:
                if tally.summed is None and not tally.groups:
                    found[tally] = _View(self._count, number, 1)
        for tally, target in self._jobs.targets.items():
            found[tally] = _View(self._jobs.total, target, tally.group_count)

    def add(self, chunk: Sequence[npt.NDArray[Any]]) -> None:
        """Count some records, given as the columns of the query's result."""
        for start in range(0, len(chunk[-1]), _SLICE):
            part = [values[start : start + _SLICE] for values in chunk]
            many = len(part[-1])
            places = np.empty((many, len(self._tested)), np.int32)
            for i, (where, place) in enumerate(zip(self._tested, self._places, strict=True)):
                places[:, i] = place(part[where])
            codes = np.empty((many, len(self._read)), np.int64)
            for i, where in enumerate(self._read):
                codes[:, i] = part[where]
            # A copy, since what an engine hands out may be read-only, for which the kernel would be compiled again.
            weight = np.array(part[-1], np.int64)
            rows = kernels.Rows(places, weight, codes)
            kernels.tally(rows, self._conditions, self._jobs.arrays, self._count, self._jobs.total)


class _View(Sequence[int]):
    """Some numbers of an array, as they are when they are looked at."""

    def __init__(self, numbers: npt.NDArray[np.int64], start: int, count: int) -> None:
        self._numbers = numbers[start : start + count]

    def __getitem__(self, place: Any) -> Any:
        return self._numbers[place].tolist()

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers.tolist())


def scan_sql(used: Sequence[int], relation: str, *, grouped: bool) -> str:
    """The query that reads some columns of all records; ``grouped`` reads equal ones once."""
    names = [column(index) for index in used]
    if not grouped:
        return f"SELECT {', '.join([*names, MULTIPLICITY])} FROM {relation}"
    # The sum of an engine is wider than 64 bits, and what it holds is not.
    total = f"CAST(SUM({MULTIPLICITY}) AS BIGINT) AS {MULTIPLICITY}"
    if not names:
        return f"SELECT {total} FROM {relation} HAVING COUNT(*) > 0"
    return f"SELECT {', '.join([*names, total])} FROM {relation} GROUP BY {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Places:
    """Which place a code of one attribute has: runs of codes between ``edges``, numbered from ``first`` on."""

    first: int
    edges: npt.NDArray[np.int64]
    table: npt.NDArray[np.int32] | None

    @classmethod
    def of(cls, first: int, edges: npt.NDArray[np.int64], size: int) -> Places:
        """The places of an attribute of so many values, between these edges of runs."""
        # Every run ends at an edge, so what is outside shares a place with values that no predicate accepts at most.
        table = None
        if size <= _TABLE_SIZE:
            table = (first + np.searchsorted(edges, np.arange(size + 1), side="right")).astype(np.int32)
        return cls(first, edges, table)

    def __call__(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The place of each code."""
        found: npt.NDArray[Any]
        if self.table is not None:
            found = self.table[codes]
        else:
            found = self.first + np.searchsorted(self.edges, codes, side="right")
        return found


def code_masks(
    queries: Sequence[Terms], tested: Sequence[int], sizes: Sequence[int]
) -> tuple[list[Places], npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The places of each attribute that is tested, the mask of each place, and the mask of all queries."""
    runs: dict[int, list[tuple[int, int, int]]] = {index: [] for index in tested}
    testing: dict[int, list[int]] = {index: [] for index in tested}
    for number, terms in enumerate(queries):
        for index, predicate in terms:
            testing[index].append(number)
            runs[index] += [(start, stop, number) for start, stop in predicate.runs()]
    places: list[Places] = []
    marks = []
    first = 0
    for index in tested:
        ends = np.array(runs[index], np.int64).reshape(-1, 3)
        edges = np.unique(ends[:, :2])
        places.append(Places.of(first, edges, sizes[index]))
        low, high = (first + np.searchsorted(edges, ends[:, side], side="right") for side in (0, 1))
        marks.append((first, first + len(edges) + 1, np.array(testing[index], np.int64), low, high, ends[:, 2]))
        first += len(edges) + 1
    full = np.zeros(word_count(len(queries)), np.uint64)
    every = np.arange(len(queries))
    kernels.mark(full[np.newaxis], np.zeros(len(every), np.int64), np.ones(len(every), np.int64), every, True)
    masks = np.tile(full, (max(first, 1), 1))
    for begin, end, numbers, low, high, query in marks:
        kernels.mark(masks, np.full(len(numbers), begin), np.full(len(numbers), end), numbers, False)
        kernels.mark(masks, low, high, np.ascontiguousarray(query), True)
    return places, masks, full


@dataclass(frozen=True, slots=True)
class _Jobs:
    """What is added up beside the plain counts; ``targets`` says where in ``total`` each tally begins."""

    arrays: kernels.Jobs
    total: npt.NDArray[np.int64]
    targets: Mapping[_Tally, int]

    @classmethod
    def of(cls, tallies: Sequence[Sequence[_Tally]], read: Sequence[int]) -> _Jobs:
        """The jobs of each condition; ``read`` are the attributes whose codes are at hand."""
        job, factor, edges = [0], [0], [0]
        summed: list[int] = []
        source: list[int] = []
        stride: list[int] = []
        edge: list[int] = []
        before: list[int] = []
        rises: list[int] = []
        targets: dict[_Tally, int] = {}
        total = 0
        for some in tallies:
            for tally in some:
                if tally.summed is None and not tally.groups:
                    continue
                targets[tally] = total
                total += tally.group_count
                summed.append(-1 if tally.summed is None else read.index(tally.summed))
                # The last attribute varies fastest.
                counts = [key.count for key in tally.groups]
                strides = list(accumulate(reversed(counts), lambda a, b: a * b, initial=1))[-2::-1]
                for key, step in zip(tally.groups, strides, strict=True):
                    source.append(read.index(key.index))
                    stride.append(step)
                    rises.append(key.rises)
                    for start, stop, first in key.runs():
                        edge += (start, stop)
                        before += (first, first)
                    edges.append(len(edge))
                factor.append(len(source))
            job.append(len(summed))
        listed = (job, summed, list(targets.values()), factor, source, stride, rises, edges, edge, before)
        arrays = kernels.Jobs(*(np.array(numbers, np.int64) for numbers in listed))
        return cls(arrays, np.zeros(total, np.int64), targets)
