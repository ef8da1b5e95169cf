"""The rows of one ledger: what is read from its tables and written to them, in SQL that every database takes.

Answers and requests belong to charges by their digests, which speak for all that was charged up to then; a number may
be given to another charge in a ledger that was cut off.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from typing import Any

from parcomp.errors import LedgerError, MissingLedgerError, SettingsError, shown
from parcomp.ledger.access import AccessKey, Role, check_name
from parcomp.ledger.binding import Binding
from parcomp.ledger.charge import Charge, Entry, StoredAnswer, chain, check_text, trail_after, utc_now
from parcomp.ledger.load import Load
from parcomp.ledger.session import Session

__all__ = ["Records", "Request", "Transaction", "enter_ledger", "find_ledger"]

_BINDING = "dataset, version, domain, measure, budget_units, neighbours, rows_per_person, source, first_rows"
_AT_ONCE = 500
"""Values of one statement; databases take no more than some thousands."""

_CHARGE = "time, analyst, statement, charged_where, units, upper_units, batch, number, previous, digest"


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


class Records(ABC):
    """What can be read of the ledger with number ``ledger`` in its database; ``binding`` is what it was made with."""

    def __init__(self, ledger: int, binding: Binding) -> None:
        self.binding = binding
        self._ledger = ledger

    @abstractmethod
    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""

    def _select(self, columns: str, table: str, more: str = "", *values: object) -> list[tuple[Any, ...]]:
        """Rows of the ledger in one of its tables; ``more`` goes on after WHERE, with these values."""
        return self._execute(f"SELECT {columns} FROM parcomp_{table} WHERE ledger = ? {more}", (self._ledger, *values))

    def _of_digests(self, columns: str, table: str, digests: Iterable[str]) -> list[tuple[Any, ...]]:
        """Rows of the ledger with these digests, in few statements: each takes a way to the database and back."""
        wanted = list(digests)
        found: list[tuple[Any, ...]] = []
        for at in range(0, len(wanted), _AT_ONCE):
            part = wanted[at : at + _AT_ONCE]
            found += self._select(columns, table, f"AND digest IN ({', '.join('?' * len(part))})", *part)
        return found

    def charges(self, after: int = 0) -> list[Charge]:
        """The charges with higher numbers, in order; within a transaction its own are among them."""
        return [Charge(*row) for row in self._select(_CHARGE, "charge", "AND number > ? ORDER BY number", after)]

    def head(self) -> tuple[int, str]:
        """Number and digest of the last charge; 0 and the digest of the binding if there is none."""
        rows = self._select("number, digest", "charge", "ORDER BY number DESC LIMIT 1")
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, self.binding.digest)

    def digest(self, number: int) -> str | None:
        """The digest of the charge with this number, None if there is none."""
        rows = self._select("digest", "charge", "AND number = ?", number)
        return str(rows[0][0]) if rows else None

    def holds(self, digest: str) -> bool:
        """Whether the chain holds an entry with this digest, or begins with it."""
        return digest == self.binding.digest or bool(self._select("1", "charge", "AND digest = ?", digest))

    def last_load(self) -> tuple[int, Load] | None:
        """The number of the last load, and what it says; None if the table was never loaded since the ledger is."""
        rows = self._select(_CHARGE, "charge", "AND units = 0 ORDER BY number DESC LIMIT 1")
        return (Charge(*rows[0]).number, Load.read(Charge(*rows[0]))) if rows else None

    def known_rows(self) -> list[str]:
        """The seals of rows that a table in place may have, the last load's first.

        These are the rows of the loads that no charge has followed, whose making may have been cut short, and those
        that the last charge counted.  None are known in a ledger that was made without them and never loaded.
        """
        found = self._select(_CHARGE, "charge", "AND units = 0 ORDER BY number DESC")
        loads = [(charge.number, Load.read(charge).rows) for charge in (Charge(*row) for row in found)]
        loads += [(0, self.binding.first_rows)] if self.binding.first_rows else []
        [[charged]] = self._select("MAX(number)", "charge", "AND units > 0")
        known = [rows for number, rows in loads if number > (charged or 0)]
        return known + [rows for number, rows in loads if number <= (charged or 0)][:1]

    def current_domain(self) -> str:
        """The domain that charges are made under: that of the last load, else that of the binding."""
        load = self.last_load()
        return self.binding.domain if load is None else load[1].domain

    def answers(self, digests: Iterable[str]) -> dict[str, str]:
        """The stored answers of the charges with these digests; those without one are left out."""
        return {str(digest): str(answer) for digest, answer in self._of_digests("digest, answer", "answer", digests)}

    def answered_of(self, digests: Iterable[str]) -> set[str]:
        """Those of the digests whose charges have a stored answer."""
        return {str(digest) for (digest,) in self._of_digests("digest", "answer", digests)}

    def answer(self, digest: str) -> str | None:
        """The stored answer of a charge."""
        return self.answers([digest]).get(digest)

    def strategy(self, digest: str) -> str | None:
        """What stands beside the charge of a strategy (:mod:`parcomp.ledger.strategy`); None if nothing does."""
        rows = self._select("content", "strategy", "AND digest = ?", digest)
        return str(rows[0][0]) if rows else None

    def answered(self) -> tuple[int, str]:
        """How many answers were stored, which never shrinks, and the digest of their trail."""
        rows = self._select("position, trail", "answer", "ORDER BY position DESC LIMIT 1")
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")

    def stored_answers(self) -> list[StoredAnswer]:
        """All stored answers, in the order of their storing."""
        return [
            StoredAnswer(*row) for row in self._select("position, digest, answer, trail", "answer", "ORDER BY position")
        ]

    def trail(self, position: int) -> str | None:
        """The digest of the trail of the first answers, as many as ``position`` says; None if there are fewer."""
        rows = self._select("trail", "answer", "AND position = ?", position)
        return str(rows[0][0]) if rows else None if position else ""

    def request(self, analyst: str, key: str) -> Request | None:
        """What was done for an idempotency key."""
        check_text(analyst, "analyst")
        check_text(key, "idempotency key")
        rows = self._select("body_digest, charges", "request", "AND analyst = ? AND request_key = ?", analyst, key)
        if not rows:
            return None
        digests, fresh = json.loads(rows[0][1])
        return Request(analyst, key, str(rows[0][0]), tuple(digests), tuple(fresh))

    def access_keys(self) -> list[AccessKey]:
        """The keys by which the dataset is asked over the network, revoked ones too, in the order of their making."""
        rows = self._execute(
            "SELECT k.number, k.name, k.role, k.digest, k.added, coalesce(r.revoked, '') FROM parcomp_key k "
            "LEFT JOIN parcomp_key_revoked r ON r.ledger = k.ledger AND r.number = k.number "
            "WHERE k.ledger = ? ORDER BY k.number",
            (self._ledger,),
        )
        return [AccessKey(int(number), name, Role(role), *rest) for number, name, role, *rest in rows]

    def ties(self) -> list[tuple[str, str]]:
        """Every answer, matrix and request, in words, with the digest of the charge that it belongs to."""
        answers = self._select("position, digest", "answer", "ORDER BY position")
        requests = self._select("analyst, request_key, charges", "request")
        tied = [(f"answer {position}", str(digest)) for position, digest in answers]
        tied += [("the matrix of a strategy", str(digest)) for (digest,) in self._select("digest", "strategy")]
        return tied + [
            (f"the request {shown(key)} of {shown(analyst)}", str(digest))
            for analyst, key, charges in requests
            for digest in json.loads(charges)[0]
            if digest is not None
        ]


class Transaction(Records):
    """A serialized transaction: what can be written of a ledger, in a session that has begun it.

    It is of no use once it is over.
    """

    def __init__(self, session: Session, ledger: int, binding: Binding) -> None:
        super().__init__(ledger, binding)
        self._session = session
        self._last: tuple[int, str] | None = None
        """Number and digest of the charge that was appended last: nobody else appends while this lasts."""
        self._failed = False
        self.over = False

    def append_strategy(self, entry: Entry, content: str) -> Charge:
        """Append the charge of a strategy with what stands beside it, "" if nothing does: both or neither."""
        with self._step():
            check_text(content, "strategy")
            [charge] = self.append([entry])
            if content:
                self._insert("strategy", "digest, content", [(charge.digest, content)])
            return charge

    def append(self, entries: Sequence[Entry]) -> list[Charge]:
        """Append charges to the chain, all or none."""
        with self._step():
            number, digest = self._last or self.head()
            charges = []
            for entry in entries:
                number += 1
                charges.append(chain(digest, number, entry))
                digest = charges[-1].digest
            self._insert("charge", _CHARGE, map(astuple, charges))
            self._last = number, digest
            return charges

    def store_answers(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Store the answers of charges that have none, and return what is stored."""
        with self._step():
            for text in texts.values():
                check_text(text, "answer")
            charged = {str(digest) for (digest,) in self._of_digests("digest", "charge", texts)}
            for digest in texts:
                if digest not in charged:
                    raise LedgerError(f"there is no charge with the digest {shown(digest)} to answer")
            stored = self.answers(texts)
            position, trail = self.answered()
            rows = []
            for digest, text in texts.items():
                if digest not in stored:
                    position, trail = position + 1, trail_after(trail, digest, text)
                    rows.append((digest, position, text, trail))
            self._insert("answer", "digest, position, answer, trail", rows)
            return {**texts, **stored}

    def remember(self, request: Request) -> None:
        """Keep what is done for an idempotency key; the analyst must not have used it before."""
        with self._step():
            if self.request(request.analyst, request.key) is not None:
                raise LedgerError("the idempotency key was used before; a key stands for one request of an analyst")
            charges = json.dumps([request.charges, request.fresh])
            row = request.analyst, request.key, request.body_digest, charges
            self._insert("request", "analyst, request_key, body_digest, charges", [row])

    def add_key(self, name: str, role: Role, digest: str) -> AccessKey:
        """Keep a key; a name has one role at a time, and may have several keys."""
        with self._step():
            check_name(name)
            keys = self.access_keys()
            other = next((one for one in keys if one.name == name and not one.revoked and one.role != role), None)
            if other is not None:
                raise SettingsError(
                    f"{shown(name)} has a key as {other.role} already; revoke it first, or use another name"
                )
            added = AccessKey(len(keys) + 1, name, role, digest, utc_now())
            row = added.number, added.name, str(added.role), added.digest, added.added
            self._insert("key", "number, name, role, digest, added", [row])
            return added

    def revoke_keys(self, name: str, *, older: bool = False) -> list[AccessKey]:
        """Revoke the keys in a name, with ``older`` all but the latest; those that were good till then."""
        with self._step():
            good = [one for one in self.access_keys() if one.name == name and not one.revoked]
            ended = [replace(one, revoked=utc_now()) for one in (good[:-1] if older else good)]
            self._insert("key_revoked", "number, revoked", [(one.number, one.revoked) for one in ended])
            return ended

    def check(self) -> None:
        """Raise if some step failed: a caller that went on regardless must not commit the rest."""
        if self._failed:
            raise LedgerError("a step of the transaction failed; nothing of it was committed")

    def _insert(self, table: str, columns: str, rows: Iterable[Sequence[object]]) -> None:
        self._session.execute_many(_insertion(table, columns), [(self._ledger, *row) for row in rows])

    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._step():
            return self._session.execute(sql, values)

    @contextmanager
    def _step(self) -> Iterator[None]:
        if self.over:
            raise LedgerError("the transaction is over; begin another one")
        try:
            yield
        except BaseException:
            self._failed = True
            raise


def find_ledger(session: Session, binding: Binding, *, single: bool, extending: bool) -> tuple[int, Binding]:
    """The number of the ledger of these settings, and the binding that it was made with.

    ``single`` is whether the database holds one ledger only, so that any other one there is a mismatch, and
    ``extending`` whether the domain may extend the ledger's, to be taken over by a load.
    """
    kept = _ledgers(session)
    for number, found in kept.items():
        if single or found.identity == binding.identity:
            current = replace(found, domain=Transaction(session, number, found).current_domain())
            if extending:
                current.check_extended(binding)
            else:
                current.check_same(binding)
            return number, found
    known = ", ".join(f"{shown(one.dataset)} version {shown(one.version)}" for one in kept.values()) or "none"
    raise MissingLedgerError(
        f"there is no ledger of {shown(binding.dataset)} version {shown(binding.version)} in the database; it has "
        f"ledgers of: {known}. Make it once, with parcomp init"
    )


def enter_ledger(session: Session, binding: Binding, *, single: bool) -> int:
    """The number of a ledger that is made for these settings; there must be none of the dataset and version."""
    kept = _ledgers(session)
    for found in kept.values():
        if single or found.identity == binding.identity:
            raise LedgerError(
                f"there is a ledger already, of {shown(found.dataset)} version {shown(found.version)}; it is used "
                "as it is, and needs no init"
            )
    number = max(kept, default=0) + 1
    session.execute(_insertion("ledger", _BINDING), (number, *astuple(binding)))
    return number


def _ledgers(session: Session) -> dict[int, Binding]:
    """All ledgers of the database, by number."""
    rows = session.execute(f"SELECT ledger, {_BINDING} FROM parcomp_ledger ORDER BY ledger")
    return {int(number): Binding(*kept) for number, *kept in rows}


def _insertion(table: str, columns: str) -> str:
    """The statement that inserts a row of a ledger, whose number comes first."""
    marks = ", ".join("?" * (columns.count(",") + 2))
    return f"INSERT INTO parcomp_{table} (ledger, {columns}) VALUES ({marks})"
