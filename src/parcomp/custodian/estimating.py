"""Estimates beside the answers of a batch: what they say together about the true counts, for no further cost.

An estimate follows from numbers that were released (``docs/error.md``).  The answer and its guaranteed interval stay as
they are; the interval of the estimate is measured, not guaranteed, and marked as approximate.  Rows may have values
that are not declared, so queries are written over codes (:func:`~parcomp.model.over_codes`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import parcomp.estimation
from parcomp.custodian.release import Release
from parcomp.custodian.settings import Settings
from parcomp.custodian.strategy import Part, Strategy
from parcomp.figures import Figure
from parcomp.model import Item, Statement, over_codes, queries_of, why_not_counted

if TYPE_CHECKING:
    from parcomp.estimation import Estimate, Progress

__all__ = ["ESTIMATE_SECONDS", "NOTE", "NOTES", "Estimated", "estimated_apart", "estimated_together"]

ESTIMATE_SECONDS = 8.0
"""How long an estimate may take, where nothing else is said."""


NOTE = (
    "the estimate is what all answers of the batch say together; its interval holds in about 95 of 100 answers, which "
    "is measured and not guaranteed"
)
_PARTIAL = (
    "the time for the estimate was up, so it is no more than was proven by then (partial projection), which may be the "
    "answer itself, or 0 for one below 0; the error is not above that of the answers. For more, ask again, which is "
    "free, with a longer time limit (time_limit, --time-limit), or use: parcomp estimate -c"
)
_SEARCHED = f"{NOTE}; more rows may exist than were found, so that it is nearer to the truth is not proven"

NOTES: Mapping[str, str] = {"projection": NOTE, "searched projection": _SEARCHED, "partial projection": _PARTIAL}
"""What is to be said of estimates, by their method."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """The estimates of statements, by their texts, and the ``method`` that they are by; "" where there are none."""

    figures: Mapping[str, Mapping[Item, Sequence[Figure]]] = field(default_factory=dict)
    method: str = ""

    def of(self, text: str) -> Mapping[Item, Sequence[Figure]] | None:
        """The estimates of a statement; None where it has none."""
        return self.figures.get(text)

    def method_of(self, text: str) -> str:
        """The method that they are by."""
        return self.method if text in self.figures else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of them."""
        return (NOTES.get(self.method, NOTE),) if self.figures else ()


def estimated_together(
    strategy: Strategy, stored: str, time_limit: float | None = None, progress: Progress | None = None
) -> Estimated:
    """Estimates from the answers of a strategy."""
    found = parcomp.estimation.estimate(
        strategy.plan,
        np.array(strategy.answers(stored), np.float64),
        time_limit=ESTIMATE_SECONDS if time_limit is None else time_limit,
        progress=progress,
    )
    return _by_statement(strategy.statements, found)


def estimated_apart(
    settings: Settings,
    bought: Sequence[tuple[Release | Part, str]],
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Estimated:
    """Estimates from answers with noise of their own, of those that are counts of conjunctions."""
    counts = {
        release.statement.text: (release, _numbers(release, stored))
        for release, stored in bought
        if not why_not_counted(release.statement)
    }
    if not counts:
        return Estimated()
    statements = [release.statement for release, _ in counts.values()]
    answers = [float(number) for _, numbers in counts.values() for number in numbers]
    noise = "laplace" if settings.measure.name == "pure" else "gaussian"
    scales = [scale for release, _ in counts.values() for scale in _scales(release, noise)]
    workload = over_codes([query for one in statements for query in queries_of(one)])
    found = parcomp.estimation.estimate(
        workload,
        answers,
        scales,
        noise=noise,
        time_limit=ESTIMATE_SECONDS if time_limit is None else time_limit,
        progress=progress,
    )
    return _by_statement(statements, found)


def _numbers(release: Release | Part, stored: str) -> Sequence[int | float]:
    """The noisy counts of a statement, one for each group."""
    return release.numbers(stored) if isinstance(release, Part) else json.loads(stored)[0]


def _scales(release: Release | Part, noise: str) -> list[float]:
    """The scale of the noise on each; that of a batch that was bought earlier is taken for independent.

    What is proven of the projection holds whatever the noise is.
    """
    if isinstance(release, Part):
        return [float(one) / (math.sqrt(2) if noise == "laplace" else 1.0) for one in release.deviations]
    return [release.mechanisms[0].scale] * release.statement.group_count


def _by_statement(statements: Sequence[Statement], found: Estimate) -> Estimated:
    figures: dict[str, Mapping[Item, Sequence[Figure]]] = {}
    start = 0
    for one in statements:
        places = range(start, start + one.group_count)
        start = places.stop
        ends = [(float(low), float(high)) for low, high in found.intervals[places.start : places.stop]]
        values = found.values[places.start : places.stop].tolist()
        figures[one.text] = {
            Item("count"): [
                Figure(value, low, high, None, approximate=True)
                for value, (low, high) in zip(values, ends, strict=True)
            ]
        }
    # What is exact, or of no rows, was not estimated, and is not of a batch.
    return Estimated(figures, found.methods[0] if found.methods else "")
