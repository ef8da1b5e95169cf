"""The whole census workload in a process of its own.

``python -m benchmarks.whole_census [TIME_LIMIT]`` prints one line of JSON.
Peak memory belongs to a process, so this figure cannot be taken in the one that runs the other benchmarks.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import parcomp
from parcomp.experiments.workloads import census_sample, census_workload

__all__ = ["main", "peak_memory"]


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    else:
        # Where Linux tells, this is better: ru_maxrss also counts the parent's memory at the moment of the start.
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return kilobytes * 1024


def main(time_limit: float) -> None:
    """Build and solve the workload; print sizes, bracket, seconds and peak memory."""
    parcomp.max_overlap(census_sample(500, 0), time_limit=10.0)
    began, cpu_before = time.perf_counter(), time.process_time()
    workload = census_workload()
    built = time.perf_counter()
    answer = parcomp.max_overlap(workload, time_limit=time_limit)
    figures = {
        "queries": len(workload),
        "lower": answer.lower,
        "upper": answer.upper,
        "exact": answer.exact,
        "build": built - began,
        "solve": time.perf_counter() - built,
        "cpu": time.process_time() - cpu_before,
        "peak": peak_memory(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
