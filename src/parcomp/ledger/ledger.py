"""One ledger in a database: a connection for transactions, one for reading, and the discipline of both.

Transactions of one process queue at a lock, those of several processes at the lock of the database.  Reading has a
connection of its own, so that it does not wait for a transaction.

*Forks.*  A connection that is open on both sides of a fork can corrupt what it writes: SQLite keeps account of its
locks in memory, and a connection to a server is one stream of bytes.  So connections are closed before a fork and
opened again when they are needed.  Where that is not possible, since a transaction is under way, the child cannot use
the ledger.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from parcomp.errors import LedgerError, MissingLedgerError
from parcomp.ledger.binding import Binding
from parcomp.ledger.migrations import has_tables, migrate
from parcomp.ledger.records import Records, Transaction, enter_ledger, find_ledger
from parcomp.ledger.session import ConnectionLostError, Session

__all__ = ["BUSY_SECONDS", "Ledger"]

BUSY_SECONDS = 30.0
"""How long a transaction waits for others before it gives up."""

_SCHEMA_LOCK: Final = 0
"""The lock under which tables are made; those of ledgers are their numbers, from 1."""


class Ledger(Records):
    """An append-only chain of charges with their answers, on connections made by ``connect``.

    It is safe to share between threads.  ``single`` is whether the database holds no other ledger, ``create`` whether
    it is made or must be there, and ``extending`` whether the domain may extend that of the ledger, for a load.
    """

    def __init__(
        self,
        connect: Callable[[], Session],
        binding: Binding,
        busy_seconds: float,
        *,
        single: bool,
        create: bool,
        extending: bool = False,
    ) -> None:
        super().__init__(_SCHEMA_LOCK, binding)
        self._connect = connect
        self._busy_seconds = busy_seconds
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._writer: Session | None = None
        self._reader: Session | None = None
        self._within: int | None = None
        """The thread that is within a transaction."""
        self._unusable = ""
        """Why no connection may be opened."""
        self._paused = False
        """Whether the thread that forks holds both locks."""
        _LEDGERS.add(self)
        try:
            with self._locked(_SCHEMA_LOCK) as session:
                if create:
                    session.check_elsewhere(binding)
                elif not has_tables(session.execute, session.dialect):
                    raise MissingLedgerError(
                        "there is no ledger in the database, as it is seen from this address; make it once, with "
                        "parcomp init"
                    )
                migrate(session.execute, session.dialect)
                if create:
                    self._ledger = enter_ledger(session, binding, single=single)
                else:
                    self._ledger, self.binding = find_ledger(session, binding, single=single, extending=extending)
                first = session.execute(
                    "SELECT previous FROM parcomp_charge WHERE ledger = ? AND number = 1", (self._ledger,)
                )
                if first and first[0][0] != self.binding.digest:
                    raise LedgerError(
                        "the ledger's charges were made under other settings than it says it has; it was tampered "
                        "with, restore the copy with the latest charges"
                    )
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin a transaction; waits for others, and gives up with an error after ``BUSY_SECONDS``."""
        with self._locked(self._ledger) as session:
            transaction = Transaction(session, self._ledger, self.binding)
            try:
                yield transaction
                transaction.check()
            finally:
                transaction.over = True

    def store_answers(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Store the answers of charges durably, and return what is stored: for each charge the first answer stays."""
        with self.transaction() as transaction:
            return transaction.store_answers(texts)

    def store_answer(self, digest: str, text: str) -> str:
        """Store the answer of a charge durably, and return what is stored: the first answer stays."""
        return self.store_answers({digest: text})[digest]

    def close(self) -> None:
        """Let go of the database, once a transaction that is under way has ended."""
        self._check_not_within()
        with self._writing, self._reading:
            self._unusable = self._unusable or "the ledger is closed; open it again"
            self._disconnect()

    def before_fork(self) -> None:
        """Close the connections and keep them closed until the fork is over."""
        if self._within == threading.get_ident() or not self._writing.acquire(timeout=self._busy_seconds):
            return
        self._reading.acquire()
        self._disconnect()
        self._paused = True

    def after_fork(self, *, child: bool) -> None:
        """Allow connections again; not in a child that has inherited a transaction."""
        if self._paused:
            self._paused = False
            self._reading.release()
            self._writing.release()
        elif child:
            self._unusable = "a transaction was under way when this process was forked; open the ledger again"
            # To be collected as garbage would close them, for the parent too.
            _INHERITED.extend([self._writer, self._reader])
            self._writer = self._reader = None
            self._writing, self._reading = threading.Lock(), threading.Lock()

    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._reading:
            try:
                return self._reading_session().execute(sql, values)
            except ConnectionLostError:
                self._reader = None
                return self._reading_session().execute(sql, values)

    def _reading_session(self) -> Session:
        if self._reader is None:
            self._reader = self._open()
        return self._reader

    @contextmanager
    def _locked(self, lock: int) -> Iterator[Session]:
        """A transaction on a session, from begin to commit or rollback."""
        self._check_not_within()
        writing = self._writing
        if not writing.acquire(timeout=self._busy_seconds):
            raise LedgerError(f"the ledger is busy for more than {self._busy_seconds:g} s; try again later")
        process = os.getpid()
        try:
            self._within = threading.get_ident()
            session = self._begin(lock)
            yield session
            if os.getpid() != process:
                raise LedgerError("a transaction cannot be ended in a child process; nothing was committed there")
            session.commit()
        except BaseException:
            if os.getpid() == process:
                self._abandon()
            raise
        finally:
            self._within = None
            writing.release()

    def _check_not_within(self) -> None:
        if self._within == threading.get_ident():
            raise LedgerError("a transaction of this thread is still open; end it first")

    def _begin(self, lock: int) -> Session:
        if self._writer is None:
            self._writer = self._open()
        try:
            self._writer.begin(lock)
        except ConnectionLostError:
            # Nothing was done on this connection yet, so a second try repeats nothing.
            self._writer = self._open()
            self._writer.begin(lock)
        return self._writer

    def _open(self) -> Session:
        if self._unusable:
            raise LedgerError(self._unusable)
        return self._connect()

    def _abandon(self) -> None:
        """Undo what is under way; a connection that cannot do so is given up, which undoes it as well."""
        session = self._writer
        if session is None:
            return
        try:
            session.rollback()
        except BaseException as error:
            self._writer = None
            with suppress(LedgerError):
                session.close()
            if not isinstance(error, LedgerError):
                raise

    def _disconnect(self) -> None:
        for session in (self._writer, self._reader):
            if session is not None:
                with suppress(LedgerError):
                    session.close()
        self._writer = self._reader = None


_LEDGERS: Final[weakref.WeakSet[Ledger]] = weakref.WeakSet()
_INHERITED: Final[list[Session | None]] = []
_FORKING: Final = threading.Lock()
_forked: list[Ledger] = []


def _before_fork() -> None:
    _FORKING.acquire()
    _forked.extend(_LEDGERS)
    for ledger in _forked:
        ledger.before_fork()


def _after_fork(child: bool) -> None:
    for ledger in _forked:
        ledger.after_fork(child=child)
    _forked.clear()
    _FORKING.release()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=lambda: _after_fork(child=False),
    after_in_child=lambda: _after_fork(child=True),
)
