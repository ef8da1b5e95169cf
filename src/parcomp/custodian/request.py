"""What is asked of a custodian: SQL and costs, turned into statements and noise.

Whatever can be wrong with a request is found here, from its text and the settings alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import parcomp.sql
from parcomp.costs import Amount
from parcomp.custodian.accountant import Verdict
from parcomp.custodian.release import Release
from parcomp.custodian.settings import Settings
from parcomp.custodian.sharing import share_out
from parcomp.errors import ArgumentError, CostError, SqlError, WorkloadError, shown
from parcomp.ledger import Entry, StrategyRecord, utc_now
from parcomp.model import Selection, Statement
from parcomp.privacy import Measure

if TYPE_CHECKING:
    from parcomp.estimation import Progress

__all__ = [
    "STRATEGIES",
    "Amounts",
    "Asked",
    "Costs",
    "Question",
    "Together",
    "cost_wanted",
    "one_by_one",
    "read_request",
]

STRATEGIES = ("independent", "correlated", "atoms", "auto")
"""What a batch may be measured by."""

Question: TypeAlias = str | Statement | Selection
"""What may be asked: SQL text, or what it was read as."""

Amounts: TypeAlias = Amount | Sequence[Amount] | None
"""One amount for all statements, or one for each."""


class Costs(TypedDict, total=False):
    """What statements cost, as keyword arguments: in one parameter, which is that of the dataset's measure."""

    epsilon: Amounts
    rho: Amounts
    mu: Amounts


@dataclass(frozen=True, slots=True)
class Together:
    """Statements to be measured together, those that count something: each once, sorted by their texts.

    ``strategy`` is what was asked for, ``budget`` as it was given, and ``row_budget`` what it allows one row to cost.
    """

    strategy: str
    statements: tuple[Statement, ...]
    budget: Amount
    row_budget: int

    @property
    def key(self) -> str:
        """What makes two requests the same but for their budgets."""
        return StrategyRecord(tuple(one.text for one in self.statements), self.strategy, self.row_budget).key


@dataclass(frozen=True, slots=True)
class Asked:
    """A request by an analyst: its statements with their noise, and the digest that an idempotency key stands for."""

    analyst: str
    selections: tuple[Selection, ...]
    releases: tuple[Release, ...]
    body_digest: str
    together: Together | None = None
    """What is asked for where the statements are to be measured together; there are no releases then."""
    estimate: bool = False
    notes: tuple[str, ...] = ()
    time_limit: float | None = None
    """How many seconds an estimate may take; None for as many as are usual."""
    progress: Progress | None = None
    """Told how far an estimate has come."""
    whole: str = ""
    """The key of the batch that was to be measured as a whole, where each statement has noise of its own instead."""

    @property
    def dearest(self) -> dict[str, Release]:
        """Each statement once, by its text, at the highest cost that it is asked at: what is charged for it, if any."""
        dearest: dict[str, Release] = {}
        for release in self.releases:
            known = dearest.setdefault(release.statement.text, release)
            if release.units > known.units:
                dearest[release.statement.text] = release
        return dearest

    def only(self, selection: Selection) -> Asked:
        """The request for one of its selections."""
        return replace(self, selections=(selection,))

    def place_of(self, release: Release) -> tuple[int, int] | None:
        """The position of one of the releases, from 1, and how many there are; None if it is the only one."""
        count = len(self.releases)
        return next((n, count) for n, one in enumerate(self.releases, 1) if one is release) if count > 1 else None

    def entry(self, release: Release, verdict: Verdict, batch: str = "") -> Entry:
        """What the ledger is to hold of a statement that fits."""
        where = release.statement.query.where()
        return Entry(
            utc_now(),
            self.analyst,
            release.statement.text,
            json.dumps(where, ensure_ascii=False, sort_keys=True, separators=(",", ":")),
            release.units,
            verdict.upper,
            batch,
        )


def cost_wanted(dataset: str, measure: Measure, given: Sequence[str]) -> CostError:
    """What to say where other costs are given than the one of the dataset's measure."""
    wanted = measure.parameter
    said = f"{' and '.join(given) if given else 'no cost'} {'were' if len(given) > 1 else 'was'} given"
    return CostError(
        f"{dataset} is accounted in {wanted} ({measure.name}); {said}; state the cost as {wanted} (--{wanted} X)"
    )


def read_request(
    settings: Settings,
    analyst: str,
    statements: Sequence[Question],
    *,
    epsilon: Amounts = None,
    rho: Amounts = None,
    mu: Amounts = None,
    budget: Amount | None = None,
    single: bool = False,
    strategy: str = "independent",
    estimate: bool = False,
) -> Asked:
    """The request, if it can be asked of this dataset: with costs, or with a budget for all that is shared out.

    ``single`` says that it is one statement by itself, which is another request than a batch of one.  With a
    ``strategy`` statements are measured together, and what that is, is planned later (:class:`Together`).
    """
    settings.check_analyst(analyst)
    if not isinstance(statements, Sequence) or isinstance(statements, (str, bytes)):
        raise WorkloadError(
            f"a batch is a list of statements, not {shown(statements)}; ask and quote take a single one"
        )
    if not statements:
        raise WorkloadError("a batch holds at least one statement")
    with parcomp.sql.bounded_request_effort():
        selections = tuple(_selections(settings, statements))
    parsed = [one.statement for one in selections]
    costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
    if strategy not in STRATEGIES:
        raise ArgumentError(f"unknown strategy {shown(strategy)}; there are {', '.join(STRATEGIES)}")
    together = None
    if strategy != "independent":
        if budget is None:
            raise CostError(
                "a strategy is charged as a whole: give the batch a budget (--budget X) instead of a cost for each "
                "statement, or ask with the strategy independent"
            )
        if any(amount is not None for amount in costs.values()):
            raise CostError("a batch has either a budget for all or costs, not both")
        priced: list[object] = ["budget", settings.measure.budget_down(budget), strategy]
        together = _together(settings, parsed, strategy, budget)
        releases: Sequence[Release] = ()
    elif budget is None:
        units = _stated(settings, costs, len(parsed))
        priced = list(units)
        releases = [Release.plan(settings, one, cost) for one, cost in zip(parsed, units, strict=True)]
    else:
        if any(amount is not None for amount in costs.values()):
            raise CostError("a batch has either a budget for all or costs, not both")
        priced = ["budget", settings.measure.budget_down(budget)]
        releases = share_out(settings, parsed, budget)
    shown_so = [repr(one) for one in selections if one != Selection.of(one.statement)]
    written = [[one.text for one in parsed], priced, *([shown_so] if shown_so else [])]
    if len(parsed) == 1 and not single:
        written.append("batch")
    if estimate:
        written.append("estimate")
    body = json.dumps(written, ensure_ascii=False)
    digest = hashlib.sha256(body.encode()).hexdigest()
    return Asked(analyst, selections, tuple(releases), digest, together, estimate)


def one_by_one(settings: Settings, asked: Asked, note: str) -> Asked:
    """The request with noise of its own for each statement, and why it is not measured together."""
    assert asked.together is not None
    releases = share_out(settings, [one.statement for one in asked.selections], asked.together.budget)
    return replace(asked, releases=tuple(releases), together=None, notes=(note,), whole=asked.together.key)


def _together(settings: Settings, parsed: Sequence[Statement], strategy: str, budget: Amount) -> Together:
    distinct = {one.text: one for one in parsed if not one.query.is_contradiction}
    row_budget = settings.measure.budget_down(budget) // settings.measure.group(1, settings.rows_per_person)
    if row_budget < 1:
        raise CostError(f"a budget of {shown(budget)} is too small for a person of {settings.rows_per_person:,} rows")
    return Together(strategy, tuple(distinct[text] for text in sorted(distinct)), budget, row_budget)


def read_single(settings: Settings, analyst: str, statement: Question) -> Selection:
    """A statement by itself, of which nothing is to be paid."""
    settings.check_analyst(analyst)
    with parcomp.sql.bounded_request_effort():
        return _selection(settings, statement)


def _selections(settings: Settings, statements: Sequence[Question]) -> Iterator[Selection]:
    """What is asked; what is wrong with one of several says which one it is."""
    for number, one in enumerate(statements, 1):
        try:
            yield _selection(settings, one)
        except SqlError as error:
            if len(statements) == 1:
                raise
            raise error.within(f"statement {number:,} of {len(statements):,}", number) from None


def _selection(settings: Settings, asked: Question) -> Selection:
    """What is asked, and how it is shown."""
    if isinstance(asked, Selection):
        return asked
    if isinstance(asked, Statement):
        return Selection.of(asked)
    return parcomp.sql.parse_selection(settings.domain, asked, settings.tables)


def _stated(settings: Settings, costs: dict[str, Amounts], count: int) -> list[int]:
    """The cost of each statement in additive units, rounded up."""
    wanted = settings.measure.parameter
    given = [name for name, amount in costs.items() if amount is not None]
    if given != [wanted]:
        raise cost_wanted(settings.name, settings.measure, given)
    amount = costs[wanted]
    if isinstance(amount, Sequence) and not isinstance(amount, str):
        if isinstance(amount, bytes):
            raise CostError(f"a cost must be a number, not {shown(amount)}")
        if len(amount) != count:
            raise CostError(f"{len(amount):,} costs were given for {count:,} statements")
        return [settings.measure.cost_up(one) for one in amount]
    assert amount is not None
    return [settings.measure.cost_up(amount)] * count
