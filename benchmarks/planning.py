"""Plans: the noise that one budget buys, beside the paper's uniform costs, and how long planning takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from statistics import mean

import numpy as np

from benchmarks.harness import Goal, Row, Settings, Timing, benchmark, timed
from parcomp import Workload, max_overlap
from parcomp.experiments import workloads
from parcomp.planning import Plan, plan
from parcomp.planning.accuracy import expected_errors
from parcomp.privacy import find_measure

__all__ = ["plan_noise", "plan_shapes", "plan_strategies", "plan_uniform"]

_SCALES = {"pure": ("Laplace", 0.5), "zcdp": ("Gaussian", 0.66)}
"""Of each measure: its noise, and the goal for its mean scale as a part of the uniform one's."""


def _mean_scale(answer: Plan, measure: str) -> float:
    """The mean Laplace scale 1/ε or Gaussian σ = 1/√(2ρ)."""
    cost = answer.units[answer.units > 0] / 1e9
    return float(np.mean(1 / cost if measure == "pure" else 1 / np.sqrt(2 * cost)))


@cache
def _warm_up() -> None:
    for workload in (
        workloads.census_sample(100, 0),
        workloads.uniform_workload(40, 10, 2, 0),
        workloads.uniform_workload(40, 30, 2, 0),
        workloads.points(100, 10, 5, 0),
    ):
        plan(workload, budget=1, time_limit=5.0)
    plan(workloads.census_sample(100, 0), "gdp", 1, strategy="correlated")


@benchmark("plan-noise")
def plan_noise(settings: Settings) -> Iterator[Row]:
    """Mean scale of the noise on census samples at one budget: sequential, the paper's uniform, and planned."""
    _warm_up()
    cases = [(200, 5)] if settings.quick else [(1_000, 30), (2_000, 10)]
    for t, sets in cases:
        for measure, (noise, wanted) in _SCALES.items():
            uniform, planned, seconds, gaps = [], [], [], []
            sequential = 0.0
            for seed in range(sets):
                workload = workloads.census_sample(t, seed)
                answer, timing = timed(plan, workload, 1, measure)
                same = plan(workload, measure, 1, "uniform")
                uniform.append(_mean_scale(same, measure))
                planned.append(_mean_scale(answer, measure))
                seconds.append(timing.seconds)
                gaps.append(answer.gap or 0.0)
                sequential = float(t if measure == "pure" else np.sqrt(t / 2))
            ratio = mean(ours / theirs for ours, theirs in zip(planned, uniform, strict=True))
            figures = {
                "sets": sets,
                "sequential": sequential,
                "uniform": mean(uniform),
                "planned": mean(planned),
                "ratio": ratio,
                "from optimum": f"≤ {max(gaps):.1e}",
                "mean": Timing(mean(seconds)),
                "longest": Timing(max(seconds)),
            }
            goal = Goal(f"ratio ≤ {wanted}, ≤ 5 s", ratio <= wanted and max(seconds) <= 5)
            yield Row(f"t={t:,}, {noise}", figures, settings.at_full_size(goal))


@benchmark("plan-shapes")
def plan_shapes(settings: Settings) -> Iterator[Row]:
    """Plans where rows are too many to be written out: error, distance from the optimum and time."""
    _warm_up()
    limit = 10.0 if settings.quick else 60.0
    cases: list[tuple[str, Workload]] = [
        ("boxes, t=500, m=3", workloads.boxes(500, 3, 1_000, 0)),
        ("points, t=500, m=10", workloads.points(500, 10, 5, 0)),
        ("marginals, 6 x 5, 2-way", workloads.marginals(6, 5, 2)),
        ("uniform, t=100, m=10", workloads.uniform_workload(100, 10, 4, 0)),
        ("uniform, t=200, m=10", workloads.uniform_workload(200, 10, 4, 0)),
        ("uniform, t=200, m=50", workloads.uniform_workload(200, 50, 2, 0)),
    ]
    for name, workload in cases[: 4 if settings.quick else None]:
        for measure, (noise, _) in _SCALES.items():
            answer, timing = timed(lambda w=workload, kind=measure: plan(w, kind, 1, time_limit=limit))
            figures = {
                "mean error": answer.mean_error,
                "uniform's": answer.uniform_mean_error,
                "ratio": answer.mean_error / answer.uniform_mean_error,
                "from optimum": "" if answer.gap is None else f"≤ {answer.gap:.1%}",
                "rounds": answer.rounds,
                "time": timing,
            }
            yield Row(
                f"{name}, {noise}",
                figures,
                Goal("no worse than uniform", answer.mean_error <= answer.uniform_mean_error),
            )


@benchmark("plan-uniform")
def plan_uniform(settings: Settings) -> Iterator[Row]:
    """Plans of uniform workloads, m=10, whose overlap is only bracketed: error, as a part of that of uniform costs."""
    _warm_up()
    t, limit, seeds = (80, 5.0, range(2_001, 2_002)) if settings.quick else (200, 60.0, range(2_001, 2_006))
    for measure, (noise, _) in _SCALES.items():
        for seed in seeds:
            workload = workloads.uniform_workload(t, 10, 4, seed)
            answer, timing = timed(lambda w=workload, kind=measure: plan(w, kind, 1, time_limit=limit))
            # By a search of its own: no uniform costs that fit are lower in error than those for the row that it found.
            row = max_overlap(workload, time_limit=limit)
            least = float(expected_errors(find_measure(measure), np.array([10**9 // row.lower]))[0])
            figures = {
                "to uniform": answer.mean_error / answer.uniform_mean_error,
                "γ": f"{row.lower}" if row.exact else f"{row.lower}…{row.upper}",
                "to uniform at γ": answer.mean_error / least,
                "from optimum": "" if answer.gap is None else f"≤ {answer.gap:.1%}",
                "time": timing,
            }
            goal = Goal("≤ 1.02 of uniform", answer.mean_error <= 1.02 * answer.uniform_mean_error)
            yield Row(f"t={t} m=10 seed {seed}, {noise}", figures, settings.at_full_size(goal))


@benchmark("plan-strategies")
def plan_strategies(settings: Settings) -> Iterator[Row]:
    """Strategies on census samples at one budget: mean expected error, as a part of that of independent noise."""
    _warm_up()
    cases = [(200, 3)] if settings.quick else [(200, 10), (1_000, 10)]
    for t, sets in cases:
        for measure, strategy, wanted in (("gdp", "correlated", 0.6), ("pure", "atoms", 0.45)):
            ratios, against_uniform, gaps, seconds = [], [], [], []
            for seed in range(1_000, 1_000 + sets):
                workload = workloads.census_sample(t, seed)
                alone = plan(workload, measure, 1)
                answer, timing = timed(lambda w=workload, kind=measure, name=strategy: plan(w, kind, 1, strategy=name))
                ratios.append(answer.mean_error / alone.mean_error)
                against_uniform.append(answer.mean_error / alone.uniform_mean_error)
                gaps.append(answer.mean_error / answer.lower_bound - 1 if answer.lower_bound else 0.0)
                seconds.append(timing.seconds)
            figures = {
                "sets": sets,
                "ratio": mean(ratios),
                "± s.e.": float(np.std(ratios, ddof=1) / np.sqrt(sets)),
                "to uniform": mean(against_uniform),
                "from bound": f"≤ {max(gaps):.1%}" if strategy == "correlated" else "",
                "mean": Timing(mean(seconds)),
                "longest": Timing(max(seconds)),
            }
            goal = Goal(
                f"ratio ≤ {wanted}, ≤ 15 s, ≤ 3 % from the bound",
                mean(ratios) <= wanted and max(seconds) <= 15 and max(gaps) <= 0.03,
            )
            yield Row(f"t={t:,}, {strategy}, {measure}", figures, goal if t == 1_000 else None)
