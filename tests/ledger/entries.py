"""Bindings and entries for tests of the ledger."""

from __future__ import annotations

import json

from parcomp import Categorical, Domain, Integer
from parcomp.ledger import Binding
from parcomp.ledger.charge import Entry
from parcomp.privacy.measures import PURE

DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 9)}, name="people")
BINDING = Binding.of("people", "1", DOMAIN, PURE, 1_000_000, source="people.csv")


def entry(units: int = 1, upper: int = 0, analyst: str = "anna", note: str = "", batch: str = "") -> Entry:
    """A charge for women; ``note`` is kept in its statement."""
    where = {"sex": "F"}
    statement = json.dumps({"kind": "count", "where": [where], "note": note}, ensure_ascii=False)
    return Entry("2026-01-31T12:00:00Z", analyst, statement, json.dumps(where), units, max(upper, units), batch)


def note_of(statement: str) -> str:
    """What :func:`entry` was given to keep."""
    return str(json.loads(statement)["note"])
