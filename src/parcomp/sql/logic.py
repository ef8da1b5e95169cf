"""SQL's three-valued logic, compiled away.

A formula is TRUE, FALSE or unknown on a row, and a WHERE clause keeps the rows on which it is TRUE.  An atom is about
one attribute: known are the values that make it TRUE and those that make it FALSE.  Null is in neither, except where
the atom asks for nulls.  Kleene's rules then give both sets for the whole:

- NOT a is TRUE where a is FALSE, and FALSE where a is TRUE;
- a AND b is TRUE where both are, and FALSE where at least one is FALSE;
- a OR b is TRUE where at least one is, and FALSE where both are FALSE.

What is unknown is in neither set and needs no name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TypeAlias

from parcomp.model import Condition, Domain, Predicate, Query

__all__ = ["Atom", "Conjunction", "Constant", "Disjunction", "Formula", "Negation", "rows_where"]


@dataclass(frozen=True, slots=True)
class Atom:
    """A formula about one attribute: the values that make it TRUE, and those that make it FALSE."""

    index: int
    true: Predicate
    false: Predicate


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or, as None, unknown on every row."""

    truth: bool | None


@dataclass(frozen=True, slots=True)
class Negation:
    """NOT."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Conjunction:
    """AND."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    """OR."""

    parts: tuple[Formula, ...]


Formula: TypeAlias = Atom | Constant | Negation | Conjunction | Disjunction


def rows_where(domain: Domain, formula: Formula, truth: bool = True) -> Condition:
    """The rows on which a formula is TRUE, or those on which it is FALSE.

    >>> from parcomp.model.attribute import Integer
    >>> domain = Domain({"age": Integer(0, 9, nullable=True)})
    >>> low, high = (Predicate.from_runs(11, [run]) for run in ((0, 5), (5, 10)))
    >>> rows_where(domain, Negation(Atom(0, low, high))).where()
    [{'age': {'from': 5, 'to': 9}}]
    """
    match formula:
        case Atom(index, true, false):
            return Condition.of(Query(domain, ((index, true if truth else false),)))
        case Constant(value):
            return Condition(domain, (Query(domain, ()),) if value is truth else ())
        case Negation(part):
            return rows_where(domain, part, not truth)
        case Conjunction(parts) | Disjunction(parts):
            rows = [rows_where(domain, part, truth) for part in parts]
            return _all_of(domain, rows) if isinstance(formula, Conjunction) == truth else _any_of(domain, rows)


def _any_of(domain: Domain, conditions: Iterable[Condition]) -> Condition:
    return Condition(domain, tuple(query for condition in conditions for query in condition.alternatives))


def _all_of(domain: Domain, conditions: Iterable[Condition]) -> Condition:
    """The intersection; those with few alternatives first, since they leave less to multiply out."""
    distinct = dict.fromkeys(condition.alternatives for condition in conditions)
    everything = Condition(domain, (Query(domain, ()),))
    return reduce(and_, (Condition(domain, queries) for queries in sorted(distinct, key=len)), everything)
