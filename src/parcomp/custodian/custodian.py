"""The custodian of a table: what is asked of it, and what can be seen of its ledger.

How a request is answered, step by step, is :mod:`parcomp.custodian.answering`; what is held open meanwhile is
:mod:`parcomp.custodian.custody`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from parcomp.costs import Amount
from parcomp.custodian.accountant import Expense
from parcomp.custodian.answer import Answer, BatchQuote, Quote
from parcomp.custodian.balance import Balance, balance_of
from parcomp.custodian.batch import Batch
from parcomp.custodian.creation import make_ledger, make_or_know
from parcomp.custodian.frame_settings import FrameSettings, read_domain
from parcomp.custodian.load import load_table
from parcomp.custodian.overlook import Overlook
from parcomp.custodian.request import Costs, Question, read_request, read_single
from parcomp.custodian.retrospect import ESTIMATE_SECONDS
from parcomp.custodian.settings import Settings
from parcomp.custodian.strategic import StrategicAnswering
from parcomp.errors import ArgumentError, LedgerError, ParcompError, SettingsError, shown
from parcomp.figures import Estimates
from parcomp.ledger import Charge, MarkFile, open_marked_ledger, rolled_back
from parcomp.model import Domain, Query

if TYPE_CHECKING:
    from parcomp.data import Progress, Report
    from parcomp.estimation import Progress as Telling

__all__ = ["ONLY_DERIVED", "Custodian"]

_WITHOUT_HEAD = (
    "the ledger does not hold the noted head {}: it was rolled back, or is another one. Put the copy with the latest "
    "charges in its place; what was charged since is spent, whatever an older copy says"
)


ONLY_DERIVED = (
    "an estimate stands beside an answer that is derived: ask with derive (--derive) too, or ask without an estimate, "
    "and then for estimates of all answers (estimates(), parcomp estimate -c)"
)
"""What is said to whoever wants an estimate beside a fresh answer."""


class Custodian(StrategicAnswering):
    """Answers SQL on a table, within its budget.

    ``table`` is a data frame of pandas, polars or pyarrow or a table of Ibis, which is read here and nowhere else: what
    becomes of it afterwards changes nothing.  Beside it stand the domain (a :class:`~parcomp.Domain` or the path of its
    file), the measure, the budget, and where the ledger is: a path, an address, or ``":memory:"`` to play.  If there is
    no ledger, this makes it, with the coded table in ``NAME.codes`` and the mark in ``NAME.mark`` beside ``NAME.db``.
    If there is one, the table must hold the rows that it knows; :meth:`load` takes in rows that were added.  None
    stands for the coded table as it is.  With ``create`` False no ledger is made, so that a mistyped path is an error
    and not a fresh budget; with True one must be made.  The other arguments are those of a settings file: ``analysts``
    has quotas by name, ``codes`` a path for the coded table, ``complete`` the attributes of which every row has a
    declared value, True for all of them.  ``agree`` is shown what is outside the domain before anything is made, and
    may raise; ``progress`` is told how many rows were read.

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
        complete: bool | Sequence[str] = False,
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
                complete,
            )
            settings, self._remove = given.settings(self)
        super().__init__()
        try:
            if settings is not table:
                make_or_know(settings, table, create=create, agree=agree, progress=progress)
            self._open(settings)
        except BaseException:
            self._remove()
            raise
        self.overlook = Overlook(self)
        """Graphs and maps of what was charged."""

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

    def successor(self, path: str | Path) -> Custodian:
        """The custodian of a settings file, to take the place of this one, as after a load or a restart of a database.

        Its ledger must have all charges and answers that this one has seen: one that lacks any was rolled back, and is
        refused, even where the mark is lost.  The successor goes on to know of them.
        """
        settings, binding = Settings.load(path), self._ledger.binding
        seen = None if self._mark is None else self._mark.seen(binding)
        if seen is not None:
            # Before it is opened for use, which would mark it.
            mark = None if settings.mark is None else MarkFile(settings.mark)
            with closing(open_marked_ledger(settings.ledger, settings.binding, mark)) as ledger:
                seen.check(ledger)
        successor = type(self)(settings)
        if seen is not None and successor._mark is not None:
            successor._mark.remember(binding, seen)
        return successor

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
        self._look_at_the_mark()
        load_table(settings, frame=table, agree=agree, progress=progress)
        with self._lock:
            while self._users:
                self._idle.wait()
            self._let_go()
            self._open(settings)
            self.overlook = Overlook(self)

    def close(self) -> None:
        """Let go of the table and the ledger."""
        with self._lock:
            self._let_go()
            self._remove()

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
        """What asking at a cost (``epsilon``, ``rho`` or ``mu``) would mean; changes nothing.

        It also says whether the answer follows from what was released before, with which error.
        """
        with self._in_use():
            asked = read_request(self.settings, analyst, [sql], single=True, **cost)
            with self._opened_books() as books:
                self._look_at_the_mark()
                self._catch_up(self._ledger)
                [quoted] = self._quoted(books, asked).quotes
            if asked.selections[0].statement.query.is_contradiction:
                return replace(quoted, derivable=True, derived_error=0.0)
            found = self._derived(analyst, asked.selections[0])
            error = None if found is None else found.expected_error
            return replace(quoted, derivable=found is not None, derived_error=error)

    def quote_batch(
        self,
        statements: Sequence[Question],
        *,
        budget: Amount | None = None,
        strategy: str = "independent",
        estimate: bool = False,
        analyst: str = "",
        **costs: Unpack[Costs],
    ) -> BatchQuote:
        """What asking a batch would mean, with costs or with a budget for all; changes nothing.

        ``strategy`` and ``estimate`` are as in :meth:`ask_batch`; estimates change no cost.
        """
        with self._in_use():
            asked = read_request(
                self.settings, analyst, statements, budget=budget, strategy=strategy, estimate=estimate, **costs
            )
            return self._batch_quote(asked)

    def ask(
        self,
        sql: Question,
        *,
        analyst: str = "",
        key: str | None = None,
        dummy: bool = False,
        derive: bool = False,
        estimate: bool = False,
        **cost: Unpack[Costs],
    ) -> Answer:
        """Pay for a statement and answer it; :class:`~parcomp.errors.RefusedError` if budget or quota do not bear it.

        The cost is given in the parameter of the dataset's measure: ``epsilon``, ``rho`` or ``mu``.  With a ``key`` of
        the caller's choice, the same request sent again gets the same answer and is charged once.

        With ``dummy`` it is a rehearsal: the request is checked, and answered from 1,000 random rows of the domain with
        the noise that it would get, free and without a look at the data or at what is left of the budget.

        With ``derive`` the answer is worked out from answers that were released before, for nothing, whatever cost is
        stated; :class:`~parcomp.errors.UnderivableError` if it does not follow from them.  With ``estimate`` too it has
        beside it what all counts that the analyst has paid for say of it (:meth:`estimates`).
        """
        with self._in_use():
            if derive:
                if dummy:
                    raise ArgumentError("what is derived follows from released answers, so there is none to rehearse")
                return self._derived_answer(analyst, read_single(self.settings, analyst, sql), estimate)
            if estimate:
                raise ArgumentError(ONLY_DERIVED)
            asked = read_request(self.settings, analyst, [sql], single=True, **cost)
            return self._answers_or_rehearsal(asked, key, dummy)[0]

    def ask_batch(
        self,
        statements: Sequence[Question],
        *,
        budget: Amount | None = None,
        strategy: str = "independent",
        estimate: bool = False,
        analyst: str = "",
        key: str | None = None,
        dummy: bool = False,
        time_limit: float | None = None,
        progress: Telling | None = None,
        **costs: Unpack[Costs],
    ) -> Batch:
        """Answer all statements or none, in one pass over the table.

        Costs are one for all or one for each statement.  A ``budget`` instead is shared out so that the mean expected
        error is least (:func:`parcomp.plan`).  With ``dummy`` it is a rehearsal, as in :meth:`ask`.

        With a budget, counts may be measured together by a ``strategy``, which is one charge: ``correlated`` (zCDP,
        GDP), ``atoms``, or ``auto``, the one with the least error, which may be noise of its own for each statement.
        With ``estimate`` each count has beside it what all answers say together, for no further cost: within
        ``time_limit`` seconds, as good as was proven by then.  ``progress`` is told in a few words how far it has come.
        """
        if time_limit is not None and not 0 < time_limit < math.inf:
            raise ArgumentError(f"a time limit must be a positive number of seconds, not {shown(time_limit)}")
        with self._in_use():
            asked = read_request(
                self.settings, analyst, statements, budget=budget, strategy=strategy, estimate=estimate, **costs
            )
            asked = replace(asked, time_limit=time_limit, progress=progress)
            answers = self._batch_answers(asked, key, dummy)
        texts = [
            written if isinstance(written, str) else selection.statement.text
            for written, selection in zip(statements, asked.selections, strict=True)
        ]
        return Batch(tuple(answers), tuple(texts))

    def estimates(
        self,
        *,
        analyst: str = "",
        interval: float = 0.95,
        facts: Mapping[Query, float] | None = None,
        time_limit: float = ESTIMATE_SECONDS,
        progress: Telling | None = None,
    ) -> Estimates:
        """What all counts that an analyst has paid for since the last load say together, for nothing.

        Each has an estimate beside its answer, with an interval that holds the true count about as often as
        ``interval`` says, which is measured; the answer's own interval is guaranteed, and stays.  ``facts`` are public
        counts, such as the number of rows.  If the ``time_limit``, in seconds, is up, estimates are as good as was
        proven by then.  ``progress`` is told in a few words how far it has come.

        >>> import warnings, pyarrow as pa, parcomp as pc
        >>> domain = pc.Domain({"sex": pc.Categorical(["F", "M"])}, name="people")
        >>> with warnings.catch_warnings(action="ignore"):  # a ledger in memory is for playing
        ...     custodian = pc.Custodian(
        ...         pa.table({"sex": ["F", "M"] * 50}), domain=domain, measure="pure", budget=9, ledger=":memory:"
        ...     )
        >>> bought = [custodian.ask("SELECT COUNT(*) FROM people", epsilon=cost) for cost in (1, 2)]
        >>> found = custodian.estimates()
        >>> [one.raw for one in found] == [answer.value for answer in bought], found[0].value == found[1].value
        (True, True)
        """
        with self._in_use():
            self.settings.check_analyst(analyst)
            return self._estimates(analyst, interval, {} if facts is None else facts, time_limit, progress)

    def balance(self, analyst: str | None = None) -> Balance:
        """What was spent so far, and by whom; with ``analyst``, only that one's share."""
        with self._opened_books() as books:
            self._look_at_the_mark()
            self._catch_up(self._ledger)
            return balance_of(self.settings, books, analyst)

    def charges(self) -> list[Charge]:
        """The ledger's charges, in order, with the loads of the table among them."""
        with self._opened_books() as books:
            self._look_at_the_mark()
            entered = books.entered
        # A ledger that has the last entry of the books has all of them: only what follows is read.
        if entered and self._ledger.digest(len(entered)) != entered[-1].digest:
            number = len(entered)
            raise rolled_back(f"this process has seen charge {number}", "does not have it as it was")
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

    def is_outdated(self) -> bool:
        """Whether the table was loaded anew since this was opened, so that what was charged pays for nothing any more.

        It may be called after the custodian was closed.
        """
        opened = open_marked_ledger(self.settings.ledger, self.settings.binding, self._mark)
        with closing(opened) as ledger:
            load = ledger.last_load()
        return load is not None and load[0] > self._loaded

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
