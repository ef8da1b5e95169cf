"""What the charges of one analyst spend against one row, kept up as charges come in.

The bound of γ is worked out once from all charges, which takes as long as a solver is allowed, and grows with each
charge after that by what a decision takes.  Let T be the charges so far, γ(T) ≤ u, and N those that follow.  A row that
none of N covers has spent at most u.  A row that q ∈ N covers has spent at most what T + N spends on the rows of q.
Hence

    γ(T + N) ≤ max(u, max over q ∈ N of γ((T + N)|q)),

where each γ(·|q) may be replaced by a proven bound of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from parcomp.custodian.accountant import Account, Expense
from parcomp.ledger import Charge
from parcomp.model import Domain
from parcomp.privacy import Neighbours

__all__ = ["OwnSpending"]

_FEW = 8
"""Charges that are taken in one by one; more of them are worked out together with all others."""


class OwnSpending:
    """The charges of an analyst up to some head, and a proven bound of γ on them.

    ``limit`` is what may be spent on a row; all expenses are over ``domain``.
    """

    def __init__(self, domain: Domain, limit: int, neighbours: Neighbours) -> None:
        self._account = Account("", domain, limit, neighbours)
        self._head = ""
        self._upper = 0

    def continues(self, expenses: Sequence[tuple[Charge, Expense]]) -> bool:
        """Whether these charges are those known so far, and perhaps more after them."""
        known = len(self._account)
        # A digest speaks for all charges before it.
        return known <= len(expenses) and (not known or expenses[known - 1][0].digest == self._head)

    def loss(self, expenses: Sequence[tuple[Charge, Expense]], work: int) -> int:
        """What all these charges, which continue the known ones, are proven to spend against one row.

        ``work`` is how many word operations may be spent on all of them.
        """
        known = len(self._account)
        later = expenses[known:]
        if later:
            self._book(later)
            if known and len(later) <= _FEW:
                spent = (self._account.spent_on(expense.query) for _, expense in later)
                self._upper = max(self._upper, *spent)
            else:
                self._upper = self._account.proven_upper(work)
        return self._account.loss_at(self._upper)

    def _book(self, expenses: Sequence[tuple[Charge, Expense]]) -> None:
        entries, upper = [], self._account.upper
        for charge, expense in expenses:
            upper = min(upper + expense.units, charge.upper)
            entries.append((expense, upper))
        self._account.restore(entries)
        self._head = expenses[-1][0].digest
