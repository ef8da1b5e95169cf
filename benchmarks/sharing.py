"""Two processors on one search: the same problems, in how much less time."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Goal, Ratio, Row, Settings, Timing, benchmark, timed
from benchmarks.overlap import warm_up
from parcomp import Workload
from parcomp.experiments import workloads
from parcomp.model.compile import compile_workload
from parcomp.overlap.lean import LeanSearch
from parcomp.overlap.reduce import reduce
from parcomp.overlap.rows import find_row
from parcomp.overlap.tree import TreeSearch
from parcomp.overlap.value import ValueSearch
from parcomp.slices import LARGEST_SLICE

__all__ = ["value_workers", "workers"]

_QUICK = ((200, 0),)
_INSTANCES = ((500, 3), (550, 0), (550, 1), (600, 3), (600, 4))
"""Numbers of queries and seeds, chosen to take 20 to 60 seconds on one processor."""

_QUICK_UNIFORM = ((100, 10, 2),)
_UNIFORM = ((200, 20, 3), (200, 20, 4), (300, 10, 0))
"""The same for value search, with numbers of attributes between."""

_ROW_WORK = 1 << 24
"""Word operations for the row that both searches begin with."""


@benchmark("workers", topic="overlap")
def workers(settings: Settings) -> Iterator[Row]:
    """One lean search of dense subsets on one processor and on two: problems, clock and processor time."""
    warm_up()
    for queries, seed in _QUICK if settings.quick else _INSTANCES:
        workload = workloads.dense_subsets(queries, 12, seed, density=0.4, constraints=4, heaviest=10)
        yield _side_by_side(f"dense subsets t={queries} seed {seed}", workload, LeanSearch, settings)


@benchmark("value-workers", topic="overlap")
def value_workers(settings: Settings) -> Iterator[Row]:
    """One value search of a uniform workload on one processor and on two: problems, clock and processor time."""
    warm_up()
    for queries, attributes, seed in _QUICK_UNIFORM if settings.quick else _UNIFORM:
        workload = workloads.uniform_workload(queries, attributes, 4, seed)
        yield _side_by_side(f"uniform t={queries} m={attributes} seed {seed}", workload, ValueSearch, settings)


def _side_by_side(name: str, workload: Workload, kind: type[LeanSearch] | type[ValueSearch], settings: Settings) -> Row:
    """Search the one part that is left of a workload, to the end, on one processor and on two."""
    (part,) = reduce(compile_workload(workload).compiled).leaves
    lower, row = find_row(part.compiled, _ROW_WORK)
    alone = kind(part.compiled, lower, row, processors=1)
    together = kind(part.compiled, lower, row, processors=2)
    _, time_alone = timed(_to_the_end, alone)
    _, time_together = timed(_to_the_end, together)
    ratio = Ratio(time_alone.seconds / time_together.seconds)
    same = (alone.lower, alone.nodes, alone.work) == (together.lower, together.nodes, together.work)
    figures = {
        "overlap": together.lower,
        "problems": together.nodes,
        "the same": same,
        "one": time_alone,
        "two": time_together,
        "processor, one": Timing(time_alone.cpu or 0.0),
        "processor, two": Timing(time_together.cpu or 0.0),
        "faster by": ratio,
    }
    goal = Goal("the same, ≥ 1.8x", same and ratio.value >= 1.8)
    return Row(name, figures, settings.at_full_size(goal))


def _to_the_end(search: TreeSearch) -> None:
    while not search.done:
        search.advance(LARGEST_SLICE)
