"""Error: how far answers are off at one budget, method by method, on the same tables and in one run."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from benchmarks.error_cases import FIRST_SEED, Case, Floats, case_of, census_case, noise_of_costs, rounded_noise
from benchmarks.harness import Goal, Row, Settings, Timing, benchmark, timed
from parcomp import Workload, estimate, plan
from parcomp.noise import joint_noise
from parcomp.planning import Plan

__all__ = [
    "METHODS",
    "Method",
    "census_case",
    "census_error",
    "census_intervals",
    "compared_line",
    "marginals_error",
    "strategy_costs",
    "table_error",
    "write_lines",
]

Method = Callable[[Case, np.random.Generator], Floats]
"""One draw of the answers to a case."""

METHODS: dict[str, Method] = {}
"""All that are compared, by name; the planner is what they are compared with.  Enter others by :func:`method`."""

_GOALS = {
    ("census", 1_000, "gdp", "strategy"): 0.60,
    ("census", 1_000, "gdp", "strategy + estimate"): 0.50,
    ("census", 1_000, "pure", "strategy"): 0.45,
    ("census", 1_000, "pure", "strategy + estimate"): 0.38,
    ("census", 3_000, "gdp", "planner + estimate"): 0.45,
    ("census", 3_000, "pure", "planner + estimate"): 0.45,
}
_STRATEGIES_UP_TO = 2_048
"""Queries: beyond, a correlated plan takes minutes, and five of them are too many for one run."""


def method(name: str) -> Callable[[Method], Method]:
    """Enter a method under a name."""

    def enter(run: Method) -> Method:
        METHODS[name] = run
        return run

    return enter


@method("uniform")
def _uniform(case: Case, draw: np.random.Generator) -> Floats:
    """The paper's: the same cost for all queries."""
    return case.truth + rounded_noise(case.measure, noise_of_costs(_uniform_plan(case.workload, case.measure)), draw)


@method("planner")
def _planner(case: Case, draw: np.random.Generator) -> Floats:
    return case.noisy(draw)


@method("cut at 0")
def _cut(case: Case, draw: np.random.Generator) -> Floats:
    return np.maximum(_planner(case, draw), 0.0)


@method("planner + estimate")
def _estimated(case: Case, draw: np.random.Generator) -> Floats:
    return case.estimated(_planner(case, draw)).values


@method("strategy")
def _strategy(case: Case, draw: np.random.Generator) -> Floats:
    """Correlated noise under GDP, atoms under pure differential privacy."""
    return case.truth + case.strategic()[1].drawn(draw)


@method("strategy + estimate")
def _strategy_estimated(case: Case, draw: np.random.Generator) -> Floats:
    return case.estimated(_strategy(case, draw), strategic=True).values


@benchmark("census-error")
def census_error(settings: Settings) -> Iterator[Row]:
    """Mean absolute error on census samples as a part of the planner's: mean and standard error over workloads."""
    yield from _compared(settings, [("census", t) for t in ((200,) if settings.quick else (200, 1_000, 3_000))])


@benchmark("table-error")
def table_error(settings: Settings) -> Iterator[Row]:
    """The same on a published study of 7,874 people, which a package of the registry bundles."""
    yield from _compared(settings, [("flchain", 100 if settings.quick else 500)])


@benchmark("marginals-error")
def marginals_error(settings: Settings) -> Iterator[Row]:
    """The same on all one- to three-way marginals of 12 attributes."""
    yield from _compared(settings, [("marginals", 2_048)])


def _compared(settings: Settings, cases: Sequence[tuple[str, int]]) -> Iterator[Row]:
    workloads, draws = (2, 3) if settings.quick else (5, 20)
    _warm_up()
    kept: list[dict[str, object]] = []
    for table, t in cases:
        names = [name for name in METHODS if t <= _STRATEGIES_UP_TO or not name.startswith("strategy")]
        for measure in ("pure", "gdp"):
            # Methods that begin with the same noise are compared on the same draws of it.
            errors = {name: np.zeros((workloads, draws, 2)) for name in names}
            seeds = range(FIRST_SEED, FIRST_SEED + workloads)
            for number, seed in enumerate(seeds):
                case = case_of(table, t, measure, seed)
                for name in names:
                    for place in range(draws):
                        off = METHODS[name](case, np.random.default_rng([seed, place])) - case.truth
                        errors[name][number, place] = np.abs(off).mean(), np.sqrt(np.mean(off**2))
            for name, found in errors.items():
                ratio = found.mean(axis=1) / errors["planner"].mean(axis=1)
                wanted = _GOALS.get((table, t, measure, name))
                raw = errors["strategy" if name.startswith("strategy") else "planner"][:, :, 1]
                figures = {
                    "error": float(found[:, :, 0].mean()),
                    "of the planner's": _with_error(ratio[:, 0]),
                    "root mean square": _with_error(ratio[:, 1]),
                    "draws worse than raw": int((found[:, :, 1] > raw * (1 + 1e-9)).sum()),
                }
                kept.append(compared_line(table, t, measure, name, found, ratio))
                goal = None if wanted is None else Goal.at_most(float(ratio[:, 0].mean()), wanted)
                yield Row(f"{table} t={t:,}, {measure}: {name}", figures, goal and settings.at_full_size(goal))
        write_lines(settings, cases[0][0], kept)


def compared_line(table: str, t: int, measure: str, name: str, found: Floats, ratio: Floats) -> dict[str, object]:
    """A line of the file that the page and its picture are made of: error by workload and draw, mean and RMS."""
    spread = ratio.std(axis=0, ddof=1) / np.sqrt(len(ratio)) if len(ratio) > 1 else np.zeros(2)
    return {
        "table": table,
        "queries": t,
        "measure": measure,
        "method": name,
        "workloads": len(found),
        "draws": found.shape[1],
        "error": f"{found[:, :, 0].mean():.4g}",
        "of_planner": f"{ratio[:, 0].mean():.4f}",
        "of_planner_se": f"{spread[0]:.4f}",
        "rms_of_planner": f"{ratio[:, 1].mean():.4f}",
        "rms_of_planner_se": f"{spread[1]:.4f}",
    }


def write_lines(settings: Settings, name: str, lines: Sequence[dict[str, object]]) -> None:
    """Write such lines into ``error-NAME.csv``."""
    settings.out.mkdir(parents=True, exist_ok=True)
    with (settings.out / f"error-{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


@benchmark("strategy-costs")
def strategy_costs(settings: Settings) -> Iterator[Row]:
    """Processor seconds of a correlated plan and of estimates on census samples, and the distance from the bound."""
    _warm_up()
    t = 200 if settings.quick else 1_000
    for measure in ("gdp", "pure"):
        plans, estimates, intervals, gaps = [], [], [], []
        for seed in range(FIRST_SEED, FIRST_SEED + (2 if settings.quick else 5)):
            case = case_of("census", t, measure, seed)
            planned, timing = timed(lambda c=case: plan(c.workload, c.measure, 1, strategy=c.strategy))
            plans.append(timing.cpu)
            noise = joint_noise(planned)
            answers = case.truth + noise.drawn(np.random.default_rng(seed))
            estimates.append(timed(lambda p=planned, a=answers: estimate(p, a, interval=None))[1].cpu)
            intervals.append(timed(lambda p=planned, a=answers: estimate(p, a))[1].cpu)
            gaps.append(planned.mean_error / planned.lower_bound - 1 if planned.lower_bound else np.nan)
        figures = {
            "plan": Timing(max(plans)),
            "estimate": Timing(max(estimates)),
            "with intervals": Timing(max(intervals)),
            "from the bound": "" if measure == "pure" else f"{max(gaps):.2%}",
        }
        within = max(plans) <= 15 and max(estimates) <= 1 and (measure == "pure" or max(gaps) <= 0.03)
        yield Row(f"t={t:,}, {measure}", figures, settings.at_full_size(Goal("≤ 15 s, ≤ 1 s, ≤ 3 %", within)))


@benchmark("census-intervals")
def census_intervals(settings: Settings) -> Iterator[Row]:
    """How often 95 % intervals of estimates hold the true count on census samples, how wide they are, and the time."""
    yield from _held(settings, (200,) if settings.quick else (200, 1_000, 3_000))


def _held(settings: Settings, sizes: Sequence[int]) -> Iterator[Row]:
    workloads, draws = (2, 2) if settings.quick else (5, 20)
    _warm_up()
    kept: list[dict[str, object]] = []
    for t in sizes:
        for measure in ("pure", "gdp"):
            for strategic in (False, True) if t <= _STRATEGIES_UP_TO else (False,):
                held, widths, seconds = [], [], []
                for seed in range(FIRST_SEED, FIRST_SEED + workloads):
                    case = case_of("census", t, measure, seed)
                    for place in range(draws):
                        run = _strategy if strategic else _planner
                        answers = run(case, np.random.default_rng([seed, place]))
                        found, timing = timed(lambda c=case, a=answers, s=strategic: c.estimated(a, 0.95, strategic=s))
                        inside = _inside(found.intervals, case.truth)
                        raw = _inside(found.raw_intervals, case.truth)
                        held.append((inside.mean(), inside[case.truth < 10].mean(), raw.mean()))
                        widths.append(np.diff(found.intervals).mean() / np.diff(found.raw_intervals).mean())
                        seconds.append(timing.cpu)
                parts = dict(zip(("estimate", "small", "raw"), np.array(held).T, strict=True))
                noise = case.strategy if strategic else "planner"
                line: dict[str, object] = {"queries": t, "measure": measure, "noise": noise}
                for name, values in parts.items():
                    line[name], line[f"{name}_se"] = _with_error(values).split(" ± ")
                kept.append({**line, "width": f"{np.mean(widths):.4f}"})
                write_lines(settings, "intervals", kept)
                figures = {
                    "hold the count": _with_error(parts["estimate"]),
                    "counts below 10": _with_error(parts["small"]),
                    "raw": _with_error(parts["raw"]),
                    "width, of the raw ones'": float(np.mean(widths)),
                    "mean": Timing(float(np.mean(seconds))),
                    "longest": Timing(max(seconds)),
                }
                goal = Goal("95 ± 1.5 %", abs(float(parts["estimate"].mean()) - 0.95) <= 0.015)
                yield Row(f"t={t:,}, {measure}: {noise}", figures, settings.at_full_size(goal))


@cache
def _warm_up() -> None:
    for measure in ("gdp", "pure"):
        case = census_case(100, measure, 0)
        for strategic in (False, True):
            case.estimated(case.truth, strategic=strategic)


@cache
def _uniform_plan(workload: Workload, measure: str) -> Plan:
    return plan(workload, measure, 1, "uniform")


def _inside(intervals: Floats, truth: Floats) -> npt.NDArray[np.bool_]:
    return (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])


def _with_error(values: Floats) -> str:
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"
