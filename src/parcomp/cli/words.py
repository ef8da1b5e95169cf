"""Statements in a few words, for labels and lists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from parcomp.figures import conditions_in_words, count_in_words, is_one_value, predicate_in_words
from parcomp.tabular import counted

if TYPE_CHECKING:
    from parcomp.model import Attribute, Binned, Domain

__all__ = ["statement_in_words", "where_in_words"]

_LISTED = 6
"""How many categories are listed before the rest is only counted."""

_NAMED = 3
"""How many statements of a strategy are told before the rest is only counted."""

_DIGITS = 12
"""How much of a digest is shown."""


def statement_in_words(text: str, domain: Domain | None = None) -> str:
    """A statement's canonical text, in words: what is measured, of which rows, in which groups.

    With a domain, categories are listed, which have no order that a range could be told by, and levels are named.

    >>> statement_in_words('{"attribute":"age","groups":["sex"],"kind":"average","where":[{"region":"N"}]}')
    'average age where region = N, by sex'
    >>> statement_in_words('{"groups":[{"attribute":"age","bands":[["young",{"from":0,"to":29}]]}],"items":'
    ...     '[{"kind":"count"},{"at":"1/2","attribute":"pay","kind":"quantile"}],"where":[{}]}')
    'count and median pay of every row, by age in 1 band'
    >>> statement_in_words('{"domain":"…","kind":"load","rows":"0123456789abcdef"}')
    'load of rows 0123456789ab'
    >>> counted = '{"kind":"count","where":[{"sex":"F"}]},{"kind":"count","where":[{}]}'
    >>> statement_in_words('{"kind":"strategy","statements":[' + counted + '],"strategy":"atoms"}')
    '2 statements measured together by atoms: count where sex = F; count of every row'
    """
    fields = json.loads(text)
    if fields.get("kind") == "strategy":
        return _strategy(fields, domain)
    if fields.get("kind") == "load":
        return f"load of rows {fields['rows'].rpartition(':')[2][:_DIGITS]}"
    what = " and ".join(_item(item) for item in fields.get("items", [fields])) or "the groups"
    told = [_where(one, domain) for one in fields["where"]]
    rows = " or ".join(f"({one})" if len(told) > 1 else one for one in told)
    where = f" where {rows}" if rows else " of every row" if fields["where"] else " of no row"
    return (
        what
        + where
        + (f", by {', '.join(_group(one, domain) for one in fields['groups'])}" if "groups" in fields else "")
    )


def _strategy(fields: Mapping[str, Any], domain: Domain | None) -> str:
    """A batch that was measured as a whole, with its first statements."""
    statements = fields["statements"]
    told = [statement_in_words(json.dumps(one), domain) for one in statements[:_NAMED]]
    more = f"; {len(statements) - _NAMED:,} more" if len(statements) > _NAMED else ""
    how = {"correlated": "a correlated strategy", "atoms": "atoms"}.get(fields["strategy"], fields["strategy"])
    return f"{counted(len(statements), 'statement')} measured together by {how}: {'; '.join(told)}{more}"


def _item(item: Mapping[str, object]) -> str:
    """What is asked for in each group."""
    kind, place = str(item["kind"]), item.get("at")
    if place is not None:
        kind = "median" if place == "1/2" else f"quantile {place}"
    of_rows = " (of the rows)" if item.get("of") == "rows" else ""
    return (f"{kind} {item['attribute']}" if "attribute" in item else kind) + of_rows


def _group(group: str | Mapping[str, Any], domain: Domain | None) -> str:
    """A key of GROUP BY: an attribute, a level, or bands of an attribute."""
    if isinstance(group, str):
        return group
    bands = [(label, written) for label, written in group["bands"] if label is not None]
    for level, groups in _levels(group["attribute"], domain):
        if bands == groups:
            return level
    return f"{group['attribute']} in {counted(len(group['bands']), 'band')}"


def where_in_words(where: Mapping[str, Any], domain: Domain | None = None) -> str:
    """A count of the rows that satisfy these predicates, which are as a workload file has them."""
    return count_in_words(where, lambda name, written: _condition(name, written, domain))


def _where(where: Mapping[str, Any], domain: Domain | None) -> str:
    return conditions_in_words(where, lambda name, written: _condition(name, written, domain))


def _condition(name: str, written: object, domain: Domain | None) -> str:
    for level, groups in _levels(name, domain):
        for label, members in groups:
            if written == members and not is_one_value(written):
                return f"{level} = {label}"
    attribute = None if domain is None else domain.attributes.get(name)
    listed = _listed(written, attribute)
    told = predicate_in_words(listed)
    return f"{name} = {told}" if is_one_value(listed) else f"{name} {told}"


def _levels(name: str, domain: Domain | None) -> Iterator[tuple[str, list[tuple[str, object]]]]:
    """The levels of an attribute, each with its groups and their values in the canonical notation."""
    from parcomp.model import write_predicate

    if domain is None or name not in domain.attributes:
        return
    attribute = domain.attributes[name]
    for level_name, (index, level) in domain.levels.items():
        if domain.names[index] == name:
            pairs = zip(level.groups, level.members, strict=True)
            yield level_name, [(label, write_predicate(attribute, member)) for label, member in pairs]


def _listed(written: object, attribute: Attribute | None) -> object:
    """A predicate in which runs of categories are lists of them, and bins are told by both ends."""
    from parcomp.model import Binned, Categorical

    if isinstance(attribute, Binned):
        return _bins(written, attribute)
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


def _bins(written: object, attribute: Binned) -> object:
    """A predicate on bins, of which one is named by its lower edge."""
    if isinstance(written, list):
        return [_bins(one, attribute) for one in written]
    if isinstance(written, dict) and "not" in written:
        return {"not": _bins(written["not"], attribute)}
    if not is_one_value(written) or written is None:
        return written
    code = attribute.code(written)
    if code is None:
        return written
    return {"from": written, "below": attribute.edge(code + 1)}
