"""The demonstration of errors: one workload, one budget, and four ways to answer it, side by side in one picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import parcomp as pc
from parcomp.cli.terminal import bar, new_console, plain_table
from parcomp.noise import release
from parcomp.picture import picture
from parcomp.samples import census_codes, census_sample, census_table, true_counts

__all__ = ["Answered", "answer_in_four_ways", "draw_errors", "print_errors", "set_apart"]

Floats = npt.NDArray[np.float64]

_QUERIES, _SEED = 200, 5
_ABOUT = f"{_QUERIES} queries on the census, one budget of μ = 1"
_LINEAR = 10
"""Up to here the axis of counts is linear."""

_COLORS = ("#8c959f", "#56B4E9", "#0072B2", "#009E73")


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """What a method is, its answers, and how far they are off."""

    name: str
    about: str
    answers: Floats
    errors: Floats

    @property
    def mean_error(self) -> float:
        """The mean absolute error."""
        return float(np.abs(self.errors).mean())


def answer_in_four_ways(rows: int, seed: int) -> tuple[Floats, list[Answered]]:
    """The true counts of a census sample, and what uniform costs, a plan, a strategy and its estimate make of them."""
    workload = census_sample(_QUERIES, _SEED)
    counts = true_counts(workload, census_codes(census_table(rows, seed)))
    uniform = pc.plan(workload, "gdp", 1, "uniform")
    planned = pc.plan(workload, "gdp", 1)
    strategy = pc.plan(workload, "gdp", 1, strategy="correlated")
    truth = np.array(counts, np.float64)
    measured = np.array(release(strategy, counts))
    found = [
        ("uniform", "the same cost for all", np.array(release(uniform, counts))),
        ("planned", "costs as rows can bear them", np.array(release(planned, counts))),
        ("strategy", "combinations are measured", measured),
        ("estimate", "… and moved to what a table can have", pc.estimate(strategy, measured, interval=None).values),
    ]
    return truth, [Answered(name, about, answers, answers - truth) for name, about, answers in found]


def print_errors(found: Sequence[Answered]) -> None:
    """Print the mean error of each."""
    console = new_console(_ABOUT)
    table = plain_table("", "", ">mean error", "", names=True)
    for one in found:
        bars = bar(one.mean_error, found[0].mean_error, 16, "cyan")
        table.add_row(one.name, one.about, f"{one.mean_error:.2f}", bars)
    console.print(table)


def draw_errors(path: Path, truth: Floats, found: Sequence[Answered]) -> None:
    """Draw how far each answer is off, a panel for each method."""
    with picture(path, ncols=len(found), sharey=True, figsize=(12, 3.6), layout="constrained") as (figure, axes):
        for one, panel, color in zip(found, axes, _COLORS, strict=True):
            panel.axhspan(-one.mean_error, one.mean_error, color=color, alpha=0.2, linewidth=0)
            panel.scatter(
                set_apart(truth, one.errors), one.errors, s=11, facecolors="none", edgecolors=color, linewidths=0.7
            )
            panel.axhline(0, color="#1b1f24", linewidth=0.8)
            panel.set_xscale("symlog", linthresh=_LINEAR)
            panel.set_xlim(-6, 2 * float(truth.max(initial=100)))
            panel.set_xticks([0, 10, 100, 1_000, 10_000], ["0", "10", "100", "1,000", "10,000"], fontsize=8)
            panel.set_title(f"{one.name}: mean error {one.mean_error:.2f}\n{one.about}", fontsize=9.5)
            panel.set_xlabel("true count", fontsize=9)
            panel.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylabel("answer − true count", fontsize=9)
        figure.suptitle(
            f"{_ABOUT}: a ring is a query, set beside others with its count and error; a band is the mean error",
            fontsize=11,
        )


def set_apart(truth: Floats, errors: Floats) -> Floats:
    """The true counts, moved a little where dots would lie over each other, to both sides in turn.

    Noise on single counts is in whole numbers, so that many queries have the same error.

    >>> set_apart(np.array([0.0, 0.0, 0.0, 100.0]), np.array([1.0, 1.0, 2.0, 1.0])).tolist()
    [0.0, 0.6, 0.0, 100.0]
    """
    seen: Counter[tuple[float, float]] = Counter()
    places = []
    for count, error in zip(truth.tolist(), errors.tolist(), strict=True):
        # Counts that the axis by powers of ten cannot tell apart are one place.
        near = count if count < _LINEAR else float(f"{count:.1e}")
        number = seen[near, error]
        seen[near, error] += 1
        steps = (number + 1) // 2 * (1 if number % 2 else -1)
        places.append(count + 0.6 * steps if count < _LINEAR else count * 1.1**steps)
    return np.array(places, np.float64)
