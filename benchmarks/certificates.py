"""Certificates: which exact answers come with a proof, how long the proofs are, and what writing and checking takes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import parcomp
from benchmarks.harness import Goal, Row, Settings, Timing, benchmark, report
from benchmarks.overlap import warm_up
from parcomp import Workload
from parcomp.experiments import workloads

__all__ = ["certificates"]

_LIMIT = 60.0

_UNPROVEN = 0.05
"""The share of exact answers that may go without a proof."""


@dataclass(frozen=True, slots=True)
class _Family:
    """Workloads of one kind, one for each seed."""

    name: str
    draw: Callable[[int], Workload]
    seeds: int


@dataclass(frozen=True, slots=True)
class _Proven:
    """What became of one exact answer: processor seconds, of checking only if there is a proof."""

    proven: bool
    cases: int
    numbers: int
    solving: float
    proving: float
    checking: float


@benchmark("certificates", topic="overlap")
def certificates(settings: Settings) -> Iterator[Row]:
    """Proofs of exact answers on the workloads of the other benchmarks: cases, numbers, processor time."""
    warm_up()
    of_all: list[_Proven] = []
    for family in _quick_families() if settings.quick else _families():
        answers = [_prove(family, seed) for seed in range(family.seeds)]
        exact = [one for one in answers if one is not None]
        of_all += exact
        yield Row(family.name, _figures(family.seeds, exact))
    unproven = sum(not one.proven for one in of_all)
    share = unproven / max(1, len(of_all))
    figures = {"exact": f"{len(of_all)}", "proven": f"{len(of_all) - unproven}", "share of search": f"{share:.1%}"}
    yield Row("all", figures, Goal(f"≤ {_UNPROVEN:.0%} search", share <= _UNPROVEN))


def _prove(family: _Family, seed: int) -> _Proven | None:
    """Solve, prove and check one workload; None if the answer is not exact."""
    workload = family.draw(seed)
    began = time.process_time()
    answer = parcomp.max_overlap(workload, _LIMIT)
    solving = time.process_time() - began
    if not answer.exact:
        return None
    began = time.process_time()
    certificate = answer.certificate
    proving = time.process_time() - began
    proven = {"search": True} not in certificate["proof"]
    checking = 0.0
    if proven:
        # As it comes back from a file, which is what others check.
        certificate = json.loads(json.dumps(certificate))
        began = time.process_time()
        assert parcomp.verify(workload, certificate).upper == answer.upper
        checking = time.process_time() - began
    one = _Proven(proven, len(certificate["proof"]), _numbers(certificate), solving, proving, checking)
    report(f"    {family.name} seed {seed}: {one}")
    return one


def _numbers(written: Any) -> int:
    """How many numbers a certificate holds."""
    if isinstance(written, dict):
        return sum(map(_numbers, written.values()))
    return sum(map(_numbers, written)) if isinstance(written, list) else isinstance(written, int)


def _figures(seeds: int, exact: list[_Proven]) -> dict[str, Any]:
    proven = [one for one in exact if one.proven]
    return {
        "exact": f"{len(exact)} of {seeds}",
        "proven": f"{len(proven)} of {len(exact)}",
        "share of search": f"{1 - len(proven) / max(1, len(exact)):.0%}",
        "most cases": max((one.cases for one in proven), default=0),
        "most numbers": max((one.numbers for one in proven), default=0),
        "longest solving": Timing(max((one.solving for one in exact), default=0.0)),
        "longest proving": Timing(max((one.proving for one in exact), default=0.0)),
        "longest checking": Timing(max((one.checking for one in proven), default=0.0)),
    }


def _uniform(t: int, m: int, kmax: int, seed: int) -> Workload:
    return workloads.uniform_workload(t, m, kmax, seed)


def _dense(t: int, seed: int) -> Workload:
    return workloads.dense_subsets(t, 12, seed, density=0.4, constraints=4, heaviest=10)


def _marginals(attributes: int, values: int, seed: int) -> Workload:  # noqa: ARG001  (nothing is drawn)
    return workloads.marginals(attributes, values, 3)


def _families() -> list[_Family]:
    return [
        *(_Family(f"census t={t:,}", partial(workloads.census_sample, t), 5) for t in (1_000, 2_000)),
        *(_Family(f"marginals {m} x {k}", partial(_marginals, m, k), 1) for m, k in ((8, 6), (10, 8), (12, 10))),
        _Family("points t=5,000 m=30", partial(workloads.points, 5_000, 30, 10), 3),
        _Family("boxes t=2,000 m=5", partial(workloads.boxes, 2_000, 5, 1_000), 3),
        _Family("two-valued t=400 m=40", partial(workloads.binary, 400, 40), 5),
        _Family("dense subsets t=150", partial(_dense, 150), 5),
        *(_Family(f"uniform t=100 m={m}", partial(_uniform, 100, m, 4), 5) for m in (10, 20, 50)),
        *(_Family(f"uniform t=100 m={m}, 10^6 values", partial(_uniform, 100, m, 6), 5) for m in (20, 50)),
        _Family("uniform t=200 m=10", partial(_uniform, 200, 10, 4), 5),
        _Family("dense subsets t=500", partial(_dense, 500), 5),
    ]


def _quick_families() -> list[_Family]:
    return [
        _Family("census t=500", partial(workloads.census_sample, 500), 3),
        _Family("marginals 8 x 6", partial(_marginals, 8, 6), 1),
        _Family("points t=1,000 m=30", partial(workloads.points, 1_000, 30, 10), 1),
        _Family("boxes t=500 m=5", partial(workloads.boxes, 500, 5, 1_000), 1),
        _Family("two-valued t=200 m=40", partial(workloads.binary, 200, 40), 1),
        _Family("uniform t=50 m=10", partial(_uniform, 50, 10, 4), 2),
    ]
