"""Files of noisy answers and of facts, in JSON Lines.

An answer a line: ``{"id": "q7", "value": 1204, "scale": 14.1}``.  What ``parcomp batch --json`` prints is read as it
is: an answer without an id belongs to the query of the same number, and the scale follows from ``expected_error``.  A
fact a line: ``{"where": {"sex": "F"}, "value": 25102}``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from parcomp.errors import DomainError, FileError, PredicateError, shown
from parcomp.estimation.noises import Noise, scales_by_error
from parcomp.model import Domain, Query, QueryId, parse_json, read_text

__all__ = ["read_answers", "read_facts"]

_OF_AN_ANSWER = ("id", "value", "scale", "expected_error")
_BESIDE_IT = ("cached", "charge", "cost", "interval", "names", "notes")
"""What an answer of a custodian says beside its number, which is of no use here."""

_OF_A_FACT = ("id", "where", "value")


def read_answers(path: str | Path, noise: Noise) -> tuple[dict[QueryId, float], dict[QueryId, float] | None]:
    """The values by id, and the scales; None for these where no line has one.  Empty lines only count as lines."""
    values: dict[QueryId, float] = {}
    scales: dict[QueryId, float] = {}
    for number, (line, fields) in enumerate(_objects(path, 'an answer is an object such as {"id": 1, "value": 12}'), 1):
        _check_keys(path, line, fields, _OF_AN_ANSWER, _BESIDE_IT)
        query_id = fields.get("id", number)
        if isinstance(query_id, bool) or not isinstance(query_id, (str, int)):
            raise FileError(path, f"must be text or a whole number, not {shown(query_id)}", line=line, field="id")
        if query_id in values:
            raise FileError(path, f"{shown(query_id)} was answered before", line=line, field="id")
        values[query_id] = _number(path, line, fields, "value")
        given = [name for name in ("scale", "expected_error") if name in fields]
        if bool(given) != bool(scales) and len(values) > 1:
            raise FileError(path, "either all answers state the scale of their noise, or none", line=line)
        if given:
            number_given = _number(path, line, fields, given[0], least=0.0)
            by_error = given[0] == "expected_error"
            scales[query_id] = float(scales_by_error(noise, np.array([number_given]))[0]) if by_error else number_given
    return values, scales or None


def read_facts(domain: Domain, path: str | Path) -> dict[Query, float]:
    """Public counts by query."""
    facts: dict[Query, float] = {}
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
    return facts


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
    if not math.isfinite(number):
        what = "" if given is None else f", not {shown(given)}"
        raise FileError(path, f"must be a number{what}", line=line, field=field)
    if number < least:
        raise FileError(path, f"must be at least {least:g}, not {shown(given)}", line=line, field=field)
    return number
