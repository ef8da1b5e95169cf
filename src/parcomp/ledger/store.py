"""What a custodian asks of a ledger, whatever keeps it.

Charges are appended within a *transaction*.  Transactions of all threads and processes follow one another, so what one
reads stays true until it ends.  Leaving it without an exception makes its charges durable before the next line runs;
leaving it by an exception undoes it; a process that is killed inside leaves neither charges nor a lock behind.

If leaving raises :class:`~parcomp.errors.LedgerError`, the charges may or may not stand (a connection can be lost
while the answer to a commit is on its way).  The caller must not release anything for them, and reads the ledger again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from parcomp.errors import LedgerError, shown
from parcomp.ledger.binding import Binding
from parcomp.ledger.charge import Charge, Entry, check_text

__all__ = ["BUSY_SECONDS", "Ledger", "Request", "Transaction", "open_ledger"]

BUSY_SECONDS = 30.0
"""How long a transaction waits for others before it gives up."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was done for an idempotency key of an analyst: the charges that answer it, in order.

    ``body_digest`` tells the same request from another one under the same key.  A charge is None where there was
    nothing to charge.  ``fresh`` says of each whether it was made for this request, as all were unless it is given.
    """

    analyst: str
    key: str
    body_digest: str
    charges: tuple[int | None, ...]
    fresh: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        for name in ("analyst", "key", "body_digest"):
            check_text(getattr(self, name), name)
        object.__setattr__(self, "fresh", self.fresh or tuple(number is not None for number in self.charges))
        if len(self.fresh) != len(self.charges):
            raise LedgerError("a request says of each of its charges whether it was made for it")


class Transaction(Protocol):
    """A serialized transaction; of no use once it is over."""

    def charges(self, after: int = 0) -> list[Charge]:
        """The charges with higher numbers, in order, those of this transaction included."""

    def append(self, entries: Sequence[Entry]) -> list[Charge]:
        """Append charges, all or none."""

    def request(self, analyst: str, key: str) -> Request | None:
        """What was done for an idempotency key."""

    def remember(self, request: Request) -> None:
        """Keep what is done for an idempotency key; the analyst must not have used it before."""


class Ledger(Protocol):
    """An append-only chain of charges with their answers.  It is safe to share between threads."""

    binding: Binding

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction; waits for others, and gives up with an error after half a minute."""

    def charges(self, after: int = 0) -> list[Charge]:
        """The charges with higher numbers, in order."""

    def head(self) -> tuple[int, str]:
        """Number and digest of the last charge; 0 and the digest of the binding if there is none."""

    def answers(self, numbers: Iterable[int]) -> dict[int, str]:
        """The stored answers of these charges; those without one are left out."""

    def store_answers(self, texts: Mapping[int, str]) -> dict[int, str]:
        """Store the answers of charges durably, and return what is stored: for each charge the first answer stays."""

    def request(self, analyst: str, key: str) -> Request | None:
        """What was done for an idempotency key."""

    def close(self) -> None:
        """Let go of the database."""

    def answer(self, number: int) -> str | None:
        """The stored answer of a charge."""
        return self.answers([number]).get(number)

    def store_answer(self, number: int, text: str) -> str:
        """Store the answer of a charge durably, and return what is stored: the first answer stays."""
        return self.store_answers({number: text})[number]


def open_ledger(url: str, binding: Binding, *, busy_seconds: float = BUSY_SECONDS) -> Ledger:
    """Open the ledger at an address, and make it if there is none.

    ``sqlite:///relative.db`` and ``sqlite:////absolute.db`` are files, each with one ledger.  A database
    ``postgresql://…`` holds a ledger for each version of each dataset.
    """
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite":
        if not rest.startswith("/") or rest in ("/", "/:memory:"):
            raise LedgerError(f"a ledger in SQLite is a file, sqlite:///FILE, not {shown(url)}")
        from parcomp.ledger.sqlite import open_sqlite  # noqa: PLC0415  implementations know the protocol

        return open_sqlite(rest[1:], binding, busy_seconds)
    if separator and scheme in ("postgresql", "postgres"):
        try:
            from parcomp.ledger.postgres import open_postgres  # noqa: PLC0415  psycopg is an optional dependency
        except ImportError:
            raise LedgerError("a ledger in PostgreSQL needs psycopg; install parcomp[postgres]") from None
        return open_postgres(url, binding, busy_seconds)
    # An address may hold a password, so no more than its scheme is shown.
    raise LedgerError(f"a ledger is at sqlite:///FILE or postgresql://…, not at {shown(scheme)}")
