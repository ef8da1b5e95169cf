"""Two-valued attributes by Parcomp and by toulbar2, which is at its best there, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.harness import Goal, Ratio, Row, Settings, Timing, benchmark, repeated
from benchmarks.overlap import solve, warm_up
from parcomp.experiments import workloads
from parcomp.experiments.peer_environments import ask_tool, environment
from parcomp.model import Workload
from parcomp.model.compile import compile_workload

__all__ = ["two_valued"]

_LIMIT = 60.0


@benchmark("two-valued", topic="overlap")
def two_valued(settings: Settings) -> Iterator[Row]:
    """Two-valued attributes, two constraints a query: processor time beside toulbar2's, which reads it before."""
    warm_up()
    queries, seeds = (200, range(1)) if settings.quick else (400, range(5))
    drawn = [workloads.binary(queries, 40, seed) for seed in seeds]
    python = environment("toulbar2")
    told = ask_tool(python, "toulbar2", {"problems": [_problem(one) for one in drawn]}, _LIMIT * len(drawn)).told
    for seed, workload, overlap, seconds in zip(seeds, drawn, told["answers"], told["seconds"], strict=True):
        one, ours = repeated(solve, workload, _LIMIT)
        theirs = Timing(seconds, cpu=seconds)
        ratio = Ratio.between(ours, theirs)
        figures = {
            "overlap": one.bracket,
            "toulbar2's": overlap,
            "clock": ours,
            "processor": Timing(ours.cpu or 0.0),
            "toulbar2": theirs,
            "longer by": ratio,
        }
        goal = Goal("exact, ≤ 3x", one.exact and one.lower == overlap and ratio.value <= 3.0)
        yield Row(f"t={queries} m=40 seed {seed}", figures, settings.at_full_size(goal))


def _problem(workload: Workload) -> dict[str, Any]:
    """The workload as numbers: of each query the attributes that it constrains, and whether it accepts each value."""
    compiled = compile_workload(workload).compiled
    terms = [compiled.term[compiled.start[q] : compiled.start[q + 1]].tolist() for q in range(compiled.query_count)]
    return {
        "sizes": compiled.sizes.tolist(),
        "weights": compiled.weights.tolist(),
        "queries": [
            [(int(compiled.mask_attribute[mask]), compiled.mask_bits(mask).tolist()) for mask in one] for one in terms
        ],
    }
