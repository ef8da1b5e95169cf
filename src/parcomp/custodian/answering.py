"""The one place that orders the steps of an answer: charge durably → count → add noise → store → release.

The order is the privacy argument.

1. *Read the request.*  SQL becomes a statement; its cost and its noise are worked out.  Whatever can be wrong is found
   here, and the coded table is opened, before anything is charged.
2. *Paid already?*  An equal statement that was bought at least as accurately, by itself or in a batch that was measured
   as a whole, is answered from what is stored.
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
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from parcomp.custodian.answer import Answer, BatchQuote
from parcomp.custodian.books import Books
from parcomp.custodian.bought_batches import is_whole, key_of_batch
from parcomp.custodian.custody import Custody
from parcomp.custodian.deriving import Derived, derived
from parcomp.custodian.effort import Effort
from parcomp.custodian.estimating import Estimated, estimated_apart
from parcomp.custodian.quotation import quote_all, refusal
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
from parcomp.custodian.strategy import Part, Strategy
from parcomp.custodian.wording import derived_answer, worded
from parcomp.errors import DataError, IdempotencyError, ParcompError, UnderivableError, one_line, shown
from parcomp.figures import Estimates
from parcomp.ledger import Charge, Entry, Ledger, Request, Transaction
from parcomp.model import Query, Selection

if TYPE_CHECKING:
    from parcomp.data import CodedTable
    from parcomp.estimation import Progress

__all__ = ["Answering", "Paid", "PaidOtherwiseError"]

Paid: TypeAlias = list[tuple[Charge | None, bool]]
"""What pays for each statement, None if there is nothing to pay, and whether it was charged for this request."""


_UNDERIVABLE = (
    "this does not follow from the counts that were released to whoever asks, since the table was loaded last; nothing "
    "was charged. Ask for it at a cost, which a quote tells"
)


_MOST_TRIED = 12
"""Of more attributes it is not looked for which ones would have to be complete."""


_MOST_QUOTED = 50
"""Of so many statements of a batch it is looked whether they follow from released answers."""


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
        # Where a batch is to be restored it takes time, and others need the books meanwhile.
        self._batches.look_up(self._books, asked.releases)
        with self._opened_books():
            paid = self._charge(asked, key)
        stored = self._stored(table, asked, paid)
        self._mark_after()
        estimated = self._estimated(asked, paid, stored)
        said = (*asked.notes, *estimated.notes)
        asked_and_paid = zip(asked.selections, asked.releases, paid, strict=True)
        return [
            self._release(selection, release, *one, stored, estimated, said)
            for selection, release, one in asked_and_paid
        ]

    def _quoted(self, books: Books, asked: Asked) -> BatchQuote:
        """What asking would mean, of statements with noise of their own, by books that were brought up to date."""
        self._batches.look_up(books, asked.releases)
        return quote_all(self.settings, books, self._batches, asked)

    def _told_of_deriving(self, asked: Asked, quoted: BatchQuote) -> BatchQuote:
        """The quotes of a batch, with what is said of how many statements can be had for nothing."""
        looked_at = [
            (place, selection)
            for place, (selection, quote) in enumerate(zip(asked.selections, quoted.quotes, strict=True))
            if not quote.cached and not selection.statement.query.is_contradiction
        ][:_MOST_QUOTED]
        quotes = list(quoted.quotes)
        for place, selection in looked_at:
            found = self._derived(asked.analyst, selection)
            error = None if found is None else found.expected_error
            quotes[place] = replace(quotes[place], derivable=found is not None, derived_error=error)
        many = sum(bool(quote.derivable) for quote in quotes)
        if not many:
            return replace(quoted, quotes=tuple(quotes))
        follow = f"{many:,} of the statements follows" if many == 1 else f"{many:,} of the statements follow"
        among = ""
        if len(looked_at) == _MOST_QUOTED:
            among = f", of the first {_MOST_QUOTED} that are not free anyway"
        note = (
            f"{follow} from what was released to you before{among}, and can be had for nothing, one by one (ask with "
            "derive, --derive)"
        )
        return replace(quoted, quotes=tuple(quotes), notes=(*quoted.notes, note))

    def _why_underivable(self, analyst: str, selection: Selection) -> str:
        """Why a statement does not follow: what would have to be complete, where it would follow then."""
        settings = self.settings
        names = [name for name in settings.domain.names if name not in settings.complete]
        if not names or self._derived(analyst, selection, settings.domain.names) is None:
            return _UNDERIVABLE
        needed = names
        for name in names if len(names) <= _MOST_TRIED else ():
            fewer = [one for one in needed if one != name]
            if self._derived(analyst, selection, [*settings.complete, *fewer]) is not None:
                needed = fewer
        if len(needed) > _MOST_TRIED:
            return _UNDERIVABLE
        listed = " and ".join(f"`{one_line(name)}`" for name in needed)
        verb = "was" if len(needed) == 1 else "were"
        return (
            f"this does not follow from what was released to whoever asks, as rows may have undeclared values. It "
            f"would follow if {listed} {verb} declared complete, which is for the custodian to do; nothing was "
            "charged. Ask for it at a cost, which a quote tells"
        )

    def _derived(self, analyst: str, selection: Selection, complete: Sequence[str] | None = None) -> Derived | None:
        """How a statement follows from what was released to an analyst; None where it does not.

        ``complete`` are the attributes that are taken to be, where those that are so are not meant.
        """
        statement, settings = selection.statement, self.settings
        if complete is not None:
            settings = replace(settings, complete=tuple(complete))
        with self._opened_books() as books:
            self._look_at_the_mark()
            self._catch_up(self._ledger)
            self._shelf.fill(books)
            near = self._shelf.near(analyst, statement.query, settings.complete_positions)
        # What takes time is outside the lock: charges do not change.
        ledger, shelf = self._ledger, self._shelf
        return derived(
            settings,
            statement,
            near,
            lambda charge: shelf.restored(self.settings, charge, ledger.strategy),
            ledger.answered_of,
        )

    def _derived_answer(self, analyst: str, selection: Selection, estimate: bool) -> Answer:
        """What follows from released answers, free, and what all of them say of it, if that is asked for."""
        if selection.statement.query.is_contradiction:
            return worded(self.settings, selection, Release(selection.statement, 0, ()), None)
        found = self._derived(analyst, selection)
        if found is None:
            raise UnderivableError(self._why_underivable(analyst, selection))
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

    def _estimates(
        self,
        analyst: str,
        interval: float,
        facts: Mapping[Query, float],
        time_limit: float,
        progress: Progress | None,
    ) -> Estimates:
        """What all counts that were released to an analyst say together, free."""
        view = self._view(analyst)
        self._mark_before()
        return estimates_of(self.settings, view, interval, facts, time_limit, progress)

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
        self._batches.look_up(self._books, asked.releases)
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
            if asked.whole and any(charge is not None and key_of_batch(charge) == asked.whole for charge in found):
                raise PaidOtherwiseError
            return list(zip(found, request.fresh, strict=True))
        paid: Paid = []
        for release in asked.releases:
            bought = self._batches.paying(self._books, release, asked.whole)
            if bought is None and not release.statement.query.is_contradiction:
                return None
            paid.append((bought, False))
        return paid

    def _due(self, asked: Asked) -> list[Entry]:
        """What is to be charged; all of it fits."""
        batch = str(self._books.number + 1) if len(asked.releases) > 1 else ""
        dearest = asked.dearest
        unpaid = [
            release
            for release in dearest.values()
            if not release.statement.query.is_contradiction
            and self._batches.paying(self._books, release, asked.whole) is None
        ]
        effort = Effort(len(dearest))
        together = effort.decide_together(self._books, asked.analyst, [release.expense for release in unpaid])
        if together is not None:
            return [asked.entry(release, together, batch) for release in unpaid]
        due = []
        with self._books.supposing():
            for release in unpaid:
                verdict = effort.decide(self._books, asked.analyst, release.expense)
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
            bought = self._batches.paying(self._books, release, asked.whole)
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
            charge.digest: (release.statement, charge)
            for release, (charge, _) in zip(asked.releases, paid, strict=True)
            if charge is not None
        }
        stored = self._ledger.answers(bought)
        due = {digest: one for digest, one in bought.items() if digest not in stored}
        wholes = {digest: charge for digest, (_, charge) in due.items() if is_whole(charge)}
        for digest, charge in wholes.items():
            stored[digest] = self._stored_strategy(table, self._batches.restored(charge), charge)
        missing = {
            digest: Release.plan(self.settings, statement, charge.units)
            for digest, (statement, charge) in due.items()
            if digest not in wholes
        }
        if missing:
            try:
                measured = table.measure([release.statement for release in missing.values()])
            except DataError as error:
                raise DataError(f"{error}; {self._what_stands()}") from None
            noisy = {digest: r.noisy(m) for (digest, r), m in zip(missing.items(), measured, strict=True)}
            stored |= self._ledger.store_answers(noisy)
        return stored

    def _stored_strategy(self, table: CodedTable, strategy: Strategy, charge: Charge) -> str:
        """The noisy answers as they are stored, else counted, given noise and stored first."""
        stored = self._ledger.answer(charge.digest)
        if stored is None:
            try:
                noisy = strategy.release(table)
            except DataError as error:
                raise DataError(f"{error}; {self._what_stands()}") from None
            stored = self._ledger.store_answer(charge.digest, noisy)
        return stored

    def _part(self, release: Release, charge: Charge, numbers: str) -> Release | Part:
        """What turns the stored numbers of a charge into the figures of a statement that it has paid for."""
        if is_whole(charge):
            return Part(self._batches.restored(charge), release.statement)
        return Release.stored(self.settings, release.statement, charge.units, numbers)

    def _estimated(self, asked: Asked, paid: Paid, stored: dict[str, str]) -> Estimated:
        """What the answers say together, if that is asked for."""
        if not asked.estimate:
            return Estimated()
        bought = [
            (self._part(release, charge, stored[charge.digest]), stored[charge.digest])
            for release, (charge, _) in zip(asked.releases, paid, strict=True)
            if charge is not None
        ]
        return estimated_apart(self.settings, bought, asked.time_limit, asked.progress)

    def _release(
        self,
        selection: Selection,
        release: Release,
        charge: Charge | None,
        fresh: bool,
        stored: dict[str, str],
        estimated: Estimated | None = None,
        said: Sequence[str] = (),
    ) -> Answer:
        if charge is None:
            return worded(self.settings, selection, release, None)
        numbers = stored[charge.digest]
        bought = self._part(release, charge, numbers)
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
                strategy=bought.strategy.name if isinstance(bought, Part) else "",
                estimated=None if estimated is None else estimated.of(release.statement.text),
                method="" if estimated is None else estimated.method_of(release.statement.text),
                more=said,
            )
        except ArithmeticError:
            # What is worked out from noisy numbers is anybody's to write, and what it is worked out from was paid for.
            raise DataError(f"what was asked cannot be shown as numbers; {self._what_stands()}") from None
