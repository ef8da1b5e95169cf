"""Where ledgers are: made or opened by an address, whatever keeps them.

A ledger is made once, by :func:`create_ledger`, and only opened after that: a ledger that is not where the settings say
must never be taken for one without charges.

Charges are appended within a *transaction*.  Transactions of all threads and processes follow one another, so what one
reads stays true until it ends.  Leaving it without an exception makes its charges durable before the next line runs;
leaving it by an exception undoes it; a process that is killed inside leaves neither charges nor a lock behind.

If leaving raises :class:`~parcomp.errors.LedgerError`, the charges may or may not stand (a connection can be lost
while the answer to a commit is on its way).  The caller must not release anything for them, and reads the ledger again.
"""

from __future__ import annotations

from parcomp.errors import LedgerError, shown
from parcomp.ledger.binding import Binding
from parcomp.ledger.ledger import BUSY_SECONDS, Ledger

__all__ = ["create_ledger", "open_ledger"]


def open_ledger(url: str, binding: Binding, *, busy_seconds: float = BUSY_SECONDS, extending: bool = False) -> Ledger:
    """Open the ledger at an address; :class:`~parcomp.errors.MissingLedgerError` if there is none.

    ``sqlite:///relative.db`` and ``sqlite:////absolute.db`` are files, each with one ledger.  A database
    ``postgresql://…`` holds a ledger for each version of each dataset.  ``extending`` is for a load: the domain may
    extend that of the ledger.
    """
    return _ledger(url, binding, busy_seconds, create=False, extending=extending)


def create_ledger(url: str, binding: Binding, *, busy_seconds: float = BUSY_SECONDS) -> Ledger:
    """Make a ledger without charges at an address; an error if there is one of the dataset and version."""
    return _ledger(url, binding, busy_seconds, create=True, extending=False)


def _ledger(url: str, binding: Binding, busy_seconds: float, *, create: bool, extending: bool) -> Ledger:
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite":
        if not rest.startswith("/") or rest in ("/", "/:memory:"):
            raise LedgerError(f"a ledger in SQLite is a file, sqlite:///FILE, not {shown(url)}")
        from parcomp.ledger.sqlite import open_sqlite  # noqa: PLC0415  only the database that is asked for is loaded

        return open_sqlite(rest[1:], binding, busy_seconds, create=create, extending=extending)
    if separator and scheme in ("postgresql", "postgres"):
        try:
            from parcomp.ledger.postgres import open_postgres  # noqa: PLC0415  psycopg is an optional dependency
        except ImportError:
            raise LedgerError("a ledger in PostgreSQL needs psycopg; install parcomp[postgres]") from None
        return open_postgres(url, binding, busy_seconds, create=create, extending=extending)
    # An address may hold a password, so no more than its scheme is shown.
    raise LedgerError(f"a ledger is at sqlite:///FILE or postgresql://…, not at {shown(scheme)}")
