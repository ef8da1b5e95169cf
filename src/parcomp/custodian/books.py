"""The ledger's charges as a custodian needs them at hand: what is spent, and what was already bought.

The books follow the ledger and never lead it: a charge is entered when the ledger has it, or within the transaction
that appends it, and is taken back if that transaction fails.

*Loads* (:mod:`parcomp.ledger.load`).  A charge is read under the domain of its time.  The accounts are over the domain
of the last load: there, all earlier queries accept what they accepted, and their bounds hold as they are.  What was
bought before a load was of other rows, and pays for nothing after it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from parcomp.custodian.accountant import Account, Expense, Verdict
from parcomp.custodian.own_spending import OwnSpending
from parcomp.custodian.settings import Settings
from parcomp.errors import IdempotencyError, LedgerError, ParcompError
from parcomp.ledger import (
    Binding,
    Charge,
    ChargedQueries,
    Entry,
    Load,
    StrategyRecord,
    chain,
    chain_problems,
    read_domain_text,
    touched,
)
from parcomp.model import Domain, lift
from parcomp.privacy import Neighbours

__all__ = ["SHARES_WORK", "Books"]

SHARES_WORK = 1 << 29
"""Word operations that may be spent on what all analysts have spent: less than a second."""


class Books:
    """The dataset's account, an account for each analyst with a quota, and the statements that were paid for."""

    def __init__(self, settings: Settings, binding: Binding) -> None:
        """``binding`` is that of the ledger."""
        self._settings = settings
        self._replacing = settings.neighbours == Neighbours.REPLACE_ONE
        self._start = binding.digest
        self._entered: list[Charge] = []
        self._expenses: list[Expense | None] = []
        """What each entry spends, under the domain of its time; None for a load."""
        self._by_digest: dict[str, Charge] = {}
        self._spent: dict[str, OwnSpending] = {}
        """What was proven of analysts."""
        self._spending: list[tuple[Charge, Expense]] = []
        """The charges of the first entries with what they spend, over the domain there is."""
        self._listed = 0
        """How many entries these are of."""
        self._domains = [(0, read_domain_text(binding.domain, settings.domain))]
        """The number of each load, and the domain from there on."""
        self._open_accounts()

    @property
    def number(self) -> int:
        """The number of the last charge that was entered."""
        return len(self._entered)

    @property
    def charges(self) -> int:
        """How many charges were entered; loads are none."""
        return len(self._entered) - len(self._domains) + 1

    @property
    def entered(self) -> list[Charge]:
        """The entries, in order, loads among them."""
        return list(self._entered)

    @property
    def domain(self) -> Domain:
        """The domain that charges are made under."""
        return self._domains[-1][1]

    @property
    def loaded(self) -> int:
        """The number of the last load, 0 if there is none."""
        return self._domains[-1][0]

    def enter(self, charges: Sequence[Charge]) -> None:
        """Enter charges that follow the last one; a chain that does not hold is not taken over."""
        problems = chain_problems(charges, self._head, after=self.number)
        if problems:
            raise LedgerError(f"the ledger was tampered with or damaged ({problems[0]}); see: parcomp ledger verify")
        if any(charge.is_load for charge in charges):
            self._take_over(charges)
        else:
            self._book(charges)
            self._tighten({charge.analyst for charge in charges})

    def take_back(self, number: int) -> None:
        """Forget all charges after the one with this number."""
        across = self._domains[-1][0] > number
        if number < self._listed:
            self._forget_spending()
        while self.number > number:
            charge = self._entered.pop()
            self._expenses.pop()
            del self._by_digest[charge.digest]
            if not across:
                self._by_statement[_asked(charge)].pop()
                for text in _statements(charge):
                    self._batches[text].pop()
                self.dataset.undo(1)
                if charge.analyst in self._own:
                    self._own[charge.analyst].undo(1)
        if across:
            self._domains = [(at, domain) for at, domain in self._domains if at <= number]
            self._open_accounts()

    def decide(self, analyst: str, expense: Expense, work: int | None = None) -> Verdict:
        """Whether the analyst may make the expense, and what it would mean for the dataset, as proven within work."""
        verdict, own = self.dataset.judge(expense, work), self._own.get(analyst)
        return verdict if own is None else _both(verdict, own.judge(expense, work))

    def decide_together(self, analyst: str, expenses: Sequence[Expense], work: int) -> Verdict | None:
        """Whether the analyst may make all of the expenses, by one look at the whole; None where that is not known."""
        verdict, own = self.dataset.judge_together(expenses, work), self._own.get(analyst)
        if verdict is None or own is None:
            return verdict
        mine = own.judge_together(expenses, work)
        return None if mine is None else _both(verdict, mine)

    def counted(self) -> Counter[str]:
        """How many charges each analyst has; those without a name are under ""."""
        return Counter(charge.analyst for charge in self._entered if not charge.is_load)

    def spent_by(self, analysts: Iterable[str]) -> dict[str, int]:
        """A proven bound, for each analyst, of what the own charges spend against one row, in additive units.

        What one analyst spends is no more than what all do, nor than what the own charges are proven to spend within
        the work that is allowed for all analysts together.
        """
        made: dict[str, list[tuple[Charge, Expense]]] = {analyst: [] for analyst in analysts}
        for charge, expense in self.spending():
            if charge.analyst in made:
                made[charge.analyst].append((charge, expense))
        return {analyst: self._spent_by(analyst, expenses) if expenses else 0 for analyst, expenses in made.items()}

    def _spent_by(self, analyst: str, expenses: Sequence[tuple[Charge, Expense]]) -> int:
        known = self._spent.get(analyst)
        if known is None or not known.continues(expenses):
            known = self._spent[analyst] = OwnSpending(
                self.domain, self._settings.row_budget, self._settings.neighbours
            )
        spent, own = known.loss(expenses, SHARES_WORK * len(expenses) // self.charges), self._own.get(analyst)
        return min(spent, self.dataset.loss, *([] if own is None else [own.loss]))

    def bought(self, statement: str, units: int) -> Charge | None:
        """The dearest charge for an equal statement since the last load, if it was bought at least as accurately."""
        best = max(self._by_statement.get(statement, ()), key=lambda charge: charge.units, default=None)
        return best if best is not None and best.units >= units else None

    def bought_strategy(self, key: str, budget: int) -> Charge | None:
        """The charge with the largest budget since the last load for the same batch, if it is no less than this one."""
        made = [(record.budget, charge) for charge in self._by_statement.get(key, ()) if (record := _record(charge))]
        best = max(made, key=lambda one: one[0], default=None)
        return best[1] if best is not None and best[0] >= budget else None

    def batches_with(self, statement: str) -> Sequence[Charge]:
        """The charges since the last load for batches, measured as a whole, that have an equal statement, in order."""
        return self._batches.get(statement, ())

    def charge(self, digest: str) -> Charge:
        """The charge with this digest, which must be no older than the last load."""
        if digest not in self._by_digest:
            raise LedgerError(
                "the ledger keeps a request for a charge that it does not have; see: parcomp ledger verify"
            )
        charge = self._by_digest[digest]
        if charge.number < self._domains[-1][0]:
            raise IdempotencyError(
                "the key was used before the table was loaded anew, for the rows that it had then; choose another key "
                "to ask about those that it has"
            )
        return charge

    def spending(self) -> list[tuple[Charge, Expense]]:
        """Each charge with what it spends, over the domain there is; loads spend nothing."""
        for charge, expense in zip(self._entered[self._listed :], self._expenses[self._listed :], strict=True):
            if expense is not None:
                self._spending.append((charge, _lifted(expense, self.domain)))
        self._listed = len(self._entered)
        return list(self._spending)

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
        self._book([chain(self._head, self.number + 1, entry)], closely=self._replacing)

    def _forget_spending(self) -> None:
        self._spending, self._listed = [], 0

    @property
    def _head(self) -> str:
        return self._entered[-1].digest if self._entered else self._start

    def _open_accounts(self) -> None:
        """Make the accounts over the domain there is, with all expenses that were entered, taken over to it."""
        settings, domain = self._settings, self.domain
        limit, neighbours = settings.row_budget, settings.neighbours
        self._spent = {}
        self._forget_spending()
        self.dataset = Account("budget", domain, limit, neighbours)
        self._own = {
            analyst: Account(f"quota of {analyst}", domain, settings.row_quota(analyst), neighbours, budget=limit)
            for analyst, quota in settings.quotas.items()
            if quota is not None
        }
        self._queries = ChargedQueries(domain)
        self._by_statement: dict[str, list[Charge]] = {}
        self._batches: dict[str, list[Charge]] = {}
        self._spend(self.spending())
        self._tighten(self._own.keys())

    def _take_over(self, charges: Sequence[Charge]) -> None:
        """Enter charges with loads among them."""
        domains, queries = list(self._domains), self._queries
        expenses: list[Expense | None] = []
        for charge in charges:
            if charge.is_load:
                domains.append((charge.number, Load.read(charge).extending(domains[-1][1], self._settings.domain)))
                queries = ChargedQueries(domains[-1][1])
                expenses.append(None)
            else:
                expenses.append(_expense(queries, charge))
        known, self._domains = self.number, domains
        self._enter(charges, expenses)
        try:
            self._open_accounts()
        except ParcompError:
            self.take_back(known)
            raise

    def _book(self, charges: Sequence[Charge], *, closely: bool = False) -> None:
        expenses = [_expense(self._queries, charge) for charge in charges]
        # What cannot be spent is not entered either, so that it is met again and not passed over.
        self._spend(list(zip(charges, expenses, strict=True)), closely=closely)
        self._enter(charges, expenses)

    def _tighten(self, analysts: Iterable[str]) -> None:
        if self._replacing:
            for analyst in self._own.keys() & analysts:
                self._own[analyst].tighten()

    def _enter(self, charges: Sequence[Charge], expenses: Sequence[Expense | None]) -> None:
        self._entered += charges
        self._expenses += expenses
        self._by_digest |= {charge.digest: charge for charge in charges}

    def _spend(self, spent: Sequence[tuple[Charge, Expense]], *, closely: bool = False) -> None:
        """Put expenses over the domain there is into the accounts.

        ``closely`` bounds what analysts have spent as a decision would, which takes as long as one.
        """
        self.dataset.restore((expense, charge.upper) for charge, expense in spent)
        loaded = self._domains[-1][0]
        for charge, expense in spent:
            if charge.number > loaded:
                self._by_statement.setdefault(_asked(charge), []).append(charge)
                for text in _statements(charge):
                    self._batches.setdefault(text, []).append(charge)
            own = self._own.get(charge.analyst)
            if own is not None:
                # What one analyst spends is no more than what all do. Only against replacing a row does this bound
                # decide anything, and there it is tightened once charges are entered.
                upper = own.judge(expense).upper if closely else own.upper + expense.units
                own.restore([(expense, min(upper, charge.upper))])


def _both(verdict: Verdict, own: Verdict) -> Verdict:
    """What the budget and the quota say of the same expense."""
    return replace(verdict, fits=verdict.fits and own.fits, left={**verdict.left, **own.left})


def _lifted(expense: Expense, domain: Domain) -> Expense:
    query = lift(expense.query, domain)
    return expense if query is expense.query else replace(expense, query=query)


def _expense(queries: ChargedQueries, charge: Charge) -> Expense:
    query = queries.query(json.loads(charge.where))
    return Expense(query, charge.units, touched(charge.statement))


def _record(charge: Charge) -> StrategyRecord | None:
    return StrategyRecord.read(charge.statement)


def _statements(charge: Charge) -> Sequence[str]:
    """What a batch that is measured as a whole asks for; nothing for any other charge."""
    record = _record(charge)
    return () if record is None else record.statements


def _asked(charge: Charge) -> str:
    """What a charge was made for: its statement, or what makes two batches the same but for their budgets."""
    record = _record(charge)
    return charge.statement if record is None else record.key
