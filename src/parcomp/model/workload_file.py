"""Workload files in JSON Lines: one query a line.

``{"id": "q7", "where": {"sex": "F", "age": [{"from": 20, "to": 39}, 65]}, "weight": 1}``

Layers above can register readers of other formats, by the suffix of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from parcomp.costs import COST_KINDS, Cost, amount_text
from parcomp.errors import CostError, DomainError, FileError, PredicateError, WorkloadError, shown
from parcomp.model.domain import Domain
from parcomp.model.notation import read_predicate
from parcomp.model.predicate import Predicate
from parcomp.model.text_file import parse_json, read_text
from parcomp.model.workload import QueryId, Workload, WorkloadBuilder, check_id

__all__ = ["WorkloadLoader", "load_workload", "register_workload_format", "save_workload"]

WorkloadLoader: TypeAlias = Callable[[Domain, str | Path], Workload]

_KEYS = ("id", "where", *COST_KINDS)


# A loader, or the "module:function" where it is found once it is needed.
_LOADERS: dict[str, WorkloadLoader | str] = {}


def register_workload_format(suffix: str, loader: WorkloadLoader | str) -> None:
    """Have files with this suffix read by ``loader``, a function or its ``module:name``, imported at first use."""
    _LOADERS[suffix] = loader


def load_workload(domain: Domain, path: str | Path) -> Workload:
    """Read a workload in the format that its suffix names."""
    suffix = Path(path).suffix.lower()
    if suffix not in _LOADERS:
        raise FileError(path, f"a workload file ends in {' or '.join(_LOADERS)}")
    loader = _LOADERS[suffix]
    if isinstance(loader, str):
        module, _, function = loader.partition(":")
        loader = _LOADERS[suffix] = getattr(import_module(module), function)
    return loader(domain, path)


def _load_json_lines(domain: Domain, path: str | Path) -> Workload:
    """Read a workload in JSON Lines; empty lines are passed over but count as lines."""
    built = WorkloadBuilder(domain)
    read_before: dict[tuple[str, str], Predicate] = {}
    for number, text in _lines(read_text(path)):
        fields = parse_json(path, text, first_line=number)
        if not isinstance(fields, dict):
            raise FileError(path, 'a query is an object such as {"where": {}}', line=number)
        for key in fields:
            if key not in _KEYS:
                raise FileError(path, f"unknown key; known here: {', '.join(_KEYS)}", line=number, field=key)
        query_id = _read_id(path, number, fields)
        terms = _read_where(domain, path, number, fields, read_before)
        cost = _read_cost(path, number, fields)
        try:
            built.add(terms, cost, query_id, number)
        except WorkloadError as error:
            raise FileError(path, str(error), line=number, field="id") from None
    return Workload.from_builder(built)


register_workload_format(".jsonl", _load_json_lines)


def save_workload(workload: Workload, path: str | Path) -> None:
    """Write a workload; :func:`load_workload` reads it back to the same queries, ids and costs."""
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


def _read_id(path: str | Path, number: int, fields: Mapping[str, Any]) -> QueryId | None:
    if "id" not in fields:
        return None
    try:
        return check_id(fields["id"])
    except WorkloadError as error:
        raise FileError(path, str(error), line=number, field="id") from None


def _read_where(
    domain: Domain,
    path: str | Path,
    number: int,
    fields: Mapping[str, Any],
    read_before: dict[tuple[str, str], Predicate],
) -> list[tuple[int, Predicate]]:
    if "where" not in fields:
        raise FileError(path, 'missing; a query over all rows has "where": {}', line=number, field="where")
    where = fields["where"]
    if not isinstance(where, dict):
        raise FileError(path, "must be an object of attributes and predicates", line=number, field="where")
    terms = {}
    for name, written in where.items():
        try:
            key = name, repr(written)
            index = domain.index(name)
            if key not in read_before:
                read_before[key] = read_predicate(domain.attributes[name], written)
            terms[index] = read_before[key]
        except (PredicateError, DomainError) as error:
            raise FileError(path, str(error), line=number, field=f"where.{name}") from None
        except RecursionError:
            raise FileError(path, "nested too deeply", line=number, field=f"where.{name}") from None
    return [(index, terms[index]) for index in sorted(terms)]


def _read_cost(path: str | Path, number: int, fields: Mapping[str, Any]) -> Cost | None:
    given = [kind for kind in COST_KINDS if kind in fields]
    if not given:
        return None
    if len(given) > 1:
        message = f"a query has one cost, not both {given[0]} and {given[1]}"
        raise FileError(path, message, line=number, field=given[1])
    amount = fields[given[0]]
    if isinstance(amount, bool) or not isinstance(amount, (int, Decimal)):
        raise FileError(path, f"must be a number, not {shown(amount)}", line=number, field=given[0])
    try:
        return Cost.of(given[0], amount)
    except CostError as error:
        raise FileError(path, str(error), line=number, field=given[0]) from None
