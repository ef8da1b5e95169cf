"""A ledger in a file, by SQLite: for one machine.

*Durable*: in write-ahead mode with ``synchronous=FULL`` a commit returns after its pages have reached the disk.
*Serialized*: ``BEGIN IMMEDIATE`` takes the file's write lock, which the operating system frees when a process dies.
Locks of this kind are not to be relied on over network file systems.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from parcomp.errors import LedgerError
from parcomp.ledger.binding import Binding
from parcomp.ledger.migrations import Dialect
from parcomp.ledger.serial import SerialLedger
from parcomp.ledger.store import Ledger

__all__ = ["SqliteSession", "open_sqlite"]

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_PATIENCE = 0.03
"""How long SQLite itself waits for a lock. It looks ever less often, so a long wait would lose to busier processes."""


def open_sqlite(path: str, binding: Binding, busy_seconds: float) -> Ledger:
    """Open the ledger in a file, and make it, readable by its owner only, if there is none."""
    file = Path(path).absolute()
    try:
        _make_private(file)
    except OSError as error:
        raise LedgerError(f"{path}: cannot be opened as a ledger ({error.strerror or error})") from None
    return SerialLedger(lambda: SqliteSession(file, busy_seconds), binding, busy_seconds, single=True)


def _make_private(file: Path) -> None:
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    # A file is durable once its directory is; SQLite gives its further files the mode of this one.
    directory = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


class SqliteSession:
    """A connection to the file of a ledger."""

    dialect: Final[Dialect] = "sqlite"

    def __init__(self, file: Path, busy_seconds: float) -> None:
        self._file = file
        self._busy_seconds = busy_seconds
        try:
            self._identity = _identity(file)
            # Made in autocommit mode, so that transactions are just those that are begun here.
            self._connection = sqlite3.connect(file, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
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
                return self._connection.execute(sql, values).fetchall()
            except (sqlite3.Error, OverflowError) as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise self._error(error) from None

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        try:
            self._connection.executemany(sql, rows)
        except (sqlite3.Error, OverflowError) as error:
            raise self._error(error) from None

    def begin(self, lock: int) -> None:  # noqa: ARG002  the file has one write lock
        """Take the file's write lock."""
        self.execute("BEGIN IMMEDIATE")
        # A file that was moved or replaced can still be written through this connection, and all would be forgotten.
        if _identity(self._file) != self._identity:
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

    def close(self) -> None:
        """Let go of the file."""
        try:
            self._connection.close()
        except sqlite3.Error as error:
            raise self._error(error) from None

    def _error(self, error: sqlite3.Error | OverflowError) -> LedgerError:
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
