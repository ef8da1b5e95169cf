"""Compile all kernels once, so that nobody waits for that later; what is compiled is kept on disk."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import parcomp as pc

__all__ = ["warm_up"]


def warm_up() -> None:
    """Compile what later runs load from disk: some two minutes after an installation, a few seconds after that."""
    began = time.monotonic()
    for number, (what, step) in enumerate(_STEPS.items(), 1):
        print(f"Compiling, {number} of {len(_STEPS)}: {what} …", end=" ", flush=True)
        since = time.monotonic()
        step()
        print(f"{time.monotonic() - since:.0f} s")
    print(f"Warm after {time.monotonic() - began:.0f} s")


def _random(
    queries: int, attributes: int, size: int, *, ranges: bool = False, most: int | None = None, seed: int = 0
) -> pc.Workload:
    """Random queries on integers: subsets or ranges of ``most`` of the attributes, with costs of 1 to 9."""
    import numpy as np

    draw = np.random.default_rng(seed)
    domain = pc.Domain({f"a{number}": pc.Integer(0, size - 1) for number in range(attributes)})
    asked = []
    for _ in range(queries):
        where: dict[str, object] = {}
        for number in draw.permutation(attributes)[: most or attributes]:
            low, high = sorted(draw.integers(0, size, 2).tolist())
            subset = np.flatnonzero(draw.random(size) < 0.5).tolist()
            where[f"a{number}"] = pc.between(low, high) if ranges else subset[:2_000] or [0]
        asked.append(domain.query(where))
    return pc.Workload(domain, asked, costs=draw.integers(1, 10, queries).tolist())


def _searches() -> None:
    for workload in (
        _random(60, 6, 8, most=3),
        _random(300, 12, 12, most=3),
        _random(60, 20, 6),
        _random(200, 1, 50, ranges=True),
        _random(900, 2, 1_000, ranges=True),
        _random(200, 4, 50, ranges=True),
        _random(40, 6, 20_000, most=4),
        _random(150, 10, 1_000, most=6),
    ):
        pc.max_overlap(workload, time_limit=2.0)


def _graphs() -> None:
    import numpy as np

    from parcomp.bits import pack_bits
    from parcomp.graph import QueryGraph, build_query_graph, search_cliques
    from parcomp.model.compile import compile_workload
    from parcomp.overlap.cover import overlap_is_clique

    draw = np.random.default_rng(0)
    adjacent = np.triu(draw.random((200, 200)) < 0.8, 1)
    search_cliques(QueryGraph(pack_bits(adjacent | adjacent.T), draw.integers(1, 10, 200)), 2.0)
    domain = pc.Domain({"a": pc.Integer(0, 399)})
    subsets = [np.flatnonzero(draw.random(400) < 0.3).tolist() for _ in range(8)]
    few = pc.Workload(domain, [domain.query(a=subsets[number % 8]) for number in range(60)])
    build_query_graph(compile_workload(few).compiled)
    arcs = [domain.query(a=[first, (first + 1) % 400, (first + 2) % 400]) for first in range(400)]
    for workload in (pc.Workload(domain, arcs), _random(60, 6, 8, most=3)):
        overlap_is_clique(compile_workload(workload).compiled)
    for workload in (few, _random(80, 4, 9, most=2), _random(200, 5, 6, most=4)):
        pc.clique_number(workload, time_limit=2.0)
        pc.chromatic_number(workload)
        pc.max_overlap(workload, method="clique", time_limit=2.0)


def _huge_domains() -> None:
    import numpy as np

    from parcomp.experiments import _subset_kernels
    from parcomp.experiments.huge import huge_uniform_workload
    from parcomp.graph import WorkloadGraph
    from parcomp.overlap.sparse import SparseSearch

    workload = _random(40, 12, 9, most=6)
    building = WorkloadGraph(workload, np.arange(40), workload.units, mask_values=0)
    building.advance(1 << 30)
    search = SparseSearch(workload, np.arange(40), workload.units)
    search.advance(1 << 26)
    search.bracket()
    pc.max_overlap(huge_uniform_workload(100, 500, 0), time_limit=10.0)
    _subset_kernels.meet(0, 0, 1, 1, 1, 10)


def _certificates() -> None:
    from parcomp.model.compile import compile_workload
    from parcomp.overlap.lean import prove_by_listing
    from parcomp.overlap.value import prove_upper

    for workload in (_random(60, 6, 8, most=3), _random(40, 10, 6, most=5), _random(50, 2, 30, ranges=True)):
        pc.verify(workload, pc.max_overlap(workload).certificate)
    subsets = _random(60, 6, 8, most=3)
    compiled, upper = compile_workload(subsets).compiled, int(pc.max_overlap(subsets).upper)
    # With so few rows to a case that cases are divided.
    prove_by_listing(compiled, upper, size_limit=1 << 16, work_limit=1 << 30, most_rows=1)
    prove_upper(compiled, upper)


def _custodians() -> None:
    from parcomp.overlap import LiveOverlap

    workload = _random(50, 5, 30, most=3)
    live = LiveOverlap(workload.domain, 10**12)
    for query, cost in zip(workload, workload.units.tolist(), strict=True):
        live.add(query, cost)


def _plans() -> None:
    pc.plan(_random(40, 10, 30, most=5), "pure", 1, time_limit=10.0)
    pc.plan(_random(30, 3, 8, most=3), "gdp", 1, strategy="correlated", time_limit=10.0)


def _estimates() -> None:
    for workload in (_random(30, 3, 6, most=2), _random(70, 5, 400, most=4)):
        pc.estimate(workload, [5.0] * len(workload), 2.0, time_limit=5.0)


def _tables() -> None:
    from parcomp.data import Reading, TablePlace, open_table, write_table
    from parcomp.model import Condition, Statement

    domain = pc.Domain({"x": pc.Integer(0, 9), "y": pc.Integer(0, 9)})
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "numbers.csv"
        path.write_text("x,y\n" + "1,2\n" * 100_000)
        place = TablePlace(
            "numbers", "1", domain, "", str(path), "numbers", Reading(), "", 1, str(path.with_suffix(".codes")), ""
        )
        write_table(place)
        statements = [
            one
            for x in range(10)
            for y in range(10)
            for where in (Condition.of(domain.query(x=x, y=y)),)
            for one in (Statement.one("count", where), Statement.one("sum", where, "y"))
        ]
        with closing(open_table(place)) as table:
            table.measure(statements)


_STEPS: dict[str, Callable[[], None]] = {
    "reductions and searches": _searches,
    "cliques and colorings": _graphs,
    "huge domains": _huge_domains,
    "certificates": _certificates,
    "decisions of a custodian": _custodians,
    "plans": _plans,
    "estimates": _estimates,
    "tables": _tables,
}
