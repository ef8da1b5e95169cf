"""The one place that orders the steps of an answer: charge durably → count → add noise → store → release.

The order is the privacy argument.

1. *Read the request.*  SQL becomes a statement; its cost and its noise are worked out.  Whatever can be wrong is found
   here, and the coded table is opened, before anything is charged.
2. *Paid already?*  An equal statement that was bought at least as accurately is answered from what is stored.
3. *Charge*, in one serialized transaction of the ledger: catch up with its head, look again whether it was paid for
   meanwhile, test the budget and the quota by a proven bound, append, commit durably.
4. *Count*, in one pass over the codes, what was charged: the in-domain values, never the text of the SQL.
5. *Add noise* and *store*.  The first answer stored for a charge is the only one that is ever released for it.
6. *Mark* how far the ledger has come (:mod:`parcomp.ledger.mark`), so that a ledger without this charge or this answer
   is known to have been rolled back.  That it was not, and that the mark can be set, is looked at before step 3 too.
7. *Release.*

A process may die between any two steps.  Before the commit nothing was charged and nothing is known.  After it the
charge stands, whatever happens; if no answer was stored, none was released, and whoever asks the same again gets it for
that charge.  Nothing is ever refunded.

Steps 1 to 3 read the request, the settings and the ledger, and no row: whether it is admitted, what it costs and what a
refusal says would be the same on any table.  The source is read when the ledger is made and by `load`, never to answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from parcomp.custodian.answer import Answer
from parcomp.custodian.custody import Custody
from parcomp.custodian.deriving import Derived, derived
from parcomp.custodian.effort import Effort
from parcomp.custodian.estimating import Estimated, estimated_apart
from parcomp.custodian.quotation import refusal
from parcomp.custodian.release import Release
from parcomp.custodian.request import Asked
from parcomp.custodian.retrospect import (
    NO_ESTIMATE,
    OVERALL_NOTE,
    View,
    derived_estimates,
    estimates_of,
    seen,
)
from parcomp.custodian.wording import derived_answer, worded
from parcomp.errors import DataError, IdempotencyError, ParcompError, UnderivableError, shown
from parcomp.figures import Estimates, Figure
from parcomp.ledger import Charge, Entry, Ledger, Request, StrategyRecord, Transaction
from parcomp.model import Item, Query, Selection

if TYPE_CHECKING:
    from parcomp.data import CodedTable

__all__ = ["Answering", "Paid", "PaidOtherwiseError"]

Paid: TypeAlias = list[tuple[Charge | None, bool]]
"""What pays for each statement, None if there is nothing to pay, and whether it was charged for this request."""


_UNDERIVABLE = (
    "this does not follow from the counts that were released to whoever asks, since the table was loaded last; nothing "
    "was charged. Ask for it at a cost, which a quote tells"
)


class PaidOtherwiseError(ParcompError):
    """While a batch was planned, the same key was used for it elsewhere, and it is measured in another way there."""


class Answering(Custody):
    """The steps of an answer, from a request that was read to what is released."""

    def _answers_or_rehearsal(self, asked: Asked, key: str | None, dummy: bool) -> Sequence[Answer]:
        return self._rehearsal.answers(asked) if dummy else self._answers(asked, key)

    def _answers(self, asked: Asked, key: str | None) -> list[Answer]:
        self._appended = ()
        table = self._table()
        self._mark_before()
        with self._opened_books():
            paid = self._charge(asked, key)
        stored = self._stored(table, asked, paid)
        self._mark_after()
        estimated, said = self._estimated(asked, paid, stored)
        asked_and_paid = zip(asked.selections, asked.releases, paid, strict=True)
        return [
            self._release(selection, release, *one, stored, estimated.get(release.statement.text), said)
            for selection, release, one in asked_and_paid
        ]

    def _derived(self, analyst: str, selection: Selection) -> Derived | None:
        """How a statement follows from what was released to an analyst; None where it does not."""
        statement = selection.statement
        with self._opened_books() as books:
            self._look_at_the_mark()
            self._catch_up(self._ledger)
            self._shelf.fill(books)
            near = self._shelf.near(analyst, statement.query, self.settings.complete_positions)
        # What takes time is outside the lock: charges do not change.
        settings, ledger, shelf = self.settings, self._ledger, self._shelf
        return derived(
            settings,
            statement,
            near,
            lambda charge: shelf.restored(settings, charge, ledger.strategy),
            ledger.answered_of,
        )

    def _derived_answer(self, analyst: str, selection: Selection, estimate: bool) -> Answer:
        """What follows from released answers, free, and what all of them say of it, if that is asked for."""
        if selection.statement.query.is_contradiction:
            return worded(self.settings, selection, Release(selection.statement, 0, ()), None)
        found = self._derived(analyst, selection)
        if found is None:
            raise UnderivableError(_UNDERIVABLE)
        stored = self._ledger.answers([charge.digest for charge in found.charges])
        view = self._view(analyst, found.charges) if estimate else None
        # Whatever is told of stored answers, a ledger without them must be known to have been rolled back.
        self._mark_before()
        figures = found.figures(stored)
        estimated = None if view is None else derived_estimates(self.settings, view, found, figures)
        said = () if not estimate else (NO_ESTIMATE,) if estimated is None else (OVERALL_NOTE,)
        try:
            return derived_answer(self.settings, selection, found, figures, estimated, said)
        except ArithmeticError:
            raise DataError("what was asked cannot be shown as numbers; nothing was charged") from None

    def _estimates(self, analyst: str, interval: float, facts: Mapping[Query, float], time_limit: float) -> Estimates:
        """What all counts that were released to an analyst say together, free."""
        view = self._view(analyst)
        self._mark_before()
        return estimates_of(self.settings, view, interval, facts, time_limit)

    def _view(self, analyst: str, before: Sequence[Charge] = ()) -> View:
        """The counts that were released to an analyst; the charges ``before`` are taken before others."""
        with self._opened_books() as books:
            self._look_at_the_mark()
            self._catch_up(self._ledger)
            self._shelf.fill(books)
            visible = self._shelf.visible(analyst)
        taken = {charge.number for charge in before}
        charges = [*before, *(charge for charge in visible if charge.number not in taken)]
        # What takes time is outside the lock: charges do not change.
        return seen(self.settings, charges, self._ledger.strategy, self._ledger.answers)

    def _charge(self, asked: Asked, key: str | None) -> Paid:
        """What pays for each statement; charged, durably, where nothing does yet."""
        self._catch_up(self._ledger)
        paid = self._paid(self._ledger, asked, key)
        if paid is not None:
            return paid
        # Decided before the transaction, so that it is short, and again in it only if others have charged meanwhile.
        # What does not fit by then does not fit later.
        due, known = self._due(asked), self._books.number
        try:
            with self._ledger.transaction() as transaction:
                self._catch_up(transaction)
                paid = self._paid(transaction, asked, key)
                if self._books.number > known:
                    known = self._books.number
                    due = self._due(asked) if paid is None else []
                if paid is None:
                    paid = self._append(transaction, asked, due, key)
                return paid
        except ParcompError:
            # Whether a failed commit stands is for the ledger to say, when the books catch up with it.
            self._books.take_back(known)
            raise

    def _paid(self, ledger: Ledger | Transaction, asked: Asked, key: str | None) -> Paid | None:
        """What pays for the statements already, None if something is left to do."""
        if key is not None:
            request = ledger.request(asked.analyst, key)
            if request is None:
                return None
            if request.body_digest != asked.body_digest:
                raise IdempotencyError(f"the key {shown(key)} was used for another request; choose another key")
            # The request may have been committed after the books were last brought up to date.
            self._catch_up(ledger)
            found = [None if digest is None else self._books.charge(digest) for digest in request.charges]
            if any(charge is not None and StrategyRecord.read(charge.statement) is not None for charge in found):
                raise PaidOtherwiseError
            return list(zip(found, request.fresh, strict=True))
        paid: Paid = []
        for release in asked.releases:
            bought = self._books.bought(release.statement.text, release.units)
            if bought is None and not release.statement.query.is_contradiction:
                return None
            paid.append((bought, False))
        return paid

    def _due(self, asked: Asked) -> list[Entry]:
        """What is to be charged; all of it fits."""
        due = []
        batch = str(self._books.number + 1) if len(asked.releases) > 1 else ""
        dearest = asked.dearest
        effort = Effort(len(dearest))
        with self._books.supposing():
            for text, release in dearest.items():
                expense = release.expense
                if expense.query.is_contradiction or self._books.bought(text, release.units) is not None:
                    continue
                verdict = effort.decide(self._books, asked.analyst, expense)
                if not verdict.fits:
                    raise refusal(self.settings, release, verdict, asked.place_of(release))
                due.append(asked.entry(release, verdict, batch))
                self._books.suppose(due[-1])
        return due

    def _append(self, transaction: Transaction, asked: Asked, due: Sequence[Entry], key: str | None) -> Paid:
        """Charge what is due, remember it under the key, and say what pays for each statement."""
        charges = self._appended = transaction.append(due)
        self._books.enter(charges)
        fresh = {charge.number for charge in charges}
        paid: Paid = []
        for release in asked.releases:
            bought = self._books.bought(release.statement.text, release.units)
            # Of equal statements in a batch, the first one is told what it cost.
            paid.append((bought, bought is not None and bought.number in fresh))
            fresh -= {bought.number} if bought is not None else set()
        if key is not None:
            digests = tuple(None if charge is None else charge.digest for charge, _ in paid)
            fresh_ones = tuple(fresh for _, fresh in paid)
            transaction.remember(Request(asked.analyst, key, asked.body_digest, digests, fresh_ones))
        return paid

    def _stored(self, table: CodedTable, asked: Asked, paid: Paid) -> dict[str, str]:
        """The noisy numbers by the charge's digest: as they are stored, else counted, given noise and stored first."""
        bought = {
            charge.digest: (release.statement, charge.units)
            for release, (charge, _) in zip(asked.releases, paid, strict=True)
            if charge is not None
        }
        stored = self._ledger.answers(bought)
        missing = {digest: Release.plan(self.settings, *one) for digest, one in bought.items() if digest not in stored}
        if missing:
            try:
                measured = table.measure([release.statement for release in missing.values()])
            except DataError as error:
                raise DataError(f"{error}; {self._what_stands()}") from None
            noisy = {digest: r.noisy(m) for (digest, r), m in zip(missing.items(), measured, strict=True)}
            stored |= self._ledger.store_answers(noisy)
        return stored

    def _estimated(self, asked: Asked, paid: Paid, stored: dict[str, str]) -> tuple[Estimated, Sequence[str]]:
        """What the answers say together, if that is asked for, and what is to be said of all of them."""
        if not asked.estimate:
            return {}, asked.notes
        bought = [
            (
                Release.stored(self.settings, release.statement, charge.units, stored[charge.digest]),
                stored[charge.digest],
            )
            for release, (charge, _) in zip(asked.releases, paid, strict=True)
            if charge is not None
        ]
        estimated, note = estimated_apart(self.settings, bought)
        return estimated, (*asked.notes, *([note] if note else []))

    def _release(
        self,
        selection: Selection,
        release: Release,
        charge: Charge | None,
        fresh: bool,
        stored: dict[str, str],
        estimated: Mapping[Item, Sequence[Figure]] | None = None,
        said: Sequence[str] = (),
    ) -> Answer:
        if charge is None:
            return worded(self.settings, selection, release, None)
        numbers = stored[charge.digest]
        bought = Release.stored(self.settings, release.statement, charge.units, numbers)
        cost = self.settings.measure.parameter_up(charge.units) if fresh else 0
        try:
            return worded(
                self.settings,
                selection,
                bought,
                numbers,
                charge=charge.number,
                cost=cost,
                cached=not fresh,
                estimated=estimated,
                more=said,
            )
        except ArithmeticError:
            # What is worked out from noisy numbers is anybody's to write, and what it is worked out from was paid for.
            raise DataError(f"what was asked cannot be shown as numbers; {self._what_stands()}") from None
