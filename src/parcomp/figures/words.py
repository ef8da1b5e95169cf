"""Predicates in a few words, as ledgers, answers and estimates say them; told from what a workload file has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from parcomp.tabular import label_text

__all__ = ["conditions_in_words", "count_in_words", "is_one_value", "predicate_in_words"]

_PLAIN = 1e15
"""Below this, a whole float is the integer that it is written as."""


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
            return f"{_value(low)} to below {_value(high)}"
        case {"from": low, "to": high}:
            return f"{_value(low)} to {_value(high)}"
        case _:
            return _value(written)


def is_one_value(written: object) -> bool:
    """Whether a predicate is a single value."""
    return not isinstance(written, (list, dict))


def conditions_in_words(where: Mapping[str, Any], listed: Callable[[str, Any], str] | None = None) -> str:
    """What rows have to satisfy; ``listed`` may know other words for an attribute and its predicate.

    Attributes are sorted by their names, as in the canonical text of a statement, so that words can be joined by.

    >>> conditions_in_words({"region": "East", "grade": {"from": 4, "to": 12}})
    'grade 4 to 12 and region = East'
    """
    say = listed or _condition
    return " and ".join(say(name, where[name]) for name in sorted(where))


def count_in_words(where: Mapping[str, Any], listed: Callable[[str, Any], str] | None = None) -> str:
    """A count of the rows that satisfy a predicate for each attribute.

    >>> count_in_words({"region": None}), count_in_words({})
    ('count where region = null', 'count of every row')
    """
    return f"count where {conditions_in_words(where, listed)}" if where else "count of every row"


def _condition(name: str, written: object) -> str:
    return f"{name} = {_value(written)}" if is_one_value(written) else f"{name} {predicate_in_words(written)}"


def _value(value: object) -> str:
    """A value as the analyst would write it: true and not True, 20 and not 20.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _PLAIN:
        return str(int(value))
    return label_text(value)
