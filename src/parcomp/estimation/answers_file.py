"""Files of noisy answers and of facts, in JSON Lines.

An answer a line: ``{"id": "q7", "value": 1204, "scale": 14.1}``.  What ``parcomp batch --json`` prints is read as it
is: an answer without an id belongs to the query in the same place, the kind of the noise follows from ``measure``, and
its scale from ``expected_error``.  A fact a line: ``{"where": {"sex": "F"}, "value": 25102}``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from parcomp.errors import DomainError, FileError, PredicateError, shown
from parcomp.estimation.noises import LARGEST, Noise, noise_of, noise_under, scales_by_error
from parcomp.model import Domain, Query, QueryId, Workload, parse_json, read_text
from parcomp.privacy import MEASURES

__all__ = ["Answers", "read_answers", "read_facts"]

_OF_AN_ANSWER = ("id", "value", "scale", "expected_error", "measure")
_BESIDE_IT = (
    *("approximate", "cached", "charge", "cost", "errors", "estimate", "estimate_interval"),
    *("estimate_method", "interval", "names"),
    *("notes", "rehearsed", "rows_per_person"),
)
"""What an answer of a custodian says beside its number, which is of no use here."""

_OF_A_FACT = ("id", "where", "value")


_ELSEWHERE = {
    "groups": "an answer with GROUP BY has a number for each group; ask for each by a statement of its own",
    "columns": "an answer with several numbers is no count; ask for COUNT(*) by a statement of its own",
    "strategy": "answers of a strategy have noise that goes together, which a file does not tell; for estimates from "
    "them, ask with --estimate, or use: parcomp estimate -c",
    "derived": "a derived answer has the noise of those that it follows from; take these, or use: parcomp estimate -c",
}
"""What an answer has that is no single count with noise of its own."""


@dataclass(frozen=True, slots=True)
class Answers:
    """A file of answers: their values by the ids of the queries, and what it says of their noise.

    ``scales`` is None where no line has one, and ``noise`` where neither the lines nor the caller say of which kind it
    is.
    """

    values: dict[QueryId, float]
    scales: dict[QueryId, float] | None
    noise: Noise | None


def read_answers(path: str | Path, workload: Workload, noise: str | None = None) -> Answers:
    """The answers of a file to the queries of a workload; empty lines only count as lines.

    The kind of the noise is the one that the lines' measures say; one that is named must be the same.
    """
    lines = list(_objects(path, 'an answer is an object such as {"id": 1, "value": 12}'))
    for line, fields in lines:
        for field, instead in _ELSEWHERE.items():
            if field in fields:
                raise FileError(path, instead, line=line, field=field)
        _check_keys(path, line, fields, _OF_AN_ANSWER, _BESIDE_IT)
    said = _said_noise(path, lines, None if noise is None else noise_of(workload, noise))
    kind = noise_of(workload, said)
    if len(lines) != len(workload) and lines and not any("id" in fields for _, fields in lines):
        raise FileError(
            path,
            f"{len(lines):,} answers without an id stand for {len(workload):,} queries; "
            "have one for each query, in their order, or give each the id of its query",
        )
    values: dict[QueryId, float] = {}
    scales: dict[QueryId, float] = {}
    for place, (line, fields) in enumerate(lines):
        query_id = _id(path, line, fields, workload, place)
        if query_id in values:
            raise FileError(path, f"{shown(query_id)} was answered before", line=line, field="id")
        values[query_id] = _number(path, line, fields, "value")
        given = [name for name in ("scale", "expected_error") if name in fields]
        if bool(given) != bool(scales) and len(values) > 1:
            raise FileError(path, "either all answers state the scale of their noise, or none", line=line)
        if given:
            number = _number(path, line, fields, given[0], least=0.0)
            by_error = given[0] == "expected_error"
            scales[query_id] = float(scales_by_error(kind, np.array([number]))[0]) if by_error else number
    return Answers(values, scales or None, said)


class Facts(dict[Query, float]):
    """Public counts by query, with the line of each, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[int] = []


def read_facts(domain: Domain, path: str | Path) -> Facts:
    """Public counts by query."""
    facts = Facts()
    for line, fields in _objects(path, 'a fact is an object such as {"where": {}, "value": 12}'):
        _check_keys(path, line, fields, _OF_A_FACT)
        where = fields.get("where")
        if not isinstance(where, dict):
            raise FileError(path, "must be an object of attributes and predicates", line=line, field="where")
        try:
            query = domain.query(where)
        except (DomainError, PredicateError) as error:
            raise FileError(path, str(error), line=line, field="where") from None
        if query in facts:
            raise FileError(path, "the same fact was stated before", line=line, field="where")
        facts[query] = _number(path, line, fields, "value", least=0.0)
        facts.lines.append(line)
    return facts


def _id(path: str | Path, line: int, fields: dict[str, Any], workload: Workload, place: int) -> QueryId:
    """The query that an answer belongs to: the one that it names, else the one in the same place."""
    if "id" not in fields:
        if place >= len(workload):
            what = f"has no id, and is answer {place + 1:,} where there are {len(workload):,} queries"
            raise FileError(path, f"{what}; give each answer the id of its query", line=line)
        return workload.id_of(place)
    given = fields["id"]
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise FileError(path, f"must be text or a whole number, not {shown(given)}", line=line, field="id")
    return given


def _said_noise(path: str | Path, lines: list[tuple[int, dict[str, Any]]], named: Noise | None) -> Noise | None:
    """The kind of noise that the lines' measures say, else the one that is named."""
    first = None
    for line, fields in lines:
        measure = fields.get("measure")
        if measure is not None and measure not in MEASURES:
            raise FileError(path, f"must be {', '.join(MEASURES)}, not {shown(measure)}", line=line, field="measure")
        if line == lines[0][0]:
            first = measure
        if measure != first:
            message = "all answers are of one measure, and all say it or none; put those of others in another file"
            raise FileError(path, message, line=line, field="measure")
    if first is None:
        return named
    noise = noise_under(first)
    if named not in (None, noise):
        message = f"answers of {first} have {noise} noise, not {named}; leave out --noise, as the lines say it"
        raise FileError(path, message, line=lines[0][0], field="measure")
    return noise


def _objects(path: str | Path, what: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The object of each line that is not empty, with the line's number."""
    for line, text in enumerate(read_text(path).split("\n"), 1):
        if text.strip():
            fields = parse_json(path, text, first_line=line)
            if not isinstance(fields, dict):
                raise FileError(path, what, line=line)
            yield line, fields


def _check_keys(
    path: str | Path, line: int, fields: dict[str, Any], known: tuple[str, ...], beside: tuple[str, ...] = ()
) -> None:
    for field in fields:
        if field not in known and field not in beside:
            raise FileError(path, f"unknown key; known here: {', '.join(known)}", line=line, field=field)


def _number(path: str | Path, line: int, fields: dict[str, Any], field: str, least: float = -math.inf) -> float:
    given = fields.get(field)
    try:
        number = math.nan if isinstance(given, bool) or not isinstance(given, (int, Decimal)) else float(given)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        what = "" if given is None else f", not {shown(given)}"
        raise FileError(path, f"must be a number{what}", line=line, field=field)
    if abs(number) > LARGEST:
        raise FileError(path, f"must be between -1e15 and 1e15, not {shown(given)}", line=line, field=field)
    if number < least:
        raise FileError(path, f"must be at least {least:g}, not {shown(given)}", line=line, field=field)
    return number
