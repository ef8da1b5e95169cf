"""What a custodian asks of a ledger, whatever keeps it.

A ledger is made once, by :func:`create_ledger`, and only opened after that: a ledger that is not where the settings say
must never be taken for one without charges.  Answers and requests belong to charges by their digests, which speak for
all that was charged up to then; a number may be given to another charge in a ledger that was cut off.

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

__all__ = ["BUSY_SECONDS", "Ledger", "Request", "Transaction", "create_ledger", "open_ledger"]

BUSY_SECONDS = 30.0
"""How long a transaction waits for others before it gives up."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was done for an idempotency key of an analyst: the charges that answer it, in order.

    ``body_digest`` tells the same request from another one under the same key.  ``charges`` are digests, None where
    there was nothing to charge.  ``fresh`` says of each whether it was made for this request, as all were unless it is
    given.
    """

    analyst: str
    key: str
    body_digest: str
    charges: tuple[str | None, ...]
    fresh: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        for name in ("analyst", "key", "body_digest"):
            check_text(getattr(self, name), name)
        object.__setattr__(self, "fresh", self.fresh or tuple(digest is not None for digest in self.charges))
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
    """An append-only chain of charges with their answers.  It is safe to share between threads.

    ``binding`` is what the ledger was made with.
    """

    binding: Binding

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction; waits for others, and gives up with an error after half a minute."""

    def charges(self, after: int = 0) -> list[Charge]:
        """The charges with higher numbers, in order."""

    def head(self) -> tuple[int, str]:
        """Number and digest of the last charge; 0 and the digest of the binding if there is none."""

    def digest(self, number: int) -> str | None:
        """The digest of the charge with this number, None if there is none."""

    def answers(self, digests: Iterable[str]) -> dict[str, str]:
        """The stored answers of the charges with these digests; those without one are left out."""

    def answered(self) -> tuple[int, str]:
        """How many answers were stored, which never shrinks, and the digest of their trail."""

    def trail(self, position: int) -> str | None:
        """The digest of the trail of the first answers, as many as ``position`` says; None if there are fewer."""

    def store_answers(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Store the answers of charges durably, and return what is stored: for each charge the first answer stays."""

    def ties(self) -> list[tuple[str, str]]:
        """Every answer and every request, in words, with the digest of the charge that it belongs to."""

    def request(self, analyst: str, key: str) -> Request | None:
        """What was done for an idempotency key."""

    def close(self) -> None:
        """Let go of the database."""

    def answer(self, digest: str) -> str | None:
        """The stored answer of a charge."""
        return self.answers([digest]).get(digest)

    def store_answer(self, digest: str, text: str) -> str:
        """Store the answer of a charge durably, and return what is stored: the first answer stays."""
        return self.store_answers({digest: text})[digest]


def open_ledger(url: str, binding: Binding, *, busy_seconds: float = BUSY_SECONDS) -> Ledger:
    """Open the ledger at an address; :class:`~parcomp.errors.MissingLedgerError` if there is none.

    ``sqlite:///relative.db`` and ``sqlite:////absolute.db`` are files, each with one ledger.  A database
    ``postgresql://…`` holds a ledger for each version of each dataset.
    """
    return _ledger(url, binding, busy_seconds, create=False)


def create_ledger(url: str, binding: Binding, *, busy_seconds: float = BUSY_SECONDS) -> Ledger:
    """Make a ledger without charges at an address; an error if there is one of the dataset and version."""
    return _ledger(url, binding, busy_seconds, create=True)


def _ledger(url: str, binding: Binding, busy_seconds: float, *, create: bool) -> Ledger:
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite":
        if not rest.startswith("/") or rest in ("/", "/:memory:"):
            raise LedgerError(f"a ledger in SQLite is a file, sqlite:///FILE, not {shown(url)}")
        from parcomp.ledger.sqlite import open_sqlite  # noqa: PLC0415  implementations know the protocol

        return open_sqlite(rest[1:], binding, busy_seconds, create=create)
    if separator and scheme in ("postgresql", "postgres"):
        try:
            from parcomp.ledger.postgres import open_postgres  # noqa: PLC0415  psycopg is an optional dependency
        except ImportError:
            raise LedgerError("a ledger in PostgreSQL needs psycopg; install parcomp[postgres]") from None
        return open_postgres(url, binding, busy_seconds, create=create)
    # An address may hold a password, so no more than its scheme is shown.
    raise LedgerError(f"a ledger is at sqlite:///FILE or postgresql://…, not at {shown(scheme)}")
