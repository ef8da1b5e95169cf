"""The ledger's charges as a custodian needs them at hand: what is spent, and what was already bought.

The books follow the ledger and never lead it: a charge is entered when the ledger has it, or within the transaction
that appends it, and is taken back if that transaction fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from parcomp.custodian.accountant import Account, Expense, Verdict
from parcomp.custodian.settings import Settings
from parcomp.errors import LedgerError
from parcomp.ledger.binding import Binding
from parcomp.ledger.charge import Charge, chain_problems
from parcomp.model.notation import read_predicate
from parcomp.model.predicate import Predicate
from parcomp.privacy import Neighbours

__all__ = ["Books", "Bought", "Decision"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether an analyst may make an expense: the verdict of the dataset's account and that of the analyst's own."""

    dataset: Verdict
    own: Verdict | None

    @property
    def fits(self) -> bool:
        """Whether both accounts bear it."""
        return self.dataset.fits and (self.own is None or self.own.fits)

    @property
    def remaining(self) -> int:
        """The most that may be spent on these rows, in additive units."""
        return self.dataset.remaining if self.own is None else min(self.dataset.remaining, self.own.remaining)


@dataclass(frozen=True, slots=True)
class Bought:
    """A statement that was paid for, by which charge and at which cost."""

    number: int
    digest: str
    analyst: str
    statement: str
    units: int


class Books:
    """The dataset's account, an account for each analyst with a quota, and the statements that were paid for."""

    def __init__(self, settings: Settings, binding: Binding) -> None:
        """``binding`` is that of the ledger."""
        self._domain = settings.domain
        self.dataset = Account(settings.domain, settings.row_budget, settings.neighbours)
        self._own = {
            analyst: Account(
                settings.domain, settings.row_quota(analyst), settings.neighbours, budget=settings.row_budget
            )
            for analyst, quota in settings.quotas.items()
            if quota is not None
        }
        self._replacing = settings.neighbours == Neighbours.REPLACE_ONE
        self._entered: list[Bought] = []
        self._start = binding.digest
        self._by_digest: dict[str, Bought] = {}
        self._by_statement: dict[str, list[Bought]] = {}
        self._predicates: dict[tuple[str, str], Predicate] = {}

    @property
    def number(self) -> int:
        """The number of the last charge that was entered."""
        return len(self._entered)

    def enter(self, charges: Sequence[Charge]) -> None:
        """Enter charges that follow the last one; a chain that does not hold is not taken over."""
        last = self._entered[-1].digest if self._entered else self._start
        problems = chain_problems(charges, last, after=self.number)
        if problems:
            raise LedgerError(f"the ledger was tampered with or damaged ({problems[0]}); see: parcomp ledger verify")
        expenses = [self._expense(charge) for charge in charges]
        self.dataset.restore([(e, charge.upper) for e, charge in zip(expenses, charges, strict=True)])
        for expense, charge in zip(expenses, charges, strict=True):
            bought = Bought(charge.number, charge.digest, charge.analyst, charge.statement, charge.units)
            self._remember(bought, expense, charge.upper)
        if self._replacing:
            for analyst in {charge.analyst for charge in charges} & self._own.keys():
                self._own[analyst].tighten()

    def take_back(self, number: int) -> None:
        """Forget all charges after the one with this number."""
        while self.number > number:
            bought = self._entered.pop()
            del self._by_digest[bought.digest]
            self._by_statement[bought.statement].pop()
            self.dataset.undo(1)
            if bought.analyst in self._own:
                self._own[bought.analyst].undo(1)

    def decide(self, analyst: str, expense: Expense) -> Decision:
        """Whether the analyst may make the expense, and what it would mean."""
        own = self._own.get(analyst)
        return Decision(self.dataset.judge(expense), None if own is None else own.judge(expense))

    def bought(self, statement: str, units: int) -> Bought | None:
        """The dearest charge for an equal statement, if it was bought at least as accurately."""
        best = max(self._by_statement.get(statement, ()), key=lambda bought: bought.units, default=None)
        return best if best is not None and best.units >= units else None

    def charge(self, digest: str) -> Bought:
        """What the charge with this digest paid for."""
        if digest not in self._by_digest:
            raise LedgerError(
                "the ledger keeps a request for a charge that it does not have; see: parcomp ledger verify"
            )
        return self._by_digest[digest]

    @contextmanager
    def supposing(self) -> Iterator[None]:
        """Within this, expenses may be supposed; they are forgotten at its end."""
        known = self.number
        try:
            yield
        finally:
            self.take_back(known)

    def suppose(self, analyst: str, statement: str, expense: Expense, decision: Decision) -> None:
        """Go on as if an expense that fits had been charged."""
        upper = decision.dataset.upper
        self.dataset.restore([(expense, upper)])
        number = self.number + 1
        self._remember(Bought(number, f"supposed {number}", analyst, statement, expense.units), expense, upper)

    def _remember(self, bought: Bought, expense: Expense, upper: int) -> None:
        self._entered.append(bought)
        self._by_digest[bought.digest] = bought
        self._by_statement.setdefault(bought.statement, []).append(bought)
        own = self._own.get(bought.analyst)
        if own is not None:
            # What one analyst spends is no more than what all do. Only against replacing a row does this bound decide
            # anything, and there it is tightened.
            own.restore([(expense, min(own.upper + expense.units, upper))])

    def _expense(self, charge: Charge) -> Expense:
        where = {}
        for name, written in json.loads(charge.where).items():
            # Few predicates make up many queries.
            key = name, repr(written)
            if key not in self._predicates:
                self._domain.index(name)
                self._predicates[key] = read_predicate(self._domain.attributes[name], written)
            where[name] = self._predicates[key]
        return Expense(self._domain.query(where), charge.units, grouped="groups" in json.loads(charge.statement))
