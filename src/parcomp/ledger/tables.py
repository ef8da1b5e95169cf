"""What is read from the tables of a ledger and written to them, in SQL that every database takes.

A :class:`Session` is one connection to a database; its values are marked by ``?``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Protocol

from parcomp.errors import LedgerError, MissingLedgerError, shown
from parcomp.ledger.binding import Binding
from parcomp.ledger.charge import Charge, Entry, chain, check_text, trail_after
from parcomp.ledger.migrations import Dialect
from parcomp.ledger.store import Request

__all__ = ["ConnectionLostError", "Session", "Tables"]

_BINDING = "dataset, version, domain, measure, budget_units, neighbours, rows_per_person, source"
_CHARGE = "number, time, analyst, statement, charged_where, units, upper_units, batch, previous, digest"


class ConnectionLostError(LedgerError):
    """The connection to the database broke; nothing is known of what was under way."""


class Session(Protocol):
    """One connection to a database, to be used by one thread at a time.

    Everything that goes wrong is a :class:`~parcomp.errors.LedgerError`, a broken connection a
    :class:`ConnectionLostError`.
    """

    @property
    def dialect(self) -> Dialect:
        """Whose SQL it speaks where they differ."""

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""

    def execute_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each row of values."""

    def check_elsewhere(self, binding: Binding) -> None:
        """Raise if the database has a ledger of the dataset and version where this connection does not look for it."""

    def begin(self, lock: int) -> None:
        """Begin a transaction that holds off all others with the same lock; waits for them."""

    def commit(self) -> None:
        """End the transaction; it is durable when this returns."""

    def rollback(self) -> None:
        """Undo the transaction, if there is one."""

    def close(self) -> None:
        """Let go of the connection."""


class Tables:
    """The rows of one ledger, seen through one connection."""

    def __init__(self, session: Session, ledger: int) -> None:
        self._session = session
        self._ledger = ledger

    @classmethod
    def find(cls, session: Session, binding: Binding, *, single: bool) -> tuple[int, Binding]:
        """The number of the ledger of these settings, and the binding that it was made with.

        ``single`` is whether the database holds one ledger only, so that any other one there is a mismatch.
        """
        kept = _ledgers(session)
        for number, found in kept.items():
            if single or found.identity == binding.identity:
                found.check_same(binding)
                return number, found
        known = ", ".join(f"{shown(one.dataset)} version {shown(one.version)}" for one in kept.values()) or "none"
        raise MissingLedgerError(
            f"there is no ledger of {shown(binding.dataset)} version {shown(binding.version)} in the database; it has "
            f"ledgers of: {known}. Make it once, with parcomp init"
        )

    @classmethod
    def enter(cls, session: Session, binding: Binding, *, single: bool) -> int:
        """The number of a ledger that is made for these settings; there must be none of the dataset and version."""
        kept = _ledgers(session)
        for found in kept.values():
            if single or found.identity == binding.identity:
                raise LedgerError(
                    f"there is a ledger already, of {shown(found.dataset)} version {shown(found.version)}; it is used "
                    "as it is, and needs no init"
                )
        number = max(kept, default=0) + 1
        session.execute(
            f"INSERT INTO parcomp_ledger (ledger, {_BINDING}) VALUES (?, {_marks(8)})", (number, *astuple(binding))
        )
        return number

    def charges(self, after: int = 0) -> list[Charge]:
        """The charges with higher numbers, in order."""
        rows = self._session.execute(
            f"SELECT {_CHARGE} FROM parcomp_charge WHERE ledger = ? AND number > ? ORDER BY number",
            (self._ledger, after),
        )
        return [Charge(*row) for row in rows]

    def head(self, binding: Binding) -> tuple[int, str]:
        """Number and digest of the last charge."""
        rows = self._session.execute(
            "SELECT number, digest FROM parcomp_charge WHERE ledger = ? ORDER BY number DESC LIMIT 1", (self._ledger,)
        )
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, binding.digest)

    def digest(self, number: int) -> str | None:
        """The digest of the charge with this number."""
        rows = self._session.execute(
            "SELECT digest FROM parcomp_charge WHERE ledger = ? AND number = ?", (self._ledger, number)
        )
        return str(rows[0][0]) if rows else None

    def append(self, binding: Binding, entries: Sequence[Entry]) -> list[Charge]:
        """Append charges to the chain."""
        number, digest = self.head(binding)
        charges = []
        for entry in entries:
            number += 1
            charges.append(chain(digest, number, entry))
            digest = charges[-1].digest
        self._session.execute_many(
            f"INSERT INTO parcomp_charge (ledger, {_CHARGE}) VALUES (?, {_marks(10)})",
            [(self._ledger, *astuple(charge)) for charge in charges],
        )
        return charges

    def answers(self, digests: Iterable[str]) -> dict[str, str]:
        """The stored answers of these charges."""
        found = {}
        for digest in digests:
            rows = self._session.execute(
                "SELECT answer FROM parcomp_answer WHERE ledger = ? AND digest = ?", (self._ledger, digest)
            )
            if rows:
                found[digest] = str(rows[0][0])
        return found

    def answered(self) -> tuple[int, str]:
        """How many answers were stored, and the digest of their trail."""
        rows = self._session.execute(
            "SELECT position, trail FROM parcomp_answer WHERE ledger = ? ORDER BY position DESC LIMIT 1",
            (self._ledger,),
        )
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")

    def trail(self, position: int) -> str | None:
        """The digest of the trail of the first answers, as many as ``position`` says."""
        rows = self._session.execute(
            "SELECT trail FROM parcomp_answer WHERE ledger = ? AND position = ?", (self._ledger, position)
        )
        return str(rows[0][0]) if rows else None if position else ""

    def store_answers(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Store the answers of charges that have none; to be called within a transaction."""
        for digest, text in texts.items():
            check_text(text, "answer")
            if not self._session.execute(
                "SELECT 1 FROM parcomp_charge WHERE ledger = ? AND digest = ?", (self._ledger, digest)
            ):
                raise LedgerError(f"there is no charge with the digest {shown(digest)} to answer")
        stored = self.answers(texts)
        position, trail = self.answered()
        rows = []
        for digest, text in texts.items():
            if digest not in stored:
                position, trail = position + 1, trail_after(trail, digest, text)
                rows.append((self._ledger, digest, position, text, trail))
        self._session.execute_many(
            "INSERT INTO parcomp_answer (ledger, digest, position, answer, trail) VALUES (?, ?, ?, ?, ?)", rows
        )
        return {**texts, **stored}

    def request(self, analyst: str, key: str) -> Request | None:
        """What was done for an idempotency key."""
        check_text(analyst, "analyst")
        check_text(key, "idempotency key")
        rows = self._session.execute(
            "SELECT body_digest, charges FROM parcomp_request WHERE ledger = ? AND analyst = ? AND request_key = ?",
            (self._ledger, analyst, key),
        )
        if not rows:
            return None
        body_digest, charges = rows[0]
        digests, fresh = json.loads(charges)
        return Request(analyst, key, str(body_digest), tuple(digests), tuple(fresh))

    def remember(self, request: Request) -> None:
        """Keep what is done for an idempotency key."""
        if self.request(request.analyst, request.key) is not None:
            raise LedgerError("the idempotency key was used before; a key stands for one request of an analyst")
        charges = json.dumps([request.charges, request.fresh])
        self._session.execute(
            "INSERT INTO parcomp_request (ledger, analyst, request_key, body_digest, charges) VALUES (?, ?, ?, ?, ?)",
            (self._ledger, request.analyst, request.key, request.body_digest, charges),
        )

    def ties(self) -> list[tuple[str, str]]:
        """What belongs to a charge, in words, with the digest of the charge."""
        answers = self._session.execute(
            "SELECT position, digest FROM parcomp_answer WHERE ledger = ? ORDER BY position", (self._ledger,)
        )
        requests = self._session.execute(
            "SELECT analyst, request_key, charges FROM parcomp_request WHERE ledger = ?", (self._ledger,)
        )
        return [(f"answer {position}", str(digest)) for position, digest in answers] + [
            (f"the request {shown(key)} of {shown(analyst)}", str(digest))
            for analyst, key, charges in requests
            for digest in json.loads(charges)[0]
            if digest is not None
        ]


def _ledgers(session: Session) -> dict[int, Binding]:
    """All ledgers of the database, by number."""
    rows = session.execute(f"SELECT ledger, {_BINDING} FROM parcomp_ledger ORDER BY ledger")
    return {int(number): Binding(*kept) for number, *kept in rows}


def _marks(count: int) -> str:
    return ", ".join("?" * count)
