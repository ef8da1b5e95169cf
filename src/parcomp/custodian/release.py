"""From what a statement costs to its noise, and from noisy numbers to figures.

Everything here is known before the data is touched (which noise a cost buys, how large the error will be), or follows
from the noisy numbers alone (post-processing), so nothing of it discloses more than was paid for.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import parcomp.noise
from parcomp.custodian.accountant import Expense
from parcomp.custodian.division import Share, divide
from parcomp.custodian.estimates import averages, plain, quantiles, search_width
from parcomp.custodian.settings import Settings
from parcomp.custodian.variances import variances
from parcomp.figures import Figure
from parcomp.model import Aggregate, Item, Statement
from parcomp.noise import Mechanism

__all__ = ["Release"]


@dataclass(frozen=True, slots=True)
class Release:
    """A statement with the noise for each of its aggregates; together they cost ``units``."""

    statement: Statement
    units: int
    shares: tuple[Share, ...]

    @classmethod
    def plan(cls, settings: Settings, statement: Statement, units: int) -> Release:
        """The noise that ``units`` buy; :class:`~parcomp.errors.CostError` if they buy none that can be drawn."""
        return cls(statement, units, divide(settings, statement, units))

    @classmethod
    def stored(cls, settings: Settings, statement: Statement, units: int, stored: str) -> Release:
        """The noise that stored numbers have, which ``units`` have bought: earlier versions searched otherwise."""
        found = zip(statement.aggregates, json.loads(stored), strict=True)
        halving = any(one.kind == "ranks" and isinstance(numbers, list) for one, numbers in found)
        return cls(statement, units, divide(settings, statement, units, halving=halving))

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The noise of each aggregate."""
        return tuple(share.mechanism for share in self.shares)

    @property
    def expense(self) -> Expense:
        """What it is charged as."""
        return Expense(self.statement.query, self.units, self.statement.touched)

    @property
    def expected_errors(self) -> dict[Item, float | None]:
        """The mean absolute error of each item; None where it depends on how many rows there are."""
        return {item: self._known_error(item) for item in self.statement.items}

    @property
    def expected_error(self) -> float | None:
        """The mean absolute error of the first item."""
        return self._known_error(self.statement.items[0])

    def error_for(self, item: Item, rows: int) -> float:
        """About the mean absolute error of an item over so many rows, were values evenly spread over what is declared.

        It is exact for counts, sums and different values, which do not depend on the rows.  Others are kept to what is
        possible, so that no error is larger than the distance of the true number from the further end of it: that of
        the middle of the bounds for an average, and for a quantile that of its part of the way from one to the other.
        A variance is at most a fourth of the square of the range (Popoviciu 1935), and a twelfth of it here.
        """
        known = self._known_error(item)
        if known is not None:
            return known
        share, step = self._share(self.statement.aggregates_of(item)[0]), float(self._step(item))
        extent = share.aggregate.high - share.aggregate.low + 1
        width = extent - 1
        if item.kind == "quantile":
            # In so many rows there is a value at every extent/rows, noise moves the place among them, and half a step
            # is lost as values are whole steps.
            moved = share.mechanism.expected_error / sum(share.aggregate.weights)
            place = float(item.at or 0)
            return step * min(moved * extent / max(rows, 1) + 0.5, max(place, 1 - place) * width)
        # An average has the middle as its center, so that the noise of the count does not move it.
        noise = share.mechanism.expected_error
        off = abs((share.aggregate.low + share.aggregate.high) / 2 - share.aggregate.center)
        counted = self._share(self.statement.aggregates_of(item)[-1]).mechanism.expected_error
        if item.kind == "average":
            return step * min((noise + off * counted) / max(rows, 1), width / 2)
        squares = self._share(self.statement.aggregates_of(item)[1])
        spread = extent * extent / 12
        error = squares.mechanism.expected_error + abs(spread - squares.aggregate.offset) * counted
        variance = error / max(rows, 1)
        if item.kind == "deviation":
            deviation = math.sqrt(spread)
            return step * min(variance / (2 * deviation), max(deviation, width / 2 - deviation))
        return step * step * min(variance, max(spread, width * width / 4 - spread))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the answer: how the cost was shared."""
        if len(self.shares) == 1 or (len(self.statement.items) == 1 and self.statement.items[0].kind == "average"):
            return ()
        parts = [f"{_percent(share.units, self.units)} for {_in_words(share.aggregate)}" for share in self.shares]
        return (f"the cost was shared for the least error: {', '.join(parts)}",)

    def noisy(self, measured: Sequence[Sequence[Any]]) -> str:
        """The measured numbers with noise, as the text that is stored.

        Of ranks it is the width that searches went by, and the numbers of each group's search.  Earlier versions have
        stored the numbers alone; their searches went by the signs, and the width follows from the noise.
        """
        pairs, ranks = zip(self.shares, measured, strict=True), _RankSums()
        return json.dumps([_noisy(share, numbers, ranks) for share, numbers in pairs], separators=(",", ":"))

    def nothing(self) -> dict[Item, list[Figure]]:
        """What a statement that no row satisfies has in each group: 0 on every table, without noise and free."""
        return {item: [_zero(item) for _ in range(self.statement.group_count)] for item in self.statement.items}

    def figures(self, stored: str) -> dict[Item, list[Figure]]:
        """The figures of each item that stored noisy numbers stand for, one in each group."""
        numbers = dict(zip((share.aggregate for share in self.shares), json.loads(stored), strict=True))
        return {item: self._figures(item, numbers) for item in self.statement.items}

    def _figures(self, item: Item, numbers: Mapping[Aggregate, Any]) -> list[Figure]:
        aggregates = self.statement.aggregates_of(item)
        shares = [self._share(one) for one in aggregates]
        noisy = [numbers[one] for one in aggregates]
        step = self._step(item)
        match item.kind:
            case "average":
                return averages(shares, noisy, step)
            case "variance" | "deviation":
                root = item.kind == "deviation"
                return variances(shares, noisy, step, sample=item.sample, root=root)
            case "quantile":
                if isinstance(noisy[0], list):
                    return quantiles(shares[0], search_width(shares[0]), noisy[0], step)
                return quantiles(shares[0], noisy[0]["width"], noisy[0]["searches"], step)
        return plain(shares[0], noisy[0], step)

    def _share(self, aggregate: Aggregate) -> Share:
        return next(share for share in self.shares if share.aggregate == aggregate)

    def _known_error(self, item: Item) -> float | None:
        if item.kind not in ("count", "sum", "distinct"):
            return None
        [aggregate] = self.statement.aggregates_of(item)
        return self._share(aggregate).mechanism.expected_error * float(self._step(item))

    def _step(self, item: Item) -> Fraction:
        """What an item is measured in: a sum is one of whole steps."""
        if item.attribute is None or item.kind in ("count", "distinct"):
            return Fraction(1)
        scale = self.statement.domain.attributes[item.attribute].scale
        assert scale is not None
        return Fraction(scale.step)


class _RankSums:
    """Values in order with how many rows have them or lower ones; several quantiles go by the same rows."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Mapping[int, int], list[int], list[int]]] = {}

    def of(self, rows: Mapping[int, int]) -> tuple[list[int], list[int]]:
        """The values, and the sums, which begin with 0."""
        # The rows are kept, so that nothing else gets their identity.
        known = self._known.get(id(rows))
        if known is None:
            values = sorted(rows)
            known = self._known[id(rows)] = rows, values, [0, *accumulate(rows[value] for value in values)]
        return known[1:]


def _noisy(share: Share, numbers: Sequence[Any], ranks: _RankSums) -> list[int] | dict[str, Any]:
    if share.aggregate.kind != "ranks":
        return parcomp.noise.add_noise(share.mechanism, numbers)
    size, width = share.aggregate.high - share.aggregate.low + 1, search_width(share)
    functions = [_ranks(share.aggregate, *ranks.of(rows)) for rows in numbers]
    return {"width": width, "searches": parcomp.noise.search(share.mechanism, size, width, functions)}


def _ranks(aggregate: Aggregate, values: Sequence[int], sums: Sequence[int]) -> Callable[[int], int]:
    """The number of ranks at each place from the lowest value on, given how many rows have each value or less."""
    below, above = aggregate.weights
    # At 0 the least value that some row has is meant, and not the least that is declared.
    least = 1 if above == 0 else 0

    def at(place: int) -> int:
        up_to = sums[bisect_right(values, aggregate.low + place)]
        return below * up_to - above * (sums[-1] - up_to) - least

    return at


def _zero(item: Item) -> Figure:
    """An item of no rows."""
    return Figure(0, 0, 0, 0.0) if item.kind in ("count", "sum", "distinct") else Figure(None, None, None, None)


def _percent(part: int, whole: int) -> str:
    return f"{round(100 * part / whole)} %"


def _in_words(aggregate: Aggregate) -> str:
    if aggregate.attribute is None:
        return "the number of rows"
    return {
        "rows": "the number of rows with a value of {}",
        "sum": "the sum of {}",
        "squares": "the squares of {}",
        "distinct": "the different values of {}",
        "ranks": "the search at {at} of {}",
    }[aggregate.kind].format(aggregate.attribute, at=aggregate.at)
