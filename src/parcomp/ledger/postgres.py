"""Ledgers in a PostgreSQL database: for several servers, and for databases that are backed up already.

*Durable*: each transaction asks for ``synchronous_commit``, and a server that runs with ``fsync = off`` is refused.
*Serialized*: a transaction holds an advisory lock on its ledger.  Such a lock needs no right to change tables, and the
server frees it with the transaction, which it ends when the connection is gone or stays idle for a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import psycopg

from parcomp.errors import LedgerError, one_line, shown
from parcomp.ledger.binding import Binding, dataset_identity
from parcomp.ledger.ledger import Ledger
from parcomp.ledger.session import ConnectionLostError, Session

__all__ = ["PostgresSession", "open_postgres"]

_LOCKS: Final = 0x70617263
"""The class of this package's advisory locks; within it each ledger has its number."""

_CONNECT_SECONDS = 10


_OTHER_LEDGERS = """
SELECT n.nspname, has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'parcomp_ledger' AND c.oid IS DISTINCT FROM to_regclass('parcomp_ledger') ORDER BY n.nspname
"""


def open_postgres(url: str, binding: Binding, busy_seconds: float, *, create: bool, extending: bool = False) -> Ledger:
    """Open the ledger of the dataset and version in a database, or make it."""
    return Ledger(
        lambda: PostgresSession(url, busy_seconds),
        binding,
        busy_seconds,
        single=False,
        create=create,
        extending=extending,
    )


class PostgresSession(Session):
    """A connection to the database of a ledger."""

    dialect = "postgresql"
    errors = (psycopg.Error,)

    def __init__(self, url: str, busy_seconds: float) -> None:
        self._busy_seconds = busy_seconds
        try:
            # Prepared statements do not survive a pooler between here and the server.
            self._connection = psycopg.connect(
                url,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=_CONNECT_SECONDS,
                # Statements are sent in UTF-8, whatever the database or the environment would take.
                client_encoding="utf8",
            )
        except psycopg.ProgrammingError:
            # What is wrong with an address is told together with the address, which may hold a password.
            raise LedgerError(
                "the address of the ledger's database is not well formed; postgresql://USER@HOST/NAME"
            ) from None
        except psycopg.Error as error:
            raise LedgerError(f"the ledger's database cannot be reached ({_reason(error)})") from None
        try:
            if self.execute("SHOW fsync")[0][0] != "on":
                raise LedgerError("the ledger's database runs with fsync = off, so charges would not be durable")
        except BaseException:
            self.close()
            raise

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        with self._told():
            cursor = self._connection.execute(_translated(sql), values or None)
            return cursor.fetchall() if cursor.description is not None else []

    def execute_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each row of values."""
        with self._told(), self._connection.cursor() as cursor:
            cursor.executemany(_translated(sql), rows)

    def check_elsewhere(self, binding: Binding) -> None:
        """Raise if a schema that is not the first with ledgers on the search path has a ledger of the dataset."""
        for schema, readable in self.execute(_OTHER_LEDGERS):
            if not readable:
                raise LedgerError(
                    f"the schema {shown(schema)} of the database has ledgers that this user may not read, perhaps of "
                    f"{shown(binding.dataset)}; grant SELECT on its parcomp_ledger, or use another database"
                )
            quoted = '"' + schema.replace('"', '""') + '"'
            for dataset, version in self.execute(f"SELECT dataset, version FROM {quoted}.parcomp_ledger"):
                if dataset_identity(dataset, version) == binding.identity:
                    raise LedgerError(
                        f"the schema {shown(schema)} of the database has a ledger of {shown(dataset)} version "
                        f"{shown(version)}; put that schema first on the search path to use it"
                    )

    def begin(self, lock: int) -> None:
        """Begin a transaction and take the advisory lock."""
        # At a higher isolation level the transaction would see the state from before it had to wait for the lock.
        self.execute(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = on; "
            f"SET LOCAL lock_timeout = {max(int(self._busy_seconds * 1000), 1)}; "
            "SET LOCAL idle_in_transaction_session_timeout = 60000; "
            f"SELECT pg_advisory_xact_lock({_LOCKS}, {lock})"
        )

    def commit(self) -> None:
        """End the transaction; it is durable when this returns."""
        try:
            status = self._connection.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if self._connection.closed:
                raise ConnectionLostError(
                    "the connection to the ledger's database was lost during a commit, so its charges may stand or "
                    "not; read the ledger again"
                ) from None
            raise self._error(error) from None
        # A transaction in which a statement failed is rolled back by COMMIT, without an error.
        if status != "COMMIT":
            raise LedgerError("the ledger's database did not commit; nothing was charged")

    def rollback(self) -> None:
        """Undo the transaction, if there is one."""
        self.execute("ROLLBACK")

    def _error(self, error: Exception) -> LedgerError:
        if self._connection.closed:
            return ConnectionLostError(f"the connection to the ledger's database was lost ({_reason(error)})")
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return LedgerError(f"the ledger is busy for more than {self._busy_seconds:g} s; try again later")
        return LedgerError(f"the ledger's database cannot be read or written ({_reason(error)})")


def _translated(sql: str) -> bytes:
    # The statements of this package hold neither a question mark nor a percent sign but as a mark for a value.
    return sql.replace("?", "%s").encode()


def _reason(error: Exception) -> str:
    # Further lines can hold values of the row at fault.
    return one_line(str(error).strip().split("\n", maxsplit=1)[0]) or type(error).__name__
