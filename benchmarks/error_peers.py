"""Outside baselines: what mbi (private-pgm) makes of the planner's answers, in an environment of its own.

HDMM and ResidualPlanner are not on the package index, under these or other names that were tried: hdmm, ektelo, dpcomp,
dpcomp-core, residualplanner, residual-planner, resplan, matrix-mechanism.  What a Gaussian matrix mechanism such as
theirs can reach at best is known without them: no covariance of the noise has a lower mean error than the bound of a
correlated plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.error import METHODS, compared_line, write_lines
from benchmarks.error_cases import FIRST_SEED, Case, Floats, case_of
from benchmarks.harness import Row, Settings, Timing, benchmark
from parcomp.estimation import estimate
from parcomp.experiments.peer_environments import PeerError, ask_tool, environment

__all__ = ["as_asked", "outside_error"]

_LIMIT = 3_000.0

_CASES = [
    ("marginals", 2_048, 20, 1_000),
    ("flchain", 500, 20, 3_000),
    ("census", 200, 20, 3_000),
    ("census", 1_000, 20, 3_000),
]
"""A table, queries, draws for each workload, and steps of mbi, whose own default is 1,000.

That is too few where queries ask for prefixes: on a census sample it leaves errors of ten times the planner's.
"""

_TOTAL = ", number of rows known"


def as_asked(case: Case) -> dict[str, Any]:
    """The queries of a case by places: the sizes of attributes, which of them are asked by prefixes, and each query.

    An attribute of which a query accepts several values, the first of them among these, is asked by prefixes; values
    between two ends of prefixes are one.
    """
    terms = [{attribute: np.flatnonzero(one.flags()) for attribute, one in query.terms} for query in case.workload]
    sizes, prefixes, ends = [], [], []
    for axis, attribute in enumerate(case.workload.domain.attributes.values()):
        asked = [one[axis] for one in terms if axis in one]
        prefix = any(len(one) > 1 for one in asked)
        last = sorted({int(one[-1]) for one in asked} | {attribute.size - 1})
        assert not prefix or all(one[0] == 0 and len(one) == one[-1] + 1 for one in asked)
        prefixes.append(prefix)
        ends.append({end: place for place, end in enumerate(last)})
        sizes.append(len(last) if prefix else attribute.size)
    asks = [
        [
            None if axis not in one else ends[axis][int(one[axis][-1])] if prefixes[axis] else int(one[axis][0])
            for axis in range(len(sizes))
        ]
        for one in terms
    ]
    return {"sizes": sizes, "prefixes": prefixes, "asks": asks}


@benchmark("outside-error", topic="error")
def outside_error(settings: Settings) -> Iterator[Row]:
    """All methods beside mbi on the same draws under GDP; mbi is told the number of rows: error, of the planner's."""
    workloads = 1 if settings.quick else 5
    kept: list[dict[str, object]] = []
    for table, t, draws, steps in [("census", 50, 1, 100)] if settings.quick else _CASES:
        seeds = range(FIRST_SEED, FIRST_SEED + workloads)
        errors = {name: np.zeros((workloads, draws, 2)) for name in [*METHODS, f"planner + estimate{_TOTAL}"]}
        seconds, told, failed = 0.0, np.zeros((workloads, draws, 2)), ""
        for number, seed in enumerate(seeds):
            case = case_of(table, t, "gdp", seed)
            drawn = [case.noisy(np.random.default_rng([seed, place])) for place in range(draws)]
            for place, answers in enumerate(drawn):
                for name, run in METHODS.items():
                    found = run(case, np.random.default_rng([seed, place]))
                    errors[name][number, place] = _off(case, found)
                errors[f"planner + estimate{_TOTAL}"][number, place] = _off(case, _with_total(case, answers))
            try:
                if not failed:
                    answered = ask_tool(environment("mbi"), "mbi", _work(case, drawn, steps), _LIMIT)
                    seconds += answered.seconds / draws / workloads
                    told[number] = [_off(case, np.array(one)) for one in answered.told["answers"]]
            except PeerError as error:
                failed = str(error)
        if not failed:
            errors[f"planner + mbi{_TOTAL}"] = told
        for name, found in errors.items():
            ratio = found.mean(axis=1) / errors["planner"].mean(axis=1)
            line = compared_line(table, t, "gdp", name, found, ratio)
            kept.append(line)
            figures: dict[str, Any] = {
                "of the planner's": f"{line['of_planner']} ± {line['of_planner_se']}",
                "root mean square": f"{line['rms_of_planner']} ± {line['rms_of_planner_se']}",
            }
            if "mbi" in name:
                figures["a draw, processor"] = Timing(seconds)
            yield Row(f"{table} t={t:,}: {name}", figures)
        if failed:
            yield Row(f"{table} t={t:,}: mbi", {"of the planner's": failed})
        write_lines(settings, "outside", kept)


def _off(case: Case, found: Floats) -> tuple[float, float]:
    off = found - case.truth
    return float(np.abs(off).mean()), float(np.sqrt(np.mean(off**2)))


def _with_total(case: Case, answers: Floats) -> Floats:
    """What Parcomp makes of the same answers where it is told as much."""
    facts = {case.workload.domain.query(): case.rows}
    return estimate(case.workload, answers, case.scales, noise="gaussian", interval=None, facts=facts).values


def _work(case: Case, drawn: Sequence[Floats], steps: int) -> dict[str, Any]:
    return {
        **as_asked(case),
        "draws": [one.tolist() for one in drawn],
        "deviations": case.scales.tolist(),
        "total": case.rows,
        "iterations": steps,
    }
