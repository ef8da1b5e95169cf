"""A batch that is measured as a whole: its plan, its one charge, and its answers.

*What it costs.*  The queries of the statements, one for each group, are written over codes
(:func:`~parcomp.model.over_codes`), so that the maximum over all rows is over rows with undeclared values too.  What
the dearest row costs, c, is worked out from the queries and what is measured alone (:mod:`parcomp.noise.restored`).
The charge covers the hull of the queries: a row outside it satisfies none of them and moves nothing.

*Neighbors.*  With ``units`` u of the charge, the account needs that adding or removing a row costs u at most, and that
replacing one costs u for each of the two rows that the hull covers, 2u at most (:mod:`parcomp.custodian.accountant`).

- *Atoms*: a row moves one count of each histogram by 1.  Replacing a row is removing one and adding another, and costs
  c for each: u = c.
- *Correlated*: a row x moves the coordinates by H·w_x, of which the squared norm is F at most.  Replacing x by y moves
  them by H·(w_y − w_x), whose norm is at most the sum of both, so its square is at most 4F and the cost at most 4c.
  Where only one of both is in the hull, it is c.  So u = 2c where rows are replaced, and u = c elsewhere.

*Persons of k rows.*  What k rows move is at most k times as long, so it costs k² as much; noise of atoms under pure
differential privacy costs k times as much.  That is the group privacy which the budget was divided by.

*The budget* of a batch is what may be disclosed about a person.  For a row that leaves R = ⌊B/k⌋ or ⌊B/k²⌋, and as
replacing a row costs up to 2u, u ≤ ⌊R/2⌋ there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

import parcomp.noise
from parcomp.custodian.accountant import Expense
from parcomp.custodian.effort import seconds_left
from parcomp.custodian.settings import Settings
from parcomp.errors import ArgumentError, CostError, LedgerError, ParcompError, SizeError, WorkloadError, shown
from parcomp.figures import Figure
from parcomp.ledger import Charge, ChargedQueries, StrategyRecord, matrix_digest, packed, unpacked
from parcomp.model import Item, Query, Statement, hull_of, over_codes, queries_of, why_not_counted
from parcomp.planning import CORRELATED_ENTRIES, CORRELATED_QUERIES, Plan, StrategyName, plan
from parcomp.privacy import Neighbours
from parcomp.tabular import error_text

if TYPE_CHECKING:
    from parcomp.data import CodedTable
    from parcomp.noise import StrategyNoise

__all__ = ["Part", "Strategy", "plan_strategy", "read_strategy", "why_not_together"]

_MOST_QUERIES = 20_000
"""The most counts that a batch may ask for as a whole, each group being one."""

_PLAN_SECONDS = 20.0
"""How long planning may take, with what is worked out again of each plan."""

_PLAN_SHARE = 0.6
"""The part of the time for a plan; the rest is for working out what it costs, and its errors."""

_LEAST_SECONDS = 0.1

_CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Strategy:
    """What is measured for some statements together; ``units`` are those of its charge.

    ``statements`` are sorted by their texts, ``queries`` are what they count, one for each group, and ``plan`` is over
    codes.  ``content`` is what the ledger keeps beside the charge.
    """

    record: StrategyRecord
    content: str
    statements: tuple[Statement, ...]
    queries: tuple[Query, ...]
    plan: Plan
    units: int
    beside: tuple[tuple[str, float], ...] = ()
    """What else it was chosen from, in words, with the mean expected error of each."""
    left_out: str = ""
    """What it was not compared with, and why, as a sentence."""

    @classmethod
    def restored(
        cls,
        settings: Settings,
        record: StrategyRecord,
        content: str | None,
        statements: Sequence[Statement],
        units: int | None = None,
        *,
        time_limit: float = 60.0,
    ) -> Strategy:
        """The strategy that a record says is measured, for the statements that it names.

        ``units`` are those that were charged; without them they are worked out, for which there is a limit.
        """
        factor = 2 if record.matrix and settings.neighbours == Neighbours.REPLACE_ONE else 1
        known = None if units is None else units // factor
        queries = tuple(query for one in statements for query in queries_of(one))
        workload = over_codes(queries)
        if record.matrix:
            assert record.sigma is not None
            matrix = unpacked(content, record.matrix)
            if matrix.shape[1] != len(queries):
                raise LedgerError("the matrix of the strategy is for other statements; see: parcomp ledger verify")
            made = parcomp.noise.correlated_plan(
                workload, settings.measure, matrix, record.sigma, loss_units=known, time_limit=time_limit
            )
        else:
            counted = [(np.array(places, np.int64), units) for places, units in record.histograms]
            made = parcomp.noise.atoms_plan(
                workload, settings.measure, counted, loss_units=known, time_limit=time_limit
            )
        return cls(
            record,
            content or "",
            tuple(statements),
            queries,
            made,
            factor * made.loss_units if units is None else units,
        )

    @cached_property
    def hull(self) -> Query:
        """The query to charge."""
        return hull_of(self.queries)

    @property
    def expense(self) -> Expense:
        """What it is charged as."""
        return Expense(self.hull, self.units, 2)

    @property
    def name(self) -> str:
        """What is measured, in a word."""
        return self.record.strategy

    @property
    def note(self) -> str:
        """What is to be said of its answers."""
        what = "combinations of the counts were measured"
        if self.plan.histograms:
            what = "the classes of rows that no statement tells apart were counted"
        if len(self.plan.histograms) > 1:
            what += ", part by part"
        return (
            f"measured together with all statements of the batch, which is one charge ({self.name}: {what}); "
            "the errors of its answers depend on each other"
        )

    @property
    def comparison(self) -> str:
        """Its mean expected error beside that of what it was chosen from; "" where there was no choice."""
        if not self.beside:
            return ""
        others = " and ".join(f"{what} would have {error_text(error)}" for what, error in self.beside)
        more = f"; {self.left_out}" if self.left_out else ""
        return f"auto: {self.name}, whose mean expected error is {error_text(self.mean_error)}; {others}{more}"

    @cached_property
    def noise(self) -> StrategyNoise:
        """The noise on the answers, all of them together."""
        return parcomp.noise.joint_noise(self.plan)

    @property
    def mean_error(self) -> float:
        """The mean over the statements of the mean expected error of each."""
        return float(np.mean([self.errors_of(one).mean() for one in self.statements]))

    def errors_of(self, statement: Statement) -> Any:
        """The expected error of each group of a statement."""
        return self.plan.expected_errors[self.places(statement)]

    def release(self, table: CodedTable, *, draw: Callable[..., list[int]] | None = None) -> str:
        """Noisy answers to all queries from the rows of a table, as the text that is stored."""
        if self.plan.histograms:
            counted = self._atom_counts(table)
            answers: list[Any] = parcomp.noise.release(self.plan, [0] * len(self.queries), counted, draw=draw)
            answers = [int(answer) for answer in answers]
        else:
            answers = parcomp.noise.release(self.plan, self._counts(table), draw=draw)
        return json.dumps({"answers": answers}, separators=(",", ":"))

    def _counts(self, table: CodedTable) -> list[int]:
        """The rows that each query counts."""
        measured: list[Any] = table.measure(self.statements)
        return [int(number) for one in measured for number in one[0]]

    def _atom_counts(self, table: CodedTable) -> list[list[int]]:
        """The rows in each atom of each histogram.

        Queries of a single atom are equal, and its rows are those that they count: many of these take one pass.
        """
        several = [one for one in self.plan.histograms if len(one.atoms) > 1]
        classes = iter(table.count_classes([[self.queries[one] for one in each.queries] for each in several]))
        counts = self._counts(table) if len(several) < len(self.plan.histograms) else []
        counted = []
        for histogram in self.plan.histograms:
            if len(histogram.atoms) == 1:
                counted.append([counts[int(histogram.queries[0])]])
                continue
            found, atoms = next(classes), [0] * len(histogram.atoms)
            for atom, many in zip(histogram.locate(found.satisfied).tolist(), found.counts, strict=True):
                if atom >= 0:
                    atoms[atom] += many
            counted.append(atoms)
        return counted

    @staticmethod
    def answers(stored: str) -> list[float]:
        """The noisy answers to all queries that a stored text stands for."""
        return list(_read_answers(stored))

    @cached_property
    def _widths(self) -> Any:
        return self.noise.half_widths_up(_CONFIDENCE)

    def figures(self, statement: Statement, stored: str) -> dict[Item, list[Figure]]:
        """The figures of a statement that stored answers stand for, one in each group."""
        places = self.places(statement)
        figures = []
        for place, value in enumerate(_read_answers(stored)[places], places.start):
            width: int | float = float(self._widths[place])
            if isinstance(value, int):
                width = int(np.ceil(width))
            figures.append(Figure(value, value - width, value + width, float(self.plan.expected_errors[place])))
        return {Item("count"): figures}

    def places(self, statement: Statement) -> slice:
        """Where the queries of a statement are."""
        found = self._slices.get(statement.text)
        if found is None:
            raise ArgumentError(f"the statement is no part of the strategy: {shown(statement.text)}")
        return found

    @cached_property
    def _slices(self) -> dict[str, slice]:
        ends = [0, *accumulate(one.group_count for one in self.statements)]
        return {one.text: slice(*places) for one, places in zip(self.statements, pairwise(ends), strict=True)}


class _NotBetterError(WorkloadError):
    """Strategies were compared with noise of its own for each query, which has less error."""


class _LeftOutError(WorkloadError):
    """A strategy was not planned, for a ``reason`` in words; the message says what to do instead too."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@lru_cache(maxsize=4)
def _read_answers(stored: str) -> tuple[float, ...]:
    """The answers of a stored text, which is read once for all statements."""
    return tuple(json.loads(stored)["answers"])


def read_strategy(settings: Settings, charge: Charge, content: str | None) -> Strategy | None:
    """The strategy that a charge since the last load was made for, None if it was for none.

    ``content`` is what the ledger keeps beside the charge.  With the stored answer, ``queries``, ``answers`` and
    ``noise.covariance`` say all that was released.
    """
    record = StrategyRecord.read(charge.statement)
    if record is None:
        return None
    read = ChargedQueries(settings.domain)
    statements = [read.statement(json.loads(text)) for text in record.statements]
    return Strategy.restored(settings, record, content, statements, charge.units)


@dataclass(frozen=True, slots=True)
class Part:
    """A statement of a strategy, as far as its answer goes."""

    strategy: Strategy
    statement: Statement

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the answer."""
        return (self.strategy.note,)

    @property
    def deviations(self) -> Any:
        """The standard deviation of the noise on each group."""
        return self.strategy.noise.deviations[self.strategy.places(self.statement)]

    def numbers(self, stored: str) -> Sequence[int | float]:
        """The noisy counts that a stored text stands for, one in each group."""
        return self.strategy.answers(stored)[self.strategy.places(self.statement)]

    def nothing(self) -> dict[Item, list[Figure]]:
        """What no rows count, in each group."""
        return {Item("count"): [Figure(0, 0, 0, 0.0) for _ in range(self.statement.group_count)]}

    def figures(self, stored: str) -> dict[Item, list[Figure]]:
        """The figures that stored answers stand for, one in each group."""
        return self.strategy.figures(self.statement, stored)


def why_not_together(settings: Settings, statements: Sequence[tuple[int, Statement]], asked: str) -> str:
    """Why statements cannot be measured together, by their numbers; "" if they can."""
    if asked == "correlated" and settings.measure.name == "pure":
        return (
            "a correlated strategy has Gaussian noise, and the dataset is accounted under pure differential privacy; "
            "ask with the strategy atoms or auto"
        )
    for number, statement in statements:
        reason = why_not_counted(statement)
        if reason:
            otherwise = "" if asked == "auto" else ', or the batch with --strategy auto (strategy="auto")'
            return f"statement {number:,} cannot be part of a strategy: {reason}; ask it by itself{otherwise}"
    many = sum(statement.group_count for _, statement in statements)
    if many > _MOST_QUERIES:
        return f"the statements ask for {many:,} counts, and a strategy has at most {_MOST_QUERIES:,}; ask for fewer"
    return ""


def _node_budget(settings: Settings, row_budget: int, kind: StrategyName) -> int:
    """What the dearest row may cost in a strategy of some kind, where one row may cost so much."""
    if settings.neighbours == Neighbours.REPLACE_ONE:
        return row_budget // (4 if kind == "correlated" else 2)
    return row_budget


def plan_strategy(settings: Settings, statements: Sequence[Statement], asked: str, row_budget: int) -> Strategy:
    """The strategy with the least mean error for these statements, sorted by their texts, within what a row may cost.

    Raises :class:`~parcomp.errors.WorkloadError` where there is none, and :class:`~parcomp.errors.CostError` where the
    budget is too small.
    """
    queries = [query for one in statements for query in queries_of(one)]
    workload = over_codes(queries)
    began, limit = time.monotonic(), seconds_left(_PLAN_SECONDS)
    # A statement matters as much as any other, however many groups it has.
    importance = [1 / one.group_count for one in statements for _ in range(one.group_count)]
    found: list[Strategy] = []
    reasons: dict[str, ParcompError] = {}
    kinds = _kinds(settings, asked)
    for number, kind in enumerate(kinds):
        node_budget = _node_budget(settings, row_budget, kind)
        left = max(_LEAST_SECONDS, (limit - (time.monotonic() - began)) / (len(kinds) - number))
        until = time.monotonic() + left
        try:
            _check_size(kind, queries)
            if node_budget < 1:
                raise CostError("one row would cost less than a unit of 1e-9")
            made = plan(
                workload,
                settings.measure.name,
                budget_units=node_budget,
                importance=importance,
                strategy=kind,
                time_limit=_PLAN_SHARE * left,
            )
            left = max(_LEAST_SECONDS, until - time.monotonic())
            found.append(_kept(settings, statements, asked, row_budget, made, node_budget, left))
        except (SizeError, WorkloadError, CostError) as error:
            # Under pure differential privacy, the only strategy that auto compares is one of atoms.
            reasons["atoms" if kind == "auto" else kind] = error
    # What was not found for want of time is no reason to go on without it.
    seconds_left(_PLAN_SECONDS)
    if not found:
        _raise_the_reason(asked, reasons)
    best = min(found, key=lambda one: one.mean_error)
    beside = tuple((one.name, one.mean_error) for one in found if one is not best)
    return replace(best, beside=beside, left_out=_not_compared(reasons))


def _raise_the_reason(asked: str, reasons: Mapping[str, ParcompError]) -> NoReturn:
    """Raise why no strategy was found: what the budget lacks, if it is that, else what was not compared."""
    for error in reasons.values():
        if isinstance(error, CostError):
            raise error
    compared = [error for error in reasons.values() if isinstance(error, _NotBetterError)]
    if compared:
        raise compared[0]
    if asked != "auto":
        raise WorkloadError(str(next(iter(reasons.values()))))
    raise WorkloadError(_not_compared(reasons))


def _not_compared(reasons: Mapping[str, ParcompError]) -> str:
    """Which strategies were not compared, and why: equal reasons are told once."""
    by_reason: dict[str, list[str]] = {}
    for kind, error in reasons.items():
        reason = error.reason if isinstance(error, _LeftOutError) else str(error)
        by_reason.setdefault(reason, []).append(kind)
    return "; ".join(
        f"{' and '.join(kinds)} {'was' if kinds == ['correlated'] else 'were'} not compared: {reason}"
        for reason, kinds in by_reason.items()
    )


def _check_size(kind: StrategyName, queries: Sequence[Query]) -> None:
    """Raise where a correlated strategy is out of the question, before anything is planned."""
    if kind != "correlated":
        return
    different = len({query.tested for query in queries})
    if different > CORRELATED_QUERIES:
        raise _LeftOutError(
            f"a correlated strategy is for up to {CORRELATED_QUERIES:,} different counts, and these statements ask for "
            f"{different:,}; ask with the strategy auto or atoms, or for fewer counts",
            f"{different:,} different counts, and it is for up to {CORRELATED_QUERIES:,}",
        )
    if different * len(queries) > CORRELATED_ENTRIES:
        raise _LeftOutError(
            f"a correlated strategy for {len(queries):,} counts, {different:,} of them different, takes too much "
            "memory; ask with the strategy auto or atoms, or for fewer counts",
            f"{len(queries):,} counts, which take too much memory",
        )


def _kinds(settings: Settings, asked: str) -> list[StrategyName]:
    """The plans to choose from.

    Within a plan, each independent part gets what suits it.  A plan of atoms weighs them against noise of its own for a
    part only where it is asked to choose by itself; one of correlated noise always does, and has its own budget.
    """
    if asked == "auto":
        # Atoms take less time, and leave the rest to the other.
        return ["auto"] if settings.measure.name == "pure" else ["atoms", "correlated"]
    return ["correlated" if asked == "correlated" else "atoms"]


def _counted_alone(made: Plan) -> Iterator[tuple[tuple[int, ...], int]]:
    """Queries of parts that get noise of their own, as histograms of one atom each, with all that its queries buy."""
    alone = np.ones(len(made.workload), np.bool_)
    for histogram in made.histograms:
        alone[histogram.queries] = False
    equal: dict[Query, list[int]] = {}
    for place in np.flatnonzero(alone).tolist():
        equal.setdefault(made.workload[place], []).append(place)
    for places in equal.values():
        yield tuple(places), sum(made.units[places].tolist())


def _kept(
    settings: Settings,
    statements: Sequence[Statement],
    asked: str,
    row_budget: int,
    made: Plan,
    limit: int,
    seconds: float,
) -> Strategy:
    """What is kept of a plan, read back and charged by what is read."""
    texts = tuple(one.text for one in statements)
    content = ""
    if made.matrix is not None and made.sigma is not None:
        content = packed(made.matrix)
        record = StrategyRecord(texts, asked, row_budget, matrix_digest(made.matrix), made.sigma)
    elif made.histograms:
        histograms = [(tuple(one.queries.tolist()), one.units) for one in made.histograms]
        record = StrategyRecord(texts, asked, row_budget, histograms=(*histograms, *_counted_alone(made)))
    elif made.left_out:
        kind, reason = made.left_out[0]
        raise _LeftOutError(
            f"the strategy {kind} cannot be planned for these statements: {reason}; "
            "ask with the strategy independent, or for fewer counts",
            reason,
        )
    else:
        raise _NotBetterError("no strategy has less error at this budget")
    strategy = Strategy.restored(settings, record, content, statements, time_limit=seconds)
    if strategy.plan.loss_units > limit:
        raise WorkloadError("what the strategy costs is not proven to be within its budget; ask for fewer statements")
    return strategy
