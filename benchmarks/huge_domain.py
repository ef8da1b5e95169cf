"""Uniform queries on a huge domain, in a process of its own.

``python -m benchmarks.huge_domain T LOG10_SIZE SEED [TIME_LIMIT]`` prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import parcomp
from benchmarks.whole_census import peak_memory
from parcomp.experiments.huge import huge_uniform_workload
from parcomp.graph import WorkloadGraph

__all__ = ["main"]


def main(t: int, log10_size: int, seed: int, time_limit: float) -> None:
    """Build the query graph alone, then bracket the overlap; print sizes, bracket, seconds and peak memory."""
    parcomp.max_overlap(huge_uniform_workload(100, 500, 0), time_limit=10.0)
    began, cpu_before = time.perf_counter(), time.process_time()
    workload = huge_uniform_workload(t, log10_size, seed)
    built = time.perf_counter()
    building = WorkloadGraph(workload, np.arange(t), np.ones(t, np.int64))
    while building.advance(1 << 24):
        pass
    drawn = time.perf_counter()
    answer = parcomp.max_overlap(workload, time_limit=time_limit)
    figures = {
        "attributes": len(workload.domain.attributes),
        "predicates": len(workload.table.predicates),
        "edges": building.graph.edge_count,
        "lower": answer.lower,
        "upper": answer.upper,
        "exact": answer.exact,
        "build": built - began,
        "graph": drawn - built,
        "solve": time.perf_counter() - drawn,
        "cpu": time.process_time() - cpu_before,
        "peak": peak_memory(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    size, log10, number = (int(argument) for argument in sys.argv[1:4])
    main(size, log10, number, float(sys.argv[4]) if len(sys.argv) > 4 else 60.0)
