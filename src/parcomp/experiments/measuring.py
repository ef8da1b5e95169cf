"""The three algorithms of paper §6 on one workload: by Parcomp, and by the paper's method.

A row for each algorithm: whether it ``completed`` within the limit, the bracket of the number it is to find, and the
processor seconds that it took with the query graph, as the paper counts them; making the workload is not counted.
``chromatic`` finds a coloring, an upper bound; nothing is below it but 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache

import numpy as np

import parcomp as pc
from parcomp import Workload
from parcomp.experiments import paper_method, workloads
from parcomp.experiments.clock import processor_seconds
from parcomp.experiments.experiment import Row, Table
from parcomp.experiments.generated_sets import generated_queries
from parcomp.experiments.huge import GeneratedPredicates, held_in_memory, huge_uniform_workload
from parcomp.graph import QueryGraph, WorkloadGraph, dsatur, search_cliques

__all__ = ["ALL", "COMPLETED", "NO_MEMORY", "TIMED_OUT", "by_paper", "by_parcomp", "owed", "warm_up"]

ALL = ("chromatic", "clique", "overlap")

COMPLETED, TIMED_OUT, NO_MEMORY = "completed", "timed out", "not started: memory"

_BITS_HELD, _LARGE_CLIQUE = 1 << 31, 25
"""Up to so many bits in all, generated predicates are held as bits if there may be so large a clique: a search through
its parts takes long then, and the other searches need bits."""

_VALUES_HELD = 30_000_000
"""Up to so many values in all, the paper's method has Python sets, at some 40 bytes a value; beyond, generated ones."""

_TERMS_HELD = 25_000_000
"""Predicates that the paper's method is given at most: each takes about 150 bytes as a Python object."""

_SLICE = 1 << 24


@cache
def warm_up() -> None:
    """Load what is compiled, once in a process: that is no part of what is measured."""
    for workload in (
        workloads.paper_example(),
        workloads.census_sample(200, 0),
        workloads.uniform_workload(60, 10, 3, 0),
        workloads.uniform_workload(40, 8, 5, 0),
        workloads.points(300, 10, 5, 0),
        workloads.boxes(200, 4, 50, 0),
        workloads.dense_subsets(60, 8, 0),
    ):
        pc.max_overlap(workload, time_limit=1.0)
        pc.clique_number(workload, time_limit=1.0)
        pc.chromatic_number(workload, time_limit=1.0)
    huge = huge_uniform_workload(100, 500, 0)
    pc.max_overlap(huge, time_limit=5.0)
    graph, _ = _generated_graph(huge, 5.0)
    dsatur(graph)
    search_cliques(graph, 1.0)


def by_parcomp(workload: Workload, limit: float, algorithms: Collection[str] = ALL) -> Iterator[Row]:
    """A row for each algorithm, by Parcomp; of generated predicates always for all three."""
    warm_up()
    if isinstance(workload.table, GeneratedPredicates):
        yield from _generated_by_parcomp(workload, limit)
        return
    if "chromatic" in algorithms:
        coloring = pc.chromatic_number(workload, limit)
        yield _row("parcomp", "chromatic", coloring.seconds < limit, 0, coloring.upper, coloring.seconds)
    for algorithm, search in (("clique", pc.clique_number), ("overlap", pc.max_overlap)):
        if algorithm in algorithms:
            found = search(workload, limit)
            yield _row("parcomp", algorithm, found.exact, found.lower, found.upper, found.seconds)


def _generated_by_parcomp(workload: Workload, limit: float) -> Iterator[Row]:
    began = processor_seconds()
    graph, whole = _generated_graph(workload, limit)
    building = processor_seconds() - began
    began = processor_seconds()
    coloring = dsatur(graph)
    seconds = building + processor_seconds() - began
    yield _row("parcomp", "chromatic", whole and seconds <= limit, 0, coloring.weight, seconds)
    began = processor_seconds()
    cliques = search_cliques(graph, max(limit - building, 0.0))
    seconds = building + processor_seconds() - began
    yield _row("parcomp", "clique", whole and cliques.done, cliques.lower if whole else 0, cliques.upper, seconds)
    table = workload.table
    assert isinstance(table, GeneratedPredicates)
    held = cliques.upper >= _LARGE_CLIQUE and int(table.sizes.sum()) <= _BITS_HELD
    del graph, cliques, coloring
    searched = held_in_memory(workload) if held else workload
    overlap = pc.max_overlap(searched, limit)
    yield _row("parcomp", "overlap", overlap.exact, overlap.lower, overlap.upper, overlap.seconds)


def _generated_graph(workload: Workload, limit: float) -> tuple[QueryGraph, bool]:
    """The query graph, and whether all of it was built within the limit."""
    building = WorkloadGraph(workload, np.arange(len(workload)), np.ones(len(workload), np.int64))
    deadline = processor_seconds() + limit
    while building.advance(_SLICE):
        if processor_seconds() > deadline:
            return building.graph, False
    return building.graph, True


def by_paper(workload: Workload, limit: float, algorithms: Collection[str] = ALL) -> Iterator[Row]:
    """A row for each algorithm, by the paper's method; its query graph is built once and counted for each."""
    t = len(workload)
    if len(workload.term) > _TERMS_HELD:
        yield from (_row("paper", one, NO_MEMORY, 0, t, 0.0) for one in ALL if one in algorithms)
        return
    table = workload.table
    generated = isinstance(table, GeneratedPredicates) and int(table.counts.sum()) > _VALUES_HELD
    if generated:
        _warm_up_sets()
    queries = generated_queries(workload) if generated else paper_method.query_sets(workload)
    began = processor_seconds()
    graph = paper_method.query_graph(queries, time_limit=limit)
    building = processor_seconds() - began
    if graph is None:
        yield from (_row("paper", one, False, 0, t, building) for one in ALL if one in algorithms)
        return
    left = limit - building
    if "chromatic" in algorithms:
        began = processor_seconds()
        try:
            colors, done = len(set(paper_method.color(graph, left).values())), True
        except paper_method.TimeUpError:
            colors, done = t, False
        yield _row("paper", "chromatic", done, 0, colors, building + processor_seconds() - began)
    for algorithm in ("clique", "overlap"):
        if algorithm not in algorithms:
            continue
        began = processor_seconds()
        if algorithm == "clique":
            found = paper_method.maximum_clique(graph, left)
        else:
            found = paper_method.maximum_overlap(graph, queries, left)
        seconds = building + processor_seconds() - began
        upper = found.weight if found.finished else t
        yield _row("paper", algorithm, found.finished, found.weight, upper, seconds)


@cache
def _warm_up_sets() -> None:
    queries = generated_queries(huge_uniform_workload(20, 40, 0))
    paper_method.maximum_overlap(paper_method.query_graph(queries), queries, 5.0)


def owed(method: str, t: int, rows: Table, ended: str, seconds: float, algorithms: Collection[str] = ALL) -> Table:
    """The rows of an instance with those that it still owed when it was ended."""
    have = {row["algorithm"] for row in rows}
    missing = [one for one in ALL if one in algorithms and one not in have]
    return [*rows, *(_row(method, one, ended or TIMED_OUT, 0, t, seconds) for one in missing)]


def _row(method: str, algorithm: str, done: bool | str, lower: int | float, upper: int | float, seconds: float) -> Row:
    status = done if isinstance(done, str) else COMPLETED if done else TIMED_OUT
    return {
        "method": method,
        "algorithm": algorithm,
        "status": status,
        "lower": lower,
        "upper": upper,
        "seconds": round(seconds, 4),
    }
