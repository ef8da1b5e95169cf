"""Estimates over everything that was released to somebody: what all counts together say about each of them, free.

*From what.*  From the counts that whoever asks has paid for since the table was loaded last, plain, in groups or
measured by a strategy, as far as their answers are stored: the same that answers are derived from
(:mod:`parcomp.custodian.deriving`).  Of many the latest are taken, up to a number, so that work is bounded by what the
ledger says.

*What is done with them.*  They are projected onto what some table could have answered, weighed by their accuracy
(:mod:`parcomp.estimation.accuracy`).  Rows may have undeclared values on attributes that are not complete, so queries
are over codes.  The root mean square error, in units of each answer's noise, is then no larger than that of the
answers, on every draw (``docs/proofs/projection.md``).

*Free.*  An estimate is a function of stored noisy numbers, of the texts of charges and of the settings.  It is
post-processing (Dwork and Roth 2014, Proposition 2.1): nothing is charged and nothing enters the ledger.

The answer and its guaranteed interval stay beside the estimate, whose own interval is measured and not guaranteed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

import parcomp.estimation
from parcomp.custodian.deriving import Derived
from parcomp.custodian.estimating import ESTIMATE_SECONDS
from parcomp.custodian.release import Release
from parcomp.custodian.released import ReleasedCount, ReleasedStrategy, read_count
from parcomp.custodian.settings import Settings
from parcomp.custodian.strategy import Strategy
from parcomp.errors import ArgumentError, shown
from parcomp.figures import EstimatedCount, Estimates, Figure
from parcomp.ledger import Charge, StrategyRecord
from parcomp.model import Query, over_codes, queries_of
from parcomp.noise import JointNoise, beside_each_other, own_noise

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "ESTIMATE_SECONDS",
    "NO_ESTIMATE",
    "OVERALL_NOTE",
    "View",
    "derived_estimates",
    "estimates_of",
    "seen",
]

Released: TypeAlias = ReleasedCount | ReleasedStrategy

_MOST = 5_000
"""The most counts that are taken together, each group being one."""

OVERALL_NOTE = (
    "the estimate is what all answers that you may see say together; its interval holds in about 95 of 100 answers, "
    "which is measured and not guaranteed"
)
NO_ESTIMATE = f"there is no estimate: it follows from answers of more than {_MOST:,} counts"


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Charges whose answers somebody may see, in order, with these, and how many others were left out."""

    released: tuple[Released, ...]
    numbers: tuple[tuple[int | float, ...], ...]
    left_out: int = 0

    @property
    def queries(self) -> list[Query]:
        """What all of them count."""
        return [query for one in self.released for query in _queries(one)]

    @property
    def every_number(self) -> list[int | float]:
        """The answers, one for each query."""
        return [number for numbers in self.numbers for number in numbers]

    @property
    def noise(self) -> JointNoise:
        """The noise on all numbers: that of a strategy goes together, all other is independent."""
        return beside_each_other([_noise(one) for one in self.released])


def seen(
    settings: Settings,
    charges: Sequence[Charge],
    content: Callable[[str], str | None],
    stored: Callable[[Iterable[str]], Mapping[str, str]],
) -> View:
    """What is seen of charges, the latest first, of which no more are read than are taken.

    ``content`` tells what stands beside the charge of a strategy, and ``stored`` the answers, both by digests.
    """
    answers = _Answers(stored)
    found: list[tuple[Released, tuple[int | float, ...]]] = []
    room, left_out = _MOST, 0
    for number, charge in enumerate(charges):
        if not room:
            left_out += len(charges) - number
            break
        size = _size(settings, charge)
        if size is None:
            continue
        if size > room:
            left_out += 1
            continue
        answer = answers.of(charges, number)
        if answer is not None:
            room -= size
            found.append(_read(settings, charge, content, answer))
    found.reverse()
    return View(tuple(one for one, _ in found), tuple(numbers for _, numbers in found), left_out)


def estimates_of(
    settings: Settings,
    view: View,
    interval: float,
    facts: Mapping[Query, float],
    time_limit: float = ESTIMATE_SECONDS,
    progress: parcomp.estimation.Progress | None = None,
) -> Estimates:
    """What the answers say together, with intervals of this probability; ``facts`` are public counts."""
    parcomp.estimation.check_probability(interval)
    for query in facts:
        if not isinstance(query, Query) or query.domain != settings.domain:
            raise ArgumentError(f"a fact is the count of a query of the domain, not of {shown(query)}")
    queries, noise = view.queries, view.noise
    if not queries:
        return Estimates((), interval, view.left_out)
    raw = view.every_number
    means = parcomp.estimation.means_of(queries, noise)
    found = _projected(settings, queries, raw, means, interval, facts, time_limit=time_limit, progress=progress)
    exact = _stated(settings, [queries[place] for place in np.flatnonzero(means.column < 0).tolist()], facts)
    counts = []
    widths = noise.half_widths_up(interval).tolist()
    values, ends = found.values.tolist(), found.intervals.tolist()
    for (name, charge), query, column, number, width in zip(
        _names(view.released), queries, means.column.tolist(), raw, widths, strict=True
    ):
        wide = math.ceil(width) if isinstance(number, int) else width
        value, low, high = (max(end, 0.0) for end in (number, number - width, number + width))
        method = "cut at 0"
        if query in exact:
            value, low, high, method = exact[query], exact[query], exact[query], "fact"
        elif column >= 0:
            value, (low, high), method = values[column], ends[column], found.methods[column]
        counts.append(
            EstimatedCount(
                name,
                value,
                number,
                low,
                high,
                method,
                number - wide,
                number + wide,
                charge,
                query.where(),
            )
        )
    numbers = np.array(raw, np.float64)
    doubts = parcomp.estimation.doubts_of(queries, numbers, noise.deviations, found.moved, facts)
    notes = found.notes and parcomp.estimation.notes_on_time(
        np.array([one.value for one in counts]), numbers, time_limit, exact=bool(facts)
    )
    return Estimates(tuple(counts), interval, view.left_out, len(facts), doubts, notes)


def derived_estimates(
    settings: Settings, view: View, derived: Derived, figures: Sequence[Figure]
) -> list[Figure] | None:
    """What all answers in view say of each group of a derived statement; None where it follows from others.

    A derived count is a sum of counts in view, on every table, so its estimate is that sum of their estimates.  If the
    time is up, or one of them is too inaccurate to be taken with the others, it is the derived figure, cut at 0.
    """
    from scipy.sparse import csr_array, lil_array  # noqa: PLC0415  slow to import, and answers need none of it

    starts = dict(
        zip(
            (one.charge.number for one in view.released),
            accumulate((len(numbers) for numbers in view.numbers), initial=0),
            strict=False,
        )
    )
    queries = view.queries
    means = parcomp.estimation.means_of(queries, view.noise)
    sums = lil_array((len(derived.groups), len(means.first)))
    together = True
    for number, group in enumerate(derived.groups):
        for weight, part in group:
            if part.charge.number not in starts:
                return None
            for place in part.numbers:
                column = means.column[starts[part.charge.number] + place]
                together = together and column >= 0
                sums[number, column] += float(weight)
    told: list[list[float]] = []
    if together:
        found = _projected(settings, queries, view.every_number, means, 0.95, {}, csr_array(sums))
        told = found.sums.tolist()
    told = told or [[max(end or 0, 0) for end in (one.value, one.low, one.high)] for one in figures]
    return [Figure(value, low, high, None, approximate=True) for value, low, high in told]


def _stated(settings: Settings, queries: Sequence[Query], facts: Mapping[Query, float]) -> dict[Query, float]:
    """The exact counts of those queries that a fact states."""
    if not queries or not facts:
        return {}
    coded = over_codes([*queries, *facts], settings.complete_positions)
    exact = parcomp.estimation.stated_counts(coded, len(queries), np.array(list(facts.values()), np.float64))
    return {queries[place]: count for place, count in exact.items()}


def _projected(
    settings: Settings,
    queries: Sequence[Query],
    raw: Sequence[int | float],
    means: parcomp.estimation.Means,
    interval: float,
    facts: Mapping[Query, float],
    sums: csr_array | None = None,
    *,
    time_limit: float | None = None,
    progress: parcomp.estimation.Progress | None = None,
) -> parcomp.estimation.Estimate:
    """The estimate of each query of which there is a mean."""
    coded = over_codes([*(queries[place] for place in means.first), *facts], settings.complete_positions)
    return parcomp.estimation.estimate_weighted(
        coded[np.arange(len(means.first))],
        means.of(np.array(raw, np.float64)),
        means.noise,
        means.weights,
        kind="laplace" if settings.measure.name == "pure" else "gaussian",
        sums=sums,
        interval=interval,
        facts=dict(zip(list(coded)[len(means.first) :], facts.values(), strict=True)),
        time_limit=ESTIMATE_SECONDS if time_limit is None else time_limit,
        progress=progress,
    )


class _Answers:
    """Stored answers of charges, read many at a time."""

    _AT_ONCE = 500

    def __init__(self, stored: Callable[[Iterable[str]], Mapping[str, str]]) -> None:
        self._stored = stored
        self._known: dict[str, str] = {}
        self._until = 0

    def of(self, charges: Sequence[Charge], number: int) -> str | None:
        """The answer of the charge at a place; None where there is none."""
        while self._until <= number:
            digests = [charge.digest for charge in charges[self._until : self._until + self._AT_ONCE]]
            self._known |= self._stored(digests)
            self._until += self._AT_ONCE
        return self._known.get(charges[number].digest)


def _size(settings: Settings, charge: Charge) -> int | None:
    """How many counts a charge is for; None where it is for something else."""
    record = StrategyRecord.read(charge.statement)
    texts = (charge.statement,) if record is None else record.statements
    statements = [read_count(settings.domain, text) for text in texts]
    known = [one for one in statements if one is not None]
    return sum(one.group_count for one in known) if len(known) == len(texts) else None


def _read(
    settings: Settings, charge: Charge, content: Callable[[str], str | None], stored: str
) -> tuple[Released, tuple[int | float, ...]]:
    """A charge that is for counts, with its numbers."""
    record = StrategyRecord.read(charge.statement)
    if record is not None:
        statements = [one for text in record.statements if (one := read_count(settings.domain, text)) is not None]
        strategy = Strategy.restored(settings, record, content(charge.digest), statements, charge.units)
        return ReleasedStrategy(charge, strategy), tuple(Strategy.answers(stored))
    statement = read_count(settings.domain, charge.statement)
    assert statement is not None
    [mechanism] = Release.plan(settings, statement, charge.units).mechanisms
    return ReleasedCount(charge, statement, mechanism), tuple(json.loads(stored)[0])


def _queries(released: Released) -> Sequence[Query]:
    return released.strategy.queries if isinstance(released, ReleasedStrategy) else queries_of(released.statement)


def _noise(released: Released) -> JointNoise:
    if isinstance(released, ReleasedStrategy):
        return released.strategy.noise
    return own_noise(released.mechanism, released.statement.group_count)


def _names(released: Sequence[Released]) -> Iterator[tuple[str, int]]:
    """The name of each count, and the number of its charge."""
    for one in released:
        number = one.charge.number
        if isinstance(one, ReleasedCount) and not one.statement.groups:
            yield str(number), number
        else:
            yield from ((f"{number}.{place}", number) for place in range(1, len(_queries(one)) + 1))
