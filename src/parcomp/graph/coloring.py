"""Colorings and covers: upper bounds on the clique number, and so on the maximum overlap (paper §5 and §6).

Queries of one color class are pairwise disjoint, so a row satisfies at most one of them, and the sum over the classes
of the largest weight in each bounds γ_w (Proposition "cliquevscover", Eq. "approx").  More generally, take
pairwise-disjoint sets with multipliers such that the sets that hold query ``v`` have multipliers of at least ``w_v``
in sum: a row satisfies at most one query of each set, so the weight of any row is at most the sum of all
multipliers.  A coloring is the case of one set per class.  Every coloring and every cover is a proof, however it was
found: the heuristics here only decide how tight it is.  They are DSatur (Brélaz 1979), first fit by descending
weight, iterated greedy (Culberson and Luo 1996), and peeling of residual weights (as in Held, Cook and Sewell 2012).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcomp.bits import unpack_bits, word_count
from parcomp.graph import _coloring_kernels as kernels
from parcomp.graph.query_graph import QueryGraph
from parcomp.slices import SLICE, Course, Slices, sliced

__all__ = ["Coloring", "ColoringSearch", "Cover", "dsatur", "first_fit", "fractional_cover", "weighted_coloring"]


@dataclass(frozen=True, slots=True, eq=False)
class Coloring:
    """A partition into independent sets: ``classes[v]`` is the class of vertex ``v``, in ``0 … class_count-1``.

    ``weight`` is the sum of the class maxima: a proven upper bound of γ_w.
    """

    classes: npt.NDArray[np.int32]
    class_count: int
    weight: int


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Independent sets (ascending vertex numbers) with positive integer multipliers, and their sum ``bound``.

    For each vertex ``v`` the multipliers of the sets that hold it sum to at least ``w_v``; hence γ_w ≤ ω_w ≤ ``bound``.
    """

    sets: tuple[npt.NDArray[np.int64], ...]
    multipliers: npt.NDArray[np.int64]
    bound: int


def _coloring(graph: QueryGraph, classes: npt.NDArray[np.int32]) -> Coloring:
    count = int(classes.max()) + 1 if len(classes) else 0
    return Coloring(classes, count, int(kernels.class_maxima(classes, graph.weights, count).sum()))


@sliced
def dsatur(graph: QueryGraph) -> Slices[Coloring]:
    """Color by saturation: next comes the vertex whose neighbors show most colors; ties by degree, then by number."""
    size = graph.vertex_count
    degree = kernels.degrees(graph.adjacency)
    most = int(degree.max(initial=0))
    classes = np.full(size, -1, np.int32)
    # A vertex never needs a class beyond its degree, so this many bits hold every class its neighbors may have.
    seen = np.zeros((size, word_count(most + 1)), np.uint64)
    yield graph.adjacency.size
    count = 0
    while count < size:
        count, work = kernels.saturation_order_fit(graph.adjacency, classes, seen, degree, most + 1, count, SLICE)
        yield int(work)
    return _coloring(graph, classes)


@sliced
def first_fit(graph: QueryGraph, order: npt.NDArray[np.int64]) -> Slices[Coloring]:
    """Give each vertex, in this order, the first color that none of its neighbors has."""
    classes = np.empty(graph.vertex_count, np.int32)
    held = np.zeros_like(graph.adjacency)
    position = count = 0
    while position < graph.vertex_count:
        position, count, work = kernels.first_fit(graph.adjacency, order, classes, held, position, count, SLICE)
        yield int(work)
    return _coloring(graph, classes)


def _class_orders(
    coloring: Coloring, weights: npt.NDArray[np.int64], rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int64]]:
    """Vertex orders that keep classes together, for the next round of first fit.

    In any such order a vertex of the i-th class lands in one of the first i classes, so their number never grows.  If
    the classes descend in their maxima, the maximum of the i-th class never grows either, as all that may join it
    comes from classes that are no heavier.
    """
    heaviest = np.zeros(coloring.class_count, np.int64)
    np.maximum.at(heaviest, coloring.classes, weights)
    size = np.bincount(coloring.classes, minlength=coloring.class_count)
    number = np.arange(coloring.class_count)
    for rank in (
        np.lexsort((-size, -heaviest)),
        np.lexsort((size, -heaviest)),
        np.lexsort((-number, -heaviest)),
        number[::-1],
        np.lexsort((-number, -size)),
        rng.permutation(coloring.class_count),
    ):
        position = np.empty(coloring.class_count, np.int64)
        position[rank] = number
        yield np.lexsort((-weights, position[coloring.classes]))


class ColoringSearch(Course):
    """A search for a coloring of small weight: ``best`` is the lightest so far, None until there is one.

    DSatur and first fit by weight, then iterated greedy, which ends after ``rounds`` rounds without gain.
    """

    def __init__(self, graph: QueryGraph, *, rounds: int = 8, seed: int = 0) -> None:
        super().__init__()
        self.best: Coloring | None = None
        self._graph = graph
        self._rounds = rounds
        self._seed = seed

    def course(self) -> Slices[None]:
        """Find a first coloring and better it until that is in vain."""
        graph = self._graph
        rng = np.random.default_rng(self._seed)
        best = self.best = yield from dsatur.slices(graph)
        if not graph.vertex_count:
            return
        by_weight = np.lexsort((-kernels.degrees(graph.adjacency), -graph.weights))
        current = yield from first_fit.slices(graph, by_weight)
        if current.weight < best.weight:
            best = self.best = current
        current = best
        idle = 0
        while idle < self._rounds:
            idle += 1
            for order in _class_orders(current, graph.weights, rng):
                current = yield from first_fit.slices(graph, order)
                if current.weight < best.weight:
                    best = self.best = current
                    idle = 0


@sliced
def weighted_coloring(graph: QueryGraph, *, rounds: int = 8, seed: int = 0) -> Slices[Coloring]:
    """A coloring of small weight: the best of DSatur and first fit by weight, then improved by iterated greedy.

    Never heavier than DSatur's.  It stops after ``rounds`` rounds without gain.
    """
    search = ColoringSearch(graph, rounds=rounds, seed=seed)
    yield from search.course()
    assert search.best is not None
    return search.best


def _cover(sets: npt.NDArray[np.uint64], multipliers: npt.NDArray[np.int64], size: int) -> Cover:
    used = np.flatnonzero(multipliers)
    members = unpack_bits(sets[used], size)
    return Cover(tuple(np.flatnonzero(row) for row in members), multipliers[used], int(multipliers.sum()))


@sliced
def fractional_cover(graph: QueryGraph, *, rounds: int = 8) -> Slices[Cover]:
    """A cover by integer multipliers, never worse than DSatur, found by peeling sets off the weights several times.

    Later rounds put those vertices first that the earlier ones were last to exhaust; the best cover is kept.
    """
    size = graph.vertex_count
    coloring = yield from dsatur.slices(graph)
    members = np.zeros((coloring.class_count, size), np.bool_)
    members[coloring.classes, np.arange(size)] = True
    best = Cover(
        tuple(np.flatnonzero(row) for row in members),
        np.array([graph.weights[row].max() for row in members], np.int64),
        coloring.weight,
    )
    degree = kernels.degrees(graph.adjacency)
    order = np.lexsort((-degree, -graph.weights))
    for _ in range(rounds if size else 0):
        sets = np.zeros_like(graph.adjacency)
        multipliers = np.zeros(size, np.int64)
        count = int(kernels.peel(graph.adjacency, graph.weights, order, sets, multipliers))
        found = sets[:count]
        # The set that exhausts a vertex is the last one that holds it.
        held = unpack_bits(found, size)
        last = count - 1 - np.argmax(held[::-1], axis=0)
        kernels.tighten(graph.adjacency, graph.weights, sets, multipliers, count)
        yield 4 * count * graph.adjacency.shape[1] + graph.adjacency.size
        cover = _cover(found, multipliers[:count], size)
        if cover.bound < best.bound:
            best = cover
        place = np.empty(size, np.int64)
        place[order] = np.arange(size)
        order = np.lexsort((place, -(last + (size - place) * count // (2 * size))))
    return best
