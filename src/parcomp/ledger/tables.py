"""What is read from the tables of a ledger and written to them, in SQL that every database takes.

A :class:`Session` is one connection to a database; its values are marked by ``?``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Protocol

from parcomp.errors import LedgerError
from parcomp.ledger.binding import Binding
from parcomp.ledger.charge import Charge, Entry, chain, check_text
from parcomp.ledger.migrations import Dialect
from parcomp.ledger.store import Request

__all__ = ["ConnectionLostError", "Session", "Tables"]

_BINDING = "dataset, version, domain, measure, budget_units, neighbours, rows_per_person"
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
    def bound(cls, session: Session, binding: Binding, *, single: bool) -> int:
        """The number of the ledger with this binding, which is entered if there is none.

        ``single`` is whether the database holds one ledger only, so that any other one there is a mismatch.
        """
        chosen, values = (
            ("", ()) if single else ("WHERE dataset = ? AND version = ?", (binding.dataset, binding.version))
        )
        rows = session.execute(f"SELECT ledger, {_BINDING} FROM parcomp_ledger {chosen}", values)
        if rows:
            number, *kept = rows[0]
            Binding(*kept).check_same(binding)
            return int(number)
        number = session.execute("SELECT coalesce(max(ledger), 0) + 1 FROM parcomp_ledger")[0][0]
        session.execute(
            f"INSERT INTO parcomp_ledger (ledger, {_BINDING}) VALUES (?, {_marks(7)})", (number, *astuple(binding))
        )
        return int(number)

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

    def answers(self, numbers: Iterable[int]) -> dict[int, str]:
        """The stored answers of these charges."""
        found = {}
        for number in numbers:
            rows = self._session.execute(
                "SELECT answer FROM parcomp_answer WHERE ledger = ? AND number = ?", (self._ledger, number)
            )
            if rows:
                found[number] = str(rows[0][0])
        return found

    def store_answers(self, texts: Mapping[int, str]) -> dict[int, str]:
        """Store the answers of charges that have none; to be called within a transaction."""
        for text in texts.values():
            check_text(text, "answer")
        stored = self.answers(texts)
        last = self._session.execute("SELECT max(number) FROM parcomp_charge WHERE ledger = ?", (self._ledger,))[0][0]
        for number in texts:
            if not 1 <= number <= (last or 0):
                raise LedgerError(f"there is no charge {number} to answer; the last one is {last or 0}")
        self._session.execute_many(
            "INSERT INTO parcomp_answer (ledger, number, answer) VALUES (?, ?, ?)",
            [(self._ledger, number, text) for number, text in texts.items() if number not in stored],
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
        numbers, fresh = json.loads(charges)
        return Request(analyst, key, str(body_digest), tuple(numbers), tuple(fresh))

    def remember(self, request: Request) -> None:
        """Keep what is done for an idempotency key."""
        if self.request(request.analyst, request.key) is not None:
            raise LedgerError("the idempotency key was used before; a key stands for one request of an analyst")
        charges = json.dumps([request.charges, request.fresh])
        self._session.execute(
            "INSERT INTO parcomp_request (ledger, analyst, request_key, body_digest, charges) VALUES (?, ?, ?, ?, ?)",
            (self._ledger, request.analyst, request.key, request.body_digest, charges),
        )


def _marks(count: int) -> str:
    return ", ".join("?" * count)
