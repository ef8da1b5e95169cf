"""Predicates and statements in a few words, for labels and lists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parcomp.model import Attribute, Domain

__all__ = ["predicate_in_words", "statement_in_words"]

_LISTED = 6
"""How many categories are listed before the rest is only counted."""

_DIGITS = 12
"""How much of a digest is shown."""


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


def statement_in_words(text: str, domain: Domain | None = None) -> str:
    """A statement's canonical text, in words: what is measured, of which rows, in which groups.

    With a domain, categories are listed, which have no order that a range could be told by.

    >>> statement_in_words('{"attribute":"age","groups":["sex"],"kind":"average","where":[{"region":"N"}]}')
    'average age where region N, by sex'
    >>> statement_in_words('{"groups":[{"attribute":"age","bands":[["young",{"from":0,"to":29}]]}],"items":'
    ...     '[{"kind":"count"},{"at":"1/2","attribute":"pay","kind":"quantile"}],"where":[{}]}')
    'count and median pay of every row, by age in 1 band'
    >>> statement_in_words('{"domain":"…","kind":"load","rows":"0123456789abcdef"}')
    'load of rows 0123456789ab'
    """
    fields = json.loads(text)
    if fields.get("kind") == "load":
        return f"load of rows {fields['rows'].rpartition(':')[2][:_DIGITS]}"
    what = " and ".join(_item(item) for item in fields.get("items", [fields])) or "the groups"
    told = [_where(one, domain) for one in fields["where"]]
    rows = " or ".join(f"({one})" if len(told) > 1 else one for one in told)
    where = f" where {rows}" if rows else " of every row" if fields["where"] else " of no row"
    return what + where + (f", by {', '.join(map(_group, fields['groups']))}" if "groups" in fields else "")


def _item(item: Mapping[str, object]) -> str:
    """What is asked for in each group."""
    kind, place = str(item["kind"]), item.get("at")
    if place is not None:
        kind = "median" if place == "1/2" else f"quantile {place}"
    of_rows = " (of the rows)" if item.get("of") == "rows" else ""
    return (f"{kind} {item['attribute']}" if "attribute" in item else kind) + of_rows


def _group(group: str | Mapping[str, Sequence[object]]) -> str:
    """A key of GROUP BY."""
    if isinstance(group, str):
        return group
    count = len(group["bands"])
    return f"{group['attribute']} in {count:,} band{'' if count == 1 else 's'}"


def _where(where: Mapping[str, object], domain: Domain | None) -> str:
    attributes = {} if domain is None else domain.attributes
    return " and ".join(
        f"{name} {predicate_in_words(_listed(written, attributes.get(name)))}" for name, written in where.items()
    )


def _listed(written: object, attribute: Attribute | None) -> object:
    """A predicate in which runs of categories are lists of them."""
    from parcomp.model import Categorical

    if not isinstance(attribute, Categorical):
        return written
    if isinstance(written, list):
        parts = [_listed(one, attribute) for one in written]
        return [one for part in parts for one in (part if isinstance(part, list) else [part])]
    if not isinstance(written, dict) or set(written) != {"from", "to"}:
        return written
    values = list(attribute.values)
    if written["from"] not in values or written["to"] not in values:
        return written
    run = values[values.index(written["from"]) : values.index(written["to"]) + 1]
    return run if len(run) <= _LISTED else [run[0], f"{len(run) - 2:,} more", run[-1]]
