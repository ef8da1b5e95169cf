"""The one place that orders the steps of an answer: charge durably → count → add noise → store → release.

The order is the privacy argument.

1. *Read the request.*  SQL becomes a statement; its cost and its noise are worked out.  Whatever can be wrong is found
   here, and the table is opened, before anything is charged.
2. *Paid already?*  An equal statement that was bought at least as accurately is answered from what is stored.
3. *Charge*, in one serialized transaction of the ledger: catch up with its head, look again whether it was paid for
   meanwhile, test the budget and the quota by a proven bound, append, commit durably.
4. *Count*, in one pass, what was charged: the in-domain values, never the text of the SQL.
5. *Add noise* and *store*.  The first answer stored for a charge is the only one that is ever released for it.
6. *Mark* how far the ledger has come (:mod:`parcomp.ledger.mark`), so that a ledger without this charge or this answer
   is known to have been rolled back.  That it was not, and that the mark can be set, is looked at before step 3 too.
7. *Release.*

A process may die between any two steps.  Before the commit nothing was charged and nothing is known.  After it the
charge stands, whatever happens; if no answer was stored, none was released, and whoever asks the same again gets it for
that charge.  Nothing is ever refunded.

Steps 1 to 3 read the request, the settings and the ledger, and no row that the request is about: whether it is
admitted, what it costs and what a refusal says would be the same on any table that can be opened.  Opening one reads
all rows, and fails or does not whatever is asked.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, Unpack

from parcomp.costs import Amount
from parcomp.custodian.answer import Answer, BatchQuote, Quote
from parcomp.custodian.books import Books
from parcomp.custodian.quotation import quote_all, refusal
from parcomp.custodian.release import Release
from parcomp.custodian.request import Asked, Costs, read_request
from parcomp.custodian.settings import Settings
from parcomp.data import open_table
from parcomp.errors import (
    DataError,
    IdempotencyError,
    LedgerError,
    LedgerWarning,
    MissingLedgerError,
    ParcompError,
    SettingsError,
    shown,
)
from parcomp.ledger import (
    Charge,
    Entry,
    Ledger,
    MarkFile,
    Request,
    Transaction,
    UnwritableMarkError,
    create_ledger,
    open_marked_ledger,
)
from parcomp.model import Statement

if TYPE_CHECKING:
    from parcomp.data import Table

__all__ = ["Balance", "Custodian"]

_STANDS = "the charge stands, and asking the same again is free"
_UNMARKED = (
    "there is no mark {} for this ledger, so nothing here can tell whether it was rolled back; it is marked from now on"
)


@dataclass(frozen=True, slots=True)
class Balance:
    """What was spent so far, in the measure's parameter.

    ``loss`` is proven and never above ``budget``; ``sequential`` is what the same charges would cost without regard to
    overlap.
    """

    budget: int | float
    loss: int | float
    sequential: int | float
    charges: int


_Paid: TypeAlias = list[tuple[Charge | None, bool]]
"""What pays for each statement, None if there is nothing to pay, and whether it was charged for this request."""


class Custodian:
    """Answers SQL on a table, within its budget.

    All methods may be called from several threads, and several processes may share a ledger.
    """

    def __init__(self, settings: Settings) -> None:
        if not isinstance(settings, Settings):
            raise SettingsError(f"a custodian has Settings, not {shown(settings)}; Custodian.open(path) reads a file")
        self.settings = settings
        self._mark = None if settings.mark is None else MarkFile(settings.mark)
        self._ledger = open_marked_ledger(settings.ledger, settings.binding, self._mark)
        self._books = Books(settings, self._ledger.binding)
        # Guards the books and the opening of the table; counting goes on outside it.
        self._lock = threading.RLock()
        self._opened: Table | None = None
        self._has_marked = False
        """Whether this process has seen that the mark can be written."""
        try:
            if self._mark is not None and self._mark.read(self._ledger.binding) is None and self._ledger.head()[0]:
                warnings.warn(_UNMARKED.format(self._mark.path.name), LedgerWarning, stacklevel=2)
            self._look_at_the_mark()
            self._catch_up(self._ledger)
        except BaseException:
            self._ledger.close()
            raise

    @classmethod
    def open(cls, path: str | Path) -> Custodian:
        """The custodian of a settings file, whose ledger was created before."""
        return cls(Settings.load(path))

    @classmethod
    def create(cls, settings: Settings | str | Path) -> Custodian:
        """The custodian of settings, or of a settings file, with a ledger that is made here and has no charges.

        A ledger is made once.  It is an error if there is one, or if a mark says that there was one; and nothing is
        made if the table cannot be read.
        """
        settings = settings if isinstance(settings, Settings) else Settings.load(settings)
        mark = None if settings.mark is None else MarkFile(settings.mark)
        try:
            open_marked_ledger(settings.ledger, settings.binding, mark).close()
        except MissingLedgerError:
            if mark is not None:
                mark.check_writable()
        else:
            raise LedgerError(f"{settings.name} has a ledger already; it is used as it is, and needs no init")
        table = _open_table(settings)
        try:
            with closing(create_ledger(settings.ledger, settings.binding)) as ledger:
                if mark is not None:
                    mark.advance(ledger)
            created = cls(settings)
        except BaseException:
            table.close()
            raise
        created._opened = table
        return created

    def close(self) -> None:
        """Let go of the table and the ledger."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._ledger.close()

    def __repr__(self) -> str:
        return f"<Custodian of {self.settings.name}, version {self.settings.version}>"

    def __enter__(self) -> Custodian:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def quote(self, sql: str | Statement, *, analyst: str = "", **cost: Unpack[Costs]) -> Quote:
        """What asking at a cost (``epsilon``, ``rho`` or ``mu``) would mean; changes nothing."""
        return self.quote_batch([sql], analyst=analyst, **cost).quotes[0]

    def quote_batch(
        self,
        statements: Sequence[str | Statement],
        *,
        budget: Amount | None = None,
        analyst: str = "",
        **costs: Unpack[Costs],
    ) -> BatchQuote:
        """What asking a batch would mean, with costs or with a budget for all; changes nothing."""
        asked = read_request(self.settings, analyst, statements, budget=budget, **costs)
        with self._opened_books() as books:
            self._look_at_the_mark()
            self._catch_up(self._ledger)
            return quote_all(self.settings, books, asked)

    def ask(self, sql: str | Statement, *, analyst: str = "", key: str | None = None, **cost: Unpack[Costs]) -> Answer:
        """Pay for a statement and answer it; :class:`~parcomp.errors.RefusedError` if budget or quota do not bear it.

        The cost is given in the parameter of the dataset's measure: ``epsilon``, ``rho`` or ``mu``.  With a ``key`` of
        the caller's choice, the same request sent again gets the same answer and is charged once.
        """
        return self.ask_batch([sql], analyst=analyst, key=key, **cost)[0]

    def ask_batch(
        self,
        statements: Sequence[str | Statement],
        *,
        budget: Amount | None = None,
        analyst: str = "",
        key: str | None = None,
        **costs: Unpack[Costs],
    ) -> list[Answer]:
        """Answer all statements or none, in one pass over the table.

        Costs are one for all or one for each statement.  A ``budget`` instead is shared out so that the mean expected
        error is least (:func:`parcomp.plan`).
        """
        asked = read_request(self.settings, analyst, statements, budget=budget, **costs)
        table = self._table()
        if self._mark is not None:
            # Found out before anything is charged: a ledger that was rolled back, and a mark that cannot be set.
            self._mark.advance(self._ledger)
            if not self._has_marked:
                self._mark.check_writable()
                self._has_marked = True
        with self._opened_books():
            paid = self._charge(asked, key)
        stored = self._stored(table, asked, paid)
        if self._mark is not None:
            try:
                self._mark.advance(self._ledger)
            except UnwritableMarkError as error:
                raise UnwritableMarkError(f"{error}; {_STANDS}") from None
        return [self._release(release, *one, stored) for release, one in zip(asked.releases, paid, strict=True)]

    def balance(self) -> Balance:
        """What was spent so far."""
        with self._opened_books() as books:
            self._look_at_the_mark()
            self._catch_up(self._ledger)
            measure, rows = self.settings.measure, self.settings.rows_per_person
            return Balance(
                budget=measure.parameter_down(self.settings.budget_units),
                loss=measure.parameter_up(measure.group(books.dataset.loss, rows)),
                sequential=measure.parameter_up(measure.group(books.dataset.sequential, rows)),
                charges=books.number,
            )

    def charges(self) -> list[Charge]:
        """The ledger's charges, in order."""
        return self._ledger.charges()

    def _charge(self, asked: Asked, key: str | None) -> _Paid:
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
                    paid = self._append(transaction, asked, due)
                    if key is not None:
                        digests = tuple(None if charge is None else charge.digest for charge, _ in paid)
                        fresh = tuple(fresh for _, fresh in paid)
                        transaction.remember(Request(asked.analyst, key, asked.body_digest, digests, fresh))
                return paid
        except ParcompError:
            # Whether a failed commit stands is for the ledger to say, when the books catch up with it.
            self._books.take_back(known)
            raise

    def _paid(self, ledger: Ledger | Transaction, asked: Asked, key: str | None) -> _Paid | None:
        """What pays for the statements already, None if something is left to do."""
        if key is not None:
            request = ledger.request(asked.analyst, key)
            if request is None:
                return None
            if request.body_digest != asked.body_digest:
                raise IdempotencyError(f"the key {shown(key)} was used for another request; choose another key")
            # The request may have been committed after the books were last brought up to date.
            self._catch_up(ledger)
            return [
                (None if digest is None else self._books.charge(digest), fresh)
                for digest, fresh in zip(request.charges, request.fresh, strict=True)
            ]
        paid: _Paid = []
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
        with self._books.supposing():
            for text, release in asked.dearest.items():
                expense = release.expense
                if expense.query.is_contradiction or self._books.bought(text, release.units) is not None:
                    continue
                verdict = self._books.decide(asked.analyst, expense)
                if not verdict.fits:
                    raise refusal(self.settings, release, verdict)
                due.append(asked.entry(release, verdict, batch))
                self._books.suppose(due[-1])
        return due

    def _append(self, transaction: Transaction, asked: Asked, due: Sequence[Entry]) -> _Paid:
        """Charge what is due, and say what pays for each statement."""
        charges = transaction.append(due)
        self._books.enter(charges)
        fresh = {charge.number for charge in charges}
        paid: _Paid = []
        for release in asked.releases:
            bought = self._books.bought(release.statement.text, release.units)
            # Of equal statements in a batch, the first one is told what it cost.
            paid.append((bought, bought is not None and bought.number in fresh))
            fresh -= {bought.number} if bought is not None else set()
        return paid

    def _stored(self, table: Table, asked: Asked, paid: _Paid) -> dict[str, str]:
        """The noisy numbers by the charge's digest: as they are stored, else counted, given noise and stored first."""
        bought = {
            charge.digest: Release.plan(self.settings, release.statement, charge.units)
            for release, (charge, _) in zip(asked.releases, paid, strict=True)
            if charge is not None
        }
        stored = self._ledger.answers(bought)
        missing = {digest: release for digest, release in bought.items() if digest not in stored}
        if missing:
            try:
                measured = table.measure([release.statement for release in missing.values()])
            except DataError as error:
                raise DataError(f"{error}; {_STANDS}") from None
            noisy = {digest: r.noisy(m) for (digest, r), m in zip(missing.items(), measured, strict=True)}
            stored |= self._ledger.store_answers(noisy)
        return stored

    def _release(self, release: Release, charge: Charge | None, fresh: bool, stored: dict[str, str]) -> Answer:
        if charge is None:
            return release.nothing()
        bought = Release.plan(self.settings, release.statement, charge.units)
        cost = self.settings.measure.parameter_up(charge.units) if fresh else 0
        return bought.answer(stored[charge.digest], charge.number, cost, cached=not fresh)

    @contextmanager
    def _opened_books(self) -> Iterator[Books]:
        """The books, for one thread at a time."""
        with self._lock:
            try:
                yield self._books
            except ParcompError:
                raise
            except BaseException:
                # Interrupted halfway, they may be wrong: they are read anew from the ledger.
                self._books = Books(self.settings, self._ledger.binding)
                raise

    def _look_at_the_mark(self) -> None:
        """Refuse a ledger that was rolled back, and mark what is seen of it, where the mark can be written."""
        if self._mark is not None:
            try:
                self._mark.advance(self._ledger)
            except UnwritableMarkError:
                # Who only looks need not be able to write.
                self._mark.check(self._ledger)

    def _catch_up(self, ledger: Ledger | Transaction) -> None:
        charges = ledger.charges(after=self._books.number)
        if charges:
            self._books.enter(charges)

    def _table(self) -> Table:
        """The table, which is opened, or seen to be still there, before anything is charged."""
        with self._lock:
            if self._opened is None:
                self._opened = _open_table(self.settings)
            table = self._opened
        # It may have to wait for another thread that measures, and the books need not.
        table.ready()
        return table


def _open_table(settings: Settings) -> Table:
    return open_table(settings.source, settings.table or settings.name, settings.domain)
