"""What is asked of a custodian: SQL and costs, turned into statements and noise.

Whatever can be wrong with a request is found here, from its text and the settings alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from parcomp.costs import Amount
from parcomp.custodian.accountant import Expense
from parcomp.custodian.release import Release
from parcomp.custodian.settings import Settings
from parcomp.custodian.sharing import share_out
from parcomp.errors import CostError, SettingsError, WorkloadError, shown
from parcomp.model.statement import Statement
from parcomp.sql.parse import parse_statement

__all__ = ["Amounts", "Asked", "Costs", "expense_of", "read_request"]

Amounts: TypeAlias = Amount | Sequence[Amount] | None
"""One amount for all statements, or one for each."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs as they were given: in one of three parameters, or as a whole budget to be shared out."""

    epsilon: Amounts = None
    rho: Amounts = None
    mu: Amounts = None
    budget: Amount | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request by an analyst: its statements with their noise, and the digest that an idempotency key stands for."""

    analyst: str
    releases: tuple[Release, ...]
    body_digest: str

    @property
    def dearest(self) -> dict[str, Release]:
        """Each statement once, by its text, at the highest cost that it is asked at: what is charged for it, if any."""
        dearest: dict[str, Release] = {}
        for release in self.releases:
            known = dearest.setdefault(release.statement.text, release)
            if release.units > known.units:
                dearest[release.statement.text] = release
        return dearest


def read_request(settings: Settings, analyst: str, statements: Sequence[str | Statement], costs: Costs) -> Asked:
    """The request, if it can be asked of this dataset."""
    if settings.quotas and analyst not in settings.quotas:
        known = ", ".join(sorted(settings.quotas))
        who = f"unknown analyst {shown(analyst)}" if analyst else "the request does not say who asks (--as NAME)"
        raise SettingsError(f"{who}; the settings name {known}")
    if not statements:
        raise WorkloadError("a batch holds at least one statement")
    parsed = [
        one if isinstance(one, Statement) else parse_statement(settings.domain, one, settings.tables)
        for one in statements
    ]
    if costs.budget is None:
        units = _stated(settings, costs, len(parsed))
        priced: list[object] = list(units)
        releases = [Release.plan(settings, one, cost) for one, cost in zip(parsed, units, strict=True)]
    else:
        if any(amount is not None for amount in (costs.epsilon, costs.rho, costs.mu)):
            raise CostError("a batch has either a budget for all or costs, not both")
        priced = ["budget", settings.measure.budget_down(costs.budget)]
        releases = share_out(settings, parsed, costs.budget)
    body = json.dumps([[one.text for one in parsed], priced], ensure_ascii=False)
    return Asked(analyst, tuple(releases), hashlib.sha256(body.encode()).hexdigest())


def expense_of(release: Release) -> Expense:
    """What a release is charged as."""
    return Expense(release.statement.query, release.units, grouped=bool(release.statement.groups))


def _stated(settings: Settings, costs: Costs, count: int) -> list[int]:
    """The cost of each statement in additive units, rounded up."""
    wanted = settings.measure.parameter
    amounts = {"epsilon": costs.epsilon, "rho": costs.rho, "mu": costs.mu}
    given = [name for name, amount in amounts.items() if amount is not None]
    if given != [wanted]:
        raise CostError(
            f"{settings.name} is accounted in {wanted} ({settings.measure.name}); "
            f"{' and '.join(given) if given else 'no cost'} was given"
        )
    amount = amounts[wanted]
    if isinstance(amount, Sequence) and not isinstance(amount, str):
        if isinstance(amount, bytes):
            raise CostError(f"a cost must be a number, not {shown(amount)}")
        if len(amount) != count:
            raise CostError(f"{len(amount):,} costs were given for {count:,} statements")
        return [settings.measure.cost_up(one) for one in amount]
    assert amount is not None
    return [settings.measure.cost_up(amount)] * count
