"""A ledger in a file, by SQLite: for one machine.

*Durable*: in write-ahead mode with ``synchronous=FULL`` a commit returns after its pages have reached the disk.
*Serialized*: ``BEGIN IMMEDIATE`` takes the file's write lock, which the operating system frees when a process dies.
Locks of this kind are not to be relied on over network file systems.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from parcomp.errors import LedgerError, MissingLedgerError
from parcomp.ledger.binding import Binding
from parcomp.ledger.durable import sync_directory
from parcomp.ledger.ledger import Ledger
from parcomp.ledger.session import Session

__all__ = ["SqliteSession", "open_sqlite"]

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_PATIENCE = 0.03
"""How long SQLite itself waits for a lock. It looks ever less often, so a long wait would lose to busier processes."""


_OTHERS = 0o027
"""What a file's mode must not allow: writing by its group, and anything by others."""


def open_sqlite(path: str, binding: Binding, busy_seconds: float, *, create: bool, extending: bool = False) -> Ledger:
    """Open the ledger in a file, or make it, readable by its owner only."""
    file = Path(path).absolute()
    try:
        if create:
            _make_private(file)
        _check_private(file)
    except FileNotFoundError:
        if create:
            raise LedgerError(f"{path}: the directory does not exist; make it first") from None
        raise MissingLedgerError(
            f"{path}: there is no ledger; make it once, with parcomp init. If there was one, find it: what was charged "
            "there is spent"
        ) from None
    except OSError as error:
        raise LedgerError(f"{path}: cannot be opened as a ledger ({error.strerror or error})") from None
    return Ledger(
        lambda: SqliteSession(file, busy_seconds),
        binding,
        busy_seconds,
        single=True,
        create=create,
        extending=extending,
    )


def _check_private(file: Path) -> None:
    """Whoever can write a ledger can forget charges, so that nothing which it says can be relied on."""
    status = file.stat()
    mode = stat.S_IMODE(status.st_mode)
    if mode & _OTHERS:
        raise LedgerError(
            f"{file.name}: the ledger's mode {mode:04o} lets other users at it; set: chmod 600 {file.name}, and look "
            "whether the ledger is still right: parcomp ledger verify"
        )
    # SQLite keeps charges that are not yet in the file, and its locks, under the name that a file is opened by.
    if status.st_nlink > 1:
        raise LedgerError(
            f"{file.name}: the ledger's file has {status.st_nlink} names (hard links), and two custodians that use two "
            "of them do not see each other's charges; keep one name"
        )


def _make_private(file: Path) -> None:
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    # A file is durable once its directory is; SQLite gives its further files the mode of this one.
    sync_directory(file.parent)


class SqliteSession(Session):
    """A connection to the file of a ledger."""

    dialect = "sqlite"
    errors = (sqlite3.Error, OverflowError)

    def __init__(self, file: Path, busy_seconds: float) -> None:
        self._file = file
        self._busy_seconds = busy_seconds
        try:
            self._identity = _identity(file)
            # Made in autocommit mode, so that transactions are just those that are begun here.
            self._connection = sqlite3.connect(
                # Without the mode, SQLite makes a file that is not there.
                f"{file.as_uri()}?mode=rw",
                uri=True,
                timeout=_PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(f"{file.name}: cannot be opened as a ledger ({error})") from None
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise

    def _set_up(self) -> None:
        mode = self.execute("PRAGMA journal_mode=WAL")[0][0]
        if mode != "wal":
            raise LedgerError(f"{self._file.name}: the file system does not bear a ledger (no write-ahead log)")
        self.execute("PRAGMA synchronous=FULL")
        self.execute("PRAGMA fullfsync=ON")
        self.execute("PRAGMA checkpoint_fullfsync=ON")
        self.execute("PRAGMA foreign_keys=ON")

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                return list(self._connection.execute(sql, values).fetchall())
            except self.errors as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise self._error(error) from None

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        with self._told():
            self._connection.executemany(sql, rows)

    def check_elsewhere(self, binding: Binding) -> None:  # noqa: ARG002  a file holds one ledger, whatever it is of
        """Raise if the file holds something else than a ledger."""
        tables = [row[0] for row in self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if tables and "parcomp_schema" not in tables:
            raise LedgerError(f"{self._file.name}: the file is another database; name one that is not there yet")

    def begin(self, lock: int) -> None:  # noqa: ARG002  the file has one write lock
        """Take the file's write lock."""
        self.execute("BEGIN IMMEDIATE")
        # A file that was moved or replaced can still be written through this connection, and all would be forgotten.
        try:
            same = _identity(self._file) == self._identity
            if same:
                _check_private(self._file)
        except OSError:
            same = False
        if not same:
            raise LedgerError(
                f"{self._file.name}: the file was moved or replaced while it was in use; put the ledger with the "
                "latest charges in its place and start again"
            )

    def commit(self) -> None:
        """End the transaction; it is on the disk when this returns."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if there is one."""
        if self._connection.in_transaction:
            self.execute("ROLLBACK")

    def _error(self, error: Exception) -> LedgerError:
        if _is_busy(error):
            return LedgerError(
                f"{self._file.name}: the ledger is busy for more than {self._busy_seconds:g} s; try again later"
            )
        return LedgerError(f"{self._file.name}: the ledger cannot be read or written ({error})")


def _is_busy(error: Exception) -> bool:
    # Extended codes hold the plain one in their last byte.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
