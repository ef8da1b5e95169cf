"""Answers that follow from what was released, free: which ones, with which error, and the answers themselves.

*Free.*  A derived answer is a function of noisy numbers that are stored, with weights that follow from the texts of
statements, the domain and the settings.  It is post-processing (Dwork and Roth 2014, Proposition 2.1): it discloses
nothing more, nothing is charged, and nothing enters the ledger.  Whether something follows, and how far it may be off,
is told by charges alone, and is the same on any table.

*From what.*  From the counts that whoever asks has paid for since the table was loaded last; who asks without a name,
where none are declared, is the custodian and sees all.  Only answers that are stored count: what was charged and never
answered was never released.

*Which of them.*  Rows may have undeclared values on attributes that are not declared to be complete; on these only
counts matter that test the same of them (:mod:`parcomp.estimation.derivation`).  Of the rest the nearest are taken,
those whose predicates differ on the fewest attributes, up to a number: so work is bounded, and what is found does not
depend on how quick a machine is.

*Intervals* are of the weighted noise (:mod:`parcomp.noise.weighted_tails`).  They hold at least as often as they say,
for each derived answer by itself; several that follow from the same answers are right or wrong together.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from parcomp.custodian.accountant import Expense
from parcomp.custodian.books import Books
from parcomp.custodian.release import Release
from parcomp.custodian.released import (
    CountedGroups,
    Part,
    ReleasedCount,
    ReleasedStrategy,
    StrategyCount,
    read_count,
    together,
)
from parcomp.custodian.settings import Settings
from parcomp.custodian.strategy import Strategy
from parcomp.estimation import Derivation, derive_all
from parcomp.figures import Figure
from parcomp.ledger import Charge, StrategyRecord
from parcomp.model import Query, Statement, queries_of, why_not_counted
from parcomp.noise import Spread, spread_of_sum

__all__ = ["Derived", "Near", "Shelf", "derived"]

_MOST, _MOST_FOR_ONE = 300, 200
"""The most queries that groups are derived from, and the most groups that are derived at once; and for one count."""

_MOST_LOOKED_AT = 5_000
"""The most charges among which the nearest are looked for, the latest ones."""

_MOST_STRATEGIES = 4
"""The most batches that were measured as a whole, the latest ones."""

_MOST_RESTORED = 64
"""So many strategies are kept as they were restored."""

_ROUNDS = 4
"""How often it is tried again without charges that have no answer."""

_NAMED = 12
"""How many charges are named."""


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """How each group of a statement follows from released counts: weights, and how far the sums stray."""

    groups: tuple[tuple[tuple[Fraction, Part], ...], ...]
    spreads: tuple[Spread, ...]

    @property
    def expected_error(self) -> float:
        """The mean absolute error, on average over the groups."""
        return math.fsum(spread.expected_error for spread in self.spreads) / max(len(self.spreads), 1)

    @property
    def charges(self) -> list[Charge]:
        """The charges that paid for it, in order."""
        used = {part.charge.number: part.charge for group in self.groups for _, part in group}
        return [used[number] for number in sorted(used)]

    @property
    def note(self) -> str:
        """What it follows from, in words."""
        numbers = [str(charge.number) for charge in self.charges]
        if not numbers:
            return "derived, free"
        if len(numbers) > _NAMED:
            numbers = [*numbers[:_NAMED], f"{len(numbers) - _NAMED:,} more"]
        listed = numbers[0] if len(numbers) == 1 else f"{', '.join(numbers[:-1])} and {numbers[-1]}"
        return f"derived, free: it follows from the {'answer' if len(numbers) == 1 else 'answers'} of charge {listed}"

    def figures(self, stored: Mapping[str, str]) -> list[Figure]:
        """The figure of each group, from the stored answers of the charges by their digests."""
        read = {digest: json.loads(text) for digest, text in stored.items()}
        return [
            _figure(sum((weight * part.value(read[part.charge.digest]) for weight, part in group), Fraction(0)), spread)
            for group, spread in zip(self.groups, self.spreads, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Near:
    """The charges that a count may follow from: for counts, the nearest first, and for strategies, the latest first."""

    counts: Sequence[Charge]
    strategies: Sequence[Charge] = ()


@dataclass(slots=True)
class _Own:
    """The charges of one analyst: for counts by the attributes that they test, and for strategies."""

    counts: dict[tuple[int, ...], list[tuple[Charge, Expense]]] = field(default_factory=dict)
    strategies: list[Charge] = field(default_factory=list)


class Shelf:
    """The charges for counts since the last load, by who made them, and strategies as they were restored."""

    def __init__(self) -> None:
        self._forget()
        self._restored: OrderedDict[str, ReleasedStrategy | None] = OrderedDict()

    def _forget(self) -> None:
        self._seen, self._last = 0, ""
        self._by_analyst: dict[str, _Own] = {}

    def fill(self, books: Books) -> None:
        """Take in what the books have."""
        entered = books.entered
        if self._seen > len(entered) or (self._seen and entered[self._seen - 1].digest != self._last):
            self._forget()
        if self._seen < len(entered):
            for charge, expense in books.spending():
                if charge.number > max(self._seen, books.loaded):
                    own = self._by_analyst.setdefault(charge.analyst, _Own())
                    if '"kind":"strategy"' in charge.statement:
                        own.strategies.append(charge)
                    elif '"kind":"count"' in charge.statement:
                        tested = tuple(index for index, _ in expense.query.tested)
                        own.counts.setdefault(tested, []).append((charge, expense))
            self._seen, self._last = len(entered), entered[-1].digest

    def near(self, analyst: str, query: Query, complete: frozenset[int]) -> Near:
        """The charges that a count may follow from: the analyst's own, or for no one's name all."""
        tested = {index for index, _ in query.tested} - complete
        visible = self._visible(analyst)
        found = [
            one
            for own in visible
            for indices, charges in own.counts.items()
            if set(indices) - complete == tested
            for one in charges
        ]
        found = sorted(found, key=lambda one: -one[0].number)[:_MOST_LOOKED_AT]
        mine = dict(query.tested)
        nearest = sorted(found, key=lambda one: (_distance(mine, one[1]), -one[0].units))
        strategies = sorted((one for own in visible for one in own.strategies), key=lambda one: -one.number)
        return Near([charge for charge, _ in nearest], strategies[:_MOST_STRATEGIES])

    def visible(self, analyst: str) -> list[Charge]:
        """The charges for counts and for strategies of an analyst, for no one's name of all, the latest first."""
        found = [
            charge
            for own in self._visible(analyst)
            for charge in (*own.strategies, *(one for kept in own.counts.values() for one, _ in kept))
        ]
        return sorted(found, key=lambda charge: -charge.number)

    def _visible(self, analyst: str) -> list[_Own]:
        return list(self._by_analyst.values()) if not analyst else [self._by_analyst.get(analyst, _Own())]

    def restored(
        self, settings: Settings, charge: Charge, content: Callable[[str], str | None]
    ) -> ReleasedStrategy | None:
        """A strategy, of which ``content`` tells what stands beside its charge; None if it has too many counts."""
        if charge.digest not in self._restored:
            self._restored[charge.digest] = _restored(settings, charge, content)
            # Another thread may have taken the oldest one out already.
            for oldest in list(self._restored)[:-_MOST_RESTORED]:
                self._restored.pop(oldest, None)
        return self._restored.get(charge.digest)


def derived(
    settings: Settings,
    statement: Statement,
    near: Near,
    restored: Callable[[Charge], ReleasedStrategy | None],
    stored: Callable[[Iterable[str]], set[str]],
) -> Derived | None:
    """How a statement follows from released counts, of which ``near`` are candidates; None where it does not.

    ``restored`` reads a strategy, and ``stored`` tells of the digests of charges which ones have an answer.
    """
    if why_not_counted(statement) or statement.where.is_contradiction or statement.group_count > _MOST:
        return None
    targets = queries_of(statement)
    without: set[str] = set()
    for _ in range(_ROUNDS):
        parts = _parts(settings, targets, near, restored, without)
        found = derive_all(targets, [part.query for part in parts], _covariance(parts), settings.complete_positions)
        if any(one is None for one in found):
            return None
        one = _derived(parts, [one for one in found if one is not None])
        used = {charge.digest for charge in one.charges}
        missing = used - stored(used)
        if not missing:
            return one
        without |= missing
    return None


def _parts(
    settings: Settings,
    targets: Sequence[Query],
    near: Near,
    restored: Callable[[Charge], ReleasedStrategy | None],
    without: set[str],
) -> list[Part]:
    """What is in view, up to a number: counts of strategies first, as they are few and accurate."""
    complete = settings.complete_positions
    tested = {index for index, _ in targets[0].tested} - complete
    strategic: list[Part] = []
    for charge in near.strategies:
        one = None if charge.digest in without else restored(charge)
        if one is not None:
            mine = [
                StrategyCount(one, place)
                for place, query in enumerate(one.strategy.queries)
                if {index for index, _ in query.tested} - complete == tested
            ]
            strategic += mine if len(strategic) + len(mine) <= _MOST_FOR_ONE // 2 else []
    others = [*targets, *(part.query for part in strategic)]
    most = _MOST if len(targets) > 1 else _MOST_FOR_ONE
    return [*strategic, *together(_counts(settings, near.counts, without), others, most - len(strategic))]


def _counts(settings: Settings, charges: Sequence[Charge], without: set[str]) -> list[ReleasedCount]:
    """The first charges that are for counts, with their noise."""
    counts: list[ReleasedCount] = []
    for charge in charges:
        if len(counts) == _MOST:
            break
        statement = None if charge.digest in without else read_count(settings.domain, charge.statement)
        if statement is not None:
            [mechanism] = Release.plan(settings, statement, charge.units).mechanisms
            counts.append(ReleasedCount(charge, statement, mechanism))
    return counts


def _restored(settings: Settings, charge: Charge, content: Callable[[str], str | None]) -> ReleasedStrategy | None:
    record = StrategyRecord.read(charge.statement)
    if record is None:
        return None
    statements = [read_count(settings.domain, text) for text in record.statements]
    known = [one for one in statements if one is not None]
    if len(known) < len(statements) or sum(one.group_count for one in known) > _MOST:
        return None
    return ReleasedStrategy(charge, Strategy.restored(settings, record, content(charge.digest), known, charge.units))


def _covariance(parts: Sequence[Part]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """That of the noise: of different charges it is independent, as it is of different groups."""
    noise = np.zeros((len(parts), len(parts)))
    strategies: dict[str, list[int]] = {}
    for at, part in enumerate(parts):
        if isinstance(part, CountedGroups):
            noise[at, at] = part.variance
        else:
            strategies.setdefault(part.charge.digest, []).append(at)
    for places in strategies.values():
        counts = [part for at in places if isinstance(part := parts[at], StrategyCount)]
        mine = [part.place for part in counts]
        noise[np.ix_(places, places)] = counts[0].released.strategy.noise.covariance[np.ix_(mine, mine)]
    return noise


def _derived(parts: Sequence[Part], found: Sequence[Derivation]) -> Derived:
    groups = [tuple((weight, part) for weight, part in zip(one.weights, parts, strict=True) if weight) for one in found]
    return Derived(tuple(groups), tuple(map(_spread, groups)))


def _spread(group: Sequence[tuple[Fraction, Part]]) -> Spread:
    """How far a weighted sum strays."""
    terms, exact, kind = [], True, None
    strategies: dict[str, tuple[Strategy, list[Fraction]]] = {}
    for weight, part in group:
        if isinstance(part, CountedGroups):
            kind = part.count.mechanism.kind
            terms.append((weight, part.count.mechanism.scale, len(part.places)))
        elif isinstance(part, StrategyCount):
            strategy = part.released.strategy
            nothing = [Fraction(0)] * len(strategy.queries)
            strategies.setdefault(part.charge.digest, (strategy, nothing))[1][part.place] += weight
    for strategy, weights in strategies.values():
        more, are_exact = strategy.noise.terms(weights)
        kind, exact = strategy.noise.kind, exact and are_exact
        terms += more
    return Spread(0.0, 0.0, True) if kind is None else spread_of_sum(kind, terms, exact=exact)


def _figure(value: Fraction, spread: Spread) -> Figure:
    """A derived number with its interval, whose ends are whole as the true count is."""
    width = Fraction(spread.half_width)
    shown = int(value) if value.denominator == 1 else float(value)
    low, high = math.floor(value - width), math.ceil(value + width)
    return Figure(shown, low, high, spread.expected_error, cautious=not spread.exact)


def _distance(mine: Mapping[int, object], other: Expense) -> int:
    """On how many attributes two queries have different predicates; groups split one further."""
    theirs = dict(other.query.tested)
    different = sum(mine.get(index) != theirs.get(index) for index in mine.keys() | theirs.keys())
    return different - (other.touched > 1)
