"""Queries that no row satisfies, for people: one misspelled value makes a query cost nothing, without a word."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcomp.errors import shown
from parcomp.tabular import counted

if TYPE_CHECKING:
    from parcomp.model import Query, Workload

__all__ = ["unsatisfiable"]

_NAMED = 3
"""So many are told one by one before the rest is only counted."""


def unsatisfiable(path: Path, workload: Workload) -> list[str]:
    """Notes on the queries of a workload, read from ``path``, that no row of the domain satisfies."""
    positions = workload.contradictory().nonzero()[0].tolist()
    if not positions:
        return []
    named = positions[:_NAMED]
    written = _written(path, named[-1] + 1)
    notes = []
    for position in named:
        if position < len(written):
            line, where = written[position]
            notes.append(f"{path}:{line}: no row satisfies this query: {_reason(workload[position], where)}")
        else:
            query = shown(workload.id_of(position))
            notes.append(f"{path}: no row satisfies the query {query}")
    if len(positions) > len(named):
        some = counted(len(positions), "query", "queries")
        notes.append(f"{path}: no row satisfies {some} of {len(workload):,}; the first {len(named)} are named")
    return notes


def _reason(query: Query, where: dict[str, Any]) -> str:
    """What cannot be satisfied: a value that the domain lacks, or else an attribute."""
    index = next(index for index, predicate in query.terms if predicate.is_contradiction)
    name = query.domain.names[index]
    written = where.get(name)
    if isinstance(written, list) and len(written) == 1:
        written = written[0]
    if name in where and not isinstance(written, (list, dict)):
        return f"{name} has no value {shown(written)}"
    return f"no declared value of {name} is one that it asks for"


def _written(path: Path, count: int) -> list[tuple[int, dict[str, Any]]]:
    """The first queries of a JSON Lines file as they are written, each with its line; nothing of other files.

    A pipe cannot be read a second time, and a file that has changed meanwhile says nothing of the workload.
    """
    if path.suffix.lower() != ".jsonl" or not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
            return [(number, dict(json.loads(line)["where"])) for number, line in islice(lines, count)]
    except (OSError, ValueError, LookupError, TypeError):
        return []
