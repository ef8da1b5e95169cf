"""What a custodian holds open: its settings, the ledger with its mark, the books that follow it, and the coded table.

All of it may be used from several threads.  The books and the opening of the table are guarded by one lock; a request
keeps settings, ledger and table as they are until it is done with.  A ledger that was rolled back is refused whenever
it is looked at, and one whose table was loaded anew elsewhere is not gone on with.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import parcomp.data
from parcomp.custodian.books import Books
from parcomp.custodian.bought_batches import BoughtBatches
from parcomp.custodian.deriving import Shelf
from parcomp.custodian.rehearsal import Rehearsal
from parcomp.custodian.settings import Settings
from parcomp.errors import DataError, LedgerError, LedgerWarning, ParcompError
from parcomp.ledger import (
    Charge,
    Ledger,
    MarkFile,
    Transaction,
    UnwritableMarkError,
    domain_text,
    is_sealed,
    open_marked_ledger,
)

if TYPE_CHECKING:
    from parcomp.data import CodedTable

__all__ = ["Custody"]

_STANDS = "the charge stands, and asking the same again is free"
_LOST = (
    "the charge stands, and what it bought is gone: the table was loaded anew before it was answered, and asking the "
    "same again is charged"
)
_LOADED = (
    "the table was loaded anew since this custodian was opened, and its rows and its domain are the earlier ones; "
    "nothing was charged. Open it again"
)
_UNMARKED = (
    "there is no mark {} for this ledger, so nothing here can tell whether it was rolled back; it is marked from now on"
)


class Custody:
    """The ledger, its mark, the books and the table, as :meth:`_open` finds them under some settings."""

    def __init__(self) -> None:
        # Guards the books and the opening of the table; counting goes on outside it.
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._users = 0
        """How many requests are under way, for each of which settings and ledger stay what they are."""
        self._mark: MarkFile | None = None

    def _open(self, settings: Settings) -> None:
        """Open the ledger, which must be there, and read the books."""
        self.settings = settings
        if settings.mark is None:
            self._mark = None
        elif self._mark is None or str(self._mark.path) != settings.mark:
            # Else it is opened again after a load, and what was seen before stays known.
            self._mark = MarkFile(settings.mark)
        self._ledger = open_marked_ledger(settings.ledger, settings.binding, self._mark)
        self._books = Books(settings, self._ledger.binding)
        self._shelf = Shelf()
        self._batches = BoughtBatches(settings, self._ledger.strategy)
        self._opened: CodedTable | None = None
        self._rehearsal = Rehearsal(settings)
        self._has_marked = False
        """Whether this process has seen that the mark can be written."""
        self._appended: Sequence[Charge] = ()
        """What the latest request was to be charged; whether it stands is for the ledger to say."""
        try:
            if self._mark is not None and self._mark.read(self._ledger.binding) is None and self._ledger.head()[0]:
                # To the line that called open, or made the custodian.
                warnings.warn(_UNMARKED.format(self._mark.path.name), LedgerWarning, stacklevel=3)
            self._look_at_the_mark()
            self._loaded = self._last_load()
            self._catch_up(self._ledger)
        except BaseException:
            self._ledger.close()
            raise

    def _let_go(self) -> None:
        if self._opened is not None:
            self._opened.close()
        self._rehearsal.close()
        self._ledger.close()

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Keep settings, ledger and table as they are until a request is done with."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                self._idle.notify_all()

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

    def _mark_before(self) -> None:
        """Find out, before anything is charged, that a ledger was rolled back, or that a mark cannot be set."""
        if self._mark is not None:
            self._mark.advance(self._ledger)
            if not self._has_marked:
                self._mark.check_writable()
                self._has_marked = True

    def _mark_after(self) -> None:
        """Mark what was stored, before it is released."""
        if self._mark is not None:
            try:
                self._mark.advance(self._ledger)
            except UnwritableMarkError as error:
                raise UnwritableMarkError(f"{error}; {self._what_stands()}") from None

    def _look_at_the_mark(self) -> None:
        """Refuse a ledger that was rolled back, and mark what is seen of it, where the mark can be written."""
        if self._mark is not None:
            try:
                self._mark.advance(self._ledger)
            except UnwritableMarkError:
                # Who only looks need not be able to write.
                self._mark.check(self._ledger)

    def _what_stands(self) -> str:
        """What is said where something fails after a charge."""
        try:
            load = self._ledger.last_load()
        except LedgerError:
            return f"{_STANDS} until the table is loaded anew"
        return _STANDS if load is None or load[0] <= self._loaded else _LOST

    def _last_load(self) -> int:
        """The number of the last load, which must be under the settings' domain; 0 if there is none."""
        load = self._ledger.last_load()
        if load is not None and load[1].domain != domain_text(self.settings.domain):
            # The ledger was opened under the domain that it had then.
            raise LedgerError(_LOADED)
        return 0 if load is None else load[0]

    def _catch_up(self, ledger: Ledger | Transaction) -> None:
        charges = ledger.charges(after=self._books.number)
        if any(charge.number > self._loaded and charge.is_load for charge in charges):
            # The settings and the table of this custodian are older. As the load is never entered, it is met each time.
            raise LedgerError(_LOADED)
        if charges:
            self._books.enter(charges)

    def _table(self) -> CodedTable:
        """The table, which is opened, or seen to be still there, before anything is charged."""
        table = self._opened
        if table is None:
            with self._lock:
                if self._opened is None:
                    self._opened = self._open_table()
                table = self._opened
        # It may have to wait for another thread that measures, and the books need not.
        table.ready()
        return table

    def _open_table(self) -> CodedTable:
        """The coded table, which holds the rows of the last load."""
        known = self._ledger.known_rows()
        if not known:
            raise DataError("the ledger was made by a version that kept no coded rows; run `parcomp load` to make them")
        table = parcomp.data.open_table(self.settings.place)
        if not is_sealed(table.imprint.digest, known[0]):
            table.close()
            raise DataError(
                "the coded table is not the one that the ledger has loaded last; run `parcomp load` to finish loading"
            )
        return table
