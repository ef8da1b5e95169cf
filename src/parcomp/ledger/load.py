"""Loads: which rows a table has, and which values are declared, from some place of the chain on.

A table that grows keeps its ledger.  Each time it is read anew an entry is appended to the chain that says under which
domain, which may extend the one before, and which rows were read.  It charges nothing: its units are 0, its ``where``
is ``{}`` and its ``upper`` that of the entry before.  Its statement is canonical JSON,

    ``{"domain": …, "kind": "load", "rows": …}``

with the domain as in the binding, and the seal (:mod:`parcomp.ledger.seal`) of the coded rows.

*Why the loss is right.*  A charge counted exactly the rows whose tested attributes had one of the values that were
declared at its time and that it accepted.  So it is read under the domain of its time, and its query is taken over to
the last one by :func:`~parcomp.model.lift`: on tested attributes the same values, elsewhere all.  A row with a value
that was declared later was outside at that time, and was counted by those charges only that did not test the attribute;
and they cover every value.  So the charges that can have counted a row of the last domain, in any load, are among those
that cover it, and what they spend is at most the maximum overlap over the last domain.  A row that is still outside
is counted by no more charges than a row with declared values in place of those that are not.

*Precondition*: a load changes no row that an earlier one has taken.  Rows may be added, and left out.

Values that are declared later are covered only by charges that did not test their attribute.  Where analysts always
ask about dates, tomorrow's rows come with an untouched budget.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from parcomp.errors import LedgerError, ParcompError, shown
from parcomp.ledger.binding import domain_text, read_domain_text
from parcomp.ledger.charge import Charge, Entry, utc_now
from parcomp.ledger.seal import seal
from parcomp.model import Domain, check_extension, parse_json

__all__ = ["Load"]


@dataclass(frozen=True, slots=True)
class Load:
    """What a load entry says: the domain in canonical JSON, and the seal of the coded rows."""

    domain: str
    rows: str

    def __post_init__(self) -> None:
        for name in ("domain", "rows"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise LedgerError(f"the {name} of a load must be a text, not {shown(value)}")

    @classmethod
    def of(cls, domain: Domain, rows: str) -> Load:
        """The load of rows with this digest, under this domain."""
        if not isinstance(rows, str) or not rows:
            raise LedgerError(f"the rows of a load must be a text, not {shown(rows)}")
        return cls(domain_text(domain), seal(rows))

    @classmethod
    def read(cls, charge: Charge) -> Load:
        """What an entry of the chain says; an error if it is no load."""
        try:
            document = parse_json("statement", charge.statement)
            if document["kind"] == "load" and len(document) == 3:
                return cls(document["domain"], document["rows"])
        except (ParcompError, KeyError, TypeError):
            pass
        raise LedgerError("it charges nothing, and it is no load of the table either; see: parcomp ledger verify")

    def entry(self, upper: int) -> Entry:
        """What is appended to the chain; ``upper`` is that of the last entry, 0 if there is none."""
        fields = {"kind": "load", "domain": self.domain, "rows": self.rows}
        statement = json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return Entry(utc_now(), "", statement, "{}", 0, upper)

    def extending(self, before: Domain, known: Domain | None = None) -> Domain:
        """The domain from here on, ``known`` if it is that; an error if it does not extend the one before."""
        if domain_text(before) == self.domain:
            return before
        domain = read_domain_text(self.domain, known)
        try:
            check_extension(before, domain)
        except ParcompError as error:
            raise LedgerError(f"the load is under a domain that does not extend the one before ({error})") from None
        return domain
