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

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import parcomp.data
from parcomp.costs import Amount
from parcomp.custodian.accountant import Expense
from parcomp.custodian.answer import Answer, BatchQuote, Quote
from parcomp.custodian.balance import Balance, balance_of
from parcomp.custodian.batch import Batch
from parcomp.custodian.books import Books
from parcomp.custodian.creation import make_ledger, make_or_know
from parcomp.custodian.frame_settings import FrameSettings, read_domain
from parcomp.custodian.load import load_table
from parcomp.custodian.overlook import Overlook
from parcomp.custodian.quotation import quote_all, refusal
from parcomp.custodian.rehearsal import Rehearsal
from parcomp.custodian.release import Release
from parcomp.custodian.request import Asked, Costs, Question, read_request
from parcomp.custodian.settings import Settings
from parcomp.custodian.wording import worded
from parcomp.errors import (
    ArgumentError,
    DataError,
    IdempotencyError,
    LedgerError,
    LedgerWarning,
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
    domain_text,
    is_sealed,
    open_marked_ledger,
)
from parcomp.model import Domain, Selection

if TYPE_CHECKING:
    from parcomp.data import CodedTable, Progress, Report

__all__ = ["Custodian"]

_STANDS = "the charge stands, and asking the same again is free"
_LOADED = (
    "the table was loaded anew since this custodian was opened, and its rows and its domain are the earlier ones; "
    "nothing was charged. Open it again"
)
_UNMARKED = (
    "there is no mark {} for this ledger, so nothing here can tell whether it was rolled back; it is marked from now on"
)
_WITHOUT_HEAD = (
    "the ledger does not hold the noted head {}: it was rolled back, or is another one. Put the copy with the latest "
    "charges in its place; what was charged since is spent, whatever an older copy says"
)

_Paid: TypeAlias = list[tuple[Charge | None, bool]]
"""What pays for each statement, None if there is nothing to pay, and whether it was charged for this request."""


class Custodian:
    """Answers SQL on a table, within its budget.

    ``table`` is a data frame of pandas, polars or pyarrow or a table of Ibis, which is read here and nowhere else: what
    becomes of it afterwards changes nothing.  Beside it stand the domain (a :class:`~parcomp.Domain` or the path of its
    file), the measure, the budget, and where the ledger is: a path, an address, or ``":memory:"`` to play.  If there is
    no ledger, this makes it, with the coded table in ``NAME.codes`` and the mark in ``NAME.mark`` beside ``NAME.db``.
    If there is one, the table must hold the rows that it knows; :meth:`load` takes in rows that were added.  None
    stands for the coded table as it is.  With ``create`` False no ledger is made, so that a mistyped path is an error
    and not a fresh budget; with True one must be made.  The other arguments are those of a settings file: ``analysts``
    has quotas by name, ``codes`` a path for the coded table.  ``agree`` is shown what is outside the domain before
    anything is made, and may raise; ``progress`` is told how many rows were read.

    Instead of all this, ``table`` may be :class:`Settings`, whose ledger was created before.

    All methods may be called from several threads, and several processes may share a ledger.

    >>> import warnings, pyarrow as pa, parcomp as pc
    >>> table = pa.table({"sex": ["F", "M"] * 500, "age": list(range(50)) * 20})
    >>> domain = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 119)}, name="people")
    >>> with warnings.catch_warnings(action="ignore"):  # a ledger in memory is for playing
    ...     custodian = pc.Custodian(table, domain=domain, measure="pure", budget="10", ledger=":memory:")
    >>> answer = custodian.ask("SELECT COUNT(*) FROM people WHERE age < 25", epsilon="5")
    >>> 480 < answer.value < 520, answer.cost
    (True, 5)
    >>> custodian.close()
    """

    def __init__(
        self,
        table: Any,
        *,
        domain: Domain | str | Path | Mapping[str, Any] | None = None,
        measure: str | None = None,
        budget: Amount | Mapping[str, Amount] | None = None,
        ledger: str | Path | None = None,
        name: str | None = None,
        version: str = "1",
        neighbours: str = "add-remove",
        rows_per_person: int = 1,
        person: str | None = None,
        nulls: Sequence[str] = (),
        timezone: str = "UTC",
        analysts: Mapping[str, Amount | Mapping[str, Amount] | None] | None = None,
        codes: str | Path | None = None,
        create: bool | None = None,
        agree: Callable[[Report], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._remove: Callable[[], object] = lambda: None
        if isinstance(table, Settings):
            if any(given is not None for given in (domain, measure, budget, ledger)):
                raise ArgumentError("Settings say it all; give them alone, or a data frame with its arguments")
            settings = table
        else:
            if isinstance(table, (str, Path)):
                raise SettingsError(f"Custodian.open(path) reads settings; a table is a data frame, not {shown(table)}")
            given = FrameSettings(
                domain,
                measure,
                budget,
                ledger,
                name,
                version,
                neighbours,
                rows_per_person,
                person,
                nulls,
                timezone,
                analysts,
                codes,
            )
            settings, self._remove = given.settings(self)
        # Guards the books and the opening of the table; counting goes on outside it.
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._users = 0
        """How many requests are under way, for each of which settings and ledger stay what they are."""
        try:
            if settings is not table:
                make_or_know(settings, table, create=create, agree=agree, progress=progress)
            self._open(settings)
        except BaseException:
            self._remove()
            raise

    def _open(self, settings: Settings) -> None:
        """Open the ledger, which must be there, and read the books."""
        self.settings = settings
        self._mark = None if settings.mark is None else MarkFile(settings.mark)
        self._ledger = open_marked_ledger(settings.ledger, settings.binding, self._mark)
        self._books = Books(settings, self._ledger.binding)
        self._opened: CodedTable | None = None
        self._rehearsal = Rehearsal(settings.domain)
        self.overlook = Overlook(self)
        """Graphs and maps of what was charged."""
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

    @classmethod
    def open(cls, path: str | Path, *, head: str | None = None) -> Custodian:
        """The custodian of a settings file, whose ledger was created before.

        ``head`` is the digest of the ledger's last charge as it was noted elsewhere at some time: a ledger that does
        not hold it was rolled back, and is refused, whatever the mark says.
        """
        settings = Settings.load(path)
        if head is not None:
            mark = None if settings.mark is None else MarkFile(settings.mark)
            with closing(open_marked_ledger(settings.ledger, settings.binding, mark)) as ledger:
                if not ledger.holds(head):
                    raise LedgerError(_WITHOUT_HEAD.format(shown(head)))
        return cls(settings)

    @classmethod
    def create(
        cls,
        settings: Settings | str | Path,
        *,
        agree: Callable[[Report], None] | None = None,
        progress: Progress | None = None,
    ) -> Custodian:
        """The custodian of settings, or of a settings file, with a ledger that is made here and has no charges.

        The table is read and encoded.  ``agree`` is shown what is outside the domain, for the custodian's eyes only,
        and may raise; ``progress`` is told how many rows were read.  A ledger is made once.  It is an error if there is
        one, or if a mark says that there was one; and nothing is made if the table cannot be read.
        """
        settings = settings if isinstance(settings, Settings) else Settings.load(settings)
        make_ledger(settings, agree=agree, progress=progress)
        return cls(settings)

    def load(
        self,
        table: Any = None,
        *,
        domain: Domain | str | Path | Mapping[str, Any] | None = None,
        agree: Callable[[Report], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Encode the table anew, with rows that were added to it, and go on with them.

        All rows that it held must be there still.  A data frame is handed over; a table that settings name is read from
        where it is.  ``domain`` is one that extends the domain so far.  Other custodians have to be opened again.
        """
        settings = self.settings if domain is None else replace(self.settings, domain=read_domain(domain))
        load_table(settings, frame=table, agree=agree, progress=progress)
        with self._lock:
            while self._users:
                self._idle.wait()
            self._let_go()
            self._open(settings)

    def close(self) -> None:
        """Let go of the table and the ledger."""
        with self._lock:
            self._let_go()
            self._remove()

    def _let_go(self) -> None:
        if self._opened is not None:
            self._opened.close()
        self._rehearsal.close()
        self._ledger.close()

    def __repr__(self) -> str:
        return f"<Custodian of {self.settings.name}, version {self.settings.version}>"

    def _repr_html_(self) -> str:
        from parcomp.custodian.html import custodian_html  # noqa: PLC0415  only a notebook asks for it

        try:
            balance = self.balance()
        except ParcompError as error:
            return custodian_html(self.settings, None, str(error))
        return custodian_html(self.settings, balance)

    def __enter__(self) -> Custodian:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def quote(self, sql: Question, *, analyst: str = "", **cost: Unpack[Costs]) -> Quote:
        """What asking at a cost (``epsilon``, ``rho`` or ``mu``) would mean; changes nothing."""
        return self.quote_batch([sql], analyst=analyst, **cost).quotes[0]

    def quote_batch(
        self,
        statements: Sequence[Question],
        *,
        budget: Amount | None = None,
        analyst: str = "",
        **costs: Unpack[Costs],
    ) -> BatchQuote:
        """What asking a batch would mean, with costs or with a budget for all; changes nothing."""
        with self._in_use():
            asked = read_request(self.settings, analyst, statements, budget=budget, **costs)
            with self._opened_books() as books:
                self._look_at_the_mark()
                self._catch_up(self._ledger)
                return quote_all(self.settings, books, asked)

    def ask(
        self,
        sql: Question,
        *,
        analyst: str = "",
        key: str | None = None,
        dummy: bool = False,
        **cost: Unpack[Costs],
    ) -> Answer:
        """Pay for a statement and answer it; :class:`~parcomp.errors.RefusedError` if budget or quota do not bear it.

        The cost is given in the parameter of the dataset's measure: ``epsilon``, ``rho`` or ``mu``.  With a ``key`` of
        the caller's choice, the same request sent again gets the same answer and is charged once.

        With ``dummy`` it is a rehearsal: the request is checked, and answered from 1,000 random rows of the domain with
        the noise that it would get, free and without a look at the data or at what is left of the budget.
        """
        with self._in_use():
            asked = read_request(self.settings, analyst, [sql], single=True, **cost)
            return self._answers_or_rehearsal(asked, key, dummy)[0]

    def ask_batch(
        self,
        statements: Sequence[Question],
        *,
        budget: Amount | None = None,
        analyst: str = "",
        key: str | None = None,
        dummy: bool = False,
        **costs: Unpack[Costs],
    ) -> Batch:
        """Answer all statements or none, in one pass over the table.

        Costs are one for all or one for each statement.  A ``budget`` instead is shared out so that the mean expected
        error is least (:func:`parcomp.plan`).  With ``dummy`` it is a rehearsal, as in :meth:`ask`.
        """
        with self._in_use():
            asked = read_request(self.settings, analyst, statements, budget=budget, **costs)
            answers = self._answers_or_rehearsal(asked, key, dummy)
        texts = [
            written if isinstance(written, str) else selection.statement.text
            for written, selection in zip(statements, asked.selections, strict=True)
        ]
        return Batch(tuple(answers), tuple(texts))

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
        asked_and_paid = zip(asked.selections, asked.releases, paid, strict=True)
        return [self._release(selection, release, *one, stored) for selection, release, one in asked_and_paid]

    def balance(self, analyst: str | None = None) -> Balance:
        """What was spent so far, and by whom; with ``analyst``, only that one's share."""
        with self._opened_books() as books:
            self._look_at_the_mark()
            self._catch_up(self._ledger)
            return balance_of(self.settings, books, analyst)

    def charges(self) -> list[Charge]:
        """The ledger's charges, in order, with the loads of the table among them."""
        with self._opened_books() as books:
            entered = books.entered
        # A ledger that has the last entry of the books has all of them: only what follows is read.
        if entered and self._ledger.digest(len(entered)) != entered[-1].digest:
            return self._ledger.charges()
        return [*entered, *self._ledger.charges(after=len(entered))]

    def latest_charges(self) -> list[Charge]:
        """What the latest request has charged, as the ledger has it: for who was interrupted while it was asked.

        It may be called after the custodian was closed, and not while another thread asks.
        """
        if not self._appended:
            return []
        opened = open_marked_ledger(self.settings.ledger, self.settings.binding, self._mark)
        # A transaction waits for one that is still being committed.
        with closing(opened) as ledger, ledger.transaction() as transaction:
            return [one for one in self._appended if transaction.digest(one.number) == one.digest]

    def ready(self) -> None:
        """Raise unless the table and the ledger can be used; charges nothing."""
        self._table()
        self._look_at_the_mark()

    def spending(self) -> list[tuple[Charge, Expense]]:
        """Each charge with the query that it is for and what it spends, over the domain there is."""
        with self._opened_books() as books:
            self._look_at_the_mark()
            self._catch_up(self._ledger)
            return books.spending()

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
                raise UnwritableMarkError(f"{error}; {_STANDS}") from None

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
                    paid = self._append(transaction, asked, due, key)
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
                    raise refusal(self.settings, release, verdict, asked.place_of(release))
                due.append(asked.entry(release, verdict, batch))
                self._books.suppose(due[-1])
        return due

    def _append(self, transaction: Transaction, asked: Asked, due: Sequence[Entry], key: str | None) -> _Paid:
        """Charge what is due, remember it under the key, and say what pays for each statement."""
        charges = self._appended = transaction.append(due)
        self._books.enter(charges)
        fresh = {charge.number for charge in charges}
        paid: _Paid = []
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

    def _stored(self, table: CodedTable, asked: Asked, paid: _Paid) -> dict[str, str]:
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
                raise DataError(f"{error}; {_STANDS}") from None
            noisy = {digest: r.noisy(m) for (digest, r), m in zip(missing.items(), measured, strict=True)}
            stored |= self._ledger.store_answers(noisy)
        return stored

    def _release(
        self, selection: Selection, release: Release, charge: Charge | None, fresh: bool, stored: dict[str, str]
    ) -> Answer:
        if charge is None:
            return worded(selection, release, None)
        numbers = stored[charge.digest]
        bought = Release.stored(self.settings, release.statement, charge.units, numbers)
        cost = self.settings.measure.parameter_up(charge.units) if fresh else 0
        try:
            return worded(selection, bought, numbers, charge=charge.number, cost=cost, cached=not fresh)
        except ArithmeticError:
            # What is worked out from noisy numbers is anybody's to write, and what it is worked out from was paid for.
            raise DataError(f"what was asked cannot be shown as numbers; {_STANDS}") from None

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

    def _look_at_the_mark(self) -> None:
        """Refuse a ledger that was rolled back, and mark what is seen of it, where the mark can be written."""
        if self._mark is not None:
            try:
                self._mark.advance(self._ledger)
            except UnwritableMarkError:
                # Who only looks need not be able to write.
                self._mark.check(self._ledger)

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
