"""Requests of many analysts that wait at the same time, answered together: one transaction, one pass, one mark.

Each is admitted or refused by itself, in the order of their coming, exactly as if it had come alone; what they share is
what takes time.  The order of steps is that of :mod:`parcomp.custodian.answering`, taken by all of them at once: all
that fit are charged in one durable transaction, then counted in one pass, given noise, stored, marked and released.
A process that dies in between leaves charges that stand and are answered when they are asked for again, as ever.

A decision is made within the transaction, so it is made once: whatever others have charged is known by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from parcomp.custodian.answer import Answer
from parcomp.custodian.request import Asked, read_request
from parcomp.custodian.settings import Settings
from parcomp.errors import LedgerError, ParcompError

if TYPE_CHECKING:
    from parcomp.custodian.answering import Paid
    from parcomp.custodian.custodian import Custodian

__all__ = ["Ask", "ask_together", "read_ask"]

Outcome: TypeAlias = Answer | Exception
"""The answer to a request, or the error that it gets in its place: whatever is wrong with one concerns no other."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A statement, who asks it, what it may cost (``{"epsilon": "0.1"}``), and an idempotency key if there is one."""

    sql: str
    analyst: str = ""
    costs: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    read: tuple[Settings, Asked] | None = None
    """What it was read as, and under which settings, where that was done before."""


def read_ask(custodian: Custodian, ask: Ask) -> Ask:
    """The same ask, read; raises what is wrong with it.

    Reading can take longer than deciding.  Whoever reads each ask for itself keeps those of others from waiting for it.
    """
    return replace(ask, read=(custodian.settings, _read(custodian, ask)))


def ask_together(custodian: Custodian, asks: Sequence[Ask]) -> list[Outcome]:
    """What :meth:`~parcomp.custodian.Custodian.ask` gives or raises for each, in their order.

    Raises what concerns all of them: a ledger, a mark or a table that cannot be used.
    """
    with custodian._in_use():
        return _answered(custodian, asks)


def _read(custodian: Custodian, ask: Ask) -> Asked:
    if ask.read is not None and ask.read[0] is custodian.settings:
        return ask.read[1]
    return read_request(custodian.settings, ask.analyst, [ask.sql], single=True, **ask.costs)


def _answered(custodian: Custodian, asks: Sequence[Ask]) -> list[Outcome]:
    outcomes: dict[int, Outcome] = {}
    asked: dict[int, Asked] = {}
    for place, ask in enumerate(asks):
        try:
            asked[place] = _read(custodian, ask)
        except Exception as error:
            outcomes[place] = error
    if asked:
        table = custodian._table()
        custodian._mark_before()
        with custodian._opened_books():
            custodian._catch_up(custodian._ledger)
            custodian._batches.look_up(custodian._books, [one for each in asked.values() for one in each.releases])
            paid = _charge(custodian, asks, asked, outcomes)
        selections = [selection for place in paid for selection in asked[place].selections]
        releases = [release for place in paid for release in asked[place].releases]
        payments = [one for place in paid for one in paid[place]]
        stored = custodian._stored(table, Asked("", tuple(selections), tuple(releases), ""), payments)
        custodian._mark_after()
        for place, selection, release, payment in zip(paid, selections, releases, payments, strict=True):
            try:
                outcomes[place] = custodian._release(selection, release, *payment, stored)
            except Exception as error:
                outcomes[place] = error
    return [outcomes[place] for place in range(len(asks))]


def _charge(
    custodian: Custodian, asks: Sequence[Ask], asked: dict[int, Asked], outcomes: dict[int, Outcome]
) -> dict[int, Paid]:
    """What pays for each request, charged in one transaction where nothing does yet; errors are put into outcomes."""
    paid: dict[int, Paid] = {}
    known = custodian._books.number
    try:
        with custodian._ledger.transaction() as transaction:
            custodian._catch_up(transaction)
            known = custodian._books.number
            for place, one in asked.items():
                key = asks[place].key
                try:
                    already = custodian._paid(transaction, one, key)
                    # Nothing is written before all of a request is seen to fit.
                    due = custodian._due(one) if already is None else []
                except LedgerError:
                    raise
                except ParcompError as error:
                    outcomes[place] = error
                    continue
                paid[place] = custodian._append(transaction, one, due, key) if already is None else already
    except ParcompError:
        # Whether a failed commit stands is for the ledger to say, when the books catch up with it.
        custodian._books.take_back(known)
        raise
    return paid
