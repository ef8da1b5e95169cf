"""Which queries are sums, with weights, of other queries on every possible row, and by which weights.

A query is a product of sets, one for each attribute, so as a function of rows it is a tensor of rank one.  A *product
functional* takes a number u_a(v) for each value v of each attribute a, and sends a query to ∏_a Σ_{v ∈ its set} u_a(v):
it is linear on sums of queries, and costs a product for each, however many rows there are.

*Solving.*  A sum of queries that is not 0 on every row is a polynomial of degree 1 in the numbers of each attribute,
and not the zero polynomial; so a random product functional over a field of p elements sends it to 0 with probability at
most m/p, for m attributes (DeMillo and Lipton 1978, Schwartz 1980, Zippel 1979).  As many random functionals as there
are queries, and some more, therefore turn "q = Σ a_i·q_i on every row" into linear equations over a field, of which the
solutions are those on all rows, but with a probability of about 10⁻⁶.  What they are in fractions is reconstructed.

*Proving.*  Whatever the weights come from, they are put to the test once more: with a common denominator the sum
less the query has whole numbers on all rows, each smaller than the prime P = 2⁶¹ − 1, so it is 0 if it is 0 modulo P.
That is tested by functionals that are drawn after the weights are known, from their SHA-256.  Weights that do not hold
on every row pass with probability (m/P)² at most: less than 10⁻³³ for 100 attributes.

*Values that are not declared.*  A row may have one, which satisfies no predicate on its attribute and counts where the
attribute is not tested.  It is one more value, which no set holds but that of an attribute that is not tested.  On an
attribute that is *complete* there is none, and a predicate of all values is the same as no predicate.

*Scaling.*  The numbers of an attribute may be scaled so that all its values together have 1: then a query's number is
the product over the attributes that it tests.  Sets are runs, so only sums up to the ends of runs are drawn.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import chain

import numpy as np
import numpy.typing as npt

from parcomp.model import Predicate, Query

__all__ = ["LARGEST_SUM", "Solutions", "holds_on_every_row", "solve"]

Ints = npt.NDArray[np.int64]

_PRIME = 2**31 - 1
"""Products of two numbers below it fit into 64 bits."""

_PROVING_PRIME = 2**61 - 1
LARGEST_SUM = 2**60
"""More than whole weights may add up to, so that no sum of them is a multiple of the prime."""

_MORE = 8
"""By how many equations exceed the unknowns: weights that solve them all by chance are rarer than rare."""

_ROUNDS = 2
"""Functionals that weights are proven by."""

_SMALL = 2**15
"""Numerators and denominators are below it: then no two fractions are the same modulo the prime."""


@dataclass(frozen=True, slots=True, eq=False)
class Solutions:
    """All weights by which queries add up to another one: ``one``, and what may be added to it, column by column.

    ``free`` are the places whose weights may be chosen: the columns of ``kernel`` have 1 at one of them each.  All
    numbers are whole parts of 1/``denominator``, as Python's own integers.
    """

    one: npt.NDArray[np.object_]
    kernel: npt.NDArray[np.object_]
    free: tuple[int, ...]
    denominator: int


def solve(targets: Sequence[Query], given: Sequence[Query], complete: Collection[int]) -> list[Solutions | None]:
    """For each target the weights by which given queries add up to it on every row; None where there are none.

    ``complete`` are the positions of the attributes of which every row has a declared value.
    """
    if not given:
        return [None] * len(targets)
    queries = [*given, *targets]
    numbers = _Numbers(queries, complete, len(given) + _MORE).of(queries)
    pivots = _reduce(numbers, len(given))
    rank = len(pivots)
    free = tuple(place for place in range(len(given)) if place not in set(pivots))
    kernel = _fractions(_PRIME - numbers[:rank, list(free)])
    solutions: list[Solutions | None] = []
    for column in range(len(given), len(queries)):
        one = None if numbers[rank:, column].any() else _fractions(numbers[:rank, column])
        solutions.append(None if one is None or kernel is None else _solutions(one, kernel, pivots, free))
    return solutions


def holds_on_every_row(
    weights: Sequence[Fraction], given: Sequence[Query], target: Query, complete: Collection[int]
) -> bool:
    """Whether queries with these weights add up to the target on every row; False also where weights are too fine."""
    common = math.lcm(*(weight.denominator for weight in weights), 1)
    whole = [int(weight * common) for weight in weights] + [-common]
    if sum(map(abs, whole)) >= LARGEST_SUM:
        return False
    used = [(number, query) for number, query in zip(whole, [*given, target], strict=True) if number]
    written = repr([(number, [(i, tuple(p.runs())) for i, p in query.tested]) for number, query in used])
    draw = random.Random(sha256(f"{sorted(complete)} {written}".encode()).digest())
    return all(_sum_at_random(used, complete, draw) == 0 for _ in range(_ROUNDS))


def _sum_at_random(used: Sequence[tuple[int, Query]], complete: Collection[int], draw: random.Random) -> int:
    """Σ number·query under a random product functional, modulo the prime."""
    queries = [query for _, query in used]
    up_to = {
        index: {edge: draw.randrange(_PROVING_PRIME) for edge in edges} for index, edges in _edges(queries).items()
    }
    for index, sums in up_to.items():
        if index in complete:
            sums[max(sums)] = sums[0] + 1
    total = 0
    for number, query in used:
        product = number
        for index, predicate in query.tested:
            sums = up_to[index]
            product = product * sum(sums[stop] - sums[start] for start, stop in predicate.runs()) % _PROVING_PRIME
        total += product
    return total % _PROVING_PRIME


def _edges(queries: Sequence[Query]) -> dict[int, list[int]]:
    """Of each attribute that is tested, 0, its size, and the ends of all runs between."""
    edges: dict[int, set[int]] = {}
    for query in queries:
        for index, predicate in query.tested:
            edges.setdefault(index, {0, predicate.size}).update(chain.from_iterable(predicate.runs()))
    return {index: sorted(found) for index, found in sorted(edges.items())}


class _Numbers:
    """Random product functionals over the smaller prime: ``count`` of them, each a number for each query."""

    def __init__(self, queries: Sequence[Query], complete: Collection[int], count: int) -> None:
        draw = np.random.default_rng(1)
        self._count = count
        self._edges: Mapping[int, list[int]] = _edges(queries)
        self._up_to = {index: draw.integers(0, _PRIME, (len(e), count)) for index, e in self._edges.items()}
        for index, sums in self._up_to.items():
            if index in complete:
                sums[-1] = (sums[0] + 1) % _PRIME
        self._places = {index: {edge: place for place, edge in enumerate(e)} for index, e in self._edges.items()}
        self._known: dict[tuple[int, Predicate], Ints] = {}

    def of(self, queries: Sequence[Query]) -> Ints:
        """A column for each query, a line for each functional."""
        numbers = np.ones((self._count, len(queries)), np.int64)
        for place, query in enumerate(queries):
            for index, predicate in query.tested:
                numbers[:, place] = numbers[:, place] * self._of(index, predicate) % _PRIME
        return numbers

    def _of(self, index: int, predicate: Predicate) -> Ints:
        known = self._known.get((index, predicate))
        if known is None:
            places = self._places[index]
            ends = np.array([places[edge] for edge in chain.from_iterable(predicate.runs())], np.int64)
            sums = self._up_to[index]
            known = (sums[ends[1::2]].sum(0) - sums[ends[::2]].sum(0)) % _PRIME
            self._known[index, predicate] = known
        return known


def _reduce(numbers: Ints, unknowns: int) -> list[int]:
    """Bring equations into reduced echelon form, in place; the columns of the pivots, line by line."""
    pivots: list[int] = []
    for column in range(unknowns):
        top = len(pivots)
        below = np.flatnonzero(numbers[top:, column])
        if not len(below):
            continue
        line = top + int(below[0])
        numbers[[top, line]] = numbers[[line, top]]
        numbers[top] = numbers[top] * pow(int(numbers[top, column]), -1, _PRIME) % _PRIME
        factors = numbers[:, column].copy()
        factors[top] = 0
        # To the left the pivot's line is 0: there was no pivot in it.
        rest = numbers[:, column:]
        rest -= factors[:, None] * rest[top] % _PRIME
        rest %= _PRIME
        pivots.append(column)
    return pivots


def _fractions(residues: Ints) -> npt.NDArray[np.object_] | None:
    """The fractions of small numerators and denominators that residues stand for; None if one stands for none."""
    residues = residues % _PRIME
    signed = np.where(residues > _PRIME // 2, residues - _PRIME, residues)
    found = np.array(signed, object)
    for place in zip(*np.nonzero(np.abs(signed) >= _SMALL), strict=True):
        fraction = _fraction(int(residues[place]))
        if fraction is None:
            return None
        found[place] = fraction
    return found


def _fraction(residue: int) -> Fraction | None:
    """The fraction of a residue, by Euclid's algorithm (Wang 1981)."""
    before, now, factor_before, factor = _PRIME, residue, 0, 1
    while now >= _SMALL:
        quotient = before // now
        before, now = now, before - quotient * now
        factor_before, factor = factor, factor_before - quotient * factor
    return Fraction(now, factor) if 0 < abs(factor) < _SMALL else None


def _solutions(
    one: npt.NDArray[np.object_], kernel: npt.NDArray[np.object_], pivots: Sequence[int], free: tuple[int, ...]
) -> Solutions | None:
    denominator = math.lcm(*_denominators(one), *_denominators(kernel), 1)
    if denominator >= LARGEST_SUM:
        return None
    count = len(pivots) + len(free)
    first = np.full(count, 0, object)
    columns = np.full((count, len(free)), 0, object)
    if pivots:
        first[list(pivots)] = _times(one, denominator)
        columns[list(pivots)] = _times(kernel, denominator)
    for column, place in enumerate(free):
        columns[place, column] = denominator
    return Solutions(first, columns, free, denominator)


def _denominators(numbers: npt.NDArray[np.object_]) -> Iterator[int]:
    return (number.denominator for number in numbers.ravel() if isinstance(number, Fraction))


def _times(numbers: npt.NDArray[np.object_], factor: int) -> npt.NDArray[np.object_]:
    whole = np.empty(numbers.shape, object)
    for place, number in np.ndenumerate(numbers):
        whole[place] = int(number * factor)
    return whole
