"""Charges, and the chain of digests that links them.

A charge is one entry of the ledger together with its place in the chain.  Its digest is the SHA-256, in lowercase
hexadecimal, of these fields in this order, each written as a :func:`record`:

    ``parcomp charge 1``, previous, number, time, analyst, statement, where, units, upper, batch

A *load* is an entry of the same chain that charges nothing: it says which rows the table has from there on, and under
which domain (:mod:`parcomp.ledger.load`).

A record is the length of the field in bytes in decimal, a colon, the field in UTF-8 and a line feed; whole numbers
are fields in decimal.  ``previous`` is the digest of the charge before, and for charge 1 that of the
:class:`~parcomp.ledger.binding.Binding`.  So every digest speaks for all charges up to its own, and for the dataset.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from parcomp.costs import MAX_UNITS
from parcomp.errors import LedgerError, shown
from parcomp.model import is_unicode

__all__ = [
    "Charge",
    "Entry",
    "StoredAnswer",
    "chain",
    "chain_problems",
    "check_text",
    "record",
    "trail_after",
    "trail_problems",
    "utc_now",
]

_MARK = "parcomp charge 1"
_ANSWER_MARK = "parcomp answer 1"


@dataclass(frozen=True, slots=True)
class _Charged:
    """What an entry and its charge have in common, in the order of the digest.

    ``time`` is a UTC time in ISO 8601, ``analyst`` who asks ("" for the custodian), ``statement`` what is asked (its
    canonical text, JSON), ``where`` the query that is charged (JSON, as a workload file has it), ``units`` its cost in
    additive units.  ``upper`` is a proven bound of the maximum overlap of all charges up to this one.  Charges with
    the same ``batch`` were made together; "" stands for a charge on its own.
    """

    time: str
    analyst: str
    statement: str
    where: str
    units: int
    upper: int
    batch: str

    @property
    def is_load(self) -> bool:
        """Whether it tells of a load of the table, and charges nothing."""
        # Most statements are told apart without being parsed, and those of a damaged ledger need not be text.
        if not isinstance(self.statement, str) or '"load"' not in self.statement:
            return False
        try:
            document = json.loads(self.statement)
        except (ValueError, RecursionError):
            return False
        return isinstance(document, dict) and document.get("kind") == "load"


@dataclass(frozen=True, slots=True)
class Entry(_Charged):
    """What is to be charged, checked to be what every ledger takes."""

    batch: str = ""

    def __post_init__(self) -> None:
        for name in ("time", "analyst", "statement", "where", "batch"):
            check_text(getattr(self, name), name)
        if not _is_utc(self.time):
            raise LedgerError(f"the time of a charge is a UTC time in ISO 8601, not {shown(self.time)}")
        for name in ("statement", "where"):
            if not _is_object(getattr(self, name)):
                raise LedgerError(f"the {name} of a charge is a JSON object, not {shown(getattr(self, name))}")
        if self.is_load and (self.units, self.where) != (0, "{}"):
            raise LedgerError('a load charges 0 units, and its where is "{}"')
        for name, least in (("units", 0 if self.is_load else 1), ("upper", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_UNITS:
                raise LedgerError(
                    f"the {name} of a charge are a whole number from {least} to {MAX_UNITS}, not {shown(value)}"
                )


@dataclass(frozen=True, slots=True)
class Charge(_Charged):
    """An entry as it stands in the ledger, with its number (1, 2, 3, …), the digest before it and its own.

    It is not checked when it is read: a damaged ledger must be readable to be audited.
    """

    number: int
    previous: str
    digest: str

    @property
    def entry(self) -> Entry:
        """What was charged; raises :class:`~parcomp.errors.LedgerError` if no ledger takes such an entry."""
        return Entry(**_charged(self))


def chain(previous: str, number: int, entry: Entry) -> Charge:
    """The charge that puts an entry in its place.

    >>> entry = Entry("2026-01-01T00:00:00Z", "anna", '{"kind":"count","where":[{}]}', "{}", 5, 5)
    >>> chain("0" * 64, 1, entry).digest[:16]
    '91d7e1264ad331c3'
    """
    digest = _digest(previous, number, entry)
    return Charge(**_charged(entry), number=number, previous=previous, digest=digest)


def chain_problems(charges: Iterable[Charge], previous: str, after: int = 0) -> list[str]:
    """Where charges do not continue the chain that ends at number ``after`` with the digest ``previous``."""
    problems = []
    for charge in charges:
        after += 1
        if charge.number != after:
            problems.append(f"charge {shown(charge.number)}: stands where charge {after} is due")
            after = charge.number if isinstance(charge.number, int) else after
        if charge.previous != previous:
            problems.append(f"charge {after}: does not follow the digest before it")
        if charge.digest != _digest(charge.previous, charge.number, charge):
            problems.append(f"charge {after}: its digest is not that of what it says")
        previous = charge.digest
    return problems


def trail_after(trail: str, digest: str, answer: str) -> str:
    """The digest that speaks for all answers up to this one: after ``trail``, the answer of the charge ``digest``.

    Answers are stored in another order than charges are made, so they have a trail of digests of their own.  It is the
    SHA-256 of the records of ``parcomp answer 1``, the trail before ("" at first), the charge's digest, the answer.
    """
    return sha256(b"".join(map(record, (_ANSWER_MARK, trail, digest, answer)))).hexdigest()


class StoredAnswer(NamedTuple):
    """An answer as it stands in the ledger: its place among all answers, its charge, and the trail up to it."""

    position: int
    digest: str
    answer: str
    trail: str


def trail_problems(answers: Iterable[StoredAnswer]) -> list[str]:
    """Where stored answers, from the first one on, are not what their trail speaks for."""
    problems, before = [], ""
    for due, stored in enumerate(answers, 1):
        if stored.position != due:
            problems.append(f"answer {shown(stored.position)}: stands where answer {due} is due")
        if stored.trail != trail_after(before, stored.digest, stored.answer):
            problems.append(f"answer {due}: is not the one that was stored, or follows another one")
        before = stored.trail
    return problems


def record(field: object) -> bytes:
    r"""A field as it enters a digest.

    >>> record("é"), record(12)
    (b'2:\xc3\xa9\n', b'2:12\n')
    """
    # What a damaged ledger holds need not be Unicode; it must not stop an audit.
    data = str(field).encode("utf-8", "surrogatepass")
    return b"%d:%s\n" % (len(data), data)


def utc_now() -> str:
    """The time as charges have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def check_text(value: object, what: str) -> None:
    """Raise :class:`~parcomp.errors.LedgerError` unless every database holds the text as it is."""
    if not isinstance(value, str) or "\0" in value or not is_unicode(value):
        raise LedgerError(f"the {what} must be Unicode text without null characters, not {shown(value)}")


def _charged(entry: _Charged) -> dict[str, Any]:
    return {field.name: getattr(entry, field.name) for field in fields(_Charged)}


def _digest(previous: object, number: object, entry: _Charged) -> str:
    return sha256(b"".join(map(record, (_MARK, previous, number, *_charged(entry).values())))).hexdigest()


def _is_utc(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).utcoffset() == timedelta(0)
    except ValueError:
        return False


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
