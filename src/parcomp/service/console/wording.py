"""Charged statements in SQL again: the ledger keeps what was asked free of its wording, and people read SQL.

A statement is written from its canonical text.  What is written is for the eye, and where it stands for the statement
again it is parsed and compared first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from parcomp.errors import ParcompError
from parcomp.model import Attribute, Binned, Categorical, Dated, Domain, Integer, read_predicate
from parcomp.sql import parse_statement

__all__ = ["keys_of", "sql_of"]

_K = TypeVar("_K")

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FUNCTIONS = {"sum": "SUM", "average": "AVG", "variance": "VARIANCE", "deviation": "STDDEV"}
_OF_ROWS = {"variance": "VAR_POP", "deviation": "STDDEV_POP"}
_RESERVED = """
all and as asc between by case count date desc distinct else end false floor from group having in interval is limit not
null or order select sum table then time timestamp true user values when where
"""
_WORDS = frozenset(_RESERVED.split())


_MOST_KEPT = 1 << 17
"""Statements and predicates whose words are kept, for each domain."""

_MOST_DOMAINS = 4

_SHOWN = 20
"""How many statements of a strategy are written."""


class _Written:
    """What was written over one domain: few predicates make up many statements, and who filters reads all of them."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.statements: dict[str, str] = {}
        self.predicates: dict[tuple[str, str], str] = {}


_recent: list[_Written] = []


def _written_of(domain: Domain) -> _Written:
    for one in _recent:
        if one.domain is domain:
            return one
    found = _Written(domain)
    _recent.append(found)
    del _recent[:-_MOST_DOMAINS]
    return found


def _keep(words: dict[_K, str], key: _K, text: str) -> None:
    if len(words) >= _MOST_KEPT:
        words.clear()
    words[key] = text


def sql_of(domain: Domain, text: str) -> str:
    """The SQL of a statement's canonical text.

    >>> from parcomp import Categorical, Domain, Integer
    >>> people = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)}, name="people")
    >>> sql_of(people, '{"groups":["sex"],"kind":"count","where":[{"age":{"from":65,"to":119}}]}')
    'SELECT sex, COUNT(*) FROM people WHERE age >= 65 GROUP BY sex'
    """
    written = _written_of(domain).statements
    sql = written.get(text)
    if sql is None:
        document = json.loads(text)
        if document.get("kind") == "strategy":
            return _strategy_sql(domain, document)
        keys = keys_of(domain, document)
        items = [_item(one) for one in document.get("items", [document])]
        sql = f"SELECT {', '.join([*keys, *items])} FROM {_name(domain.name)}"
        where = _where(domain, document.get("where", [{}]))
        sql += (f" WHERE {where}" if where else "") + (f" GROUP BY {', '.join(keys)}" if keys else "")
        _keep(written, text, sql)
    return sql


def _strategy_sql(domain: Domain, document: Mapping[str, Any]) -> str:
    """The statements of a batch that was measured as a whole, the first ones if there are many."""
    statements = document["statements"]
    lines = [f"-- {len(statements):,} statements, measured together ({document['strategy']})"]
    for one in statements[:_SHOWN]:
        lines.append(f"{sql_of(domain, json.dumps(one, ensure_ascii=False, sort_keys=True))};")
    if len(statements) > _SHOWN:
        lines.append(f"-- and {len(statements) - _SHOWN:,} more")
    return "\n".join(lines)


def keys_of(domain: Domain, document: Mapping[str, Any]) -> list[str]:
    """What a statement groups by, each key in SQL, given its canonical text as a document."""
    return [_key(domain, one) for one in document.get("groups", ())]


def _item(item: Mapping[str, Any]) -> str:
    kind = item["kind"]
    if kind == "count" and "attribute" not in item:
        return "COUNT(*)"
    name = item["attribute"]
    if kind == "count":
        return f"COUNT({_name(name)})"
    if kind == "distinct":
        return f"COUNT(DISTINCT {_name(name)})"
    if kind == "quantile":
        above, _, below = str(item["at"]).partition("/")
        if (above, below) == ("1", "2"):
            return f"MEDIAN({_name(name)})"
        place = int(above) / int(below or "1")
        return f"PERCENTILE_CONT({place:.6g}) WITHIN GROUP (ORDER BY {_name(name)})"
    function = _OF_ROWS[kind] if item.get("of") == "rows" else _FUNCTIONS[kind]
    return f"{function}({_name(name)})"


def _key(domain: Domain, key: Any) -> str:
    if isinstance(key, str):
        return _name(key)
    for written in _short_keys(domain, key):
        if _is_key(domain, written, key):
            return written
    name = key["attribute"]
    cases = [
        f"WHEN {_predicate(domain, name, accepted)} THEN {_literal(label)}"
        for label, accepted in key["bands"]
        if label is not None
    ]
    return f"CASE {' '.join(cases)} END"


def _short_keys(domain: Domain, key: Mapping[str, Any]) -> Iterator[str]:
    """Shorter ways to write what may be these bands: a level, equal widths, units of time."""
    name, labels = key["attribute"], [label for label, _ in key["bands"] if label is not None]
    attribute = domain.attributes[name]
    column = _name(name)
    yield from map(_name, getattr(attribute, "levels", None) or ())
    if isinstance(attribute, Dated):
        yield from (f"DATE_TRUNC('{unit}', {column})" for unit in ("month", "year", "quarter", "week"))
        # Of these every band is scattered over all years, and written out names each day.
        yield f"DAYNAME({column})"
        yield from (f"EXTRACT({unit} FROM {column})" for unit in ("year", "quarter", "month", "day", "dow", "hour"))
    elif len(labels) > 1 and all(isinstance(label, int) for label in labels):
        width = labels[-1] - labels[-2]
        yield f"FLOOR({column} / {width}) * {width}"
        if width == 1 and isinstance(attribute, Integer):
            yield from (f"FLOOR({column} / {wide})" for wide in _widths(key))


def _widths(key: Mapping[str, Any]) -> Iterator[int]:
    for _, accepted in key["bands"][1:2]:
        if isinstance(accepted, Mapping) and {"from", "to"} <= set(accepted):
            yield accepted["to"] - accepted["from"] + 1


def _is_key(domain: Domain, written: str, key: Any) -> bool:
    """Whether these words group by exactly these bands."""
    try:
        statement = parse_statement(domain, f"SELECT COUNT(*) FROM {_name(domain.name)} GROUP BY {written}")
    except ParcompError:
        return False
    return bool(json.loads(statement.text)["groups"] == [key])


def _where(domain: Domain, conjunctions: list[Mapping[str, Any]]) -> str:
    if not conjunctions:
        return "FALSE"
    parts = [
        [_predicate(domain, name, accepted) for name, accepted in conjunction.items()] for conjunction in conjunctions
    ]
    if any(not part for part in parts):
        return ""
    if len(parts) == 1:
        return " AND ".join(f"({one})" if _is_or(one) and len(parts[0]) > 1 else one for one in parts[0])
    return " OR ".join(f"({' AND '.join(f'({one})' if _is_or(one) else one for one in part)})" for part in parts)


def _is_or(written: str) -> bool:
    return " OR " in written


def _predicate(domain: Domain, name: str, accepted: Any) -> str:
    words, key = _written_of(domain).predicates, (name, repr(accepted))
    text = words.get(key)
    if text is None:
        text = _predicate_text(domain, name, accepted)
        _keep(words, key, text)
    return text


def _predicate_text(domain: Domain, name: str, accepted: Any) -> str:
    attribute, column = domain.attributes[name], _name(name)
    runs = list(read_predicate(attribute, accepted).runs())
    null = attribute.null
    declared = [(start, min(stop, null)) for start, stop in runs if start < null]
    with_null = attribute.nullable and any(stop > null for _, stop in runs)
    if isinstance(attribute, Categorical):
        values = [_literal(attribute.value(code)) for start, stop in declared for code in range(start, stop)]
        listed = f"{column} = {values[0]}" if len(values) == 1 else f"{column} IN ({', '.join(values)})"
        parts = [listed] if values else []
    else:
        parts = [_range(attribute, column, start, stop) for start, stop in declared]
    if with_null:
        parts.append(f"{column} IS NULL")
    return " OR ".join(parts) or "FALSE"


def _range(attribute: Attribute, column: str, start: int, stop: int) -> str:
    """A run of codes; a side is left out where the run goes to the end, unless it is the whole."""
    first, last = start == 0, stop == attribute.null
    low = _literal(attribute.value(start))
    if isinstance(attribute, Binned):
        above, below = f"{column} >= {low}", f"{column} < {_literal(attribute.edge(stop))}"
        return below if first and not last else above if last and not first else f"{above} AND {below}"
    high = _literal(attribute.value(stop - 1))
    if stop == start + 1:
        return f"{column} = {low}"
    if first is last:
        return f"{column} BETWEEN {low} AND {high}"
    return f"{column} <= {high}" if first else f"{column} >= {low}"


def _name(name: str) -> str:
    if _PLAIN.fullmatch(name) and name.lower() not in _WORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)
