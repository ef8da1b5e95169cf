"""The ledger's charges as a custodian needs them at hand: what is spent, and what was already bought.

The books follow the ledger and never lead it: a charge is entered when the ledger has it, or within the transaction
that appends it, and is taken back if that transaction fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from parcomp.custodian.accountant import Account, Expense, Verdict
from parcomp.custodian.settings import Settings
from parcomp.errors import LedgerError
from parcomp.ledger import Binding, Charge, ChargedQueries, Entry, chain, chain_problems
from parcomp.model import groups_touched
from parcomp.privacy import Neighbours

__all__ = ["Books"]


class Books:
    """The dataset's account, an account for each analyst with a quota, and the statements that were paid for."""

    def __init__(self, settings: Settings, binding: Binding) -> None:
        """``binding`` is that of the ledger."""
        domain, limit, neighbours = settings.domain, settings.row_budget, settings.neighbours
        self.dataset = Account("the budget", domain, limit, neighbours)
        self._own = {
            analyst: Account(f"the quota of {analyst}", domain, settings.row_quota(analyst), neighbours, budget=limit)
            for analyst, quota in settings.quotas.items()
            if quota is not None
        }
        self._replacing = neighbours == Neighbours.REPLACE_ONE
        self._queries = ChargedQueries(domain)
        self._start = binding.digest
        self._entered: list[Charge] = []
        self._by_digest: dict[str, Charge] = {}
        self._by_statement: dict[str, list[Charge]] = {}

    @property
    def number(self) -> int:
        """The number of the last charge that was entered."""
        return len(self._entered)

    def enter(self, charges: Sequence[Charge]) -> None:
        """Enter charges that follow the last one; a chain that does not hold is not taken over."""
        problems = chain_problems(charges, self._head, after=self.number)
        if problems:
            raise LedgerError(f"the ledger was tampered with or damaged ({problems[0]}); see: parcomp ledger verify")
        self._book(charges)
        if self._replacing:
            for analyst in {charge.analyst for charge in charges} & self._own.keys():
                self._own[analyst].tighten()

    def take_back(self, number: int) -> None:
        """Forget all charges after the one with this number."""
        while self.number > number:
            charge = self._entered.pop()
            del self._by_digest[charge.digest]
            self._by_statement[charge.statement].pop()
            self.dataset.undo(1)
            if charge.analyst in self._own:
                self._own[charge.analyst].undo(1)

    def decide(self, analyst: str, expense: Expense) -> Verdict:
        """Whether the analyst may make the expense, and what it would mean for the dataset."""
        verdict, own = self.dataset.judge(expense), self._own.get(analyst)
        if own is None:
            return verdict
        mine = own.judge(expense)
        tighter = mine if mine.short_of and mine.remaining < verdict.remaining else verdict
        return replace(
            verdict,
            remaining=min(verdict.remaining, mine.remaining),
            short_of=tighter.short_of or mine.short_of,
        )

    def bought(self, statement: str, units: int) -> Charge | None:
        """The dearest charge for an equal statement, if it was bought at least as accurately."""
        best = max(self._by_statement.get(statement, ()), key=lambda charge: charge.units, default=None)
        return best if best is not None and best.units >= units else None

    def charge(self, digest: str) -> Charge:
        """The charge with this digest."""
        if digest not in self._by_digest:
            raise LedgerError(
                "the ledger keeps a request for a charge that it does not have; see: parcomp ledger verify"
            )
        return self._by_digest[digest]

    @contextmanager
    def supposing(self) -> Iterator[None]:
        """Within this, entries may be supposed; they are forgotten at its end."""
        known = self.number
        try:
            yield
        finally:
            self.take_back(known)

    def suppose(self, entry: Entry) -> None:
        """Go on as if an entry that fits had been charged."""
        self._book([chain(self._head, self.number + 1, entry)])

    @property
    def _head(self) -> str:
        return self._entered[-1].digest if self._entered else self._start

    def _book(self, charges: Sequence[Charge]) -> None:
        booked = [(self._expense(charge), charge.upper) for charge in charges]
        self.dataset.restore(booked)
        for charge, (expense, upper) in zip(charges, booked, strict=True):
            self._entered.append(charge)
            self._by_digest[charge.digest] = charge
            self._by_statement.setdefault(charge.statement, []).append(charge)
            own = self._own.get(charge.analyst)
            if own is not None:
                # What one analyst spends is no more than what all do. Only against replacing a row does this bound
                # decide anything, and there it is tightened.
                own.restore([(expense, min(own.upper + expense.units, upper))])

    def _expense(self, charge: Charge) -> Expense:
        query = self._queries.query(json.loads(charge.where))
        return Expense(query, charge.units, groups_touched(json.loads(charge.statement).get("groups")))
