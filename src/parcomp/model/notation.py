"""How people write a predicate, in files and in Python, and back.

A predicate is written as a scalar, as a list of scalars and ranges (their union), or as ``{"not": …}``.  A range is
``{"from": a, "to": b}`` with both ends included, on a binned attribute ``{"from": a, "below": b}`` with the upper edge
not included; in Python ``between(a, b)`` is either.  The scalar null is the value null of a nullable attribute.  A
value of the right type that the attribute does not have is never satisfied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parcomp.errors import PredicateError, shown
from parcomp.model.attribute import Attribute, Value
from parcomp.model.predicate import Predicate

__all__ = ["Between", "between", "read_predicate", "write_predicate"]


@dataclass(frozen=True, slots=True)
class Between:
    """A range of values; made by :func:`between`."""

    low: object
    high: object


def between(low: object, high: object) -> Between:
    """The values from ``low`` to ``high``.

    Both ends are included; on a binned attribute both are bin edges and the upper one is not.
    """
    return Between(low, high)


def read_predicate(attribute: Attribute, written: object) -> Predicate:
    """The predicate that ``written`` stands for on ``attribute``.

    >>> from parcomp.model.attribute import Integer
    >>> age = Integer(0, 119)
    >>> read_predicate(age, [{"from": 20, "to": 39}, 65]).count
    21
    >>> read_predicate(age, {"not": between(20, 200)}).count
    20
    """
    if isinstance(written, Predicate):
        if written.size != attribute.size:
            raise PredicateError(f"the predicate is over {written.size} values, the attribute has {attribute.size}")
        return written
    if isinstance(written, Mapping) and "not" in written:
        _check_keys(written, {"not"})
        return ~read_predicate(attribute, written["not"])
    parts = written if isinstance(written, (list, tuple, set, frozenset, range)) else [written]
    runs = []
    for part in parts:
        if isinstance(part, Between):
            runs.append(attribute.run(part.low, part.high))
        elif isinstance(part, Mapping):
            runs.append(_read_range(attribute, part))
        elif isinstance(part, (list, tuple, set, frozenset)):
            raise PredicateError("a list within a list; a predicate is one list of scalars and ranges")
        else:
            code = attribute.code(part)
            if code is not None:
                runs.append((code, code + 1))
    return Predicate.from_runs(attribute.size, runs)


def write_predicate(attribute: Attribute, predicate: Predicate) -> Any:
    """The shortest notation of a predicate; :func:`read_predicate` reads it back to the same predicate."""
    parts = _write_runs(attribute, predicate)
    inverse = _write_runs(attribute, ~predicate)
    # Every declared value is not the same as no predicate, so it is listed.
    if inverse and len(inverse) < len(parts):
        return {"not": inverse[0] if len(inverse) == 1 else inverse}
    return parts[0] if len(parts) == 1 else parts


def _read_range(attribute: Attribute, written: Mapping[Any, Any]) -> tuple[int, int]:
    if "not" in written:
        raise PredicateError('"not" stands alone: {"not": [...]}')
    _check_keys(written, {"from", attribute.range_end})
    for key in ("from", attribute.range_end):
        if key not in written:
            raise PredicateError(f'the range lacks "{key}"; a range here is {{"from": …, "{attribute.range_end}": …}}')
    return attribute.run(written["from"], written[attribute.range_end])


def _check_keys(written: Mapping[Any, Any], known: set[str]) -> None:
    unknown = [key for key in written if key not in known]
    if unknown:
        raise PredicateError(f"unknown key {shown(unknown[0])}; here {' and '.join(sorted(known))} can stand")


def _write_runs(attribute: Attribute, predicate: Predicate) -> list[Value | dict[str, Value]]:
    parts: list[Value | dict[str, Value]] = []
    null = attribute.size - 1 if attribute.nullable else attribute.size
    for start, stop in predicate.runs():
        last = min(stop, null)
        if last - start > 2:
            parts.append({"from": attribute.value(start), attribute.range_end: attribute.edge(last)})
        else:
            parts.extend(attribute.value(code) for code in range(start, last))
        if stop > null:
            parts.append(None)
    return parts
