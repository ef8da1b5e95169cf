"""Error: how far answers are off at one budget, method by method, on draws of noise on one synthetic table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from benchmarks.harness import Goal, Row, Settings, Timing, benchmark, timed
from parcomp import Categorical, Workload, estimate, plan
from parcomp.estimation import Estimate
from parcomp.planning import Plan
from parcomp.samples import census_domain, census_sample, census_table

__all__ = ["METHODS", "Case", "Method", "census_case", "census_error", "census_intervals"]

Floats = npt.NDArray[np.float64]

_ROWS, _TABLE_SEED = 50_000, 1
_FIRST_SEED = 1_000
"""Workloads that nothing was tuned on."""


@dataclass(frozen=True, slots=True)
class Case:
    """A workload under a measure at budget 1: its true answers and its plan."""

    workload: Workload
    measure: str
    truth: Floats
    planned: Plan

    @property
    def scales(self) -> Floats:
        """The scale of the planned noise: b of Laplace, σ of Gaussian noise."""
        return _scales(self.planned)


Method = Callable[[Case, np.random.Generator], Floats]
"""One draw of the answers to a case."""

METHODS: dict[str, Method] = {}
"""All that are compared, by name; the planner is what they are compared with.  Enter others by :func:`method`."""


def method(name: str) -> Callable[[Method], Method]:
    """Enter a method under a name."""

    def enter(run: Method) -> Method:
        METHODS[name] = run
        return run

    return enter


@method("uniform")
def _uniform(case: Case, draw: np.random.Generator) -> Floats:
    """The paper's: the same cost for all queries."""
    return case.truth + _noise(case.measure, _scales(_uniform_plan(case.workload, case.measure)), draw)


@method("planner")
def _planner(case: Case, draw: np.random.Generator) -> Floats:
    return case.truth + _noise(case.measure, case.scales, draw)


@method("cut at 0")
def _cut(case: Case, draw: np.random.Generator) -> Floats:
    return np.maximum(_planner(case, draw), 0.0)


@method("planner + estimate")
def _estimated(case: Case, draw: np.random.Generator) -> Floats:
    return _estimate(case, _planner(case, draw), None).values


def _estimate(case: Case, answers: Floats, interval: float | None = 0.95) -> Estimate:
    noise = "laplace" if case.measure == "pure" else "gaussian"
    return estimate(case.workload, answers, case.scales, noise=noise, interval=interval)


@benchmark("census-error")
def census_error(settings: Settings) -> Iterator[Row]:
    """Mean absolute error on census samples as a part of the planner's: mean and standard error over workloads."""
    workloads, draws = (2, 3) if settings.quick else (5, 20)
    goals = {(1_000, "gdp"): 0.60, (1_000, "pure"): 0.63, (3_000, "gdp"): 0.45, (3_000, "pure"): 0.45}
    _warm_up()
    for t in (200,) if settings.quick else (200, 1_000, 3_000):
        for measure in ("pure", "gdp"):
            cases = [census_case(t, measure, _FIRST_SEED + number) for number in range(workloads)]
            errors = {name: np.zeros((workloads, draws, 2)) for name in METHODS}
            for number, case in enumerate(cases):
                for name, run in METHODS.items():
                    # Methods that begin with the same noise are compared on the same draws of it.
                    for place in range(draws):
                        found = run(case, np.random.default_rng([_FIRST_SEED + number, place])) - case.truth
                        errors[name][number, place] = np.abs(found).mean(), np.sqrt(np.mean(found**2))
            planner = errors["planner"].mean(axis=1)
            for name, found in errors.items():
                ratio = found.mean(axis=1) / planner
                wanted = goals.get((t, measure)) if name == "planner + estimate" else None
                figures = {
                    "error": float(found[:, :, 0].mean()),
                    "of the planner's": _with_error(ratio[:, 0]),
                    "root mean square": _with_error(ratio[:, 1]),
                    "draws worse than the planner's": int((found[:, :, 1] > errors["planner"][:, :, 1]).sum()),
                }
                goal = None if wanted is None else Goal.at_most(float(ratio[:, 0].mean()), wanted)
                yield Row(f"t={t:,}, {measure}: {name}", figures, goal and settings.at_full_size(goal))


@benchmark("census-intervals")
def census_intervals(settings: Settings) -> Iterator[Row]:
    """How often 95 % intervals of estimates hold the true count on census samples, how wide they are, and the time."""
    workloads, draws = (2, 2) if settings.quick else (5, 4)
    _warm_up()
    for t in (200,) if settings.quick else (200, 1_000, 3_000):
        for measure in ("pure", "gdp"):
            held, small, raw_held, widths, seconds = [], [], [], [], []
            for number in range(workloads):
                case = census_case(t, measure, _FIRST_SEED + number)
                for place in range(draws):
                    answers = _planner(case, np.random.default_rng([_FIRST_SEED + number, place]))
                    found, timing = timed(_estimate, case, answers)
                    inside = _inside(found.intervals, case.truth)
                    held.append(inside.mean())
                    small.append(inside[case.truth < 10].mean())
                    raw_held.append(_inside(found.raw_intervals, case.truth).mean())
                    widths.append(np.diff(found.intervals).mean() / np.diff(found.raw_intervals).mean())
                    seconds.append(timing.seconds)
            figures = {
                "hold the count": _with_error(np.array(held)),
                "counts below 10": _with_error(np.array(small)),
                "raw": _with_error(np.array(raw_held)),
                "width, of the raw ones'": float(np.mean(widths)),
                "mean": Timing(float(np.mean(seconds))),
                "longest": Timing(max(seconds)),
            }
            goal = Goal("95 ± 1.5 %", abs(float(np.mean(held)) - 0.95) <= 0.015)
            yield Row(f"t={t:,}, {measure}", figures, settings.at_full_size(goal))


@cache
def _warm_up() -> None:
    case = census_case(100, "gdp", 0)
    _estimate(case, case.truth)


@cache
def census_case(t: int, measure: str, seed: int) -> Case:
    """A census sample with its answers on the synthetic table."""
    workload = census_sample(t, seed)
    return Case(workload, measure, _truth(workload), plan(workload, measure, 1))


@cache
def _uniform_plan(workload: Workload, measure: str) -> Plan:
    return plan(workload, measure, 1, "uniform")


@cache
def _codes() -> list[npt.NDArray[np.int64]]:
    """The synthetic table, as codes."""
    codes = []
    for attribute, column in zip(
        census_domain().attributes.values(), census_table(_ROWS, _TABLE_SEED).values(), strict=True
    ):
        if isinstance(attribute, Categorical):
            code_of = {value: code for code, value in enumerate(attribute.values)}
            codes.append(np.array([code_of[value] for value in column.tolist()]))
        else:
            # Bins, all of which begin at 0.
            codes.append(column.astype(np.int64) * attribute.size // (attribute.high - attribute.low))
    return codes


def _truth(workload: Workload) -> Floats:
    """The true answers."""
    counts = []
    for query in workload:
        inside = np.ones(_ROWS, np.bool_)
        for attribute, predicate in query.terms:
            inside &= predicate.flags()[_codes()[attribute]]
        counts.append(inside.sum())
    return np.array(counts, np.float64)


def _scales(planned: Plan) -> Floats:
    costs = np.array(planned.costs, np.float64)
    return 1 / np.where(costs > 0, costs, np.inf)


def _noise(measure: str, scales: Floats, draw: np.random.Generator) -> Floats:
    """Continuous noise of each scale, rounded: within a thousandth of what discrete noise of these scales is off by."""
    plain = draw.laplace(size=len(scales)) if measure == "pure" else draw.normal(size=len(scales))
    return np.rint(plain * scales)


def _inside(intervals: Floats, truth: Floats) -> npt.NDArray[np.bool_]:
    return (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])


def _with_error(values: Floats) -> str:
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"
