"""Workload files in JSON Lines: one query a line.

``{"id": "q7", "where": {"sex": "F", "age": [{"from": 20, "to": 39}, 65]}, "weight": 1}``

Other formats are read by the layers above, which are found by name when a file asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcomp.costs import COST_KINDS, Cost, amount_text
from parcomp.errors import CostError, DomainError, FileError, PredicateError, WorkloadError, shown
from parcomp.model.notation import read_predicate
from parcomp.model.predicate import Predicate
from parcomp.model.text_file import parse_json, read_text
from parcomp.model.workload_builder import WorkloadBuilder, check_id

if TYPE_CHECKING:
    from parcomp.model.workload import Workload

__all__ = ["read_workload", "save_workload"]

_KEYS = ("id", "where", *COST_KINDS)
_ELSEWHERE = {".sql": ("parcomp.sql.workload_file", "read_sql_workload")}
"""The module and the function that read files with another suffix."""


def read_workload(built: WorkloadBuilder, path: str | Path) -> None:
    """Read a workload in the format that its suffix names; in JSON Lines, empty lines only count as lines."""
    suffix = Path(path).suffix.lower()
    if suffix in _ELSEWHERE:
        module, function = _ELSEWHERE[suffix]
        read: Callable[[WorkloadBuilder, str | Path], None] = getattr(import_module(module), function)
        return read(built, path)
    if suffix != ".jsonl":
        raise FileError(path, f"a workload file ends in {' or '.join(('.jsonl', *_ELSEWHERE))}")
    read_before: dict[tuple[str, str], Predicate] = {}
    for number, text in _lines(read_text(path)):
        fields = parse_json(path, text, first_line=number)
        if not isinstance(fields, dict):
            raise FileError(path, 'a query is an object such as {"where": {}}', line=number)
        _add(built, path, number, fields, read_before)
    return None


def save_workload(workload: Workload, path: str | Path) -> None:
    """Write a workload; :func:`read_workload` reads it back to the same queries, ids and costs."""
    if Path(path).suffix.lower() != ".jsonl":
        raise FileError(path, "a workload is saved as .jsonl")
    with Path(path).open("w", encoding="utf-8") as file:
        for position, query in enumerate(workload):
            query_id, where = (json.dumps(x, ensure_ascii=False) for x in (workload.id_of(position), query.where()))
            cost = workload.cost_of(position)
            # A float does not hold every cost, so the number is written as text.
            file.write(f'{{"id": {query_id}, "where": {where}, "{cost.kind}": {amount_text(cost.units)}}}\n')


def _lines(text: str) -> Iterator[tuple[int, str]]:
    # Only \n ends a line: str.splitlines would also split at characters that JSON strings may hold.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _add(
    built: WorkloadBuilder,
    path: str | Path,
    number: int,
    fields: Mapping[str, Any],
    read_before: dict[tuple[str, str], Predicate],
) -> None:
    """Add the query of one line; ``read_before`` holds the predicates that were read so far."""
    field = None
    try:
        for field in fields:
            if field not in _KEYS:
                raise WorkloadError(f"unknown key; known here: {', '.join(_KEYS)}")
        field = "id"
        query_id = check_id(fields["id"]) if "id" in fields else None
        field = "where"
        if "where" not in fields:
            raise WorkloadError('missing; a query over all rows has "where": {}')
        if not isinstance(fields["where"], dict):
            raise WorkloadError("must be an object of attributes and predicates")
        terms = {}
        for name, written in fields["where"].items():
            field = f"where.{name}"
            key, index = (name, repr(written)), built.domain.index(name)
            if key not in read_before:
                read_before[key] = read_predicate(built.domain.attributes[name], written)
            terms[index] = read_before[key]
        given = [kind for kind in COST_KINDS if kind in fields]
        cost = None
        if given:
            field = given[-1]
            if len(given) > 1:
                raise CostError(f"a query has one cost, not both {given[0]} and {given[-1]}")
            if isinstance(fields[field], bool) or not isinstance(fields[field], (int, Decimal)):
                raise CostError(f"must be a number, not {shown(fields[field])}")
            cost = Cost.of(given[0], fields[field])
        field = "id"
        built.add(sorted(terms.items(), key=itemgetter(0)), cost, query_id, number)
    except (CostError, DomainError, PredicateError, WorkloadError) as error:
        raise FileError(path, str(error), line=number, field=field) from None
    except RecursionError:
        raise FileError(path, "nested too deeply", line=number, field=field) from None
