"""From what a statement costs to its noise, and from noisy numbers to an answer.

Everything here is known before the data is touched (which noise a cost buys, how large the error will be), or follows
from the noisy numbers alone (post-processing), so nothing of it discloses more than was paid for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import parcomp.noise
from parcomp.custodian.accountant import Expense
from parcomp.custodian.answer import Answer, Group
from parcomp.custodian.settings import Settings
from parcomp.errors import CostError
from parcomp.model import Aggregate, Statement, Value
from parcomp.noise import Mechanism, mechanism_for
from parcomp.privacy import Neighbours

__all__ = ["Release"]

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Release:
    """A statement with the noise for each of its aggregates; together they cost ``units``."""

    statement: Statement
    units: int
    mechanisms: tuple[Mechanism, ...]

    @classmethod
    def plan(cls, settings: Settings, statement: Statement, units: int) -> Release:
        """The noise that ``units`` buy; raises :class:`~parcomp.errors.CostError` if they buy none that can be drawn.

        An average is a sum and a count, each of which gets half.
        """
        aggregates = statement.aggregates
        if units < len(aggregates):
            raise CostError("the cost is too small to be divided between a sum and a count")
        bounds = [units * part // len(aggregates) for part in range(len(aggregates) + 1)]
        mechanisms = tuple(
            mechanism_for(settings.measure, after - before, _sensitivity(settings, aggregate))
            for aggregate, (before, after) in zip(aggregates, pairwise(bounds), strict=True)
        )
        return cls(statement, units, mechanisms)

    @property
    def expense(self) -> Expense:
        """What it is charged as."""
        return Expense(self.statement.query, self.units, self.statement.touched)

    @property
    def expected_error(self) -> float | None:
        """The mean absolute error of each number; None for an average, where it depends on how many rows there are."""
        return None if self.statement.kind == "average" else self.mechanisms[0].expected_error

    def noisy(self, measured: Sequence[Sequence[int]]) -> str:
        """The measured numbers with noise, as the text that is stored."""
        pairs = zip(self.mechanisms, measured, strict=True)
        return json.dumps(
            [parcomp.noise.add_noise(mechanism, numbers) for mechanism, numbers in pairs], separators=(",", ":")
        )

    def nothing(self) -> Answer:
        """The answer to a statement that no row satisfies: 0 on every table, without noise and free."""
        groups = tuple(Group(row, 0, (0, 0)) for row in self.statement.group_rows())
        return Answer(None, groups, cost=0, expected_error=0.0, cached=False)

    def answer(self, stored: str, charge: int, cost: int | float, *, cached: bool) -> Answer:
        """The answer that stored noisy numbers stand for."""
        numbers: list[list[int]] = json.loads(stored)
        rows = list(self.statement.group_rows())
        if self.statement.kind == "average":
            groups, error = self._averages(rows, numbers)
        else:
            width, error = self.mechanisms[0].half_width(_CONFIDENCE), self.mechanisms[0].expected_error
            groups = [
                Group(row, value, (value - width, value + width)) for row, value in zip(rows, numbers[0], strict=True)
            ]
        return Answer(charge, tuple(groups), cost=cost, expected_error=error, cached=cached)

    def _averages(self, rows: Sequence[dict[str, Value]], numbers: list[list[int]]) -> tuple[list[Group], float]:
        """Averages within the declared bounds, and their mean error as estimated from the noisy counts."""
        aggregate = self.statement.aggregates[0]
        total_noise, count_noise = self.mechanisms
        # Each of the two intervals fails half as often as both together may.
        confidence = 1 - (1 - _CONFIDENCE) / 2
        total_width, count_width = total_noise.half_width(confidence), count_noise.half_width(confidence)
        groups, errors = [], []
        for row, total, count in zip(rows, *numbers, strict=True):
            divisor = max(count, 1)
            value = _clip(aggregate, aggregate.center + total / divisor)
            fewest, most = max(count - count_width, 0), max(count + count_width, 1)
            if fewest == 0:
                interval = (float(aggregate.low), float(aggregate.high))
            else:
                ends = [(total + way * total_width) / rows_ for way in (-1, 1) for rows_ in (fewest, most)]
                # One float outward, so that rounding does not cut off the end itself.
                interval = (
                    _clip(aggregate, math.nextafter(aggregate.center + min(ends), -math.inf)),
                    _clip(aggregate, math.nextafter(aggregate.center + max(ends), math.inf)),
                )
            groups.append(Group(row, value, interval))
            slope = abs(value - aggregate.center)
            errors.append((total_noise.expected_error + slope * count_noise.expected_error) / divisor)
        return groups, sum(errors) / len(errors)


def _sensitivity(settings: Settings, aggregate: Aggregate) -> int:
    """The most by which one row more or less, or one in the place of another, moves the number."""
    if settings.neighbours == Neighbours.REPLACE_ONE:
        return max(aggregate.sensitivity, aggregate.spread)
    return aggregate.sensitivity


def _clip(aggregate: Aggregate, value: float) -> float:
    return min(max(value, float(aggregate.low)), float(aggregate.high))
