"""Predicates and statements in a few words, for labels and lists."""

from __future__ import annotations

import json
from collections.abc import Mapping

__all__ = ["predicate_in_words", "statement_in_words"]


def predicate_in_words(written: object) -> str:
    """A predicate as a workload file has it, in words.

    >>> predicate_in_words(["A", "C"]), predicate_in_words({"not": "B"}), predicate_in_words({"from": 20, "to": 39})
    ('A or C', 'not B', '20 to 39')
    """
    match written:
        case []:
            return "nothing"
        case list():
            return " or ".join(map(predicate_in_words, written))
        case {"not": excluded}:
            return f"not {predicate_in_words(excluded)}"
        case {"from": low, "below": high}:
            return f"{low} to below {high}"
        case {"from": low, "to": high}:
            return f"{low} to {high}"
        case None:
            return "null"
        case _:
            return str(written)


def statement_in_words(text: str) -> str:
    """A statement's canonical text, in words: what is measured, of which rows, in which groups.

    >>> statement_in_words('{"attribute":"age","groups":["sex"],"kind":"average","where":[{"region":"N"}]}')
    'average age where region N, by sex'
    """
    fields = json.loads(text)
    what = fields["kind"] if "attribute" not in fields else f"{fields['kind']} {fields['attribute']}"
    rows = " or ".join(f"({_where(one)})" if len(fields["where"]) > 1 else _where(one) for one in fields["where"])
    where = f" where {rows}" if rows else " of every row" if fields["where"] else " of no row"
    return what + where + (f", by {', '.join(fields['groups'])}" if "groups" in fields else "")


def _where(where: Mapping[str, object]) -> str:
    return " and ".join(f"{name} {predicate_in_words(written)}" for name, written in where.items())
